// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Columns of the static SPAI whose local matrices are never stored: their rows come from the rows of B, a
/// block at a time, into the registers of lanes, and go from there into R (StreamQr).
#include "core/kernel_policy.hpp"
#include "dense/stream_qr.hpp"

#include "precond/approximate_inverse/spai/kernels.hpp"

namespace prekond::impl::spai {

/// The rows of a local matrix (A(I, J) e_k), scaled, in the ascending order of I. Lane c reads row J[c] of B,
/// and has an entry in the rows that it comes to. Two entries a lane are being loaded.
template <class Scalar, class Real, class Space, class LaneGroup, int Sets>
class LocalRows {
 public:
  static constexpr int none = 0x7fffffff;

  /// J = cols[0 .. n2), indices below `limit`.
  KOKKOS_FUNCTION LocalRows(const LaneGroup& lane_group, const CsrView<Scalar, Space>& b,
                            const VectorView<const double, Space>& col_scale, const int* cols, int n2, int k,
                            std::int64_t limit)
      : m_lane_group(lane_group), m_b(b), m_limit(static_cast<int>(limit)) {
#pragma unroll
    for (int s = 0; s < Sets; ++s) {
      const int c = column(s);
      m_position[s] = 0;
      m_left[s] = 0;
      m_scale[s] = 1;
      m_square[s] = 0;
      m_index[s] = m_next[s] = none;
      m_value[s] = m_next_value[s] = 0;
      m_one[s] = c == n2 ? k : -1;
      if (c >= n2) continue;
      const int col = cols[c];
      m_position[s] = b.row_ptrs(col);
      m_left[s] = static_cast<int>(b.row_ptrs(col + 1) - m_position[s]);
      m_scale[s] = col_scale(col);
      fetch(s);
      advance(s);
    }
  }

  /// Reads the next rows into the block, and zeros after the last. next_row(r, least) is the index of its
  /// r-th row, where `least` is the one that this lane comes to next. `first`: this lane's first column that
  /// has an entry in them, or `none`. \returns how many rows there were
  template <class Block, class NextRow>
  KOKKOS_FORCEINLINE_FUNCTION int read(Block& block, int& first, const NextRow& next_row) {
    constexpr int rows = sizeof(block.entries[0]) / sizeof(Real);
    int count = 0;
    first = none;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      int least = m_index[0];
#pragma unroll
      for (int s = 1; s < Sets; ++s) least = m_index[s] < least ? m_index[s] : least;
      const int row = next_row(r, least);
      const bool is_row = row < m_limit;
      count += is_row;
#pragma unroll
      for (int s = Sets; s-- > 0;) {
        Real entry = m_one[s] == row ? 1 : 0;
        if (is_row && m_index[s] == row) {
          entry = static_cast<Real>(double(m_value[s]) * m_scale[s]);
          m_square[s] += entry * entry;
          first = column(s) < first ? column(s) : first;
          advance(s);
        }
        block.entries[s][r] = entry;
      }
    }
    return count;
  }

  /// The square of the norm of what was read of column lane + s * size.
  KOKKOS_FORCEINLINE_FUNCTION Real square(int s) const {
    return m_square[s];
  }
  KOKKOS_FORCEINLINE_FUNCTION double scale(int s) const {
    return m_scale[s];
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int column(int s) const {
    return m_lane_group.lane() + s * m_lane_group.size();
  }

  KOKKOS_FORCEINLINE_FUNCTION void advance(int s) {
    m_index[s] = m_next[s];
    m_value[s] = m_next_value[s];
    fetch(s);
  }
  KOKKOS_FORCEINLINE_FUNCTION void fetch(int s) {
    m_next[s] = none;
    if (m_left[s] == 0) return;
    m_next[s] = m_b.col_idxs(m_position[s]);
    m_next_value[s] = m_b.values(m_position[s]);
    ++m_position[s];
    --m_left[s];
  }

  LaneGroup m_lane_group;
  const CsrView<Scalar, Space>& m_b;
  int m_limit;
  std::size_t m_position[Sets];  ///< after the next entry
  int m_left[Sets];
  int m_one[Sets];  ///< the row of e_k's one
  int m_index[Sets];
  Scalar m_value[Sets];
  int m_next[Sets];
  Scalar m_next_value[Sets];
  double m_scale[Sets];
  Real m_square[Sets];
};

/// The rows of a vector's column: the next one has the least index that its lanes come to next. I is never
/// stored, nor known.
template <class LaneGroup>
struct MergedRows {
  LaneGroup lane_group;
  KOKKOS_FORCEINLINE_FUNCTION int operator()(int, int least) const {
    return lane_group.template min<int>([&](int) { return least; });
  }
  KOKKOS_FORCEINLINE_FUNCTION int least_of_all(int mine) const { return (*this)(0, mine); }
  KOKKOS_FORCEINLINE_FUNCTION void next_block(int) {}
};

/// The rows of a team's column, for which a minimum takes barriers: I was found before, and is listed.
template <class LaneGroup>
struct ListedRows {
  LaneGroup lane_group;
  const int* rows;  ///< I; there is none after it
  int left;
  int* minimum;  ///< of two words

