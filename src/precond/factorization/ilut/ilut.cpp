// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/precond/ilut.hpp>

#include "core/instantiate.hpp"
#include "precond/factorization/ilu/factor_solves.hpp"
#include "precond/factorization/ilu/try_shifts.hpp"
#include "precond/factorization/ilut/numeric.hpp"
#include "precond/scaling/diagonal.hpp"
#include "precond/setup/mirrored_matrix.hpp"

#include <limits>
#include <string>

namespace prekond {

template <class Scalar, class Space>
Ilut<Scalar, Space>::Ilut(const IlutOptions& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
Ilut<Scalar, Space>::~Ilut() = default;

template <class Scalar, class Space>
void Ilut<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  std::shared_ptr<FillPattern<Space>> pattern;
  CsrGraph<Space> mirrored;
  const auto pattern_of = [&](const CsrGraphView<Space>& graph) {
    return std::make_shared<FillPattern<Space>>(
        fill_pattern<Space>(space, graph, 0, std::numeric_limits<std::int64_t>::max(), this->is_symmetric()));
  };
  if (a.num_rows > 0) pattern = pattern_of(a);
  if (pattern && this->is_symmetric() && !pattern->is_symmetric) {
    mirrored = symmetrize<Space>(space, a);
    impl::mirrored_matrix<Scalar, Space>(space, a, mirrored, this->name());
    pattern = pattern_of(mirrored);
    pattern->foreign = impl::count_foreign_entries<Scalar, Space>(space, a);
    pattern->nnz_of_a = a.nnz();
  }
  m_pattern = pattern;
  m_mirrored = mirrored;
  m_solves = nullptr;
  m_lower = m_upper = {};
  m_pivots = m_row_scale = {};
}

template <class Scalar, class Space>
void Ilut<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  matrix_view a = source.csr();
  const std::int64_t n = a.num_rows;
  if (a.nnz() != m_pattern->nnz_of_a)
    throw InputError(this->name() + ": numeric was given " + std::to_string(a.nnz()) + " entries, symbolic " +
                     std::to_string(m_pattern->nnz_of_a) + "; call symbolic again");
  if (this->is_symmetric()) {
    const auto diagonal = allocate<Vector<Scalar, Space>>(space, "prekond::ilut::diagonal", n);
    impl::check_diagonal<Scalar>(impl::extract_diagonal<Scalar, Space>(space, a, diagonal), this->name());
  }
  matrix_type mirrored;
  if (m_mirrored.num_rows > 0)
    a = mirrored = impl::mirrored_matrix<Scalar, Space>(space, a, m_mirrored, this->name());
  using impl::sweeps::DiagonalUse;
  const auto scaled = impl::sweeps::fill_triangles<Scalar, Space>(
      space, a, *m_pattern, Scalar(1), report,
      this->is_symmetric() ? DiagonalUse::definite : DiagonalUse::general);
  impl::ilut::ThresholdRules<Space> rules;
  rules.owner = this->name();
  rules.symmetric = this->is_symmetric();
  rules.p = m_options.p;
  rules.tau = m_options.tau;
  rules.memory_budget = m_options.memory_budget;
  rules.blocks = impl::levels::find_row_blocks<Space>(space, m_pattern->lower);
  const auto best = impl::ilu::try_shifts(
      m_options,
      [&](double alpha, impl::ilu::Outcome& outcome) {
        rules.alpha = alpha;
        auto result = impl::ilut::factor<Scalar, Space>(space, *m_pattern, scaled, rules, outcome);
        if (result.stalled)
          report.notes.push_back(
              "a row waited too long for another: the remaining rows were done one by one");
        return result;
      },
      report);
  impl::add_breakdowns(impl::ilu::breakdowns_of_rows(best.outcome.breakdowns), report.breakdowns);
  const auto& pattern = best.factors.pattern;
  const auto& factors = best.factors.factors;
  auto solves = std::make_shared<Solves>(this->name(), m_options.solve);
  solves->symbolic(space, pattern);
  solves->numeric(space, pattern, factors, this->is_symmetric(), report);
  const std::int64_t lower = pattern.lower.nnz(), upper = pattern.upper.nnz();
  report.notes.push_back(
      std::to_string(lower) + " entries of L, " + std::to_string(upper) + " of U" +
      (solves->num_levels() > 0 ? "; " + std::to_string(solves->num_levels()) + " levels of rows" : ""));
  if (best.factors.cut_rows > 0)
    report.notes.push_back(std::to_string(best.factors.cut_rows) +
                           " rows had more than p entries above the tolerance");
  report.nnz = lower + upper + n;
  report.bytes = m_pattern->bytes() + m_mirrored.bytes() + pattern.bytes() + solves->bytes();
  report.apply_flops = solves->flops();
  report.numeric_flops = 2.0 * best.tries * double(lower) * double(upper) / double(n);
  report.foreign_entries = m_pattern->foreign;
  space.fence("prekond::ilut::numeric");  // temporaries are freed
  m_solves = solves;
  m_shift = best.alpha;
  if (!m_keeps_factors) return;
  m_lower = matrix_type(n, n, pattern.lower.row_ptrs, pattern.lower.col_idxs, factors.lower);
  m_upper = matrix_type(n, n, pattern.upper.row_ptrs, pattern.upper.col_idxs, factors.upper);
  m_pivots = factors.pivots;
  m_row_scale = factors.row_scale;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Ilut<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  if (!m_solves) return Method::make_workspace(space, num_vectors);
  return m_solves->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void Ilut<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  m_solves->apply(space, x, y, workspace);
}

#define PREKOND_ILUT(Scalar, Space) template class Ilut<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ILUT)

}  // namespace prekond
