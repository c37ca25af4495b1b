// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/solver.hpp>
#include <prekond/core/error.hpp>
#include "core/concurrency.hpp"

#include "batched/check.hpp"
#include "batched/launch.hpp"
#include "batched/methods/list.hpp"
#include "batched/preconditioners/list.hpp"
#include "batched/results.hpp"
#include "core/instantiate.hpp"
#include "core/team_scratch.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace prekond {
namespace impl::batched {

/// The options, the analysis of the pattern, and the memory of a BatchedSolver.
template <class Scalar, class Matrix>
class SolverImpl {
 public:
  using Space = typename Matrix::execution_space;

  explicit SolverImpl(const BatchedOptions& given) : options(resolved(given)) {
    visit_preconditioner<Scalar>(options.precond, [&]<class Precond>() {
      visit_method(options.solver, [&]<class Method>() {
        if (Method::needs_symmetric && !Precond::symmetric)
          throw OptionError(
              "batched: cg needs a symmetric preconditioner: none, jacobi, block_jacobi, ic0 or fsai; choose "
              "one of these, or another solver");
      });
    });
  }

  void symbolic(const Space& space, const Matrix& a) {
    check_sizes(a);
    ready = false;
    analysis = {};
    analysis.num_rows = a.num_rows;
    analysis.num_entries = a.num_entries();
    visit_preconditioner<Scalar>(options.precond, [&]<class Precond>() {
      if (Precond::parts != 0) take_pattern(space, a);
      analyse(space, analysis, Precond::parts, options);
      const Precond preconditioner = Precond::make(analysis, options);
      visit_method(options.solver, [&]<class Method>() { configure<Method>(space, a, preconditioner); });
    });
    ready = true;
    has_preconditioners = false;
  }

  BatchedOptions options;
  bool ready = false, has_preconditioners = false;
  std::int64_t num_systems = 0;
  Analysis<Space> analysis;
  LaunchConfig solve_config, generate_config;
  Workspace<Scalar, Space> workspace;
  StoredPreconditioners<Scalar, Space> stored;

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
  static ScratchFit scratch_fit_of(std::int64_t num_rows) {
    if constexpr (requires { Method::rows_in_scratch; })
      if (num_rows <= Method::rows_in_scratch) return ScratchFit::fewer_systems_if_all_fits;
    return ScratchFit::any;
  }

  template <class Method, class Precond>
  void configure(const Space& space, const Matrix& a, const Precond& preconditioner) {
    num_systems = a.num_systems();
    const bool keeps = options.stored && !Precond::is_identity;
    const int vectors = Method::num_vectors(Precond::is_pointwise, Precond::is_identity);
    // Bytes for the sums of a team and for alignment
    constexpr int reserve =
        16 + SystemTeamLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type>::bytes;
    const std::int64_t most_scratch = Kokkos::TeamPolicy<Space>::scratch_size_max(0) - reserve;
    auto pieces = method_pieces<Method>(Precond::is_pointwise, Precond::is_identity, a.num_rows, options);
    pieces.push_back(a.num_rows);  // x
    LaunchSizes sizes{a.num_rows,
                      num_systems,
                      std::move(pieces),
                      1u << vectors,
                      sizeof(Scalar),
                      is_host_space<Space>,
                      concurrency(space),
                      most_scratch,
                      scratch_fit_of<Method>(a.num_rows),
                      Precond::parts & local_triangles ? 0 : analysis.lower.num_levels()};
    const int groups = make_launch_config(options, sizes).groups();
    sizes.pieces.push_back(keeps ? 0 : preconditioner.values_length());
    std::int64_t work = keeps ? 0 : preconditioner.work_length(groups);
    if constexpr (requires { preconditioner.apply_length(); })
      work = std::max(work, preconditioner.apply_length());
    sizes.pieces.push_back(work);
    sizes.copied = vectors;
    solve_config = make_launch_config(options, sizes);
    sizes.pieces = {preconditioner.work_length(groups)};
    sizes.elsewhere = 0;
    sizes.copied = -1;
    generate_config = make_launch_config(options, sizes);
    allocate_workspace(space, keeps ? preconditioner.values_length() : -1);
    if (Method::kind == BatchedMethod::idr) allocate_shadow_vectors(space, sizes);
  }

