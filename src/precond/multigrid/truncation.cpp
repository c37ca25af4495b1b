// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/truncation.hpp"

#include "matrix/filter_entries.hpp"
#include "matrix/find_entry.hpp"

#include "core/frobenius_norm.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/multigrid/largest_entries.hpp"

namespace prekond::impl::amg {
namespace {

/// r_cc over the length of its column, above which R_J is taken as regular.
constexpr double least_pivot = 1e-3;

/// Norms of W's blocks; infinite of a node's own aggregate.
template <class Scalar, class Space>
struct BlockNorms {
  using Rows = RowTeams<Space>;
  using Member = typename Rows::Member;
  CsrView<Scalar, Space> w, q;
  CsrGraphView<Space> nodes;
  VectorView<double, Space> norms;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int unknowns = static_cast<int>(w.num_rows / nodes.num_rows);
    const int vectors = static_cast<int>(w.num_cols / nodes.num_cols);
    Rows{nodes.num_rows}.for_each_row(team, [&](std::int64_t node) {
      const std::int64_t first = node * unknowns;
      const std::size_t begin = nodes.row_ptrs(node);
      const int own =
          q.row_ptrs(first) < q.row_ptrs(first + 1) ? q.col_idxs(q.row_ptrs(first)) / vectors : -1;
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, begin, nodes.row_ptrs(node + 1)), [&](std::size_t k) {
            norms(k) = nodes.col_idxs(k) == own ? Kokkos::Experimental::infinity_v<double>
                                                : norm_of(first, unknowns, k - begin, vectors);
          });
    });
  }
  /// Finite, for any block but the own one.
  KOKKOS_FUNCTION double norm_of(std::int64_t first, int unknowns, std::size_t block, int vectors) const {
    const double norm = frobenius_norm(unknowns, vectors, [&](int row, int c) {
      return double(w.values(w.row_ptrs(first + row) + block * vectors + c));
    });
    return Kokkos::isfinite(norm) ? norm : 0;
  }
};

/// A row of P by a vector of lanes.
template <class Scalar, class Space>
struct TruncateRows {
  using Rows = RowTeams<Space>;
  using Member = typename Rows::Member;
  CsrView<Scalar, Space> w, q;
  MultiVectorView<const Scalar, Space> r;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> p;
  CsrGraphView<Space> of_p;  ///< p's pattern

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Rows{p.num_rows}.for_each_row(team, [&](std::int64_t i) { do_row(team, i); });
  }

  KOKKOS_FUNCTION void do_row(const Member& team, std::int64_t i) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, p.row_ptrs(i), p.row_ptrs(i + 1)),
                         [&](std::size_t k) {
                           std::size_t place = 0;
                           p.values(k) = find_entry(w, i, p.col_idxs(k), place);
                         });
    const bool is_whole = p.row_ptrs(i + 1) - p.row_ptrs(i) == w.row_ptrs(i + 1) - w.row_ptrs(i);
    if (!is_whole && q.row_ptrs(i) < q.row_ptrs(i + 1)) add_the_rest(team, i, q.col_idxs(q.row_ptrs(i)));
  }

  /// x R_J = the rest's R, by columns from the left: x is added to the block from column `first` on.
  KOKKOS_FUNCTION void add_the_rest(const Member& team, std::int64_t i, int first) const {
    const int vectors = static_cast<int>(r.extent(1));
    double x[most_vectors];
    for (int c = 0; c < vectors; ++c) {
      double rest = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, w.row_ptrs(i), w.row_ptrs(i + 1)),
          [&](std::size_t k, double& sum) {
            const int col = w.col_idxs(k);
            if (!is_kept(i, col)) sum += double(w.values(k)) * double(r(col, c));
          },
          rest);
      for (int b = 0; b < c; ++b) rest -= x[b] * double(r(first + b, c));
      const double pivot = r(first + c, c);
      const double length = frobenius_norm(c + 1, 1, [&](int b, int) { return double(r(first + b, c)); });
      x[c] = Kokkos::abs(pivot) > least_pivot * length ? rest / pivot : 0;
    }
    Kokkos::single(Kokkos::PerThread(team), [&] {
      const std::size_t block = place_in_p(i, first);
      for (int c = 0; c < vectors; ++c) p.values(block + c) += Scalar(x[c]);
    });
  }

  KOKKOS_FUNCTION std::size_t place_in_p(std::int64_t i, int col) const { return of_p.first_from(i, col); }
  KOKKOS_FUNCTION bool is_kept(std::int64_t i, int col) const {
    const std::size_t place = place_in_p(i, col);
    return place < p.row_ptrs(i + 1) && p.col_idxs(place) == col;
  }
};

}  // namespace

template <class Scalar, class Space>
CsrGraph<Space> largest_aggregates(const Space& space, const CsrView<Scalar, Space>& w,
                                   const std::type_identity_t<CsrGraphView<Space>>& nodes,
                                   const CsrView<Scalar, Space>& q, int most) {
  const auto norms = allocate<Vector<double, Space>>(space, "prekond::amg::truncation::norms", nodes.nnz());
  Kokkos::parallel_for("prekond::amg::truncation::norms",
                       RowTeams<Space>::policy(space, nodes.num_rows, nodes.nnz()),
                       BlockNorms<Scalar, Space>{w, q, nodes, norms});
  const CsrView<double, Space> blocks(nodes.num_rows, nodes.num_cols, nodes.row_ptrs, nodes.col_idxs, norms);
  const auto kept = filter_pattern<double, Space>(space, blocks, IsLargest<double, Space>{blocks, most});
  space.fence("prekond::amg::truncation");  // the norms go away
  return kept;
}

template <class Scalar, class Space>
void truncate(const Space& space, const CsrView<Scalar, Space>& w, const CsrView<Scalar, Space>& q,
              const std::type_identity_t<MultiVectorView<const Scalar, Space>>& r,
              const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& p) {
  Kokkos::parallel_for("prekond::amg::truncate", RowTeams<Space>::policy(space, w.num_rows, w.nnz()),
                       TruncateRows<Scalar, Space>{w, q, r, p, p});
}

#define PREKOND_AMG_TRUNCATION(Scalar, Space)                                                             \
  template CsrGraph<Space> largest_aggregates<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                             const CsrGraphView<Space>&,                  \
                                                             const CsrView<Scalar, Space>&, int);         \
  template void truncate<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&,                      \
                                        const CsrView<Scalar, Space>&,                                    \
                                        const MultiVectorView<const Scalar, Space>&,                      \
                                        const CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_TRUNCATION)

}  // namespace prekond::impl::amg
