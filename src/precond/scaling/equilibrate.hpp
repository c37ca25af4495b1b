// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices whose entries are so large or so small that products of them leave the range of numbers.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include "precond/scaling/matrix_rows.hpp"
#include "precond/scaling/power_of_two.hpp"

#include <cmath>
#include <cstdint>

namespace prekond::impl {

/// The diagonal entries that a setup takes as they are lie within 2^-w and 2^w: then the products of a few of
/// them are normal numbers, those of single precision as the sum of squares of floor = 1e-5 needs it.
template <class Real>
inline constexpr int equilibration_width = sizeof(Real) == 4 ? 46 : 480;

/// s_i of S A S, powers of two: one for all rows, or where that is 0 the one that brings row i's size near 1.
template <class Real, class Space>
struct ChooseScale {
  VectorView<const Real, Space> size;
  Real common;
  VectorView<Real, Space> scale;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    scale(i) = common != 0 ? common : inverse_power_of_two(Kokkos::sqrt(size(i)));
  }
};

/// Entries of S A S. Entries in columns of other ranks, which no setup looks at, are zero.
template <class Scalar, class Space, class Matrix>
struct EquilibrateRow {
  using Real = real_type_t<Scalar>;
  Matrix a;
  VectorView<const Real, Space> scale;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, parts_of_row<Space>),
                           [&](int part) { scale_part(i, part); });
    });
  }
  KOKKOS_FUNCTION void scale_part(std::int64_t i, int part) const {
    for (RowCursor<Matrix> entry(a, i, part, parts_of_row<Space>); !entry.is_done(); entry.advance()) {
      const int col = entry.col();
      // Both factors are applied together, as one of them may take the entry out of range.
      values(entry.place()) = col < a.num_rows ? entry.value() * (scale(i) * scale(col)) : Scalar(0);
    }
  }
};

/// g_ij s_j
template <class Scalar, class Space>
struct ScaleColumns {
  VectorView<const int, Space> col_idxs;
  VectorView<const real_type_t<Scalar>, Space> scale;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { values(k) *= scale(col_idxs(k)); }
};

/// S A S with powers of two S, for a matrix whose diagonal (or whatever tells its rows' sizes) leaves
/// [2^-w, 2^w]; A itself for all others, which cost nothing. For the factor G' of S A S, G = G' S is that of
/// A: G A G^T = G' (S A S) G'^T, so that a setup works on S A S and undoes S in the end, exactly.
///
/// S = 2^-c I where that brings the diagonal into the range: a matrix and its multiple by a power of four
/// then have the same S A S, to the last bit, and all that is found adaptively is the same. A matrix graded
/// over more than 2^(2 w) gets a diagonal in [1, 4), where the rows' sizes are given.
///
/// Cost: a copy of A's values and n numbers, where they are needed.
template <class Scalar, class Space, class Matrix = CsrView<Scalar, Space>>
class Equilibrated {
 public:
  using Real = real_type_t<Scalar>;
  static constexpr int width = equilibration_width<Real>;

  /// `size`: the rows' sizes, positive, from `least` to `most`; empty: S is the same for all.
  Equilibrated(const Space& space, const Matrix& a, VectorView<const Real, Space> size, Real least, Real most)
      : m_matrix(a) {
    const int low = std::ilogb(least), high = std::ilogb(most);
    if (low >= -width && high <= width) return;
    m_graded = size.extent(0) > 0 && high - low > 2 * width;
    // Half of an even exponent in the middle, rounded downwards: so it moves with the matrix.
    const int half = (low + high) >> 2;
    m_scale = allocate<Vector<Real, Space>>(space, "prekond::equilibrate::scale", a.num_rows);
    m_values = allocate<Vector<Scalar, Space>>(space, "prekond::equilibrate::values", a.values.extent(0));
    using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(
        "prekond::equilibrate::choose_scale", Policy(space, 0, a.num_rows),
        ChooseScale<Real, Space>{size, m_graded ? Real(0) : std::ldexp(Real(1), -half), m_scale});
    Kokkos::parallel_for(
        "prekond::equilibrate::scale_rows",
        RowTeams<Space>::policy(space, a.num_rows, static_cast<std::int64_t>(a.values.extent(0))),
        EquilibrateRow<Scalar, Space, Matrix>{a, m_scale, m_values});
    m_matrix = with_values<Scalar, Space>(a, m_values);
  }

  /// The matrix that the setup works on. It lives as long as this object.
  const Matrix& matrix() const { return m_matrix; }
  bool is_scaled() const { return m_scale.extent(0) > 0; }
  /// Did each row get a scale of its own?
  bool is_graded() const { return m_graded; }

  /// G = G' S
  void undo(const Space& space, const CsrGraphView<Space>& g, VectorView<Scalar, Space> values) const {
    if (!is_scaled()) return;
    Kokkos::parallel_for("prekond::equilibrate::undo",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, g.nnz()),
                         ScaleColumns<Scalar, Space>{g.col_idxs, m_scale, values});
  }

 private:
  Matrix m_matrix;
  bool m_graded = false;
  Vector<Real, Space> m_scale;
  Vector<Scalar, Space> m_values;
};

}  // namespace prekond::impl
