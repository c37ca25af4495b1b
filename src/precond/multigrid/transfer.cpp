// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// From a level to the next coarser one.
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "matrix/find_entry.hpp"
#include "matrix/longest_row.hpp"
#include "pattern/block_rows.hpp"
#include "pattern/fingerprint.hpp"
#include "precond/multigrid/strength.hpp"
#include "sparse_product/transpose.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/node_patterns.hpp"
#include "precond/multigrid/prolongator.hpp"
#include "precond/multigrid/truncation.hpp"
#include "precond/storage/stored_operator.hpp"

#include <cmath>

namespace prekond::impl::amg {
namespace {

/// Coarse unknowns of a column of Q that is zero: 1 on the diagonal of a row that is zero.
template <class Scalar, class Space>
struct SetDeadUnknowns {
  Matrix<Scalar, Space> a;
  MultiVectorView<const Scalar, Space> near_null_space;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int m = static_cast<int>(near_null_space.extent(1));
    if (near_null_space(i, i % m) != Scalar(0)) return;
    std::size_t place = 0;
    find_entry(a, i, i, place);
    if (place < a.row_ptrs(i + 1)) a.values(place) = Scalar(1);
  }
};

template <class Scalar, class Space>
struct SizeOfDiagonal {
  CsrView<Scalar, Space> a;
  VectorView<Scalar, Space> sizes;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    sizes(i) = Kokkos::abs(find_entry(a, i, i, place));
  }
};

/// s_i = sum_k p_ki^2 s_k, the size of what an entry (A_c)_ii is the sum of. One that is zero but for
/// rounding, as of a part of the matrix that has shrunk to one row and is singular, becomes `raised` s_i: a
/// smoother and the coarsest level's inverse divide by it.
template <class Scalar, class Space>
struct RaiseRounding {
  CsrView<Scalar, Space> restriction;
  VectorView<const Scalar, Space> fine;
  Matrix<Scalar, Space> a;
  VectorView<Scalar, Space> coarse;
  Scalar rounding, raised;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      Scalar size = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, restriction.row_ptrs(i), restriction.row_ptrs(i + 1)),
          [&](std::size_t k, Scalar& sum) {
            sum += restriction.values(k) * restriction.values(k) * fine(restriction.col_idxs(k));
          },
          size);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        coarse(i) = size;
        raise(i, size);
      });
    });
  }
  KOKKOS_FUNCTION void raise(std::int64_t i, Scalar size) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, i, i, place);
    if (place < a.row_ptrs(i + 1) && is_finite(size) && Kokkos::abs(entry) <= rounding * size)
      a.values(place) = raised * size;
  }
};

template <class Scalar, class Space>
struct RaiseEntry {
  RaiseRounding<Scalar, Space> raise;
  VectorView<const Scalar, Space> sizes;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { raise.raise(i, sizes(i)); }
};

/// Entries that another pattern has not.
template <class Space>
struct CountMissing {
  CsrGraphView<Space> part, all;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team, std::int64_t& count) const {
    RowTeams<Space>{part.num_rows}.for_each_row(team, [&](std::int64_t i) {
      int missing = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, part.row_ptrs(i), part.row_ptrs(i + 1)),
          [&](std::size_t k, int& sum) { sum += is_missing(i, part.col_idxs(k)); }, missing);
      Kokkos::single(Kokkos::PerThread(team), [&] { count += missing; });
    });
  }
  KOKKOS_FUNCTION int is_missing(std::int64_t i, int col) const {
    const std::size_t place = all.first_from(i, col);
    return place == all.row_ptrs(i + 1) || all.col_idxs(place) != col ? 1 : 0;
  }
};

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// A pattern's matrix with room for values.
template <class Scalar, class Space>
Matrix<Scalar, Space> with_values(const Space& space, const Matrix<Scalar, Space>& pattern) {
  return Matrix<Scalar, Space>(pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
                               allocate<Vector<Scalar, Space>>(space, "prekond::amg::values", pattern.nnz()));
}

/// Blocks of a product whose left factor has whole ones or has not.
inline ProductBlocks blocks_of(bool whole, int rows, int inner, int cols) {
  return whole ? ProductBlocks{rows, inner, cols} : ProductBlocks{1, 1, cols};
}

