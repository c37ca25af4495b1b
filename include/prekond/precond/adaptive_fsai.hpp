// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

#include <cstdint>
#include <optional>

namespace prekond {

/// Parameters of the adaptive FSAI, under the names of Bernaschi et al. (2019), section 2. The paper's k_max
/// 30, s 1 and no stop on a step's improvement (published()) make the stronger factor. The defaults were
/// chosen by the time of setup and CG of 73 settings on 22 matrices (perf_tests/results/cpu/sweep.md): rows
/// end where further entries no longer pay.
struct AdaptiveFsaiOptions : SetupOptions {
  static constexpr const char* name = "adaptive_fsai";
  static constexpr const char* summary = "adaptive factored sparse approximate inverse, G^T G ~ A^-1 (SPD)";
  static constexpr const char* paper =
      "Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019), alg. 1";

  /// The way to form a row's gradient. `list`: it is kept and updated, in a compact list with a table from
  /// column to place (on GPUs a hash table; on the host a marker array of n ints for each thread, beyond the
  /// budget). `marker` (the "global array" of section 3.1): the same with a marker array of n ints for each
  /// row in flight, of which there are as many as `workspace_budget` allows. `merge` (Algorithm 2): it is
  /// formed again in each step, by a merge of the pattern's rows of A.
  enum class Gradient { list, marker, merge };

  int max_steps = 15;
  int step_size = 2;
  // Unset: 1e-3, and 0.05 or, where there is a `tolerance`, 0. The object's `options()` have both.
  std::optional<double> tolerance = std::nullopt;
  std::optional<double> step_tolerance = std::nullopt;
  double prefilter = 0;
  double postfilter = 0;
  int initial_power = 0;
  Gradient gradient = Gradient::list;

  static AdaptiveFsaiOptions published() {
    AdaptiveFsaiOptions options;
    options.max_steps = 30;
    options.step_size = 1;
    options.step_tolerance = 0;
    return options;
  }

  void resolve() {
    if (!step_tolerance) step_tolerance = tolerance ? 0 : 0.05;
    if (!tolerance) tolerance = 1e-3;
  }

  Properties properties() const { return {.needs_spd = true, .symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("max_steps", max_steps, 0, 1000000,
          "k_max, the number of growth steps of a row; more steps make a stronger and longer factor");
    visit(
        "step_size", step_size, 1, 1000,
        "s, the number of entries that a row gains in a step, those with the largest gradient; larger steps "
        "make a cheaper setup and choose less well");
    visit("tolerance", tolerance, 0.0, 1.0,
          "epsilon, the ratio psi_k / psi_0 at which a row stops (eq. 17); a smaller one makes a stronger "
          "factor. It is the only stop where step_tolerance is not given. auto is 0.001");
    visit("step_tolerance", step_tolerance, 0.0, 1.0,
          "relative decrease of psi in a step below which a row stops; a smaller one makes a stronger "
          "factor, 0 "
          "never stops. auto is 0.05, or 0 with a tolerance");
    visit("prefilter", prefilter, 0.0, 1.0,
          "tau, the size below which an entry of A does not count for the growth, |a_ij| <= tau sqrt(a_ii "
          "a_jj); a larger tau makes a cheaper setup. G is scaled by all of A");
    visit(
        "postfilter", postfilter, 0.0, 1.0,
        "delta, the size below which an entry of G is dropped, |g_ij| sqrt(a_jj) < delta times the 2-norm of "
        "such a row; a larger delta makes an application cheaper. The rows are rescaled");
    visit("initial_power", initial_power, 0, 1000,
          "power of A's lower triangle whose pattern, G_0, rows begin with; 0 begins with the diagonal");
    visit("gradient", gradient,
          {{"list", Gradient::list}, {"marker", Gradient::marker}, {"merge", Gradient::merge}},
          "way to form a row's gradient: in a list, with a marker array of n ints for each row in flight, or "
          "again in each step by a merge of A's rows; G is the same to rounding, list is the fastest");
    SetupOptions::describe(visit, growing_reuse_choices());
    visit("workspace_budget", workspace_budget, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "bytes of temporary memory in which rows grow at the same time; more bytes allow more of them on a "
          "GPU, and the markers of gradient marker, of n ints a row");
    visit.formerly("slab_bytes");
  }
};

/// M^-1 = G^T G with G lower triangular, diag(G A G^T) = 1, its pattern found row by row (adaptive FSAI).
///
/// Formula: row i of the unit lower triangular G~ minimises psi_i = g~ A g~^T over its pattern, P_i; each of
/// at most `max_steps` steps adds to P_i the `step_size` columns with the largest |r_j|, r = A g~ (half the
/// gradient of psi, eq. 16). In the end g = g~ / sqrt(psi_i). All steps of a row happen in one kernel: the
/// Cholesky factor of A[P, P] is not refactored but bordered, in the form of its inverse, and r is updated
/// along the new direction. For complex scalars A is Hermitian, M^-1 = G^H G and diag(G A G^H) = 1.
///
/// Start: with `initial_power`, or a pattern that the user gives, rows begin with G_0 on it (section 2 of the
/// paper): its entries are taken in one step, and psi_0 in the stop (eq. 17) is that of G_0. With `reuse` =
/// extend a later numeric phase begins with the pattern of the present G, after the postfilter, and takes up
/// to `max_steps` steps more.
///
/// Cost: O(k^2 nnz(A)/n) a row for k entries; with `gradient` = merge each of a step's columns, up to k
/// nnz(A)/n, also takes two reductions of the lanes, on the host k comparisons.
///
/// Memory: besides G and G^T one copy of A's values where the setup's precision is not A's, an int a row from
/// symbolic on, G once more in the setup's chunks, and two slabs of `workspace_budget`, one of which the
/// markers of `gradient` = marker share; on the host also a marker array of n ints a thread, except with
/// merge. A diagonal outside [2^-480, 2^480] (for floats 2^-46, 2^46) takes a copy of A's values scaled by a
/// power of two; where no single power brings it there, rows are grown on D A D with a diagonal near 1, and
/// the report says so. The report has the peak.
///
/// Breakdown: a pivot lambda^2 <= 16 eps a_jj ends its row's growth; a row with psi below sqrt(eps) a_ii is
/// scaled as if it were that, and one with psi < 0 falls back to 1/sqrt(a_ii). The report counts them. Where
/// A's range is too wide for single precision, the setup is in double, and the report says so. A numeric
/// phase that fails leaves G as it was.
///
/// Ranks: columns >= num_rows (those of other ranks) are skipped; a matrix without rows has an empty G.
///
/// \pre `a` is symmetric, or Hermitian (see check_spd_input)
///
/// \throws InputError for a diagonal entry that is missing, not positive or not real, and with `gradient` =
/// marker where `workspace_budget` is less than the markers of one row, 4 n bytes
///
/// Source: Bernaschi et al. (2019), Algorithm 1.
template <class Scalar, class Space>
class AdaptiveFsai : public FactoredInverse<Scalar, Space> {
 public:
  using options_type = AdaptiveFsaiOptions;
  using typename FactoredInverse<Scalar, Space>::matrix_type;
  using typename FactoredInverse<Scalar, Space>::matrix_source;
  using typename FactoredInverse<Scalar, Space>::matrix_view;

