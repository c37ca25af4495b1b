// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

namespace prekond::krylov {

/// Eigenvalues of a real symmetric tridiagonal matrix, and of each normalised eigenvector the last entry's
/// magnitude.
struct TridiagonalEigenvalues {
  std::vector<double> values;  ///< ascending
  std::vector<double> last;
};

/// Of T with the diagonal `alpha` of n entries and, beside it, the first n - 1 of `beta`. Implicit QL steps
/// with Wilkinson's shift, of which the eigenvectors' last entries alone are followed: about 10 n^2
/// operations, n doubles. Backward stable: values have errors of the rounding of the largest. T is scaled, so
/// that entries may have any size.
///
/// \pre finite entries, and beta.size() + 1 >= alpha.size()
///
/// Source: Golub, Welsch, Math. Comp. 23 (1969), in the form of EISPACK's imtql2.
TridiagonalEigenvalues tridiagonal_eigenvalues(std::vector<double> alpha, std::vector<double> beta);

}  // namespace prekond::krylov
