// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace prekond {

namespace impl::amg {
template <class Scalar, class Space>
class Hierarchy;
}

/// How a prolongator is made of the tentative one.
enum class AmgProlongator { smoothed, unsmoothed };

/// What a coarser level is made of: aggregates of nodes, or a part of the rows.
enum class AmgCoarsening { aggregation, classical };

/// The precision of a hierarchy; automatic: single precision on a device for V-cycles, else full.
enum class AmgStorage { automatic, full, single_precision, half, bfloat16 };

/// How often a level is visited in a cycle.
enum class AmgCycle { v, w, k };

/// The names that `smoother` may have: every registered preconditioner.
template <class Space = Kokkos::DefaultExecutionSpace>
MethodTable smoother_table();

/// What the options of a smoother say of it. \throws OptionError for an unknown name
template <class Space = Kokkos::DefaultExecutionSpace>
Properties smoother_properties(const MethodChoice& choice);

/// Parameters of algebraic multigrid.
struct AmgOptions {
  static constexpr const char* name = "amg";
  static constexpr const char* summary =
      "algebraic multigrid by smoothed aggregation or classical, with any method as its smoother";
  static constexpr const char* paper = "Vanek, Mandel, Brezina, Computing 56 (1996)";
  static constexpr const char* default_smoother = "chebyshev";

  AmgCoarsening coarsening = AmgCoarsening::aggregation;
  AmgProlongator prolongator = AmgProlongator::smoothed;
  std::optional<double> theta = std::nullopt;
  std::optional<double> block_theta = std::nullopt;
  double theta_decay = 0.5;
  double prolongator_damping = 1.3333;
  bool second_set = false;
  std::optional<int> max_interpolation = std::nullopt;
  double max_row_sum = 0.9;
  int aggressive_levels = 0;
  int unknowns_per_node = 0;
  int candidates = 0;
  int candidate_sweeps = 15;
  int max_levels = 25;
  int coarse_size = 256;
  MethodChoice smoother = {
      default_smoother, {{"degree", OptionValue(std::int64_t(2))}, {"eigenvalue_ratio", OptionValue(7.0)}}};
  double smoother_damping = 0;
  int pre_sweeps = 1;
  int post_sweeps = 1;
  AmgCycle cycle = AmgCycle::v;
  AmgStorage storage = AmgStorage::automatic;
  MatrixFormat storage_format = MatrixFormat::automatic;
  Reuse reuse = Reuse::pattern;
  std::int64_t slab_bytes = std::int64_t(256) << 20;
  SpgemmLibrary spgemm = SpgemmLibrary::own;

  /// The limit of strong couplings: `theta`, of systems (several unknowns a node or several vectors)
  /// `block_theta`, or their defaults.
  double strong_limit(bool is_system) const {
    if (coarsening == AmgCoarsening::classical) return theta.value_or(0.25);
    return is_system ? block_theta.value_or(theta.value_or(0.02)) : theta.value_or(0.05);
  }

  /// Most entries of a prolongator's row, of aggregation aggregates: `max_interpolation` or its default.
  int interpolation_limit() const {
    return max_interpolation.value_or(coarsening == AmgCoarsening::classical ? 4 : 12);
  }

  /// On a host a level with fewer entries stays in full: its doubles may stay in the caches.
  static constexpr std::int64_t fewest_in_single = 2000000;

  /// That of a level with nnz entries, on a host or on a device.
  Storage storage_of_level(bool is_host, std::int64_t nnz) const {
    switch (storage) {
      case AmgStorage::single_precision:
        return Storage::single_precision;
      case AmgStorage::half:
        return Storage::half;
      case AmgStorage::bfloat16:
        return Storage::bfloat16;
      case AmgStorage::automatic:
        return cycle != AmgCycle::v || (is_host && nnz < fewest_in_single) ? Storage::full
                                                                           : Storage::single_precision;
      case AmgStorage::full:
        break;
    }
    return Storage::full;
  }

  SpgemmOptions products() const { return {.slab_bytes = slab_bytes, .library = spgemm}; }

  /// \throws OptionError for a cycle without sweeps, and reuse = extend
  void resolve() {
    block_theta = strong_limit(true);
    theta = strong_limit(false);
    max_interpolation = interpolation_limit();
    if (pre_sweeps + post_sweeps == 0)
      throw OptionError("amg: pre_sweeps and post_sweeps are both 0; a cycle needs a sweep");
    refuse_growing_pattern(name, reuse);
  }

