// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The dense inverses of blocks: how they are stored, made and applied.
#include <prekond/core/scalar.hpp>
#include <prekond/precond/setup_options.hpp>
#include "core/half.hpp"
#include "core/lane_group.hpp"
#include "dense/panel_inverse.hpp"

#include "precond/domain/dense_inverse.hpp"
#include "precond/domain/subdomains.hpp"
#include "precond/scaling/store_rows.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>
#include <type_traits>

namespace prekond::impl::block {

struct DenseTuning {
  static constexpr int largest_of_row = 32;     // blocks that are applied a thread a row
  static constexpr int largest_of_vector = 32;  // that a vector of lanes inverts
  static constexpr int largest_unblocked = 16;  // of a host: eliminated column by column
  static constexpr int panel = 8;
  static constexpr std::size_t scratch_limit = 40000;  // of a team at level 0, on CUDA
  static constexpr std::size_t apply_scratch = 24000;  // as OpenMP has, and two teams of CUDA's 48 kB
  static constexpr int team_vectors = 8;
  static constexpr int max_slab_teams = 1024;
};

/// Where the inverses' entries are: rows in slices of `height` places, a slice column by column, so that
/// threads of neighbouring rows read neighbouring numbers; on a host each row by itself.
template <class Space>
struct SlicedRows {
  static constexpr int height = is_host_space<Space> ? 1 : 32;
  VectorView<const std::size_t, Space> slice_ptrs;
  KOKKOS_FORCEINLINE_FUNCTION std::size_t begin(int k) const {
    return slice_ptrs(k / height) + static_cast<std::size_t>(k % height);
  }
};

/// Places of a subdomain.
struct Places {
  int begin, end;
};

template <class Space>
struct PlacesOf {
  VectorView<const int, Space> ptrs;
  VectorView<const int, Space> subdomain;
  int uniform, num_places;
  KOKKOS_FORCEINLINE_FUNCTION Places operator()(int k) const {
    if (uniform > 0) {
      const int begin = k / uniform * uniform;
      return {begin, begin + uniform < num_places ? begin + uniform : num_places};
    }
    const int d = subdomain(k);
    return {ptrs(d), ptrs(d + 1)};
  }
};

template <class Space>
PlacesOf<Space> places_of(const Subdomains<Space>& subdomains) {
  return {subdomains.ptrs, subdomains.subdomain, subdomains.uniform, static_cast<int>(subdomains.num_places)};
}

/// Numbers of a slice.
template <class Space>
struct SliceSize {
  PlacesOf<Space> places;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t s) const {
    constexpr int height = SlicedRows<Space>::height;
    int width = 0;
    const int first = static_cast<int>(s) * height;
    for (int k = first; k < first + height && k < places.num_places;) {
      const Places own = places(k);
      if (own.end - own.begin > width) width = own.end - own.begin;
      k = own.end;
    }
    return static_cast<std::size_t>(width) * height;
  }
};

/// log2 of the largest number that a type stores well.
template <class Value>
constexpr int top_exponent() {
  int exponent = 0;
  for (float most = top<Value>; most > 1; most /= 2) ++exponent;
  return exponent;
}

/// Inverts a block, over a lane group.
template <class Scalar, class Space, int Panel>
struct InvertBlock {
  CsrGraphView<Space> pattern;
  VectorView<const std::size_t, Space> source;
  VectorView<const Scalar, Space> a;
  VectorView<const int, Space> ptrs;
  VectorView<const int, Space> rows;
  SlicedRows<Space> slices;
  Storage storage;
  void* values;                                 ///< of the storage's type
  VectorView<ScaleExponents, Space> exponents;  ///< of each place; empty where values are stored in full
  VectorView<BreakdownCounter, Space> outcome;
  VectorView<int, Space> blocks;  ///< how many are not symmetric, singular, without an inverse

