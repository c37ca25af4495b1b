// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/block_reduce.hpp>
#include <prekond/core/impl/row_numbers.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond {

/// One step of a recurrence in A, y = product A x + direct x + previous y + source b: of Chebyshev's
/// iteration, of Clenshaw's for a sum of orthogonal polynomials, of Richardson's.
template <class Scalar>
struct RecurrenceStep {
  Scalar product = 1;   ///< of A x
  Scalar direct = 0;    ///< of x; A is square where it is not zero
  Scalar previous = 0;  ///< of y before; y is not read where it is zero
  Scalar source = 0;    ///< of b; b is not read, and may be empty, where it is zero
};

/// A linear operator y = A x. Derive from it to give the solvers a matrix-free operator of your own.
template <class Scalar, class Space>
class Operator {
 public:
  using scalar_type = Scalar;
  using execution_space = Space;

  virtual ~Operator() = default;

  virtual std::int64_t num_rows() const = 0;
  virtual std::int64_t num_cols() const = 0;

  /// The global numbers of this process's rows. Here: those of a single process, 0, 1, ...; an
  /// operator whose rows are distributed overrides it.
  virtual RowNumbers<Space> row_numbers(const Space& /*space*/) const { return {num_rows(), 0, {}}; }

  /// y = alpha A x + beta y, for x of num_cols() x k and y of num_rows() x k. With beta = 0, y is not read.
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y, Scalar alpha = 1, Scalar beta = 0) const = 0;

  /// y = product A x + direct x + previous y + source b, for k columns. Here: the last three terms, then the
  /// product; an operator that can do both in one pass over the matrix overrides it. \pre y shares no memory
  /// with x and b
  virtual void apply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                                MultiVectorView<const Scalar, Space> x,
                                MultiVectorView<const Scalar, Space> b,
                                MultiVectorView<Scalar, Space> y) const {
    combine(space, step, x, b, y);
    apply(space, x, y, step.product, Scalar(1));
  }

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
  static void combine(const Space& space, const RecurrenceStep<Scalar>& step,
                      MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                      MultiVectorView<Scalar, Space> y);
};

namespace impl {
/// y = direct x + previous y + source b
template <class Scalar, class Space>
struct CombineBody {
  RecurrenceStep<Scalar> step;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<const Scalar, Space> b;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      Scalar sum = 0;
      if (step.source != Scalar(0)) sum = step.source * b(i, v);
      if (step.previous != Scalar(0)) sum += step.previous * y(i, v);
      if (step.direct != Scalar(0)) sum += step.direct * x(i, v);
      y(i, v) = sum;
    }
  }
};

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

template <class Scalar, class Space>
void Operator<Scalar, Space>::combine(const Space& space, const RecurrenceStep<Scalar>& step,
                                      MultiVectorView<const Scalar, Space> x,
                                      MultiVectorView<const Scalar, Space> b,
                                      MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for("prekond::operator::combine", Kokkos::RangePolicy<Space>(space, 0, y.extent(0)),
                       impl::CombineBody<Scalar, Space>{step, x, b, y});
}

}  // namespace prekond
