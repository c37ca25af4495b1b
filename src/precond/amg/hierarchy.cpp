// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The setup of the levels.
#include "precond/amg/hierarchy.hpp"

#include <prekond/core/error.hpp>
#include <prekond/krylov/lanczos.hpp>
#include <prekond/matrix/filter_entries.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/spgemm.hpp>
#include <prekond/pattern/strength.hpp>
#include <prekond/pattern/transpose.hpp>
#include <prekond/precond/registry.hpp>

#include "instantiate.hpp"
#include "precond/amg/smoothing_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace prekond::impl::amg {
namespace {

struct HierarchyTuning {
  /// A coarser level with more than this part of a level's rows is not worth its products.
  static constexpr double least_coarsening = 0.9;
  static constexpr int lanczos_steps = 10;
  static constexpr double boost = 1.1;
  static constexpr double damping = 4.0 / 3;
};

/// Smoothers whose I - M^-1 A has its spectrum in (-1, 1) by their making: an eigenvalue to damp them by is
/// not looked for, which would take ten more applications and products.
bool converges_alone(const std::string& name) {
  static const std::set<std::string> names = {"chebyshev", "ls_polynomial", "neumann", "multicolor_ssor"};
  return names.count(name) > 0;
}

template <class Scalar, class Space>
struct IsOwnColumn {
  CsrView<Scalar, Space> a;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::size_t k) const { return a.col_idxs(k) < a.num_rows; }
};

/// Coarse unknowns of a column of Q that is zero: 1 on the diagonal of a row that is zero.
template <class Scalar, class Space>
struct SetDeadUnknowns {
  Matrix<Scalar, Space> a;
  MultiVectorView<const Scalar, Space> near_null_space;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int m = static_cast<int>(near_null_space.extent(1));
    if (near_null_space(i, i % m) != Scalar(0)) return;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      if (a.col_idxs(k) == i) a.values(k) = Scalar(1);
  }
};

/// The coarsest matrix of a singular one is singular but for rounding, of either sign: a_ii becomes a_ii
/// (1 + shift).
template <class Scalar, class Space>
struct ShiftDiagonal {
  Matrix<Scalar, Space> a;
  Scalar shift;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      if (a.col_idxs(k) == i) a.values(k) += shift * a.values(k);
  }
};

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// A B, on the pattern that is known where there is one.
template <class Scalar, class Space>
Matrix<Scalar, Space> product(const Space& space, const Matrix<Scalar, Space>& a,
                              const Matrix<Scalar, Space>& b, const Matrix<Scalar, Space>* known,
                              std::int64_t slab_bytes) {
  if (!known) return spgemm<Scalar, Space>(space, a, b, {.slab_bytes = slab_bytes});
  const Matrix<Scalar, Space> c(
      known->num_rows, known->num_cols, known->row_ptrs, known->col_idxs,
      allocate<Vector<Scalar, Space>>(space, "prekond::amg::product::values", known->nnz()));
  spgemm_values<Scalar, Space>(space, a, b, c);
  return c;
}

/// A with a diagonal that is 16 n epsilon times larger.
template <class Scalar, class Space>
Matrix<Scalar, Space> shifted(const Space& space, const Matrix<Scalar, Space>& a) {
  const Matrix<Scalar, Space> result(
      a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs,
      allocate<Vector<Scalar, Space>>(space, "prekond::amg::shifted::values", a.nnz()));
  Kokkos::deep_copy(space, result.values, a.values);
  const Scalar shift = Scalar(16) * std::numeric_limits<Scalar>::epsilon() * Scalar(a.num_rows);
  Kokkos::parallel_for("prekond::amg::shift_diagonal", Rows<Space>(space, 0, a.num_rows),
                       ShiftDiagonal<Scalar, Space>{result, shift});
  return result;
}

template <class Scalar, class Space>
MultiVector<Scalar, Space> copy_vectors(const Space& space,
                                        const MultiVectorView<const Scalar, Space>& from) {
  const auto to = allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::near_null_space", from.extent(0),
                                                       from.extent(1));
  Kokkos::deep_copy(space, to, from);
  return to;
}

}  // namespace

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
  const auto& given = source.near_null_space();
  MultiVector<Scalar, Space> near_null_space =
      given.extent(1) > 0 ? copy_vectors<Scalar, Space>(space, given)
                          : constant_vectors<Scalar, Space>(space, source.num_rows(), m_levels[0].unknowns);
  if (options.coarsening == AmgCoarsening::classical && given.extent(1) > 0)
    report.notes.push_back("classical coarsening does not read the near null space that was given");
  bool last = false;
  for (std::size_t l = 0; !last; ++l) {
    const Kokkos::Timer timer;
    const Level<Scalar, Space>* old = before ? &before->m_levels[l] : nullptr;
    last = old ? l + 1 == before->m_levels.size() : !find_transfer(space, l, near_null_space);
    if (!last) {
      m_levels.push_back(coarser(space, m_levels[l], old));
      near_null_space = m_levels[l].transfer.near_null_space;
    }
    store(space, m_levels[l]);
    last ? set_coarsest(space, m_levels[l], old, report) : set_smoother(space, m_levels[l], old, report);
    space.fence("prekond::amg::level");
    file(m_levels[l], timer.seconds(), report);
  }
}

