// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <string>

#include "problem_matrix.hpp"

namespace prekond::driver {

/// \throws OptionError where there is no such product with A ("native" or "kokkoskernels") in this build, or
/// for so many processes
void check_spmv(const std::string& spmv, const Processes& processes);

/// The product with the whole matrix. \pre check_spmv(spmv) passed, and a complex matrix has the native one
template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const std::string& spmv, const Matrix<Scalar>& a);

}  // namespace prekond::driver
