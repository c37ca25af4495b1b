// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

namespace prekond {

/// Parameters of the FSAI of general matrices: as those of the static FSAI.
struct NonsymmetricFsaiOptions : StaticSetupOptions {
  static constexpr const char* name = "nonsymmetric_fsai";
  static constexpr const char* summary =
      "static factored sparse approximate inverse of a general matrix, G_U G_L ~ A^-1 on a given pattern";
  static constexpr const char* paper = "Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993)";

  int power = 1;
  double prefilter = 0;
  double postfilter = 0;

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("power", power, 0, 1000,
          "k, the power of the filtered and symmetrised matrix whose lower triangle is the pattern; a higher "
          "power makes stronger and longer factors");
    visit(
        "prefilter", prefilter, 0.0, 1.0,
        "tau, the size below which an entry does not count for the pattern, |a_ij| <= tau sqrt|a_ii a_jj|; a "
        "larger tau makes powers affordable");
    visit("postfilter", postfilter, 0.0, 1.0,
          "delta, the size below which a place is dropped: there the entries of G_L and G_U^T, times "
          "sqrt|a_jj|, are both below delta times the 2-norm of such a row; a larger delta makes an "
          "application cheaper. The rows are rescaled");
    StaticSetupOptions::describe(visit);
  }
};

/// M^-1 = G_U G_L with G_L lower and G_U upper triangular on a pattern that is given in advance, for a
/// general matrix: diag(G_L A G_U) = 1.
///
/// Formula: row i of G_L and column i of G_U, on the columns P (i the last), are multiples of the last row
/// and the last column of A[P, P]^-1: g_L A[P, P] = c e_last^T, A[P, P] g_U = c e_last. With A[P, P] = L U
/// these are the last row of L^-1 and the last column of U^-1. The scaling is balanced: with unit diagonals s
/// = g_L A g_U is the last pivot, and both are divided by sqrt|s|, G_U by sign(s) too, so that |G_L| and
/// |G_U| have the same diagonal. For a symmetric positive definite A they are G and G^T of the static FSAI;
/// for any symmetric A column i of G_U is row i of G_L times the sign of s.
///
/// Pattern: the lower triangle of (|S| + |S|^T)^k, where S is A without the entries that are small compared
/// with the diagonal (tau), or a graph that the user gives; G_U^T has the same. The postfilter (delta) drops
/// a place where it is small in both factors, after the solves.
///
/// Parallelism: as in the static FSAI.
///
/// Cost: 2 m^3 / 3 + 2 m^2 operations for a row of m entries, and A's rows in P read twice. Each system is
/// scaled by rows to largest entries near 1, and factored once with row pivoting (PanelLu), which exists
/// wherever A[P, P] is not singular. The listener is told before solves that may take more than a minute.
///
/// Memory: besides G_L and G_U G_U^T until it is transposed, the pattern before the postfilter, a byte and an
/// int for a row, 3 n numbers, and the slab. Rows whose largest entries leave [2^-480, 2^480] (for floats
/// 2^-46, 2^46) take a copy of A's values scaled by a power of two.
///
/// Breakdown: a row breaks down where its system is singular, a pivot being not above 16 eps times the
/// largest entry of its column, or where the last entry of the inverse vanishes compared with others of its
/// row or column, so that no scaling gives 1. It is solved again in double, and then in double without
/// pivoting, where a column with a pivot that is not above 2^-26 of its largest entry is left out of the row.
/// Where that is the last one, or s is not above 16 eps |a_ii|, the row becomes 1 / sqrt|a_ii| on the
/// diagonal of both factors (with a_ii's sign in G_U), or 1 where a_ii is 0 or not finite. The report counts
/// both; its first pivot is relative to the largest entry of its column. Zero and missing diagonal entries
/// are no breakdowns; where rows break down these get stand-ins (src/precond/scaling/stand_in.hpp) if better.
///
/// Ranks: columns >= num_rows (those of other ranks) are skipped; a matrix without rows has empty factors.
///
/// `is_nonsymmetric()`: conjugate gradients refuse it. `report().nnz` counts both factors.
///
/// \throws InputError for a pattern of more than `memory_budget` bytes, and for a row whose system takes more
/// than that in double (some 8 m^2 bytes for m entries)
///
/// Source: Kolotilina, Yeremin (1993).
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
  bool filters_inverse() const override { return m_options.postfilter > 0; }
  CsrGraph<Space> pattern_of(const Space& space, const matrix_view& a) const;
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override;
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override;

  NonsymmetricFsaiOptions m_options;
};

}  // namespace prekond
