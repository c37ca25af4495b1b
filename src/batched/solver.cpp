// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/solver.hpp>
#include <prekond/core/error.hpp>
#include "core/concurrency.hpp"

#include "batched/check.hpp"
#include "batched/inverses/list.hpp"
#include "batched/methods/list.hpp"
#include "batched/results.hpp"
#include "batched/tasks.hpp"
#include "core/instantiate.hpp"
#include "core/team_scratch.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace prekond {
namespace impl::batched {

/// Options, what was found of the pattern, and memory.
template <class Scalar, class Matrix>
class Solution {
 public:
  using Space = typename Matrix::execution_space;

  explicit Solution(const BatchedOptions& given) : options(resolved(given)) {
    bool known = false;
    visit_inverse<Scalar, Matrix>(options.precond, [&]<class Inverse>() {
      known = true;
      visit_method(options.solver, [&]<class Method>() {
        if (Method::needs_symmetric && !Inverse::symmetric)
          throw OptionError(
              "batched: cg needs a symmetric preconditioner: none, jacobi, block_jacobi, ic0 or fsai; the "
              "others go "
              "with the other solvers");
      });
    });
    if (!known)
      throw OptionError(std::string("batched: this preconditioner is there for the format csr, not for ") +
                        Matrix::name + "; with it there are none, jacobi and ilu0");
  }

  void symbolic(const Space& space, const Matrix& a) {
    check_sizes(a);
    ready = false;
    analysis = {};
    analysis.num_rows = a.num_rows;
    analysis.num_entries = a.num_entries();
    visit_inverse<Scalar, Matrix>(options.precond, [&]<class Inverse>() {
      if (Inverse::parts != 0) take_pattern(space, a);
      analyse(space, analysis, Inverse::parts, options);
      const Inverse inverse = Inverse::make(analysis, options);
      visit_method(options.solver, [&]<class Method>() { plan<Method>(space, a, inverse); });
    });
    ready = true;
    has_inverses = false;
  }

  BatchedOptions options;
  bool ready = false, has_inverses = false;
  std::int64_t num_systems = 0;
  Analysis<Space> analysis;
  Plan solve_plan, generate_plan;
  Workspace<Scalar, Space> workspace;
  StoredInverses<Scalar, Space> stored;

 private:
  void take_pattern(const Space& space, const Matrix& a) {
    if constexpr (std::is_same_v<decltype(csr_pattern(space, a)), CsrGraph<Space>>) {
      analysis.owned = csr_pattern(space, a);
      analysis.pattern = analysis.owned;
    } else {
      analysis.pattern = csr_pattern(space, a);
    }
  }

  template <class Method>
  static InScratch in_scratch_of(std::int64_t num_rows) {
    if constexpr (requires { Method::rows_in_scratch; })
      if (num_rows <= Method::rows_in_scratch) return InScratch::all_or_as_it_comes;
    return InScratch::as_it_comes;
  }

  template <class Method, class Inverse>
  void plan(const Space& space, const Matrix& a, const Inverse& inverse) {
    num_systems = a.num_systems();
    const bool keeps = options.stored && !Inverse::is_identity;
    const int vectors = Method::num_vectors(Inverse::is_pointwise, Inverse::is_identity);
    // Without what sums of a team take, and what an alignment does
    constexpr int reserve =
        16 + SystemTeamLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type>::bytes;
    const std::int64_t most_scratch = Kokkos::TeamPolicy<Space>::scratch_size_max(0) - reserve;
    auto pieces = method_pieces<Method>(Inverse::is_pointwise, Inverse::is_identity, a.num_rows, options);
    pieces.push_back(a.num_rows);  // x
    PlanSizes sizes{a.num_rows,
                    num_systems,
                    std::move(pieces),
                    1u << vectors,
                    sizeof(Scalar),
                    is_host_space<Space>,
                    concurrency(space),
                    most_scratch,
                    in_scratch_of<Method>(a.num_rows),
                    Inverse::parts & local_triangles ? 0 : analysis.lower.num_levels()};
    const int groups = make_plan(options, sizes).groups();
    sizes.pieces.push_back(keeps ? 0 : inverse.values_length());
    std::int64_t work = keeps ? 0 : inverse.work_length(groups);
    if constexpr (requires { inverse.apply_length(); }) work = std::max(work, inverse.apply_length());
    sizes.pieces.push_back(work);
    solve_plan = make_plan(options, sizes);
    sizes.pieces = {inverse.work_length(groups)};
    sizes.elsewhere = 0;
    generate_plan = make_plan(options, sizes);
    allocate_workspace(space, keeps ? inverse.values_length() : -1);
    if (Method::kind == BatchedMethod::idr) make_shadow_vectors(space, sizes);
  }

