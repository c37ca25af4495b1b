// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/interpolation.hpp"

#include <prekond/core/scalar.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "matrix/filter_entries.hpp"
#include "matrix/find_entry.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/multigrid/largest_entries.hpp"
#include "precond/multigrid/renumber_columns.hpp"

namespace prekond::impl::amg {
namespace {

template <class Scalar, class Space>
using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

/// a_ij of the strong influences, and what is left of the rows' sums.
template <class Scalar, class Space>
struct ReadInfluences {
  using Rows = RowTeams<Space>;
  using Member = typename Rows::Member;
  CsrView<Scalar, Space> a;
  Matrix<Scalar, Space> strong;
  VectorView<const int, Space> unknown_of;
  VectorView<double, Space> rest;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) { do_row(team, i); });
  }
  KOKKOS_FUNCTION void do_row(const Member& team, std::int64_t i) const {
    double all = 0, of_strong = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
        [&](std::size_t k, double& sum) {
          if (counts(i, a.col_idxs(k))) sum += to_double(a.values(k));
        },
        all);
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, strong.row_ptrs(i), strong.row_ptrs(i + 1)),
        [&](std::size_t k, double& sum) {
          std::size_t place = 0;
          strong.values(k) = find_entry(a, i, strong.col_idxs(k), place);
          sum += to_double(strong.values(k));
        },
        of_strong);
    Kokkos::single(Kokkos::PerThread(team), [&] { rest(i) = all - of_strong; });
  }
  KOKKOS_FORCEINLINE_FUNCTION bool counts(std::int64_t i, int j) const {
    return j < a.num_rows && (unknown_of.extent(0) == 0 || unknown_of(i) == unknown_of(j));
  }
};

/// The entries of E and B in the pattern of the strong influences with a diagonal: of coarse rows the
/// diagonal; of fine ones in E fine columns, the diagonal among them, in B coarse ones. Unconnected rows have
/// only the diagonal there, which is in neither.
template <class Space>
struct IsOfFactor {
  CsrGraphView<Space> strong;
  VectorView<const int, Space> number;
  VectorView<const int, Space> wanted;
  bool to_fine;

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    if (to_fine && wanted.extent(0) > 0 && wanted(i) < 0) return false;
    const int j = strong.col_idxs(k);
    if (number(i) >= 0) return i == j;
    return to_fine ? number(j) == CoarseFine<Space>::fine : number(j) >= 0;
  }
};

/// B's values, and q.
template <class Scalar, class Space>
struct DirectValues {
  CsrView<Scalar, Space> strong;
  VectorView<const int, Space> number;
  VectorView<const int, Space> coarse;  ///< rows of B's columns; empty: they are rows
  Matrix<Scalar, Space> b;
  VectorView<double, Space> q;

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{b.num_rows}.for_each_row(team, [&](std::int64_t i) {
      double all = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, b.row_ptrs(i), b.row_ptrs(i + 1)),
          [&](std::size_t k, double& sum) {
            const int col = b.col_idxs(k);
            std::size_t place = 0;
            const Scalar value = number(i) >= 0
                                     ? Scalar(1)
                                     : find_entry(strong, i, coarse.extent(0) > 0 ? coarse(col) : col, place);
            b.values(k) = value;
            sum += to_double(value);
          },
          all);
      Kokkos::single(Kokkos::PerThread(team), [&] { q(i) = all; });
    });
  }
};