  KOKKOS_FORCEINLINE_FUNCTION int operator()(int r, int) const { return r < left ? rows[r] : 0x7fffffff; }
  KOKKOS_FORCEINLINE_FUNCTION int least_of_all(int mine) const {
    if (lane_group.lane() == 0) *minimum = 0x7fffffff;
    lane_group.barrier();
    if (mine != 0x7fffffff) Kokkos::atomic_min(minimum, mine);
    lane_group.barrier();
    const int least = *minimum;
    lane_group.barrier();
    return least;
  }
  KOKKOS_FORCEINLINE_FUNCTION void next_block(int count) {
    rows += count;
    left -= count;
  }
};

/// Solves the columns of a bin by streaming; those that it cannot stay for other kernels.
template <class Scalar, class Real, class Space>
struct StreamedColumns {
  CsrView<Scalar, Space> b;
  VectorView<const double, Space> col_scale;
  CsrGraphView<Space> lists;
  VectorView<int, Space> n1;
  VectorView<Scalar, Space> values;
  Real floor;
  VectorView<unsigned char, Space> status;

  /// Column k with the rows that `rows` gives.
  template <class System, class LaneGroup, class Rows>
  KOKKOS_FUNCTION void do_column(const LaneGroup& lane_group, const System& system, Rows& rows, int k) const {
    constexpr int sets = System::sets;
    const std::size_t begin = lists.row_ptrs(k);
    const int n2 = static_cast<int>(lists.row_ptrs(k + 1) - begin);
    Real x[sets];
    double scale[sets];
    const bool sound = solve(lane_group, system, rows, k, lists.col_idxs.data() + begin, n2, x, scale);
    // 0: a value is not finite; 1: some are not zero; 2: all are.
    int found = 2;
#pragma unroll
    for (int s = 0; s < sets; ++s) {
      const int c = lane_group.lane() + s * lane_group.size();
      if (!sound || c >= n2) continue;
      const double value = double(x[s]) * scale[s];
      if (value != 0 && found == 2) found = 1;
      if (!Kokkos::isfinite(static_cast<Scalar>(value))) found = 0;
      values(begin + c) = static_cast<Scalar>(value);
    }
    found = rows.least_of_all(found);
    lane_group.once([&] { status(k) = found == 1 ? Status::solved : Status::again; });
  }

  /// \returns whether the columns of the local matrix are independent
  template <class System, class LaneGroup, class Rows>
  KOKKOS_FUNCTION bool solve(const LaneGroup& lane_group, const System& system, Rows& rows, int k,
                             const int* cols, int n2, Real (&x)[System::sets],
                             double (&scale)[System::sets]) const {
    constexpr int sets = System::sets;
    LocalRows<Scalar, Real, Space, LaneGroup, sets> local(lane_group, b, col_scale, cols, n2, k,
                                                          lists.num_rows);
    system.clear();
    int total = 0, count = System::rows;
    while (count == System::rows) {
      typename System::Block block;
      int first = 0;
      count = local.read(block, first, rows);
      first = rows.least_of_all(first);
      rows.next_block(count);
      total += count;
      if (count > 0) system.append(block, first);
    }
    lane_group.once([&] { n1(k) = total; });
    const Real least = floor_for(floor, total, 1 << 8);
    int independent = 1;
#pragma unroll
    for (int s = 0; s < sets; ++s) {
      const int c = lane_group.lane() + s * lane_group.size();
      scale[s] = local.scale(s);
      if (c >= n2) continue;
      const Real pivot = Kokkos::abs(system(c, c));
      const bool is_sound =
          pivot > least * Kokkos::sqrt(local.square(s)) && pivot > System::tiny && Kokkos::isfinite(pivot);
      if (!is_sound) independent = 0;
    }
    if (rows.least_of_all(independent) == 0) return false;
    system.solve(x);
    return true;
  }
};

/// Columns and rows that the lanes of a vector hold, and teams of `lanes_of_team` that are to fit into a
/// processor (0: as many as do).
template <Unit column_unit, int Sets, int Rows, int Teams = 0>
struct StreamShape {
  static constexpr Unit unit = column_unit;
  static constexpr int sets = Sets, rows = Rows, teams = Teams;
};

template <class Space, int Lanes, int Teams>
using BoundedPolicy = std::conditional_t<(Teams > 0), KernelPolicy<Space, Kokkos::LaunchBounds<Lanes, Teams>>,
                                         KernelPolicy<Space>>;

/// Columns of up to 127 entries, each by a vector, R in scratch.
template <class Scalar, class Real, class Space, class Shape>
struct StreamByVectors : ColumnKernel<Space, Shape::unit> {
  using Base = ColumnKernel<Space, Shape::unit>;
  static constexpr int lanes_of_team = 128;
  using Policy = BoundedPolicy<Space, lanes_of_team, Shape::teams>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Base::width>;
  using System = StreamQr<Real, Shape::rows, Shape::sets, LaneGroup>;

  StreamedColumns<Scalar, Real, Space> work;

