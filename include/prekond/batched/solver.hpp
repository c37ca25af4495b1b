// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/banded.hpp>
#include <prekond/batched/csr.hpp>
#include <prekond/batched/dense.hpp>
#include <prekond/batched/ell.hpp>
#include <prekond/batched/options.hpp>
#include <prekond/batched/result.hpp>

#include <memory>

namespace prekond {

namespace impl::batched {
template <class Scalar, class Matrix>
class SolverImpl;
}

/// Tolerances of each system, in place of those of the options. Either may be empty.
template <class Space>
struct BatchedTolerances {
  VectorView<const double, Space> rtol, atol;  ///< num_systems, or 0
};

/// Solves A_s x_s = b_s for all systems s of a batch, in one kernel from the first residual to the last, by
/// CG, BiCGSTAB, GMRES(m), IDR(s) or Richardson's iteration. `Matrix` is one of the formats (BatchedCsr,
/// BatchedEll, BatchedDense, BatchedBanded); its values may be of lower precision than `Scalar`.
///
/// The recurrences, the stopping test, the restarts (once after a breakdown of BiCGSTAB, GMRES or IDR, and
/// where the true residual is not below the tolerance that the recursive one has met) are those of Cg,
/// Bicgstab, Gmres and Idr (right preconditioned) and Richardson for one system, so that the iterations are
/// the same, but for rounding, which IDR amplifies. Each system ends on its own; one that fails leaves the
/// others alone: their results have the same bits without it, and for any number of threads.
///
/// Other than these solvers, the batched ones do not rescale systems by powers of two: a system whose ||b||^2
/// is out of the range of normal numbers of its type ends as `out_of_range`, and is not changed. Reasons are
/// the immediate ones: a singular matrix is not looked for (`breakdown_singular`). x is finite at the end
/// where it and the matrix were, or the reason is `nan`.
///
/// Work is shared thus. On a host a thread has a system, on a device a vector of 8 lanes or 32, or a team: by
/// the rows, or with ilu0, ic0 and par_ilu by the rows of a level on average. The vectors of a system stand
/// in fast scratch memory, those of products first, then the others, then the preconditioner's values, as far
/// as the option `scratch` goes; the rest goes to a workspace that is allocated once, a slice for each system
/// on its way. Which they are does not change the results.
///
/// Memory: the workspace (nothing on a device where all fits), the pattern's analysis, with `stored` the
/// preconditioner's values.
template <class Scalar, class Matrix>
class BatchedSolver {
 public:
  using Space = typename Matrix::execution_space;

  /// \throws OptionError for options out of their ranges, or that do not go together
  explicit BatchedSolver(const BatchedOptions& options = {});
  ~BatchedSolver();
  BatchedSolver(BatchedSolver&&) noexcept;
  BatchedSolver& operator=(BatchedSolver&&) noexcept;

  /// Analyses the pattern for the preconditioner, and allocates. Fences.
  /// \throws InputError for sizes that do not fit, and with ic0 for a pattern that is not symmetric
  void symbolic(const Space& space, const Matrix& a);

  /// With `stored`: makes the preconditioner of each system from the values. Later solves use it, whatever
  /// their matrix's values. Does nothing else. \pre symbolic
  void numeric(const Space& space, const Matrix& a);

  /// Solves from the x given, n x num_systems. Does not allocate, but for `result` where it is of other
  /// sizes, and does not fence. \pre symbolic (and numeric, with `stored`) for a matrix of this pattern and
  /// this number of systems. \throws InputError for sizes that do not fit
  void solve(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
             MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result,
             const BatchedTolerances<Space>& tolerances = {}) const;

  const BatchedOptions& options() const;

 private:
  std::unique_ptr<impl::batched::SolverImpl<Scalar, Matrix>> m_impl;
};

/// All at once: analyses the pattern, and solves.
template <class Scalar, class Matrix>
void batched_solve(const typename Matrix::execution_space& space, const Matrix& a,
                   MultiVectorView<const Scalar, typename Matrix::execution_space> b,
                   MultiVectorView<Scalar, typename Matrix::execution_space> x, const BatchedOptions& options,
                   BatchedResult<typename Matrix::execution_space>& result) {
  BatchedSolver<Scalar, Matrix> solver(options);
  solver.symbolic(space, a);
  solver.numeric(space, a);
  solver.solve(space, a, b, x, result);
  space.fence("prekond::batched_solve");  // the workspace goes
}

}  // namespace prekond
