// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/banded.hpp>
#include <prekond/batched/options.hpp>
#include <prekond/batched/result.hpp>

#include <memory>

namespace prekond {

namespace impl::batched {
template <class Scalar, class Space>
class DirectImpl;
}

enum class BatchedPivoting { partial, none };

/// The options of a direct solve of band matrices.
struct BatchedDirectOptions {
  static constexpr const char* name = "batched_direct";

  BatchedPivoting pivoting = BatchedPivoting::partial;
  double rtol = 1e-3;
  bool stored = false;
  BatchedLanes lanes = BatchedLanes::automatic;
  int scratch = 40000;
  std::int64_t workspace_budget = 256000000;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("pivoting", pivoting, {{"partial", BatchedPivoting::partial}, {"none", BatchedPivoting::none}},
          "Row exchanges: for the largest pivot of a column, or none. Choose none only for matrices that are "
          "stable "
          "without. Default: partial");
    visit("rtol", rtol, 0.0, 1e300,
          "Largest relative residual of a system that counts as solved. Default: 1e-3");
    visit("stored", stored,
          "Storage of the factors between solves, which otherwise are made in each. Choose it for several "
          "solves with one "
          "matrix. Default: false");
    visit("lanes", lanes,
          {{"auto", BatchedLanes::automatic},
           {"few", BatchedLanes::few},
           {"vector", BatchedLanes::vector},
           {"team", BatchedLanes::team}},
          "Lanes of a device for one system: 8, 32, or a team of up to 256. Default: auto, by the band");
    visit("scratch", scratch, 0, 200000,
          "Limit in bytes of a team's fast memory for x and the factors. Lower it for more teams at a time. "
          "Default: 40000");
    visit("workspace_budget", workspace_budget, std::int64_t(1000000), std::int64_t(1) << 40,
          "Limit in bytes of the workspace for factors that do not fit in fast memory; one system is always "
          "worked on. "
          "Default: 256000000");
    visit.formerly("spill_budget");
  }
};

/// Solves A_s x_s = b_s for all systems s of a batch of band matrices in one kernel: P A = L U with partial
/// pivoting by columns, as LAPACK's gbsv, then both substitutions and the residual. The matrix is not
/// changed. The pivot is the largest by |re| + |im|, and the first of equal ones. Neither the memory that
/// holds the numbers nor the number of threads changes the results.
///
/// Lanes: on a host one thread a system; on a device a vector of 8 or 32 lanes, or a team.
///
/// Cost: about 2 n lower (lower + upper) operations a system with exchanges, and 2 n (2 lower + upper) for
/// its solution; two barriers a column of the factorisation, and up to three a column of a solution.
///
/// Memory: x, the pivots and the factors (2 lower + upper + 1 numbers a column, lower + upper + 1 without
/// pivoting) of each system that is worked on, in scratch memory up to the option `scratch`, the rest in a
/// workspace; with `stored` the factors of all systems instead.
///
/// Breakdown, in the result's `reasons`:
///   rtol                the relative residual, computed from x, is at most the option `rtol`
///   zero_rhs            b = 0: x = 0, and the matrix is not read
///   breakdown_singular  a pivot is zero, or so small that its reciprocal is not finite; or the residual is
///   larger than
///                       `rtol` allows: A is singular to its precision, or without pivoting the factors have
///                       grown. The residual is infinite where there is no x.
///   nan                 a number of A, b, the factors or x is not finite
/// x is written with rtol and zero_rhs only. `iterations` and `replaced_pivots` are 0. A system that fails
/// does not change the bits of the others.
///
/// Source: Anderson et al., LAPACK Users' Guide, 3rd edition, 1999, sections 2.4 and 5.3.3.
template <class Scalar, class Space>
class BatchedDirect {
 public:
  using Matrix = BatchedBanded<Scalar, Space>;

  /// \throws OptionError for options out of their ranges
  explicit BatchedDirect(const BatchedDirectOptions& options = {});
  ~BatchedDirect();
  BatchedDirect(BatchedDirect&&) noexcept;
  BatchedDirect& operator=(BatchedDirect&&) noexcept;

  /// Allocates for matrices of these sizes. Fences.
  /// \throws InputError for sizes that do not fit
  void symbolic(const Space& space, const Matrix& a);

  /// Factors each system with `stored`; does nothing otherwise. Later solves use these factors, and their own
  /// matrix only for the residual. \pre symbolic
  void numeric(const Space& space, const Matrix& a);

  /// Solves; b and x are n x num_systems and do not overlap. Allocates only a `result` of other sizes, and
  /// does not fence. \pre symbolic (and numeric, with `stored`) for a matrix of these sizes \throws
  /// InputError for sizes that do not fit
  void solve(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
             MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result) const;

  /// Solves only the systems that have not converged according to `result`, of a BatchedSolver for example,
  /// and replaces their part of it. Does otherwise as `solve`. \throws InputError also for a result of
  /// another number of systems
  void solve_failed(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
                    MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result) const;

  const BatchedDirectOptions& options() const;

 private:
  std::unique_ptr<impl::batched::DirectImpl<Scalar, Space>> m_impl;
};

}  // namespace prekond
