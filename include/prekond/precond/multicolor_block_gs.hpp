// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/multicolor_gs.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>

namespace prekond {

namespace impl::block_gs {
template <class Space>
struct Pattern;
template <class Scalar, class Space>
class Sweeps;
}  // namespace impl::block_gs

/// Parameters of multicolour Gauss-Seidel by blocks.
struct MulticolorBlockGsOptions {
  static constexpr const char* name = "multicolor_block_gs";
  static constexpr const char* summary =
      "Gauss-Seidel sweeps of b x b blocks over the colours of their graph";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.4";

  int block_size = 0;
  int sweeps = 1;
  SweepDirection direction = SweepDirection::forward;
  ColoringOrder order = ColoringOrder::natural;
  bool two_colors = true;
  Reuse reuse = Reuse::pattern;

  Properties properties() const {
    return {.symmetry =
                direction == SweepDirection::symmetric ? Symmetry::symmetric : Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("block_size", block_size, 0, 32,
          "size b of a block; 0 takes that of a matrix given by blocks, or the unknowns of a node where they "
          "are known, else the size from 1 to 8 with the least memory");
    visit("sweeps", sweeps, 1, 1000000,
          "number of sweeps k, where a symmetric one is a forward and a backward one");
    visit("direction", direction, sweep_directions(), "order of the colours; cg needs symmetric");
    visit("order", order, coloring_orders(),
          "order of the block rows in the greedy colouring: by index, most neighbours first, or random");
    visit("two_colors", two_colors,
          "whether a colouring by two colours is tried first, which 5- and 7-point stencils have");
    visit("reuse", reuse, reuse_choices(),
          "whether a second numeric phase keeps the colours or finds them anew");
  }
};

/// The preconditioner of k sweeps of Gauss-Seidel's method by blocks for A x = b from x_0 = 0; y is x_k.
///
/// Formula: A = D + L + U, D its b x b diagonal blocks, L and U the blocks in columns of earlier and later
/// colours. A forward sweep is x <- (D + L)^-1 (b - U x), a backward one x <- (D + U)^-1 (b - L x), a
/// symmetric one is both. Block rows of one colour do not depend on each other.
///
/// D^-1 L and D^-1 U are kept by blocks, and D^-1: colours are the levels of BlockTriangularSolver's exact
/// solves. A matrix by blocks (see MatrixSource) is read as it is, one by single rows is put into blocks.
///
/// M is symmetric for `symmetric` and symmetric A, and then positive definite for SPD A; whether A is
/// symmetric is not looked at. Cost: an application takes 2 b^2 operations for each block of D and of one
/// triangle in the first half sweep, of D^-1 A in every further one.
/// Memory: A's values, 4 bytes a block and
/// 24 a block row. A workspace has three vectors a column. Columns >= num_rows (of other ranks) are skipped.
/// For real scalars.
///
/// Breakdown: a diagonal block that is missing or singular falls back to its diagonal entries, the largest
/// one of the row for those without a finite inverse; entries of D^-1 A that are not finite count as 0. The
/// report counts block rows.
///
/// Source: Saad, section 12.4; Li, Saad, J. Supercomput. 63 (2013), section 5.3.
template <class Scalar, class Space>
class MulticolorBlockGs : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = MulticolorBlockGsOptions;
  using typename Method::matrix_source;

  explicit MulticolorBlockGs(const MulticolorBlockGsOptions& options = {});
  ~MulticolorBlockGs() override;

  std::string name() const override { return MulticolorBlockGsOptions::name; }
  Properties properties() const override {
    Properties result = m_options.properties();
    if (m_sweeps && result.symmetry == Symmetry::symmetric) result.symmetry = Symmetry::unknown;
    return result;
  }
  const MulticolorBlockGsOptions& options() const { return m_options; }
  /// The colouring of the block rows, of the last phase that looked for one (`reuse`).
  const Coloring<Space>& coloring() const { return m_coloring; }
  int block_size() const;  ///< of that phase; 0 before the first

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Pattern = impl::block_gs::Pattern<Space>;
  using Sweeps = impl::block_gs::Sweeps<Scalar, Space>;

  /// Null of a matrix without rows.
  std::shared_ptr<const Pattern> find_pattern(const Space& space, const matrix_source& source,
                                              Coloring<Space>& coloring) const;

  MulticolorBlockGsOptions m_options;
  Coloring<Space> m_coloring;
  std::shared_ptr<const Pattern> m_pattern;
  std::shared_ptr<const Sweeps> m_sweeps;  ///< of a numeric phase
  bool m_has_values = false;               ///< there was one since symbolic
};

}  // namespace prekond
