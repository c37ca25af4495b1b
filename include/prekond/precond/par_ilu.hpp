// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/incomplete_factorization.hpp>

#include <algorithm>

namespace prekond {

/// Parameters of ParILU and ParIC. The registry also knows it as `par_ic`, with kind = ic.
struct ParIluOptions : PatternOptions {
  static constexpr const char* name = "par_ilu";
  static constexpr const char* summary =
      "ParILU: incomplete L D U on the pattern of ILU(k), by sweeps over all entries at once";
  static constexpr const char* paper = "Chow, Patel, SIAM J. Sci. Comput. 37 (2015)";

  IncompleteKind kind = IncompleteKind::ilu;  ///< `ilu` or `ic`
  int sweeps = 5;

  Properties properties() const { return PatternOptions::properties(kind); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("kind", kind, incomplete_kinds(),
          "kind of the factors: ilu of a general matrix, ic of a symmetric positive definite one; default "
          "ilu, of par_ic ic");
    describe_level(visit, "0");
    visit("sweeps", sweeps, 0, 1000000,
          "sweeps over all entries; raise it where the residual in the report's notes is large; as many as "
          "there are levels of rows are exact; default 5");
    describe_rest(visit);
  }
};

/// ParILU and ParIC: the factors of ILU(k) or IC(k), nearly, by sweeps over their entries, all at the same
/// time. They have the parallelism of the entries where Ilu and Ic have that of the levels of rows.
///
/// Formula: of kind `ilu` the equations (A - L U)_ij = 0 on the pattern S of ILU(k), with D (I + U) as U, are
/// solved each for its own unknown,
///
///   l_ij = (a_ij - sum_{k < j} l_ik u_kj) / u_jj,   u_ij = a_ij - sum_{k < i} l_ik u_kj;
///
/// of kind `ic` those of M = C C^T, which is stored as L D L^T,
///
///   c_ij = (a_ij - sum_{k < j} c_ik c_jk) / c_jj,   c_ii^2 = a_ii - sum_{k < i} c_ik^2.
///
/// A is scaled as by IncompleteFactorization. The sweeps begin with A's triangles, those of L (of C) divided
/// by the diagonal (by its root). A sweep takes the entries of L of a row from what the sweep before left,
/// and with them those of U and the pivot of the row. So the rows of the m-th level of L's pattern are exact
/// after m sweeps, and all factors are those of IncompleteFactorization, to rounding, after one sweep less
/// than there are levels. In practice a few sweeps suffice, and those beyond twice the number of rows are
/// left out. The factors have the same bits for any number of threads. Divergence: the report's notes have
/// ||(A - L U)_S||_F / ||A_S||_F before the first sweep and after the last. Where it grew, or is not finite,
/// the sweeps are given up and M is that of A's triangles, the symmetric Gauss-Seidel method; rows with
/// entries above 1 / epsilon then fall back to their diagonal. Cost: for each entry (i, j) and sweep a merge
/// of row i of L and column j of U, or binary searches of the shorter one in one eight times longer; two
/// sweeps more for the residuals. A row is worked on by a lane group, an entry by a lane. Levels are found
/// only where `solve.method` needs them. Memory: that of IncompleteFactorization; U's columns where the
/// pattern is not symmetric, 8 bytes an entry, and 4 bytes an entry of U; in numeric two copies of the
/// factors. Breakdown: a pivot that PivotPolicy refuses, and an entry that is not finite, keep their value of
/// the sweep before. A row whose pivot was bad in the last sweep loses all of L and U except the diagonal,
/// and is counted. Shifts are tried as by IncompleteFactorization. \throws InputError for a pattern that
/// takes more than `memory_budget`; of kind `ic` for a diagonal entry that is missing or not positive, and a
/// pattern that is not symmetric Source: Chow, Patel, SIAM J. Sci. Comput. 37 (2015); on GPUs Chow, Anzt,
/// Dongarra, ISC 2015.
template <class Scalar, class Space>
class ParIlu : public IncompleteFactorization<Scalar, Space> {
 public:
  using Base = IncompleteFactorization<Scalar, Space>;
  using options_type = ParIluOptions;
  using typename Base::matrix_view;

  explicit ParIlu(const ParIluOptions& options = {});

  std::string name() const override { return m_options.kind == IncompleteKind::ic ? "par_ic" : "par_ilu"; }
  Properties properties() const override { return m_options.properties(); }
  const ParIluOptions& options() const { return m_options; }

 protected:
  void schedule_step(const Space& space, typename Base::Symbolic& symbolic) const override;
  typename Base::Factors factor_step(const Space& space, const matrix_view& a,
                                     const typename Base::Symbolic& symbolic, double alpha, Report& report,
                                     typename Base::Outcome& outcome) const override;
  double work(std::int64_t num_rows) const override {
    return std::min(double(m_options.sweeps), 2 * double(num_rows));
  }
  double working_copies() const override { return 2; }

 private:
  ParIluOptions m_options;
};

}  // namespace prekond
