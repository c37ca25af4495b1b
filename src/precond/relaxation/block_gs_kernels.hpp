// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Gauss-Seidel by blocks: L and U by the colours, and the rows scaled by D^-1.
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/level_schedule.hpp>

#include "core/row_teams.hpp"
#include "dense/block_inverse.hpp"
#include "matrix/block_sizes.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/setup/source_blocks.hpp"
#include "precond/triangular/row_launches.hpp"

namespace prekond::impl::block_gs {

/// L and U by the colours, and where in A their blocks come from.
template <class Space>
struct Pattern {
  int block_size, padding;
  std::int64_t num_blocks;   ///< of A
  std::int64_t longest_row;  ///< blocks of A
  CsrGraph<Space> lower, upper;
  Vector<std::size_t, Space> lower_source, upper_source;
  LevelSchedule<Space> forward, backward;

  std::int64_t bytes() const {
    return lower.bytes() + upper.bytes() +
           static_cast<std::int64_t>((lower_source.span() + upper_source.span()) * sizeof(std::size_t));
  }
};

/// The blocks of a row in columns of earlier colours, or of later ones.
template <class Space>
struct SplitRow {
  CsrGraphView<Space> a;
  VectorView<const int, Space> colors;
  bool earlier;

  KOKKOS_FORCEINLINE_FUNCTION bool has(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    if (j >= a.num_rows) return false;
    return earlier ? colors(j) < colors(i) : colors(j) > colors(i);
  }
  KOKKOS_FUNCTION int operator()(std::int64_t i) const {
    int count = 0;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) count += has(i, k) ? 1 : 0;
    return count;
  }
};

template <class Space>
struct FillSplit {
  SplitRow<Space> split;
  CsrGraph<Space> graph;
  Vector<std::size_t, Space> source;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t at = graph.row_ptrs(i);
    for (std::size_t k = split.a.row_ptrs(i); k < split.a.row_ptrs(i + 1); ++k)
      if (split.has(i, k)) {
        graph.col_idxs(at) = split.a.col_idxs(k);
        source(at++) = k;
      }
  }
};

template <class Space>
void split(const Space& space, const SplitRow<Space>& rows, CsrGraph<Space>& graph,
           Vector<std::size_t, Space>& source) {
  const std::int64_t n = rows.a.num_rows;
  const auto [row_ptrs, nnz] = scan_row_lengths(space, "prekond::block_gs", n, rows);
  graph = {n, n, row_ptrs, allocate<Vector<int, Space>>(space, "prekond::block_gs::cols", nnz)};
  source = allocate<Vector<std::size_t, Space>>(space, "prekond::block_gs::source", nnz);
  Kokkos::parallel_for("prekond::block_gs::symbolic::split",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                       FillSplit<Space>{rows, graph, source});
}

/// D^-1, each block by a lane group.
template <class Scalar, class Space>
struct InvertDiagonal {
  using Launch = LaunchTuning;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int lanes = host ? 1 : 32;
  using LaneGroup = NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>;
  using Inverse = BlockInverse<Scalar, 0>;

  int block_size;
  int scratch_bytes;
  blocks::BlockStrides strides;
  std::int64_t num_rows;  ///< of single rows
  CsrGraphView<Space> a;
  VectorView<const Scalar, Space> values;
  Vector<Scalar, Space> inverse;
  Vector<BreakdownCounter, Space> outcome;

  template <class Blocks>
  InvertDiagonal(const Blocks& blocks, const Vector<Scalar, Space>& to,
                 const Vector<BreakdownCounter, Space>& counter)
      : block_size(blocks.block_size),
        scratch_bytes(static_cast<int>(Inverse::bytes(block_size))),
        strides(blocks),
        num_rows(blocks.num_rows()),
        a(graph_of<Space>(blocks)),
        values(blocks.values),
        inverse(to),
        outcome(counter) {}

