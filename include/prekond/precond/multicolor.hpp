// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/precond/impl/multicolor.hpp>
#include <prekond/precond/incomplete_options.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>

namespace prekond {

/// The order of a sweep's colours.
enum class SweepDirection { forward, backward, symmetric };

inline std::vector<std::pair<std::string, SweepDirection>> sweep_directions() {
  return {{"forward", SweepDirection::forward},
          {"backward", SweepDirection::backward},
          {"symmetric", SweepDirection::symmetric}};
}

/// Parameters of the multicolour Gauss-Seidel relaxation.
struct MulticolorGsOptions : MulticolorOptions {
  static constexpr const char* name = "multicolor_gs";
  static constexpr const char* summary = "Gauss-Seidel sweeps over the colours of the matrix's graph";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013)";

  int sweeps = 1;
  double omega = 1;
  SweepDirection direction = SweepDirection::forward;

  /// The options of the registry's alias `multicolor_ssor`.
  static MulticolorGsOptions symmetric() {
    MulticolorGsOptions options;
    options.direction = SweepDirection::symmetric;
    return options;
  }
  /// The name that messages and reports give these sweeps: the alias's for symmetric ones.
  const char* name_of_direction() const {
    return direction == SweepDirection::symmetric ? "multicolor_ssor" : name;
  }

  /// \throws OptionError for omega = 0 or 2
  void resolve() const {
    if (!(omega > 0 && omega < 2))
      throw OptionError(std::string(name_of_direction()) + ": omega has to be between 0 and 2, exclusive");
  }
  Properties properties() const {
    return {.symmetry =
                direction == SweepDirection::symmetric ? Symmetry::symmetric : Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("sweeps", sweeps, 1, 1000000,
          "number of sweeps k, where a symmetric one is a forward and a backward one; raise it where "
          "iterations are dear");
    visit("omega", omega, 0.0, 2.0, "relaxation factor, between 0 and 2; above 1 it over-relaxes");
    visit("direction", direction, sweep_directions(), "order of the colours; cg needs symmetric");
    MulticolorOptions::describe(visit);
  }
};

/// The preconditioner of k sweeps of successive over-relaxation for A x = b from x_0 = 0; y is x_k. With
/// direction `symmetric` it is SSOR, MC-SSOR(k).
///
/// Formula: with the triangles of Multicolor a forward sweep is, colour by colour,
///
///   x_i <- (1 - omega) x_i + omega (b_i - (L x)_i - (U x)_i) / a_ii.
///
/// A backward sweep goes from the last colour to the first, a symmetric one is a forward and a backward one.
/// One forward sweep has M = D / omega + L, one symmetric sweep
///
///   M = 1 / (omega (2 - omega)) (D + omega L) D^-1 (D + omega U).
///
/// The first forward half multiplies by L only. A symmetric sweep keeps the sum of each half: the backward
/// half, which multiplies by U, begins with b - L x of the forward one, and the other way round.
///
/// Symmetry: M is symmetric for `symmetric` and symmetric A, and positive definite for SPD A and every k; cg
/// refuses the other directions. Whether A is symmetric is not looked at: after `numeric` neither
/// `is_symmetric` nor `is_nonsymmetric` holds for `symmetric`, and adapters refuse transposed applications.
///
/// With sparsified colouring, or colours of the user's, entries W between two rows of one colour are left out
/// of the residual: the sweeps relax A - W. Algorithm 2 of the source multiplies by A's whole rows, so that
/// these entries act on the iterate before the colour. M of one symmetric sweep is then positive definite
/// only where (2 / omega - 1) D - W is; without W it is so for every SPD A and every k.
///
/// Cost: 2 nnz operations a sweep, less those of one triangle in the first sweep of one direction; a
/// symmetric sweep takes one product's operations. Memory and breakdown: see Multicolor.
///
/// \throws OptionError for omega = 0 or 2
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.3; the sums that are kept: Conrad, Wallach, Numer.
/// Math. 32 (1979).
template <class Scalar, class Space>
class MulticolorGs : public Multicolor<Scalar, Space> {
 public:
  using options_type = MulticolorGsOptions;
  explicit MulticolorGs(const MulticolorGsOptions& options = {});