/// A B on a pattern that has whole blocks or, where none is known, on its own.
template <class Scalar, class Space>
Matrix<Scalar, Space> product(const Space& space, const CsrView<Scalar, Space>& a,
                              const CsrView<Scalar, Space>& b, const Matrix<Scalar, Space>& pattern,
                              ProductBlocks blocks) {
  if (pattern.num_rows == 0) return spgemm<Scalar, Space>(space, a, b);
  const Matrix<Scalar, Space> c = with_values<Scalar, Space>(space, pattern);
  spgemm_values<Scalar, Space>(space, a, b, c, blocks);
  return c;
}

/// A level's pattern by nodes.
template <class Scalar, class Space>
CsrGraphView<Space> nodes_of(const Level<Scalar, Space>& level) {
  return level.unknowns == 1 ? CsrGraphView<Space>(level.matrix) : CsrGraphView<Space>(level.nodes);
}

template <class Space>
bool is_part_of(const Space& space, const CsrGraph<Space>& part, const CsrGraph<Space>& all) {
  std::int64_t missing = 0;
  Kokkos::parallel_reduce("prekond::amg::count_missing",
                          RowTeams<Space>::policy(space, part.num_rows, part.nnz()),
                          CountMissing<Space>{part, all}, missing);
  return missing == 0;
}

/// A pattern of blocks as one of rows, of a matrix without values yet.
template <class Scalar, class Space>
Matrix<Scalar, Space> rows_of(const Space& space, const CsrGraph<Space>& blocks, int rows, int cols) {
  const CsrGraph<Space> pattern =
      rows == 1 && cols == 1 ? blocks
                             : rows_of_blocks<Space>(space, blocks, rows, cols, std::int64_t(1) << 40);
  return Matrix<Scalar, Space>(pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs, {});
}

/// The patterns that follow from P's, which is given by nodes.
template <class Scalar, class Space>
void find_patterns_with(const Space& space, const AmgOptions& options, Level<Scalar, Space>& level,
                        const CsrGraph<Space>& prolongator) {
  Transfer<Scalar, Space>& transfer = level.transfer;
  const int unknowns = level.unknowns, vectors = static_cast<int>(transfer.near_null_space.extent(1));
  transfer.prolongator = options.prolongator == AmgProlongator::smoothed
                             ? rows_of<Scalar, Space>(space, prolongator, unknowns, vectors)
                             : transfer.q;
  if (transfer.is_over_ranks) return;
  const NodePatterns<Space> found = node_patterns<Space>(space, nodes_of(level), prolongator);
  transfer.coarse_nodes = found.coarse;
  if constexpr (products_by_blocks<Space>) {
    transfer.p_blocks = {found.prolongator, unknowns, vectors};
    transfer.r_blocks = {found.restriction, vectors, unknowns};
  }
  transfer.restriction = rows_of<Scalar, Space>(space, found.restriction, vectors, unknowns);
  transfer.coarse = rows_of<Scalar, Space>(space, found.coarse, vectors, vectors);
  transfer.times_prolongator = rows_of<Scalar, Space>(space, found.times_prolongator, unknowns, vectors);
}

/// P of the smoothed prolongator. In a first numeric phase chooses what is kept, and of blocks finds the
/// patterns of P^T, A P and A_c.
template <class Scalar, class Space>
Matrix<Scalar, Space> truncated(const Space& space, const AmgOptions& options, Level<Scalar, Space>& level,
                                const Matrix<Scalar, Space>& smoothed) {
  Transfer<Scalar, Space>& transfer = level.transfer;
  if (transfer.prolongator.num_rows == 0) {
    const CsrGraph<Space> kept = largest_aggregates<Scalar, Space>(space, smoothed, transfer.smoothed,
                                                                   transfer.q, options.interpolation_limit());
    if (level.unknowns == 1 && transfer.near_null_space.extent(1) == 1)
      transfer.prolongator = rows_of<Scalar, Space>(space, kept, 1, 1);
    else
      find_patterns_with<Scalar, Space>(space, options, level, kept);
  }
  const Matrix<Scalar, Space> p = with_values<Scalar, Space>(space, transfer.prolongator);
  truncate<Scalar, Space>(space, smoothed, transfer.q, transfer.near_null_space, p);
  return p;
}

}  // namespace

template <class Scalar, class Space>
void set_dead_unknowns(const Space& space, const Matrix<Scalar, Space>& a,
                       const MultiVector<Scalar, Space>& near_null_space) {
  Kokkos::parallel_for("prekond::amg::set_dead_unknowns", Rows<Space>(space, 0, a.num_rows),
                       SetDeadUnknowns<Scalar, Space>{a, near_null_space});
}

