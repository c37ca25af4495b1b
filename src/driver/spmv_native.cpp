// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The products with A of a build without Kokkos Kernels.
#include <prekond/core/error.hpp>
#include <prekond/matrix/spmv.hpp>

#include "spmv_choice.hpp"

namespace prekond::driver {

void check_spmv(const std::string& spmv, const Processes& /*processes*/) {
  if (spmv == "kokkoskernels")
    throw OptionError("--spmv kokkoskernels: this build has no Kokkos Kernels; take --spmv native");
}

template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const std::string& /*spmv*/, const Matrix<Scalar>& a) {
  return std::make_unique<CsrOperator<Scalar, Space>>(a);
}

template std::unique_ptr<Operator<double, Space>> make_product<double>(const std::string&,
                                                                       const Matrix<double>&);
template std::unique_ptr<Operator<Complex, Space>> make_product<Complex>(const std::string&,
                                                                         const Matrix<Complex>&);

}  // namespace prekond::driver
