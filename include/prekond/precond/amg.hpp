// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/views.hpp>
#include <prekond/precond/impl/registered_methods.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/over_ranks.hpp>
#include <prekond/precond/setup_options.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace prekond {

namespace impl::amg {
template <class Scalar, class Space>
class Hierarchy;
template <class Scalar, class Space>
class LevelOverRanks;
}  // namespace impl::amg

/// The prolongator that aggregation makes of the tentative one.
enum class AmgProlongator { smoothed, unsmoothed };

/// The unknowns of a coarser level: aggregates of nodes, or a part of the rows.
enum class AmgCoarsening { aggregation, classical };

/// The precision of a hierarchy; automatic is single for V-cycles, on a host of large levels, else full.
enum class AmgStorage { automatic, full, single_precision, half, bfloat16 };

/// The visits of a coarser level in a cycle.
enum class AmgCycle { v, w, k };

/// Parameters of algebraic multigrid.
struct AmgOptions {
  static constexpr const char* name = "amg";
  static constexpr const char* summary =
      "algebraic multigrid by smoothed aggregation or classical, with any method as its smoother";
  static constexpr const char* paper = "Vanek, Mandel, Brezina, Computing 56 (1996)";

  AmgCoarsening coarsening = AmgCoarsening::aggregation;
  AmgProlongator prolongator = AmgProlongator::smoothed;
  std::optional<double> theta = std::nullopt;
  std::optional<int> max_interpolation = std::nullopt;
  int aggressive_levels = 0;
  int unknowns_per_node = 0;
  int candidates = 0;
  int max_levels = 25;
  int coarse_size = 256;
  MethodChoice smoother = {
      "chebyshev", {}, {{"degree", OptionValue(std::int64_t(2))}, {"eigenvalue_ratio", OptionValue(7.0)}}};
  double smoother_damping = 0;
  int pre_sweeps = 1;
  int post_sweeps = 1;
  AmgCycle cycle = AmgCycle::v;
  AmgStorage storage = AmgStorage::automatic;
  MatrixFormat storage_format = MatrixFormat::automatic;
  Reuse reuse = Reuse::pattern;
  std::int64_t gather_rows = -1;
  /// No option: this is the hierarchy of a coarser level, which a W-cycle visits twice.
  bool is_coarser = false;

  /// The limit of strong couplings: `theta`, or its default, which is another one for systems (several
  /// unknowns a node or several vectors).
  double strong_limit(bool is_system) const {
    if (coarsening == AmgCoarsening::classical) return theta.value_or(0.25);
    return theta.value_or(is_system ? 0.02 : 0.05);
  }

  /// The largest number of entries (with aggregation, of aggregates) in a row of the prolongator.
  int interpolation_limit() const {
    return max_interpolation.value_or(coarsening == AmgCoarsening::classical ? 4 : 12);
  }

  /// On a host a level with fewer entries stays in full precision, as its numbers may stay in the caches.
  static constexpr std::int64_t fewest_in_single = 2000000;

  /// Can levels be distributed over ranks, of a matrix that redistributes (see DistributedMatrix)?
  bool has_distributed_levels() const { return coarsening == AmgCoarsening::aggregation && candidates == 0; }
  /// `gather_rows`, or its default on a host or on a device, whose small levels take little less time by
  /// parts.
  std::int64_t gathered_rows(bool is_host, bool redistributes = true) const {
    if (gather_rows >= 0) return gather_rows;
    if (!redistributes || !has_distributed_levels()) return 300000;
    return is_host ? 3000 : 100000;
  }

  /// The precision of a level with nnz entries, on a host or on a device.
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

  /// \throws OptionError for a cycle without sweeps, and reuse = extend
  void resolve() {
    max_interpolation = interpolation_limit();
    if (pre_sweeps + post_sweeps == 0)
      throw OptionError("amg: pre_sweeps and post_sweeps are both 0; a cycle needs a sweep");
    refuse_growing_pattern(name, reuse);
  }