template <class Scalar, class Space>
Vector<Scalar, Space> sizes_of_diagonal(const Space& space, const CsrView<Scalar, Space>& a) {
  const auto sizes = allocate<Vector<Scalar, Space>>(space, "prekond::amg::sizes", a.num_rows);
  Kokkos::parallel_for("prekond::amg::size_of_diagonal", Rows<Space>(space, 0, a.num_rows),
                       SizeOfDiagonal<Scalar, Space>{a, sizes});
  return sizes;
}

template <class Scalar, class Space>
void raise_rounding(const Space& space, const Matrix<Scalar, Space>& a,
                    const VectorView<const Scalar, Space>& sizes) {
  const RaiseRounding<Scalar, Space> raise{
      {}, {}, a, {}, rounding_of_sums<Scalar>(), shift_of_null_space<Scalar>()};
  Kokkos::parallel_for("prekond::amg::raise_rounding", Rows<Space>(space, 0, a.num_rows),
                       RaiseEntry<Scalar, Space>{raise, sizes});
}

template <class Scalar, class Space>
StrongRows<Space> strong_couplings(const Space& space, Level<Scalar, Space>& level, double theta) {
  if (level.unknowns == 1) return strong_rows<Scalar, Space>(space, level.matrix, theta);
  const auto connections =
      node_connections<Scalar, Space>(space, level.matrix, level.unknowns, theta, level.nodes);
  level.nodes = connections.all;
  level.whole = connections.whole;
  StrongRows<Space> kept{with_diagonal<Space>(space, connections.strong)};
  kept.is_part = level.whole && is_part_of<Space>(space, kept.pattern, level.nodes);
  return kept;
}

/// The pattern of A_F and, of blocks, those of P, A P and A_c, or of P before truncation where its rows are
/// too long: of single entries they are found with the products' values.
template <class Scalar, class Space>
void find_patterns(const Space& space, const AmgOptions& options, Level<Scalar, Space>& level,
                   const StrongRows<Space>& strong, const CsrGraph<Space>& members) {
  Transfer<Scalar, Space>& transfer = level.transfer;
  const int unknowns = level.unknowns, vectors = static_cast<int>(transfer.near_null_space.extent(1));
  CsrGraph<Space> kept;
  if (options.prolongator == AmgProlongator::smoothed) {
    kept = strong.pattern;
    transfer.drops = !equal_patterns<Space>(space, kept, nodes_of(level));
    if (transfer.drops && strong.is_part) {
      const Matrix<Scalar, Space> rows = rows_of<Scalar, Space>(space, kept, unknowns, unknowns);
      transfer.filtered = {rows.num_rows, rows.num_cols, rows.row_ptrs, rows.col_idxs};
    } else if (transfer.drops) {
      transfer.filtered = filtered_pattern<Scalar, Space>(space, level.matrix, kept, unknowns);
    }
    transfer.filtered_whole =
        level.whole && (!transfer.drops || transfer.filtered.nnz() == kept.nnz() * unknowns * unknowns);
  }
  if (unknowns == 1 && vectors == 1) return;
  const CsrGraph<Space> p = prolongator_nodes<Space>(space, kept, members);
  if (longest_row<Space>(space, p.row_ptrs).length <= options.interpolation_limit())
    find_patterns_with<Scalar, Space>(space, options, level, p);
  else
    transfer.smoothed = p;
}

