// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "product.hpp"

#include <prekond/matrix/matrix_format.hpp>
#ifdef PREKOND_DRIVER_HAS_KOKKOSKERNELS
#include <prekond/adapters/kokkoskernels.hpp>
#endif
#include "matrix/csr_by_lanes.hpp"

namespace prekond::driver {
namespace {

/// The product of --spmv csr_scalar or csr_vector on a device; null for another one.
template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> by_lanes(const std::string& spmv, const Matrix<Scalar>& a) {
  if constexpr (!is_host_space<Space>) {
    if (spmv == "csr_scalar") return std::make_unique<CsrByLanes<Scalar, Space, 1>>(a);
    if (spmv == "csr_vector") return std::make_unique<CsrByLanes<Scalar, Space, 16>>(a);
  }
  return nullptr;
}

}  // namespace

void check_product(const Settings& settings, const Processes& processes) {
  if (settings.spmv != "kokkoskernels") return;
#ifndef PREKOND_DRIVER_HAS_KOKKOSKERNELS
  throw OptionError("--spmv kokkoskernels: this build has no Kokkos Kernels; take --spmv auto");
#endif
  if (!processes.is_serial())
    throw OptionError("--spmv kokkoskernels is for one process; run it without mpirun, or take --spmv auto");
}

template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const Space& space, const std::string& spmv,
                                                      const Matrix<Scalar>& a, Json& facts) {
  const Kokkos::Timer timer;
#ifdef PREKOND_DRIVER_HAS_KOKKOSKERNELS
  if constexpr (std::is_same_v<Scalar, double>)
    if (spmv == "kokkoskernels") {
      auto product = std::make_unique<kokkoskernels::SpmvOperator<double, Space>>(a);
      facts = {{"format", spmv}, {"reason", ""}, {"seconds", timer.seconds()}};
      return product;
    }
#endif
  if (auto product = by_lanes<Scalar>(spmv, a)) {
    facts = {{"format", spmv}, {"reason", ""}, {"seconds", timer.seconds()}};
    return product;
  }
  FormatAdvice advice;
  advice.format = MatrixFormat::csr;  // native, and on a host the two by lanes
  for (const auto& [name, format] : matrix_format_choices())
    if (name == spmv) advice.format = format;
  auto product = make_operator<Scalar, Space>(space, a, advice.format, &advice);
  space.fence("prekond::driver::make_product");
  facts = {{"format", to_string(advice.format)}, {"reason", advice.reason}, {"seconds", timer.seconds()}};
  return product;
}

#define PREKOND_DRIVER_PRODUCT(Scalar)                                                                     \
  template std::unique_ptr<Operator<Scalar, Space>> make_product<Scalar>(const Space&, const std::string&, \
                                                                         const Matrix<Scalar>&, Json&);
PREKOND_DRIVER_PRODUCT(double)
PREKOND_DRIVER_PRODUCT(Complex)

}  // namespace prekond::driver
