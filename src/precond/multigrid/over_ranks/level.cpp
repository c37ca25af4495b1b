// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/level.hpp"

#include <prekond/core/error.hpp>
#include <prekond/distributed/impl/message_memory.hpp>
#include <prekond/distributed/impl/part_of_columns.hpp>
#include <prekond/precond/impl/registered_methods.hpp>
#include "distributed/select_entries.hpp"
#include "precond/distributed/application.hpp"
#include "precond/multigrid/node_patterns.hpp"
#include "precond/multigrid/over_ranks/tentative.hpp"
#include "precond/multigrid/strength.hpp"
#include "precond/multigrid/truncation.hpp"
#include "precond/multigrid/unknowns_per_node.hpp"
#include "sparse_product/transpose.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace prekond::impl::amg {
namespace {

/// Q's rows in S, whose entries are given in the columns of their aggregates.
template <class Scalar, class Space>
Matrix<Scalar, Space> q_of(const Space& space, const Aggregates<Space>& aggregates, int unknowns,
                           const MultiVector<Scalar, Space>& entries) {
  const auto num_rows = static_cast<std::int64_t>(entries.extent(0));
  const auto vectors = static_cast<int>(entries.extent(1));
  const auto part = aggregates.part;
  const auto rows = scan_row_lengths(
      space, "prekond::amg::q", num_rows,
      KOKKOS_LAMBDA(std::int64_t row) { return part(row / unknowns) < 0 ? 0 : vectors; });
  const Matrix<Scalar, Space> q(
      num_rows, aggregates.count * vectors, rows.first,
      allocate<Vector<int, Space>>(space, "prekond::amg::q::col_idxs", rows.second),
      allocate<Vector<Scalar, Space>>(space, "prekond::amg::q::values", rows.second));
  Kokkos::parallel_for(
      "prekond::amg::write_q", FlatPolicy<Space>(space, 0, num_rows), KOKKOS_LAMBDA(std::int64_t row) {
        for (std::size_t k = q.row_ptrs(row); k < q.row_ptrs(row + 1); ++k) {
          const auto c = static_cast<int>(k - q.row_ptrs(row));
          q.col_idxs(k) = part(row / unknowns) * vectors + c;
          q.values(k) = entries(row, c);
        }
      });
  space.fence("prekond::amg::q");  // the entries go away
  return q;
}

/// sum_k p_ki^2 sizes(k) for row i of P^T.
template <class Scalar, class Space>
MultiVector<Scalar, Space> sums_of_sizes(const Space& space, const Matrix<Scalar, Space>& r,
                                         const Vector<Scalar, Space>& sizes) {
  const auto sums = allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::sums_of_sizes", r.num_rows, 1);
  Kokkos::parallel_for(
      "prekond::amg::sum_sizes", FlatPolicy<Space>(space, 0, r.num_rows), KOKKOS_LAMBDA(std::int64_t i) {
        Scalar sum = 0;
        for (std::size_t k = r.row_ptrs(i); k < r.row_ptrs(i + 1); ++k)
          sum += r.values(k) * r.values(k) * sizes(r.col_idxs(k));
        sums(i, 0) = sum;
      });
  space.fence("prekond::amg::sum_sizes");  // the sizes go away
  return sums;
}

/// The first rows of a matrix, which have `nnz` entries.
template <class Scalar, class Space>
Matrix<Scalar, Space> first_rows(const Matrix<Scalar, Space>& a, std::int64_t num_rows, std::int64_t nnz) {
  const auto entries = std::make_pair(std::int64_t(0), nnz);
  return {num_rows, a.num_cols, Kokkos::subview(a.row_ptrs, std::make_pair(std::int64_t(0), num_rows + 1)),
          Kokkos::subview(a.col_idxs, entries), Kokkos::subview(a.values, entries)};
}

/// By the pattern of the rank's rows, as many as one rank looks at; 0: it has no consecutive numbers, or too
/// few.
template <class Scalar, class Space>
int find_unknowns_of_rank(const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  constexpr std::int64_t multiple = 840, most = 8 * multiple;  // every number of unknowns divides it
  if (a.num_rows() == 0) return 0;
  const std::int64_t first = a.global_number(0), begin = (multiple - first % multiple) % multiple;
  const std::int64_t size = std::min(most, (a.num_rows() - begin) / multiple * multiple);
  if (size <= 0 || a.global_number(begin + size - 1) != first + begin + size - 1) return 0;
  const auto rows = vector_of<int>(
      space, "prekond::amg::sampled_rows", size, KOKKOS_LAMBDA(std::int64_t k) { return begin + k; });
  const auto columns = vector_of<int>(
      space, "prekond::amg::sampled_columns", a.num_cols(), KOKKOS_LAMBDA(std::int64_t c) {
        return c >= begin && c < begin + size ? c - begin : std::int64_t(-1);
      });
  return find_unknowns_per_node<Space>(
      space,
      select_entries<Scalar, Space>(space, "prekond::amg::sample", a.own_rows(), size, rows, columns, size));
}

/// Collective. By the rows that one rank looks at, in columns of their own numbers, which the first rank with
/// rows gets from the others; 0 on these.
template <class Scalar, class Space>
int find_unknowns_of_first_rank(const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  const bool is_first = a.sum_before(a.num_rows()) == 0 && a.num_rows() > 0;
  Numbers<Space> sample, others;
  Vector<int, Space> columns;
  a.together([&] {
    if (!is_first) return;
    sample = copied_to(space, rows_that_show_unknowns(a.num_global_rows()), "prekond::amg::sampled_numbers");
    const auto numbers = a.global_numbers(space);
    columns = distributed::places_by<Space>(space, numbers, distributed::FindNumber<Space>{sample});
    const auto own = allocate<Numbers<Space>>(space, "prekond::amg::own_numbers", a.num_rows());
    Kokkos::deep_copy(space, own, Kokkos::subview(numbers, std::make_pair(std::int64_t(0), a.num_rows())));
    distributed::sort_numbers(space, own);
    others = distributed::new_numbers<Space>(space, sample, own);
    space.fence("prekond::amg::sample");  // the numbers go away
  });
  const auto fetched = a.remote_rows(space, others);
  int found = 0;
  a.together([&] {
    if (!is_first) return;
    const auto size = static_cast<std::int64_t>(sample.extent(0));
    const auto sources = allocate<Vector<int, Space>>(space, "prekond::amg::sources", size);
    const distributed::FindNumber<Space> find{sample};
    Kokkos::parallel_for(
        "prekond::amg::own_sources", FlatPolicy<Space>(space, 0, a.num_rows()),
        KOKKOS_LAMBDA(std::int64_t i) {
          if (columns(i) >= 0) sources(columns(i)) = static_cast<int>(i);
        });
    Kokkos::parallel_for(
        "prekond::amg::other_sources", FlatPolicy<Space>(space, 0, fetched.num_rows),
        KOKKOS_LAMBDA(std::int64_t k) { sources(find(others(k))) = static_cast<int>(~k); });
    found = find_unknowns_per_node<Space>(
        space, distributed::rows_at_places<Scalar, Space>(
                   space, sources, a.own_rows(), columns, own_then_others<Space>(space, fetched.num_rows, 0),
                   fetched, distributed::places_by<Space>(space, fetched.col_idxs, find), size));
  });
  return found;
}

/// Collective. The unknowns of a node, where nobody said them: those that all ranks see that see some, and
/// where none looks, because no rank's rows follow each other, those of the rows that one rank looks at.
template <class Scalar, class Space>
int find_unknowns_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  int mine = 0;
  a.together([&] { mine = find_unknowns_of_rank<Scalar, Space>(space, a); });
  double most = a.largest(mine);
  if (most == 0)
    most = mine = static_cast<int>(a.largest(find_unknowns_of_first_rank<Scalar, Space>(space, a)));
  const double least = -a.largest(mine > 0 ? -mine : -1000);
  const auto found = static_cast<int>(most);
  return most > 1 && most == least && a.num_global_rows() % found == 0 ? found : 1;
}

}  // namespace

