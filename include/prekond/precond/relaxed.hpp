// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>

namespace prekond {

/// The part of a square matrix: all of it, or a triangle with its diagonal.
enum class MatrixPart { whole, lower, upper };

/// Parameters of a relaxation.
struct RelaxedOptions {
  int steps = 1;                        ///< k >= 0
  MatrixPart part = MatrixPart::whole;  ///< of A, which the steps multiply by
  bool unit_diagonal = false;           ///< whether a triangle's diagonal is 1, stored or not

  /// \throws OptionError for a negative number of steps, and a unit diagonal of the whole matrix
  void resolve() const {
    if (steps < 0) throw OptionError("relaxation: steps = " + std::to_string(steps) + "; it has to be >= 0");
    if (unit_diagonal && part == MatrixPart::whole)
      throw OptionError("relaxation: unit_diagonal is for a triangle, part = lower or upper");
  }
};

/// A preconditioner M made stronger by k steps of Richardson's iteration:
///
///   y_0 = M^-1 x,  y_(l + 1) = y_l + M^-1 (x - A y_l) for l < k,
///
/// which is y_k = sum_(j <= k) (I - M^-1 A)^j M^-1 x, the first k + 1 terms of the Neumann series of A^-1.
/// The error falls in each step by the factor of I - M^-1 A, where its spectral radius is below 1. With k = 0
/// it is M itself.
///
/// M is any MatrixPreconditioner, whose phases are this one's. It may be shared with others that apply it;
/// only one of them may run its phases. Its name, notes and breakdowns are this one's too.
///
/// A is one of these:
/// - a copy, which each numeric phase makes of the matrix that it is given: the whole or a triangle (`part`),
///   for M that approximates a triangular solve. With M of the triangle's diagonal I - M^-1 A is nilpotent:
///   after one step less than the triangle has levels y is the solution. Columns >= num_rows (of other ranks)
///   are left out.
/// - an operator of the caller's, which is then A for M's phases as well and is not copied.
///
/// It is symmetric with the whole A where M is; a triangle's relaxation is not. For SPD M and A it is
/// positive definite for even k, and for odd k where the eigenvalues of M^-1 A are below 2.
///
/// Cost: an application takes k + 1 of M's and, for each step, 2 nnz(A) + n operations a vector.
/// Memory: the copy, which the report's bytes count; a workspace has one vector a column in addition to M's
/// own, and a second one where M cannot add to a vector (`can_apply_add`). Breakdown: only M's.
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 4.1 and 12.3.1; of triangular
/// solves Anzt, Huckle, Braeckle, Dongarra, Parallel Comput. 71 (2018).
template <class Scalar, class Space>
class Relaxed : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Inner = MatrixPreconditioner<Scalar, Space>;
  using typename Inner::matrix_source;
  using typename Inner::matrix_view;

  /// By a copy of A. \throws OptionError for options that mean nothing \throws std::logic_error without M
  explicit Relaxed(std::shared_ptr<Inner> inner, const RelaxedOptions& options = {});
  /// By `a`. Its numeric phases throw InputError where `a` has another size than the matrix's square part.
  Relaxed(std::shared_ptr<Inner> inner, std::shared_ptr<const Operator<Scalar, Space>> a, int steps = 1);

  std::string name() const override { return m_inner->name(); }
  Properties properties() const override;
  void set_listener(const typename Inner::Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  const Inner& inner() const { return *m_inner; }  ///< M
  const RelaxedOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  Matrix copy_part(const Space& space, const matrix_view& a) const;
  void check_given(std::int64_t num_rows) const;

  std::shared_ptr<Inner> m_inner;
  RelaxedOptions m_options;
  std::shared_ptr<const Operator<Scalar, Space>> m_given;  ///< null: A is copied
  std::shared_ptr<const Operator<Scalar, Space>> m_a;      ///< of a numeric phase, where there are steps
};

}  // namespace prekond