  using Block = PanelInverse<Scalar, Panel>;
  static constexpr Scalar floor = 16 * (sizeof(Scalar) == 4 ? Scalar(0x1p-23) : Scalar(0x1p-52));
  static constexpr Scalar tolerance = sizeof(Scalar) == 4 ? Scalar(1e-5) : Scalar(1e-10);

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, int d, char* base) const {
    const int begin = ptrs(d);
    const Block block(base, ptrs(d + 1) - begin);
    gather(lane_group, block, begin);
    const bool symmetric = block.is_symmetric(lane_group, tolerance);
    int replaced = 0, first = -1;
    int failed = symmetric ? invert_definite(lane_group, block, begin, replaced, first)
                           : block.invert(lane_group, floor, Pivoting::rows);
    Scalar largest = failed < 0 ? block.largest(lane_group) : Scalar(0);
    bool sound = failed < 0 && Kokkos::isfinite(largest);
    if (!sound) {  // not positive definite, or rows of very different scales, or singular
      gather(lane_group, block, begin);
      block.equilibrate(lane_group);
      failed = block.invert(lane_group, singular_floor(block), Pivoting::rows, Singular::replace);
      replaced = block.num_replaced();
      first = block.first_replaced();
      if (failed < 0) block.undo_scales(lane_group);
      largest = failed < 0 ? block.largest(lane_group) : Scalar(0);
      sound = failed < 0 && Kokkos::isfinite(largest);
    }
    const float pivot = failed >= 0 || replaced > 0 ? block.pivot() : 0.0f;
    if (failed >= 0) first = failed;
    lane_group.region([](int) {});
    lane_group.once([&] {
      if (!symmetric) Kokkos::atomic_inc(&blocks(0));
      if (!sound || replaced > 0)
        count_singular(sound ? replaced : block.order(), sound, rows(begin + (first > 0 ? first : 0)), pivot);
    });
    if (!sound) {
      take_diagonal(lane_group, block, begin);
      largest = block.largest(lane_group);
    } else if (symmetric) {
      block.symmetrize(lane_group);
    }
    store(lane_group, block, begin, largest, symmetric || !sound);
  }

  /// A bound for the rounding errors that are left of a pivot that is zero, relative to its entry.
  KOKKOS_FORCEINLINE_FUNCTION static Scalar singular_floor(const Block& block) {
    return block.order() > 16 ? floor / 16 * static_cast<Scalar>(block.order()) : floor;
  }

  /// The inverse of a symmetric block, if it is definite. Singular directions are replaced: those that a
  /// pivot shows, and those that the inverse shows, where the last pivots are of another scale than the
  /// rounding errors of the first.
  template <class LaneGroup>
  KOKKOS_FUNCTION int invert_definite(const LaneGroup& lane_group, const Block& block, int begin,
                                      int& replaced, int& first) const {
    block.clear_marks(lane_group);
    while (true) {
      const int failed = block.invert(lane_group, singular_floor(block), Pivoting::none, Singular::replace);
      first = block.first_replaced();
      replaced = block.num_replaced() + block.num_marks(first);
      if (failed >= 0) return failed;
      const int row = block.singular_row(singular_floor(block));
      if (row < 0) return -1;
      block.mark(lane_group, row);
      gather(lane_group, block, begin);
      block.double_marked(lane_group);
    }
  }

  /// Singular directions that were replaced, or all rows of a block that fall back.
  KOKKOS_FUNCTION void count_singular(int count, bool replaced, int row, float pivot) const {
    Kokkos::atomic_inc(&blocks(replaced ? 1 : 2));
    Kokkos::atomic_add(replaced ? &outcome(0).pivots : &outcome(0).diagonals, static_cast<long long>(count));
    BreakdownCounter::note_first(outcome(0), row, pivot);
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void gather(const LaneGroup& lane_group, const Block& block, int begin) const {
    block.clear(lane_group);
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.order(); i += lane_group.size())
        for (std::size_t k = pattern.row_ptrs(begin + i); k < pattern.row_ptrs(begin + i + 1); ++k)
          block(i, pattern.col_idxs(k) - begin) = a(source(k));
    });
  }

  /// B^-1 = the inverse of A's diagonal, with ones where that is not finite.
  template <class LaneGroup>
  KOKKOS_FUNCTION void take_diagonal(const LaneGroup& lane_group, const Block& block, int begin) const {
    block.clear(lane_group);
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.order(); i += lane_group.size()) {
        const std::size_t k = pattern.first_from(begin + i, begin + i);
        const bool found = k < pattern.row_ptrs(begin + i + 1) && pattern.col_idxs(k) == begin + i;
        const Scalar diagonal = found ? a(source(k)) : Scalar(0), inverse = 1 / diagonal;
        block(i, i) = Kokkos::isfinite(diagonal) && Kokkos::isfinite(inverse) ? inverse : Scalar(1);
      }
    });
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void store(const LaneGroup& lane_group, const Block& block, int begin, Scalar largest,
                             bool symmetric) const {
    if (storage == Storage::full)
      store_as<Scalar>(lane_group, block, begin, [&](int i, int j) { return block(i, j); });
    else if (storage == Storage::single_precision)
      store_scaled<float>(lane_group, block, begin, largest, symmetric);
    else if (storage == Storage::half)
      store_scaled<Half>(lane_group, block, begin, largest, symmetric);
    else
      store_scaled<BFloat16>(lane_group, block, begin, largest, symmetric);
  }

  /// A diagonal entry that is not zero does not become zero: a diagonal inverse would be singular.
  template <class Value, class LaneGroup>
  KOKKOS_FUNCTION void store_scaled(const LaneGroup& lane_group, const Block& block, int begin,
                                    Scalar largest, bool symmetric) const {
    const int found = block.find_scales(lane_group, largest, symmetric);
    constexpr int target = top_exponent<Value>();
    const int most = target - found;
    lane_group.region([&](int lane) {
      for (int i = lane; i < block.order(); i += lane_group.size())
        exponents(begin + i) = {within(-block.row_scale(i) - most), within(-block.column_scale(i))};
    });
    store_as<Value>(lane_group, block, begin, [&](int i, int j) {
      const Scalar entry = block(i, j);
      const int exponent = exponents(begin + i).row + exponents(begin + j).column;
      return rounded<Value, Scalar>(Block::scaled(entry, -exponent), i == j && entry != 0);
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION static short within(int k) {
    return static_cast<short>(k > Block::largest_exponent
                                  ? Block::largest_exponent
                                  : (k < Block::least_exponent ? Block::least_exponent : k));
  }

  template <class Value, class LaneGroup, class Entry>
  KOKKOS_FUNCTION void store_as(const LaneGroup& lane_group, const Block& block, int begin,
                                const Entry& entry) const {
    Value* const to = static_cast<Value*>(values);
    const int m = block.order();
    lane_group.region([&](int lane) {
      for (int i = lane; i < m; i += lane_group.size()) {
        const std::size_t place = slices.begin(begin + i);
        for (int j = 0; j < m; ++j)
          to[place + static_cast<std::size_t>(j) * SlicedRows<Space>::height] = entry(i, j);
      }
    });
  }
};

/// Blocks each by a vector of lanes of a team, in scratch.
template <class Scalar, class Space, int Width>
struct InvertByVectors {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  InvertBlock<Scalar, Space, 1> invert;
  int count;
  std::size_t bytes;

  Policy policy(const Space& space) const {
    const int fit = static_cast<int>(std::min<std::size_t>(DenseTuning::scratch_limit / bytes, 256 / Width));
    const int team = std::max(1, fit);
    return Policy(space, (count + team - 1) / team, team, Width)
        .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes * static_cast<std::size_t>(team) + 16)));
  }
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto in_team = static_cast<std::size_t>(team.team_size());
    char* const base = static_cast<char*>(team.team_shmem().get_shmem_aligned(bytes * in_team, 16));
    const int d = team.league_rank() * team.team_size() + team.team_rank();
    if (d < count)
      invert(NativeLaneGroup<Space, Member, Width>(team), d,
             base + bytes * static_cast<std::size_t>(team.team_rank()));
  }
};