template <class Scalar, class Space>
LevelOverRanks<Scalar, Space>::LevelOverRanks(const Space& space, const AmgOptions& options,
                                              const Distributed& a, const NearNullSpace<Scalar, Space>& near,
                                              Report& report)
    : m_options(options) {
  int d = options.unknowns_per_node > 0 ? options.unknowns_per_node : near.unknowns_per_node;
  if (d == 1 && options.unknowns_per_node == 0) {
    d = find_unknowns_over_ranks<Scalar, Space>(space, a);
    if (d > 1)
      report.notes.push_back("by the pattern, nodes have " + std::to_string(d) +
                             " unknowns each (unknowns_per_node)");
  }
  if (a.num_global_rows() % d != 0)
    throw InputError("amg: " + std::to_string(a.num_global_rows()) + " rows are not nodes of " +
                     std::to_string(d) + " unknowns each (unknowns_per_node)");
  m_level.unknowns = d;
  m_level.transfer.is_over_ranks = true;
  // With a smoothed prolongator A is symmetric, and its pattern too.
  m_overlap = std::make_unique<distributed::Overlap<Scalar, Space>>(
      space, a,
      RowReach{.levels = 1, .both_ways = options.prolongator == AmgProlongator::unsmoothed, .block_rows = d},
      1);
  const auto numbers = a.global_numbers(space);
  const Numbers<Space> others =
      allocate<Numbers<Space>>(space, "prekond::amg::columns", a.num_cols() - a.num_rows());
  Kokkos::deep_copy(space, others, Kokkos::subview(numbers, std::make_pair(a.num_rows(), a.num_cols())));
  m_columns_import = a.make_import(space, others);
  measure(space, a);
  const bool has_coarser = find_coarser(space, a, near);
  if (has_coarser) make_coarser(space, a);
  finish(space, a, report);
}