template <class Scalar, class Space>
void make_prolongator(const Space& space, const AmgOptions& options, Level<Scalar, Space>& level) {
  Transfer<Scalar, Space>& transfer = level.transfer;
  if (options.prolongator == AmgProlongator::unsmoothed) {
    transfer.prolongator = transfer.q;
    return;
  }
  Matrix<Scalar, Space> filtered;
  CsrView<Scalar, Space> f = level.matrix;
  if (transfer.drops) f = filtered = filtered_matrix<Scalar, Space>(space, level.matrix, transfer.filtered);
  const double lambda = level.lambda > 0
                            ? level.lambda
                            : largest_scaled_eigenvalue<Scalar, Space>(
                                  space, level.matrix, StoredOperator<Scalar, Space>(level.a), level.sums);
  // A smoother that made candidates does not know lambda, and neither does it in a later numeric phase.
  transfer.smoother_before = transfer.smoother_before || level.smoother;
  if (!transfer.smoother_before) level.lambda = lambda;
  const int unknowns = level.unknowns, vectors = static_cast<int>(transfer.near_null_space.extent(1));
  const bool is_known = transfer.prolongator.num_rows > 0;
  const bool was_truncated = transfer.smoothed.num_rows > 0;
  const Matrix<Scalar, Space> smoothed = product<Scalar, Space>(
      space, f, transfer.q,
      was_truncated ? rows_of<Scalar, Space>(space, transfer.smoothed, unknowns, vectors)
                    : transfer.prolongator,
      blocks_of(transfer.filtered_whole, unknowns, unknowns, vectors));
  smooth_prolongator<Scalar, Space>(space, f, TransferTuning::prolongator_damping / lambda, transfer.q,
                                    smoothed);
  // The pattern of single entries has just been found.
  if (!is_known && !was_truncated &&
      longest_row<Space>(space, smoothed.row_ptrs).length > options.interpolation_limit())
    transfer.smoothed = {smoothed.num_rows, smoothed.num_cols, smoothed.row_ptrs, smoothed.col_idxs};
  transfer.prolongator =
      transfer.smoothed.num_rows > 0 ? truncated<Scalar, Space>(space, options, level, smoothed) : smoothed;
  space.fence("prekond::amg::smooth_prolongator");  // A_F goes away
}

/// Aggregates, Q and the pattern of A_F, of a level that is worth a coarser one.
template <class Scalar, class Space>
bool Hierarchy<Scalar, Space>::find_transfer(const Space& space, std::size_t l,
                                             const MultiVector<Scalar, Space>& near_null_space) {
  Level<Scalar, Space>& level = m_levels[l];
  if (level.num_rows() <= m_options.coarse_size || static_cast<int>(l) + 1 >= m_options.max_levels ||
      level.sums.is_diagonal())
    return false;
  if (m_options.coarsening == AmgCoarsening::classical) return find_classical_transfer(space, l);
  const bool is_system = m_levels[0].unknowns > 1 || near_null_space.extent(1) > 1;
  const double theta =
      m_options.strong_limit(is_system) * std::pow(TransferTuning::theta_decay, static_cast<double>(l));
  const StrongRows<Space> kept = strong_couplings(space, level, theta);
  const Aggregates<Space> aggregates = aggregate<Space>(space, kept.pattern);
  const auto coarse = static_cast<double>(aggregates.count) * static_cast<double>(near_null_space.extent(1));
  if (aggregates.count == 0 || coarse > TransferTuning::least_coarsening * double(level.num_rows()))
    return false;
  const CsrGraph<Space> members = membership<Space>(space, aggregates);
  Transfer<Scalar, Space>& transfer = level.transfer;
  const Tentative<Scalar, Space> tentative = tentative_prolongator<Scalar, Space>(
      space, aggregates, members, level.unknowns, MultiVectorView<const Scalar, Space>(near_null_space));
  transfer.q = tentative.q;
  transfer.near_null_space = tentative.near_null_space;
  find_patterns(space, m_options, level, kept, members);
  return true;
}

