// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/local_methods.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>

namespace prekond {

namespace impl::block {
template <class Scalar, class Space>
class SubdomainSolver;
}

/// Parameters of block Jacobi.
struct BlockJacobiOptions : BlockMethodOptions {
  static constexpr const char* name = "block_jacobi";
  static constexpr const char* summary =
      "the diagonal blocks of a partition of the rows, inverted or factored by any method";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013), section 5.2";

  /// \throws OptionError for num_blocks and block_size together, or one of them with supervariables
  void resolve() { BlockMethodOptions::resolve(name); }

  Properties properties() const { return local_properties(); }

  template <class Visitor>
  void describe(Visitor& visit) {
    BlockMethodOptions::describe(visit);
    describe_local(visit);
  }
};

/// M = diag(A_1, ..., A_p), the diagonal blocks A_d = A[S_d, S_d] of a partition S_1, ..., S_p of the rows,
/// each inverted or approximated by a local method: y[S_d] = M_d^-1 x[S_d].
///
/// The partition is made in `symbolic`, of the graph of A + A^T (see BlockPartitionOptions, partition_graph),
/// or is the user's. One thread of the host does the work of METIS and of the bisection, for which the graph
/// is copied there once, puts the rows in the order of the parts, and puts supervariables together in one
/// pass; the report's notes say how long it took. All else is done in the execution space.
///
/// Local methods:
/// - `dense`: the block's inverse, 2 m^3 operations and m^2 numbers for m rows; an application multiplies by
///   it. A symmetric positive definite block without exchanges, any other with row pivoting. Small blocks
///   (`partition = supervariables`) are the point-block Jacobi: a vector of lanes inverts a block of up to 32
///   rows, a thread applies a row.
/// - `ilu0`, `ic0`, `ilut`: incomplete factors of the blocks, each by a vector of lanes that goes through the
///   block's rows, in a setup and in an application; a block's part of x is in scratch where it fits.
/// - any other: the preconditioner of this name for the block-diagonal matrix, one setup and one application
///   for all blocks. The rows are in the order of the blocks there.
///
/// A numeric phase takes A's values by a map that `symbolic` made: the same pattern is assumed. Symmetric
/// where the local method is, and for SPD A positive definite where that is. CG takes `dense` (for Hermitian
/// A) and `ic0`; ILUs of symmetric blocks are symmetric to rounding, which is said as unknown.
///
/// Breakdown: a singular block of `dense` falls back to its diagonal, a row of an incomplete factor to its
/// diagonal entry. The report counts the rows (of a singular block all of them), and has the row of A whose
/// pivot was the first one too small, and that pivot. Columns >= num_rows (of other ranks)
/// are left out.
///
/// Memory: the local method's, and of the blocks' entries 12 bytes each for their map.
///
/// Source: Li, Saad, section 5.2; Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.2;
/// of small blocks Anzt, Dongarra, Flegar, Quintana-Orti, Parallel Comput. 81 (2019).
template <class Scalar, class Space>
class BlockJacobi : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = BlockJacobiOptions;
  using typename Method::matrix_source;

  /// \throws OptionError see BlockJacobiOptions::resolve; for an unknown local method or option of it
  explicit BlockJacobi(const BlockJacobiOptions& options = {});
  ~BlockJacobi() override;

  std::string name() const override { return BlockJacobiOptions::name; }
  Properties properties() const override;

  /// Row i goes to block part(i) >= 0, in later symbolic phases; `partition`, `num_blocks` and `block_size`
  /// are not looked at. Copies it. Blocks without rows are dropped. An empty one: by the options again.
  void set_partition(const Space& space, const VectorView<const int, Space>& part);
  /// Of the last symbolic phase. \throws std::logic_error before there was one
  const Partition<Space>& partition() const;

  /// Of the last symbolic phase: `apply` throws std::logic_error for one that was made before it, for blocks
  /// of other sizes, or by another preconditioner.
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  const BlockJacobiOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Solver = impl::block::SubdomainSolver<Scalar, Space>;
  BlockJacobiOptions m_options;
  Vector<int, Space> m_given;
  std::unique_ptr<Solver> m_solver;
};

}  // namespace prekond
