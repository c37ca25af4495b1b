// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include "core/lane_group.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace prekond::impl {

struct SortTuning {
  /// Entries that a lane ranks at most: 32 lanes rank 256.
  static constexpr int entries_per_lane = 8;
  static constexpr int max_ranked = 32 * entries_per_lane;
  static constexpr int team_threads = 256;
  static constexpr int long_row_threads = 512;
  /// Half the lanes of a warp idle on rows shorter than this.
  static constexpr int mean_length_of_wide_rows = 12;
  /// Scratch of a team: eight teams of 256 threads fit a multiprocessor's 228 kB.
  static constexpr std::size_t team_scratch = 28 * 1024;
};

/// The value type of a pattern.
struct NoValue {};

/// A matrix's arrays as the kernels see them.
template <class Space, class Ordinal, class Offset, class Value>
struct RowEntries {
  using execution_space = Space;
  using ordinal_type = Ordinal;
  using value_type = Value;
  static constexpr bool has_values = !std::is_same_v<Value, NoValue>;
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= 64,
                "sort_rows moves values that are trivially copyable and of up to 64 bytes");

  const Offset* row_ptrs;
  Ordinal* cols;
  Value* values;

  KOKKOS_FUNCTION Offset length(std::int64_t row) const { return row_ptrs[row + 1] - row_ptrs[row]; }

  KOKKOS_FUNCTION void swap(Offset i, Offset j) const {
    Kokkos::kokkos_swap(cols[i], cols[j]);
    if constexpr (has_values) Kokkos::kokkos_swap(values[i], values[j]);
  }
};

/// A list of rows, or all of them.
template <class Space>
struct RowList {
  VectorView<const std::int64_t, Space> rows;
  std::int64_t size;

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i) const { return rows.extent(0) > 0 ? rows(i) : i; }
};

/// Sorts rows of 2 to `capacity` entries, each by `Width` lanes: the row goes to scratch, each lane counts
/// which columns come before its own, and writes to that place.
template <class Entries, int Width>
struct RankRows {
  using Space = typename Entries::execution_space;
  using Ordinal = typename Entries::ordinal_type;
  using Value = typename Entries::value_type;
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Width>;
  template <class T>
  using Scratch =
      Kokkos::View<T*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int capacity = Width * SortTuning::entries_per_lane;

  Entries entries;
  RowList<Space> rows;

  static std::size_t scratch_bytes() {
    return Scratch<Ordinal>::shmem_size(capacity) +
           (Entries::has_values ? Scratch<Value>::shmem_size(capacity) : 0);
  }
  static Policy policy(const Space& space, std::int64_t num_rows) {
    const int by_scratch =
        static_cast<int>(std::max<std::size_t>(1, SortTuning::team_scratch / scratch_bytes()));
    const int rows_per_team = std::min(SortTuning::team_threads / Width, by_scratch);
    return Policy(space, static_cast<int>((num_rows + rows_per_team - 1) / rows_per_team), rows_per_team,
                  Width)
        .set_scratch_size(0, Kokkos::PerThread(static_cast<int>(scratch_bytes())));
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t i = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (i >= rows.size) return;
    const std::int64_t row = rows(i);
    const auto begin = entries.row_ptrs[row];
    const auto length = entries.length(row);
    if (length < 2 || length > capacity) return;
    const int n = static_cast<int>(length);
    const LaneGroup lane_group(team);
    const Scratch<Ordinal> cols(team.thread_scratch(0), capacity);
    lane_group.region([&](int lane) {
      for (int k = lane; k < n; k += Width) cols(k) = entries.cols[begin + k];
    });
    const unsigned disorder = lane_group.template max<unsigned>([&](int lane) {
      unsigned found = 0;
      for (int k = lane; k + 1 < n; k += Width) found |= cols(k) > cols(k + 1);
      return found;
    });
    if (disorder) place_by_rank(team, lane_group, cols, begin, n);
  }

