// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

namespace prekond::krylov {

/// The eigenvalues of a real symmetric tridiagonal matrix, and the magnitudes of the last entries of its
/// normalised eigenvectors.
struct TridiagonalEigenvalues {
  std::vector<double> values;  ///< ascending
  std::vector<double> last;
};

/// The eigenvalues of T with the diagonal `alpha` of n entries and the first n - 1 of `beta` next to it, by
/// implicit QL steps with Wilkinson's shift that follow only the last entries of the eigenvectors. The method
/// is backward stable: the error of a value is rounding of the largest. T is scaled, so entries may have any
/// size.
///
/// Cost: about 10 n^2 operations.
///
/// Memory: n doubles.
///
/// \pre finite entries, and beta.size() + 1 >= alpha.size()
///
/// Source: Golub, Welsch, Math. Comp. 23 (1969), in the form of EISPACK's imtql2.
TridiagonalEigenvalues tridiagonal_eigenvalues(std::vector<double> alpha, std::vector<double> beta);

}  // namespace prekond::krylov
