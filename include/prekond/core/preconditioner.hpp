// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/report.hpp>
#include <prekond/core/views.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace prekond {

/// The memory that a preconditioner needs to apply itself, made once by the solver with `make_workspace`. Two
/// threads that apply the same preconditioner at the same time need two workspaces, nothing else.
class Workspace {
 public:
  virtual ~Workspace() = default;
};

/// An approximation M^-1 of an operator's inverse: y = M^-1 x. Derive from it to give the solvers one of your
/// own; how it is set up is then its own affair (`MatrixPreconditioner` adds the phases of those that are
/// made from a matrix).
template <class Scalar, class Space>
class Preconditioner {
 public:
  using scalar_type = Scalar;
  using execution_space = Space;

  virtual ~Preconditioner() = default;

  virtual std::string name() const = 0;
  virtual std::int64_t num_rows() const = 0;

  /// y = M^-1 x for k vectors. Const, allocates nothing, does not fence. `workspace` comes from
  /// `make_workspace` with at least k vectors.
  ///
  /// \pre x and y share no memory
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;

  virtual std::unique_ptr<Workspace> make_workspace(const Space& /*space*/, int /*num_vectors*/) const {
    return std::make_unique<Workspace>();
  }

  /// Is M^-1 Hermitian, its own conjugate transpose (for real scalars: symmetric)? Then a
  /// conjugate-transposed application is an application.
  virtual bool is_symmetric() const { return false; }

  /// Is M^-1 known not to be symmetric, whatever the matrix? Methods that need a symmetric one (cg) refuse
  /// it. Neither this nor `is_symmetric` holds where it is not known, as of a preconditioner that says
  /// nothing: such a one is taken.
  virtual bool is_nonsymmetric() const { return false; }

  /// Is M another operator for another vector, as an iteration inside of it makes it? Then it needs a
  /// flexible solver (fgmres, cg with `flexible`, richardson); the others refuse it.
  virtual bool is_variable() const { return false; }

  virtual const Report& report() const {
    static const Report empty;
    return empty;
  }
};

}  // namespace prekond
