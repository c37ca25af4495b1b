// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/precond/impl/incomplete_factorization.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/factorization/ilu/symbolic_factors.hpp"
#include "precond/factorization/ilu/triangles.hpp"
#include "precond/factorization/ilu/try_shifts.hpp"
#include "precond/scaling/diagonal.hpp"
#include "precond/setup/mirrored_matrix.hpp"
#include "precond/setup/setup_time.hpp"
#include "sparse_product/lengths_of_rows.hpp"

#include <string>

namespace prekond {
namespace {

/// The lengths of the rows of `others` that the columns of `rows` left of the diagonal lead to. A search for
/// fill of level 1 in A meets as many entries, of further levels more; a factorisation as many of its
/// factors.
template <class Space>
struct LengthsOfRowsBefore {
  CsrGraphView<Space> rows, others;
  KOKKOS_FUNCTION void operator()(const typename impl::RowTeams<Space>::Member& team, double& sum) const {
    impl::RowTeams<Space>{rows.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t found =
          impl::lengths_of_rows<Space>(team, rows, rows.row_ptrs(i), rows.first_from(i, i), others);
      Kokkos::single(Kokkos::PerThread(team), [&] { sum += double(found); });
    });
  }
};
template <class Space>
double lengths_of_rows_before(const Space& space, const CsrGraphView<Space>& rows,
                              const CsrGraphView<Space>& others) {
  double sum = 0;
  Kokkos::parallel_reduce("prekond::ilu::symbolic::count_work",
                          impl::RowTeams<Space>::policy(space, rows.num_rows, rows.nnz()),
                          LengthsOfRowsBefore<Space>{rows, others}, sum);
  return sum;
}

}  // namespace

template <class Scalar, class Space>
std::shared_ptr<const typename IncompleteFactorization<Scalar, Space>::Symbolic>
IncompleteFactorization<Scalar, Space>::find_pattern(const Space& space, const matrix_view& a) const {
  const bool symmetric = m_kind != IncompleteKind::ilu;
  auto result = std::make_shared<Symbolic>(Symbolic{{}, {}, {}, nullptr, {this->name(), m_options.solve}});
  const auto tell = [&](const std::string& what, double entries) {
    Report none;  // there is no report before numeric
    this->tell(impl::search_note(space, this->name() + what, entries, "a lower level meets fewer"), none);
  };
  if (m_options.level > 0) tell(": the search for fill meets", lengths_of_rows_before<Space>(space, a, a));
  constexpr bool looks_at_symmetry = true;  // for kind ilu because U then has L's levels
  result->pattern =
      fill_pattern<Space>(space, a, m_options.level, m_options.memory_budget, looks_at_symmetry);
  if (symmetric && !result->pattern.is_symmetric) {
    result->mirrored = symmetrize<Space>(space, a);
    impl::mirrored_matrix<Scalar, Space>(space, a, result->mirrored, this->name());
    result->pattern = fill_pattern<Space>(space, result->mirrored, m_options.level, m_options.memory_budget,
                                          looks_at_symmetry);
    result->pattern.foreign = impl::count_foreign_entries<Scalar, Space>(space, a);
    result->pattern.nnz_of_a = a.nnz();
  }
  if (m_options.level > 0)
    tell(": the factorisation meets",
         lengths_of_rows_before<Space>(
             space, result->pattern.lower,
             m_kind == IncompleteKind::ic ? result->pattern.lower : result->pattern.upper));
  schedule_step(space, *result);
  return result;
}

template <class Scalar, class Space>
void IncompleteFactorization<Scalar, Space>::schedule_step(const Space& space, Symbolic& symbolic) const {
  const auto& pattern = symbolic.pattern;
  symbolic.schedule = impl::ilu::schedule_rows<Space>(
      space, pattern.lower, m_kind == IncompleteKind::ic ? pattern.lower : pattern.upper,
      m_options.schedule());
  symbolic.solves.symbolic(space, symbolic.pattern, symbolic.schedule.levels);
}

template <class Scalar, class Space>
typename IncompleteFactorization<Scalar, Space>::Factors IncompleteFactorization<Scalar, Space>::factor_step(
    const Space& space, const matrix_view& a, const Symbolic& symbolic, double alpha, Report& report,
    Outcome& outcome) const {
  const auto& schedule = symbolic.schedule;
  outcome.note = schedule.blocks
                     ? std::to_string(schedule.blocks.count) + " diagonal blocks; factored block by block"
                     : std::to_string(schedule.levels.num_levels()) + " levels of rows; " +
                           (impl::ilu::is_in_order<Space>(space, symbolic.pattern, schedule)
                                ? "factored by one thread, row by row"
                            : schedule.how == FactorSchedule::levels ? "factored level by level"
                                                                     : "factored in one launch");
  return impl::ilu::factor<Scalar, Space>(space, a, symbolic.pattern, schedule, m_kind, alpha, report,
                                          outcome);
}