  /// M is symmetric where the smoother is and is applied as often before as after. A K-cycle is not a matrix.
  Properties properties() const {
    Properties result = of_cycle();
    if (cycle != AmgCycle::k) return result;
    result.is_variable = true;
    if (result.symmetry == Symmetry::symmetric) result.symmetry = Symmetry::unknown;
    return result;
  }

  /// The properties of a cycle without inner iterations.
  Properties of_cycle() const {
    Properties result = impl::registered_method_properties(smoother, "smoother");
    if (coarsening == AmgCoarsening::aggregation && prolongator == AmgProlongator::smoothed)
      result.needs_spd = true;
    if (pre_sweeps != post_sweeps) result.symmetry = Symmetry::nonsymmetric;
    result.factors_in_order = false;  // the smoothers factor levels, whose rows aggregation has chosen
    return result;
  }

  /// Whether a cycle without inner iterations is a symmetric operator for a symmetric positive definite
  /// matrix.
  bool is_for_spd() const {
    const Properties own = of_cycle();
    return own.needs_spd && own.symmetry == Symmetry::symmetric && !own.is_variable;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    describe_strength(visit);
    describe_levels(visit);
    describe_cycle(visit);
    describe_storage(visit);
    visit.method("smoother", smoother, impl::registered_method_table("smoother"),
                 "smoother of all levels, any preconditioner with its own options");
  }

 private:
  template <class Visitor>
  void describe_strength(Visitor& visit) {
    visit("coarsening", coarsening,
          {{"aggregation", AmgCoarsening::aggregation}, {"classical", AmgCoarsening::classical}},
          "kind of coarse level: aggregates of nodes with the near null space, or a part of the rows (PMIS) "
          "that the others are interpolated from (extended+i); classical is for scalar M-matrices");
    visit("prolongator", prolongator,
          {{"smoothed", AmgProlongator::smoothed}, {"unsmoothed", AmgProlongator::unsmoothed}},
          "prolongator of aggregation: smoothed takes one step of damped Jacobi on the tentative one (SPD); "
          "unsmoothed is the tentative one, for nonsymmetric matrices");
    visit("theta", theta, 0.0, 1.0,
          "limit of strong couplings; raise it for anisotropic problems. With aggregation nodes are strongly "
          "coupled where ||A_ij|| > theta sqrt(||A_ii|| ||A_jj||), half of it on each coarser level (auto is "
          "0.05, or 0.02 where nodes have several unknowns or the near null space several vectors), with "
          "classical coarsening (auto is 0.25) j influences i strongly where -a_ij >= theta max_k -a_ik");
  }
  template <class Visitor>
  void describe_levels(Visitor& visit) {
    visit("max_interpolation", max_interpolation, 1, 1000,
          "largest number of entries in a row of the prolongator, with aggregation of aggregates of a node; "
          "raise it for fewer iterations, lower it for sparser levels; auto is 4 with classical coarsening, "
          "else 12");
    visit("aggressive_levels", aggressive_levels, 0, 100,
          "number of the finest levels on which classical coarsening does PMIS twice; raise it for sparser "
          "levels and more iterations");
    visit("unknowns_per_node", unknowns_per_node, 0, 32,
          "number d of unknowns of a node, whose rows are d k .. d k + d - 1; 0 takes what the matrix's user "
          "said if that is more than 1, else what the pattern shows (a note says so); 1 makes rows nodes; "
          "classical coarsening couples rows of the same unknown only");
    visit("candidates", candidates, 0, 32,
          "number of vectors that the smoother makes from random ones to approximate the near null space, "
          "where the user gives none; raise it for systems whose near null space is not known; 0 takes the "
          "constants");
  }
  template <class Visitor>
  void describe_cycle(Visitor& visit) {
    visit("max_levels", max_levels, 1, 100, "largest number of levels");
    visit("coarse_size", coarse_size, 1, 10000,
          "largest number of rows of a level that is solved by its dense inverse");
    visit("smoother_damping", smoother_damping, 0.0, 2.0,
          "damping omega of x <- x + omega M^-1 (b - A x); 0 takes 1.6 over the largest eigenvalue of M^-1 "
          "A, by Lanczos's method, at most 1, and 1 for polynomials, for multicolor_ssor and where M is not "
          "symmetric");
    visit("pre_sweeps", pre_sweeps, 0, 1000, "number of the smoother's sweeps before the coarser level");
    visit("post_sweeps", post_sweeps, 0, 1000,
          "number of the smoother's sweeps after the coarser level; M is symmetric only where it is "
          "pre_sweeps");
    visit(
        "cycle", cycle, {{"v", AmgCycle::v}, {"w", AmgCycle::w}, {"k", AmgCycle::k}},
        "visits of a coarser level: v once; w twice; k two steps of a Krylov method on each, for a flexible "
        "solver (fgmres, cg with flexible=true)");
  }
  template <class Visitor>
  void describe_storage(Visitor& visit) {
    visit(
        "storage", storage,
        {{"auto", AmgStorage::automatic},
         {"full", AmgStorage::full},
         {"single", AmgStorage::single_precision},
         {"half", AmgStorage::half},
         {"bfloat16", AmgStorage::bfloat16}},
        "precision in which A and the prolongators of all levels are kept and applied; auto is single for "
        "V-cycles (on a host, of levels with two million entries or more), else full; a level that its range "
        "does not hold is kept in full");
    visit("storage_format", storage_format, stored_format_choices(),
          "format in which the finest level's A is kept and applied; auto chooses by its pattern, as for all "
          "other matrices");
    visit("reuse", reuse, reuse_choices(),
          "whether a later numeric phase keeps the aggregates or coarse rows and all patterns, or finds them "
          "anew");
    visit("gather_rows", gather_rows, std::int64_t(-1), (std::int64_t(1) << 31) - 1,
          "on several ranks: number of a level's rows up to which every rank has all of them, and the levels "
          "that follow; lower it where their setup by every rank takes longer; -1: 3000 on hosts, 100000 on "
          "devices, 300000 where levels cannot be distributed; 0: each rank has a hierarchy of its own rows");
  }
};

