// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

#include <string>

namespace prekond {

/// An inverse on a pattern that is given in advance: what the static FSAI of symmetric and of general
/// matrices, the static SPAI and the ISAI have in common. The pattern is the algorithm's own, made by
/// `symbolic` where it needs no values and else by the first `numeric`, or one of the user's. Later numeric
/// phases keep it (`Reuse::pattern`) or make it anew. `Inverse` is what is applied: a FactoredInverse or an
/// ExplicitInverse.
template <class Scalar, class Space, class Inverse = FactoredInverse<Scalar, Space>>
class StaticPatternInverse : public Inverse {
 public:
  using typename Inverse::matrix_source;
  using typename Inverse::matrix_type;
  using typename Inverse::matrix_view;

  /// A pattern of the user's, instead of the power, with the diagonal added. Of a factored inverse its lower
  /// triangle is that of G (united in blocks, where `block_size` asks for them), or of G_L and of G_U^T. It
  /// is copied. Takes effect with the next `symbolic`.
  ///
  /// \pre columns ascend
  ///
  /// \throws InputError where it is not square, or a column is out of range
  virtual void set_pattern(const Space& space, const CsrGraphView<Space>& pattern);

 protected:
  /// \throws OptionError for `Reuse::extend`: this pattern does not grow
  StaticPatternInverse(const std::string& name, Reuse reuse, bool needs_values);

  /// Makes the pattern where that needs no values: with tau = 0, or a pattern of the user's.
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;

  /// The pattern for A: the user's where there is one, else the algorithm's own.
  virtual CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) = 0;
  /// The inverse on `numeric_pattern`, which the algorithm gives to store_factor or store_inverse once
  /// nothing can fail any more.
  virtual void find_inverse(const Space& space, const matrix_source& source, Report& report) = 0;

  bool has_user_pattern() const { return m_user_pattern.row_ptrs.extent(0) > 0; }
  /// \throws InputError where it has another number of rows than `a`
  CsrGraph<Space> user_pattern(const matrix_view& a) const;

  /// Does numeric keep the pattern of the inverse that there is?
  bool keeps_pattern() const { return m_reuse == Reuse::pattern && this->has_inverse(); }
  /// The pattern that numeric works on: the inverse's, where it is kept, that of symbolic, or a new one.
  CsrGraph<Space> numeric_pattern(const Space& space, const matrix_source& source);

 private:
  Reuse m_reuse;
  bool m_needs_values;
  CsrGraph<Space> m_given_pattern;  ///< by set_pattern, for the next symbolic
  CsrGraph<Space> m_user_pattern;   ///< of the last symbolic
  CsrGraph<Space> m_pattern;        ///< from symbolic, until the first numeric
};

}  // namespace prekond