  template <class Offset>
  KOKKOS_FUNCTION void place_by_rank(const Member& team, const LaneGroup& lane_group,
                                     const Scratch<Ordinal>& cols, Offset begin, int n) const {
    if constexpr (Entries::has_values) {
      const Scratch<Value> values(team.thread_scratch(0), capacity);
      lane_group.region([&](int lane) {
        for (int k = lane; k < n; k += Width) values(k) = entries.values[begin + k];
      });
      lane_group.region([&](int lane) {
        for (int k = lane; k < n; k += Width) {
          const int rank = rank_of(k, n, cols);
          entries.cols[begin + rank] = cols(k);
          entries.values[begin + rank] = values(k);
        }
      });
    } else {
      lane_group.region([&](int lane) {
        for (int k = lane; k < n; k += Width) entries.cols[begin + rank_of(k, n, cols)] = cols(k);
      });
    }
  }

  KOKKOS_FUNCTION static int rank_of(int k, int n, const Scratch<Ordinal>& cols) {
    const Ordinal mine = cols(k);
    int rank = 0;
    for (int j = 0; j < n; ++j) rank += cols(j) < mine || (cols(j) == mine && j < k);
    return rank;
  }
};

/// Sorts rows of more than SortTuning::max_ranked entries, each by a team: the bitonic network of the next
/// power of two whose first step of each merge mirrors, so that every exchange is ascending and the padding
/// need not exist.
template <class Entries>
struct BitonicRows {
  using Space = typename Entries::execution_space;
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  Entries entries;
  RowList<Space> rows;

  static Policy policy(const Space& space, std::int64_t num_rows) {
    return Policy(space, static_cast<int>(num_rows), SortTuning::long_row_threads);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t row = rows(team.league_rank());
    const std::int64_t begin = static_cast<std::int64_t>(entries.row_ptrs[row]);
    const std::int64_t n = static_cast<std::int64_t>(entries.length(row));
    if (n <= SortTuning::max_ranked || is_sorted(team, begin, n)) return;
    std::int64_t padded = 1;
    while (padded < n) padded *= 2;
    for (std::int64_t size = 2; size <= padded; size *= 2) {
      exchange(team, begin, n, padded, size / 2, size - 1);
      for (std::int64_t stride = size / 4; stride > 0; stride /= 2)
        exchange(team, begin, n, padded, stride, stride);
    }
  }

  /// One step: the pairs (i, i ^ partner_bits) for all i without the bit `half`.
  KOKKOS_FUNCTION void exchange(const Member& team, std::int64_t begin, std::int64_t n, std::int64_t padded,
                                std::int64_t half, std::int64_t partner_bits) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, padded / 2), [&](std::int64_t t) {
      const std::int64_t i = (t & ~(half - 1)) * 2 + (t & (half - 1));
      const std::int64_t j = i ^ partner_bits;
      if (j < n && entries.cols[begin + j] < entries.cols[begin + i]) entries.swap(begin + i, begin + j);
    });
    team.team_barrier();
  }

  KOKKOS_FUNCTION bool is_sorted(const Member& team, std::int64_t begin, std::int64_t n) const {
    int descents = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, n - 1),
        [&](std::int64_t k, int& sum) { sum += entries.cols[begin + k] > entries.cols[begin + k + 1]; },
        descents);
    return descents == 0;
  }
};

