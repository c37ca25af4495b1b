// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/supernodes.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

#include <cstdint>
#include <optional>

namespace prekond {

/// Parameters of the adaptive FSAI, under the names of Bernaschi et al. (2019), section 2. The paper's k_max
/// 30, s 1 and no stop on a step's improvement (published()) make the stronger factor. The defaults were
/// chosen by the time of setup and CG of 73 settings on 22 matrices (perf_tests/results/cpu/sweep.md): rows
/// end where further entries no longer pay.
struct AdaptiveFsaiOptions {
  static constexpr const char* name = "adaptive_fsai";
  static constexpr const char* summary = "adaptive factored sparse approximate inverse, G^T G ~ A^-1 (SPD)";
  static constexpr const char* paper =
      "Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019), alg. 1";

  enum class Preset { custom, light, medium, heavy };
  /// How a row's gradient is formed. `list`: kept and updated, in a compact list with a table from column to
  /// place (on GPUs a hash table; on the host a marker array of n ints a thread, whatever the budget).
  /// `marker` (the "global array" of section 3.1): the same with a marker array of n ints for each row in
  /// flight, of which there are as many as `slab_bytes` allows. `merge` (Algorithm 2): anew in each step, by
  /// a merge of the pattern's rows of A.
  enum class Gradient { list, marker, merge };

  Preset preset = Preset::custom;
  // Unset: what the preset says, else 15, 2, 1e-3 and 0.05; no `step_tolerance` where there is a preset or a
  // `tolerance`. The object's `options()` have all four.
  std::optional<int> max_steps = std::nullopt;
  std::optional<int> step_size = std::nullopt;
  std::optional<double> tolerance = std::nullopt;
  std::optional<double> step_tolerance = std::nullopt;
  int max_row_size = 0;
  double prefilter = 0;
  double postfilter = 0;
  int initial_power = 0;
  double candidate_floor = -1;
  Precision setup_scalar = Precision::single_precision;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  Gradient gradient = Gradient::list;
  int block_size = 1;
  double block_similarity = 0.8;
  int block_limit = 16;
  std::int64_t slab_bytes = std::int64_t(256) << 20;

  static AdaptiveFsaiOptions published() {
    AdaptiveFsaiOptions options;
    options.max_steps = 30;
    options.step_size = 1;
    options.step_tolerance = 0;
    return options;
  }

  /// Presets: 15 steps of 1, 25 of 1, 25 of 2, all of which are taken.
  /// \throws OptionError for blocks with another gradient than the list
  void resolve() {
    if (block_size != 1 && gradient != Gradient::list)
      throw OptionError(
          "adaptive_fsai: gradient = marker and merge grow rows alone: set block_size to 1, or gradient to "
          "list");
    const bool all_steps = preset != Preset::custom || tolerance.has_value();
    if (!step_tolerance) step_tolerance = all_steps ? 0 : 0.05;
    if (!max_steps) max_steps = preset == Preset::custom || preset == Preset::light ? 15 : 25;
    if (!step_size) step_size = preset == Preset::custom || preset == Preset::heavy ? 2 : 1;
    if (!tolerance) tolerance = 1e-3;
  }

