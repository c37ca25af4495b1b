// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Blocks of consecutive rows, inverted and applied.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/lane_group.hpp"
#include "dense/block_inverse.hpp"
#include "matrix/find_entry.hpp"

#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::jacobi {

/// The places of the inverses' entries: by rows on a host, which reads a row at a time; by columns on a
/// device, where each thread has a row.
template <class Space>
struct BlockLayout {
  std::int64_t num_rows;
  int block_size;
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(std::int64_t row, int col) const {
    return is_host_space<Space> ? row * block_size + col : col * num_rows + row;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first(std::int64_t row) const {
    return row / block_size * block_size;
  }
  KOKKOS_FORCEINLINE_FUNCTION int size(std::int64_t first_row) const {
    return first_row + block_size < num_rows ? block_size : static_cast<int>(num_rows - first_row);
  }
};

/// The diagonal blocks of a matrix that is given by blocks of that size; `size` is 0 for other matrices.
template <class Scalar, class Space>
struct DiagonalBlocks {
  CsrGraphView<Space> graph;
  VectorView<const Scalar, Space> values;
  int size = 0;
  int row_stride = 1, column_stride = 1;

  /// The first entry of diagonal block d; null where it is not stored.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* block(std::int64_t d) const {
    const std::size_t k = graph.first_from(d, d);
    return k < graph.row_ptrs(d + 1) && graph.col_idxs(k) == d ? &values(k * size * size) : nullptr;
  }
};

/// The inverse of each diagonal block, by a lane group in scratch.
template <class Scalar, class Space, int lanes>
struct InvertBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, lanes>;
  using Real = real_type_t<Scalar>;
  using Inverse = BlockInverse<Scalar, 0>;
  using Scratch =
      Kokkos::View<char*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  CsrView<Scalar, Space> a;  ///< where no blocks are given
  BlockLayout<Space> layout;
  Scalar factor;
  VectorView<Scalar, Space> inverse;
  VectorView<BreakdownCounter, Space> outcome;
  int blocks_per_team;
  DiagonalBlocks<Scalar, Space> given{};

  static int blocks_of_team(int block_size) {
    if (is_host_space<Space>) return 1;
    return static_cast<int>(
        std::clamp<std::size_t>((32u << 10) / Inverse::bytes(block_size), 1, 128 / lanes));
  }
  static Policy policy(const Space& space, std::int64_t num_rows, int block_size) {
    const int per_team = blocks_of_team(block_size);
    const std::int64_t blocks = (num_rows + block_size - 1) / block_size;
    Policy policy(space, static_cast<int>((blocks + per_team - 1) / per_team), per_team,
                  is_host_space<Space> ? 1 : lanes);
    return policy.set_scratch_size(
        0, Kokkos::PerThread(static_cast<int>(Scratch::shmem_size(Inverse::bytes(block_size) + 16))));
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * blocks_per_team;
    const Scratch scratch(team.thread_scratch(0), Inverse::bytes(layout.block_size) + 16);
    char* const base = scratch.data() + (16 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 16) % 16;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, begin + blocks_per_team), [&](std::int64_t b) {
      const std::int64_t first = b * layout.block_size;
      if (first < layout.num_rows) invert(LaneGroup(team), first, Inverse(base, layout.size(first)));
    });
  }

  KOKKOS_FUNCTION void invert(const LaneGroup& lane_group, std::int64_t first, Inverse block) const {
    load(lane_group, first, block);
    const int m = block.order();
    const bool regular = block.invert(lane_group, block.input(), 16 * Kokkos::Experimental::epsilon_v<Real>);
    const bool sound = lane_group.template max<int>([&](int lane) {
      int bad = regular ? 0 : 1;
      for (int e = lane; regular && e < m * m; e += lane_group.size())
        if (!is_finite(block.result()[e])) bad = 1;
      return bad;
    }) == 0;
    lane_group.region([&](int lane) {
      for (int i = lane; i < m; i += lane_group.size()) {
        if (!sound)
          BreakdownCounter::count(outcome(0), static_cast<int>(first + i), true,
                                  regular ? 0.0f : block.bad_pivot());
        const Scalar own = sound ? Scalar(0) : point(first + i);
        for (int j = 0; j < m; ++j)
          inverse(layout.place(first + i, j)) =
              factor * (sound ? block.result()[j * m + i] : (i == j ? own : Scalar(0)));
      }
    });
  }

  /// The block of A from row `first` on.
  KOKKOS_FUNCTION void load(const LaneGroup& lane_group, std::int64_t first, const Inverse& block) const {
    const Scalar* const stored = given.size > 0 ? given.block(first / layout.block_size) : nullptr;
    const int m = block.order();
    lane_group.region([&](int lane) {
      for (int i = lane; i < m; i += lane_group.size()) {
        Scalar* const row = block.input() + i;
        for (int j = 0; j < m; ++j)
          row[j * m] = stored != nullptr ? stored[i * given.row_stride + j * given.column_stride] : Scalar(0);
        if (given.size > 0) continue;
        for (std::size_t k = a.row_ptrs(first + i); k < a.row_ptrs(first + i + 1); ++k) {
          const std::int64_t j = a.col_idxs(k) - first;
          if (j >= 0 && j < m) row[j * m] = a.values(k);
        }
      }
    });
  }

  KOKKOS_FUNCTION Scalar diagonal_entry(std::int64_t i) const {
    std::size_t place = 0;
    if (given.size == 0) return find_entry(a, i, i, place);
    const Scalar* const stored = given.block(i / given.size);
    return stored != nullptr ? stored[i % given.size * (given.row_stride + given.column_stride)] : Scalar(0);
  }

  KOKKOS_FUNCTION Scalar point(std::int64_t i) const {
    const Scalar diagonal = diagonal_entry(i);
    const Scalar value = Scalar(1) / diagonal;
    return is_finite(diagonal) && is_finite(value) ? value : Scalar(1);
  }
};

/// y = D^-1 x, or y + D^-1 x.
template <class Scalar, class Space>
struct ApplyBlocks {
  BlockLayout<Space> layout;
  VectorView<const Scalar, Space> inverse;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  bool adds;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t first = layout.first(i);
    const int size = layout.size(first);
    for (std::size_t v = 0; v < x.extent(1); ++v) {
      Scalar sum = adds ? y(i, v) : Scalar(0);
      for (int j = 0; j < size; ++j) sum += inverse(layout.place(i, j)) * x(first + j, v);
      y(i, v) = sum;
    }
  }
};

}  // namespace prekond::impl::jacobi