/// Sorts a row by one host thread.
template <class Entries>
struct HostSortRow {
  using Ordinal = typename Entries::ordinal_type;
  Entries entries;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t begin = static_cast<std::int64_t>(entries.row_ptrs[row]);
    const std::int64_t n = static_cast<std::int64_t>(entries.length(row));
    std::int64_t k = 1;
    while (k < n && entries.cols[begin + k - 1] <= entries.cols[begin + k]) ++k;
    if (k >= n) return;
    n <= SortTuning::max_ranked ? insertion_sort(begin, k, n) : heap_sort(begin, n);
  }

  /// \pre the first `sorted` entries are in order
  KOKKOS_FUNCTION void insertion_sort(std::int64_t begin, std::int64_t sorted, std::int64_t n) const {
    Ordinal* const cols = entries.cols + begin;
    auto* const values = entries.values + (Entries::has_values ? begin : 0);
    for (std::int64_t k = sorted; k < n; ++k) {
      const Ordinal col = cols[k];
      std::int64_t place = k;
      while (place > 0 && cols[place - 1] > col) --place;
      if (place == k) continue;
      for (std::int64_t m = k; m > place; --m) cols[m] = cols[m - 1];
      cols[place] = col;
      if constexpr (Entries::has_values) {
        const auto value = values[k];
        for (std::int64_t m = k; m > place; --m) values[m] = values[m - 1];
        values[place] = value;
      }
    }
  }

  KOKKOS_FUNCTION void heap_sort(std::int64_t begin, std::int64_t n) const {
    for (std::int64_t root = n / 2 - 1; root >= 0; --root) sift_down(begin, root, n);
    for (std::int64_t last = n - 1; last > 0; --last) {
      entries.swap(begin, begin + last);
      sift_down(begin, 0, last);
    }
  }

  KOKKOS_FUNCTION void sift_down(std::int64_t begin, std::int64_t root, std::int64_t n) const {
    const Ordinal* const cols = entries.cols + begin;
    for (std::int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
      if (child + 1 < n && cols[child] < cols[child + 1]) ++child;
      if (!(cols[root] < cols[child])) return;
      entries.swap(begin + root, begin + child);
      root = child;
    }
  }
};

template <class Entries>
struct IsLongerThan {
  Entries entries;
  std::int64_t limit;
  KOKKOS_FUNCTION bool operator()(std::int64_t row) const {
    return static_cast<std::int64_t>(entries.length(row)) > limit;
  }
};

template <int Width, class Entries, class Space>
void rank_rows(const Space& space, const Entries& entries, const RowList<Space>& rows) {
  using Kernel = RankRows<Entries, Width>;
  Kokkos::parallel_for("prekond::sort_rows::rank", Kernel::policy(space, rows.size), Kernel{entries, rows});
}

template <class Entries, class Space>
void sort_entries(const Space& space, std::int64_t num_rows, std::int64_t nnz, const Entries& entries) {
  if (num_rows == 0 || nnz == 0) return;
  if constexpr (is_host_space<Space>) {
    using Policy =
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Dynamic>>;
    Kokkos::parallel_for("prekond::sort_rows::host", Policy(space, 0, num_rows, Kokkos::ChunkSize(256)),
                         HostSortRow<Entries>{entries});
  } else {
    const RowList<Space> all{{}, num_rows};
    const bool wide = nnz / num_rows >= SortTuning::mean_length_of_wide_rows;
    wide ? rank_rows<32>(space, entries, all) : rank_rows<8>(space, entries, all);
    const std::int64_t limit = wide ? RankRows<Entries, 32>::capacity : RankRows<Entries, 8>::capacity;
    const auto list = list_rows<std::int64_t>(space, "prekond::sort_rows::long_rows", num_rows,
                                              IsLongerThan<Entries>{entries, limit});
    const RowList<Space> rest{list, static_cast<std::int64_t>(list.extent(0))};
    if (rest.size == 0) return;
    if (!wide) rank_rows<32>(space, entries, rest);
    Kokkos::parallel_for("prekond::sort_rows::bitonic", BitonicRows<Entries>::policy(space, rest.size),
                         BitonicRows<Entries>{entries, rest});
  }
}

}  // namespace prekond::impl

namespace prekond {

template <class Space, class Scalar, class Ordinal, class Offset, class MemorySpace, class Traits>
void sort_rows(const Space& space, const CsrMatrix<Scalar, Ordinal, Offset, MemorySpace, Traits>& a) {
  impl::sort_entries(space, a.num_rows, a.nnz(),
                     impl::RowEntries<Space, Ordinal, Offset, Scalar>{a.row_ptrs.data(), a.col_idxs.data(),
                                                                      a.values.data()});
}

}  // namespace prekond
