// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/block_reduce.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond {

/// A linear operator y = A x. Derive from it to give the solvers a matrix-free operator of your own.
template <class Scalar, class Space>
class Operator {
 public:
  using scalar_type = Scalar;
  using execution_space = Space;

  virtual ~Operator() = default;

  virtual std::int64_t num_rows() const = 0;
  virtual std::int64_t num_cols() const = 0;

  /// y = alpha A x + beta y, for x of num_cols() x k and y of num_rows() x k. With beta = 0, y is not read.
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y, Scalar alpha = 1, Scalar beta = 0) const = 0;

  /// y = A x and dot(0) = x^H y over this process's rows, for one vector. Here: the product, then a dot; an
  /// operator that can do both in one pass over the matrix overrides it.
  virtual void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                         VectorView<Scalar, Space> dot,
                         const ReduceWorkspace<Scalar, Space>& workspace) const {
    apply(space, as_multivector(x), as_multivector(y));
    dot_product(space, x, y, dot, workspace);
  }

 private:
  // A named member, because a lambda with device code may not stand in a virtual function's class body on
  // every compiler.
  static void dot_product(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                          VectorView<Scalar, Space> dot, const ReduceWorkspace<Scalar, Space>& workspace);
};

namespace impl {
template <class Scalar, class Space>
struct DotBody {  ///< x^H y
  VectorView<const Scalar, Space> x;
  VectorView<const Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const { sum[0] += conjugate(x(i)) * y(i); }
};
}  // namespace impl

template <class Scalar, class Space>
void Operator<Scalar, Space>::dot_product(const Space& space, VectorView<const Scalar, Space> x,
                                          VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
                                          const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<1>(space, "prekond::operator::dot", static_cast<std::int64_t>(y.extent(0)), workspace, dot,
                  impl::DotBody<Scalar, Space>{x, y});
}

}  // namespace prekond
