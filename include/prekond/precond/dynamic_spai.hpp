// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/properties.hpp>
#include <prekond/precond/spai.hpp>

namespace prekond {

/// Parameters of the dynamic SPAI.
struct DynamicSpaiOptions {
  static constexpr const char* name = "dynamic_spai";
  static constexpr const char* summary =
      "sparse approximate inverse of a general matrix that finds its own pattern, min ||A M - I|| in the "
      "Frobenius norm";
  static constexpr const char* paper = "Grote, Huckle, SIAM J. Sci. Comput. 18 (1997)";

  double epsilon = 0.4;
  int max_steps = 5;
  int step_size = 5;
  int max_fill = 50;
  int initial_power = 0;
  Side side = Side::right;
  Precision setup_scalar = Precision::double_precision;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  std::int64_t pattern_bytes = std::int64_t(16) << 30;
  std::int64_t slab_bytes = std::int64_t(256) << 20;
  std::int64_t column_bytes = std::int64_t(4) << 30;

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("epsilon", epsilon, 0.0, 1.0, "a column grows until ||A m - e|| is not above it");
    visit("max_steps", max_steps, 0, 10000, "growth steps of a column at most");
    visit("step_size", step_size, 1, 1000, "entries that a step adds at most");
    visit("max_fill", max_fill, 1, 100000,
          "entries of a column at most; a longer start pattern stays as it is");
    visit("initial_power", initial_power, 0, 1000, "k: the start pattern is that of (I + |A|)^k");
    visit("side", side, side_choices(),
          "right: min ||A M - I||, by columns of M; left: min ||M A - I||, by rows");
    visit("setup_scalar", setup_scalar, precision_choices(),
          "precision of the local systems; a column that breaks down in single is done in double");
    visit("storage", storage, storage_choices(),
          "precision in which M is kept and applied; full: the matrix's");
    describe_storage_format(visit, storage_format);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: solves on the inverse's pattern, or finds it anew");
    visit("pattern_bytes", pattern_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the start pattern may take");
    visit("slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "budget of each of the two slabs of the setup, the columns' workspaces and their results before "
          "they are appended; on the host a thread has one column's workspace");
    visit("column_bytes", column_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the workspace of one column may take");
  }
};

/// A sparse M ~ A^-1 whose columns find their own patterns, with small ||A M - I||_F (side = right) or ||M A
/// - I||_F (side = left): the dynamic SPAI, for a general matrix.
///
/// Column k begins with the pattern J = {k} (or that of a power, or the user's) and its least-squares
/// solution m. With the residual r = e_k - A m, the candidates are the j with a_ij != 0 for an i with r_i !=
/// 0. Adding one of them alone leaves the residual rho_j, rho_j^2 = ||r||^2 - (r^T A e_j)^2 / ||A e_j||^2. A
/// step adds the up to `step_size` best of those with rho_j^2 not above the candidates' mean (of two with the
/// same gain the smaller j), as long as ||r|| > `epsilon`, there are at most `max_fill` entries and
/// `max_steps` steps. The QR is not begun anew: the reflectors so far are applied to the new columns, whose
/// rest is factored.
///
/// Later numeric phases solve on the pattern found, as the static SPAI, or find it anew (`reuse`).
///
/// Cost: as the static SPAI's on the pattern that is found, and for each step a reading of A^T's rows of the
/// candidates. Memory beyond M: A and A^T, M twice while it is put together, two slabs. A column that reaches
/// more rows or candidates than its workspace holds is begun again in one four times larger.
///
/// Breakdown and columns of other ranks: as the static SPAI's.
///
/// \throws InputError for a start pattern that takes more than `pattern_bytes`, and for a column whose
/// workspace takes more than `column_bytes`
///
/// Grote, Huckle (1997), algorithm of section 3.
template <class Scalar, class Space>
class DynamicSpai : public StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>> {
 public:
  using Base = StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>;
  using options_type = DynamicSpaiOptions;
  using typename Base::matrix_source;
  using typename Base::matrix_type;
  using typename Base::matrix_view;

  /// \throws OptionError for `Reuse::extend`
  explicit DynamicSpai(const DynamicSpaiOptions& options = {})
      : Base(DynamicSpaiOptions::name, options.reuse, false), m_options(resolved(options)) {}

  std::string name() const override { return DynamicSpaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  const DynamicSpaiOptions& options() const { return m_options; }

 private:
  /// The start pattern of M.
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override;
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override;

  DynamicSpaiOptions m_options;
};

}  // namespace prekond
