// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

namespace prekond {

/// Parameters of the FSAI of general matrices: as the static FSAI's.
struct NonsymmetricFsaiOptions {
  static constexpr const char* name = "nonsymmetric_fsai";
  static constexpr const char* summary =
      "static factored sparse approximate inverse of a general matrix, G_U G_L ~ A^-1 on a given pattern";
  static constexpr const char* paper = "Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993)";

  int power = 1;
  double prefilter = 0;
  double postfilter = 0;
  Precision setup_scalar = Precision::single_precision;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  std::int64_t pattern_bytes = std::int64_t(16) << 30;
  std::int64_t slab_bytes = std::int64_t(256) << 20;

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("power", power, 0, 1000,
          "k: the pattern is the lower triangle of the k-th power of the filtered matrix's, symmetrised");
    visit("prefilter", prefilter, 0.0, 1.0,
          "tau: entries with |a_ij| <= tau sqrt|a_ii a_jj| do not count for the pattern");
    visit("postfilter", postfilter, 0.0, 1.0,
          "delta: places are dropped where the entries of G_L and G_U^T, times sqrt|a_jj|, are both below "
          "delta times the 2-norm of such a row; what is left is rescaled");
    visit("setup_scalar", setup_scalar, precision_choices(),
          "precision of the dense systems; a row that breaks down in single is solved in double; the scaling "
          "is double always");
    visit("storage", storage, storage_choices(),
          "precision in which the factors are kept and applied; full: the matrix's; half loses what is below "
          "2^-28 of the largest entry in G_L's row or G_U's column");
    describe_storage_format(visit, storage_format);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: solves on the factors' pattern, or finds it anew");
    visit("pattern_bytes", pattern_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the power's pattern may take");
    visit(
        "slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
        "budget of a working slab of the setup; as many rows are solved at a time as it has room for, and a "
        "longer one is refused");
  }
};

/// M^-1 = G_U G_L with G_L lower and G_U upper triangular on a pattern that is given in advance, for a
/// general matrix: diag(G_L A G_U) = 1.
///
/// Row i of G_L and column i of G_U, on the columns P (i the last), are multiples of the last row and the
/// last column of A[P, P]^-1: g_L A[P, P] = c e_last^T, A[P, P] g_U = c e_last. With A[P, P] = L U these are
/// the last row of L^-1 and the last column of U^-1. The scaling is balanced: s = g_L A g_U of the ones with
/// unit diagonal is the last pivot, and both are divided by sqrt|s|, G_U by sign(s) too, so that |G_L| and
/// |G_U| have the same diagonal. For a symmetric positive definite A they are G and G^T of the static FSAI;
/// for any symmetric A column i of G_U is row i of G_L times the sign of s.
///
/// The pattern is the lower triangle of (|S| + |S|^T)^k, S = A without the entries that are small beside the
/// diagonal (tau), or a graph of the user's; G_U^T has the same. The postfilter (delta) drops a place where
/// it is small in both, after the solves.
///
/// Each system is scaled by rows to largest entries near 1, and factored once with row pivoting (PanelLu),
/// which exists wherever A[P, P] is not singular. Cost: 2 m^3 / 3 + 2 m^2 operations for a row of m entries,
/// and A's rows in P read twice; rows are binned as in the static FSAI. Memory beyond G_L and G_U: G_U^T
/// until it is transposed, the pattern before the postfilter, a byte and an int a row, 3 n numbers, the slab.
/// Long rows, and what is told before, as in the static FSAI.
///
/// Breakdown: a row breaks down where its system is singular, a pivot being not above 16 eps times the
/// largest entry of its column, or where the last entry of the inverse vanishes beside others of its row or
/// column, so that no scaling gives 1. It is done again in double, and then in double without pivoting, where
/// a column with a pivot that is not above 2^-26 of its largest entry is left out of the row; where that is
/// the last one, or s is not above 16 eps |a_ii|, the row falls back to 1 / sqrt|a_ii| in both factors (with
/// a_ii's sign in G_U), or to 1 where a_ii is 0 or not finite. Both are counted in the report, whose first
/// pivot is relative to the largest entry of its column. A diagonal entry of zero, missing or negative is no
/// breakdown by itself. Rows whose largest entries leave [2^-480, 2^480] (of floats 2^-46, 2^46) take a copy
/// of A's values scaled by a power of two. A numeric phase that fails leaves the factors as they were.
/// Columns >= num_rows (of other ranks) are skipped; a matrix without rows (a rank's part) has empty factors.
///
/// `is_nonsymmetric()`: conjugate gradients refuse it. `report().nnz` counts both factors.
///
/// \throws InputError for a power whose pattern takes more than `pattern_bytes`, and for a row whose system
/// takes more than `slab_bytes` in double (some 8 m^2 bytes for m entries)
template <class Scalar, class Space>
class NonsymmetricFsai : public StaticPatternInverse<Scalar, Space> {
 public:
  using options_type = NonsymmetricFsaiOptions;
  using typename StaticPatternInverse<Scalar, Space>::matrix_type;
  using typename StaticPatternInverse<Scalar, Space>::matrix_source;
  using typename StaticPatternInverse<Scalar, Space>::matrix_view;

  /// \throws OptionError for `Reuse::extend`: this pattern does not grow
  explicit NonsymmetricFsai(const NonsymmetricFsaiOptions& options = {})
      : StaticPatternInverse<Scalar, Space>(NonsymmetricFsaiOptions::name, options.reuse,
                                            options.prefilter > 0),
        m_options(resolved(options)) {}

  std::string name() const override { return NonsymmetricFsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  const matrix_type& lower_factor() const { return this->factor(); }  ///< G_L, see factor()
  /// G_U, the diagonal first; see keep_rows_only().
  const matrix_type& upper_factor() const { return this->factor_transposed(); }

  /// The postfilter weighs a column by its row, which may lead one step further.
  RowReach reach() const override {
    const int weights = m_options.power > 0 && m_options.postfilter > 0 ? 1 : 0;
    return {.levels = m_options.power + weights, .both_ways = m_options.power > 0};
  }

  const NonsymmetricFsaiOptions& options() const { return m_options; }

 private:
  CsrGraph<Space> pattern_of(const Space& space, const matrix_view& a) const;
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override;
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override;

  NonsymmetricFsaiOptions m_options;
};

}  // namespace prekond