  KOKKOS_FUNCTION bool has_stalled() const { return false; }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void operator()(const AnyLaneGroup& lane_group, int i, char* memory) const {
    const int b = block_size, n = b * b;
    Inverse own(memory, b);
    const std::size_t k = a.first_from(i, i);
    const bool found = k < a.row_ptrs(i + 1) && a.col_idxs(k) == i;
    const auto entry = [&](int e) {
      const int p = e % b, q = e / b;
      const bool padding = std::int64_t(i) * b + p >= num_rows;
      return padding ? Scalar(p == q) : (found ? values(k * n + strides.place(p, q)) : Scalar(0));
    };
    lane_group.region([&](int lane) {
      for (int e = lane; e < n; e += lane_group.size()) own.input()[e] = entry(e);
    });
    const bool regular = own.invert(lane_group, own.input(), 16 * Kokkos::Experimental::epsilon_v<Scalar>);
    const bool sound = lane_group.template max<int>([&](int lane) {
      int bad = regular ? 0 : 1;
      for (int e = lane; regular && e < n; e += lane_group.size())
        if (!is_finite(own.result()[e])) bad = 1;
      return bad;
    }) == 0;
    lane_group.region([&](int lane) {
      for (int e = lane; e < n; e += lane_group.size()) {
        const Scalar fallback = sound || e % b != e / b ? Scalar(0) : point(i, e % b, entry(e));
        inverse(std::size_t(i) * n + e) = sound ? own.result()[e] : fallback;
      }
      if (lane == 0 && !sound)
        BreakdownCounter::count(outcome(0), i * b + (regular ? 0 : own.failed_column()), true,
                                regular ? 1.0f : own.bad_pivot());
    });
  }

 private:
  /// 1 / entry; where that is not finite, of the largest entry of its row; 1 where that is not finite either.
  KOKKOS_FUNCTION Scalar point(int i, int p, Scalar entry) const {
    const Scalar direct = Scalar(1) / entry;
    if (is_finite(entry) && is_finite(direct)) return direct;
    Scalar most = 0;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      for (int q = 0; a.col_idxs(k) < a.num_rows && q < block_size; ++q) {
        const Scalar size = Kokkos::abs(values(k * block_size * block_size + strides.place(p, q)));
        if (is_finite(size) && size > most) most = size;
      }
    const Scalar value = Scalar(1) / most;
    return is_finite(value) ? value : Scalar(1);
  }
};

/// n_ij = D_i^-1 a_ij; 0 where that is not finite.
template <class Scalar, class Space>
struct ScaleBlocks {
  using Rows = RowTeams<Space>;
  int block_size;
  blocks::BlockStrides strides;
  CsrGraphView<Space> n;
  VectorView<const std::size_t, Space> source;
  VectorView<const Scalar, Space> inverse, a;
  Vector<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const int b = block_size, entries = b * b;
    Rows{n.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = n.row_ptrs(i);
      const std::int64_t count = static_cast<std::int64_t>(n.row_ptrs(i + 1) - first) * entries;
      const std::size_t own = static_cast<std::size_t>(i) * entries;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count), [&](std::int64_t e) {
        const std::size_t block = first + e / entries, from = source(block) * entries;
        const int within = static_cast<int>(e % entries), p = within % b, q = within / b;
        Scalar sum = 0;
        for (int r = 0; r < b; ++r) sum += inverse(own + r * b + p) * a(from + strides.place(r, q));
        values(first * entries + e) = is_finite(sum) ? sum : Scalar(0);
      });
    });
  }
};

/// The rows by colour.
template <class Space>
LevelSchedule<Space> schedule_of(const Space& space, const Coloring<Space>& coloring) {
  LevelSchedule<Space> schedule;
  schedule.rows = coloring.permutation;
  schedule.host_level_ptrs = coloring.color_ptrs;
  schedule.level_ptrs =
      allocate<Vector<int, Space>>(space, "prekond::block_gs::color_ptrs", coloring.color_ptrs.size());
  Kokkos::deep_copy(space, schedule.level_ptrs,
                    Kokkos::View<const int*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        coloring.color_ptrs.data(), coloring.color_ptrs.size()));
  space.fence("prekond::block_gs::symbolic::color_ptrs");
  return schedule;
}

}  // namespace prekond::impl::block_gs
