// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernels of the static SPAI's setup, each over the columns of a bin.
#include "core/kernel_policy.hpp"
#include "core/row_teams.hpp"
#include "matrix/find_entry.hpp"
#include "sparse_product/lengths_of_rows.hpp"

#include "precond/approximate_inverse/spai/bins.hpp"
#include "precond/approximate_inverse/spai/column.hpp"
#include "precond/approximate_inverse/spai/tuning.hpp"
#include "precond/scaling/matrix_rows.hpp"
#include "precond/scaling/power_of_two.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <type_traits>

namespace prekond::impl::spai {

/// A kernel whose columns are each done by such a unit, with a workspace of its own.
template <class Space, Unit column_unit>
struct ColumnKernel {
  // Two teams of 256 lanes have 128 registers a lane; without a bound the kernel with a slab takes 210.
  static constexpr bool bounded = column_unit == Unit::team || column_unit == Unit::apart;
  using Policy =
      std::conditional_t<bounded, KernelPolicy<Space, Kokkos::LaunchBounds<256, 2>>, KernelPolicy<Space>>;
  using Member = typename Policy::member_type;
  static constexpr Unit unit = column_unit;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int width = host ? 1 : (unit == Unit::vector8 ? 8 : (unit == Unit::vector16 ? 16 : 32));
  static constexpr bool of_team = !host && (unit == Unit::team || unit == Unit::apart || unit == Unit::slab);
  static constexpr bool has_slab = unit == Unit::apart || unit == Unit::slab;
  static constexpr bool has_scratch = unit != Unit::slab;
  using LaneGroup =
      std::conditional_t<of_team, TeamLaneGroup<Member, width>, NativeLaneGroup<Space, Member, width>>;
  static constexpr Placement placement = unit == Unit::apart ? Placement::apart : Placement::together;

  VectorView<const int, Space> columns;
  std::size_t near_bytes = 0;      ///< of a column's workspace, or what is in scratch of it
  std::size_t far_bytes = 0;       ///< of the rest
  VectorView<char, Space> slab{};  ///< of all units
  VectorView<int, Space> next{};   ///< the first column that no unit has taken

  /// Calls do_column(near, far, k) for the columns k of the bin.
  template <class DoColumn>
  KOKKOS_FORCEINLINE_FUNCTION void for_columns(const Member& team, const DoColumn& do_column) const {
    const auto count = static_cast<std::int64_t>(columns.extent(0));
    if constexpr (has_slab) {
      const int fetched = host && near_bytes < (1 << 16) ? 16 : 1;  // short ones in groups
      char* const mine = slab.data() + (unit == Unit::apart ? far_bytes : near_bytes) *
                                           static_cast<std::size_t>(team.league_rank());
      char* near = mine;
      if constexpr (has_scratch)
        near = static_cast<char*>(team.team_shmem().get_shmem_aligned(near_bytes, 16));
      while (true) {
        int k = 0;
        Kokkos::single(
            Kokkos::PerTeam(team), [&](int& taken) { taken = Kokkos::atomic_fetch_add(&next(0), fetched); },
            k);
        if (k >= count) break;
        for (int end = k + fetched; k < end && k < count; ++k) do_column(near, mine, columns(k));
      }
    } else {
      const int in_team = of_team ? 1 : team.team_size(), rank = of_team ? 0 : team.team_rank();
      const std::int64_t k = std::int64_t(team.league_rank()) * in_team + rank;
      char* const base = static_cast<char*>(team.team_shmem().get_shmem_aligned(near_bytes * in_team, 16));
      if (k < count) do_column(base + near_bytes * rank, nullptr, columns(k));
    }
  }
};

/// The arrays for counting I.
struct FindArrays {
  std::size_t* begins;
  int* lengths;
  int* count;
  unsigned* table;
  std::size_t table_size;
  std::size_t bytes;

