// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --spmv: the format and the kernel of A's product.
#include <memory>
#include <string>

#include "problem.hpp"

namespace prekond::driver {

/// \throws OptionError for a product of Kokkos Kernels where the build has none, or for several processes
void check_product(const Settings& settings, const Processes& processes);

/// A's product; `facts` get its `format`, the `reason` of a choice by `auto`, and the `seconds` to choose it
/// and to convert A, fenced. \pre check_product passed, and a complex matrix has one of Prekond's own
template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const Space& space, const std::string& spmv,
                                                      const Matrix<Scalar>& a, Json& facts);

}  // namespace prekond::driver
