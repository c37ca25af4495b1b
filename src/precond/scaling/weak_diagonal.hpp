// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Diagonal entries that are zeros but for rounding: one rule for all methods that divide by the diagonal.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "matrix/find_entry.hpp"

#include "precond/scaling/matrix_rows.hpp"

#include <cmath>
#include <cstdint>

namespace prekond::impl {

/// The sizes that the rule compares.
///
/// Row i is weak where p_i is zero compared with a pair of entries a_ij and a_ji. p_i is |a_ii|, or the
/// largest entry of its row in its block, where a method inverts blocks. With e the smaller one of the pair,
///
///   p_i <= theta e   and   p_i |a_jj| <= 1e-3 |a_ij a_ji|,   theta = eps^(1/3), a_jj != 0.
///
/// The solves with L and with U multiply rounding errors by |a_ji| / p_i and |a_ij| / p_i, and this theta
/// leaves a third of the digits after both. The second part says that an update by row i takes away what row
/// j has. It is the same in all units of rows and columns. Nothing is weak in a positive definite matrix, or
/// in an M-matrix, where |a_ij a_ji| <= a_ii a_jj, or in a triangle. A row is not weak either that has an
/// entry of its own scale, 0.01 <= |a_ij| / sqrt|a_ii a_jj| <= 2: its diagonal is small because it is
/// measured in other units, as in a saddle-point matrix of small viscosity. A zero a_jj has no scale that
/// could get lost, and nothing is compared with it.
///
/// Row i is weak, too, where p_i <= 16 eps |a_ij| and p_i <= 16 eps |a_ki| for an entry of its row and one of
/// its column, as rounding errors can make it, and the second part holds for each of them or the other
/// diagonal entry is zero.
template <class Real>
struct WeakRule {
  static constexpr double lost = 1e-3;
  Real theta = Kokkos::cbrt(Kokkos::Experimental::epsilon_v<Real>);
  Real rounding = 16 * Kokkos::Experimental::epsilon_v<Real>;

  /// Does an update by a row of this pivot, with entries of the size `entry`, take row `other` away?
  KOKKOS_FORCEINLINE_FUNCTION static bool takes_away(Real pivot, Real entry, Real other) {
    return Kokkos::sqrt(pivot) * Kokkos::sqrt(other) <= Real(0.0316227766) * entry;  // sqrt(lost)
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_of_own_scale(Real entry, Real diagonal, Real other) {
    const Real scale = Kokkos::sqrt(diagonal) * Kokkos::sqrt(other);
    return entry >= Real(0.01) * scale && entry <= Real(2) * scale;
  }
  /// An entry of the matrix that is scaled to the unit diagonal, from which on rows are worth a look: half of
  /// what the rule asks for.
  static Real least_scaled_entry() { return static_cast<Real>(0.5 / std::sqrt(lost)); }
};

/// A, or where it has weak entries on its diagonal a copy with zeros for these.
template <class Scalar, class Space, class Matrix>
struct StrongDiagonal {
  Matrix matrix;
  Vector<Scalar, Space> values;  ///< of the copy
  std::int64_t num_weak = 0;
};

/// Cost: a pass over A's entries; four more and a copy of the values where entries are worth a look. Fences.
template <class Scalar, class Space, class Matrix>
StrongDiagonal<Scalar, Space, Matrix> zero_weak_diagonal(const Space& space, const Matrix& a,
                                                         int block_size = 1);

}  // namespace prekond::impl
