// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// One column of the static SPAI over a lane group: find I, gather the local matrix, factor it, solve.
#include <prekond/core/scalar.hpp>
#include <prekond/precond/spai.hpp>
#include "dense/panel_qr.hpp"

#include "precond/approximate_inverse/spai/indices.hpp"

namespace prekond::impl::spai {

/// How a column ended: what its byte in `status` says.
struct Status {
  enum : unsigned char {
    solved = 0,
    again = 1,      ///< by the next kernel
    shortened = 2,  ///< without entries that depend on others
    diagonal = 3,
    streamed = 4  ///< left to a later kernel
  };
};

/// Bits that tell about the entries of a solution.
struct SolutionFlags {
  static constexpr int found = 1;       ///< one that is not zero
  static constexpr int not_finite = 2;  ///< one that is not finite
};

/// Adds the bits of a column's first n entries, as Scalars, to `flags`.
template <class Scalar, class LaneGroup, class Column>
KOKKOS_FUNCTION void judge_solution(const LaneGroup& lane_group, const Column& column, int n, int* flags) {
  lane_group.region([&](int lane) {
    bool nonzero = false, finite = true;
    for (int c = lane; c < n; c += lane_group.size()) {
      const double x = column.value(c);
      nonzero = nonzero || x != 0;
      finite = finite && Kokkos::isfinite(static_cast<Scalar>(x));
    }
    if (nonzero) Kokkos::atomic_or(flags, SolutionFlags::found);
    if (!finite) Kokkos::atomic_or(flags, SolutionFlags::not_finite);
  });
}

/// The layout of a column's data: all of it together, or the local matrix apart, with a buffer for a panel in
/// the memory of the rest.
enum class Placement { together, apart };

/// The workspace of a column with up to n1 rows and n2 entries.
template <class Real, int Rows, LeastSquares Solver>
struct ColumnArrays {
  using System = PanelQr<Real, Rows>;
  static constexpr bool normal = Solver == LeastSquares::normal;

  std::size_t* begins;
  int* lengths;
  double* scale;
  Real* x;
  Real* work;
  int* rows;  ///< I
  int* count;
  int* flags;
  PanelCholesky<Real> gram{};  ///< of the matrix and the right-hand side
  Real* gram_x = nullptr;
  Real* gram_y = nullptr;
  unsigned* table;  ///< over the system's memory: it is done with before
  Real* buffer;
  char* system;
  char* entries;
  std::size_t table_size;
  std::size_t near_bytes;
  std::size_t far_bytes;

  /// \pre the bases are aligned to 16 bytes, or null
  KOKKOS_FUNCTION ColumnArrays(char* near, char* far, int n1, int n2, Placement placement) {
    const auto m = static_cast<std::size_t>(n2), n = static_cast<std::size_t>(n1);
    const auto shape = System::shape_of(n1, n2);
    std::size_t end = 0;
    begins = place_array<std::size_t>(near, end, m);
    scale = place_array<double>(near, end, m);
    lengths = place_array<int>(near, end, m);
    x = place_array<Real>(near, end, m);
    work = place_array<Real>(near, end, m);
    rows = place_array<int>(near, end, power_of_two_from(n));
    count = place_array<int>(near, end, 1);
    flags = place_array<int>(near, end, 1);
    if constexpr (normal) {
      gram.order = PanelCholesky<Real>::padded(n2 + 1);
      gram.entries = place_array<Real>(near, end, PanelCholesky<Real>::size(n2 + 1));
      gram.reciprocals = place_array<Real>(near, end, gram.order);
      gram.dropped = place_array<DroppedPivots<Real>>(near, end, 1);
      gram_x = place_array<Real>(near, end, gram.order);
      gram_y = place_array<Real>(near, end, gram.order);
    }
    table_size = IndexTable::num_slots(n);
    table = near ? reinterpret_cast<unsigned*>(near + end) : nullptr;
    const bool apart = placement == Placement::apart;
    const std::size_t shared = apart ? (System::panel_bytes(n1) + 15) / 16 * 16 : System::entry_bytes(shape);
    const std::size_t table_bytes = table_size * sizeof(unsigned);
    buffer = apart && near ? reinterpret_cast<Real*>(near + end) : nullptr;
    entries = apart ? far : (near ? near + end : nullptr);
    end += shared > table_bytes ? shared : table_bytes;
    system = near ? near + end : nullptr;
    near_bytes = end + System::bytes_beside_entries(shape);
    far_bytes = apart ? System::entry_bytes(shape) : 0;
  }
};

/// The result of a column's solve.
struct ColumnResult {
  bool dropped;  ///< entries were left out
  bool nothing;  ///< the solution is zero or not finite
  float pivot;   ///< the first column that was left out: its orthogonal part, relative to its norm
};

/// Columns of the local matrix are scaled by powers of two that bring their largest entries into [1, 2), so
/// that single precision holds any range of values and the unknowns change only by these powers.
template <class Scalar, class Real, class Space, class LaneGroup, LeastSquares Solver>
class Column {
 public:
  static constexpr int rows_at_once = is_host_space<Space> ? PanelQr<Real>::host_rows : 1;
  using Arrays = ColumnArrays<Real, rows_at_once, Solver>;
  using System = typename Arrays::System;

  KOKKOS_FUNCTION Column(const LaneGroup& lane_group, const CsrView<Scalar, Space>& b,
                         VectorView<const double, Space> col_scale, const Arrays& arrays, int n1, int n2)
      : m_lane_group(lane_group),
        m_b(b),
        m_col_scale(col_scale),
        m_n1(n1),
        m_n2(n2),
        m_arrays(arrays),
        m_system(arrays.system, arrays.entries, System::shape_of(n1, n2), arrays.buffer),
        m_columns(lane_group, b, n2, arrays.begins, arrays.lengths) {}