template <class Scalar, class Space>
Level<Scalar, Space> Hierarchy<Scalar, Space>::finest(const Space& space, const Source& source) const {
  Level<Scalar, Space> level;
  const Matrix<Scalar, Space> a =
      filter_entries<Scalar, Space>(space, source.csr(), IsOwnColumn<Scalar, Space>{source.csr()});
  level.matrix = Matrix<Scalar, Space>(a.num_rows, a.num_rows, a.row_ptrs, a.col_idxs, a.values);
  level.unknowns = unknowns_of(source);
  return level;
}

/// Aggregates, Q and the pattern of A_F, of a level that is worth a coarser one.
template <class Scalar, class Space>
bool Hierarchy<Scalar, Space>::find_transfer(const Space& space, std::size_t l,
                                             const MultiVector<Scalar, Space>& near_null_space) {
  Level<Scalar, Space>& level = m_levels[l];
  if (level.num_rows() <= m_options.coarse_size || static_cast<int>(l) + 1 >= m_options.max_levels)
    return false;
  if (m_options.coarsening == AmgCoarsening::classical) return find_classical_transfer(space, l);
  const double theta = m_options.strong_limit() * std::pow(m_options.theta_decay, static_cast<double>(l));
  const CsrGraph<Space> strong =
      strong_connections<Scalar, Space>(space, level.matrix, level.unknowns, theta);
  const Aggregates<Space> aggregates = aggregate<Space>(space, strong);
  const auto coarse = static_cast<double>(aggregates.count) * static_cast<double>(near_null_space.extent(1));
  if (aggregates.count == 0 || coarse > HierarchyTuning::least_coarsening * double(level.num_rows()))
    return false;
  const Tentative<Scalar, Space> tentative = tentative_prolongator<Scalar, Space>(
      space, aggregates, level.unknowns, MultiVectorView<const Scalar, Space>(near_null_space));
  level.transfer.q = tentative.q;
  level.transfer.near_null_space = tentative.near_null_space;
  if (m_options.prolongator == AmgProlongator::smoothed)
    level.transfer.filtered = filtered_pattern<Scalar, Space>(space, level.matrix, strong, level.unknowns);
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
  if (count == 0 || count > HierarchyTuning::least_coarsening * double(level.num_rows())) return false;
  level.transfer.classical = found;
  return true;
}

/// P, P^T, A P and the coarser level's A_c = P^T A P.
template <class Scalar, class Space>
Level<Scalar, Space> Hierarchy<Scalar, Space>::coarser(const Space& space, Level<Scalar, Space>& fine,
                                                       const Level<Scalar, Space>* old) const {
  Transfer<Scalar, Space>& transfer = fine.transfer;
  if (old) {
    transfer.q = old->transfer.q;
    transfer.near_null_space = old->transfer.near_null_space;
    transfer.filtered = old->transfer.filtered;
    transfer.classical = old->transfer.classical;
  }
  const auto bytes = m_options.slab_bytes;
  const bool is_classical = m_options.coarsening == AmgCoarsening::classical;
  transfer.prolongator = transfer.q;
  if (is_classical) {
    transfer.prolongator =
        classical_prolongator<Scalar, Space>(space, fine.matrix, m_options, transfer.classical);
  } else if (m_options.prolongator == AmgProlongator::smoothed) {
    const auto smoothing =
        smoothing_matrix<Scalar, Space>(space, fine.matrix, transfer.filtered, m_options.prolongator_damping);
    transfer.prolongator = product<Scalar, Space>(space, smoothing.s, transfer.q,
                                                  old ? &old->transfer.prolongator : nullptr, bytes);
  }
  transfer.restriction = transpose<Scalar, Space>(space, transfer.prolongator);
  transfer.times_prolongator = product<Scalar, Space>(
      space, fine.matrix, transfer.prolongator, old ? &old->transfer.times_prolongator : nullptr, bytes);
  Level<Scalar, Space> coarse;
  coarse.matrix = product<Scalar, Space>(space, transfer.restriction, transfer.times_prolongator,
                                         old ? &old->transfer.coarse : nullptr, bytes);
  if (!is_classical) {
    coarse.unknowns = static_cast<int>(transfer.near_null_space.extent(1));
    Kokkos::parallel_for("prekond::amg::set_dead_unknowns", Rows<Space>(space, 0, coarse.num_rows()),
                         SetDeadUnknowns<Scalar, Space>{coarse.matrix, transfer.near_null_space});
  }
  transfer.coarse = coarse.matrix;
  if (m_options.reuse == Reuse::none) {
    transfer.times_prolongator = {};
    transfer.coarse = {};
    transfer.filtered = {};
  } else {  // of A P the pattern is kept, and not its values
    transfer.times_prolongator.values = {};
  }
  space.fence("prekond::amg::coarser");  // the working matrices go away
  return coarse;
}