  void allocate_shadow_vectors(const Space& space, LaunchSizes sizes) {
    const int s = MethodSettings::of(options, sizes.num_rows).shadow_dimension;
    sizes.num_systems = 2;
    sizes.pieces = {s};
    Workspace<Scalar, Space> own;
    const LaunchConfig config = make_launch_config(options, sizes);
    own.spilled = allocate<Vector<Scalar, Space>>(
        space, "prekond::batched::shadow_work",
        config.num_teams() * config.systems_per_team * config.layout.spilled_length);
    own.next = workspace.next;
    own.shadow = workspace.shadow =
        allocate<Vector<Scalar, Space>>(space, "prekond::batched::shadow", 2 * s * sizes.num_rows);
    make_shadow_vectors(space, config, own, sizes.num_rows, s);
    space.fence("prekond::batched::make_shadow_vectors");
  }

  void allocate_workspace(const Space& space, std::int64_t stored_length) {
    const auto spilled = [](const LaunchConfig& config) {
      return config.num_teams() * config.systems_per_team * config.layout.spilled_length;
    };
    const bool keeps = stored_length >= 0;
    const std::int64_t slices = std::max(spilled(solve_config), keeps ? spilled(generate_config) : 0);
    workspace.spilled = allocate<Vector<Scalar, Space>>(space, "prekond::batched::spilled", slices);
    workspace.next = allocate<Vector<int, Space>>(space, "prekond::batched::next", 1);
    if (keeps) {
      stored.values = allocate<MultiVector<Scalar, Space>>(space, "prekond::batched::preconditioners",
                                                           stored_length, num_systems);
      stored.replaced = allocate<Vector<int, Space>>(space, "prekond::batched::replaced", num_systems);
    }
    const std::int64_t scratch =
        std::max(solve_config.scratch_bytes, keeps ? generate_config.scratch_bytes : 0) + 16;
    reserve_team_scratch(space, static_cast<std::size_t>(scratch));
    space.fence("prekond::batched::symbolic");
  }
};

}  // namespace impl::batched

template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>::BatchedSolver(const BatchedOptions& options)
    : m_impl(std::make_unique<impl::batched::SolverImpl<Scalar, Matrix>>(options)) {}
template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>::~BatchedSolver() = default;
template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>::BatchedSolver(BatchedSolver&&) noexcept = default;
template <class Scalar, class Matrix>
BatchedSolver<Scalar, Matrix>& BatchedSolver<Scalar, Matrix>::operator=(BatchedSolver&&) noexcept = default;

template <class Scalar, class Matrix>
const BatchedOptions& BatchedSolver<Scalar, Matrix>::options() const {
  return m_impl->options;
}

template <class Scalar, class Matrix>
void BatchedSolver<Scalar, Matrix>::symbolic(const Space& space, const Matrix& a) {
  m_impl->symbolic(space, a);
}

template <class Scalar, class Matrix>
void BatchedSolver<Scalar, Matrix>::numeric(const Space& space, const Matrix& a) {
  auto& own = *m_impl;
  impl::batched::check_against(own.ready, own.analysis, own.num_systems, a);
  if (!own.options.stored) return;
  impl::batched::generate_preconditioners<Scalar, Matrix>(
      space, {a, own.options, own.analysis, own.generate_config, own.workspace, own.stored});
  own.has_preconditioners = true;
}

template <class Scalar, class Matrix>
void BatchedSolver<Scalar, Matrix>::solve(const Space& space, const Matrix& a,
                                          MultiVectorView<const Scalar, Space> b,
                                          MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result,
                                          const BatchedTolerances<Space>& tolerances) const {
  using namespace impl::batched;
  const auto& own = *m_impl;
  check_against(own.ready, own.analysis, own.num_systems, a);
  check_vectors(a.num_rows, own.num_systems, b, x, tolerances);
  if (own.options.stored && !own.has_preconditioners)
    throw InputError("batched: with the option stored, call numeric before solve");
  make_room(space, result, own.num_systems, own.options.history);
  const StoppingOptions& stopping = own.options.stopping;
  constexpr std::int64_t most = std::numeric_limits<int>::max() - 1;
  const StoppingCriteria criteria{stopping.rtol, stopping.atol,
                                  tolerances.rtol.extent(0) > 0 ? tolerances.rtol.data() : nullptr,
                                  tolerances.atol.extent(0) > 0 ? tolerances.atol.data() : nullptr,
                                  static_cast<int>(std::min(stopping.max_iters, most))};
  const SolveArguments<Scalar, Matrix> arguments{
      {a, own.options, own.analysis, own.solve_config, own.workspace, own.stored},
      b,
      x,
      criteria,
      log_of(result)};
  visit_method(own.options.solver,
               [&]<class Method>() { solve_by<Method, Scalar, Matrix>(space, arguments); });
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
