// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/block_ilu0.hpp>

#include "core/instantiate.hpp"
#include "precond/factorization/block_ilu/factors.hpp"
#include "precond/factorization/ilu/try_shifts.hpp"
#include "precond/scaling/weak_diagonal.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace prekond {
template <class Scalar, class Space>
BlockIlu0<Scalar, Space>::BlockIlu0(const BlockIlu0Options& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
BlockIlu0<Scalar, Space>::~BlockIlu0() = default;

template <class Scalar, class Space>
std::shared_ptr<const typename BlockIlu0<Scalar, Space>::Symbolic> BlockIlu0<Scalar, Space>::find_pattern(
    const Space& space, const matrix_source& source) const {
  if (source.num_rows() == 0) return nullptr;
  const int b = impl::block_size_of(space, source, m_options.block_size);
  const auto a = impl::blocks_of(space, source, b);
  auto found =
      std::make_shared<Symbolic>(Symbolic{b, a.padding, a.num_blocks(), {}, {this->name(), m_options.solve}});
  constexpr bool looks_at_symmetry = true;  // U then has L's levels
  found->pattern = fill_pattern<Space>(space, impl::graph_of<Space>(a), 0,
                                       std::numeric_limits<std::int64_t>::max(), looks_at_symmetry);
  const FillPattern<Space>& pattern = found->pattern;
  const auto levels = level_schedule<Space>(space, pattern.lower, Triangle::lower);
  impl::block_ilu::schedule_factorisation<Scalar, Space>(space, levels, m_options.schedule(), *found);
  found->solves.symbolic(space, pattern, levels, {b, a.padding});
  space.fence("prekond::block_ilu::symbolic");  // what was converted is freed
  return found;
}

template <class Scalar, class Space>
void BlockIlu0<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  m_symbolic = find_pattern(space, source);
  m_factors = nullptr;
  m_solves = nullptr;
  m_has_values = false;
}

template <class Scalar, class Space>
void BlockIlu0<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  const Symbolic& symbolic = *m_symbolic;
  const int b = symbolic.block_size;
  auto a = impl::blocks_of(space, source, b);
  if (a.num_blocks() != symbolic.num_blocks)
    throw InputError(this->name() + ": numeric was given " + std::to_string(a.num_blocks()) +
                     " blocks, symbolic " + std::to_string(symbolic.num_blocks) + "; call symbolic again");
  const auto strong = impl::zero_weak_diagonal<Scalar, Space>(space, impl::BlockEntries<Scalar, Space>(a), b);
  if (strong.num_weak > 0) a.values = strong.values;
  const auto best = impl::ilu::try_shifts(
      m_options,
      [&](double alpha, impl::ilu::Outcome& outcome) {
        return impl::block_ilu::factor<Scalar, Space>(space, a, symbolic, alpha, outcome);
      },
      report);
  report.breakdowns = impl::ilu::breakdowns_of_rows(best.outcome.breakdowns);
  if (report.breakdowns.count > 0)
    report.breakdowns.action =
        std::to_string(report.breakdowns.count) + " block rows fell back to their diagonal entries";
  else
    report.breakdowns.action.clear();
  auto solves = std::make_shared<Solves>(symbolic.solves);
  solves->lower().numeric(space, best.factors.lower, best.factors.inverse, report);
  solves->upper().numeric(space, best.factors.upper, {}, report);
  report.notes.push_back("blocks of " + std::to_string(b) + " x " + std::to_string(b));
  report.notes.push_back(best.outcome.note);
  const double n = static_cast<double>(b) * b;
  const auto lower = static_cast<double>(symbolic.pattern.lower.nnz()),
             upper = static_cast<double>(symbolic.pattern.upper.nnz()),
             rows = static_cast<double>(a.num_block_rows);
  report.nnz = static_cast<std::int64_t>(n * (lower + upper + rows));
  report.bytes = report.nnz * static_cast<std::int64_t>(sizeof(Scalar)) + symbolic.pattern.bytes() +
                 symbolic.schedule.bytes() + solves->bytes();
  report.apply_flops = solves->flops();
  report.numeric_flops = 2 * n * b * best.tries * (lower * upper / rows + lower + upper + rows);
  report.pattern_kept = m_has_values;
  report.foreign_entries = impl::foreign_entries<Scalar, Space>(space, source);
  space.fence("prekond::block_ilu::numeric");  // temporaries are freed
  m_factors = std::make_shared<const Factors>(best.factors);
  m_solves = solves;
  m_shift = best.alpha;
  m_has_values = true;
}

template <class Scalar, class Space>
void BlockIlu0<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report& report) {
  report.pattern_kept = m_has_values;
  m_has_values = true;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> BlockIlu0<Scalar, Space>::make_workspace(const Space& space,
                                                                    int num_vectors) const {
  if (!m_solves) return Method::make_workspace(space, num_vectors);
  return m_solves->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void BlockIlu0<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                          MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  m_solves->apply(space, x, y, workspace);
}

template <class Scalar, class Space>
int BlockIlu0<Scalar, Space>::block_size() const {
  return m_symbolic ? m_symbolic->block_size : 0;
}

template <class Scalar, class Space>
const typename BlockIlu0<Scalar, Space>::Factors& BlockIlu0<Scalar, Space>::factors() const {
  if (!m_factors) throw std::logic_error(this->name() + ": factors before numeric");
  return *m_factors;
}

template <class Scalar, class Space>
typename BlockIlu0<Scalar, Space>::blocks_type BlockIlu0<Scalar, Space>::factor_lower() const {
  const Vector<Scalar, Space> values = factors().lower;
  const auto& pattern = m_symbolic->pattern.lower;
  return blocks_type(block_size(), BlockOrder::by_columns, pattern.num_rows, pattern.num_rows,
                     pattern.row_ptrs, pattern.col_idxs, values, m_symbolic->padding);
}

template <class Scalar, class Space>
typename BlockIlu0<Scalar, Space>::blocks_type BlockIlu0<Scalar, Space>::factor_upper() const {
  const Vector<Scalar, Space> values = factors().upper;
  const auto& pattern = m_symbolic->pattern.upper;
  return blocks_type(block_size(), BlockOrder::by_columns, pattern.num_rows, pattern.num_rows,
                     pattern.row_ptrs, pattern.col_idxs, values, m_symbolic->padding);
}

template <class Scalar, class Space>
Vector<Scalar, Space> BlockIlu0<Scalar, Space>::inverse_diagonal() const {
  return factors().inverse;
}

#define PREKOND_BLOCK_ILU0(Scalar, Space) template class BlockIlu0<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_BLOCK_ILU0)

}  // namespace prekond
