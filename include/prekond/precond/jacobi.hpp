// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>

namespace prekond {

/// The matrix that Jacobi inverts: the diagonal, the diagonal with the sizes of the row's other entries, or
/// diagonal blocks.
enum class JacobiType { point, l1, block };

/// Parameters of the Jacobi preconditioner.
struct JacobiOptions {
  static constexpr const char* name = "jacobi";
  static constexpr const char* summary =
      "the inverse of the diagonal, M = diag(A), or of blocks on it; sweeps";
  static constexpr const char* paper = "";

  JacobiType type = JacobiType::point;
  int block_size = 4;
  int sweeps = 1;
  double omega = 1;

  /// \throws OptionError for omega = 0
  void resolve() const {
    if (!(omega > 0)) throw OptionError("jacobi: omega has to be above 0");
  }
  Properties properties() const { return {.symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("type", type, {{"point", JacobiType::point}, {"l1", JacobiType::l1}, {"block", JacobiType::block}},
          "matrix D to invert: the diagonal (point), the diagonal with the sizes of the row's other entries "
          "added (l1), or diagonal blocks (block)");
    visit("block_size", block_size, 1, 32,
          "rows and columns of a block, with type block; best the unknowns of a node");
    visit("sweeps", sweeps, 1, 1000000,
          "number of sweeps k; raise it where applications are cheap; more than one keep a copy of A");
    visit("omega", omega, 0.0, 2.0, "damping of each sweep, above 0; lower it where the sweeps diverge");
  }
};

/// The preconditioner of k damped Jacobi sweeps for A x = b from x_0 = 0; y is x_k.
///
/// Formula: x <- x + omega D^-1 (b - A x); with one sweep, the default, y = omega D^-1 b. D depends on
/// `type`:
/// - `point`: D = diag(A).
/// - `l1`: d_i = a_ii + sign(a_ii) sum_(j != i) |a_ij|, where the columns of other ranks count too. For SPD A
///   the matrix D - A is positive semidefinite, so that the sweeps converge for omega < 2 and M is positive
///   definite.
/// - `block`: D holds A's diagonal blocks of `block_size` rows from the first row on; the last block may be
///   smaller. Gauss-Jordan elimination with row pivoting inverts them. A matrix by blocks of that size (see
///   MatrixSource) is read as it is.
///
/// Cost: numeric passes once over A's pattern (over A, for `l1` and `block`, and takes 2 n block_size^2
/// operations for `block`). An application reads n values, n block_size for `block`, and each further sweep
/// takes a product with A.
/// Memory: n values, or n block_size; more sweeps keep a copy of A, and two vectors a column in a workspace.
///
/// Breakdown: a diagonal entry (for `l1` with its row's sizes added) that is zero, missing or not finite; the
/// row is left unscaled. A block breaks down where a pivot is not above 16 epsilon times the largest entry of
/// its column, once the block's rows are scaled by powers of two to a largest entry in [1, 2), or where its
/// inverse is not finite; its rows are scaled as those of `point`. The report counts rows of both kinds.
///
/// Columns >= num_rows (of other ranks) are skipped but for the sizes of `l1`. Complex matrices are accepted.
///
/// \throws OptionError for omega = 0
/// Source: for `l1`, Baker, Falgout, Kolev, Yang, SIAM J. Sci. Comput. 33 (2011).
template <class Scalar, class Space>
class Jacobi : public MatrixPreconditioner<Scalar, Space> {
 public:
  using options_type = JacobiOptions;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_view;

  explicit Jacobi(const JacobiOptions& options = {});
  /// Written in a source file, for the host: an implicit one is compiled for a device too by HIP's compiler,
  /// and frees memory there.
  ~Jacobi() override;
  std::string name() const override { return JacobiOptions::name; }
  /// Once there is a matrix, M counts as symmetric only where it is so for every A with this diagonal.
  /// Blocks, several sweeps and an a_ii with an imaginary part exclude that.
  Properties properties() const override {
    return m_hermitian ? m_options.properties() : Properties{.symmetry = Symmetry::unknown};
  }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  const JacobiOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  void invert_point(const Space& space, const matrix_view& a, Report& report);
  void invert_l1(const Space& space, const matrix_view& a, Report& report);
  void invert_blocks(const Space& space, const matrix_source& source, Report& report);
  bool is_known_hermitian(const Space& space) const;
  /// Keeps the copy of A that further sweeps multiply by; for point and l1 it is omega D^-1 A.
  void keep_matrix(const Space& space, const matrix_view& a);
  bool is_block() const { return m_options.type == JacobiType::block; }

  JacobiOptions m_options;
  Vector<Scalar, Space> m_inverse;  ///< omega D^-1; blocks are stored row by row
  StoredMatrix<Scalar, Space> m_matrix;
  bool m_hermitian = true;  ///< false: M depends on more than A's diagonal, or that is not real
};

}  // namespace prekond
