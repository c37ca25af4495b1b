// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_factorization.hpp>

#include <algorithm>
#include <string>

namespace prekond {

/// How a sweep takes the entries that an entry needs: as the sweep before left them, or as they are, while
/// others are written.
enum class SweepMode { synchronous, asynchronous };

/// What factorisations by sweeps let choose.
struct FixedPointOptions : FactorOptions {
  int level = 0;
  int sweeps = 5;
  SweepMode mode = SweepMode::synchronous;
  bool warm_start = false;
  Reuse reuse = Reuse::pattern;
  std::int64_t memory_budget = std::int64_t(16) << 30;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("level", level, 0, 1000,
          "k: the most level of fill that an entry of the pattern may have; 0: A's own pattern");
    visit("sweeps", sweeps, 0, 1000000, "over all entries; as many as there are levels of rows are exact");
    visit("mode", mode, {{"synchronous", SweepMode::synchronous}, {"asynchronous", SweepMode::asynchronous}},
          "what a sweep reads: what the sweep before left, so that the factors have the same bits always, or "
          "what is there at the time, in half the memory");
    visit("warm_start", warm_start, "begin a further numeric phase with the factors of the last one");
    describe_shift(visit);
    describe_solve(visit);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: factors on the pattern that there is, or finds it anew");
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "bytes that the pattern of the factors may take; the setup refuses to take more");
    visit.formerly("pattern_bytes");
  }
};

/// M = (I + L) D (I + U) on the pattern S of ILU(k), by sweeps over its entries, all at the same time, in
/// place of an order of the rows. Of kind `ilu`, with D (I + U) as U, the equations (A - L U)_ij = 0 on S are
/// solved each for its own unknown,
///
///   l_ij = (a_ij - sum_{k < j} l_ik u_kj) / u_jj,   u_ij = a_ij - sum_{k < i} l_ik u_kj;
///
/// of kind `ic` M = C C^T,
///
///   c_ij = (a_ij - sum_{k < j} c_ik c_jk) / c_jj,   c_ii^2 = a_ii - sum_{k < i} c_ik^2,
///
/// which is stored as L D L^T. A is scaled as IncompleteFactorization does. A sweep begins with A's
/// triangles, those of L (of C) divided by the diagonal (by its root), or, with `warm_start`, with the
/// factors of the last numeric phase. It takes the entries of L of a row from what the sweep before left, and
/// with them those of U and the pivot of the row. So the rows of the m-th level of L's pattern are exact
/// after m sweeps, and the factors those of IncompleteFactorization after as many as there are levels less
/// one, to rounding; in practice a few sweeps do, and those beyond twice the number of rows are
/// left out.
///
/// `synchronous` sweeps keep two copies of the factors, and have the same bits whatever the threads.
/// `asynchronous` ones keep one: an entry is read while others are written. They converge too, often faster;
/// two runs need not have the same bits.
///
/// The report's notes have ||(A - L U)_S||_F / ||A_S||_F before the first sweep and after the last. Where it
/// grew, or is not finite, the sweeps are given up and M is that of A's triangles, the symmetric Gauss-Seidel
/// method; rows with entries above 1 / epsilon then fall back to their diagonal.
///
/// Cost of a sweep: for each entry (i, j) a merge of row i of L and column j of U, or binary searches of the
/// shorter one in one eight times longer; two sweeps more for the residuals. A row is worked on by a vector
/// of lanes, an entry a lane. Levels are found only where `solve.method` needs them. Memory: that of
/// IncompleteFactorization, U's columns where the pattern is not symmetric, 8 bytes an entry, and 4 bytes an
/// entry of U; in numeric one or two copies of the factors; with `warm_start` the factors stay.
///
/// Breakdown: a pivot that is not above the root of the precision's epsilon (in size for `ilu`, with sign for
/// `ic`), and an entry that is not finite, stay what they were before the sweep. A row whose pivot was bad in
/// the last sweep loses all of L and U but the diagonal, and is counted. Shifts as IncompleteFactorization's.
///
/// Source: Chow, Patel, SIAM J. Sci. Comput. 37 (2015); on GPUs Chow, Anzt, Dongarra, ISC 2015.
template <class Scalar, class Space>
class FixedPointFactorization : public IncompleteFactorization<Scalar, Space> {
 public:
  using Base = IncompleteFactorization<Scalar, Space>;
  using typename Base::matrix_view;

 protected:
  /// \throws OptionError for `Reuse::extend`
  FixedPointFactorization(const std::string& name, IncompleteKind kind, const FixedPointOptions& options);

  void schedule_step(const Space& space, typename Base::Symbolic& symbolic) const override;
  typename Base::Factors factor_step(const Space& space, const matrix_view& a,
                                     const typename Base::Symbolic& symbolic, double alpha, Report& report,
                                     typename Base::Outcome& outcome) const override;
  double work(std::int64_t num_rows) const override {
    return std::min(double(m_sweeps.sweeps), 2 * double(num_rows));
  }

 private:
  FixedPointOptions m_sweeps;
};

}  // namespace prekond