  /// Solves min ||A(I, J) m - e_k(I)|| for J = cols[0 .. n2), with indices below `limit`.
  KOKKOS_FUNCTION ColumnResult solve(int k, const int* cols, std::int64_t limit, Real floor) const {
    find_rows(cols, limit);
    gather(k, limit);
    if constexpr (Solver == LeastSquares::normal) {
      solve_normal(k, floor);
      judge_solution<Scalar>(m_lane_group, *this, m_n2, m_arrays.flags);
      const DroppedPivots<Real>& dropped = *m_arrays.gram.dropped;
      return {dropped.count > 0, *m_arrays.flags != SolutionFlags::found, 0};
    } else {
      const int rank = m_system.factor(m_lane_group, floor);
      m_system.solve(m_lane_group, rank, m_arrays.x, m_arrays.work);
      judge_solution<Scalar>(m_lane_group, *this, m_n2, m_arrays.flags);
      const DroppedPivots<Real>& dropped = m_system.dropped();
      return {dropped.count > 0, *m_arrays.flags != SolutionFlags::found,
              dropped.count > 0 ? static_cast<float>(dropped.pivot) : 0.0f};
    }
  }

  /// Entry c of the solution.
  KOKKOS_FORCEINLINE_FUNCTION double value(int c) const { return double(m_arrays.x[c]) * m_arrays.scale[c]; }

 private:
  KOKKOS_FUNCTION void find_rows(const int* cols, std::int64_t limit) const {
    m_columns.read(cols, [&](int c, int col) {
      m_arrays.scale[c] = m_col_scale(col);
      if (c == 0) *m_arrays.flags = 0;
    });
    const IndexTable table(m_arrays.table, m_arrays.table_size, m_arrays.count, m_arrays.rows);
    table.clear(m_lane_group);
    m_columns.for_entries(limit, [&](int, std::size_t, int index) { table.insert(m_lane_group, index); });
    sort_list(m_lane_group, m_arrays.rows, m_n1);
  }

  KOKKOS_FUNCTION void gather(int k, std::int64_t limit) const {
    m_system.clear(m_lane_group, 0, m_n2);
    m_columns.for_entries(limit, [&](int c, std::size_t entry, int index) {
      m_system(find_in(m_arrays.rows, m_n1, index), c) =
          static_cast<Real>(double(m_b.values(entry)) * m_arrays.scale[c]);
    });
    m_lane_group.once([&] {
      const int row = find_in(m_arrays.rows, m_n1, k);
      if (row >= 0) m_system.rhs(row) = 1;
    });
  }

  /// The Gram matrix of B = A(I, J) with the right-hand side e appended has [B^T B, B^T e; e^T B, 2]: the
  /// last column of the inverse of its factor, divided by its last entry, is -m.
  KOKKOS_FUNCTION void solve_normal(int k, Real floor) const {
    const auto& gram = m_arrays.gram;
    gram.clear(m_lane_group, m_n2 + 1);
    multiply_columns();
    const int row = find_in(m_arrays.rows, m_n1, k);
    m_lane_group.region([&](int lane) {
      for (int c = lane; c < m_n2; c += m_lane_group.size())
        gram(m_n2, c) = row >= 0 ? m_system(row, c) : Real(0);
      if (lane == 0) gram(m_n2, m_n2) = 2;
    });
    gram.factor(m_lane_group, floor);
    gram.solve_transposed(m_lane_group, m_n2, m_arrays.gram_y, m_arrays.gram_x);
    m_lane_group.region([&](int lane) {
      for (int c = lane; c < m_n2; c += m_lane_group.size())
        m_arrays.x[c] = -m_arrays.gram_x[c] / m_arrays.gram_x[m_n2];
    });
  }

  /// B^T B, by vectors of lanes, eight products at a time.
  KOKKOS_FUNCTION void multiply_columns() const {
    constexpr int at_once = 8;
    for_each_by_vectors(m_lane_group, m_n2, [&](const auto& vector, int c) {
      for (int j = c; j < m_n2; j += at_once) {
        Real dots[at_once];
        vector.template sums<Real, at_once>(dots, [&](int lane, Real* sums) {
          Real mine[at_once][rows_at_once] = {};
          for (int i = lane * rows_at_once; i < m_n1; i += vector.size() * rows_at_once)
#pragma unroll
            for (int l = 0; l < at_once; ++l) {
              const int other = j + l < m_n2 ? j + l : c;
              for (int r = 0; r < rows_at_once; ++r)
                mine[l][r] += m_system(i + r, c) * m_system(i + r, other);
            }
#pragma unroll
          for (int l = 0; l < at_once; ++l) {
            sums[l] = mine[l][0];
            for (int r = 1; r < rows_at_once; ++r) sums[l] += mine[l][r];
          }
        });
        vector.once([&] {
#pragma unroll
          for (int l = 0; l < at_once; ++l)
            if (j + l < m_n2) m_arrays.gram(j + l, c) = dots[l];
        });
      }
    });
  }

  LaneGroup m_lane_group;
  const CsrView<Scalar, Space>& m_b;
  VectorView<const double, Space> m_col_scale;
  int m_n1;
  int m_n2;
  Arrays m_arrays;
  System m_system;
  ProblemColumns<Scalar, Space, LaneGroup> m_columns;
};

}  // namespace prekond::impl::spai
