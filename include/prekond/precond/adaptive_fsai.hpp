// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

namespace prekond {

enum class Precision { single_precision, double_precision };
enum class Reuse { none, pattern };

/// Parameters of the adaptive FSAI, under the names of Bernaschi et al. (2019), section 2.
struct AdaptiveFsaiOptions {
  static constexpr const char* name = "adaptive_fsai";
  static constexpr const char* summary = "adaptive factored sparse approximate inverse, G^T G ~ A^-1 (SPD)";
  static constexpr const char* paper = "Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019), alg. 1";
  static constexpr bool needs_spd = true;

  int max_steps = 30;
  int step_size = 1;
  double tolerance = 1e-3;
  double step_tolerance = 0;
  double candidate_floor = -1;
  Precision setup_scalar = Precision::single_precision;
  Reuse reuse = Reuse::pattern;
  std::int64_t slab_bytes = std::int64_t(256) << 20;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("max_steps", max_steps, 0, 1000000, "k_max: growth steps of a row");
    visit("step_size", step_size, 1, 1000, "s: entries a row gains in a step, those with the largest gradient");
    visit("tolerance", tolerance, 0.0, 1.0, "epsilon: a row stops at psi_k <= epsilon psi_0 (eq. 17)");
    visit("step_tolerance", step_tolerance, 0.0, 1.0, "a row stops after a step that lowers psi by less than this, relatively; 0: never");
    visit("candidate_floor", candidate_floor, -1.0, 1.0,
          "a candidate needs |r_j| > floor sqrt(a_ii a_jj); -1: 1e-12 in double, 1e-5 in single");
    visit("setup_scalar", setup_scalar, {{"single", Precision::single_precision}, {"double", Precision::double_precision}},
          "precision in which rows are grown; G's scaling is double always");
    visit("reuse", reuse, {{"pattern", Reuse::pattern}, {"none", Reuse::none}},
          "what a second numeric phase does: solves on the pattern found, or finds it anew");
    visit("slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40, "budget of a working slab of the setup");
  }
};

/// M^-1 = G^T G with G lower triangular, diag(G A G^T) = 1, its pattern found row by row (adaptive FSAI, Algorithm 1 of
/// Bernaschi et al. 2019).
///
/// Row i of the unit lower triangular G~ minimises psi_i = g~ A g~^T over its pattern, P_i; each of at most `max_steps`
/// steps adds to P_i the `step_size` columns with the largest |r_j|, r = A g~ (half the gradient of psi, eq. 16). In the
/// end g = g~ / sqrt(psi_i). All of a row's steps happen in one kernel: the Cholesky factor of A[P, P] is not refactored
/// but bordered, in the form of its inverse, and r is updated along the new direction.
///
/// Cost: O(k^2 nnz(A)/n) a row for k entries. Memory beyond G and G^T: one copy of A's values where the setup's
/// precision is not A's, G once more in the setup's chunks, and two slabs of `slab_bytes`; on the host also a marker array
/// of n ints a thread. A numeric phase that fails leaves G as it was.
/// Breakdown: a pivot lambda^2 <= 16 eps a_jj ends its row's growth; a row with psi not above zero falls back to
/// 1/sqrt(a_ii). Both are counted in the report. Where A's range is too wide for single precision, the setup is double,
/// and the report says so.
/// Columns >= num_rows (of other ranks) are skipped; a matrix without rows (a rank's part) has an empty G.
/// \pre `a` is symmetric (see check_spd_input) \throws InputError for a diagonal entry that is missing or not positive
template <class Scalar, class Space>
class AdaptiveFsai : public MatrixPreconditioner<Scalar, Space> {
 public:
  using options_type = AdaptiveFsaiOptions;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_view;

  explicit AdaptiveFsai(const AdaptiveFsaiOptions& options = {}) : m_options(options) {}

  std::string name() const override { return AdaptiveFsaiOptions::name; }
  bool is_symmetric() const override { return true; }
  void symbolic(const Space& space, const matrix_view& a) override;
  void numeric(const Space& space, const matrix_view& a) override;

  /// y = G^T (G x)
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  const AdaptiveFsaiOptions& options() const { return m_options; }
  const matrix_type& factor() const { return m_g; }               ///< G: sorted rows, the diagonal last
  const matrix_type& factor_transposed() const { return m_gt; }   ///< G^T

 private:
  AdaptiveFsaiOptions m_options;
  bool m_symbolic_done = false;
  matrix_type m_g;
  matrix_type m_gt;
};

}  // namespace prekond
