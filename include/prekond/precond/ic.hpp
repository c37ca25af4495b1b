// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of IC(k) and of both MIC(k). The registry also knows it as `ick`, with level 1, and as
/// `mic_gustafsson` and `mic_robert`, with these kinds.
struct IcOptions : PatternOptions {
  static constexpr const char* name = "ic0";
  static constexpr const char* summary =
      "IC(k), by default IC(0): incomplete L D L^T of a symmetric positive definite matrix";
  static constexpr const char* paper =
      "Meijerink, van der Vorst, Math. Comp. 31 (1977); modified: Gustafsson, BIT 18 (1978), and Robert, "
      "Linear Algebra Appl. 48 (1982)";

  IncompleteKind kind = IncompleteKind::ic;  ///< not `ilu`

  Properties properties() const { return PatternOptions::properties(kind); }

  template <class Visitor>
  void describe(Visitor& visit) {
    describe_level(visit, "0, of ick 1");
    visit(
        "kind", kind,
        {{"ic", IncompleteKind::ic},
         {"mic_gustafsson", IncompleteKind::mic_gustafsson},
         {"mic_robert", IncompleteKind::mic_robert}},
        "kind of the factors: ic drops entries off the pattern; mic_gustafsson adds them to the diagonal, so "
        "that row sums are kept; choose it for M-matrices of elliptic problems on meshes; mic_robert adds "
        "their sizes to the diagonals of row and column, so that no pivot of a definite matrix breaks down; "
        "default ic, of the aliases their own name");
    describe_rest(visit);
  }
};

/// IC(k) of a symmetric positive definite matrix, in the order of its rows; symmetric positive definite.
///
/// Formula: M = (I + L) D (I + L)^T with M_ij = a_ij on the pattern of the entries whose level of fill is at
/// most k (see fill_pattern), from A's lower triangle. An update f of an entry (i, j) off the pattern is
/// dropped by kind `ic`. Kind `mic_gustafsson` adds it to the diagonal of row i, so that M e = A e for e =
/// (1, ..., 1)^T. Kind `mic_robert` adds |f| to the diagonals of rows i and j, in the scale in which A's
/// diagonal is 1.
///
/// Existence: with `mic_robert`, M = A + E, where each dropped f has added to E, in rows and columns i and j,
/// the matrix [|f|, -f; -f, |f|], whose eigenvalues are 0 and 2 |f|. So E is positive semidefinite. When step
/// k begins, all that the steps before it have added is in a matrix A + E_k with E_k >= 0, of which they were
/// an exact elimination, because what they add comes to rows of later steps only. A Schur complement does not
/// shrink when its matrix grows, so the k-th pivot is at least that of the complete factorisation of A:
/// positive, and not below the least eigenvalue of the scaled A. It is refused only if rounding is of its
/// size, see PivotPolicy.
///
/// Convergence: for M-matrices of elliptic problems on meshes of width h the condition of M^-1 A is O(1 /
/// h^2), with `mic_gustafsson` O(1 / h). Cost, memory: see IncompleteFactorization; both MIC work on rows of
/// U too, as ILU does. Breakdown: see IncompleteFactorization; without dominance pivots break down more often
/// with `mic_gustafsson`. \throws InputError for a diagonal entry that is missing or not positive, a pattern
/// that is not symmetric, or one that takes more than `memory_budget` Source: Meijerink, van der Vorst, Math.
/// Comp. 31 (1977); Gustafsson, BIT 18 (1978); Robert, Linear Algebra Appl. 48 (1982); Jennings, Malik, J.
/// Inst. Math. Appl. 20 (1977); Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 10.3.3
/// and 10.3.5.
template <class Scalar, class Space>
class Ic : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = IcOptions;
  explicit Ic(const IcOptions& options = {});

  std::string name() const override {
    if (m_options.kind == IncompleteKind::mic_gustafsson) return "mic_gustafsson";
    if (m_options.kind == IncompleteKind::mic_robert) return "mic_robert";
    return m_options.level == 0 ? "ic0" : "ick";
  }
  Properties properties() const override { return m_options.properties(); }
  const IcOptions& options() const { return m_options; }

 private:
  IcOptions m_options;
};

}  // namespace prekond