template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::numeric(const Space& space, const Distributed& a, Report& report) {
  m_overlap->fetch_values(space, a);
  measure(space, a);
  if (m_coarse_rows) make_coarser(space, a);
  finish(space, a, report);
}

/// The rest of a numeric phase, once the level has its matrices.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::finish(const Space& space, const Distributed& a, Report& report) {
  m_overlap->forget_matrix();
  m_level.matrix = {};
  m_level.transfer.prolongator.values = {};
  store(space, a, report);
  set_smoother(space, a, report);
  file(a, report);
  if (m_coarse_rows) set_up_coarser(space, report);
}

/// Collective. The row sums of A[S, S], of which other ranks' rows are not all there, are not larger than
/// those of all rows.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::measure(const Space& space, const Distributed& a) {
  a.together([&] {
    m_level.matrix = m_overlap->matrix();
    m_level.sums = row_sums<Scalar, Space>(space, m_level.matrix);
    if (m_level.num_rows() == 0) m_level.sums.most = 0;
  });
  m_level.sums.most = a.largest(m_level.sums.most);
  m_level.sums.unusable = static_cast<std::int64_t>(a.largest(static_cast<double>(m_level.sums.unusable)));
  m_level.lambda = m_level.sums.is_dominant() ? m_level.sums.most : 0;
  if (m_level.lambda > 0 || m_options.prolongator == AmgProlongator::unsmoothed) return;
  m_level.lambda =
      largest_scaled_eigenvalue<Scalar, Space>(space, a.own_rows(), a.product(), m_level.sums, a.reducer());
}

