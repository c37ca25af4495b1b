// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/validate.hpp>
#include <prekond/pattern/permute.hpp>
#include <prekond/precond/linear_solver.hpp>
#include <prekond/precond/registry.hpp>

#include "core/instantiate.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace prekond {
namespace {

/// A numeric phase on a pattern that is kept, over a whole setup.
constexpr double part_of_numeric = 0.5;
/// A numeric phase that takes no more than this part of a solve is not worth leaving out.
constexpr double least_part = 0.1;
/// Matrices in a row that get a numeric phase after former values have failed, and have failed again and
/// again.
constexpr std::int64_t shortest_pause = 7, longest_pause = 64;

}  // namespace

template <class Scalar, class Space>
LinearSolver<Scalar, Space>::LinearSolver(const LinearSolverOptions& options) : m_options(options) {
  OptionFields::of(m_options).check(LinearSolverOptions::name);
  // Names and options are looked up now, and not when a matrix is there.
  if (m_options.preconditioner.name != AutomaticOptions::name)
    (void)configured(preconditioner_registry<Scalar, Space>(), m_options.preconditioner, "preconditioner");
  if (m_options.solver.name != AutomaticOptions::name)
    (void)create_solver<Scalar, Space>(m_options.solver.name, m_options.solver.options);
}

template <class Scalar, class Space>
void LinearSolver<Scalar, Space>::set_matrix(const Space& space, const MatrixSource<Scalar, Space>& a) {
  if (a.num_rows() != a.num_cols())
    throw InputError("a solver needs a square matrix, and this one has " + std::to_string(a.num_rows()) +
                     " rows and " + std::to_string(a.num_cols()) + " columns");
  validate<Scalar, Space>(space, a.csr(), true);
  Sorted sorted;
  if (!rows_ascend<Scalar, Space>(space, a.csr())) sorted = sorted_rows(space, a.csr());
  m_source.reset();  // nothing looks at the rows of before any more
  m_operator = nullptr;
  m_made = nullptr;
  m_chosen.reset();
  m_sorted = sorted;
  m_notes.clear();
  if (m_sorted.places.extent(0) > 0)
    m_notes.emplace_back("columns did not ascend in each row: the rows were sorted, in a copy");
  use(space, a);
}

/// \throws InputError for two entries in one place
template <class Scalar, class Space>
auto LinearSolver<Scalar, Space>::sorted_rows(const Space& space, const CsrView<Scalar, Space>& a) -> Sorted {
  const Ordering<Space> order = natural_ordering<Space>(space, a.num_rows);
  const PermutedPattern<Space> pattern = permute_pattern<Space>(space, a, order);
  const Sorted sorted = {{a.num_rows, a.num_cols, pattern.graph.row_ptrs, pattern.graph.col_idxs,
                          allocate<Vector<Scalar, Space>>(space, "prekond::linear_solver::values", a.nnz())},
                         pattern.source};
  if (rows_ascend<Scalar, Space>(space, sorted.rows)) return sorted;
  permute_values<Scalar, Space>(space, sorted.places, a.values, sorted.rows.values);
  try {
    validate<Scalar, Space>(space, sorted.rows);
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + " (in the sorted row)", error.row());
  }
  return sorted;
}

/// A with these values, in the caller's order of entries. Fences where rows were sorted.
template <class Scalar, class Space>
void LinearSolver<Scalar, Space>::use(const Space& space, const MatrixSource<Scalar, Space>& a) {
  if (m_sorted.places.extent(0) > 0) {
    m_source.emplace(a.with_rows(m_sorted.rows));
    permute_values<Scalar, Space>(space, m_sorted.places, a.csr().values, m_sorted.rows.values);
    space.fence("prekond::linear_solver::sorted");  // another instance may solve, and the caller's arrays go
  } else {
    m_source.emplace(a);
  }
  m_operator = std::make_unique<CsrOperator<Scalar, Space>>(m_source->csr());
}

template <class Scalar, class Space>
void LinearSolver<Scalar, Space>::set_values(const Space& space, const MatrixSource<Scalar, Space>& a) {
  if (!m_source) return set_matrix(space, a);
  if (a.num_rows() != m_source->num_rows() || a.num_cols() != a.num_rows() ||
      a.csr().nnz() != m_source->csr().nnz())
    throw InputError(
        "set_values takes a matrix of the last one's pattern, with " + std::to_string(m_source->num_rows()) +
        " rows and " + std::to_string(m_source->csr().nnz()) + " entries; this one has " +
        std::to_string(a.num_rows()) + " and " + std::to_string(a.csr().nnz()) + ": set_matrix takes it");
  if (m_options.reuse == SetupReuse::none) return set_matrix(space, a);
  use(space, a);
  m_is_current = false;
}

template <class Scalar, class Space>
const Candidate& LinearSolver<Scalar, Space>::chosen() const {
  if (!m_chosen) throw std::logic_error("LinearSolver: there was no solve yet");
  return *m_chosen;
}

template <class Scalar, class Space>
auto LinearSolver<Scalar, Space>::set_up(const Space& space, const Candidate& candidate) -> const Method* {
  m_made = nullptr;  // its memory is free before the next one needs as much
  m_made = configured(preconditioner_registry<Scalar, Space>(), candidate.preconditioner, "preconditioner")
               ->build();
  m_made->numeric(space, *m_source);
  ++m_setups;
  m_numeric_work = part_of_numeric * candidate.setup;
  return m_made.get();
}

