// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of a sparse product in rows for which A has many entries: each by a thread, as the product of a
/// row of A with a column of B.
#include <prekond/matrix/csr_graph.hpp>
#include "sparse_product/transpose.hpp"

#include "sparse_product/listed_rows.hpp"
#include "sparse_product/spgemm_row.hpp"

#include <cstdint>

namespace prekond::impl::spgemm {

/// Rows of A of more than `most` entries.
template <class Space>
struct IsLongRow {
  VectorView<const std::size_t, Space> row_ptrs;
  std::size_t most;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return row_ptrs(i + 1) - row_ptrs(i) > most; }
};

/// c_ij = sum_k a_ik b_kj in ascending k: of row i of A and row j of B^T the entries of the shorter one are
/// looked up in the other.
template <class Scalar, class Space>
struct Entries {
  static constexpr std::size_t most_of_a_thread = 48;  ///< entries that a thread looks up one after the other

  Product<Scalar, Space> product;
  CsrView<Scalar, Space> columns;  ///< B^T
  EntriesOfRows<Space> of_c;

  /// Entries of a row.
  struct Row {
    const int* cols;
    const Scalar* values;
    std::size_t length;

    /// Where the columns >= `col` begin, from place `low` on.
    KOKKOS_FUNCTION std::size_t first_from(std::size_t low, int col) const {
      std::size_t high = length;
      while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (cols[middle] < col)
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    }
  };

  /// An entry of C, and the rows of A and B^T that make it.
  struct Entry {
    std::size_t place;
    Row few, many;
    KOKKOS_FUNCTION bool is_of_a_vector() const { return few.length > most_of_a_thread; }
  };

  KOKKOS_FUNCTION static Row row_of(const CsrView<Scalar, Space>& of, int i) {
    const std::size_t begin = of.row_ptrs(i);
    return {of.col_idxs.data() + begin, of.values.data() + begin, of.row_ptrs(i + 1) - begin};
  }
  KOKKOS_FUNCTION Entry operator()(std::int64_t number) const {
    const std::int64_t k = of_c.row_of(number);
    const std::size_t place = of_c.place(k, number);
    const Row row = row_of(product.a, of_c.rows(k)), column = row_of(columns, product.c.col_idxs(place));
    return row.length < column.length ? Entry{place, row, column} : Entry{place, column, row};
  }
};

template <class Scalar, class Space>
struct IsOfAVector {
  Entries<Scalar, Space> entries;
  KOKKOS_FUNCTION bool operator()(std::int64_t number) const { return entries(number).is_of_a_vector(); }
};

template <class Scalar, class Space>
struct SumEntries {
  Entries<Scalar, Space> entries;
  KOKKOS_FUNCTION void operator()(std::int64_t number) const {
    const auto entry = entries(number);
    if (entry.is_of_a_vector()) return;
    const auto &few = entry.few, &many = entry.many;
    Scalar sum = 0;
    std::size_t from = 0;
    for (std::size_t e = 0; e < few.length && from < many.length; ++e) {
      from = many.first_from(from, few.cols[e]);
      if (from < many.length && many.cols[from] == few.cols[e]) sum += few.values[e] * many.values[from];
    }
    entries.product.c.values(entry.place) = sum;
  }
};

/// An entry by a vector of lanes: each looks one up, and one of them adds what all have found, in order.
template <class LaneGroup, class Scalar, class Space>
KOKKOS_FUNCTION void sum_entry(const LaneGroup& lane_group, const Entries<Scalar, Space>& entries,
                               std::int64_t number, Scalar* scratch) {
  const auto entry = entries(number);
  const auto &few = entry.few, &many = entry.many;
  Scalar* const other = scratch + LaneGroup::width;
  Scalar sum = 0;
  for (std::size_t e = 0; e < few.length; e += LaneGroup::width) {
    lane_group.region([&](int lane) {
      const std::size_t mine = e + static_cast<std::size_t>(lane);
      const int col = mine < few.length ? few.cols[mine] : 0;
      const std::size_t at = mine < few.length ? many.first_from(0, col) : many.length;
      const bool is_there = at < many.length && many.cols[at] == col;
      scratch[lane] = is_there ? few.values[mine] : Scalar(0);
      other[lane] = is_there ? many.values[at] : Scalar(0);
    });
    lane_group.once([&] {
      for (int lane = 0; lane < LaneGroup::width; ++lane) sum += scratch[lane] * other[lane];
    });
  }
  lane_group.once([&] { entries.product.c.values(entry.place) = sum; });
}

template <class Scalar, class Space>
struct SumEntriesByVector {
  static constexpr int lanes = 32, team_lanes = 128;
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, is_host_space<Space> ? 1 : lanes>;

  Entries<Scalar, Space> entries;
  VectorView<const std::int64_t, Space> list;

  static constexpr std::size_t bytes = 2 * LaneGroup::width * sizeof(Scalar) + 16;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t k = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (k >= static_cast<std::int64_t>(list.extent(0))) return;
    void* const scratch = team.thread_scratch(0).get_shmem_aligned(bytes - 16, 16);
    sum_entry(LaneGroup(team), entries, list(k), static_cast<Scalar*>(scratch));
  }
};

/// The values of these rows of C. Cost: a transposition of B, and for each entry the search in the longer of
/// two rows for the entries of the shorter one. Fences.
template <class Scalar, class Space>
void sum_long_rows(const Space& space, const Product<Scalar, Space>& product,
                   const VectorView<const int, Space>& rows) {
  const auto columns = transpose<Scalar, Space>(space, product.b);
  EntriesOfRows<Space> of_c{CsrGraphView<Space>(product.c), rows, {}};
  const auto [begins, nnz] = scan_row_lengths(space, "prekond::spgemm::entries_of_long_rows",
                                              static_cast<std::int64_t>(rows.extent(0)), of_c);
  of_c.begins = begins;
  const auto count = static_cast<std::int64_t>(nnz);
  const Entries<Scalar, Space> entries{product, columns, of_c};
  Kokkos::parallel_for("prekond::spgemm::sum_entries",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, count),
                       SumEntries<Scalar, Space>{entries});
  const auto list = list_rows<std::int64_t>(space, "prekond::spgemm::entries_of_vectors", count,
                                            IsOfAVector<Scalar, Space>{entries});
  if (const auto listed = static_cast<std::int64_t>(list.extent(0)); listed > 0) {
    using Kernel = SumEntriesByVector<Scalar, Space>;
    const int team = is_host_space<Space> ? 1 : Kernel::team_lanes / Kernel::LaneGroup::width;
    typename Kernel::Policy policy(space, static_cast<int>((listed + team - 1) / team), team,
                                   Kernel::LaneGroup::width);
    policy.set_scratch_size(0, Kokkos::PerThread(static_cast<int>(Kernel::bytes)));
    Kokkos::parallel_for("prekond::spgemm::sum_entries_by_vectors", policy, Kernel{entries, list});
  }
  space.fence("prekond::spgemm::sum_long_rows");  // B^T goes away
}

}  // namespace prekond::impl::spgemm