/// Collective. Aggregates, Q, and where the coarse rows are. \returns whether they are worth a level
template <class Scalar, class Space>
bool LevelOverRanks<Scalar, Space>::find_coarser(const Space& space, const Distributed& a,
                                                 const NearNullSpace<Scalar, Space>& near) {
  if (m_options.max_levels == 1 || m_level.sums.is_diagonal()) return false;
  const int d = m_level.unknowns;
  const RankNodes<Scalar, Space> nodes(space, a, *m_overlap, d);
  auto vectors = near.vectors;
  if (vectors.extent(1) == 0)
    vectors = constant_vectors<Scalar, Space>(space, a.num_rows(), d, a.global_numbers(space));
  const int m = static_cast<int>(vectors.extent(1));
  m_is_system = d > 1 || m > 1;
  StrongRows<Space> kept;
  a.together([&] {
    if (m > most_vectors)
      throw InputError("amg: the near null space has " + std::to_string(m) + " vectors; there may be " +
                       std::to_string(most_vectors));
    if (nodes.count() > 0) kept = strong_couplings(space, m_level, m_options.strong_limit(m_is_system));
  });
  const AggregatesOverRanks<Space> aggregates =
      aggregate_over_ranks<Scalar, Space>(space, a, nodes, kept.pattern);
  const double coarse = double(aggregates.num_global) * m;
  if (aggregates.num_global == 0 || coarse > TransferTuning::least_coarsening * double(a.num_global_rows()))
    return false;
  const auto tentative =
      tentative_over_ranks<Scalar, Space>(space, a, *m_overlap, nodes, aggregates, vectors);
  m_of_p.own = rows_of_blocks<Space>(space, aggregates.own, m, m);
  m_coarse_rows = a.with_rows(space, m_of_p.own);
  m_coarse_near = {tentative.near, m};
  take_q(space, a, aggregates, tentative.q, kept);
  return true;
}

/// Collective. Q by the places of S, and the patterns that follow.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::take_q(const Space& space, const Distributed& a,
                                           const AggregatesOverRanks<Space>& aggregates,
                                           const MultiVector<Scalar, Space>& own,
                                           const StrongRows<Space>& strong) {
  const int m = m_coarse_near.unknowns_per_node;
  const MultiVector<Scalar, Space> entries =
      distributed::over_overlap<Scalar, Space>(space, a, *m_overlap, own);
  Transfer<Scalar, Space>& transfer = m_level.transfer;
  Aggregates<Space> in_s;
  a.together([&] {
    const auto numbers = united<Space>(space, aggregates.own, aggregates.others);
    const auto find = distributed::find_from<Space>(space, numbers, aggregates.own);
    in_s = {static_cast<std::int64_t>(numbers.extent(0)),
            distributed::places_by<Space>(space, aggregates.part, find),
            {}};
    transfer.q = q_of<Scalar, Space>(space, in_s, m_level.unknowns, entries);
    m_of_p.others = rows_of_blocks<Space>(space, aggregates.others, m, m);
    const auto rows = rows_of_blocks<Space>(space, numbers, m, m);
    m_columns = m_of_p.places_of(space, rows);
    space.fence("prekond::amg::take_q");
  });
  m_coarse_import = m_coarse_rows->make_import(space, m_of_p.others);
  const auto all =
      allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::near_null_space", m_of_p.count(), m);
  m_coarse_import->apply(space, m_coarse_near.vectors, all);
  a.together([&] {
    transfer.near_null_space = rows_at<Scalar, Space>(space, m_columns, all);
    if (m_level.num_rows() > 0)
      find_patterns(space, m_options, m_level, strong, membership<Space>(space, in_s));
    space.fence("prekond::amg::take_q");
  });
}

/// Collective. P, P^T and A_c.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::make_coarser(const Space& space, const Distributed& a) {
  const auto num_own = static_cast<std::int64_t>(m_of_p.own.extent(0));
  a.together([&] {
    if (m_level.num_rows() > 0) make_prolongator(space, m_options, m_level);
    m_prolongator =
        select_entries<Scalar, Space>(space, "prekond::amg::p", m_level.transfer.prolongator, a.num_rows(),
                                      m_overlap->own_places(), m_columns, m_of_p.count());
    m_restriction = transpose<Scalar, Space>(space, m_prolongator);
  });
  if (!m_product)
    m_product = std::make_unique<CoarseProduct<Scalar, Space>>(
        space, a, *m_coarse_rows, m_of_p, m_level.unknowns, m_coarse_near.unknowns_per_node);
  m_product->multiply(space, a, *m_coarse_rows, m_prolongator, m_restriction);
  set_dead_unknowns<Scalar, Space>(space, m_product->rows(), m_coarse_near.vectors);
  // See RaiseRounding: s_i = sum_k p_ki^2 |a_kk|.
  const auto sums = sums_of_sizes<Scalar, Space>(space, m_restriction,
                                                 sizes_of_diagonal<Scalar, Space>(space, a.own_rows()));
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return Kokkos::subview(sums, std::make_pair(begin, end), Kokkos::ALL);
  };
  m_coarse_import->start_reverse(space, part(num_own, m_of_p.count()));
  m_coarse_import->finish_reverse(space, part(0, num_own));
  raise_rounding<Scalar, Space>(space, m_product->rows(), column(sums, 0));
  space.fence("prekond::amg::raise_rounding");  // the sums go away
}

