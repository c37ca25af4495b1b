// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>

namespace prekond {

/// How a matrix is scaled by diagonal matrices R A C of powers of two.
enum class ScalingKind {
  diagonal,     ///< R = C, |r_i^2 a_ii| in [1, 4): a unit diagonal but for the rounding to powers of two
  equilibrate,  ///< the largest |entry| of every row and column in [1, 4)
  given,        ///< the scales that the constructor was given, a matching's for one
};

/// Parameters of a scaling.
struct ScaledOptions {
  ScalingKind kind = ScalingKind::diagonal;
};

/// The preconditioner M of the scaled matrix R A C, for A itself: y = C M^-1 R x.
///
/// A method with it is the method on R A C with M, whose solution C undoes, but its residuals are those of
/// A: so its tolerances mean what they mean without. Powers of two scale exactly. Where A is Hermitian,
/// R = C, and M's properties are this one's.
///
/// `diagonal` is for positive definite matrices: of all diagonal scalings it comes within a factor of the
/// row length of the least condition number (van der Sluis, Numer. Math. 14 (1969)). A row whose diagonal
/// entry is missing, 0 or not finite keeps the scale 1. `equilibrate` is Ruiz's iteration in the maximum
/// norm, rounded downwards to powers of two: rows and columns at once by the roots of their largest entries,
/// until none changes, 20 times at most. A row or column without finite nonzero entries keeps the scale 1.
/// Where A is Hermitian but for rounding, two entries may be on both sides of a power of two, and R is not C:
/// for M that needs positive definite matrices, and for CG, take `diagonal`, which always has R = C.
///
/// `given` rounds the user's scales to the nearest powers of two, by their logarithms. With those of
/// maximum_product_matching the matched entries are in [1/2, 2], and others not above 2 exp(epsilon).
///
/// M is any MatrixPreconditioner, whose phases are this one's; its name, notes and breakdowns are this one's
/// too. Columns >= num_rows (of other ranks) are left out of R and C, and rows of other ranks are not passed
/// on; blocks and near-null-space vectors neither.
///
/// Cost besides M's: of a numeric phase a copy of A's values and one reading of A, of `equilibrate` one more
/// a sweep; of an application two passes over vectors. Memory: two numbers a row; a workspace has one vector
/// a column. Fences once a sweep.
///
/// Source: Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
template <class Scalar, class Space>
class Scaled : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Inner = MatrixPreconditioner<Scalar, Space>;
  using typename Inner::matrix_source;
  using typename Inner::matrix_view;
  using Real = real_type_t<Scalar>;

  /// \throws std::logic_error without M, and for ScalingKind::given
  explicit Scaled(std::shared_ptr<Inner> inner, const ScaledOptions& options = {});
  /// With scales that are given, positive numbers, one a row each, of every matrix that it will be set up
  /// with; what is 0 or not finite is taken as 1. The numeric phase throws an InputError where the matrix has
  /// another number of rows. \throws std::logic_error without M
  Scaled(std::shared_ptr<Inner> inner, const Vector<double, Space>& row_scale,
         const Vector<double, Space>& column_scale);
  ~Scaled() override;

  std::string name() const override { return m_inner->name(); }
  Properties properties() const override { return m_inner->properties(); }
  void set_listener(const typename Inner::Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  const Inner& inner() const { return *m_inner; }  ///< M
  const ScaledOptions& options() const { return m_options; }
  /// The diagonals of R and C, of the last numeric phase; num_rows each.
  const Vector<Real, Space>& row_scale() const { return m_row_scale; }
  const Vector<Real, Space>& column_scale() const { return m_column_scale; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  std::shared_ptr<Inner> m_inner;
  ScaledOptions m_options;
  Vector<double, Space> m_given_row_scale, m_given_column_scale;
  Vector<Real, Space> m_row_scale;
  Vector<Real, Space> m_column_scale;
};

}  // namespace prekond
