// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/pattern/supernodes.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

namespace prekond {

/// Parameters of the static FSAI: tau, k and delta of Bernaschi et al. (2019), section 4.1.
struct FsaiOptions {
  static constexpr const char* name = "fsai";
  static constexpr const char* summary =
      "static factored sparse approximate inverse, G^T G ~ A^-1 on a given pattern (SPD)";
  static constexpr const char* paper = "Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993)";

  int power = 1;
  double prefilter = 0;
  double postfilter = 0;
  Precision setup_scalar = Precision::single_precision;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  int block_size = 1;
  double block_similarity = 0.8;
  int block_limit = 16;
  std::int64_t pattern_bytes = std::int64_t(16) << 30;
  std::int64_t slab_bytes = std::int64_t(256) << 20;

  Properties properties() const { return {.needs_spd = true, .symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("power", power, 0, 1000,
          "k: the pattern is the lower triangle of the k-th power of the filtered matrix's");
    visit("prefilter", prefilter, 0.0, 1.0,
          "tau: entries with |a_ij| <= tau sqrt(a_ii a_jj) do not count for the pattern");
    visit("postfilter", postfilter, 0.0, 1.0,
          "delta: entries of G with |g_ij| sqrt(a_jj) < delta times the 2-norm of such a row are dropped, "
          "and the row is rescaled");
    visit("setup_scalar", setup_scalar, precision_choices(),
          "precision of the dense systems; a row that breaks down in single is solved in double; G's scaling "
          "is double always");
    visit("storage", storage, storage_choices(),
          "precision in which G is kept and applied; full: the matrix's; half loses what is below 2^-28 of "
          "its row's largest entry");
    describe_storage_format(visit, storage_format);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: solves on G's pattern, or finds it anew");
    visit("block_size", block_size, 0, 32,
          "consecutive rows that share their columns and are solved together, the unknowns of a node say; "
          "1: rows alone; 0: a node's rows, where the matrix's source names its unknowns, else rows that are "
          "nearly alike");
    visit("block_similarity", block_similarity, 0.0, 1.0,
          "with block_size 0: a row joins the one before where they share this part of their united columns "
          "in A");
    visit("block_limit", block_limit, 1, 32, "with block_size 0: most rows of a block");
    visit("pattern_bytes", pattern_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the power's pattern may take, and the united one of blocks");
    visit(
        "slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
        "budget of a working slab of the setup; as many rows are solved at a time as it has room for, and a "
        "longer one is refused");
  }
};

/// M^-1 = G^T G with G lower triangular on a pattern that is given in advance, diag(G A G^T) = 1.
///
/// Row i with the columns P (i the last) solves A[P, P] g~ = e_last (eq. 7) by Cholesky, scaled so that g A
/// g^T = 1: of all G on the pattern the minimiser of the Kaporin number of G A G^T (eq. 11). The pattern is
/// the lower triangle of S^k, S = A without the entries that are small beside the diagonal (tau), or a graph
/// of the user's. What the postfilter drops (delta) is dropped after the solves; the rows are scaled anew, so
/// that diag(G A G^T) = 1 holds all the same.
///
/// With `block_size` b > 1 (0: supernodes, found in A's pattern) consecutive rows i0 .. i0 + b - 1 take the
/// union P of their columns < i0, and each its block's columns up to its own. With L the Cholesky factor of
/// A on those m + b columns, row i0 + r is L^-T e_(m + r) of the leading m + r + 1: one gather and one
/// factorisation, (m + b)^3 / 3 operations, for b rows. The pattern is a little denser, the factor a little
/// stronger; the report notes the number of blocks, their mean size, and how many times as many entries the
/// united pattern has. Source: Janna, Ferronato, Gambolati, SIAM J. Sci. Comput. 37 (2015). On a pattern kept
/// after a postfilter, which leaves a block's rows different columns, rows are alone.
///
/// A MatrixSource of unpadded blocks whose size b > 1 is that of these blocks of rows (`block_size` b, or 0
/// with b within `block_limit`) is read as it is, without the matrix by single rows: the power is that of the
/// blocks' graph, and a system is gathered block by block. G is that of the expanded matrix, but for the
/// rounding of the rows' scales. All else, and a prefilter, a pattern of the user's, padded blocks and
/// complex numbers, have the blocks expanded.
///
/// Cost: m^3 / 3 + m^2 operations for a row of m entries, and A's rows in P read twice. Rows are binned by
/// their length: a vector of lanes or a team a row with its system in scratch, or in a slab of `slab_bytes`
/// where it is too large. On the host a row has a thread; the few that have more than some thousand entries
/// are solved one after another, each by all threads. Memory beyond G and G^T: G's pattern before the
/// postfilter, a byte and an int a row, n numbers, the slab. Where the solves may take more than a minute,
/// the listener is told before them.
///
/// Breakdown: a row with a pivot that is not above 16 eps (of the system scaled to a diagonal near 1) is done
/// again in double; there a column with such a pivot is left out of the row (its entry is 0), and a row whose
/// last pivot is so falls back to 1/sqrt(a_ii); both are counted in the report. A numeric phase that fails
/// leaves G as it was. A diagonal outside [2^-480, 2^480] (of floats 2^-46, 2^46) takes a copy of A's values
/// scaled by powers of two; for powers of two D the factor of D A D is G D^-1. Columns >= num_rows (of other
/// ranks) are skipped; a matrix without rows (a rank's part) has an empty G.
///
/// Complex scalars: for Hermitian matrices, M^-1 = G^H G, diag(G A G^H) = 1.
///
/// \pre `a` is symmetric, or Hermitian (see check_spd_input)
///
/// \throws InputError for a diagonal entry that is missing, not positive or not real, for a power whose
/// pattern takes more than `pattern_bytes`, its blocks' rows united, and for a row whose system takes more
/// than `slab_bytes` in double (some 4 m^2 bytes for m entries, twice as many of complex numbers)
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

  /// A row depends on the columns of its pattern, and a block's rows on those of all of them. Rows that are
  /// found to be alike (block_size 0) depend on their neighbours by number, and are not for several ranks.
  RowReach reach() const override {
    if (m_options.block_size == 0) return {};
    return {.levels = m_options.power, .block_rows = m_options.block_size};
  }

  const FsaiOptions& options() const { return m_options; }

 protected:
  /// The option `block_size`, as far as it depends on the matrix.
  virtual int block_size_for(const matrix_source&) const { return m_options.block_size; }

 private:
  int block_rows(const matrix_source& source) const;
  CsrGraph<Space> row_pattern(const Space& space, const matrix_view& a) const;
  CsrGraph<Space> block_pattern(const Space& space, const matrix_source& source) const;
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override;
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override;
  template <class Matrix>
  void find_factor(const Space& space, const matrix_source& source, const Matrix& a, Report& report);

  FsaiOptions m_options;
  Supernodes<Space> m_supernodes;  ///< of the pattern; none: rows are alone
  int m_block_rows = 0;            ///< the size of the blocks that the pattern is made of; 0: it is not
  std::string m_supernodes_note;
};

}  // namespace prekond