/// Blocks each by a team, a host's thread: in scratch, or each team in its part of a slab, where it fetches
/// block after block.
template <class Scalar, class Space, int Panel>
struct InvertByTeams {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr bool host = is_host_space<Space>;
  using LaneGroup = std::conditional_t<host, HostLaneGroup<Member>, TeamLaneGroup<Member, host ? 1 : 32>>;
  InvertBlock<Scalar, Space, Panel> invert;
  int count;
  std::size_t bytes;
  VectorView<char, Space> slab;  ///< empty: scratch
  VectorView<int, Space> next;

  Policy policy(const Space& space, int teams) const {
    Policy result = host ? Policy(space, teams, 1, 1) : Policy(space, teams, DenseTuning::team_vectors, 32);
    if (slab.extent(0) == 0) result.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes + 16)));
    return result;
  }
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    if (slab.extent(0) == 0)
      return invert(LaneGroup(team), team.league_rank(),
                    static_cast<char*>(team.team_shmem().get_shmem_aligned(bytes, 16)));
    char* const base = slab.data() + bytes * static_cast<std::size_t>(team.league_rank());
    while (true) {
      int d = 0;
      Kokkos::single(
          Kokkos::PerTeam(team), [&](int& mine) { mine = Kokkos::atomic_fetch_add(&next(0), 1); }, d);
      if (d >= count) return;
      invert(LaneGroup(team), d, base);
    }
  }
};