  Properties properties() const { return {.needs_spd = true, .symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("preset", preset,
          {{"custom", Preset::custom},
           {"light", Preset::light},
           {"medium", Preset::medium},
           {"heavy", Preset::heavy}},
          "what holds where nothing else is said: max_steps x step_size 15 x 1, 25 x 1, 25 x 2, and "
          "step_tolerance 0");
    visit("max_steps", max_steps, 0, 1000000, "k_max: growth steps of a row; auto: the preset's, else 15");
    visit("step_size", step_size, 1, 1000,
          "s: entries a row gains in a step, those with the largest gradient; auto: the preset's, else 2");
    visit("tolerance", tolerance, 0.0, 1.0,
          "epsilon: a row stops at psi_k <= epsilon psi_0 (eq. 17); auto: 0.001; given without "
          "step_tolerance it is the only stop");
    visit(
        "step_tolerance", step_tolerance, 0.0, 1.0,
        "a row stops after a step that lowers psi by less than this, relatively; 0: never; auto: 0.05, or 0 "
        "with a preset or a tolerance");
    visit("max_row_size", max_row_size, 0, 1000000,
          "a row grows to so many entries at most, its diagonal included; 0: no such limit");
    visit(
        "prefilter", prefilter, 0.0, 1.0,
        "tau: rows are grown on A without its entries with |a_ij| <= tau sqrt(a_ii a_jj); G is scaled by A");
    visit("postfilter", postfilter, 0.0, 1.0,
          "delta: entries of G with |g_ij| sqrt(a_jj) < delta times the 2-norm of such a row are dropped, "
          "and the row is rescaled");
    visit("initial_power", initial_power, 0, 1000,
          "rows begin with the pattern of this power of A's lower triangle, G_0; 0: the diagonal");
    visit("candidate_floor", candidate_floor, -1.0, 1.0,
          "a candidate needs |r_j| > floor sqrt(a_ii a_jj); -1: 1e-12 in double, 1e-5 in single");
    visit("setup_scalar", setup_scalar, precision_choices(),
          "precision in which rows are grown; G's scaling is double always");
    visit("storage", storage, storage_choices(),
          "precision in which G is kept and applied; full: the matrix's; half loses what is below 2^-28 of "
          "its row's largest entry");
    describe_storage_format(visit, storage_format);
    visit("reuse", reuse, growing_reuse_choices(),
          "what a second numeric phase does: solves on the pattern found, finds it anew, or begins with it "
          "and takes "
          "max_steps more");
    visit("gradient", gradient,
          {{"list", Gradient::list}, {"marker", Gradient::marker}, {"merge", Gradient::merge}},
          "how a row's gradient is formed: in a list, with a marker array of n ints for each row in flight, "
          "or anew in "
          "each step by a merge of A's rows; G is the same to rounding, list is the fastest");
    visit("block_size", block_size, 0, 32,
          "consecutive rows that share their columns and are grown together, the unknowns of a node say; 1: "
          "rows alone; 0: a node's rows, where the matrix's source names its unknowns, else rows that are "
          "nearly alike");
    visit("block_similarity", block_similarity, 0.0, 1.0,
          "with block_size 0: a row joins the one before where they share this part of their united columns "
          "in A");
    visit("block_limit", block_limit, 1, 32, "with block_size 0: most rows of a block");
    visit("slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "budget of a working slab of the setup, and of the markers of gradient = marker");
  }
};

/// M^-1 = G^T G with G lower triangular, diag(G A G^T) = 1, its pattern found row by row (adaptive FSAI,
/// Algorithm 1 of Bernaschi et al. 2019).
///
/// Row i of the unit lower triangular G~ minimises psi_i = g~ A g~^T over its pattern, P_i; each of at most
/// `max_steps` steps adds to P_i the `step_size` columns with the largest |r_j|, r = A g~ (half the gradient
/// of psi, eq. 16). In the end g = g~ / sqrt(psi_i). All of a row's steps happen in one kernel: the Cholesky
/// factor of A[P, P] is not refactored but bordered, in the form of its inverse, and r is updated along the
/// new direction.
///
/// Cost: O(k^2 nnz(A)/n) a row for k entries; with `gradient = merge` each of a step's columns, up to k
/// nnz(A)/n, also takes two reductions of the lanes, on the host k comparisons. Memory beyond G and G^T: one
/// copy of A's values where the setup's precision is not A's, an int a row from symbolic on, G once more in
/// the setup's chunks, and two slabs of `slab_bytes`, one of which the markers of `gradient = marker` share;
/// on the host also a marker array of n ints a thread, except with `merge`. The report has the peak. A
/// numeric phase that fails leaves G as it was. Breakdown: a pivot lambda^2 <= 16 eps a_jj ends its row's
/// growth; a row with psi not above zero falls back to 1/sqrt(a_ii). Both are counted in the report. A
/// diagonal outside [2^-480, 2^480] (of floats 2^-46, 2^46) takes a copy of A's values scaled by a power of
/// two; where no single power brings it there, rows are grown on D A D with a diagonal near 1, and the report
/// says so. Where A's range is too wide for single precision, the setup is double, and the report says so.
/// With `initial_power`, or a pattern of the user's, rows begin with G_0 on it (section 2 of the paper): its
/// entries are taken in one step, and psi_0 in the stop (eq. 17) is that of G_0. With `reuse = extend` a
/// later numeric phase begins so with the pattern of the G it has, after the postfilter, and takes up to
/// `max_steps` steps more.
///
/// With `block_size` b > 1 (0: supernodes, found in A's pattern) consecutive rows B = i0 .. i0 + b - 1 grow
/// one set P of columns < i0, and have B's columns up to their own besides: on [P, B] they are
/// (-C A[B, P] A[P, P]^-1, C), C the inverse Cholesky factor of S = A[B, B] - A[B, P] A[P, P]^-1 A[P, B],
/// whose determinant is the product of their psi. A step adds the columns with the largest sum_r R_rj^2 /
/// S_rr, R_r row r's gradient without its coupling in B; the stops compare the geometric mean of S_rr / a_rr,
/// which bounds that of the rows' psi_i / a_ii. Each entry of A is looked up, and A[P, P] factored, once for
/// b rows. `max_row_size` holds for a block's longest row; the block's own columns are always there. A kept
/// pattern is solved on row by row. The report notes the number of blocks and their mean size. Source: Janna,
/// Ferronato, SIAM J. Sci. Comput. 33 (2011), on adaptive block FSAI; Janna, Ferronato, Gambolati, ibid. 37
/// (2015), on supernodes.
///
/// Columns >= num_rows (of other ranks) are skipped; a matrix without rows (a rank's part) has an empty G.
/// Complex scalars: for Hermitian matrices, M^-1 = G^H G, diag(G A G^H) = 1; the columns with the largest
/// |r_j| are taken. \pre `a` is symmetric, or Hermitian (see check_spd_input) \throws InputError for a
/// diagonal entry that is missing, not positive or not real, and with `gradient = marker` where `slab_bytes`
/// is less than the markers of one row, 4 n bytes
template <class Scalar, class Space>
class AdaptiveFsai : public FactoredInverse<Scalar, Space> {
 public:
  using options_type = AdaptiveFsaiOptions;
  using typename FactoredInverse<Scalar, Space>::matrix_type;
  using typename FactoredInverse<Scalar, Space>::matrix_source;
  using typename FactoredInverse<Scalar, Space>::matrix_view;

  /// \throws OptionError for blocks with another gradient than the list
  explicit AdaptiveFsai(const AdaptiveFsaiOptions& options = {});

  std::string name() const override { return AdaptiveFsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  /// A pattern that rows begin with, instead of the power: its lower triangle. It is copied. Takes effect
  /// with the next numeric phase that finds a pattern and has none of its own to extend. A factor of another
  /// AdaptiveFsai can be given as it is (`factor()`); its values would tell nothing more, since rows are
  /// solved exactly on what they begin with. \throws InputError where it is not square, or a column is out of
  /// range \pre columns ascend
  void set_initial_pattern(const Space& space, const CsrGraphView<Space>& pattern);

  /// A step leads to a neighbour of the pattern, whose row is summed as a whole. With `reuse` = extend each
  /// numeric phase goes on from there. See Fsai for blocks.
  RowReach reach() const override {
    if (m_options.block_size == 0) return {};
    const bool ends = m_options.reuse != Reuse::extend;
    return {.levels = ends ? m_options.initial_power + *m_options.max_steps + 1 : 1000000,
            .block_rows = m_options.block_size,
            .adaptive = true};
  }

  const AdaptiveFsaiOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;

 private:
  /// What is found in A's pattern alone, by symbolic, or by numeric where A's pattern is another one.
  struct PatternWork {
    std::uint64_t fingerprint = 0;       ///< of the pattern that it was found in
    Supernodes<Space> supernodes;        ///< the blocks that grow together; none: rows alone
    CsrGraph<Space> start;               ///< the power that rows begin with, united in the blocks
    Vector<int, Space> representatives;  ///< of runs of equal rows
    std::int64_t bytes() const;
  };

  /// `kept`: for rows that are solved on the pattern of the G that there is.
  PatternWork work_on(const Space& space, const matrix_source& source, bool kept) const;
  CsrGraph<Space> power(const Space& space, const matrix_view& a) const;
  static CsrGraph<Space> unite(const Space& space, const CsrGraph<Space>& start,
                               const Supernodes<Space>& supernodes);
  /// Does the pattern work anew, and notes it, where symbolic saw another pattern.
  void check_pattern_work(const Space& space, const matrix_source& source, Report& report);
  CsrGraph<Space> initial_pattern(const Space& space, const matrix_view& grown_on,
                                  const VectorView<const unsigned char, Space>& wanted) const;
  bool keeps_pattern() const { return m_options.reuse == Reuse::pattern && this->has_inverse(); }
  bool extends() const { return m_options.reuse == Reuse::extend && this->has_inverse(); }
  /// Is the pattern that rows grow on A's, and not that of its large entries?
  bool grows_on_all() const { return m_options.prefilter == 0; }

  AdaptiveFsaiOptions m_options;
  CsrGraph<Space> m_initial_pattern;
  PatternWork m_work;
};

}  // namespace prekond