/// E's values in a row, by a vector of lanes.
template <class Scalar, class Space>
struct ExtendedValues {
  using Rows = RowTeams<Space>;
  using Member = typename Rows::Member;
  CsrView<Scalar, Space> strong;
  VectorView<const double, Space> rest;
  VectorView<const double, Space> q;
  VectorView<const int, Space> number;
  Matrix<Scalar, Space> e;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Rows{e.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = e.row_ptrs(i), end = e.row_ptrs(i + 1);
      if (begin == end) return;
      if (number(i) >= 0)
        Kokkos::single(Kokkos::PerThread(team), [&] { e.values(begin) = Scalar(1); });
      else
        do_fine(team, i, begin, end);
    });
  }

  /// A lane reads of E what it wrote itself.
  KOKKOS_FUNCTION void do_fine(const Member& team, std::int64_t i, std::size_t begin, std::size_t end) const {
    const auto range = Kokkos::ThreadVectorRange(team, begin, end);
    double others = 0, weights = 0;
    Kokkos::parallel_reduce(
        range, [&](std::size_t k, double& sum) { sum += set_share(i, k); }, others);
    Kokkos::parallel_reduce(
        range, [&](std::size_t k, double& sum) { sum += to_double(e.values(k)) * q(e.col_idxs(k)); },
        weights);
    const double d = rest(i) + others;
    // The row of P has the sum -weights / D.
    const bool usable = d * weights < 0 && Kokkos::isfinite(weights / d);
    const double divisor = usable ? d : -weights;
    Kokkos::parallel_for(range, [&](std::size_t k) {
      e.values(k) = divisor == 0 ? Scalar(0) : Scalar(-to_double(e.values(k)) / divisor);
    });
  }
  /// Sets a_ik / (q_k + a_ki), of i itself 1. \returns what k adds to D_i
  KOKKOS_FUNCTION double set_share(std::int64_t i, std::size_t place) const {
    const int k = e.col_idxs(place);
    if (k == i) {
      e.values(place) = Scalar(1);
      return 0;
    }
    std::size_t found = 0;
    const double a_ik = to_double(find_entry(strong, i, k, found));
    const double a_ki = to_double(find_entry(strong, k, i, found)), divisor = q(k) + a_ki;
    e.values(place) = divisor == 0 ? Scalar(0) : Scalar(a_ik / divisor);
    return divisor == 0 ? a_ik : a_ik * a_ki / divisor;
  }
};

template <class Scalar, class Space>
struct CutValues {
  using Rows = RowTeams<Space>;
  using Member = typename Rows::Member;
  CsrView<Scalar, Space> w;
  Matrix<Scalar, Space> p;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Rows{p.num_rows}.for_each_row(team, [&](std::int64_t i) { do_row(team, i); });
  }
  KOKKOS_FUNCTION void do_row(const Member& team, std::int64_t i) const {
    double all = 0, kept = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, w.row_ptrs(i), w.row_ptrs(i + 1)),
        [&](std::size_t k, double& sum) { sum += to_double(w.values(k)); }, all);
    const auto range = Kokkos::ThreadVectorRange(team, p.row_ptrs(i), p.row_ptrs(i + 1));
    Kokkos::parallel_reduce(
        range, [&](std::size_t k, double& sum) { sum += of_w(i, k); }, kept);
    const double factor = all / kept;
    const bool usable = factor > 0 && Kokkos::isfinite(factor);
    Kokkos::parallel_for(range,
                         [&](std::size_t k) { p.values(k) = Scalar((usable ? factor : 1) * of_w(i, k)); });
  }
  KOKKOS_FORCEINLINE_FUNCTION double of_w(std::int64_t i, std::size_t k) const {
    std::size_t place = 0;
    return to_double(find_entry(w, i, p.col_idxs(k), place));
  }
};

template <class Scalar, class Space>
Matrix<Scalar, Space> matrix_on(const Space& space, const CsrGraph<Space>& pattern, const char* label) {
  return {pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
          allocate<Vector<Scalar, Space>>(space, label, pattern.nnz())};
}

template <class Scalar, class Space>
void find_factors(const Space& space, const CsrView<Scalar, Space>& strong,
                  const InterpolationTarget<Space>& target, InterpolationPatterns<Space>& patterns) {
  const CoarseFine<Space>& points = target.points;
  const CsrGraph<Space> graph = with_diagonal<Space>(space, strong);
  const CsrView<Scalar, Space> entries(graph.num_rows, graph.num_cols, graph.row_ptrs, graph.col_idxs, {});
  patterns.extended = filter_pattern<Scalar, Space>(
      space, entries, IsOfFactor<Space>{graph, points.number, target.wanted, true});
  patterns.direct = filter_pattern<Scalar, Space>(
      space, entries, IsOfFactor<Space>{graph, points.number, target.wanted, false});
  if (!target.is_numbered) return;
  renumber_columns<Space>(space, points.number, points.count, patterns.direct);
  space.fence("prekond::amg::interpolation::factors");  // the pattern that they were filtered from goes away
}

}  // namespace