/// Algebraic multigrid by smoothed aggregation, or classical; an application is one cycle.
///
/// Formula:
///
///   x <- x + omega M^-1 (b - A x)    (pre_sweeps times, from x = 0)
///   x <- x + P B_c P^T (b - A x)     (B_c is the cycle on A_c = P^T A P, on the coarsest level a dense
///   inverse) x <- x + omega M^-1 (b - A x)    (post_sweeps times)
///
/// with M any registered preconditioner of each level's matrix.
///
/// With cycle = k (Notay, Vassilevski, Numer. Linear Algebra Appl. 15 (2008)) B_c is two steps of a Krylov
/// method from zero, preconditioned by the cycle on A_c: of flexible conjugate gradients where the options
/// are for symmetric positive definite A and the V-cycle is symmetric, else of flexible GCR. Both steps are
/// always taken, whatever the values, so that the host reads no inner product. On several ranks each step
/// sends its inner products in a message. Each of several vectors has its own coefficients. A vector whose
/// first inner products give no step (zero, not finite) is not corrected; one whose second give none has the
/// first step. M then is another operator for another vector (Properties::is_variable).
///
/// Setup of a level by aggregation, all on the device:
/// 1. The graph of strongly coupled nodes, see strong_connections. On each coarser level theta is halved.
/// 2. Aggregates of nodes, see `aggregate`: a distance-2 maximal independent set, its neighbours, and the
///    nodes that join them.
/// 3. The tentative prolongator Q: the vectors of the near null space restricted to each aggregate and made
///    orthonormal there. The R of that factorisation is the coarse level's near null space. The vectors are
///    the user's (MatrixSource::set_near_null_space), else the constants, one for each unknown of a node.
///    With candidates > 0 they are that many random vectors after 15 sweeps of the finest level's
///    smoother on A x = 0, see relaxed_candidates (after Brezina et al., SIAM Review 47 (2005)), for matrices
///    whose scale or unknowns do not suit constants.
/// 4. P = (I - omega_P D^-1 A_F) Q, or P = Q. A_F is A without entries between nodes that are not strongly
///    coupled, which are added to its diagonal. omega_P = 4/3 / lambda with lambda for the
///    largest eigenvalue of D^-1 A: the largest row sum, or where rows are not dominant 1.15 times the
///    largest Ritz value of 10 Lanczos steps; the bound by 20 where that has not settled. Jacobi's damping
///    and Chebyshev's lambda_max come from the same lambda, unless options are given. Each node keeps the
///    blocks of its own aggregate and of the largest others, max_interpolation in all. The rest is added to
///    its own one's, p_iJ + sum_K p_iK R_K R_J^-1, so that P R does not change where R_J is regular.
/// 5. A_c = P^T (A P) by two sparse products, see spgemm. Patterns are found by nodes, so that those of A P
///    and A_c have whole blocks.
///
/// Setup of a level by classical coarsening:
/// 1. The graph of strong influences, see strong_influences; with unknowns_per_node > 1 only between rows of
///    the same unknown, on coarser levels too.
/// 2. The coarse rows, see pmis; on the aggressive_levels finest levels pmis_of_coarse.
/// 3. P by extended+i interpolation as a product of matrices. S_i are the strong influences of i, F the fine
///    and C the coarse rows, q_k = sum_{j in S_k, C} a_kj, and D_i is the diagonal with all weak entries of
///    the row and sum_{k in S_i, F} a_ik a_ki / (q_k + a_ki) added:
///      p_ij = -1 / D_i (a_ij + sum_{k in S_i, F} a_ik a_kj / (q_k + a_ki)).
///    The max_interpolation largest entries of a row are kept, scaled to the row's sum. After an aggressive
///    coarsening P is the product of two such interpolations. Coarse rows are those of I.
/// 4. A_c as above.
/// The near null space is not read: P keeps the constants of each unknown where the row's sum (over the
/// columns of its unknown) is 0. The method is made for M-matrices: nothing is interpolated along entries of
/// the diagonal's sign.
///
/// The unknowns of a node are those of the options, else of the source where it says more than one, else
/// those that find_unknowns_per_node sees in the pattern; a note says so. unknowns_per_node = 1 in the
/// options makes rows nodes.
///
/// Coarsening ends where a level has coarse_size rows, where it would gain nothing, or at max_levels. If the
/// last level is larger than coarse_size, its smoother solves it, and a note says so. For the dense inverse
/// the diagonal is multiplied by 1 + 16 n epsilon at least, so that a matrix that is singular but for
/// rounding has a positive definite one. Coarser diagonal entries that are rounding errors are raised.
///
/// On an aggregate where the near null space has a smaller rank than vectors, some columns of Q are zero, and
/// the coarse matrix has 1 on the diagonal there. Nodes without strong neighbours are in no aggregate, and
/// rows without strong influences in either direction are interpolated from none; only the smoother serves
/// them.
///
/// M is symmetric positive definite where A is, the smoother is symmetric with omega M^-1 < 2 A^-1, and there
/// are as many pre as post sweeps.
///
/// A later numeric phase with reuse = pattern keeps the aggregates and tentative prolongators, or the coarse
/// rows, the choice of entries of P, and all patterns, and makes the values anew. It sets up the smoothers of
/// the earlier phase again: where it fails, nothing can be applied until a later one succeeds.
///
/// Precision: A and P of all levels are kept in `storage`, each row scaled by a power of two. With A + E in
/// place of A in the residuals, E symmetric, a V-cycle's operator stays symmetric, and positive definite
/// where A + E < 2 / omega times the smoother's matrix; its error in the energy norm of A is of the order
/// ||E|| (||A|| lambda_min)^(-1/2), that is eps sqrt(kappa(A)). W- and K-cycles form residuals of corrections
/// that are not small, with an error of eps kappa(A), and stay in full precision by default. A level where an
/// absolute sum of a row's entries is more than 2^64 of its diagonal (2^14 for half) is kept in full, and a
/// note says so.
///
/// Cost: an application takes, on each level, a product with A for each sweep but the first, one for the
/// residual, one with P and one with P^T, and pre_sweeps + post_sweeps applications of M.
/// Memory: A of all levels (a copy of the finest), P and P^T, and the smoothers; with reuse = pattern the
/// patterns of A P and A_F too. The report's `levels` has rows, entries and times of each.
///
/// On several ranks the hierarchy is that of all rows. Levels of more than gather_rows rows are distributed
/// over the ranks, see LevelOverRanks; from the first one that has fewer on, every rank has all rows, see
/// GathersRows, and takes the time and the memory of one. Aggregates are found by the rows' global numbers.
/// Classical coarsening, candidates, gather_rows = 0, and matrices whose rows are not numbered from
/// 0 on or that cannot distribute a coarser matrix (DistributedMatrix::redistributes) have no distributed
/// levels: then columns >= num_rows (of other ranks) are skipped, above gather_rows.
///
/// Lanczos's method looks for the damping of a symmetric smoother for every A: for A that is not symmetric
/// positive definite give smoother_damping.
///
/// Breakdown: the report counts the breakdowns of the smoothers and of the coarsest level's inverse.
///
/// Source: Vanek, Mandel, Brezina, Computing 56 (1996). Aggregates: Kelley, Rajamanickam, IPDPS 2022. PMIS:
/// De Sterck, Yang, Heys, SIAM J. Matrix Anal. Appl. 27 (2006). Interpolation: Li, Sjogreen, Yang, SIAM J.
/// Sci. Comput. 43 (2021).
template <class Scalar, class Space>
class Amg : public MatrixPreconditioner<Scalar, Space>, public OverRanks<Scalar, Space>, public GathersRows {
 public:
  using options_type = AmgOptions;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;
  using Distributed = DistributedMatrix<Scalar, Space>;

