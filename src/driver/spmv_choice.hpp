// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --spmv: the format and the kernel of A's product.
#include <memory>
#include <string>

#include "problem_matrix.hpp"

namespace prekond::driver {

/// What --spmv takes, with '|' between; `native` is another name for `csr`.
std::string spmv_names();

/// \throws OptionError for a name that is no product's
void check_spmv_name(const std::string& spmv);

/// \throws OptionError where there is no such product with A in this build, or for so many processes
void check_spmv(const std::string& spmv, const Processes& processes);

/// Is it the product of another library than this?
bool is_kokkoskernels(const std::string& spmv);

/// The product with the whole matrix, and how it came about. \pre check_spmv(spmv) passed, and a complex
/// matrix has one of Prekond's own
template <class Scalar>
struct Product {
  std::unique_ptr<Operator<Scalar, Space>> op;
  ProductFacts facts;
};
template <class Scalar>
Product<Scalar> make_product(const Space& space, const std::string& spmv, const Matrix<Scalar>& a);

/// That of Kokkos Kernels; null where the build has none.
std::unique_ptr<Operator<double, Space>> make_kokkoskernels_product(const Matrix<double>& a);
bool has_kokkoskernels();
/// For the options of preconditioners that name it; nothing where the build has none.
void register_kokkoskernels();

}  // namespace prekond::driver
