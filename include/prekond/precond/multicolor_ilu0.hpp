// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/incomplete_kind.hpp>
#include <prekond/precond/impl/multicolor.hpp>

namespace prekond {

/// Parameters of the multicolour ILU(0).
struct MulticolorIlu0Options : MulticolorOptions {
  static constexpr const char* name = "multicolor_ilu0";
  static constexpr const char* summary = "ILU(0) or IC(0) of the matrix in the order of its colours";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013)";

  IncompleteKind kind = IncompleteKind::ilu;

  Properties properties() const {
    if (kind == IncompleteKind::ic) return {.needs_spd = true, .symmetry = Symmetry::symmetric};
    return {.symmetry = Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "kind", kind, {{"ilu", IncompleteKind::ilu}, {"ic", IncompleteKind::ic}},
        "factorisation: ilu of a general matrix, or ic of a symmetric positive definite one, which cg needs");
    MulticolorOptions::describe(visit);
  }
};

/// M = (I + L) D (I + U) on the pattern of A in the order of its colours, without fill:
///
///   (M)_ij = a_ij for all (i, j) of the pattern,
///
/// for kind `ic` with U = L^T, where L is made only from A's lower triangle in that order. A is scaled to the
/// unit diagonal (see Multicolor), which changes nothing but rounding.
///
/// Rows of a colour depend on those of earlier colours: numeric is one launch a colour, a lane group a
/// row. An application is one sweep over the colours by L and one back by U, the kernel of MulticolorGs.
/// Fewer colours are more parallel, and drop more fill than the natural order does: more iterations.
///
/// Cost: numeric takes, for each entry (i, k) of L the row k of U (of L, for `ic`), with a binary search in
/// row i; an application takes 2 nnz operations. Memory: see Multicolor, and a value a row more.
///
/// Breakdown: a row whose pivot is not above the root of the precision's epsilon times its diagonal entry (in
/// size for `ilu`, with sign for `ic`), or with entries that are not finite, loses all of L and U but the
/// diagonal, |a_ii|. The report counts such rows, and has the first one's pivot relative to the diagonal
/// entry.
///
/// \throws InputError for a diagonal entry that is missing or not positive, with kind ic
///
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.3; Saad, Iterative Methods for Sparse Linear
/// Systems, 2nd ed., section 10.3.
template <class Scalar, class Space>
class MulticolorIlu0 : public Multicolor<Scalar, Space> {
 public:
  using options_type = MulticolorIlu0Options;
  explicit MulticolorIlu0(const MulticolorIlu0Options& options = {});

  std::string name() const override { return MulticolorIlu0Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const MulticolorIlu0Options& options() const { return m_options; }

 protected:
  using typename Multicolor<Scalar, Space>::matrix_view;
  using typename Multicolor<Scalar, Space>::Pattern;
  using typename Multicolor<Scalar, Space>::Factors;
  Factors find_factors(const Space& space, const matrix_view& a, const Pattern& pattern,
                       Report& report) const override;
  std::vector<impl::sweeps::HalfSweep> half_sweeps() const override;

 private:
  MulticolorIlu0Options m_options;
};

}  // namespace prekond