/// The arrays that an application of the inverses reads.
template <class Value, class Scalar, class Space>
struct DenseRows {
  SlicedRows<Space> slices;
  VectorView<const Value, Space> values;
  VectorView<const ScaleExponents, Space> exponents;
  static constexpr int height = SlicedRows<Space>::height;

  /// sum_j B^-1_kj x(j) for the m columns of place k's block, by one thread: on a host in eight partial sums,
  /// which stay in vector registers.
  template <class X>
  KOKKOS_FORCEINLINE_FUNCTION Scalar product(int k, int m, const X& x) const {
    const Value* row = values.data() + slices.begin(k);
    if constexpr (height == 1) {
      Scalar part[8] = {};
      int j = 0;
      for (; j + 8 <= m; j += 8)
        for (int u = 0; u < 8; ++u) part[u] += static_cast<Scalar>(row[j + u]) * x(j + u);
      for (; j < m; ++j) part[j % 8] += static_cast<Scalar>(row[j]) * x(j);
      return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
    } else {
      Scalar sum = 0;
#pragma unroll 4
      for (int j = 0; j < m; ++j)
        sum += static_cast<Scalar>(row[static_cast<std::size_t>(j) * height]) * x(j);
      return sum;
    }
  }
  /// The factor of a row's sum, and of a column's x.
  KOKKOS_FORCEINLINE_FUNCTION Scalar row_scale(int k) const {
    if constexpr (std::is_same_v<Value, Scalar>)
      return 1;
    else
      return PanelInverse<Scalar, 1>::power_of_two(exponents(k).row);
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar scaled(Scalar x, int k) const {
    if constexpr (std::is_same_v<Value, Scalar>)
      return x;
    else
      return x * PanelInverse<Scalar, 1>::power_of_two(exponents(k).column);
  }
};

/// Small blocks: a thread a row.
template <class Value, class Scalar, class Space>
struct ApplyRows {
  DenseRows<Value, Scalar, Space> inverse;
  PlacesOf<Space> places;
  Transfer<Space> transfer;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(int k) const {
    const int row = transfer.target(k);
    if (row < 0) return;
    const Places own = places(k);
    for (std::size_t v = 0; v < x.extent(1); ++v)
      y(row, v) = inverse.row_scale(k) * inverse.product(k, own.end - own.begin, [&](int j) {
        return inverse.scaled(x(transfer.source(own.begin + j), v), own.begin + j);
      });
  }
};

/// Larger ones: a team each, the block's part of x in scratch where that has room.
template <class Value, class Scalar, class Space>
struct ApplyBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  DenseRows<Value, Scalar, Space> inverse;
  VectorView<const int, Space> ptrs;
  Transfer<Space> transfer;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  int scratch;  ///< numbers of x in it; 0: none

  static int scratch_for(int largest) {
    return static_cast<std::size_t>(largest) * sizeof(Scalar) <= DenseTuning::apply_scratch ? largest : 0;
  }
  static std::size_t scratch_bytes(int largest) {
    return static_cast<std::size_t>(scratch_for(largest)) * sizeof(Scalar) + 16;
  }
  Policy policy(const Space& space, int count, int largest) const {
    const int threads = std::min(256, (largest + 31) / 32 * 32);
    return Policy(space, count, is_host_space<Space> ? 1 : threads, 1)
        .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes(largest))));
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int d = team.league_rank(), begin = ptrs(d), m = ptrs(d + 1) - begin;
    auto* const own = static_cast<Scalar*>(
        team.team_shmem().get_shmem_aligned(static_cast<std::size_t>(scratch) * sizeof(Scalar), 16));
    for (std::size_t v = 0; v < x.extent(1); ++v) {
      if (scratch > 0) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, m),
                             [&](int j) { own[j] = element(begin + j, v); });
        team.team_barrier();
      }
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, m),
                           [&](int i) { multiply_row(begin, i, m, own, v); });
      team.team_barrier();
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar element(int k, std::size_t v) const {
    return inverse.scaled(x(transfer.source(k), v), k);
  }

  KOKKOS_FUNCTION void multiply_row(int begin, int i, int m, const Scalar* own, std::size_t v) const {
    const int row = transfer.target(begin + i);
    if (row < 0) return;
    const Scalar sum = scratch > 0
                           ? inverse.product(begin + i, m, [&](int j) { return own[j]; })
                           : inverse.product(begin + i, m, [&](int j) { return element(begin + j, v); });
    y(row, v) = inverse.row_scale(begin + i) * sum;
  }
};

}  // namespace prekond::impl::block