  KOKKOS_FUNCTION FindArrays(char* base, int most, int n2) {
    std::size_t end = 0;
    begins = place_array<std::size_t>(base, end, n2);
    lengths = place_array<int>(base, end, n2);
    count = place_array<int>(base, end, 1);
    table_size = IndexTable::num_slots(most);
    table = place_array<unsigned>(base, end, table_size);
    bytes = end;
  }
};

/// n1 at most: the lengths of B's rows J together, and no more than there are indices.
template <class Space>
struct BoundRows {
  CsrGraphView<Space> b, lists;
  VectorView<const unsigned char, Space> chosen;  ///< empty: all
  VectorView<int, Space> most;

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    const auto limit = static_cast<std::size_t>(lists.num_rows);
    RowTeams<Space>{lists.num_rows}.for_each_row(team, [&](std::int64_t k) {
      if (chosen.extent(0) > 0 && chosen(k) != Status::again) return;
      const std::size_t sum =
          lengths_of_rows<Space>(team, lists, lists.row_ptrs(k), lists.row_ptrs(k + 1), b);
      Kokkos::single(Kokkos::PerThread(team), [&] { most(k) = static_cast<int>(sum < limit ? sum : limit); });
    });
  }
};

/// n1 = |I| for the columns of a bin.
template <class Scalar, class Space, Unit unit>
struct CountRows : ColumnKernel<Space, unit> {
  using Base = ColumnKernel<Space, unit>;
  using typename Base::LaneGroup;
  using typename Base::Member;

  CsrView<Scalar, Space> b;
  CsrGraphView<Space> lists;
  VectorView<int, Space> n1;  ///< bounds, which become the numbers

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char*, int k) { do_column(team, near, k); });
  }

  KOKKOS_FUNCTION void do_column(const Member& team, char* near, int k) const {
    const LaneGroup lane_group(team);
    const std::size_t begin = lists.row_ptrs(k);
    const int n2 = static_cast<int>(lists.row_ptrs(k + 1) - begin);
    const FindArrays arrays(near, n1(k), n2);
    const ProblemColumns<Scalar, Space, LaneGroup> problem(lane_group, b, n2, arrays.begins, arrays.lengths);
    problem.read(lists.col_idxs.data() + begin, [](int, int) {});
    const IndexTable table(arrays.table, arrays.table_size, arrays.count, nullptr);
    table.clear(lane_group);
    problem.for_entries(lists.num_rows,
                        [&](int, std::size_t, int index) { table.insert(lane_group, index); });
    lane_group.once([&] { n1(k) = *arrays.count; });
  }
};

/// The diagonal that replaces column k where nothing better was found: 1 / a_kk, or 1.
template <class Scalar, class Space>
KOKKOS_FUNCTION Scalar diagonal_entry(const CsrView<Scalar, Space>& b, int k) {
  std::size_t position = 0;
  const Scalar inverse = 1 / find_entry(b, k, k, position);
  return Kokkos::isfinite(inverse) && inverse != 0 ? inverse : Scalar(1);
}

/// The floor for the rest of a column that depends on others, which is rounding and grows with the number of
/// rows: 16 eps up to `first_rows` rows, and beyond them with the square root of their number. The rule comes
/// from an experiment: a QR of 10^5 rows at once leaves up to 26 eps, one by blocks up to 66.
template <class Real>
KOKKOS_FUNCTION Real floor_for(Real floor, int n1, int first_rows) {
  const Real growth = Kokkos::sqrt(Real(n1) / Real(first_rows));
  return growth > 1 ? floor * growth : floor;
}

/// Solves the columns of a bin.
template <class Scalar, class Real, class Space, Unit unit>
struct SolveColumns : ColumnKernel<Space, unit> {
  using Base = ColumnKernel<Space, unit>;
  using typename Base::LaneGroup;
  using typename Base::Member;
  using SolvedColumn = Column<Scalar, Real, Space, LaneGroup>;

