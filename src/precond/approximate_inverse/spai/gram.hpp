// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The sparse matrix B B^T, of whose rows and columns J the Gram matrix of the local matrix A(I, J) consists.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/concurrent_words.hpp"
#include "core/row_teams.hpp"

#include "precond/scaling/power_of_two.hpp"

namespace prekond::impl::spai {

/// B without the rows in no J of a long column. Rows are scaled by powers of two to a norm in [1, 2), and
/// entries of other ranks are zero.
template <class Scalar, class Space>
struct GramMatrices {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  Matrix b;
  Matrix transposed;
  CsrMatrix<double, int, std::size_t, typename Space::memory_space> gram;  ///< the lower triangle of B B^T
  Vector<double, Space> scale;
};

/// Marks the rows of B that a long column's J has.
template <class Space>
struct MarkNeeded {
  CsrGraphView<Space> lists;
  int longest;  ///< that is not long
  VectorView<int, Space> needed;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    if (lists.row_ptrs(k + 1) - lists.row_ptrs(k) <= static_cast<std::size_t>(longest)) return;
    for (std::size_t p = lists.row_ptrs(k); p < lists.row_ptrs(k + 1); ++p)
      raise_flag(needed(lists.col_idxs(p)), 1);
  }
};

template <class Scalar, class Space>
struct NeededLength {
  CsrView<Scalar, Space> b;
  VectorView<const int, Space> needed;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    return needed(row) != 0 ? b.row_ptrs(row + 1) - b.row_ptrs(row) : 0;
  }
};

/// Copies the needed rows, scaled. `first_scale` brings a row's largest entry into [1, 2).
template <class Scalar, class Space>
struct ScaleNeeded {
  CsrView<Scalar, Space> b;
  VectorView<const double, Space> first_scale;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> scaled;
  VectorView<double, Space> scale;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const std::size_t to = scaled.row_ptrs(row), n = scaled.row_ptrs(row + 1) - to, from = b.row_ptrs(row);
    if (n == 0) return;
    const auto entry = [&](std::size_t k) {
      return b.col_idxs(from + k) < scale.extent_int(0) ? double(b.values(from + k)) * first_scale(row) : 0.0;
    };
    double square = 0;
    for (std::size_t k = 0; k < n; ++k) square += entry(k) * entry(k);
    const double second = inverse_power_of_two(Kokkos::sqrt(square));
    scale(row) = first_scale(row) * second;
    for (std::size_t k = 0; k < n; ++k) {
      scaled.col_idxs(to + k) = b.col_idxs(from + k);
      scaled.values(to + k) = static_cast<Scalar>(entry(k) * second);
    }
  }
};

/// The entries of B B^T up to the diagonal, each by a lane.
template <class Scalar, class Space>
struct FillGram {
  using Teams = RowTeams<Space>;
  CsrView<Scalar, Space> b;
  CsrView<double, Space> gram;
  Vector<double, Space> values;
  Teams rows;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t row) {
      const std::size_t begin = gram.row_ptrs(row);
      const auto length = static_cast<std::int64_t>(gram.row_ptrs(row + 1) - begin);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](std::int64_t k) {
        const std::size_t p = begin + static_cast<std::size_t>(k);
        const std::int64_t other = gram.col_idxs(p);
        values(p) = other <= row ? product(row, other) : 0.0;
      });
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t length(std::int64_t row) const {
    return static_cast<std::int64_t>(b.row_ptrs(row + 1) - b.row_ptrs(row));
  }

  /// Row i times row j of B: both lists are merged, or the entries of the short one looked up in one that is
  /// much longer.
  KOKKOS_FUNCTION double product(std::int64_t i, std::int64_t j) const {
    const std::int64_t one = length(i) < length(j) ? i : j, two = i + j - one;
    const bool search = length(two) / 8 > length(one);
    std::size_t begin = b.row_ptrs(two);
    const std::size_t end = b.row_ptrs(two + 1);
    double sum = 0;
    for (std::size_t p = b.row_ptrs(one); p < b.row_ptrs(one + 1); ++p) {
      const int col = b.col_idxs(p);
      if (search) begin = first_from(begin, end, col);
      while (begin < end && b.col_idxs(begin) < col) ++begin;
      if (begin == end) break;
      if (b.col_idxs(begin) == col) sum += double(b.values(p)) * double(b.values(begin));
    }
    return sum;
  }

  /// The first place in [begin, end) whose column is `col` or larger.
  KOKKOS_FORCEINLINE_FUNCTION std::size_t first_from(std::size_t begin, std::size_t end, int col) const {
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (b.col_idxs(middle) < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
};

}  // namespace prekond::impl::spai
