// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/par_ilut.hpp>

#include "core/instantiate.hpp"
#include "precond/factorization/ilu/factor_solves.hpp"
#include "precond/factorization/ilu/try_shifts.hpp"
#include "precond/factorization/par_ilu/threshold_steps.hpp"

#include <limits>
#include <string>

namespace prekond {
namespace impl::par_ilu {

template <class Space>
struct ThresholdPattern {
  FillPattern<Space> pattern;
};

}  // namespace impl::par_ilu

template <class Scalar, class Space>
ParIlut<Scalar, Space>::ParIlut(const ParIlutOptions& options) : m_options(resolved(options)) {
  refuse_growing_pattern(this->name(), options.reuse);
}

template <class Scalar, class Space>
ParIlut<Scalar, Space>::~ParIlut() = default;

template <class Scalar, class Space>
std::shared_ptr<const typename ParIlut<Scalar, Space>::Pattern> ParIlut<Scalar, Space>::find_pattern(
    const Space& space, const matrix_view& a) const {
  constexpr bool looks_at_symmetry = false;  // patterns that are found have none
  return std::make_shared<const Pattern>(
      Pattern{fill_pattern<Space>(space, a, 0, std::numeric_limits<std::int64_t>::max(), looks_at_symmetry)});
}

template <class Scalar, class Space>
void ParIlut<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  const auto known = a.num_rows > 0 ? find_pattern(space, a) : nullptr;
  m_known = known;
  m_found = nullptr;
  m_solves = nullptr;
  m_has_values = false;
  m_lower = m_upper = {};
  m_pivots = m_row_scale = {};
}

template <class Scalar, class Space>
void ParIlut<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  using Try = impl::par_ilu::ThresholdTry<Scalar, Space>;
  const matrix_view& a = source.csr();
  const bool kept = m_found && m_options.reuse == Reuse::pattern;
  const bool finds = m_has_values && !kept;
  if (!finds && a.nnz() != m_known->pattern.nnz_of_a)
    throw InputError(this->name() + ": numeric was given " + std::to_string(a.nnz()) + " entries, symbolic " +
                     std::to_string(m_known->pattern.nnz_of_a) + "; call symbolic again");
  const auto known = finds ? find_pattern(space, a) : m_known;
  impl::par_ilu::SweepPattern<Space> sweeps;
  if (kept) sweeps = impl::par_ilu::make_sweep_pattern<Space>(space, m_found->pattern);
  const auto best = impl::ilu::try_shifts(
      m_options,
      [&](double alpha, impl::ilu::Outcome& outcome) {
        Report of_scaling;
        const auto result =
            kept ? Try{m_found->pattern, impl::par_ilu::sweep_factors<Scalar, Space>(
                                             space, a, m_found->pattern, sweeps, 2 * m_options.steps,
                                             IncompleteKind::ilu, alpha, of_scaling, outcome)}
                 : impl::par_ilu::threshold_factors<Scalar, Space>(
                       space, a, known->pattern, m_options, alpha, of_scaling, outcome,
                       [&](const std::string& text) { this->tell(text, report); });
        report.breakdowns = of_scaling.breakdowns;
        return result;
      },
      report);
  impl::add_breakdowns(impl::ilu::breakdowns_of_rows(best.outcome.breakdowns), report.breakdowns);
  const auto& [pattern, factors] = best.factors;
  auto solves = std::make_shared<Solves>(this->name(), m_options.solve);
  solves->symbolic(space, pattern);
  solves->numeric(space, pattern, factors, false, report);
  report.notes.push_back(best.outcome.note);
  const std::int64_t lower = pattern.lower.nnz(), upper = pattern.upper.nnz();
  report.nnz = lower + upper + a.num_rows;
  report.bytes = pattern.bytes() + known->pattern.bytes() + solves->bytes();
  report.apply_flops = solves->flops();
  report.numeric_flops =
      4.0 * m_options.steps * best.tries * double(lower) * double(upper) / double(a.num_rows);
  report.foreign_entries = pattern.foreign;
  report.pattern_kept = kept;
  space.fence("prekond::par_ilut::end");  // temporaries are freed
  m_known = known;
  m_found = std::make_shared<const Pattern>(Pattern{pattern});
  m_solves = solves;
  m_has_values = true;
  m_shift = best.alpha;
  if (!m_keeps_factors) return;
  m_lower =
      matrix_type(a.num_rows, a.num_rows, pattern.lower.row_ptrs, pattern.lower.col_idxs, factors.lower);
  m_upper =
      matrix_type(a.num_rows, a.num_rows, pattern.upper.row_ptrs, pattern.upper.col_idxs, factors.upper);
  m_pivots = factors.pivots;
  m_row_scale = factors.row_scale;
}

template <class Scalar, class Space>
void ParIlut<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report& report) {
  report.pattern_kept = m_has_values && m_options.reuse == Reuse::pattern;
  m_has_values = true;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> ParIlut<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  if (!m_solves) return Method::make_workspace(space, num_vectors);
  return m_solves->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void ParIlut<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  m_solves->apply(space, x, y, workspace);
}

#define PREKOND_PAR_ILUT(Scalar, Space) template class ParIlut<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_PAR_ILUT)

}  // namespace prekond
