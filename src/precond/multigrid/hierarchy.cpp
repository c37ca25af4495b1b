// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The setup of the levels.
#include "precond/multigrid/hierarchy.hpp"

#include <prekond/core/error.hpp>
#include <prekond/precond/impl/registered_methods.hpp>
#include <prekond/precond/polynomial.hpp>
#include "matrix/borrowed.hpp"
#include "matrix/filter_entries.hpp"
#include "matrix/find_entry.hpp"
#include "precond/multigrid/unknowns_per_node.hpp"

#include "core/instantiate.hpp"
#include "precond/multigrid/relaxed_candidates.hpp"
#include "precond/multigrid/truncation.hpp"
#include "precond/storage/stored_operator.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace prekond::impl::amg {
namespace {

/// Whether a smoother's I - M^-1 A has its spectrum in (-1, 1) as it is made, as that of a polynomial has.
/// The eigenvalue to damp it by is not looked for then, which would take ten more applications and products.
template <class Scalar, class Space>
bool needs_no_damping(const MatrixPreconditioner<Scalar, Space>& smoother) {
  return dynamic_cast<const PolynomialPreconditioner<Scalar, Space>*>(&smoother) != nullptr;
}

template <class Scalar, class Space>
struct IsOwnColumn {
  CsrView<Scalar, Space> a;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::size_t k) const { return a.col_idxs(k) < a.num_rows; }
};

/// The coarsest matrix of a singular one is singular but for rounding, of either sign: a_ii becomes a_ii
/// (1 + shift), or larger by the rounding errors of its sum.
template <class Scalar, class Space>
struct ShiftDiagonal {
  Matrix<Scalar, Space> a;
  VectorView<const Scalar, Space> sizes;
  Scalar shift, rounding;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    const Scalar value = find_entry(a, i, i, place);
    if (place == a.row_ptrs(i + 1)) return;
    const Scalar step = shift * Kokkos::abs(value), error = sizes.extent(0) > 0 ? rounding * sizes(i) : 0;
    const Scalar more = error > step && is_finite(error) ? error : step;
    a.values(place) += value < 0 ? -more : more;
  }
};

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// A copy, which has only new values where the pattern is there already.
template <class Scalar, class Space>
Matrix<Scalar, Space> own_copy(const Space& space, const CsrView<Scalar, Space>& a,
                               const Matrix<Scalar, Space>& pattern = {}) {
  if (pattern.num_rows > 0) {
    const Matrix<Scalar, Space> result(
        pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
        allocate<Vector<Scalar, Space>>(space, "prekond::amg::own_copy::values", a.nnz()));
    Kokkos::deep_copy(space, result.values, a.values);
    return result;
  }
  return copy_of<Scalar, Space>(space, "prekond::amg::own_copy", a);
}

/// A with a diagonal that is 16 n epsilon times larger, or shift_of_null_space times.
template <class Scalar, class Space>
Matrix<Scalar, Space> shifted(const Space& space, const CsrView<Scalar, Space>& a,
                              const VectorView<const Scalar, Space>& sizes) {
  const Matrix<Scalar, Space> result = own_copy<Scalar, Space>(space, a);
  constexpr Scalar rounding = rounding_of_sums<Scalar>();
  const Scalar shift = std::max(rounding * Scalar(a.num_rows), shift_of_null_space<Scalar>());
  Kokkos::parallel_for("prekond::amg::shift_diagonal", Rows<Space>(space, 0, a.num_rows),
                       ShiftDiagonal<Scalar, Space>{result, sizes, shift, rounding});
  return result;
}

template <class Scalar, class Space>
struct LargestEntry {
  VectorView<const Scalar, Space> v;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar& largest) const {
    const Scalar size = Kokkos::abs(v(i));
    if (size > largest) largest = size;
  }
};

/// v times two powers of two, whose product may be out of range.
template <class Scalar, class Space>
struct TimesPowers {
  VectorView<Scalar, Space> v;
  Scalar first, second;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { v(i) = (v(i) * first) * second; }
};