  CsrView<Scalar, Space> b;
  VectorView<const double, Space> col_scale;
  CsrGraphView<Space> lists;
  VectorView<const int, Space> n1;
  VectorView<Scalar, Space> values;
  Real floor;
  bool last_try;
  VectorView<unsigned char, Space> status;
  VectorView<BreakdownCounter, Space> outcome;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char* far, int k) { do_column(LaneGroup(team), near, far, k); });
  }

  /// By the kernel's lane group, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_column(const AnyLaneGroup& lane_group, char* near, char* far, int k) const {
    const std::size_t begin = lists.row_ptrs(k);
    const int n2 = static_cast<int>(lists.row_ptrs(k + 1) - begin);
    const int* const cols = lists.col_idxs.data() + begin;
    const typename SolvedColumn::Arrays arrays(near, far, n1(k), n2, Base::placement);
    const Column<Scalar, Real, Space, AnyLaneGroup> column(lane_group, b, col_scale, arrays, n1(k), n2);
    const ColumnResult result = column.solve(k, cols, lists.num_rows, floor_for(floor, n1(k), 1 << 14));
    const bool sound = !result.dropped && !result.nothing;
    if (!sound && !last_try) {
      lane_group.once([&] { status(k) = Status::again; });
      return;
    }
    const Scalar alone = result.nothing ? diagonal_entry<Scalar, Space>(b, k) : Scalar(0);
    lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += lane_group.size())
        values(begin + c) =
            result.nothing ? (cols[c] == k ? alone : Scalar(0)) : static_cast<Scalar>(column.value(c));
    });
    lane_group.once([&] {
      status(k) = sound ? Status::solved : (result.nothing ? Status::diagonal : Status::shortened);
      if (!sound) BreakdownCounter::count(outcome(0), k, result.nothing, result.pivot);
    });
  }
};

/// 2^-e with the largest entry of B's row in [2^e, 2^(e + 1)).
template <class Scalar, class Space>
struct ScaleRow {
  CsrView<Scalar, Space> b;
  VectorView<double, Space> scale;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    const auto n = static_cast<std::int64_t>(scale.extent(0));
    RowTeams<Space>{n}.for_each_row(team, [&](std::int64_t i) {
      const auto largest = double(measure_row<Scalar>(team, b, i, n).largest);
      Kokkos::single(Kokkos::PerThread(team),
                     [&] { scale(i) = largest > 0 ? inverse_power_of_two(largest) : 1.0; });
    });
  }
};

/// Columns that are too long for a vector, whose n1 has to be known.
template <class Space>
struct MarkLong {
  ColumnSizes<Space> sizes;
  int longest;  ///< that is not
  VectorView<int, Space> n1;
  VectorView<unsigned char, Space> status;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count) const {
    const bool is_long = sizes.n2(k) > longest;
    n1(k) = 0;
    status(k) = is_long ? Status::again : Status::streamed;
    count += is_long;
  }
};

template <class Space>
struct LongestColumn {
  ColumnSizes<Space> sizes;
  KOKKOS_FUNCTION void operator()(std::int64_t k, int& most) const {
    const int n2 = sizes.n2(k);
    if (n2 > most) most = n2;
  }
};

/// Sums of the sizes for the report.
struct SizeSums {
  std::int64_t n1_n2_n2 = 0;
  std::int64_t n2_cubes = 0;
  std::int64_t largest = 0;  ///< n1 n2^2
};

/// Sums over the columns whose n1 is known.
template <class Space>
struct SumSizes {
  ColumnSizes<Space> sizes;
  int longest_of_qr;  ///< longer ones take n2^3 / 3 operations
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& n1_n2_n2, std::int64_t& n2_cubes,
                                  std::int64_t& largest) const {
    const std::int64_t n1 = sizes.n1(k), n2 = sizes.n2(k);
    if (n1 == 0) return;
    const bool by_qr = n2 <= longest_of_qr;
    const std::int64_t cube = n2 * n2 * n2, work = by_qr ? n1 * n2 * n2 : cube / 6;
    n1_n2_n2 += by_qr ? work : 0;
    n2_cubes += by_qr ? cube : -cube / 2;
    if (work > largest) largest = work;
  }
};

}  // namespace prekond::impl::spai