/// Collective. The matrices that applications read.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::store(const Space& space, const Distributed& a, Report& report) {
  const std::int64_t mine = a.own_rows().nnz();
  const auto nnz = static_cast<std::int64_t>(a.largest(static_cast<double>(a.sum_before(mine) + mine)));
  Storage storage = m_options.storage_of_level(is_host_space<Space>, nnz);
  if (m_level.sums.most > largest_sum_in(storage)) {
    report.notes.push_back(
        "entries of a level over ranks are so much larger than their row's diagonal that the "
        "range of `storage` does not hold them; it is kept in full");
    storage = Storage::full;
  }
  a.together([&] {
    const auto part = [&](const CsrView<Scalar, Space>& matrix, std::int64_t num_own, bool own) {
      return part_of_columns<Scalar, Space>(space, "prekond::amg::part_of_columns", matrix, num_own, own);
    };
    const CsrView<Scalar, Space> rows = a.own_rows();
    // By blocks as Hierarchy stores them, where the nodes make whole ones; in the layout that it had before.
    const auto stored = [&](const Matrix<Scalar, Space>& own, const StoredMatrix<Scalar, Space>& before,
                            MatrixFormat format, int height, int width) {
      if (before.num_rows() > 0) return StoredMatrix<Scalar, Space>(space, own, storage, before);
      const bool may_be_blocks =
          products_by_blocks<Space> && height * width > 1 && format == MatrixFormat::automatic;
      BlockPattern<Space> pattern;
      if (may_be_blocks) pattern.blocks = whole_blocks<Space>(space, own, height, width);
      if (pattern.blocks.num_rows > 0) pattern.rows = height, pattern.cols = width;
      return StoredMatrix<Scalar, Space>(space, own, StoredAs(storage, format), pattern);
    };
    const int d = m_level.unknowns, m = m_coarse_near.unknowns_per_node;
    m_a = {space, stored(part(rows, a.num_rows(), true), m_a.own(), m_options.storage_format, d, d),
           part(rows, a.num_rows(), false), m_columns_import};
    if (!m_coarse_rows) return;
    const auto num_own = static_cast<std::int64_t>(m_of_p.own.extent(0));
    const auto remote = part(m_prolongator, num_own, false);
    m_p = {space, stored(part(m_prolongator, num_own, true), m_p.own(), MatrixFormat::automatic, d, m),
           remote, m_coarse_import};
    m_r = {space,
           stored(first_rows<Scalar, Space>(m_restriction, num_own, m_restriction.nnz() - remote.nnz()),
                  m_r.own(), MatrixFormat::automatic, m, d),
           transpose<Scalar, Space>(space, remote), m_coarse_import};
    space.fence("prekond::amg::store");  // P and P^T go away
    m_prolongator = m_restriction = {};
  });
}