/// A copy of the vectors, each times a power of two where squares of its entries would be out of range. Notes
/// which are zero.
template <class Scalar, class Space>
MultiVector<Scalar, Space> copy_vectors(const Space& space, const MultiVectorView<const Scalar, Space>& from,
                                        Report& report) {
  constexpr int most = std::numeric_limits<Scalar>::max_exponent / 8;
  const auto to = allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::near_null_space", from.extent(0),
                                                       from.extent(1));
  Kokkos::deep_copy(space, to, from);
  const Rows<Space> rows(space, 0, static_cast<std::int64_t>(from.extent(0)));
  for (std::size_t c = 0; c < from.extent(1); ++c) {
    Scalar largest = 0;
    Kokkos::parallel_reduce("prekond::amg::largest_entry", rows, LargestEntry<Scalar, Space>{column(to, c)},
                            Kokkos::Max<Scalar>(largest));
    if (!(largest > 0) && from.extent(0) > 0)
      report.notes.push_back("vector " + std::to_string(c + 1) +
                             " of the near null space is zero: it adds nothing");
    const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
    if (exponent >= -most && exponent <= most) continue;
    const int first = -exponent / 2;
    Kokkos::parallel_for("prekond::amg::scale_vector", rows,
                         TimesPowers<Scalar, Space>{column(to, c), std::ldexp(Scalar(1), first),
                                                    std::ldexp(Scalar(1), -exponent - first)});
  }
  return to;
}

}  // namespace

template <class Scalar, class Space>
void tell_polynomial(PolynomialPreconditioner<Scalar, Space>& polynomial,
                     const StoredMatrix<Scalar, Space>& a, double lambda, const MethodChoice& choice) {
  const auto says = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return choice.options.count(name) > 0; });
  };
  KnownMatrix<Scalar, Space> known;
  if (!says({"storage", "storage_format"})) known.a = a;
  if (polynomial.options().is_chebyshev() &&
      !says({"scaling", "bounds", "lanczos_steps", "lambda_min", "lambda_max"}))
    known.lambda_max = lambda;
  polynomial.set_known(known);
}

template <class Scalar, class Space>
int Hierarchy<Scalar, Space>::unknowns_of(const Source& source) const {
  const int unknowns =
      m_options.unknowns_per_node > 0 ? m_options.unknowns_per_node : source.unknowns_per_node();
  if (source.num_rows() % unknowns != 0)
    throw InputError("amg: " + std::to_string(source.num_rows()) + " rows are not nodes of " +
                     std::to_string(unknowns) + " unknowns each (unknowns_per_node)");
  return unknowns;
}

template <class Scalar, class Space>
Hierarchy<Scalar, Space>::Hierarchy(const Space& space, const AmgOptions& options, const Source& source,
                                    const Hierarchy* before, Report& report)
    : m_options(options) {
  m_levels.push_back(finest(space, source));
  measure(space, m_levels[0]);
  find_unknowns(space, m_levels[0], before, report);
  MultiVector<Scalar, Space> near_null_space = near_null_space_of(space, source, before == nullptr, report);
  if (options.coarsening == AmgCoarsening::classical && source.near_null_space().extent(1) > 0)
    report.notes.push_back("classical coarsening does not read the near null space that was given");
  bool last = false;
  for (std::size_t l = 0; !last; ++l) {
    const Kokkos::Timer timer;
    const Level<Scalar, Space>* old = before ? &before->m_levels[l] : nullptr;
    if (m_levels[l].a.num_rows() == 0) store(space, m_levels[l], old, report);
    last = old ? l + 1 == before->m_levels.size() : !find_transfer(space, l, near_null_space);
    if (!last) {
      m_levels.push_back(coarser(space, m_levels[l], old));
      near_null_space = m_levels[l].transfer.near_null_space;
      measure(space, m_levels[l + 1]);
    }
    store_transfer(space, m_levels[l], old);
    if (last)
      set_coarsest(space, m_levels[l], old, report);
    else if (!m_levels[l].smoother)  // candidates have it set up before
      set_smoother(space, m_levels[l], old, report);
    space.fence("prekond::amg::level");
    file(m_levels[l], timer.seconds(), report);
  }
}

