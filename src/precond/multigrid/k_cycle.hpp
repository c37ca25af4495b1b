// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A coarser level's two steps in a K-cycle.
#include <prekond/core/impl/block_reduce.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/core/views.hpp>

#include "precond/setup/workspace_columns.hpp"

#include <limits>

namespace prekond::impl::amg {

/// Which method the two steps are of: both minimise over the corrections c and d, in a norm of the error.
enum class KSteps {
  conjugate_gradients,  ///< ||e||_A, for symmetric positive definite A: projects on c and d
  minimal_residual,     ///< ||b - A x||, for others: projects on A c and A d
};

/// A column's inner products, t and u what is projected on:
/// with t of c: rho1 = (t, A c), alpha1 = (t, b);
/// with u of d: gamma = (u, A c), beta = (u, A d), alpha2 = (u, b - A c alpha1 / rho1).
/// In the order in which they are filed.
struct KScalars {
  enum { rho1, alpha1, first_count, gamma = first_count, beta, alpha2, size };
};

/// alpha1 / rho1 where that is a step, else 0.
template <class Scalar>
KOKKOS_FUNCTION Scalar first_step(const Scalar* s) {
  const Scalar step = s[KScalars::alpha1] / s[KScalars::rho1];
  return s[KScalars::rho1] > Scalar(0) && Kokkos::isfinite(step) ? step : Scalar(0);
}

/// Factors of c and d.
template <class Scalar>
struct KFactors {
  Scalar of_c = 0, of_d = 0;
};

/// rho2 = beta - gamma^2 / rho1 is the square of d's part orthogonal to c. Where rounding has left nothing of
/// it, there is only the first step. With minimal residuals (A d, A c) = (A c, A d); with conjugate gradients
/// A is symmetric.
template <class Scalar>
KOKKOS_FUNCTION KFactors<Scalar> both_steps(const Scalar* s) {
  const Scalar first = first_step(s), beta = s[KScalars::beta], gamma = s[KScalars::gamma];
  const Scalar ratio = first == Scalar(0) ? Scalar(0) : gamma / s[KScalars::rho1];
  const Scalar rho2 = beta - gamma * ratio;
  const Scalar second = s[KScalars::alpha2] / rho2, together = first - ratio * second;
  const bool is_step = rho2 > Scalar(16) * std::numeric_limits<Scalar>::epsilon() * beta &&
                       Kokkos::isfinite(second) && Kokkos::isfinite(together);
  if (first == Scalar(0) || !is_step) return {first, Scalar(0)};
  return {together, second};
}

/// rho1 and alpha1
template <class Scalar, class Space>
struct FirstDots {
  VectorView<const Scalar, Space> t, product, b;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    sum[0] += t(i) * product(i);
    sum[1] += t(i) * b(i);
  }
};

/// gamma, beta and alpha2
template <class Scalar, class Space>
struct SecondDots {
  VectorView<const Scalar, Space> u, first_product, product, b;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    sum[0] += u(i) * first_product(i);
    sum[1] += u(i) * product(i);
    sum[2] += u(i) * b(i);
  }
};

/// b <- b - A c alpha1 / rho1, a column's scalars in a column of `scalars`.
template <class Scalar, class Space>
struct TakeFirstStep {
  MultiVectorView<const Scalar, Space> scalars, product;
  MultiVectorView<Scalar, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < b.extent(1); ++k) {
      const Scalar step = first_step(&scalars(0, k));
      if (step != Scalar(0)) b(i, k) -= step * product(i, k);
    }
  }
};

/// x, which is d <- of_c c + of_d d. A vector with the factor 0 may have any values.
template <class Scalar, class Space>
struct TakeBothSteps {
  MultiVectorView<const Scalar, Space> scalars, c;
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < x.extent(1); ++k) {
      const auto [of_c, of_d] = both_steps(&scalars(0, k));
      x(i, k) =
          (of_c != Scalar(0) ? of_c * c(i, k) : Scalar(0)) + (of_d != Scalar(0) ? of_d * x(i, k) : Scalar(0));
    }
  }
};

/// The vectors that two steps write besides x and b.
template <class Scalar, class Space>
struct StepVectors {
  StepVectors() = default;
  StepVectors(const Space& space, std::int64_t num_rows, int num_vectors)
      : first(allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::first_step", num_rows, num_vectors)),
        product(allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::first_product", num_rows,
                                                     num_vectors)),
        scalars(allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::scalars", KScalars::size,
                                                     num_vectors)) {}

  MultiVector<Scalar, Space> first, product;  ///< c and A c
  MultiVector<Scalar, Space> scalars;         ///< KScalars, a column each
};

/// Two steps of a flexible Krylov method for A x = b from zero, over all ranks of the reducer.
/// `cycle(b, x)` is the level's cycle, `multiply(x, y)` y = A x, and `product_d` room for A d, which the
/// cycle may overwrite. b is overwritten.
///
/// Shapes: b, x and product_d the rank's rows x k, `vectors` of as many rows and k columns at least.
/// Cost: two cycles, two products, and for each of the k vectors two reductions, over ranks with a sum each.
template <class Scalar, class Space, class Cycle, class Multiply>
void two_steps(const Space& space, KSteps method, const MultiVectorView<Scalar, Space>& b,
               const MultiVectorView<Scalar, Space>& x, const StepVectors<Scalar, Space>& vectors,
               const MultiVectorView<Scalar, Space>& product_d, ReduceWorkspace<Scalar, Space>& reduce,
               const Reducer<Scalar, Space>& reducer, const Cycle& cycle, const Multiply& multiply) {
  using View = MultiVectorView<Scalar, Space>;
  const std::size_t count = b.extent(1);
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, b.extent(0));
  const auto n = static_cast<std::int64_t>(b.extent(0));
  const View c = first_columns<Scalar, Space>(vectors.first, count), d = x,
             product_c = first_columns<Scalar, Space>(vectors.product, count),
             scalars = first_columns<Scalar, Space>(vectors.scalars, count);
  const bool by_energy = method == KSteps::conjugate_gradients;
  const auto filed = [&](std::size_t k, int first, int number) {
    return VectorView<Scalar, Space>(column(scalars, k).data() + first, number);
  };
  cycle(b, c);
  multiply(c, product_c);
  for (std::size_t k = 0; k < count; ++k) {
    const VectorView<Scalar, Space> sums = filed(k, KScalars::rho1, KScalars::first_count);
    block_reduce<2>(
        space, "prekond::amg::first_dots", n, reduce, sums,
        FirstDots<Scalar, Space>{column(by_energy ? c : product_c, k), column(product_c, k), column(b, k)});
    reducer.sum(space, sums);
  }
  Kokkos::parallel_for("prekond::amg::take_first_step", rows,
                       TakeFirstStep<Scalar, Space>{scalars, product_c, b});
  cycle(b, d);
  multiply(d, product_d);
  for (std::size_t k = 0; k < count; ++k) {
    const VectorView<Scalar, Space> sums = filed(k, KScalars::gamma, KScalars::size - KScalars::gamma);
    block_reduce<3>(space, "prekond::amg::second_dots", n, reduce, sums,
                    SecondDots<Scalar, Space>{column(by_energy ? d : product_d, k), column(product_c, k),
                                              column(product_d, k), column(b, k)});
    reducer.sum(space, sums);
  }
  Kokkos::parallel_for("prekond::amg::take_both_steps", rows, TakeBothSteps<Scalar, Space>{scalars, c, x});
}

}  // namespace prekond::impl::amg
