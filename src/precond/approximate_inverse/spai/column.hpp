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

/// The layout of a column's data: all of it together, or the local matrix apart, with a buffer for a panel in
/// the memory of the rest.
enum class Placement { together, apart };

/// The workspace of a column with up to n1 rows and n2 entries.
template <class Real, int Rows>
struct ColumnArrays {
  using System = PanelQr<Real, Rows>;

  std::size_t* begins;
  int* lengths;
  double* scale;
  Real* x;
  Real* work;
  int* rows;  ///< I
  int* count;
  int* flags;
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
template <class Scalar, class Real, class Space, class LaneGroup>
class Column {
 public:
  static constexpr int rows_at_once = is_host_space<Space> ? PanelQr<Real>::host_rows : 1;
  using Arrays = ColumnArrays<Real, rows_at_once>;
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
    const int rank = m_system.factor(m_lane_group, floor);
    m_system.solve(m_lane_group, rank, m_arrays.x, m_arrays.work);
    judge();
    const DroppedPivots<Real>& dropped = m_system.dropped();
    return {dropped.count > 0, *m_arrays.flags != found,
            dropped.count > 0 ? static_cast<float>(dropped.pivot) : 0.0f};
  }

  /// Entry c of the solution.
  KOKKOS_FORCEINLINE_FUNCTION double value(int c) const { return double(m_arrays.x[c]) * m_arrays.scale[c]; }

 private:
  static constexpr int found = 1, not_finite = 2;

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

  KOKKOS_FUNCTION void judge() const {
    m_lane_group.region([&](int lane) {
      bool nonzero = false, finite = true;
      for (int c = lane; c < m_n2; c += m_lane_group.size()) {
        const double x = value(c);
        nonzero = nonzero || x != 0;
        finite = finite && Kokkos::isfinite(static_cast<Scalar>(x));
      }
      if (nonzero) Kokkos::atomic_or(m_arrays.flags, found);
      if (!finite) Kokkos::atomic_or(m_arrays.flags, not_finite);
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
