// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/amg.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/polynomial.hpp>
#include "precond/multigrid/strength.hpp"

#include "precond/multigrid/classical.hpp"
#include "precond/multigrid/k_cycle.hpp"
#include "precond/multigrid/prolongator.hpp"
#include "precond/multigrid/tentative.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace prekond::impl::amg {

struct HierarchyTuning {
  static constexpr double damping = 1.6;
  static constexpr int candidate_sweeps = 15;
};

struct TransferTuning {
  /// A coarser level with more than this part of a level's rows is not worth its products.
  static constexpr double least_coarsening = 0.9;
  static constexpr double theta_decay = 0.5;  ///< from a level to the next coarser one
  static constexpr double prolongator_damping =
      1.3333;  ///< best for the upper three quarters of the spectrum
};

/// Smoothers whose M is diag(A) unless an option says otherwise.
inline bool is_of_the_diagonal(const MethodChoice& choice) {
  return choice.name == "jacobi" && choice.options.empty();
}

/// Are products with whole blocks by their pattern? A host adds diagonals and single rows as fast.
template <class Space>
inline constexpr bool products_by_blocks = !is_host_space<Space>;

/// A level's step to the next coarser one, with the parts that a later numeric phase keeps.
template <class Scalar, class Space>
struct Transfer {
  Matrix<Scalar, Space> q;                     ///< the tentative prolongator
  MultiVector<Scalar, Space> near_null_space;  ///< of the coarser level
  bool smoother_before = false;                ///< it was set up before the prolongator
  bool drops = false;                          ///< A_F is not A
  bool filtered_whole = false;                 ///< A_F has all entries of its blocks
  CsrGraph<Space> filtered;                    ///< A_F's pattern, where it is another one than A's
  CsrGraph<Space> smoothed;    ///< by nodes, P's pattern before truncation; 0 x 0 where it is not truncated
  bool is_over_ranks = false;  ///< only P is made here: the products are formed over ranks
  ClassicalTransfer<Space> classical;               ///< of classical coarsening, in place of those above
  Matrix<Scalar, Space> prolongator, restriction;   ///< P, P^T
  Matrix<Scalar, Space> times_prolongator, coarse;  ///< A P, without values, and A_c
  CsrGraph<Space> coarse_nodes;                     ///< A_c's pattern by nodes
  BlockPattern<Space> p_blocks, r_blocks;           ///< of P and P^T; empty of single entries
  StoredMatrix<Scalar, Space> p, r;
};

template <class Scalar, class Space>
struct Level {
  using Method = MatrixPreconditioner<Scalar, Space>;
  CsrView<Scalar, Space> matrix;
  Matrix<Scalar, Space> owned;  ///< `matrix`, of all levels but the finest, which is the user's
  CsrGraph<Space> nodes;        ///< its pattern by nodes; 0 x 0: not known
  bool whole = false;           ///< it has all entries of its blocks
  StoredMatrix<Scalar, Space> a;
  int unknowns = 1;
  RowSums sums;                 ///< of D^-1 A, of all levels but an exact one
  Vector<Scalar, Space> sizes;  ///< what a diagonal entry is the sum of, see RaiseRounding; empty: |a_ii|
  double lambda = 0;            ///< bound of the largest eigenvalue of D^-1 A; 0: not known
  std::shared_ptr<Method> smoother;  ///< of the coarsest level what solves it
  double omega = 1;
  bool is_exact = false;             ///< the coarsest level: `smoother` is A's inverse
  Transfer<Scalar, Space> transfer;  ///< of all levels but the coarsest

  std::int64_t num_rows() const { return matrix.num_rows; }
  /// The entries of columns < num_rows.
  std::int64_t nnz() const { return a.nnz(); }
};

/// The largest sum of a row over its diagonal that a storage is trusted with. Its rows are scaled by their
/// largest entries: what is less than 2^-28 of these (half) or 2^-126 loses digits, a diagonal, or one of
/// a_ij and a_ji.
inline double largest_sum_in(Storage storage) {
  if (storage == Storage::full) return std::numeric_limits<double>::infinity();
  return storage == Storage::half ? 0x1p14 : 0x1p64;
}

/// A polynomial applies the level's own matrix, and Chebyshev's needs the eigenvalue that the prolongator was
/// damped by, where the options say nothing else. (Where candidates had the smoother set up before the rest,
/// that was not there, and is not in a later numeric phase either.)
template <class Scalar, class Space>
void tell_polynomial(PolynomialPreconditioner<Scalar, Space>& polynomial,
                     const StoredMatrix<Scalar, Space>& a, double lambda, const MethodChoice& choice);

/// The strong couplings of a level's nodes. Finds its pattern by nodes.
template <class Scalar, class Space>
StrongRows<Space> strong_couplings(const Space& space, Level<Scalar, Space>& level, double theta);

/// The pattern of A_F and, of blocks, those of P, A P and A_c. \pre the level has Q
template <class Scalar, class Space>
void find_patterns(const Space& space, const AmgOptions& options, Level<Scalar, Space>& level,
                   const StrongRows<Space>& strong, const CsrGraph<Space>& members);

/// P, on a pattern that is kept or found. \pre find_patterns
template <class Scalar, class Space>
void make_prolongator(const Space& space, const AmgOptions& options, Level<Scalar, Space>& level);

/// |a_ii|
template <class Scalar, class Space>
Vector<Scalar, Space> sizes_of_diagonal(const Space& space, const CsrView<Scalar, Space>& a);
/// Diagonal entries that are zero but for the rounding of sums of these sizes are raised, see
/// shift_of_null_space.
template <class Scalar, class Space>
void raise_rounding(const Space& space, const Matrix<Scalar, Space>& a,
                    const VectorView<const Scalar, Space>& sizes);

