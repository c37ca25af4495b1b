// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

#include <string>

namespace prekond {

/// An inverse on a pattern that is given in advance: the part that the static FSAI of symmetric and of
/// general matrices, the static SPAI and the ISAI share. The pattern is the algorithm's own, made by
/// `symbolic` where it needs no values and else by the first `numeric`, or the user gives it. Later numeric
/// phases keep it
/// (`Reuse::pattern`) or make it again. `Inverse` is the base that is applied: a FactoredInverse or an
/// ExplicitInverse.
template <class Scalar, class Space, class Inverse = FactoredInverse<Scalar, Space>>
class StaticPatternInverse : public Inverse {
 public:
  using typename Inverse::matrix_source;
  using typename Inverse::matrix_type;
  using typename Inverse::matrix_view;

  /// Gives a pattern in place of the power; the diagonal is added. In a factored inverse its lower triangle
  /// is the pattern of G (united in blocks, where `block_size` asks for them), or of G_L and of G_U^T. It is
  /// copied. It takes effect with the next `symbolic`.
  ///
  /// \pre columns ascend
  ///
  /// \throws InputError where it is not square, or a column is out of range
  virtual void set_pattern(const Space& space, const CsrGraphView<Space>& pattern);

 protected:
  /// \throws OptionError for `Reuse::extend`: this pattern does not grow
  StaticPatternInverse(const std::string& name, Reuse reuse, bool needs_values);

  /// Makes the pattern where that needs no values: with tau = 0, or a pattern that the user gave.
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  std::int64_t symbolic_bytes() const override { return filters_inverse() ? m_pattern.bytes() : 0; }

  /// The pattern for A: the user's where there is one, else the algorithm's own.
  virtual CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) = 0;
  /// The inverse on `numeric_pattern`, which the algorithm gives to store_factor or store_inverse once
  /// nothing can fail any more.
  virtual void find_inverse(const Space& space, const matrix_source& source, Report& report) = 0;

  /// Whether entries of the inverse are dropped in the end, so that the pattern is not the inverse's.
  virtual bool filters_inverse() const { return false; }

  bool has_user_pattern() const { return m_user_pattern.row_ptrs.extent(0) > 0; }
  /// \throws InputError where it has another number of rows than `a`
  CsrGraph<Space> user_pattern(const matrix_view& a) const;

  /// Whether numeric keeps the pattern of the present inverse.
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