/// The finest level's, where aggregates are found by it. Candidates need the level's smoother.
template <class Scalar, class Space>
MultiVector<Scalar, Space> Hierarchy<Scalar, Space>::near_null_space_of(const Space& space,
                                                                        const Source& source, bool is_wanted,
                                                                        Report& report) {
  if (!is_wanted || m_options.coarsening == AmgCoarsening::classical) return {};
  Level<Scalar, Space>& level = m_levels[0];
  const auto& given = source.near_null_space();
  if (given.extent(1) > most_vectors)
    throw InputError("amg: the near null space has " + std::to_string(given.extent(1)) +
                     " vectors; there may be " + std::to_string(most_vectors));
  if (given.extent(1) > 0) return copy_vectors<Scalar, Space>(space, given, report);
  if (m_options.candidates == 0 || level.num_rows() <= m_options.coarse_size)
    return constant_vectors<Scalar, Space>(space, level.num_rows(), level.unknowns);
  store(space, level, nullptr, report);
  set_smoother(space, level, nullptr, report);
  return relaxed_candidates<Scalar, Space>(space, level.matrix, *level.smoother,
                                           static_cast<Scalar>(level.omega), m_options.candidates,
                                           HierarchyTuning::candidate_sweeps);
}

template <class Scalar, class Space>
Level<Scalar, Space> Hierarchy<Scalar, Space>::finest(const Space& space, const Source& source) const {
  Level<Scalar, Space> level;
  level.matrix = source.csr();
  if (level.matrix.num_cols > level.matrix.num_rows) {
    level.owned =
        filter_entries<Scalar, Space>(space, source.csr(), IsOwnColumn<Scalar, Space>{source.csr()});
    level.owned.num_cols = level.owned.num_rows;
    level.matrix = level.owned;
  }
  level.unknowns = unknowns_of(source);
  return level;
}

/// By the pattern, once, where nobody said how many a node has.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::find_unknowns(const Space& space, Level<Scalar, Space>& level,
                                             const Hierarchy* before, Report& report) const {
  if (level.unknowns > 1 || m_options.unknowns_per_node > 0) return;
  if (before)
    level.unknowns = before->m_levels[0].unknowns;
  else if (level.num_rows() > m_options.coarse_size && !level.sums.is_diagonal())
    level.unknowns = find_unknowns_per_node<Space>(space, level.matrix);
  if (level.unknowns > 1)
    report.notes.push_back("by the pattern, nodes have " + std::to_string(level.unknowns) +
                           " unknowns each (unknowns_per_node)");
}

/// The bound of the largest eigenvalue that costs nothing.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::measure(const Space& space, Level<Scalar, Space>& level) const {
  if (level.num_rows() <= m_options.coarse_size) return;
  level.sums = row_sums<Scalar, Space>(space, level.matrix);
  if (level.sums.is_dominant()) level.lambda = level.sums.most;
}

/// The one of the options, where its range holds the level's rows.
template <class Scalar, class Space>
Storage Hierarchy<Scalar, Space>::storage_of(const Level<Scalar, Space>& level, Report& report) const {
  const Storage wanted = m_options.storage_of_level(is_host_space<Space>, level.matrix.nnz());
  if (level.sums.most <= largest_sum_in(wanted)) return wanted;
  report.notes.push_back(
      "level " + std::to_string(&level - &m_levels.front()) +
      ": entries are so much larger than their row's diagonal that the range of `storage` does not "
      "hold them; it is kept in full");
  return Storage::full;
}

