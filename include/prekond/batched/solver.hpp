// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/formats.hpp>
#include <prekond/batched/options.hpp>
#include <prekond/batched/result.hpp>

#include <memory>

namespace prekond {

namespace impl::batched {
template <class Scalar, class Matrix>
class SolverImpl;
}

/// Tolerances of each system, which replace those of the options. Either may be empty.
template <class Space>
struct BatchedTolerances {
  VectorView<const double, Space> rtol, atol;  ///< num_systems, or 0
};

/// Solves A_s x_s = b_s for all systems s of a batch in one kernel by CG, BiCGSTAB, GMRES(m), IDR(s) or
/// Richardson's iteration. `Matrix` is one of the formats (BatchedCsr, BatchedEll, BatchedDense,
/// BatchedBanded); its values may be of lower precision than `Scalar`.
///
/// Formula: the recurrences, the stopping test and the restarts (once after a breakdown of BiCGSTAB, GMRES or
/// IDR, and where the true residual is above the tolerance that the recursive one has met) are those of Cg,
/// Bicgstab, Gmres and Idr (preconditioned on the right) and Richardson for one system. The iterations are
/// the same but for rounding, which IDR amplifies. Each system ends by itself; one that fails does not change
/// the bits of the others, nor does the number of threads.
///
/// Lanes: on a host one thread a system; on a device a vector of 8 or 32 lanes, or a team, by the rows, or
/// with ilu0, ic0 and par_ilu by the mean number of rows of a level.
///
/// Memory: the pattern's analysis, with `stored` the preconditioners' values, and a workspace, allocated
/// once, for each system that is worked on. Scratch memory takes the vectors of products, then the others,
/// then the preconditioner's values, up to the option `scratch`; the workspace takes the rest (nothing on a
/// device where all fits). The layout does not change the results.
///
/// Breakdown: the reasons are the immediate ones; a singular matrix is not looked for (`breakdown_singular`).
/// Batched systems are not rescaled by powers of two (`scale_batch` does that beforehand): a system whose
/// ||b||^2 is out of the range of normal numbers of its type ends as `out_of_range`, and is not changed.
/// Without success x is the best that a cycle or restart began or ended with: never worse than before.
template <class Scalar, class Matrix>
class BatchedSolver {
 public:
  using Space = typename Matrix::execution_space;

  /// \throws OptionError for options out of their ranges, or that exclude each other
  explicit BatchedSolver(const BatchedOptions& options = {});
  ~BatchedSolver();
  BatchedSolver(BatchedSolver&&) noexcept;
  BatchedSolver& operator=(BatchedSolver&&) noexcept;

  /// Analyses the pattern for the preconditioner, and allocates. Fences.
  /// \throws InputError for sizes that do not fit, and with ic0 for a pattern that is not symmetric
  void symbolic(const Space& space, const Matrix& a);

  /// Makes the preconditioner of each system with `stored`; does nothing otherwise. Later solves use this
  /// preconditioner for any values of their matrix.
  /// \pre symbolic
  void numeric(const Space& space, const Matrix& a);

  /// Solves from the initial x, n x num_systems. Allocates only a `result` of other sizes, and does not
  /// fence. \pre symbolic (and numeric, with `stored`) for a matrix of this pattern and this number of
  /// systems \throws InputError for sizes that do not fit
  void solve(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
             MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result,
             const BatchedTolerances<Space>& tolerances = {}) const;

  const BatchedOptions& options() const;

 private:
  std::unique_ptr<impl::batched::SolverImpl<Scalar, Matrix>> m_impl;
};

/// Analyses the pattern, makes the preconditioner and solves.
template <class Scalar, class Matrix>
void batched_solve(const typename Matrix::execution_space& space, const Matrix& a,
                   MultiVectorView<const Scalar, typename Matrix::execution_space> b,
                   MultiVectorView<Scalar, typename Matrix::execution_space> x, const BatchedOptions& options,
                   BatchedResult<typename Matrix::execution_space>& result) {
  BatchedSolver<Scalar, Matrix> solver(options);
  solver.symbolic(space, a);
  solver.numeric(space, a);
  solver.solve(space, a, b, x, result);
  space.fence("prekond::batched_solve");  // before the workspace is freed
}

}  // namespace prekond
