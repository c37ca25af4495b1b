// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/side.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

namespace prekond {

/// How many lanes of a GPU a column gets.
enum class Strategy { automatic, constant, sorted };

/// How a column's least-squares problem is solved.
enum class LeastSquares { qr, normal };

/// Parameters of the static SPAI.
struct SpaiOptions {
  static constexpr const char* name = "spai";
  static constexpr const char* summary =
      "static sparse approximate inverse of a general matrix, min ||A M - I|| in the Frobenius norm on a "
      "given pattern";
  static constexpr const char* paper =
      "Chu, Wang, Chen, Gao, BenchCouncil Trans. Benchmarks, Standards and Evaluations 3 (2023) 100087";

  int power = 1;
  double prefilter = 0;
  Side side = Side::right;
  LeastSquares solve = LeastSquares::qr;
  Precision setup_scalar = Precision::double_precision;
  Strategy strategy = Strategy::automatic;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  std::int64_t pattern_bytes = std::int64_t(16) << 30;
  std::int64_t slab_bytes = std::int64_t(1) << 30;
  std::int64_t column_bytes = std::int64_t(4) << 30;

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("power", power, 0, 1000,
          "k: the pattern is that of (I + |A|)^k, A without the entries that are filtered");
    visit("prefilter", prefilter, 0.0, 1.0,
          "tau: entries with |a_ij| <= tau sqrt|a_ii a_jj| do not count for the pattern");
    visit("side", side, side_choices(),
          "right: min ||A M - I||, by columns of M; left: min ||M A - I||, by rows");
    visit("solve", solve, {{"qr", LeastSquares::qr}, {"normal", LeastSquares::normal}},
          "how a column is solved: by QR, or by the normal equations, which square its condition number, and "
          "by QR where they are not safe");
    visit("setup_scalar", setup_scalar, precision_choices(),
          "precision of the local systems; a column that breaks down in single is solved in double");
    visit("strategy", strategy,
          {{"auto", Strategy::automatic}, {"constant", Strategy::constant}, {"sorted", Strategy::sorted}},
          "lanes of a column on a GPU: constant, as many for each as the longest takes; sorted, for each by "
          "its "
          "own length; auto: sorted where columns are streamed, else by the paper's rule");
    visit("storage", storage, storage_choices(),
          "precision in which M is kept and applied; full: the matrix's");
    describe_storage_format(visit, storage_format);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: solves on the inverse's pattern, or finds it anew");
    visit("pattern_bytes", pattern_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the power's pattern may take");
    visit("slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "budget of the working slab of the setup; as many columns are solved at a time as it has room for, "
          "one at least");
    visit("column_bytes", column_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the local system of one column may take");
  }
};

/// A sparse M ~ A^-1 on a pattern that is given in advance, with the least ||A M - I||_F (side = right) or
/// ||M A - I||_F (side = left): the static SPAI, for a general matrix.
///
/// The columns m_k are independent: min ||A m_k - e_k||_2 over the entries in J_k, the pattern of column k.
/// With I_k, the rows in which A has entries in the columns J_k, it is the problem min ||A(I_k, J_k) m -
/// e_k(I_k)||_2 with n1_k = |I_k| rows and n2_k = |J_k| unknowns, which is solved by a Householder QR, or,
/// where that is asked for and no pivot is below 2^-14 (2^-4 in single), by its normal equations. The left
/// inverse is the transpose of the right one of A^T: its rows are found so.
///
/// The pattern is that of (I + |S|)^k, S = A without the entries that are small beside the diagonal (tau), or
/// a graph of the user's (`set_pattern`, of M, with its diagonal added).
///
/// On a CUDA device a column of up to 511 entries is streamed: the rows of its local matrix, which is never
/// stored, go a block after the other through registers into R (StreamQr). Longer ones, those that break
/// down, the normal equations and the host have a stored local matrix (PanelQr), whose I a hash table finds.
/// Columns are binned by n1 and n2, none is padded to the largest; long ones run beside the others. On the
/// host a column has a thread; the few that have more than some hundred entries are solved one after another,
/// each by all threads. Where the solves may take more than a minute, the listener is told before them. Lanes
/// of a column: `strategy`, and what it chose is in the report's notes.
///
/// Cost: 2 n1 n2^2 - 2 n2^3 / 3 operations for a column, and the rows of A^T in J read once (streamed) or
/// three times; n1 n2^2 + n2^3 / 3 by the normal equations. Memory beyond M: A^T and M^T (right), four ints a
/// column, a byte a column, a double a row, the slab. A local system may take `column_bytes`.
///
/// Breakdown: a local matrix is taken for rank-deficient where what the columns before leave of one of its
/// columns is not above 16 eps times its norm (more than 16 eps for columns of thousands of rows). Its column
/// of M is the solution of the least norm, where the local matrix's columns are within 2^20 of each other in
/// size, else that of the scaled unknowns; where rounding does not tell its rank, or `column_bytes` are too
/// few, one without the entries that depend on others. A column of the local matrix that is not finite is
/// left out, and its entry of M is zero. A column that has a zero solution (e_k is orthogonal to all that J_k
/// reaches, as where row k of A is empty there) or one that is not finite becomes 1 / a_kk on the diagonal,
/// or 1 where a_kk is 0, missing or not finite. With setup_scalar = single it is done again in double before.
/// Both are counted in the report; the first pivot is what was left of the column, relative to its norm. A
/// numeric phase that fails leaves the inverse as it was. Columns >= num_rows (of other ranks) are skipped; a
/// matrix without rows (a rank's part) has an empty inverse.
///
/// `is_nonsymmetric()`: conjugate gradients refuse it, whatever A is.
///
/// \throws InputError for a power whose pattern takes more than `pattern_bytes`, and for a local system of
/// more than `column_bytes`
///
/// Chu et al. (2023), whose strategies and selection it has; Grote, Huckle, SIAM J. Sci. Comput. 18 (1997);
/// Chow, SIAM J. Sci. Comput. 21 (2000).
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

  /// A column of M (from the left a row) depends on A's columns (rows) of its pattern, and those lead one
  /// step further.
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