  explicit Amg(const AmgOptions& options = {});
  ~Amg() override;

  std::string name() const override { return AmgOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  const AmgOptions& options() const { return m_options; }
  /// Is the hierarchy a single level, whose inverse is exact? False before a numeric phase, and where levels
  /// are distributed over ranks.
  bool is_exact() const;
  std::int64_t most_gathered_rows(bool redistributes) const override {
    const std::int64_t most = m_options.gathered_rows(is_host_space<Space>, redistributes);
    return most > 0 ? std::max<std::int64_t>(most, m_options.coarse_size) : 0;
  }

  bool is_possible_over_ranks(const Space& space, const Distributed& a) const override;
  void set_facts_of_own_rows(const NearNullSpace<Scalar, Space>& near) override { m_near = near; }
  void symbolic_over_ranks(const Space& space, const Distributed& a) override;
  void numeric_over_ranks(const Space& space, const Distributed& a) override;
  void apply_over_ranks(const Space& space, MultiVectorView<const Scalar, Space> x,
                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  template <class Phase>
  void in_phase_of(const Distributed& a, const Phase& phase);
  void numeric_of_all(const Space& space, Report& report);

  AmgOptions m_options;
  std::unique_ptr<const impl::amg::Hierarchy<Scalar, Space>> m_hierarchy;
  std::uint64_t m_pattern = 0;              ///< fingerprint of the pattern that the hierarchy was found in
  bool m_was_empty = false;                 ///< a numeric phase without rows was done
  const Distributed* m_all_rows = nullptr;  ///< during a phase over ranks
  NearNullSpace<Scalar, Space> m_near;      ///< over ranks
  std::unique_ptr<impl::amg::LevelOverRanks<Scalar, Space>> m_over_ranks;
};

/// The rigid body modes of nodes in d = 2 or 3 dimensions with d displacements each, the near null space of
/// elasticity (MatrixSource::set_near_null_space): d translations and d (d - 1) / 2 rotations about the
/// nodes' centre, as columns of d n x 3 or d n x 6, row d k + c for component c of node k. A rotation is
/// divided by the largest distance from the centre, so that all columns are of one size; where all nodes are
/// in one place rotations are zero.
///
/// `coordinates`: n x d. Cost: two passes over the coordinates. Fences. The same bits whatever the threads.
///
/// \throws InputError for other than 2 or 3 columns
template <class Scalar, class Space>
MultiVector<Scalar, Space> rigid_body_modes(
    const Space& space, const std::type_identity_t<MultiVectorView<const Scalar, Space>>& coordinates);

}  // namespace prekond