/// What applications read.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::store(const Space& space, Level<Scalar, Space>& level) const {
  const StoredAs as(m_options.storage, MatrixFormat::automatic);
  const bool is_finest = &level == &m_levels.front();
  level.a = StoredMatrix<Scalar, Space>(
      space, level.matrix, is_finest ? StoredAs(m_options.storage, m_options.storage_format) : as);
  if (level.transfer.prolongator.num_rows == 0) return;
  level.transfer.p = StoredMatrix<Scalar, Space>(space, level.transfer.prolongator, as);
  level.transfer.r = StoredMatrix<Scalar, Space>(space, level.transfer.restriction, as);
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::set_up_method(const Space& space, Level<Scalar, Space>& level,
                                             const MethodChoice& choice, const Level<Scalar, Space>* old,
                                             Report& report) const {
  level.smoother = old ? old->smoother : create_preconditioner<Scalar, Space>(choice.name, choice.options);
  const Matrix<Scalar, Space> matrix =
      level.is_exact ? shifted<Scalar, Space>(space, level.matrix) : level.matrix;
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
  if (!level.smoother->is_symmetric() || converges_alone(level.smoother->name())) return;
  const LanczosResult found =
      lanczos<Scalar, Space>(space, CsrOperator<Scalar, Space>(level.matrix), level.smoother.get(),
                             {.steps = HierarchyTuning::lanczos_steps});
  const double lambda = HierarchyTuning::boost * found.largest.value;
  if (found.steps > 0 && lambda > HierarchyTuning::damping && std::isfinite(lambda))
    level.omega = HierarchyTuning::damping / lambda;
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
  const MethodChoice dense{
      "block_jacobi",
      {{"num_blocks", OptionValue(std::int64_t(1))}, {"partition", OptionValue(std::string("rows"))}}};
  set_up_method(space, level, dense, old, report);
}

/// The patterns of P and A_c are those of what is applied.
template <class Scalar, class Space>
std::int64_t Hierarchy<Scalar, Space>::kept_for_reuse(const Transfer<Scalar, Space>& transfer) const {
  if (m_options.reuse == Reuse::none) return 0;
  return transfer.q.bytes() + transfer.filtered.bytes() + transfer.times_prolongator.bytes() +
         transfer.classical.bytes() +
         static_cast<std::int64_t>(transfer.near_null_space.span() * sizeof(Scalar));
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::release() {
  for (Level<Scalar, Space>& level : m_levels) {
    Transfer<Scalar, Space>& transfer = level.transfer;
    level.matrix.values = {};
    transfer.prolongator.values = {};
    transfer.restriction = {};
    transfer.coarse.values = {};
    if (m_options.reuse == Reuse::none) {
      transfer.q = {};
      transfer.near_null_space = {};
      transfer.classical = {};
    }
  }
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::file(const Level<Scalar, Space>& level, double seconds, Report& report) const {
  const Report& own = level.smoother->report();
  report.levels.push_back({.num_rows = level.num_rows(),
                           .nnz = level.matrix.nnz(),
                           .prolongator_nnz = level.transfer.p.nnz(),
                           .method = level.is_exact ? "dense" : level.smoother->name(),
                           .method_nnz = own.nnz,
                           .damping = level.omega,
                           .setup_seconds = seconds});
  const double sweeps = level.is_exact ? 1 : m_options.pre_sweeps + m_options.post_sweeps;
  const double visits =
      std::pow(m_options.cycle == AmgCycle::w ? 2.0 : 1.0, double(report.levels.size()) - 1);
  report.nnz += level.a.nnz() + 2 * level.transfer.p.nnz() + own.nnz;
  report.bytes += level.a.bytes() + level.transfer.p.bytes() + level.transfer.r.bytes() + own.bytes +
                  kept_for_reuse(level.transfer);
  report.numeric_flops += own.numeric_flops;
  report.apply_flops +=
      visits * (sweeps * own.apply_flops + (level.is_exact ? 0 : 2 * sweeps * double(level.a.nnz())) +
                4 * double(level.transfer.p.nnz()));
}

#define PREKOND_AMG_HIERARCHY(Scalar, Space) template class Hierarchy<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG_HIERARCHY)

}  // namespace prekond::impl::amg
