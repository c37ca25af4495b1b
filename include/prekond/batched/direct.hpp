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

/// How a batch of band matrices is solved by LU.
struct BatchedDirectOptions {
  static constexpr const char* name = "batched_direct";

  BatchedPivoting pivoting = BatchedPivoting::partial;
  double rtol = 1e-3;
  bool stored = false;
  BatchedLanes lanes = BatchedLanes::automatic;
  int scratch = 40000;
  std::int64_t spill_budget = 256000000;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("pivoting", pivoting, {{"partial", BatchedPivoting::partial}, {"none", BatchedPivoting::none}},
          "rows are exchanged for the largest pivot of a column, or never");
    visit("rtol", rtol, 0.0, 1e300, "the largest relative residual of a system that counts as solved");
    visit("stored", stored, "keep the factors between solves, instead of making them in each");
    visit("lanes", lanes,
          {{"auto", BatchedLanes::automatic},
           {"few", BatchedLanes::few},
           {"vector", BatchedLanes::vector},
           {"team", BatchedLanes::team}},
          "of a device, for one system: 8, 32, or a team of up to 256");
    visit("scratch", scratch, 0, 200000, "bytes of fast memory of a team, at most, for x and the factors");
    visit("spill_budget", spill_budget, std::int64_t(1000000), std::int64_t(1) << 40,
          "bytes for what does not fit in it; at least one system is on its way");
  }
};

/// Solves A_s x_s = b_s for all systems s of a batch of band matrices, in one kernel: P A = L U with partial
/// pivoting by columns, as LAPACK's gbsv (Anderson et al., LAPACK Users' Guide, 3rd edition, 1999, sections
/// 2.4 and 5.3.3), then both substitutions and the residual. The matrix is not changed.
///
/// A column of the factors has 2 lower + upper + 1 numbers (lower + upper + 1 without pivoting). A system
/// costs about 2 n lower (lower + upper) operations with exchanges, and 2 n (2 lower + upper) for its
/// solution. On a host a thread has a system, on a device a vector of 8 lanes or 32, or a team: two
/// barriers a column of the factorisation, and up to three a column of a solution. Largest is by |re| + |im|,
/// of equal ones the first. Where the numbers stand does not change the results, nor does the number of
/// threads.
///
/// Memory: x, the pivots and the factors of a system on its way, in scratch memory as far as the option
/// `scratch` goes, the rest in a workspace; with `stored` the factors of all systems instead.
///
/// How a system ended, in the result's `reasons`:
///   rtol                the relative residual, computed from x, is at most the option `rtol`
///   zero_rhs            b = 0: x = 0, and the matrix is not looked at
///   breakdown_singular  a pivot is zero, or so small that its reciprocal is not finite; or the residual is
///                       larger than `rtol` allows: A is singular to its precision, or without pivoting the
///                       factors have grown. The residual is infinite where there is no x.
///   nan                 a number of A, b, the factors or x is not finite
/// x is written with rtol and zero_rhs only; else it stays as it was. `iterations` and `replaced_pivots` are
/// 0. A system that fails leaves the others alone: their results have the same bits without it.
template <class Scalar, class Space>
class BatchedDirect {
 public:
  using Matrix = BatchedBanded<Scalar, Space>;

  /// \throws OptionError for options out of their ranges
  explicit BatchedDirect(const BatchedDirectOptions& options = {});
  ~BatchedDirect();
  BatchedDirect(BatchedDirect&&) noexcept;
  BatchedDirect& operator=(BatchedDirect&&) noexcept;

  /// Allocates for matrices of these sizes. Fences. \throws InputError for sizes that do not fit
  void symbolic(const Space& space, const Matrix& a);

  /// With `stored`: factors each system. Later solves use its factors, and their own matrix for the residual
  /// alone. Does nothing else. \pre symbolic
  void numeric(const Space& space, const Matrix& a);

  /// Solves; b and x are n x num_systems and do not overlap. Does not allocate, but for `result` where it is
  /// of other sizes, and does not fence. \pre symbolic (and numeric, with `stored`) for a matrix of these
  /// sizes. \throws InputError for sizes that do not fit
  void solve(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
             MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result) const;

  /// Solves those systems that have not converged by a result, of BatchedSolver say, and puts its own end in
  /// the place of theirs; the others are left alone. As `solve` in all else. \throws InputError also for a
  /// result of another number of systems
  void solve_failed(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
                    MultiVectorView<Scalar, Space> x, BatchedResult<Space>& result) const;

  const BatchedDirectOptions& options() const;

 private:
  std::unique_ptr<impl::batched::DirectImpl<Scalar, Space>> m_impl;
};

}  // namespace prekond
