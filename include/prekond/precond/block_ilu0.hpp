// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/incomplete_options.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>

namespace prekond {

namespace impl::block_ilu {
template <class Scalar, class Space>
struct Symbolic;
template <class Scalar, class Space>
struct Factors;
}  // namespace impl::block_ilu
namespace impl::triangular {
template <class Scalar, class Space>
class SolvePair;
}  // namespace impl::triangular

/// Parameters of ILU(0) by blocks.
struct BlockIlu0Options : FactorOptions {
  static constexpr const char* name = "block_ilu0";
  static constexpr const char* summary = "ILU(0) of b x b blocks, with exact or inexact triangular solves";
  static constexpr const char* paper = "Ma, Hu, Yuan, Liu, Math. Probl. Eng. 2021";

  int block_size = 0;

  /// The factorisation's rows have the schedule of the solves.
  FactorSchedule schedule() const { return schedule_of(solve.method); }

  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric, .factors_in_order = true}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("block_size", block_size, 0, 32,
          "size b of a block; 0 takes that of a matrix given by blocks, or the unknowns of a node where they "
          "are known, else the size from 1 to 8 with the least memory");
    describe_shift(visit);
    constexpr bool by_blocks = true;
    describe_solve(visit, by_blocks);
  }
};

/// The incomplete factorisation ILU(0) by b x b blocks.
///
/// Formula: M = (D + W) (I + U) with (M)_ij = a_ij for all blocks (i, j) that A has an entry in, and all
/// diagonal ones. W and U are strict triangles of blocks on A's pattern, D is block-diagonal. With N = D^-1 W
///
///   y = (I + U)^-1 (I + N)^-1 D^-1 x,
///
/// each factor applied by a TriangularSolver: exactly, or by sweeps. It is ILU(0) of the matrix by
/// single rows with all entries of the blocks in its pattern, but for rounding and for the pivots, which are
/// chosen within D_i. The inverses of D's blocks are kept.
///
/// A matrix by blocks (see MatrixSource) is read as it is, one by single rows is put into blocks by each
/// numeric phase. Padding (see BcsrMatrix) counts as rows of the identity. Lane groups work on the block
/// rows, in scratch, by the levels of W's pattern or all in one launch, as the solves are; the result has the
/// same bits either way, for any number of threads.
///
/// Cost: numeric takes 2 b^3 operations for each pair of blocks (i, k), (k, j) with k < i, k < j and (i, j)
/// in the pattern, and as many for the inverse and each block's product with it. Memory: A's values, 4 bytes
/// a block and 24 a block row, and b^2 numbers a block row. During numeric, of matrices whose rows do not fit
/// scratch, A's values once more. Columns >= num_rows (of other ranks) are left out. For real scalars.
/// symbolic throws InputError where a block row has 2^31 entries or more.
///
/// Breakdown: a block D_i with a pivot that is not above the root of the precision's epsilon times the
/// largest entry of its column, once its rows are scaled alike, and a row with entries that are not finite.
/// The row loses its blocks but the diagonal one, and keeps of that its diagonal entries. Where no `shift` is
/// given A + alpha diag(A) is factored then, see IncompleteFactorization. The report counts block rows; its
/// first row is a single row, with its pivot relative to the column.
///
/// Source: Ma, Hu, Yuan, Liu, Math. Probl. Eng. 2021, 6613230, section 3.3; Saad, Iterative Methods for
/// Sparse Linear Systems, 2nd ed., section 10.3.2.
template <class Scalar, class Space>
class BlockIlu0 : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = BlockIlu0Options;
  using typename Method::matrix_source;

  explicit BlockIlu0(const BlockIlu0Options& options = {});
  ~BlockIlu0() override;

  std::string name() const override { return BlockIlu0Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const BlockIlu0Options& options() const { return m_options; }

  /// The block size of the last symbolic phase; 0 before the first.
  int block_size() const;
  using blocks_type = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  /// N, U and the blocks of D^-1 of the last numeric phase, which applications share; blocks by columns.
  /// \throws std::logic_error before it
  blocks_type factor_lower() const;
  blocks_type factor_upper() const;
  Vector<Scalar, Space> inverse_diagonal() const;
  /// alpha of the factors in use.
  double shift() const { return m_shift; }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Symbolic = impl::block_ilu::Symbolic<Scalar, Space>;
  using Factors = impl::block_ilu::Factors<Scalar, Space>;
  using Solves = impl::triangular::SolvePair<Scalar, Space>;

  /// Null of a matrix without rows.
  std::shared_ptr<const Symbolic> find_pattern(const Space& space, const matrix_source& source) const;
  const Factors& factors() const;

  BlockIlu0Options m_options;
  std::shared_ptr<const Symbolic> m_symbolic;
  std::shared_ptr<const Factors> m_factors;  ///< of a numeric phase
  std::shared_ptr<const Solves> m_solves;    ///< likewise
  bool m_has_values = false;                 ///< there was a numeric phase since symbolic
  double m_shift = 0;
};

}  // namespace prekond