  explicit AdaptiveFsai(const AdaptiveFsaiOptions& options = {});

  std::string name() const override { return AdaptiveFsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  /// Gives a pattern whose lower triangle rows begin with, in place of the power. It is copied. It takes
  /// effect with the next numeric phase that finds a pattern and has none of its own to extend. A factor of
  /// another AdaptiveFsai can be given as it is (`factor()`); its values would tell nothing more, since rows
  /// are solved exactly on the pattern that they begin with.
  ///
  /// \pre columns ascend
  ///
  /// \throws InputError where it is not square, or a column is out of range
  void set_initial_pattern(const Space& space, const CsrGraphView<Space>& pattern);

  /// A step leads to a neighbour of the pattern, whose row is summed as a whole. With `reuse` = extend each
  /// numeric phase goes on from there.
  RowReach reach() const override {
    const bool ends = m_options.reuse != Reuse::extend;
    return {.levels = ends ? m_options.initial_power + m_options.max_steps + 1 : 1000000, .adaptive = true};
  }

  const AdaptiveFsaiOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  std::int64_t symbolic_bytes() const override { return m_work.bytes(); }

 private:
  /// The results of a look at A's pattern, by symbolic, or by numeric where A's pattern is another one.
  struct PatternWork {
    std::uint64_t fingerprint = 0;       ///< of the pattern that it was found in
    CsrGraph<Space> start;               ///< the power that rows begin with
    Vector<int, Space> representatives;  ///< of runs of equal rows
    std::int64_t bytes() const;
  };

  /// `kept`: for rows that are solved on the pattern of the present G.
  PatternWork work_on(const Space& space, const matrix_source& source, bool kept) const;
  CsrGraph<Space> power(const Space& space, const matrix_view& a) const;
  /// Does the pattern work again, and notes it, where symbolic saw another pattern.
  void check_pattern_work(const Space& space, const matrix_source& source, Report& report);
  CsrGraph<Space> initial_pattern(const Space& space, const matrix_view& grown_on,
                                  const VectorView<const unsigned char, Space>& wanted) const;
  bool keeps_pattern() const { return m_options.reuse == Reuse::pattern && this->has_inverse(); }
  bool extends() const { return m_options.reuse == Reuse::extend && this->has_inverse(); }
  /// Whether rows grow on A's whole pattern, and not on that of its large entries.
  bool grows_on_all() const { return m_options.prefilter == 0; }

  AdaptiveFsaiOptions m_options;
  CsrGraph<Space> m_initial_pattern;
  PatternWork m_work;
};

}  // namespace prekond
