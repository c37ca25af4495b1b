// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/pattern/partition.hpp>
#include <prekond/precond/impl/local_methods.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

namespace impl::block {
template <class Scalar, class Space>
class SubdomainSolver;
}

/// How the solutions of overlapping subdomains are combined.
enum class SchwarzCombine {
  restricted,  ///< a row takes the solution of the subdomain that its own part has grown to
  additive     ///< a row takes the sum of the solutions of all subdomains that contain it
};

inline std::vector<std::pair<std::string, SchwarzCombine>> schwarz_combinations() {
  return {{"restricted", SchwarzCombine::restricted}, {"additive", SchwarzCombine::additive}};
}

/// Parameters of the Schwarz methods, which are block Jacobi with overlap = 0.
struct SchwarzOptions {
  static constexpr const char* name = "schwarz";
  static constexpr const char* summary =
      "overlapping diagonal blocks of a partition of the rows, solved by any method and combined";
  static constexpr const char* paper = "Cai, Sarkis, SIAM J. Sci. Comput. 21 (1999)";
  static constexpr const char* summary_without_overlap =
      "the diagonal blocks of a partition of the rows, inverted or factored by any method";

  PartitionMethod partition = PartitionMethod::automatic;
  std::optional<int> block_size = std::nullopt;
  int overlap = 1;
  SchwarzCombine combine = SchwarzCombine::restricted;
  MethodChoice local = {DenseBlockOptions::name, {}};

  void resolve() {
    if (block_size) return;
    if (partition == PartitionMethod::supervariables)
      block_size = 32;
    else
      block_size = local.name == DenseBlockOptions::name ? 64 : 512;
  }

  Properties properties() const { return with_combination(local_method_properties(local)); }
  /// The properties of the whole method, given those of the local method.
  Properties with_combination(Properties properties) const {
    if (combine == SchwarzCombine::restricted && overlap > 0) properties.symmetry = Symmetry::nonsymmetric;
    return properties;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("partition", partition, partition_choices(),
          "method that puts rows into blocks; metis, bisection and multilevel keep neighbours together, the "
          "first two on the host; rows takes consecutive rows; supervariables takes the unknowns of nodes; "
          "auto: multilevel on a device, on a host metis where the build has it, else bisection");
    visit(
        "block_size", block_size, 1, 1000000000,
        "mean number of rows of a block, with partition = supervariables the largest, up to which nodes are "
        "put together; raise it for fewer iterations, lower it for a cheaper setup and application; auto: 32 "
        "with supervariables, else 64 with local = dense and 512 with others");
    visit.formerly("max_block_size");
    visit("overlap", overlap, 0, 1000,
          "number of times that a block is extended by its neighbours in A + A^T; raise it for fewer "
          "iterations of higher cost; 0: block Jacobi");
    visit("combine", combine, schwarz_combinations(),
          "combination of the blocks that contain a row; restricted takes the solution of the row's own "
          "block and is not symmetric; additive takes the sum and is symmetric where the local method is");
    visit.method("local", local, local_method_table(),
                 "method that solves the blocks: dense, the inverse of each block, or any preconditioner, of "
                 "the block-diagonal matrix");
  }
};

/// The Schwarz methods with one level. With R_d the rows of subdomain d, which are the rows of a part S_d of
/// a partition and their neighbours in A + A^T, `overlap` times,
///
///   restricted (RAS):  M^-1 = sum_d Q_d^T A_d^-1 R_d,   Q_d = R_d on S_d and 0 on the other rows,
///   additive (AS):     M^-1 = sum_d R_d^T A_d^-1 R_d,   A_d = R_d A R_d^T,
///
/// each A_d^-1 by a local method. Without overlap both are block Jacobi, M = diag(A_1, ..., A_p).
///
/// The partition is made in `symbolic` from the graph of A + A^T (see partition_graph), or is the user's. One
/// thread of the host does the work of METIS and of the bisection, for which the graph is copied there once;
/// the report's notes tell its time. The execution space does all other work. A numeric phase takes A's
/// values by a map that `symbolic` made, and so needs the same pattern.
///
/// Local methods:
/// - `dense`: the inverse of each block. A symmetric positive definite block is inverted without exchanges,
///   any other with row pivoting. Small blocks (`partition = supervariables`) are the point-block Jacobi
///   method: a vector of lanes inverts a block of up to 32 rows, and a thread applies a row.
/// - any registered preconditioner, such as ilu0, ic0 or ilut: one setup and one application for the
///   block-diagonal matrix of all A_d, whose rows follow each other by subdomains.
///
/// The restricted combination writes each row once. The additive one sums the copies of a row in the order of
/// the subdomains, so that the result has the same bits for any number of threads.
///
/// RAS usually takes fewer iterations than AS and is not symmetric: choose gmres or bicgstab. Block Jacobi
/// and AS are symmetric where the local method is, and positive definite where the local solves of a positive
/// definite A are: choose cg.
///
/// Columns >= num_rows (of other ranks) are left out.
///
/// Cost: the local method's for the n_e rows of all subdomains; `dense` takes 2 m^3 operations in the setup
/// and m^2 numbers in an application for a block of m rows.
///
/// Memory: the local method's, 12 bytes for each entry of the blocks, and for AS n_e numbers a vector.
///
/// Breakdown: a singular block of `dense` is replaced by its diagonal, and all its rows are counted; other
/// local methods break down by their own rules. The report names the first row of A whose pivot was too
/// small, and that pivot.
///
/// Source: Cai, Sarkis, SIAM J. Sci. Comput. 21 (1999); Saad, Iterative Methods for Sparse Linear Systems,
/// 2nd ed., sections 12.2 and 14.3.3; block Jacobi: Li, Saad, J. Supercomput. 63 (2013), section 5.2; small
/// blocks: Anzt, Dongarra, Flegar, Quintana-Orti, Parallel Comput. 81 (2019).
template <class Scalar, class Space>
class Schwarz : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = SchwarzOptions;
  using typename Method::matrix_source;

  /// \throws OptionError see SchwarzOptions::resolve; for an unknown local method or option of it
  explicit Schwarz(const SchwarzOptions& options = {});
  ~Schwarz() override;

  std::string name() const override { return SchwarzOptions::name; }
  Properties properties() const override;

  /// Row i goes to block part(i) >= 0 in later symbolic phases, which ignore `partition` and `block_size`.
  /// Copies `part`; blocks without rows are dropped. An empty `part` brings the options back.
  void set_partition(const Space& space, const VectorView<const int, Space>& part);
  /// The partition of the last symbolic phase, without overlap. \throws std::logic_error before there was one
  const Partition<Space>& partition() const;
  /// The number n_e of rows of all subdomains together; 0 before symbolic.
  std::int64_t num_overlapping_rows() const;

  /// A workspace for the last symbolic phase. `apply` throws std::logic_error for one that was made before
  /// it, for blocks of other sizes, or by another preconditioner.
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  const SchwarzOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Solver = impl::block::SubdomainSolver<Scalar, Space>;
  bool sums_copies() const { return m_options.combine == SchwarzCombine::additive && m_options.overlap > 0; }

  SchwarzOptions m_options;
  Vector<int, Space> m_given;
  std::unique_ptr<Solver> m_solver;
};

}  // namespace prekond
