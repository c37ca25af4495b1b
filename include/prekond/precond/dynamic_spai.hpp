// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/properties.hpp>
#include <prekond/precond/spai.hpp>

namespace prekond {

/// Parameters of the dynamic SPAI.
struct DynamicSpaiOptions : StaticSetupOptions {
  static constexpr const char* name = "dynamic_spai";
  static constexpr const char* summary =
      "sparse approximate inverse of a general matrix that finds its own pattern, min ||A M - I|| in the "
      "Frobenius norm";
  static constexpr const char* paper = "Grote, Huckle, SIAM J. Sci. Comput. 18 (1997)";

  double epsilon = 0.4;
  int max_steps = 5;
  int step_size = 5;
  int max_fill = 50;
  Side side = Side::right;

  DynamicSpaiOptions() { setup_scalar = Precision::double_precision; }

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("epsilon", epsilon, 0.0, 1.0,
          "residual norm ||A m - e|| at which a column stops growing; a smaller epsilon makes a stronger and "
          "longer inverse");
    visit("max_steps", max_steps, 0, 10000,
          "largest number of growth steps of a column; raise it where columns do not reach epsilon");
    visit("step_size", step_size, 1, 1000,
          "largest number of entries that a step adds; more entries take fewer steps, and choose less well");
    visit("max_fill", max_fill, 1, 100000,
          "largest number of entries of a column; a start pattern that is longer stays as it is");
    visit("side", side, side_choices(),
          "norm that M minimises: right is ||A M - I||, by columns of M, left is ||M A - I||, by rows");
    StaticSetupOptions::describe(visit);
    visit.formerly("column_bytes");
  }
};

/// A sparse M ~ A^-1 whose columns find their own patterns, with small ||A M - I||_F (side = right) or ||M A
/// - I||_F (side = left): the dynamic SPAI, for a general matrix.
///
/// Formula: column k begins with the pattern J = {k} (or that of a power, or of a graph that the user gives)
/// and its least-squares solution m. With the residual r = e_k - A m, the candidates are the j with a_ij != 0
/// for an i with r_i != 0. One of them, added by itself, leaves the residual rho_j, rho_j^2 = ||r||^2 - (r^T
/// A e_j)^2 / ||A e_j||^2. A step adds the up to `step_size` best candidates with rho_j^2 not above the mean
/// (the smaller j of two with the same gain), as long as ||r|| > `epsilon`, there are at most `max_fill`
/// entries and `max_steps` steps. The QR goes on: the reflectors so far are applied to the new columns, whose
/// rest is factored.
///
/// Later phases: numeric phases solve on the pattern found, as the static SPAI, or find it anew (`reuse`).
///
/// Cost: that of the static SPAI on the pattern that is found, and for each step a reading of A^T's rows of
/// the candidates.
///
/// Memory: besides M A and A^T, M twice while it is put together, and two slabs, of the columns' workspaces
/// and of their results, of `workspace_budget` each; on the host a thread has the workspace of one column. A
/// column that reaches more rows or candidates than its workspace holds begins again in one that is four
/// times larger.
///
/// Breakdown and ranks: as in the static SPAI.
///
/// \throws InputError for a start pattern of more than `memory_budget` bytes, and for a column whose
/// workspace takes more
///
/// Source: Grote, Huckle (1997), algorithm of section 3.
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