  std::string name() const override { return m_options.name_of_direction(); }
  /// Once there is a matrix, M is not known to be symmetric, as the matrix is not looked at for that.
  Properties properties() const override {
    Properties result = m_options.properties();
    if (this->has_values() && result.symmetry == Symmetry::symmetric) result.symmetry = Symmetry::unknown;
    return result;
  }
  const MulticolorGsOptions& options() const { return m_options; }

 protected:
  using typename Multicolor<Scalar, Space>::matrix_view;
  using typename Multicolor<Scalar, Space>::Pattern;
  using typename Multicolor<Scalar, Space>::Factors;
  Factors find_factors(const Space& space, const matrix_view& a, const Pattern& pattern,
                       Report& report) const override;
  std::vector<impl::sweeps::HalfSweep> half_sweeps() const override;

 private:
  MulticolorGsOptions m_options;
};

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
  }
};

/// The preconditioner of k sweeps of Gauss-Seidel's method by blocks for A x = b from x_0 = 0; y is x_k.
///
/// Formula: A = D + L + U, D its b x b diagonal blocks, L and U the blocks in columns of earlier and later
/// colours. A forward sweep is x <- (D + L)^-1 (b - U x), a backward one x <- (D + U)^-1 (b - L x), a
/// symmetric one is both. Block rows of one colour do not depend on each other.
///
/// D^-1 L and D^-1 U are kept by blocks, and D^-1: colours are the levels of TriangularSolver's exact
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
  /// The colouring of the block rows.
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

/// Parameters of the multicolour ILU(0).
struct MulticolorIlu0Options : MulticolorOptions {
  static constexpr const char* name = "multicolor_ilu0";
  static constexpr const char* summary = "ILU(0) or IC(0) of the matrix in the order of its colours";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013)";

  IncompleteKind kind = IncompleteKind::ilu;

  Properties properties() const {
    if (kind == IncompleteKind::ic) return {.needs_spd = true, .symmetry = Symmetry::symmetric};
    return {.symmetry = Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "kind", kind, {{"ilu", IncompleteKind::ilu}, {"ic", IncompleteKind::ic}},
        "factorisation: ilu of a general matrix, or ic of a symmetric positive definite one, which cg needs");
    MulticolorOptions::describe(visit);
  }
};

/// M = (I + L) D (I + U) on the pattern of A in the order of its colours, without fill:
///
///   (M)_ij = a_ij for all (i, j) of the pattern,
///
/// for kind `ic` with U = L^T, where L is made only from A's lower triangle in that order. A is scaled to the
/// unit diagonal (see Multicolor), which changes nothing but rounding.
///
/// Rows of a colour depend on those of earlier colours: numeric is one launch a colour, a lane group a
/// row. An application is one sweep over the colours by L and one back by U, the kernel of MulticolorGs.
/// Fewer colours are more parallel, and drop more fill than the natural order does: more iterations.
///
/// Cost: numeric takes, for each entry (i, k) of L the row k of U (of L, for `ic`), with a binary search in
/// row i; an application takes 2 nnz operations. Memory: see Multicolor, and a value a row more.
///
/// Breakdown: a row whose pivot is not above the root of the precision's epsilon times its diagonal entry (in
/// size for `ilu`, with sign for `ic`), or with entries that are not finite, loses all of L and U but the
/// diagonal, a_ii. The report counts such rows, and has the first one's pivot relative to the diagonal
/// entry.
///
/// \throws InputError for a diagonal entry that is missing or not positive, with kind ic
///
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.3; Saad, Iterative Methods for Sparse Linear
/// Systems, 2nd ed., section 10.3.
template <class Scalar, class Space>
class MulticolorIlu0 : public Multicolor<Scalar, Space> {
 public:
  using options_type = MulticolorIlu0Options;
  explicit MulticolorIlu0(const MulticolorIlu0Options& options = {});

  std::string name() const override { return MulticolorIlu0Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const MulticolorIlu0Options& options() const { return m_options; }

 protected:
  using typename Multicolor<Scalar, Space>::matrix_view;
  using typename Multicolor<Scalar, Space>::Pattern;
  using typename Multicolor<Scalar, Space>::Factors;
  Factors find_factors(const Space& space, const matrix_view& a, const Pattern& pattern,
                       Report& report) const override;
  std::vector<impl::sweeps::HalfSweep> half_sweeps() const override;
  std::string needs_symmetric_pattern() const override {
    return m_options.kind == IncompleteKind::ic ? this->name() + ": kind = ic" : std::string();
  }

 private:
  MulticolorIlu0Options m_options;
};

}  // namespace prekond
