// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Blocks of consecutive rows, inverted and applied.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/lane_group.hpp"
#include "matrix/find_entry.hpp"

#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::jacobi {

/// Where the entries of the inverses stand: by rows on a host, which reads a row at a time; by columns on a
/// device, whose threads have a row each.
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

/// The diagonal blocks of a matrix that is given by blocks of that size; of none without row pointers.
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

/// Inverts a block over a vector of lanes, in scratch.
template <class Scalar, class Space, int lanes>
struct InvertBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, lanes>;
  using Real = real_type_t<Scalar>;
  using Scratch =
      Kokkos::View<char*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  CsrView<Scalar, Space> a;  ///< where no blocks are given
  BlockLayout<Space> layout;
  Scalar factor;
  VectorView<Scalar, Space> inverse;
  VectorView<BreakdownCounter, Space> outcome;
  int blocks_per_team;
  DiagonalBlocks<Scalar, Space> given{};

  /// The block, its columns' largest entries, the pivots' rows, the pivot.
  KOKKOS_FUNCTION static std::size_t scratch_bytes(int block_size) {
    const auto m = static_cast<std::size_t>(block_size);
    return ((m * m + 1) * sizeof(Scalar) + m * sizeof(Real) + (m + 1) * sizeof(int) + 15) / 16 * 16;
  }
  static int blocks_of_team(int block_size) {
    if (is_host_space<Space>) return 1;
    return static_cast<int>(std::clamp<std::size_t>((32u << 10) / scratch_bytes(block_size), 1, 128 / lanes));
  }
  static Policy policy(const Space& space, std::int64_t num_rows, int block_size) {
    const int per_team = blocks_of_team(block_size);
    const std::int64_t blocks = (num_rows + block_size - 1) / block_size;
    Policy policy(space, static_cast<int>((blocks + per_team - 1) / per_team), per_team,
                  is_host_space<Space> ? 1 : lanes);
    return policy.set_scratch_size(
        0, Kokkos::PerThread(static_cast<int>(Scratch::shmem_size(scratch_bytes(block_size) + 16))));
  }

  struct Block {
    Scalar* values;  ///< by rows
    Scalar* pivot;   ///< its inverse; 0 where it is too small
    Real* largest;
    int* rows;
    int size;
    KOKKOS_FORCEINLINE_FUNCTION Scalar& operator()(int i, int j) const { return values[i * size + j]; }
  };

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * blocks_per_team;
    const Scratch scratch(team.thread_scratch(0), scratch_bytes(layout.block_size) + 16);
    // Complex numbers are aligned to 16 bytes.
    char* const base = scratch.data() + (16 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 16) % 16;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, begin + blocks_per_team), [&](std::int64_t b) {
      const std::int64_t first = b * layout.block_size;
      if (first >= layout.num_rows) return;
      const int m = layout.size(first);
      Scalar* const values = reinterpret_cast<Scalar*>(base);
      Real* const largest = reinterpret_cast<Real*>(values + m * m + 1);
      const Block block{values, values + m * m, largest, reinterpret_cast<int*>(largest + m), m};
      invert(LaneGroup(team), first, block);
    });
  }

  KOKKOS_FUNCTION void invert(const LaneGroup& lane_group, std::int64_t first, const Block& block) const {
    load(lane_group, first, block);
    bool sound = true;
    Real pivot = 0;
    for (int k = 0; k < block.size && sound; ++k) {
      lane_group.once([&] { find_pivot(block, k); });
      sound = *block.pivot != Scalar(0);
      if (!sound)
        pivot = block.largest[k] > 0 ? Kokkos::abs(block(block.rows[k], k)) / block.largest[k] : Real(0);
      if (sound) eliminate(lane_group, block, k);
    }
    if (sound) {
      undo_exchanges(lane_group, block);
      sound = lane_group.template max<int>([&](int lane) {
        int bad = 0;
        for (int e = lane; e < block.size * block.size; e += lane_group.size())
          if (!is_finite(block.values[e])) bad = 1;
        return bad;
      }) == 0;
    }
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.size; i += lane_group.size()) {
        if (!sound)
          BreakdownCounter::count(outcome(0), static_cast<int>(first + i), true, static_cast<float>(pivot));
        const Scalar own = sound ? Scalar(0) : point(first + i);
        for (int j = 0; j < block.size; ++j)
          inverse(layout.place(first + i, j)) = factor * (sound ? block(i, j) : (i == j ? own : Scalar(0)));
      }
    });
  }

  KOKKOS_FUNCTION void load(const LaneGroup& lane_group, std::int64_t first, const Block& block) const {
    const Scalar* const stored = given.size > 0 ? given.block(first / layout.block_size) : nullptr;
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.size; i += lane_group.size()) {
        for (int j = 0; j < block.size; ++j)
          block(i, j) =
              stored != nullptr ? stored[i * given.row_stride + j * given.column_stride] : Scalar(0);
        if (given.size > 0) continue;
        for (std::size_t k = a.row_ptrs(first + i); k < a.row_ptrs(first + i + 1); ++k) {
          const std::int64_t j = a.col_idxs(k) - first;
          if (j >= 0 && j < block.size) block(i, static_cast<int>(j)) = a.values(k);
        }
      }
    });
    lane_group.region([&](int lane) {
      for (int j = lane; j < block.size; j += lane_group.size()) {
        block.largest[j] = 0;
        for (int i = 0; i < block.size; ++i) {
          const Real size = Kokkos::abs(block(i, j));
          if (size > block.largest[j]) block.largest[j] = size;
        }
      }
    });
  }

  KOKKOS_FUNCTION static void find_pivot(const Block& block, int k) {
    int row = k;
    for (int i = k + 1; i < block.size; ++i)
      if (Kokkos::abs(block(i, k)) > Kokkos::abs(block(row, k))) row = i;
    block.rows[k] = row;
    const Real floor = 16 * Kokkos::Experimental::epsilon_v<Real> * block.largest[k];
    const Scalar found = block(row, k);
    *block.pivot = is_finite(found) && Kokkos::abs(found) > floor ? Scalar(1) / found : Scalar(0);
  }

  /// In place: column k becomes that of the inverse.
  KOKKOS_FUNCTION void eliminate(const LaneGroup& lane_group, const Block& block, int k) const {
    lane_group.region([&](int lane) {
      const int row = block.rows[k];
      for (int j = lane; j < block.size; j += lane_group.size()) {
        const Scalar of_pivot = block(row, j);
        block(row, j) = block(k, j);
        block(k, j) = (j == k ? Scalar(1) : of_pivot) * *block.pivot;
      }
    });
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.size; i += lane_group.size()) {
        if (i == k) continue;
        const Scalar factor_of_row = block(i, k);
        block(i, k) = 0;
        for (int j = 0; j < block.size; ++j) block(i, j) -= factor_of_row * block(k, j);
      }
    });
  }

  /// Rows that were exchanged are columns of the inverse.
  KOKKOS_FUNCTION void undo_exchanges(const LaneGroup& lane_group, const Block& block) const {
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.size; i += lane_group.size())
        for (int k = block.size - 1; k >= 0; --k) {
          const Scalar kept = block(i, k);
          block(i, k) = block(i, block.rows[k]);
          block(i, block.rows[k]) = kept;
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