  /// An odd multiple of 16: what the vectors of a warp read lies in different banks.
  static std::size_t bytes(int n2) {
    return ((System::Layout::shown_bytes + System::Layout::r_bytes(n2)) / 16 | 1) * 16;
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char*, int k) {
      const LaneGroup lane_group(team);
      const int n2 = static_cast<int>(work.lists.row_ptrs(k + 1) - work.lists.row_ptrs(k));
      const System system(lane_group, near, near + System::Layout::shown_bytes, n2);
      MergedRows<LaneGroup> rows{lane_group};
      work.do_column(lane_group, system, rows, k);
    });
  }
};

/// A column's lanes, two columns each, and teams that are to fit into a processor.
template <int Lanes, int Teams>
struct TeamShape {
  static constexpr int lanes = Lanes, teams = Teams, longest = 2 * Lanes - 1;
};
/// As perf_spai_shapes measured them on an H200, and the next.
using TinyTeams = TeamShape<64, 4>;
template <class Real>
using SmallTeams = TeamShape<128, sizeof(Real) == sizeof(float) ? 3 : 2>;
template <class Real>
using MiddleTeams = TeamShape<192, sizeof(Real) == sizeof(float) ? 2 : 1>;
using LargeTeams = TeamShape<256, 1>;

/// The longest column of a vector. In double precision a processor of an H200 has room for no more than four
/// vectors at a time where columns are longer: TinyTeams are faster.
template <class Real>
constexpr int longest_of_vectors = sizeof(Real) == sizeof(float) ? 127 : 104;

/// The shape for n2 + 1 <= 128 columns.
template <class Real, class LaunchShape>
void dispatch_shape(int columns, const LaunchShape& launch) {
  constexpr bool is_float = sizeof(Real) == sizeof(float);
  constexpr int teams_of_24 = is_float ? 4 : 3, rows_of_64 = is_float ? 32 : 16;
  if (columns <= 8) return launch(StreamShape<Unit::vector8, 1, 16>());
  if (columns <= 16) return launch(StreamShape<Unit::vector8, 2, 16, 4>());
  if (columns <= 24) return launch(StreamShape<Unit::vector8, 3, 16, teams_of_24>());
  if (columns <= 32) return launch(StreamShape<Unit::vector16, 2, 16, 4>());
  if (columns <= 48) return launch(StreamShape<Unit::vector16, 3, 16, 3>());
  if (columns <= 64) return launch(StreamShape<Unit::vector32, 2, rows_of_64>());
  if (columns <= 96) return launch(StreamShape<Unit::vector32, 3, 16>());
  launch(StreamShape<Unit::vector32, 4, 16>());
}

/// Columns of up to Shape::longest entries, each by a team, with n1 known; R, I and the table that finds it
/// in a slab.
template <class Scalar, class Real, class Space, class Shape>
struct StreamByTeams : ColumnKernel<Space, Unit::apart> {
  using Base = ColumnKernel<Space, Unit::apart>;
  static constexpr int lanes = Shape::lanes, teams = Shape::teams;
  using Policy = KernelPolicy<Space, Kokkos::LaunchBounds<lanes, teams>>;
  using Member = typename Policy::member_type;
  using LaneGroup = RegisterTeamLaneGroup<Space, Member, Base::width>;
  using System = StreamQr<Real, 32, 2, LaneGroup, true>;

  struct Arrays {
    int* minimum;  ///< near
    char* shown;
    FindArrays find;  ///< far
    int* rows;
    char* r;
    std::size_t near_bytes, far_bytes;

    KOKKOS_FUNCTION Arrays(char* near, char* far, int n1, int n2) : find(far, n1, n2) {
      near_bytes = 0;
      minimum = place_array<int>(near, near_bytes, 2);
      shown = place_array<char>(near, near_bytes, System::Layout::shown_bytes);
      far_bytes = find.bytes;
      rows = place_array<int>(far, far_bytes, power_of_two_from(static_cast<std::size_t>(n1)));
      r = place_array<char>(far, far_bytes, System::Layout::r_bytes(n2));
    }
  };

  StreamedColumns<Scalar, Real, Space> work;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char* far, int k) {
      const LaneGroup lane_group(team);
      const std::size_t begin = work.lists.row_ptrs(k);
      const int n2 = static_cast<int>(work.lists.row_ptrs(k + 1) - begin), n1 = work.n1(k);
      const Arrays arrays(near, far, n1, n2);
      const ProblemColumns<Scalar, Space, LaneGroup> problem(lane_group, work.b, n2, arrays.find.begins,
                                                             arrays.find.lengths);
      problem.read(work.lists.col_idxs.data() + begin, [](int, int) {});
      const IndexTable table(arrays.find.table, arrays.find.table_size, arrays.find.count, arrays.rows);
      table.clear(lane_group);
      problem.for_entries(work.lists.num_rows,
                          [&](int, std::size_t, int index) { table.insert(lane_group, index); });
      sort_list(lane_group, arrays.rows, n1);
      const System system(lane_group, arrays.shown, arrays.r, n2);
      ListedRows<LaneGroup> rows{lane_group, arrays.rows, n1, arrays.minimum};
      work.do_column(lane_group, system, rows, k);
    });
  }
};

}  // namespace prekond::impl::spai