/// Collective. See Hierarchy::set_smoother.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::set_smoother(const Space& space, const Distributed& a, Report& report) {
  using Over = DistributedPreconditioner<Scalar, Space>;
  const MethodChoice& choice = m_options.smoother;
  if (!m_smoother) {
    auto method = make_registered_method<Scalar, Space>(choice, "smoother");
    m_polynomial = dynamic_cast<PolynomialPreconditioner<Scalar, Space>*>(method.get());
    m_smoother =
        m_polynomial
            ? std::make_unique<Over>(std::move(method))
            : std::make_unique<Over>(*configured_registered_method<Scalar, Space>(choice, "smoother"));
    const bool has_whole_nodes = a.largest(double(a.num_rows() % m_level.unknowns)) == 0;
    m_smoother->set_near_null_space({{}, has_whole_nodes ? m_level.unknowns : 1});
    m_smoother->symbolic(space, a);
  }
  if (m_polynomial) tell_polynomial<Scalar, Space>(*m_polynomial, m_a.own(), m_level.lambda, choice);
  m_smoother->numeric(space, a);
  report.breakdowns = m_smoother->report().breakdowns;
  m_omega = m_options.smoother_damping;
  if (m_omega > 0) return;
  m_omega = 1;
  if (m_polynomial || !m_smoother->is_symmetric()) return;
  if (m_level.lambda > 0 && is_of_the_diagonal(choice)) {
    m_omega = std::min(1.0, HierarchyTuning::damping / m_level.lambda);
    return;
  }
  const double largest =
      estimated_largest_eigenvalue<Scalar, Space>(space, a.product(), *m_smoother, a.reducer());
  if (largest > HierarchyTuning::damping) m_omega = HierarchyTuning::damping / largest;
}

template <class Scalar, class Space>
AmgOptions LevelOverRanks<Scalar, Space>::coarser_options() const {
  AmgOptions options = m_options;
  options.theta = m_options.strong_limit(m_is_system) * TransferTuning::theta_decay;
  options.unknowns_per_node = m_coarse_near.unknowns_per_node;
  options.max_levels = m_options.max_levels - 1;
  options.storage_format = MatrixFormat::automatic;
  options.is_coarser = true;
  return options;
}

/// Collective.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::set_up_coarser(const Space& space, Report& report) {
  if (!m_coarse) {
    auto amg = std::make_unique<Amg<Scalar, Space>>(coarser_options());
    m_coarse_amg = amg.get();
    m_coarse = std::make_unique<DistributedPreconditioner<Scalar, Space>>(std::move(amg));
    m_coarse->set_near_null_space(m_coarse_near);
  }
  m_coarse->numeric(space, m_product->matrix());
  const Report& coarse = m_coarse->report();
  report.levels.insert(report.levels.end(), coarse.levels.begin(), coarse.levels.end());
  for (const std::string& note : coarse.notes) report.notes.push_back("coarser level: " + note);
  report.nnz += coarse.nnz;
  report.bytes += coarse.bytes;
  report.host_seconds += coarse.host_seconds;
  report.numeric_flops += coarse.numeric_flops;
  m_takes_two_steps =
      m_options.cycle == AmgCycle::k && m_product->matrix().largest(m_coarse_amg->is_exact() ? 0 : 1) > 0;
  const bool is_twice = m_options.cycle == AmgCycle::w ? m_options.is_coarser : m_takes_two_steps;
  report.apply_flops += coarse.apply_flops * (is_twice ? 2 : 1);
}

template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::file(const Distributed& a, Report& report) const {
  const Report& own = m_smoother->report();
  report.levels.push_back({.num_rows = a.num_rows(),
                           .nnz = m_a.nnz(),
                           .prolongator_nnz = m_p.nnz(),
                           .method = m_smoother->name(),
                           .method_nnz = own.nnz,
                           .damping = m_omega});
  report.nnz += m_a.nnz() + 2 * m_p.nnz() + own.nnz;
  report.bytes += m_a.bytes() + m_p.bytes() + m_r.bytes() + own.bytes + m_level.transfer.q.bytes();
  report.host_seconds += own.host_seconds;
  report.numeric_flops += own.numeric_flops;
  const double sweeps = m_options.pre_sweeps + m_options.post_sweeps;
  report.apply_flops += sweeps * (own.apply_flops + 2 * double(m_a.nnz())) + 4 * double(m_p.nnz());
  report.notes.push_back(
      m_coarse_rows
          ? "on several ranks: a level of all " + std::to_string(a.num_global_rows()) +
                " rows is distributed over them"
          : "the coarsest level has " + std::to_string(a.num_global_rows()) +
                " rows over all ranks: no coarser one was worth its cost, or max_levels was reached. Its "
                "smoother solves it");
}

#define PREKOND_AMG_LEVEL_OVER_RANKS(Scalar, Space) template class LevelOverRanks<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG_LEVEL_OVER_RANKS)

}  // namespace prekond::impl::amg
