// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/core/registry.hpp>
#include <prekond/core/stopping.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace prekond {

/// Is called with the iteration (0 before the first) and ||r||; it ends the solve by lowering its max_iters.
using Monitor = std::function<void(std::int64_t, double)>;

/// A function that is called with the column (from 0), its iteration and its ||r||.
using ColumnMonitor = std::function<void(int, std::int64_t, double)>;

/// The problem A X = B with the initial X. The references have to outlive the solve.
template <class Scalar, class Space>
struct LinearProblem {
  const Space& space;
  const Operator<Scalar, Space>& a;
  const Preconditioner<Scalar, Space>* preconditioner;  ///< may be null
  MultiVectorView<const Scalar, Space> b;
  MultiVectorView<Scalar, Space> x;
  const StoppingOptions& stopping;
  const ColumnMonitor& monitor;
  const Reducer<Scalar, Space>& reducer;
};

/// A Krylov method, which knows the operator and the preconditioner by the interfaces of core only.
template <class Scalar, class Space>
class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string name() const = 0;

  /// Solves A x = b from the initial x. `preconditioner` may be null. `monitor` sees every iteration.
  ///
  /// Convergence is ||b - A x|| <= max(rtol ||b||, atol) of the true residual. The true residual is computed
  /// when the recursive one has converged; where it is larger the method goes on from it, with half the
  /// target, as long as it falls by a tenth each time, and ends as `stagnation` otherwise. It is added up as
  /// if in twice the precision where A is a CompensatedOperator, as all matrices are: a success is one of the
  /// exact residual.
  ///
  /// Without success x has the least residual among the initial x, those that a cycle or a restart began
  /// with, and the last one: it is never worse than the initial one.
  ///
  /// Entries may have any size: where ||b||, a product or an application would make inner products under- or
  /// overflow, the method works on A, b, x and M^-1 times powers of two, which are exact, and undoes them. x
  /// has the result only at the end.
  ///
  /// \throws InputError where the sizes do not fit, or where the method needs a symmetric preconditioner and
  /// this one is known not to be \throws OptionError for stopping options out of their ranges
  SolveResult solve(const Space& space, const Operator<Scalar, Space>& a,
                    const Preconditioner<Scalar, Space>* preconditioner, VectorView<const Scalar, Space> b,
                    VectorView<Scalar, Space> x, const StoppingOptions& stopping, const Monitor& monitor = {},
                    const Reducer<Scalar, Space>& reducer = {}) const;

  /// Solves A X = B for the k columns of B, X of n x k, each as in a solve of its own, with one result a
  /// column.
  ///
  /// The columns advance together: an iteration has one product with A on up to k vectors, one application of
  /// the preconditioner on up to k vectors, and the number of messages of one column, each for all columns. A
  /// column that has ended (converged, or broken down) no longer changes. Columns that have to start again
  /// (after a breakdown, or where the true residual is not the recursive one) do so when all the others have
  /// ended. `seconds` is the time of the whole solve.
  ///
  /// \throws as the solve of one column
  std::vector<SolveResult> solve(const Space& space, const Operator<Scalar, Space>& a,
                                 const Preconditioner<Scalar, Space>* preconditioner,
                                 MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> x,
                                 const StoppingOptions& stopping, const ColumnMonitor& monitor = {},
                                 const Reducer<Scalar, Space>& reducer = {}) const;

  /// Whether the preconditioner may be another operator for another vector. `solve` refuses such a
  /// preconditioner otherwise.
  virtual bool is_flexible() const { return false; }

 protected:
  /// The method itself. The caller has checked the sizes and that there is a column, and fills `seconds`.
  virtual std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const = 0;
};

/// All solvers, in the order of `prekond list`.
template <class Scalar, class Space>
const Registry<Solver<Scalar, Space>>& solver_registry();

/// A solver by name, with options by name.
/// \throws OptionError for an unknown name or option
template <class Scalar, class Space>
std::unique_ptr<Solver<Scalar, Space>> create_solver(const std::string& name, const OptionMap& options = {}) {
  return create(solver_registry<Scalar, Space>(), "solver", name, options);
}

}  // namespace prekond
