// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/pattern/impl/supernodes.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

namespace prekond {

/// Parameters of the static FSAI: tau, k and delta of Bernaschi et al. (2019), section 4.1.
struct FsaiOptions : StaticSetupOptions {
  static constexpr const char* name = "fsai";
  static constexpr const char* summary =
      "static factored sparse approximate inverse, G^T G ~ A^-1 on a given pattern (SPD)";
  static constexpr const char* paper = "Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993)";

  int power = 1;
  double prefilter = 0;
  double postfilter = 0;
  int block_size = 1;

  Properties properties() const { return {.needs_spd = true, .symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("power", power, 0, 1000,
          "k, the power of the filtered matrix whose lower triangle is the pattern; a higher power makes a "
          "stronger and longer factor");
    visit(
        "prefilter", prefilter, 0.0, 1.0,
        "tau, the size below which an entry does not count for the pattern, |a_ij| <= tau sqrt(a_ii a_jj); a "
        "larger tau makes powers affordable");
    visit(
        "postfilter", postfilter, 0.0, 1.0,
        "delta, the size below which an entry of G is dropped, |g_ij| sqrt(a_jj) < delta times the 2-norm of "
        "such a row; a larger delta makes an application cheaper. The rows are rescaled");
    visit(
        "block_size", block_size, 0, 32,
        "number of consecutive rows that share their columns and are solved together, the unknowns of a node "
        "for example; 1 solves each row by itself, 0 takes the unknowns of a node where the source of the "
        "matrix names them, else up to 16 rows that have four fifths of their united columns in common");
    StaticSetupOptions::describe(visit);
  }
};

/// M^-1 = G^T G with G lower triangular on a pattern that is given in advance, diag(G A G^T) = 1.
///
/// Formula: row i with the columns P (i the last) solves A[P, P] g~ = e_last (eq. 7) by Cholesky, scaled so
/// that g A g^T = 1. Among all G on the pattern it has the smallest Kaporin number of G A G^T (eq. 11). For
/// complex scalars A is Hermitian, M^-1 = G^H G and diag(G A G^H) = 1.
///
/// Pattern: the lower triangle of S^k, where S is A without the entries that are small compared with the
/// diagonal (tau), or a graph that the user gives. The postfilter (delta) drops entries after the solves and
/// rescales the rows, so that diag(G A G^T) = 1 holds again.
///
/// Blocks: with `block_size` b > 1 (0: supernodes, found in A's pattern) the consecutive rows i0 .. i0 + b -
/// 1 take the union P of their columns < i0, and each the columns of its block up to its own. With L the
/// Cholesky factor of A on those m + b columns, row i0 + r is L^-T e_(m + r) of the leading m + r + 1: one
/// gather and one factorisation for b rows. The report notes the number of blocks, their mean size, and how
/// many times as many entries the united pattern has. On a pattern that was kept after a postfilter each row
/// is solved by itself. A MatrixSource of unpadded blocks whose size b > 1 is that of these blocks of rows
/// (`block_size` b, or 0 with b up to 16) is read as it is: the power is that of the graph of the
/// blocks, and a system is gathered block by block. G is that of the expanded matrix, but for the rounding of
/// the rows' scales. With a prefilter, a pattern of the user, padded blocks or complex numbers the blocks are
/// expanded.
///
/// Parallelism: rows are binned by their length. A vector of lanes or a team works on a row, with its system
/// in scratch, or in a slab of `workspace_budget` where it is too large. On the host a thread works on a row;
/// the few rows of more than some thousand entries are solved one after another, each by all threads.
///
/// Cost: m^3 / 3 + m^2 operations for a row of m entries ((m + b)^3 / 3 for a block), and A's rows in P read
/// twice. The listener is told before solves that may take more than a minute.
///
/// Memory: besides G and G^T the pattern before the postfilter, a byte and an int for a row, n numbers, and
/// the slab. A diagonal outside [2^-480, 2^480] (for floats 2^-46, 2^46) takes a copy of A's values scaled by
/// powers of two; for powers of two D the factor of D A D is G D^-1.
///
/// Breakdown: a row with a pivot that is not above 16 eps (of the system scaled to a diagonal near 1) is
/// solved again in double; there a column with such a pivot is left out of the row (its entry is 0), and a
/// row whose last pivot is too small becomes 1/sqrt(a_ii) on the diagonal. The report counts both. A numeric
/// phase that fails leaves G as it was.
///
/// Ranks: columns >= num_rows (those of other ranks) are skipped; a matrix without rows has an empty G.
///
/// \pre `a` is symmetric, or Hermitian (see check_spd_input)
///
/// \throws InputError for a diagonal entry that is missing, not positive or not real, for a pattern of more
/// than `memory_budget` bytes, and for a row whose system takes more than that in double
/// (some 4 m^2 bytes for m entries, 8 m^2 for complex numbers)
///
/// Source: Kolotilina, Yeremin (1993); the equations are those of Bernaschi et al., SIAM J. Sci. Comput. 41
/// (2019); blocks by Janna, Ferronato, Gambolati, SIAM J. Sci. Comput. 37 (2015).
template <class Scalar, class Space>
class Fsai : public StaticPatternInverse<Scalar, Space> {
 public:
  using options_type = FsaiOptions;
  using typename StaticPatternInverse<Scalar, Space>::matrix_type;
  using typename StaticPatternInverse<Scalar, Space>::matrix_source;
  using typename StaticPatternInverse<Scalar, Space>::matrix_view;

  /// \throws OptionError for `Reuse::extend`: this pattern does not grow
  explicit Fsai(const FsaiOptions& options = {})
      : StaticPatternInverse<Scalar, Space>(FsaiOptions::name, options.reuse, options.prefilter > 0),
        m_options(resolved(options)) {}

  std::string name() const override { return FsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  /// A row depends on the columns of its pattern, and the rows of a block on the columns of all of them. Rows
  /// that are found to be alike (block_size 0) depend on their neighbours by number, which several ranks do
  /// not have.
  RowReach reach() const override {
    if (m_options.block_size == 0) return {};
    return {.levels = m_options.power, .block_rows = m_options.block_size};
  }

  const FsaiOptions& options() const { return m_options; }

 protected:
  /// The option `block_size`, as far as it depends on the matrix.
  virtual int block_size_for(const matrix_source&) const { return m_options.block_size; }
  bool filters_inverse() const override { return m_options.postfilter > 0; }

 private:
  int block_rows(const matrix_source& source) const;
  CsrGraph<Space> row_pattern(const Space& space, const matrix_view& a) const;
  CsrGraph<Space> block_pattern(const Space& space, const matrix_source& source) const;
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override;
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override;
  template <class Matrix>
  void find_factor(const Space& space, const matrix_source& source, const Matrix& a, Report& report);

  FsaiOptions m_options;
  Supernodes<Space> m_supernodes;  ///< of the pattern; empty where each row is solved by itself
  int m_block_rows = 0;            ///< the size of the blocks of the pattern; 0 where it has none
  std::string m_supernodes_note;
};

}  // namespace prekond