  /// M is symmetric where the smoother is and is applied as often before as after. That of a K-cycle is no
  /// matrix.
  Properties properties() const {
    Properties result = of_cycle();
    if (cycle != AmgCycle::k) return result;
    result.is_variable = true;
    if (result.symmetry == Symmetry::symmetric) result.symmetry = Symmetry::unknown;
    return result;
  }

  /// Of a cycle without inner iterations.
  Properties of_cycle() const {
    Properties result = smoother_properties<>(smoother);
    if (coarsening == AmgCoarsening::aggregation && prolongator == AmgProlongator::smoothed)
      result.needs_spd = true;
    if (pre_sweeps != post_sweeps) result.symmetry = Symmetry::nonsymmetric;
    result.factors_in_order = false;  // of each level, whose rows aggregation has chosen
    return result;
  }

  /// Is a cycle without inner iterations a symmetric operator for a symmetric positive definite matrix?
  bool is_for_spd() const {
    const Properties own = of_cycle();
    return own.needs_spd && own.symmetry == Symmetry::symmetric && !own.is_variable;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("coarsening", coarsening,
          {{"aggregation", AmgCoarsening::aggregation}, {"classical", AmgCoarsening::classical}},
          "aggregation: of nodes, with the near null space; classical: a part of the rows (PMIS), which the "
          "others are interpolated from (extended+i), for scalar M-matrices");
    visit("prolongator", prolongator,
          {{"smoothed", AmgProlongator::smoothed}, {"unsmoothed", AmgProlongator::unsmoothed}},
          "of aggregation; smoothed: one step of damped Jacobi on the tentative one (SPD); unsmoothed: the "
          "tentative one itself");
    visit("theta", theta, 0.0, 1.0,
          "aggregation (auto: 0.05): nodes are strongly coupled where ||A_ij|| > theta sqrt(||A_ii|| "
          "||A_jj||); classical (auto: 0.25): j influences i strongly where -a_ij >= theta max_k -a_ik");
    visit("block_theta", block_theta, 0.0, 1.0,
          "of aggregation: theta where nodes have several unknowns, or the near null space several vectors; "
          "auto: theta where that is given, else 0.02");
    visit("theta_decay", theta_decay, 0.0, 1.0,
          "of aggregation: factor of theta from a level to the next coarser one");
    visit("prolongator_damping", prolongator_damping, 0.0, 2.0,
          "of aggregation's smoothed prolongators, over the largest eigenvalue of D^-1 A: 4/3 is best for "
          "the upper "
          "three quarters of the spectrum");
    visit("second_set", second_set,
          "aggregates about a second independent set, among the nodes that are no neighbours of the first: "
          "smaller ones, fewer iterations, a larger hierarchy");
    visit(
        "max_interpolation", max_interpolation, 1, 1000,
        "most entries that a row of the prolongator keeps, of aggregation most aggregates of a node; auto: 4 "
        "with classical coarsening, else 12");
    visit(
        "max_row_sum", max_row_sum, 0.0, 1.0,
        "of classical coarsening: rows with |sum_j a_ij| > max_row_sum |a_ii| have no strong influences; 1: "
        "no row is an exception");
    visit(
        "aggressive_levels", aggressive_levels, 0, 100,
        "of classical coarsening: on so many of the finest levels PMIS is done twice, for far fewer rows on "
        "the next level");
    visit("unknowns_per_node", unknowns_per_node, 0, 32,
          "rows d k .. d k + d - 1 are the unknowns of node k; 0: what the matrix's user said, where "
          "that is more than 1, else what the pattern shows (a note tells); 1: rows are nodes; "
          "classical coarsening couples rows of the same unknown alone");
    visit(
        "candidates", candidates, 0, 32,
        "where the user gave no near null space: so many vectors that the smoother leaves of random ones; 0: "
        "the constants");
    visit("candidate_sweeps", candidate_sweeps, 1, 1000, "sweeps of the smoother that make them");
    visit("max_levels", max_levels, 1, 100, "levels at most");
    visit("coarse_size", coarse_size, 1, 10000, "a level of no more rows is solved by its dense inverse");
    visit("smoother_damping", smoother_damping, 0.0, 2.0,
          "omega of x <- x + omega M^-1 (b - A x); 0: 1.6 over the largest eigenvalue of M^-1 A, by Lanczos, "
          "at most 1; of polynomials, multicolor_ssor and where M is not symmetric 1");
    visit("pre_sweeps", pre_sweeps, 0, 1000, "sweeps of the smoother before the coarser level");
    visit("post_sweeps", post_sweeps, 0, 1000, "and after it; as many, for a symmetric M");
    visit("cycle", cycle, {{"v", AmgCycle::v}, {"w", AmgCycle::w}, {"k", AmgCycle::k}},
          "v: each coarser level once; w: twice; k: two steps of a Krylov method on each, for a flexible "
          "solver "
          "(fgmres, cg with flexible=true)");
    visit("storage", storage,
          {{"auto", AmgStorage::automatic},
           {"full", AmgStorage::full},
           {"single", AmgStorage::single_precision},
           {"half", AmgStorage::half},
           {"bfloat16", AmgStorage::bfloat16}},
          "precision in which A and the prolongators of all levels are kept and applied; auto: single for "
          "V-cycles, on a host of levels with two million entries or more, else full. A level that its range "
          "does not hold is kept in full");
    visit("storage_format", storage_format, stored_format_choices(),
          "format in which the finest level's A is kept and applied; auto: by its pattern, as of all other "
          "matrices");
    visit(
        "reuse", reuse, reuse_choices(),
        "of a later numeric phase: pattern keeps the aggregates or coarse rows and all patterns, none finds "
        "them anew");
    visit("slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "budget of the setup's working memory in products of matrices");
    visit("spgemm", spgemm, {{"own", SpgemmLibrary::own}, {"kokkos_kernels", SpgemmLibrary::kokkos_kernels}},
          "whose product of matrices finds patterns and values of single entries; blocks and later numeric "
          "phases have ours");
    visit.method("smoother", smoother, smoother_table(), "any preconditioner, with its own options");
  }
};

/// Algebraic multigrid by smoothed aggregation, or classical: one cycle of
///
///   x <- x + omega M^-1 (b - A x)    (pre_sweeps times, from x = 0)
///   x <- x + P B_c P^T (b - A x)     (B_c the cycle on A_c = P^T A P, dense inverse on the coarsest level)
///   x <- x + omega M^-1 (b - A x)    (post_sweeps times)
///
/// with M any registered preconditioner of each level's matrix. With cycle = k (Notay, Vassilevski, Numer.
/// Linear Algebra Appl. 15 (2008)) B_c is two steps of flexible conjugate gradients from zero, preconditioned
/// by the cycle on A_c, where the options are for symmetric positive definite A and the V-cycle is symmetric;
/// else two of flexible GCR. Both steps are always taken: their count does not depend on values, nothing is
/// read by the host. The columns of several vectors have coefficients of their own; a column whose first
/// inner products are not a step (zero, not finite) is not corrected, one whose second are not has the first
/// step. M is then another operator for another vector (Properties::is_variable).
///
/// Setup of a level by aggregation, all on the device:
/// 1. the graph of strongly coupled nodes, see strong_connections; theta is theta_decay times smaller on each
///    coarser level;
/// 2. aggregates of nodes, see `aggregate`: a distance-2 maximal independent set (or two, `second_set`), its
///    neighbours and what joins them;
/// 3. the tentative prolongator: the near null space's vectors restricted to each aggregate, made orthonormal
///    there (Q); the R of that factorisation are the coarse level's near null space. Without vectors from the
///    user (MatrixSource::set_near_null_space) they are the constants, one an unknown of a node; or, with
///    candidates > 0, what candidate_sweeps of the finest level's smoother on A x = 0 leave of as many random
///    vectors, see relaxed_candidates (after Brezina et al., SIAM Review 47 (2005)): for matrices whose scale
///    or unknowns are not what constants suppose;
/// 4. P = (I - omega_P D^-1 A_F) Q, where A_F is A without entries between nodes that are not strongly
///    coupled, which are added to its diagonal, and omega_P = prolongator_damping / lambda, lambda a bound of
///    D^-1 A's eigenvalues: of dominant rows their largest sum, else 1.1 times what ten Lanczos steps find.
///    Or P = Q. Jacobi's damping and Chebyshev's lambda_max are of this lambda, unless options are given. Of
///    a node's rows the blocks of the max_interpolation aggregates with the largest ones are kept, its own
///    among them; what is left out is added to its own one's, p_iJ + sum_K p_iK R_K R_J^-1, so that P R stays
///    what it was where R_J is regular;
/// 5. A_c = P^T (A P), two sparse products, see spgemm. Patterns are found by nodes, so that those of A P and
///    A_c have whole blocks.
/// By classical coarsening:
/// 1. the graph of strong influences, see strong_influences; with unknowns_per_node > 1 between rows of the
///    same unknown alone, on coarser levels too;
/// 2. the coarse rows, see pmis; on the aggressive_levels finest levels pmis_of_coarse;
/// 3. P by extended+i interpolation as a product of matrices: with S_i the strong influences of i, F the fine
///    and C the coarse rows, q_k = sum_{j in S_k, C} a_kj and D_i the diagonal with all weak entries of the
///    row and sum_{k in S_i, F} a_ik a_ki / (q_k + a_ki) added,
///      p_ij = -1 / D_i (a_ij + sum_{k in S_i, F} a_ik a_kj / (q_k + a_ki)),
///    of which the max_interpolation largest entries of a row are kept, scaled to the row's sum. After an
///    aggressive coarsening P is the product of two such interpolations. Coarse rows are those of I;
/// 4. A_c as above.
/// The near null space is not read: P keeps constants, of each unknown, where the row's sum (over the columns
/// of its unknown) is 0. It is made for M-matrices: nothing is interpolated along entries of the diagonal's
/// sign.
///
/// Unknowns of a node are those of the options, or of the source where it says more than one, or what
/// find_unknowns_per_node sees in the pattern, which a note tells; unknowns_per_node = 1 in the options makes
/// rows nodes.
///
/// Until a level has coarse_size rows, nothing is coarsened any more,
/// or max_levels is reached: where the last level is larger than coarse_size, its smoother solves it, and a
/// note says so. For the dense inverse the diagonal is made 16 n epsilon times larger: what is singular but
/// for rounding then has a positive definite one.
///
/// Of an aggregate on which the near null space has a smaller rank than vectors, columns of Q are zero, and
/// the coarse matrix has 1 on the diagonal there. Nodes without strong neighbours are in no aggregate, and
/// rows without strong influences in either direction are interpolated from none: the smoother alone serves
/// them.
///
/// Symmetric positive definite where A is, the smoother is symmetric with omega M^-1 < 2 A^-1, and there are
/// as many pre as post sweeps. A later numeric phase with reuse = pattern keeps the aggregates and
/// tentative prolongators, or the coarse rows, and which entries of P are kept, and all patterns, and makes
/// the values anew.
///
/// A and P of all levels are kept in `storage`, each row scaled by a power of two; by default in single
/// precision for V-cycles, on a host of levels with at least two million entries, and else in full: W- and
/// K-cycles form residuals of corrections that are not small, with an error of eps kappa(A). With
/// A + E in place of A in the residuals, E symmetric, a V-cycle's operator stays symmetric, and positive
/// definite where A + E < 2 / omega times the smoother's matrix; its error in the energy norm of A is of the
/// order ||E|| (||A|| lambda_min)^(-1/2), eps sqrt(kappa(A)). A level where an absolute sum of a row's
/// entries is more than 2^64 of its diagonal (2^14 for half) is kept in full, and a note says so.
///
/// Cost of an application: on each level a product with A for each sweep but the first, one for the residual,
/// one with P and one with P^T, pre_sweeps + post_sweeps applications of M. Memory: A of all levels (a copy
/// of the finest), P and P^T, the smoothers; with reuse = pattern the patterns of A P and A_F too. The
/// report's `levels` has rows, entries and times of each.
///
/// Columns >= num_rows (of other ranks) are skipped.
///
/// The smoothers of an earlier numeric phase are set up again: where a later one fails there is nothing to
/// apply until one has succeeded. Lanczos's method looks for the damping of a symmetric smoother whatever A
/// is: for A that is not symmetric positive definite give smoother_damping.
///
/// Breakdown: what the smoothers and the coarsest level's inverse count.
///
/// Source: Vanek, Mandel, Brezina, Computing 56 (1996); aggregates Kelley, Rajamanickam, IPDPS 2022; PMIS De
/// Sterck, Yang, Heys, SIAM J. Matrix Anal. Appl. 27 (2006); interpolation Li, Sjogreen, Yang, SIAM J. Sci.
/// Comput. 43 (2021).
template <class Scalar, class Space>
class Amg : public MatrixPreconditioner<Scalar, Space> {
 public:
  using options_type = AmgOptions;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;

  explicit Amg(const AmgOptions& options = {});
  ~Amg() override;

  std::string name() const override { return AmgOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  const AmgOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  AmgOptions m_options;
  std::unique_ptr<const impl::amg::Hierarchy<Scalar, Space>> m_hierarchy;
  std::uint64_t m_pattern = 0;  ///< fingerprint of the one that it was found in
  bool m_was_empty = false;     ///< a numeric phase without rows was done
};

}  // namespace prekond