/// Stores the matrix that applications and Lanczos's method read. `old`: the level of the same pattern
/// before, whose format and layout are taken again.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::store(const Space& space, Level<Scalar, Space>& level,
                                     const Level<Scalar, Space>* old, Report& report) const {
  const Storage storage = storage_of(level, report);
  const bool is_finest = &level == &m_levels.front();
  const bool owns = level.owned.num_rows > 0;
  Matrix<Scalar, Space> a = owns ? level.owned : borrowed<Scalar, Space>(level.matrix);
  if (old) {
    const bool shares_pattern = !owns && old->a.format() == MatrixFormat::csr;
    if (shares_pattern) {  // not the user's, which may be gone later
      const Matrix<Scalar, Space>& pattern = old->a.csr();
      a = {pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs, a.values};
    }
    level.a = StoredMatrix<Scalar, Space>(space, a, storage, old->a);
    if (shares_pattern && level.a.is_full())  // neither are the values
      level.a = StoredMatrix<Scalar, Space>(space, own_copy<Scalar, Space>(space, level.matrix, a), storage,
                                            old->a);
    else if (!owns && !shares_pattern && level.a.format() == MatrixFormat::csr)  // not by blocks any more
      level.a = StoredMatrix<Scalar, Space>(space, own_copy<Scalar, Space>(space, level.matrix),
                                            {storage, MatrixFormat::csr});
    return;
  }
  constexpr bool by_blocks = products_by_blocks<Space>;
  if (by_blocks && level.unknowns > 1 && level.nodes.num_rows == 0) {
    level.nodes = nodes_of_whole_blocks<Space>(space, level.matrix, level.unknowns);
    level.whole = level.nodes.num_rows > 0;
  }
  const MatrixFormat wanted = is_finest ? m_options.storage_format : MatrixFormat::automatic;
  const StoredAs as(storage, wanted);
  const int d = level.unknowns;
  level.a = by_blocks && level.whole && wanted == MatrixFormat::automatic
                ? StoredMatrix<Scalar, Space>(space, a, as, BlockPattern<Space>{level.nodes, d, d})
                : StoredMatrix<Scalar, Space>(space, a, as);
  if (!owns && level.a.format() == MatrixFormat::csr)  // it shares what it was given
    level.a = StoredMatrix<Scalar, Space>(space, own_copy<Scalar, Space>(space, level.matrix),
                                          {storage, MatrixFormat::csr});
}

