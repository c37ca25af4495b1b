// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spmv_choice.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/matrix_format.hpp>

namespace prekond::driver {
namespace {

MatrixFormat format_of(const std::string& spmv) {
  if (spmv == "native") return MatrixFormat::csr;
  for (const auto& [name, format] : matrix_format_choices())
    if (name == spmv) return format;
  throw OptionError("--spmv takes " + spmv_names() + ", not '" + spmv + "'");
}

}  // namespace

std::string spmv_names() {
  std::string names;
  for (const auto& choice : matrix_format_choices()) names += choice.first + "|";
  return names + "native|kokkoskernels";
}

bool is_kokkoskernels(const std::string& spmv) {
  return spmv == "kokkoskernels";
}

void check_spmv_name(const std::string& spmv) {
  if (!is_kokkoskernels(spmv)) format_of(spmv);
}

void check_spmv(const std::string& spmv, const Processes& processes) {
  check_spmv_name(spmv);
  if (is_kokkoskernels(spmv) && !has_kokkoskernels())
    throw OptionError("--spmv kokkoskernels: this build has no Kokkos Kernels; take --spmv auto");
  if (is_kokkoskernels(spmv) && !processes.alone())
    throw OptionError("--spmv " + spmv + " is for one process; run it without mpirun, or take --spmv auto");
}

template <class Scalar>
Product<Scalar> make_product(const Space& space, const std::string& spmv, const Matrix<Scalar>& a) {
  Product<Scalar> product;
  const Kokkos::Timer timer;
  if constexpr (std::is_same_v<Scalar, double>)
    if (is_kokkoskernels(spmv)) {
      product.op = make_kokkoskernels_product(a);
      product.facts = {"kokkoskernels", "", timer.seconds()};
      return product;
    }
  FormatAdvice advice;
  advice.format = format_of(spmv);
  product.op = make_operator<Scalar, Space>(space, a, advice.format, &advice);
  space.fence("prekond::driver::make_product");
  product.facts.format = to_string(advice.format);
  product.facts.reason = advice.reason;
  product.facts.seconds = timer.seconds();
  return product;
}

template Product<double> make_product<double>(const Space&, const std::string&, const Matrix<double>&);
template Product<Complex> make_product<Complex>(const Space&, const std::string&, const Matrix<Complex>&);

}  // namespace prekond::driver