template <class Scalar, class Space>
Influences<Scalar, Space> influences(const Space& space, const CsrView<Scalar, Space>& a,
                                     const CsrGraph<Space>& strong,
                                     const std::type_identity_t<VectorView<const int, Space>>& unknown_of) {
  const Influences<Scalar, Space> result{
      matrix_on<Scalar, Space>(space, strong, "prekond::amg::influences::values"),
      allocate<Vector<double, Space>>(space, "prekond::amg::influences::rest", a.num_rows)};
  Kokkos::parallel_for("prekond::amg::influences", RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       ReadInfluences<Scalar, Space>{a, result.strong, unknown_of, result.rest});
  return result;
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> product_on(const Space& space,
                                                                             const CsrView<Scalar, Space>& a,
                                                                             const CsrView<Scalar, Space>& b,
                                                                             CsrGraph<Space>& pattern) {
  if (pattern.row_ptrs.extent(0) == 0) {
    const auto c = spgemm<Scalar, Space>(space, a, b);
    pattern = {c.num_rows, c.num_cols, c.row_ptrs, c.col_idxs};
    return c;
  }
  const auto c = matrix_on<Scalar, Space>(space, pattern, "prekond::amg::product_on::values");
  spgemm_values<Scalar, Space>(space, a, b, c);
  return c;
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> cut_rows(const Space& space,
                                                                           const CsrView<Scalar, Space>& w,
                                                                           int most,
                                                                           CsrGraph<Space>& pattern) {
  if (pattern.row_ptrs.extent(0) == 0)
    pattern = filter_pattern<Scalar, Space>(space, w, IsLargest<Scalar, Space>{w, most});
  const auto p = matrix_on<Scalar, Space>(space, pattern, "prekond::amg::cut_rows::values");
  Kokkos::parallel_for("prekond::amg::cut_rows", RowTeams<Space>::policy(space, w.num_rows, w.nnz()),
                       CutValues<Scalar, Space>{w, p});
  return p;
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> interpolation(
    const Space& space, const Influences<Scalar, Space>& influences, const InterpolationTarget<Space>& target,
    int most, InterpolationPatterns<Space>& patterns) {
  const std::int64_t n = influences.strong.num_rows;
  const CoarseFine<Space>& points = target.points;
  if (patterns.extended.row_ptrs.extent(0) == 0)
    find_factors<Scalar, Space>(space, influences.strong, target, patterns);
  const auto b = matrix_on<Scalar, Space>(space, patterns.direct, "prekond::amg::interpolation::direct");
  const auto e = matrix_on<Scalar, Space>(space, patterns.extended, "prekond::amg::interpolation::extended");
  const auto q = allocate<Vector<double, Space>>(space, "prekond::amg::interpolation::q", n);
  const VectorView<const int, Space> rows_of_columns =
      target.is_numbered ? VectorView<const int, Space>(points.coarse) : VectorView<const int, Space>();
  constexpr int lanes = 8;  // for rows of any length: they give the order of a sum
  Kokkos::parallel_for("prekond::amg::interpolation::direct", RowTeams<Space>::policy(space, n, lanes * n),
                       DirectValues<Scalar, Space>{influences.strong, points.number, rows_of_columns, b, q});
  Kokkos::parallel_for(
      "prekond::amg::interpolation::extended", RowTeams<Space>::policy(space, n, patterns.extended.nnz()),
      ExtendedValues<Scalar, Space>{influences.strong, influences.rest, q, points.number, e});
  const auto w = product_on<Scalar, Space>(space, e, b, patterns.product);
  const auto p = cut_rows<Scalar, Space>(space, w, most, patterns.cut);
  space.fence("prekond::amg::interpolation");  // the factors go away
  return p;
}

#define PREKOND_AMG_INTERPOLATION(Scalar, Space)                                                            \
  template Influences<Scalar, Space> influences<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                               const CsrGraph<Space>&,                      \
                                                               const VectorView<const int, Space>&);        \
  template CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> product_on<Scalar, Space>(     \
      const Space&, const CsrView<Scalar, Space>&, const CsrView<Scalar, Space>&, CsrGraph<Space>&);        \
  template CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> cut_rows<Scalar, Space>(       \
      const Space&, const CsrView<Scalar, Space>&, int, CsrGraph<Space>&);                                  \
  template CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> interpolation<Scalar, Space>(  \
      const Space&, const Influences<Scalar, Space>&, const InterpolationTarget<Space>&, int,               \
      InterpolationPatterns<Space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_INTERPOLATION)

}  // namespace prekond::impl::amg