/// Stores the matrices P and P^T that applications read.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::store_transfer(const Space& space, Level<Scalar, Space>& level,
                                              const Level<Scalar, Space>* old) const {
  Transfer<Scalar, Space>& transfer = level.transfer;
  if (transfer.prolongator.num_rows == 0) return;
  using Stored = StoredMatrix<Scalar, Space>;
  const Storage storage = level.a.storage();
  transfer.p = old ? Stored(space, transfer.prolongator, storage, old->transfer.p)
                   : Stored(space, transfer.prolongator, storage, transfer.p_blocks);
  transfer.r = old ? Stored(space, transfer.restriction, storage, old->transfer.r)
                   : Stored(space, transfer.restriction, storage, transfer.r_blocks);
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::set_up_method(const Space& space, Level<Scalar, Space>& level,
                                             const MethodChoice& choice, const Level<Scalar, Space>* old,
                                             Report& report) const {
  level.smoother = old ? old->smoother : make_registered_method<Scalar, Space>(choice, "smoother");
  if (auto* polynomial = dynamic_cast<PolynomialPreconditioner<Scalar, Space>*>(level.smoother.get()))
    tell_polynomial<Scalar, Space>(*polynomial, level.a, level.lambda, choice);
  const Matrix<Scalar, Space> exact =
      level.is_exact ? shifted<Scalar, Space>(space, level.matrix, level.sizes) : Matrix<Scalar, Space>();
  const CsrView<Scalar, Space> matrix = level.is_exact ? CsrView<Scalar, Space>(exact) : level.matrix;
  MatrixSource<Scalar, Space> source(matrix);
  source.set_unknowns_per_node(level.unknowns);
  level.smoother->numeric(space, source);
  const Breakdowns& found = level.smoother->report().breakdowns;
  if (found.count == 0) return;
  if (&level == &m_levels.front())
    report.breakdowns = found;
  else
    report.notes.push_back("level " + std::to_string(&level - &m_levels.front()) + ": " +
                           std::to_string(found.count) + " rows of " + choice.name +
                           " broke down: " + found.action);
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::set_smoother(const Space& space, Level<Scalar, Space>& level,
                                            const Level<Scalar, Space>* old, Report& report) const {
  set_up_method(space, level, m_options.smoother, old, report);
  level.omega = m_options.smoother_damping;
  if (level.omega > 0) return;
  level.omega = 1;
  if (!level.smoother->is_symmetric() || needs_no_damping(*level.smoother)) return;
  if (level.lambda > 0 && is_of_the_diagonal(m_options.smoother)) {
    level.omega = std::min(1.0, HierarchyTuning::damping / level.lambda);
    return;
  }
  const double largest = estimated_largest_eigenvalue<Scalar, Space>(
      space, StoredOperator<Scalar, Space>(level.a), *level.smoother);
  if (largest > HierarchyTuning::damping) level.omega = HierarchyTuning::damping / largest;
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::set_coarsest(const Space& space, Level<Scalar, Space>& level,
                                            const Level<Scalar, Space>* old, Report& report) const {
  level.is_exact = level.num_rows() <= m_options.coarse_size;
  if (!level.is_exact) {
    report.notes.push_back(
        "the coarsest level has " + std::to_string(level.num_rows()) +
        " rows, more than coarse_size = " + std::to_string(m_options.coarse_size) +
        ": no coarser one was worth its cost, or max_levels was reached. Its smoother solves it");
    return set_smoother(space, level, old, report);
  }
  const MethodChoice dense{"block_jacobi",
                           {{"block_size", OptionValue(std::int64_t(1000000000))},
                            {"partition", OptionValue(std::string("rows"))}}};
  set_up_method(space, level, dense, old, report);
}

/// The patterns of P and A_c are those of what is applied.
template <class Scalar, class Space>
std::int64_t Hierarchy<Scalar, Space>::kept_for_reuse(const Transfer<Scalar, Space>& transfer) const {
  if (m_options.reuse == Reuse::none) return 0;
  return transfer.q.bytes() + transfer.filtered.bytes() + transfer.smoothed.bytes() +
         transfer.times_prolongator.bytes() + transfer.coarse_nodes.bytes() + transfer.classical.bytes() +
         static_cast<std::int64_t>(transfer.near_null_space.span() * sizeof(Scalar));
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::release() {
  for (Level<Scalar, Space>& level : m_levels) {
    Transfer<Scalar, Space>& transfer = level.transfer;
    level.matrix = CsrView<Scalar, Space>(level.matrix.num_rows, level.matrix.num_cols, {}, {}, {});
    level.owned.values = {};
    level.nodes = {};
    level.sizes = {};
    transfer.p_blocks = transfer.r_blocks = {};
    transfer.prolongator.values = {};
    transfer.restriction.values = {};
    transfer.coarse.values = {};
    if (m_options.reuse == Reuse::none) {
      transfer.q = {};
      transfer.near_null_space = {};
      transfer.restriction = {};
      transfer.classical = {};
    }
  }
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::file(const Level<Scalar, Space>& level, double seconds, Report& report) const {
  const Report& own = level.smoother->report();
  report.levels.push_back({.num_rows = level.num_rows(),
                           .nnz = level.nnz(),
                           .prolongator_nnz = level.transfer.p.nnz(),
                           .method = level.is_exact ? "dense" : level.smoother->name(),
                           .method_nnz = own.nnz,
                           .damping = level.omega,
                           .setup_seconds = seconds});
  const double sweeps = level.is_exact ? 1 : m_options.pre_sweeps + m_options.post_sweeps;
  const double visits =
      std::pow(m_options.cycle == AmgCycle::v ? 1.0 : 2.0, double(report.levels.size()) - 1);
  report.nnz += level.a.nnz() + 2 * level.transfer.p.nnz() + own.nnz;
  report.bytes += level.a.bytes() + level.transfer.p.bytes() + level.transfer.r.bytes() + own.bytes +
                  kept_for_reuse(level.transfer);
  // The pattern of blocks is the one that the finer level keeps.
  if (&level != &m_levels.front() && level.a.format() == MatrixFormat::bcsr && m_options.reuse != Reuse::none)
    report.bytes -= level.nodes.bytes();
  report.host_seconds += own.host_seconds;
  report.numeric_flops += own.numeric_flops;
  report.apply_flops +=
      visits * (sweeps * own.apply_flops + (level.is_exact ? 0 : 2 * sweeps * double(level.a.nnz())) +
                4 * double(level.transfer.p.nnz()));
}

#define PREKOND_AMG_HIERARCHY(Scalar, Space)                                                      \
  template void tell_polynomial(PolynomialPreconditioner<Scalar, Space>&,                         \
                                const StoredMatrix<Scalar, Space>&, double, const MethodChoice&); \
  template class Hierarchy<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG_HIERARCHY)

}  // namespace prekond::impl::amg