/// Coarse rows, where these are worth a coarser level.
template <class Scalar, class Space>
bool Hierarchy<Scalar, Space>::find_classical_transfer(const Space& space, std::size_t l) {
  Level<Scalar, Space>& level = m_levels[l];
  const Vector<int, Space> unknown_of =
      l == 0 ? unknowns_of_rows<Space>(space, level.num_rows(), level.unknowns)
             : coarse_unknowns<Space>(space, m_levels[l - 1].transfer.classical);
  const auto found = find_classical<Scalar, Space>(space, level.matrix, unknown_of, m_options,
                                                   static_cast<int>(l) < m_options.aggressive_levels);
  const auto count = static_cast<double>(found.count());
  if (count == 0 || count > TransferTuning::least_coarsening * double(level.num_rows())) return false;
  level.transfer.classical = found;
  return true;
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::raise_rounding(const Space& space, Level<Scalar, Space>& fine,
                                              Level<Scalar, Space>& coarse) const {
  if (fine.sizes.extent(0) == 0) fine.sizes = sizes_of_diagonal<Scalar, Space>(space, fine.matrix);
  coarse.sizes = allocate<Vector<Scalar, Space>>(space, "prekond::amg::sizes", coarse.num_rows());
  constexpr int lanes = 32;  // for rows of any length: they give the order of a sum
  Kokkos::parallel_for(
      "prekond::amg::raise_rounding",
      RowTeams<Space>::policy(space, coarse.num_rows(), lanes * coarse.num_rows()),
      RaiseRounding<Scalar, Space>{fine.transfer.restriction, fine.sizes, coarse.owned, coarse.sizes,
                                   rounding_of_sums<Scalar>(), shift_of_null_space<Scalar>()});
}

/// P, P^T, A P and the coarser level's A_c = P^T A P.
template <class Scalar, class Space>
Level<Scalar, Space> Hierarchy<Scalar, Space>::coarser(const Space& space, Level<Scalar, Space>& fine,
                                                       const Level<Scalar, Space>* old) const {
  Transfer<Scalar, Space>& transfer = fine.transfer;
  if (old) {
    transfer = old->transfer;
    transfer.p = transfer.r = {};
    fine.whole = old->whole;
  }
  const bool is_classical = m_options.coarsening == AmgCoarsening::classical;
  if (is_classical)
    transfer.prolongator =
        classical_prolongator<Scalar, Space>(space, fine.matrix, m_options, transfer.classical);
  else
    make_prolongator(space, m_options, fine);
  if (transfer.restriction.num_rows == 0) {
    transfer.restriction = transpose<Scalar, Space>(space, transfer.prolongator);
  } else {
    transfer.restriction = with_values<Scalar, Space>(space, transfer.restriction);
    write_transpose<Scalar, Space>(space, transfer.prolongator, transfer.restriction);
  }
  const int unknowns = is_classical ? 1 : fine.unknowns;
  const int vectors = is_classical ? 1 : static_cast<int>(transfer.near_null_space.extent(1));
  transfer.times_prolongator =
      product<Scalar, Space>(space, fine.matrix, transfer.prolongator, transfer.times_prolongator,
                             blocks_of(fine.whole, unknowns, unknowns, vectors));
  Level<Scalar, Space> coarse;
  coarse.owned = product<Scalar, Space>(space, transfer.restriction, transfer.times_prolongator,
                                        transfer.coarse, {vectors, unknowns, vectors});
  coarse.matrix = coarse.owned;
  coarse.nodes = transfer.coarse_nodes;
  coarse.whole = coarse.nodes.num_rows > 0;
  coarse.unknowns = vectors;
  if (!is_classical) set_dead_unknowns<Scalar, Space>(space, coarse.owned, transfer.near_null_space);
  raise_rounding(space, fine, coarse);
  transfer.coarse = coarse.owned;
  if (m_options.reuse == Reuse::none) {
    transfer.times_prolongator = {};
    transfer.coarse = {};
    transfer.filtered = {};
    transfer.smoothed = {};
    transfer.coarse_nodes = {};
  } else {  // of A P the pattern is kept, and not its values
    transfer.times_prolongator.values = {};
  }
  space.fence("prekond::amg::coarser");  // the working matrices go away
  fine.sizes = {};
  return coarse;
}

#define PREKOND_AMG_TRANSFER(Scalar, Space)                                                            \
  template StrongRows<Space> strong_couplings(const Space&, Level<Scalar, Space>&, double);            \
  template void find_patterns(const Space&, const AmgOptions&, Level<Scalar, Space>&,                  \
                              const StrongRows<Space>&, const CsrGraph<Space>&);                       \
  template void set_dead_unknowns(const Space&, const Matrix<Scalar, Space>&,                          \
                                  const MultiVector<Scalar, Space>&);                                  \
  template void raise_rounding(const Space&, const Matrix<Scalar, Space>&,                             \
                               const VectorView<const Scalar, Space>&);                                \
  template Vector<Scalar, Space> sizes_of_diagonal(const Space&, const CsrView<Scalar, Space>&);       \
  template void make_prolongator(const Space&, const AmgOptions&, Level<Scalar, Space>&);              \
  template bool Hierarchy<Scalar, Space>::find_transfer(const Space&, std::size_t,                     \
                                                        const MultiVector<Scalar, Space>&);            \
  template Level<Scalar, Space> Hierarchy<Scalar, Space>::coarser(const Space&, Level<Scalar, Space>&, \
                                                                  const Level<Scalar, Space>*) const;
PREKOND_INSTANTIATE(PREKOND_AMG_TRANSFER)

}  // namespace prekond::impl::amg
