// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include "core/geometric_mean.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/row_scales.hpp"

#include <string>

namespace prekond {
namespace {

using impl::ScaleRows;

/// The entries off the diagonal that are kept.
template <class Scalar, class Space>
struct LargeEntries {
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> scale;
  double tau;

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    if (j == i || j >= a.num_rows) return false;
    return tau == 0 || Kokkos::abs(to_double(a.values(k))) > tau * geometric_mean(scale(i), scale(j));
  }
};

template <class Scalar, class Space>
struct CountLargeEntries {
  using Rows = impl::RowTeams<Space>;
  LargeEntries<Scalar, Space> keeps;
  VectorView<int, Space> length;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const CsrView<Scalar, Space>& a = keeps.a;
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      int kept = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
          [&](std::size_t k, int& sum) { sum += keeps(i, k); }, kept);
      Kokkos::single(Kokkos::PerThread(team), [&] { length(i) = kept + 1; });
    });
  }
};

template <class Scalar, class Space>
struct CopyLargeEntries {
  using Rows = impl::RowTeams<Space>;
  LargeEntries<Scalar, Space> keeps;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{keeps.a.num_rows}.for_each_row(team, [&](std::int64_t i) { copy_row(team, i); });
  }

  KOKKOS_FUNCTION void copy_row(const typename Rows::Member& team, std::int64_t i) const {
    const CsrView<Scalar, Space>& a = keeps.a;
    const std::size_t begin = a.row_ptrs(i);
    const std::size_t to = row_ptrs(i);
    const int length = static_cast<int>(a.row_ptrs(i + 1) - begin);
    int left = 0;  // of the diagonal
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += a.col_idxs(begin + k) < i && keeps(i, begin + k); }, left);
    // Ranges of a vector's scan start at 0: CUDA's ignores another start.
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, length), [&](int k, int& rank, bool final) {
      if (!keeps(i, begin + k)) return;
      const int j = a.col_idxs(begin + k);
      if (final) col_idxs(to + rank + (j > i)) = j;
      ++rank;
    });
    Kokkos::single(Kokkos::PerThread(team), [&] { col_idxs(to + left) = static_cast<int>(i); });
  }
};

/// The lengths of the parts of the rows of S: left of the diagonal, the diagonal, and right of it below
/// num_rows.
template <class Space>
struct PartOfRows {
  struct Row {
    std::size_t begin, left;  ///< where the columns left of the diagonal are, and how many
    std::size_t from, right;  ///< and those right of it
  };
  CsrGraphView<Space> s;
  bool lower, upper;

  KOKKOS_FUNCTION Row row(std::int64_t i) const {
    const std::size_t begin = s.row_ptrs(i), diagonal = s.first_from(i, i);
    Row result{begin, lower ? diagonal - begin : 0, diagonal, 0};
    if (!upper) return result;
    const std::size_t end = s.first_from(i, s.num_rows);
    if (diagonal < end && s.col_idxs(diagonal) == i) ++result.from;
    result.right = end - result.from;
    return result;
  }
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    const Row mine = row(i);
    return mine.left + 1 + mine.right;
  }
};

template <class Space>
struct CopyPart {
  using Rows = impl::RowTeams<Space>;
  PartOfRows<Space> part;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{part.s.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const auto row = part.row(i);
      const std::size_t to = row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, row.left + 1 + row.right), [&](std::size_t k) {
        if (k == row.left)
          col_idxs(to + k) = static_cast<int>(i);
        else
          col_idxs(to + k) = part.s.col_idxs(k < row.left ? row.begin + k : row.from + (k - row.left - 1));
      });
    });
  }
};

template <class Space>
CsrGraph<Space> make_part(const Space& space, const std::string& label, const PartOfRows<Space>& part) {
  const std::int64_t n = part.s.num_rows;
  const auto [row_ptrs, nnz] = impl::scan_row_lengths(space, label, n, part);
  auto col_idxs = allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz);
  Kokkos::parallel_for(label + "::copy_rows",
                       impl::RowTeams<Space>::policy(space, n, static_cast<std::int64_t>(nnz)),
                       CopyPart<Space>{part, row_ptrs, col_idxs});
  return {n, n, row_ptrs, col_idxs};
}

}  // namespace

template <class Scalar, class Space>
CsrGraph<Space> threshold(const Space& space, const CsrView<Scalar, Space>& a, double tau,
                          bool unit_diagonal) {
  if (!(tau >= 0)) throw InputError("threshold: tau is " + std::to_string(tau) + "; it must be 0 or larger");
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const std::int64_t n = a.num_rows;
  auto scale = allocate<Vector<double, Space>>(space, "prekond::threshold::scale", tau > 0 ? n : 0);
  if (tau > 0) {
    Kokkos::parallel_for("prekond::threshold::scale_rows", Policy(space, 0, n),
                         ScaleRows<Scalar, Space>{a, unit_diagonal, scale});
  }
  const LargeEntries<Scalar, Space> keeps{a, scale, tau};
  const auto rows = impl::RowTeams<Space>::policy(space, n, a.nnz());
  auto length = allocate<Vector<int, Space>>(space, "prekond::threshold::length", n);
  Kokkos::parallel_for("prekond::threshold::count_entries", rows,
                       CountLargeEntries<Scalar, Space>{keeps, length});
  const auto [row_ptrs, nnz] =
      impl::scan_row_lengths(space, "prekond::threshold", n, VectorView<const int, Space>(length));
  auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::threshold::col_idxs", nnz);
  Kokkos::parallel_for("prekond::threshold::copy_entries", rows,
                       CopyLargeEntries<Scalar, Space>{keeps, row_ptrs, col_idxs});
  return {n, n, row_ptrs, col_idxs};
}

template <class Space>
CsrGraph<Space> lower_triangle(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s) {
  return make_part<Space>(space, "prekond::lower_triangle", {s, true, false});
}

template <class Space>
CsrGraph<Space> upper_triangle(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s) {
  return make_part<Space>(space, "prekond::upper_triangle", {s, false, true});
}

template <class Space>
CsrGraph<Space> with_diagonal(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s) {
  return make_part<Space>(space, "prekond::with_diagonal", {s, true, true});
}

#define PREKOND_THRESHOLD(Scalar, Space)                                                                 \
  template CsrGraph<Space> threshold<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, double, \
                                                    bool);
PREKOND_INSTANTIATE(PREKOND_THRESHOLD)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_THRESHOLD)

#define PREKOND_LOWER_TRIANGLE(Space)                                                       \
  template CsrGraph<Space> lower_triangle<Space>(const Space&, const CsrGraphView<Space>&); \
  template CsrGraph<Space> upper_triangle<Space>(const Space&, const CsrGraphView<Space>&); \
  template CsrGraph<Space> with_diagonal<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LOWER_TRIANGLE)

}  // namespace prekond