/// Coarse unknowns of a column of Q that is zero get 1 on the diagonal of A_c.
template <class Scalar, class Space>
void set_dead_unknowns(const Space& space, const Matrix<Scalar, Space>& a,
                       const MultiVector<Scalar, Space>& near_null_space);

template <class Scalar, class Space>
struct LevelVectors {
  MultiVector<Scalar, Space> b, x;        ///< of all levels but the finest
  MultiVector<Scalar, Space> residual;    ///< scaled by omega for the smoother
  MultiVector<Scalar, Space> correction;  ///< where the smoother cannot add
  std::unique_ptr<Workspace> smoother;
  StepVectors<Scalar, Space> steps;  ///< of two steps, whose A d is in `residual`
};

template <class Scalar, class Space>
struct CycleWorkspace : Workspace {
  std::vector<LevelVectors<Scalar, Space>> levels;
  ReduceWorkspace<Scalar, Space> reduce;  ///< of a K-cycle
  int num_vectors = 0;
};

/// A diagonal entry that is not above this part of `sizes` is zero but for the rounding errors of the sums.
template <class Scalar>
constexpr Scalar rounding_of_sums() {
  return 16 * std::numeric_limits<Scalar>::epsilon();
}
/// Relative to an entry or to its size: an inverse that makes rounding errors 1 / shift times as large lets
/// the residual of CG fall to epsilon / sqrt(shift).
template <class Scalar>
Scalar shift_of_null_space() {
  const Scalar root = std::cbrt(std::numeric_limits<Scalar>::epsilon());
  return root * root;
}

/// The levels, their setup and the cycle.
template <class Scalar, class Space>
class Hierarchy {
 public:
  using Source = MatrixSource<Scalar, Space>;

  /// `before`: a hierarchy whose patterns are kept, and whose smoothers are set up again; null: all is found.
  Hierarchy(const Space& space, const AmgOptions& options, const Source& source, const Hierarchy* before,
            Report& report);

  /// Forgets the values that only the setup reads: where a level is stored in another format or precision
  /// than rows in full, they would be there twice.
  void release();

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const;

  const std::vector<Level<Scalar, Space>>& levels() const { return m_levels; }

  bool fits(const CycleWorkspace<Scalar, Space>& workspace) const {
    if (workspace.levels.size() != m_levels.size()) return false;
    for (std::size_t l = 1; l < m_levels.size(); ++l)
      if (static_cast<std::int64_t>(workspace.levels[l].b.extent(0)) != m_levels[l].num_rows()) return false;
    return true;
  }

  /// y = one cycle from zero for A y = x.
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             CycleWorkspace<Scalar, Space>& workspace) const {
    cycle(space, 0, x, y, workspace);
  }

 private:
  using View = MultiVectorView<Scalar, Space>;
  using ConstView = MultiVectorView<const Scalar, Space>;

  Level<Scalar, Space> finest(const Space& space, const Source& source) const;
  void measure(const Space& space, Level<Scalar, Space>& level) const;
  MultiVector<Scalar, Space> near_null_space_of(const Space& space, const Source& source, bool is_wanted,
                                                Report& report);
  int unknowns_of(const Source& source) const;
  void find_unknowns(const Space& space, Level<Scalar, Space>& level, const Hierarchy* before,
                     Report& report) const;
  bool find_transfer(const Space& space, std::size_t l, const MultiVector<Scalar, Space>& near_null_space);
  bool find_classical_transfer(const Space& space, std::size_t l);
  void raise_rounding(const Space& space, Level<Scalar, Space>& fine, Level<Scalar, Space>& coarse) const;
  Level<Scalar, Space> coarser(const Space& space, Level<Scalar, Space>& fine,
                               const Level<Scalar, Space>* old) const;
  Storage storage_of(const Level<Scalar, Space>& level, Report& report) const;
  void store(const Space& space, Level<Scalar, Space>& level, const Level<Scalar, Space>* old,
             Report& report) const;
  void store_transfer(const Space& space, Level<Scalar, Space>& level, const Level<Scalar, Space>* old) const;
  void set_up_method(const Space& space, Level<Scalar, Space>& level, const MethodChoice& choice,
                     const Level<Scalar, Space>* old, Report& report) const;
  void set_smoother(const Space& space, Level<Scalar, Space>& level, const Level<Scalar, Space>* old,
                    Report& report) const;
  void set_coarsest(const Space& space, Level<Scalar, Space>& level, const Level<Scalar, Space>* old,
                    Report& report) const;
  std::int64_t kept_for_reuse(const Transfer<Scalar, Space>& transfer) const;
  void file(const Level<Scalar, Space>& level, double seconds, Report& report) const;

  void cycle(const Space& space, std::size_t level, ConstView b, View x,
             CycleWorkspace<Scalar, Space>& workspace) const;
  void correct(const Space& space, std::size_t level, ConstView b, View x, bool from_zero,
               CycleWorkspace<Scalar, Space>& workspace) const;
  void solve_coarser(const Space& space, std::size_t level, View b, View x,
                     CycleWorkspace<Scalar, Space>& workspace) const;
  void smooth(const Space& space, std::size_t level, ConstView b, View x, int sweeps, bool from_zero,
              CycleWorkspace<Scalar, Space>& workspace) const;

  bool takes_two_steps(std::size_t level) const {
    return m_options.cycle == AmgCycle::k && level > 0 && !m_levels[level].is_exact;
  }

  AmgOptions m_options;
  KSteps m_steps = m_options.is_for_spd() ? KSteps::conjugate_gradients : KSteps::minimal_residual;
  std::vector<Level<Scalar, Space>> m_levels;
};

}  // namespace prekond::impl::amg
