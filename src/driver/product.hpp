// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --spmv: the format and the kernel of A's product.
#include <memory>
#include <string>

#include "problem.hpp"

namespace prekond::driver {

/// The values of --spmv, with '|' between; `native` is another name for `csr`.
std::string spmv_names();

/// Is it the product of another library than this?
bool is_kokkoskernels(const std::string& spmv);

/// \throws OptionError for a name that is no product's
void check_spmv(const Settings& settings);

/// \throws OptionError where there is no such product in this build, or for several processes
void check_product(const std::string& spmv, const Processes& processes);

/// A's product, by its settings, and how it came about. \pre check_product passed, and a complex matrix has
/// one of Prekond's own
template <class Scalar>
std::unique_ptr<Operator<Scalar, Space>> make_product(const Space& space, const std::string& spmv,
                                                      const Matrix<Scalar>& a, ProductFacts& facts);

}  // namespace prekond::driver
