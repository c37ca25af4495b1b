// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of a sparse product in rows for which A has many entries: each by a thread, as the product of a
/// row of A with a column of B.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/transpose.hpp>

#include "pattern/list_rows.hpp"
#include "pattern/spgemm_row.hpp"

#include <cstdint>

namespace prekond::impl::spgemm {

/// Rows of A of more than `most` entries.
template <class Space>
struct IsLongRow {
  VectorView<const std::size_t, Space> row_ptrs;
  std::size_t most;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return row_ptrs(i + 1) - row_ptrs(i) > most; }
};

/// The length of row k of a list.
template <class Space>
struct LengthOfListed {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t k) const {
    return row_ptrs(rows(k) + 1) - row_ptrs(rows(k));
  }
};

/// c_ij = sum_k a_ik b_kj in ascending k: of row i of A and row j of B^T the entries of the shorter one are
/// looked up in the other.
template <class Scalar, class Space>
struct SumEntries {
  Product<Scalar, Space> product;
  CsrView<Scalar, Space> columns;               ///< B^T
  VectorView<const int, Space> rows;            ///< of C
  VectorView<const std::size_t, Space> begins;  ///< of their entries

  KOKKOS_FUNCTION void operator()(std::int64_t entry) const {
    const auto t = static_cast<std::size_t>(entry);
    const std::int64_t k = part_of<Space>(begins, t);
    const int i = rows(k);
    const auto& c = product.c;
    const std::size_t place = c.row_ptrs(i) + (t - begins(k));
    const Row row = row_of(product.a, i), column = row_of(columns, c.col_idxs(place));
    c.values(place) = row.end - row.begin < column.end - column.begin ? sum(product.a, row, columns, column)
                                                                      : sum(columns, column, product.a, row);
  }

 private:
  struct Row {
    std::size_t begin, end;
  };
  KOKKOS_FUNCTION static Row row_of(const CsrView<Scalar, Space>& of, int i) {
    return {of.row_ptrs(i), of.row_ptrs(i + 1)};
  }

  KOKKOS_FUNCTION static Scalar sum(const CsrView<Scalar, Space>& few, const Row& short_row,
                                    const CsrView<Scalar, Space>& many, const Row& long_row) {
    Scalar result = 0;
    std::size_t from = long_row.begin;
    for (std::size_t e = short_row.begin; e < short_row.end && from < long_row.end; ++e) {
      const int k = few.col_idxs(e);
      std::size_t end = long_row.end;
      while (from < end) {  // the first that is not before k
        const std::size_t middle = from + (end - from) / 2;
        if (many.col_idxs(middle) < k)
          from = middle + 1;
        else
          end = middle;
      }
      if (from < long_row.end && many.col_idxs(from) == k) result += few.values(e) * many.values(from);
    }
    return result;
  }
};

/// The values of these rows of C. Cost: a transposition of B, and for each entry the search in the longer of
/// two rows for the entries of the shorter one. Fences.
template <class Scalar, class Space>
void sum_long_rows(const Space& space, const Product<Scalar, Space>& product,
                   const VectorView<const int, Space>& rows) {
  const auto columns = transpose<Scalar, Space>(space, product.b);
  const auto [begins, nnz] = scan_row_lengths(space, "prekond::spgemm::entries_of_long_rows",
                                              static_cast<std::int64_t>(rows.extent(0)),
                                              LengthOfListed<Space>{product.c.row_ptrs, rows});
  Kokkos::parallel_for(
      "prekond::spgemm::sum_entries",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, static_cast<std::int64_t>(nnz)),
      SumEntries<Scalar, Space>{product, columns, rows, begins});
  space.fence("prekond::spgemm::sum_long_rows");  // B^T goes away
}

}  // namespace prekond::impl::spgemm
