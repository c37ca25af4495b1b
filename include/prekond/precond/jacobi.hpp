// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

namespace prekond {

struct JacobiOptions {
  static constexpr const char* name = "jacobi";
  static constexpr const char* summary = "the inverse of the diagonal, M = diag(A)";
  static constexpr const char* paper = "";
  Properties properties() const { return {.symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor&) {}
};

/// y_i = x_i / a_ii. Cost: one pass over A's pattern, n values.
/// A diagonal entry that is zero, missing or not finite breaks down: that row is left unscaled and reported.
template <class Scalar, class Space>
class Jacobi : public MatrixPreconditioner<Scalar, Space> {
 public:
  using options_type = JacobiOptions;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_view;

  explicit Jacobi(const JacobiOptions& = {}) {}
  /// Written in a source file, for the host: an implicit one is compiled for a device too by HIP's compiler,
  /// and frees memory there.
  ~Jacobi() override;
  std::string name() const override { return JacobiOptions::name; }
  /// Not symmetric where an a_ii has an imaginary part: then A is not Hermitian.
  Properties properties() const override {
    return m_hermitian ? JacobiOptions().properties() : Properties{.symmetry = Symmetry::unknown};
  }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  Vector<Scalar, Space> m_inverse;
  bool m_hermitian = true;
};

}  // namespace prekond