template <class Scalar, class Space>
void IncompleteFactorization<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  const auto symbolic = a.num_rows > 0 ? find_pattern(space, a) : nullptr;
  m_symbolic = symbolic;
  m_solves = nullptr;
  m_has_values = false;
  m_lower = m_upper = {};
  m_pivots = m_row_scale = {};
}

template <class Scalar, class Space>
void IncompleteFactorization<Scalar, Space>::check_diagonal(const Space& space, const matrix_view& a) const {
  if (m_kind == IncompleteKind::ilu) return;
  const auto diagonal = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::diagonal", a.num_rows);
  impl::check_diagonal<Scalar>(impl::extract_diagonal<Scalar, Space>(space, a, diagonal), this->name());
}

template <class Scalar, class Space>
void IncompleteFactorization<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                                          Report& report) {
  matrix_view a = source.csr();
  if (a.nnz() != m_symbolic->pattern.nnz_of_a)
    throw InputError(this->name() + ": numeric was given " + std::to_string(a.nnz()) + " entries, symbolic " +
                     std::to_string(m_symbolic->pattern.nnz_of_a) + "; call symbolic again");
  check_diagonal(space, a);
  const auto& symbolic = m_symbolic;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> mirrored;
  if (symbolic->mirrored.num_rows > 0)
    a = mirrored = impl::mirrored_matrix<Scalar, Space>(space, a, symbolic->mirrored, this->name());
  const auto& pattern = symbolic->pattern;
  auto best = impl::ilu::try_shifts(
      m_options,
      [&](double alpha, impl::ilu::Outcome& outcome) {
        Report of_scaling;
        auto factors = factor_step(space, a, *symbolic, alpha, of_scaling, outcome);
        report.breakdowns = of_scaling.breakdowns;
        return factors;
      },
      report);
  impl::add_breakdowns(impl::ilu::breakdowns_of_rows(best.outcome.breakdowns), report.breakdowns);
  if (m_kind == IncompleteKind::ilu && (best.tries > 1 || report.breakdowns.count > 0))
    report.notes.push_back(impl::ilu::advice_of_matching());
  auto solves = std::make_shared<Solves>(symbolic->solves);
  if (m_kind != IncompleteKind::ilu && (m_keeps_factors || solves->reads_upper_of_symmetric())) {
    // The pattern is symmetric: every entry of U is found in L.
    if (m_kind == IncompleteKind::ic)
      best.factors.upper = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::upper", pattern.upper.nnz());
    impl::ilu::transpose_lower<Scalar, Space>(space, "prekond::ilu::numeric::transpose_lower", pattern.lower,
                                              best.factors.lower, pattern.upper, best.factors.upper);
  }
  solves->numeric(space, pattern, best.factors, m_kind != IncompleteKind::ilu, report);
  const std::int64_t lower = pattern.lower.nnz(), upper = pattern.upper.nnz();
  report.notes.push_back(best.outcome.note);
  if (pattern.added > 0) report.notes.push_back(std::to_string(pattern.added) + " entries of fill");
  report.nnz = lower + upper + a.num_rows;
  report.bytes = pattern.bytes() + symbolic->mirrored.bytes() + symbolic->schedule.bytes() +
                 (symbolic->sweeps ? symbolic->sweeps->bytes() : 0) + solves->bytes();
  if (m_keeps_factors)
    report.bytes += static_cast<std::int64_t>((lower + upper + 2 * a.num_rows) * sizeof(Scalar));
  report.apply_flops = solves->flops();
  report.numeric_flops =
      2.0 * work(a.num_rows) * best.tries * double(lower) * double(upper) / double(a.num_rows);
  report.foreign_entries = pattern.foreign;
  report.pattern_kept = m_has_values;
  space.fence("prekond::ilu::numeric");  // temporaries are freed
  m_solves = solves;
  m_has_values = true;
  m_shift = best.alpha;
  if (!m_keeps_factors) return;
  const auto& f = best.factors;
  m_lower = matrix_type(a.num_rows, a.num_rows, pattern.lower.row_ptrs, pattern.lower.col_idxs, f.lower);
  m_upper = matrix_type(a.num_rows, a.num_rows, pattern.upper.row_ptrs, pattern.upper.col_idxs, f.upper);
  m_pivots = f.pivots;
  m_row_scale = f.row_scale;
}

template <class Scalar, class Space>
void IncompleteFactorization<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&,
                                                                  Report& report) {
  report.pattern_kept = m_has_values;
  m_has_values = true;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> IncompleteFactorization<Scalar, Space>::make_workspace(const Space& space,
                                                                                  int num_vectors) const {
  if (!m_solves) return Method::make_workspace(space, num_vectors);
  return m_solves->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void IncompleteFactorization<Scalar, Space>::apply_step(const Space& space,
                                                        MultiVectorView<const Scalar, Space> x,
                                                        MultiVectorView<Scalar, Space> y,
                                                        Workspace& workspace) const {
  m_solves->apply(space, x, y, workspace);
}

#define PREKOND_INCOMPLETE(Scalar, Space) template class IncompleteFactorization<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_INCOMPLETE)

}  // namespace prekond
