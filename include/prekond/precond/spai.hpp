// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

namespace prekond {

/// Parameters of the static SPAI.
struct SpaiOptions : StaticSetupOptions {
  static constexpr const char* name = "spai";
  static constexpr const char* summary =
      "static sparse approximate inverse of a general matrix, min ||A M - I|| in the Frobenius norm on a "
      "given pattern";
  static constexpr const char* paper =
      "Chu, Wang, Chen, Gao, BenchCouncil Trans. Benchmarks, Standards and Evaluations 3 (2023) 100087";

  int power = 1;
  double prefilter = 0;
  Side side = Side::right;

  SpaiOptions() {
    setup_scalar = Precision::double_precision;
    workspace_budget = std::int64_t(1) << 30;
  }

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("power", power, 0, 1000,
          "k, the power of I + |A|, A filtered, that is the pattern; a higher power makes a stronger and "
          "longer "
          "inverse");
    visit(
        "prefilter", prefilter, 0.0, 1.0,
        "tau, the size below which an entry does not count for the pattern, |a_ij| <= tau sqrt|a_ii a_jj|; a "
        "larger tau makes powers affordable");
    visit("side", side, side_choices(),
          "norm that M minimises: right is ||A M - I||, by columns of M, left is ||M A - I||, by rows");
    StaticSetupOptions::describe(visit);
    visit.formerly("column_bytes");
  }
};

/// A sparse M ~ A^-1 on a pattern that is given in advance, with the least ||A M - I||_F (side = right) or
/// ||M A - I||_F (side = left): the static SPAI, for a general matrix.
///
/// Formula: the columns m_k are independent: min ||A m_k - e_k||_2 over the entries in J_k, the pattern of
/// column k. With I_k, the rows in which A has entries in the columns J_k, it is the problem min ||A(I_k,
/// J_k) m - e_k(I_k)||_2 with n1_k = |I_k| rows and n2_k = |J_k| unknowns. It is solved by a Householder QR,
/// or for more than 511 unknowns by its normal equations, with a correction, where these are as accurate. The
/// left inverse is the transpose of the right one of A^T, and is found by rows.
///
/// Pattern: that of (I + |S|)^k, where S is A without the entries that are small compared with the diagonal
/// (tau), or a graph of M that the user gives (`set_pattern`), with the diagonal added.
///
/// Parallelism: on a CUDA device a column of up to 511 entries is streamed: the rows of its local matrix,
/// which is never stored, go block by block through registers into R (StreamQr). Columns that break down, and
/// the host, have a stored local matrix (PanelQr), whose I a hash table finds. Longer columns share one
/// sparse matrix A^T A of which their Gram matrices are parts (PanelCholesky). Columns are binned by n1 and
/// n2, none is padded to the largest; long ones run at the same time as the others. On the host a thread
/// works on a column; the few columns of more than some hundred entries are solved one after another, each by
/// all threads.
///
/// Cost: 2 n1 n2^2 - 2 n2^3 / 3 operations for a column, n2^3 / 3 by normal equations, and the rows of A^T in
/// J read once (streamed) or three times. The listener is told before solves that may take more than a
/// minute.
///
/// Memory: besides M A^T and M^T (right), four ints and a byte for a column, a double for a row, the slab,
/// and with columns of more than 511 entries A^T A in the columns of A that they have. (Where that takes more
/// than `memory_budget`, they are solved by QR.)
///
/// Breakdown: a local matrix counts as rank-deficient where the part of a column that is orthogonal to the
/// columns before it is not above 16 eps times the column's norm (more than 16 eps for columns of thousands
/// of rows). The column of M is then the solution of the least norm, where the columns of the local matrix
/// are within 2^20 of each other in size, else that of the scaled unknowns. Where rounding does not tell the
/// rank, or `memory_budget` has no room for that solution, it is one without the entries that depend on
/// others. A column of the local matrix that is not finite is left out, and its entry of M is zero. A column
/// of M with a zero solution (e_k is orthogonal to all that J_k reaches, as where row k of A is empty there),
/// or one that is not finite, becomes 1 / a_kk on the diagonal, or 1 where a_kk is 0, missing or not finite;
/// with setup_scalar = single it is solved again in double first. The report counts both; its first pivot is
/// the orthogonal part of the column, relative to its norm. A numeric phase that fails leaves the inverse as
/// it was.
///
/// Ranks: columns >= num_rows (those of other ranks) are skipped; a matrix without rows has an empty inverse.
///
/// `is_nonsymmetric()`: conjugate gradients refuse it, for symmetric A too.
///
/// \throws InputError for a pattern of more than `memory_budget` bytes, and for a column whose local system
/// takes more
///
/// Source: Chu et al. (2023), whose strategy `sorted` it has; Grote, Huckle, SIAM J. Sci. Comput. 18
/// (1997); Chow, SIAM J. Sci. Comput. 21 (2000).
template <class Scalar, class Space>
class Spai : public StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>> {
 public:
  using Base = StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>;
  using options_type = SpaiOptions;
  using typename Base::matrix_source;
  using typename Base::matrix_type;
  using typename Base::matrix_view;

  /// \throws OptionError for `Reuse::extend`: this pattern does not grow
  explicit Spai(const SpaiOptions& options = {})
      : Base(SpaiOptions::name, options.reuse, options.prefilter > 0), m_options(resolved(options)) {}

  std::string name() const override { return SpaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  /// A column of M (for the left inverse a row) depends on A's columns (rows) of its pattern, whose entries
  /// lead one step further.
  RowReach reach() const override {
    const bool right = m_options.side == Side::right;
    return {.levels = m_options.power + 1, .both_ways = right, .by_columns = right};
  }

  const SpaiOptions& options() const { return m_options; }

 private:
  /// The pattern of M.
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override;
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override;

  SpaiOptions m_options;
};

}  // namespace prekond
