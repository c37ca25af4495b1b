// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "product.hpp"

#include <prekond/matrix/matrix_format.hpp>
#ifdef PREKOND_DRIVER_HAS_KOKKOSKERNELS
#include <prekond/adapters/kokkoskernels.hpp>
#endif

#include <algorithm>

namespace prekond::driver {

std::string spmv_names() {
  std::string names;
  for (const auto& choice : matrix_format_choices()) names += choice.first + "|";
  return names + "native|kokkoskernels";
}

bool is_kokkoskernels(const std::string& spmv) {
  return spmv == "kokkoskernels";
}

void check_spmv(const Settings& settings) {
  const auto choices = matrix_format_choices();
  const bool is_format = std::any_of(choices.begin(), choices.end(),
                                     [&](const auto& choice) { return choice.first == settings.spmv; });
  if (!is_format && !is_kokkoskernels(settings.spmv) && settings.spmv != "native")
    settings.refuse("spmv", "--spmv takes " + spmv_names() + ", not '" + settings.spmv + "'");
}

void check_product(const std::string& spmv, const Processes& processes) {
  if (!is_kokkoskernels(spmv)) return;
#ifndef PREKOND_DRIVER_HAS_KOKKOSKERNELS
  throw OptionError("--spmv kokkoskernels: this build has no Kokkos Kernels; take --spmv auto");
#endif
  if (!processes.is_serial())
    throw OptionError("--spmv " + spmv + " is for one process; run it without mpirun, or take --spmv auto");
}

template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const Space& space, const std::string& spmv,
                                                      const Matrix<Scalar>& a, ProductFacts& facts) {
  std::unique_ptr<Operator<Scalar, Space>> product;
  const Kokkos::Timer timer;
#ifdef PREKOND_DRIVER_HAS_KOKKOSKERNELS
  if constexpr (std::is_same_v<Scalar, double>)
    if (is_kokkoskernels(spmv)) product = std::make_unique<kokkoskernels::SpmvOperator<double, Space>>(a);
#endif
  if (product) {
    facts.format = spmv;
  } else {
    FormatAdvice advice;
    advice.format = MatrixFormat::csr;  // native
    for (const auto& [name, format] : matrix_format_choices())
      if (name == spmv) advice.format = format;
    product = make_operator<Scalar, Space>(space, a, advice.format, &advice);
    space.fence("prekond::driver::make_product");
    facts.format = to_string(advice.format);
    facts.reason = advice.reason;
  }
  facts.seconds = timer.seconds();
  return product;
}

#define PREKOND_DRIVER_PRODUCT(Scalar)                                    \
  template std::unique_ptr<Operator<Scalar, Space>> make_product<Scalar>( \
      const Space&, const std::string&, const Matrix<Scalar>&, ProductFacts&);
PREKOND_DRIVER_PRODUCT(double)
PREKOND_DRIVER_PRODUCT(Complex)

}  // namespace prekond::driver
