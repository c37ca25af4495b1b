// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of a solved system that the norm of its residual does not see.
#include <string>

#include "problem.hpp"

namespace prekond::driver {

/// Rows whose entries are so small, compared with the largest ones of A, that ||b - A x|| <= rtol ||b|| asks
/// nothing of them: max_j |a_ij| <= rtol max |a_kj|, and |b_i| + sum_j |a_ij x_j| <= rtol ||b||. They count
/// where |b - A x|_i is more than a thousandth of that sum.
struct UnseenRows {
  std::int64_t count = 0;
  std::int64_t first = -1;
  double worst = 0;  ///< the largest |b - A x|_i over that sum
};

/// For a serial process. Cost: two passes over A.
template <class Scalar>
UnseenRows find_unseen_rows(const Space& space, const CsrView<Scalar, Space>& a,
                            const VectorView<const Scalar, Space>& b,
                            const VectorView<const Scalar, Space>& x, double rtol, double norm_b);

/// A note for the report, empty where there are none. `row`: the first one, as it was read.
std::string text_of_unseen(const UnseenRows& rows, std::int64_t row);

}  // namespace prekond::driver
