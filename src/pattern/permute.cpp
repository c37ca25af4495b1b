// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/pattern/permute.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <string>

namespace prekond {
namespace {

/// The lengths of the rows in their new order.
template <class Space>
struct PermutedLength {
  CsrGraphView<Space> a;
  VectorView<const int, Space> permutation;

  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    const int old = permutation(i);
    return a.row_ptrs(old + 1) - a.row_ptrs(old);
  }
};

/// Copies rows to their new places, unsorted.
template <class Space>
struct CopyRows {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> a;
  VectorView<const int, Space> permutation;
  VectorView<const int, Space> inverse;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<std::int64_t, Space> source;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(permutation(i));
      const int length = static_cast<int>(row_ptrs(i + 1) - row_ptrs(i));
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](int k) {
        const std::size_t from = begin + static_cast<std::size_t>(k);
        const std::size_t to = row_ptrs(i) + static_cast<std::size_t>(k);
        const int col = a.col_idxs(from);
        col_idxs(to) = col < a.num_rows ? inverse(col) : col;
        source(to) = static_cast<std::int64_t>(from);
      });
    });
  }
};

template <class Space>
struct Identity {
  VectorView<int, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { x(i) = static_cast<int>(i); }
};

}  // namespace

template <class Space>
Ordering<Space> natural_ordering(const Space& space, std::int64_t num_rows) {
  const auto rows = allocate<Vector<int, Space>>(space, "prekond::permute::natural", num_rows);
  Kokkos::parallel_for("prekond::permute::natural",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, num_rows),
                       Identity<Space>{rows});
  return {rows, rows};
}

template <class Space>
PermutedPattern<Space> permute_pattern(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                       const Ordering<Space>& ordering) {
  const std::int64_t n = a.num_rows;
  if (ordering.size() != n)
    throw InputError("an ordering of " + std::to_string(ordering.size()) + " rows for a matrix that has " +
                     std::to_string(n) + "; make it of this matrix's pattern");
  const auto [row_ptrs, nnz] =
      impl::scan_row_lengths(space, "prekond::permute", n, PermutedLength<Space>{a, ordering.permutation});
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::permute::col_idxs", nnz);
  const auto source = allocate<Vector<std::int64_t, Space>>(space, "prekond::permute::source", nnz);
  Kokkos::parallel_for(
      "prekond::permute::copy_rows", impl::RowTeams<Space>::policy(space, n, a.nnz()),
      CopyRows<Space>{a, ordering.permutation, ordering.inverse, row_ptrs, col_idxs, source});
  sort_rows(space, CsrMatrix<std::int64_t, int, std::size_t, typename Space::memory_space>(
                       n, a.num_cols, row_ptrs, col_idxs, source));
  return {{n, a.num_cols, row_ptrs, col_idxs}, source};
}

#define PREKOND_PERMUTE_PATTERN(Space)                                                             \
  template Ordering<Space> natural_ordering<Space>(const Space&, std::int64_t);                    \
  template PermutedPattern<Space> permute_pattern<Space>(const Space&, const CsrGraphView<Space>&, \
                                                         const Ordering<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_PERMUTE_PATTERN)

}  // namespace prekond
