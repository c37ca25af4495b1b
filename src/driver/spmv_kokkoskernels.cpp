// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The products with A of a build with Kokkos Kernels.
#include <prekond/adapters/kokkoskernels.hpp>
#include <prekond/core/error.hpp>
#include <prekond/matrix/spmv.hpp>

#include "spmv_choice.hpp"

namespace prekond::driver {

void check_spmv(const std::string& spmv, const Processes& processes) {
  // Rows that are distributed are multiplied in one pass with their dot product, which Kokkos Kernels has
  // not.
  if (spmv == "kokkoskernels" && !processes.alone())
    throw OptionError(
        "--spmv kokkoskernels is for one process; run it without mpirun, or take --spmv native");
}

template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const std::string& spmv, const Matrix<Scalar>& a) {
  if constexpr (std::is_same_v<Scalar, double>)
    if (spmv == "kokkoskernels") return std::make_unique<kokkoskernels::SpmvOperator<double, Space>>(a);
  return std::make_unique<CsrOperator<Scalar, Space>>(a);
}

template std::unique_ptr<Operator<double, Space>> make_product<double>(const std::string&,
                                                                       const Matrix<double>&);
template std::unique_ptr<Operator<Complex, Space>> make_product<Complex>(const std::string&,
                                                                         const Matrix<Complex>&);

}  // namespace prekond::driver