/// The price of an M of former values is counted from here on.
template <class Scalar, class Space>
void LinearSolver<Scalar, Space>::begin_count(double iterations) {
  m_is_current = true;
  m_excess = 0;
  m_iterations = iterations;
}

template <class Scalar, class Space>
SolveResult LinearSolver<Scalar, Space>::solve_anew(const Space& space, VectorView<const Scalar, Space> b,
                                                    VectorView<Scalar, Space> x,
                                                    const StoppingOptions& stopping, const Monitor& monitor) {
  const auto& a = m_source->csr();
  AutoSolver<Scalar, Space> chooser(
      with_named(candidates_for(statistics<Scalar, Space>(space, a, false), !is_host_space<Space>,
                                is_complex<Scalar>, m_source->near_null_space().extent(1) > 0),
                 m_options.preconditioner, m_options.solver),
      a.num_rows, static_cast<std::int64_t>(a.nnz()),
      [this, space](const Candidate& candidate) { return set_up(space, candidate); }, m_options.choice);
  const SolveResult result = chooser.solve(space, *m_operator, b, x, stopping, monitor);
  m_chosen = chooser.chosen();
  m_pause = m_wait = 0;
  begin_count(m_chosen->iterations);
  if (!result.converged) m_made = nullptr;  // the next solve begins anew
  return result;
}

/// A numeric phase with the values that A has now. \returns whether it did not fail
template <class Scalar, class Space>
bool LinearSolver<Scalar, Space>::refresh(const Space& space) {
  try {
    m_made->numeric(space, *m_source);
  } catch (const InputError&) {
    return false;
  }
  ++m_setups;
  return true;
}

/// One solve with M, new or as it is. One with an M of former values ends where that has cost as much as two
/// numeric phases. \returns nothing where the numeric phase fails
template <class Scalar, class Space>
std::optional<SolveResult> LinearSolver<Scalar, Space>::attempt(const Space& space,
                                                                VectorView<const Scalar, Space> b,
                                                                VectorView<Scalar, Space> x,
                                                                StoppingOptions stopping,
                                                                const Monitor& monitor, bool refreshes) {
  if (refreshes && !refresh(space)) return std::nullopt;
  const bool is_former = !m_is_current && !refreshes;
  if (is_former && m_options.reuse == SetupReuse::automatic) {
    const double most = m_iterations + 1 + (2 * m_numeric_work - m_excess) / m_chosen->iteration;
    stopping.max_iters = std::min(stopping.max_iters, static_cast<std::int64_t>(std::min(most, 1e15)));
  }
  const auto solver = create_solver<Scalar, Space>(m_chosen->solver.name, m_chosen->solver.options);
  const SolveResult result = solver->solve(space, *m_operator, m_made.get(), b, x, stopping, monitor);
  const auto iterations = static_cast<double>(result.iterations);
  if (refreshes) begin_count(iterations);
  if (is_former) m_excess += std::max(0.0, iterations - m_iterations) * m_chosen->iteration;
  return result;
}

/// Does the next matrix get a numeric phase at once?
template <class Scalar, class Space>
bool LinearSolver<Scalar, Space>::is_due() {
  if (m_options.reuse == SetupReuse::values) return true;
  if (m_numeric_work < least_part * m_iterations * m_chosen->iteration) return true;
  if (m_wait == 0) return m_excess > m_numeric_work;
  --m_wait;
  return true;
}

template <class Scalar, class Space>
SolveResult LinearSolver<Scalar, Space>::solve(const Space& space, VectorView<const Scalar, Space> b,
                                               VectorView<Scalar, Space> x, const Monitor& monitor) {
  if (!m_source) throw std::logic_error("LinearSolver: solve before set_matrix");
  StoppingOptions stopping = m_options.stopping;
  SolveResult sum;
  const auto add = [&](SolveResult result) {
    stopping.max_iters = std::max<std::int64_t>(0, stopping.max_iters - result.iterations);
    result.iterations += sum.iterations;
    result.matrix_products += sum.matrix_products;
    result.seconds += sum.seconds;
    result.notes = m_notes;
    sum = result;
    return sum.converged || stopping.max_iters == 0;
  };
  if (!m_made) {
    add(solve_anew(space, b, x, stopping, monitor));
    return sum;
  }
  std::optional<SolveResult> result = attempt(space, b, x, stopping, monitor, !m_is_current && is_due());
  if (result && add(*result)) {
    if (!m_is_current) m_pause = 0;
    return sum;
  }
  if (result && !m_is_current) {
    m_pause = m_wait = std::min(2 * m_pause + shortest_pause, longest_pause);
    result = attempt(space, b, x, stopping, monitor, true);
    if (result && add(*result)) return sum;
  }
  add(solve_anew(space, b, x, stopping, monitor));
  return sum;
}

#define PREKOND_LINEAR_SOLVER(Scalar, Space) template class LinearSolver<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_LINEAR_SOLVER)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_LINEAR_SOLVER)

}  // namespace prekond