  void make_shadow_vectors(const Space& space, PlanSizes sizes) {
    const int s = MethodSettings::of(options, sizes.num_rows).shadow;
    sizes.num_systems = 2;
    sizes.pieces = {s};
    Workspace<Scalar, Space> own;
    const Plan plan = make_plan(options, sizes);
    own.spilled = allocate<Vector<Scalar, Space>>(
        space, "prekond::batched::shadow_work",
        plan.num_teams() * plan.systems_per_team * plan.placement.spilled_length);
    own.next = workspace.next;
    own.shadow = workspace.shadow =
        allocate<Vector<Scalar, Space>>(space, "prekond::batched::shadow", 2 * s * sizes.num_rows);
    make_shadow(space, plan, own, sizes.num_rows, s);
    space.fence("prekond::batched::make_shadow");
  }

  void allocate_workspace(const Space& space, std::int64_t stored_length) {
    const auto spilled = [](const Plan& plan) {
      return plan.num_teams() * plan.systems_per_team * plan.placement.spilled_length;
    };
    const bool keeps = stored_length >= 0;
    const std::int64_t slices = std::max(spilled(solve_plan), keeps ? spilled(generate_plan) : 0);
    workspace.spilled = allocate<Vector<Scalar, Space>>(space, "prekond::batched::spilled", slices);
    workspace.next = allocate<Vector<int, Space>>(space, "prekond::batched::next", 1);
    if (keeps) {
      stored.values = allocate<MultiVector<Scalar, Space>>(space, "prekond::batched::inverses", stored_length,
                                                           num_systems);
      stored.replaced = allocate<Vector<int, Space>>(space, "prekond::batched::replaced", num_systems);
    }
    const std::int64_t scratch =
        std::max(solve_plan.scratch_bytes, keeps ? generate_plan.scratch_bytes : 0) + 16;
    reserve_team_scratch(space, static_cast<std::size_t>(scratch));
    space.fence("prekond::batched::symbolic");
  }
};

}  // namespace impl::batched

template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>::BatchedSolver(const BatchedOptions& options)
    : m_solution(std::make_unique<impl::batched::Solution<Scalar, Matrix>>(options)) {}
template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>::~BatchedSolver() = default;
template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>::BatchedSolver(BatchedSolver&&) noexcept = default;
template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>& BatchedSolver<Scalar, Matrix>::operator=(BatchedSolver&&) noexcept = default;

template <class Scalar, class Matrix>
const BatchedOptions& BatchedSolver<Scalar, Matrix>::options() const {
  return m_solution->options;
}

template <class Scalar, class Matrix>
void BatchedSolver<Scalar, Matrix>::symbolic(const Space& space, const Matrix& a) {
  m_solution->symbolic(space, a);
}

template <class Scalar, class Matrix>
void BatchedSolver<Scalar, Matrix>::numeric(const Space& space, const Matrix& a) {
  auto& own = *m_solution;
  impl::batched::check_against(own.ready, own.analysis, own.num_systems, a);
  if (!own.options.stored) return;
  impl::batched::generate_inverses<Scalar, Matrix>(
      space, {a, own.options, own.analysis, own.generate_plan, own.workspace, own.stored});
  own.has_inverses = true;
}

template <class Scalar, class Matrix>
void BatchedSolver<Scalar, Matrix>::solve(const Space& space, const Matrix& a,
                                          MultiVectorView<const Scalar, Space> b,
                                          MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result,
                                          const BatchedTolerances<Space>& tolerances) const {
  using namespace impl::batched;
  const auto& own = *m_solution;
  check_against(own.ready, own.analysis, own.num_systems, a);
  check_vectors(a.num_rows, own.num_systems, b, x, tolerances);
  if (own.options.stored && !own.has_inverses)
    throw InputError("batched: with the option stored, numeric comes before solve");
  make_room(space, result, own.num_systems, own.options.history);
  const StoppingOptions& stopping = own.options.stopping;
  constexpr std::int64_t most = std::numeric_limits<int>::max() - 1;
  const StopRule rule{stopping.rtol, stopping.atol,
                      tolerances.rtol.extent(0) > 0 ? tolerances.rtol.data() : nullptr,
                      tolerances.atol.extent(0) > 0 ? tolerances.atol.data() : nullptr,
                      static_cast<int>(std::min(stopping.max_iters, most))};
  const SolveTask<Scalar, Matrix> task{
      a, own.options, own.analysis, own.solve_plan, own.workspace, own.stored, b, x, rule, log_of(result)};
  visit_method(own.options.solver, [&]<class Method>() { solve_by<Method, Scalar, Matrix>(space, task); });
}

#define PREKOND_BATCHED_SOLVER(Scalar, Space)                        \
  template class BatchedSolver<Scalar, BatchedCsr<Scalar, Space>>;   \
  template class BatchedSolver<Scalar, BatchedEll<Scalar, Space>>;   \
  template class BatchedSolver<Scalar, BatchedDense<Scalar, Space>>; \
  template class BatchedSolver<Scalar, BatchedBanded<Scalar, Space>>;
PREKOND_INSTANTIATE(PREKOND_BATCHED_SOLVER)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_BATCHED_SOLVER)

#define PREKOND_BATCHED_MIXED_SOLVER(Scalar, Space) \
  template class BatchedSolver<Scalar, BatchedCsr<float, Space>>;
PREKOND_INSTANTIATE_DOUBLE(PREKOND_BATCHED_MIXED_SOLVER, double)

}  // namespace prekond
