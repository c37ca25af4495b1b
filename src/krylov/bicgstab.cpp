// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/krylov/bicgstab.hpp>

#include "core/instantiate.hpp"
#include "iteration.hpp"
#include "random_vector.hpp"

#include <cmath>
#include <vector>

namespace prekond {
namespace {

/// A column's scalars. Two sets alternate.
struct Scalars {
  static constexpr int size = 6;
  static constexpr krylov::Group residual{0, 2};  ///< rho = (r^, r), (r, r)
  static constexpr krylov::Group pivot{2, 1};     ///< sigma = (r^, v)
  static constexpr krylov::Group omega{3, 3};     ///< (s, s), (t, s), (t, t)
};

/// A column of the vectors.
template <class Scalar, class Space>
struct Vectors {
  VectorView<Scalar, Space> x, r, shadow;  ///< s takes r's place
  VectorView<Scalar, Space> p, z, v;       ///< v = K p, z = M^-1 p (or p)
  VectorView<Scalar, Space> y, t;          ///< t = K s, y = M^-1 s (or s)
};

/// p = r + beta (p - omega v)
template <class Scalar, class Space>
void update_direction(const Space& space, const Vectors<Scalar, Space>& vectors,
                      VectorView<const Scalar, Space> residual, VectorView<const Scalar, Space> pivot_before,
                      VectorView<const Scalar, Space> omega_before, bool first) {
  const VectorView<Scalar, Space> p = vectors.p;
  const VectorView<const Scalar, Space> r = vectors.r, v = vectors.v;
  Kokkos::parallel_for(
      "prekond::bicgstab::update_direction", Kokkos::RangePolicy<Space>(space, 0, p.extent(0)),
      KOKKOS_LAMBDA(int i) {
        if (first) {
          p(i) = r(i);
          return;
        }
        // alpha of the last step is (r^, r)_old / sigma, so that beta has no (r^, r)_old.
        const Scalar omega = omega_before(1) / omega_before(2);
        const Scalar beta = residual(0) / pivot_before(0) / omega;
        p(i) = r(i) + beta * (p(i) - omega * v(i));
      });
}

/// (r^, v)
template <class Scalar, class Space>
void pivot_dot(const Space& space, const Vectors<Scalar, Space>& vectors, VectorView<Scalar, Space> result,
               const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<1>(space, "prekond::bicgstab::pivot_dot", vectors.v.extent(0), workspace, result,
                  impl::DotBody<Scalar, Space>{vectors.shadow, vectors.v});
}

/// s = r - alpha v, in r's place, and (s, s)
template <class Scalar, class Space>
void half_step(const Space& space, const Vectors<Scalar, Space>& vectors,
               VectorView<const Scalar, Space> residual, VectorView<const Scalar, Space> pivot,
               VectorView<Scalar, Space> result, const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<Scalar, Space> r = vectors.r;
  const VectorView<const Scalar, Space> v = vectors.v;
  block_reduce<1>(
      space, "prekond::bicgstab::half_step", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        const Scalar alpha = ratio_or_zero<Scalar>(residual(0), pivot(0));
        if (alpha != Scalar(0)) r(i) -= alpha * v(i);
        sum[0] += conjugate(r(i)) * r(i);
      });
}

/// (t, s) and (t, t)
template <class Scalar, class Space>
void omega_dots(const Space& space, const Vectors<Scalar, Space>& vectors, VectorView<Scalar, Space> result,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> s = vectors.r, t = vectors.t;
  block_reduce<2>(
      space, "prekond::bicgstab::omega_dots", s.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(t(i)) * s(i);
        sum[1] += conjugate(t(i)) * t(i);
      });
}

/// x += alpha z + omega y, r = s - omega t, and (r^, r), (r, r). Where s has converged omega is 0.
template <class Scalar, class Space>
void full_step(const Space& space, const Vectors<Scalar, Space>& vectors,
               VectorView<const Scalar, Space> residual, VectorView<const Scalar, Space> pivot,
               VectorView<const Scalar, Space> omega_group, double threshold2,
               VectorView<Scalar, Space> result, const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<Scalar, Space> x = vectors.x, r = vectors.r;
  const VectorView<const Scalar, Space> z = vectors.z, y = vectors.y, t = vectors.t, shadow = vectors.shadow;
  block_reduce<2>(
      space, "prekond::bicgstab::full_step", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        const Scalar alpha = ratio_or_zero<Scalar>(residual(0), pivot(0));
        const bool half = static_cast<double>(real_part(omega_group(0))) <= threshold2;
        const Scalar omega = half ? Scalar(0) : ratio_or_zero<Scalar>(omega_group(1), omega_group(2));
        // y may be r itself. A vector that is not finite does not enter x where its factor is 0.
        const Scalar y_i = y(i);
        if (alpha != Scalar(0)) x(i) += alpha * z(i);
        if (omega != Scalar(0)) {
          x(i) += omega * y_i;
          r(i) -= omega * t(i);
        }
        sum[0] += conjugate(shadow(i)) * r(i);
        sum[1] += conjugate(r(i)) * r(i);
      });
}

/// (r^, r) and (r, r), before the first iteration
template <class Scalar, class Space>
void first_dots(const Space& space, const Vectors<Scalar, Space>& vectors, VectorView<Scalar, Space> result,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = vectors.r, shadow = vectors.shadow;
  block_reduce<2>(
      space, "prekond::bicgstab::first_dots", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(shadow(i)) * r(i);
        sum[1] += conjugate(r(i)) * r(i);
      });
}

/// One solve.
template <class Scalar, class Space>
class BicgstabIteration : public krylov::KrylovIteration<Scalar, Space> {
  using Base = krylov::KrylovIteration<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;
  using Real = real_type_t<Scalar>;

 public:
  BicgstabIteration(const LinearProblem<Scalar, Space>& problem, Side side)
      : Base(problem, side, true),
        m_scalars(problem.space, "prekond::bicgstab::scalars", Scalars::size, this->num_columns(), 2),
        m_shadow_norms(this->num_columns()) {
    const auto vector = [&](const char* label) { return this->allocate_columns(label, this->num_columns()); };
    m_r = vector("prekond::bicgstab::r");
    m_shadow = vector("prekond::bicgstab::shadow");
    m_p = vector("prekond::bicgstab::p");
    m_v = vector("prekond::bicgstab::v");
    m_t = vector("prekond::bicgstab::t");
    m_z = this->moves_by_preconditioner() ? vector("prekond::bicgstab::z") : m_p;
    m_y = this->moves_by_preconditioner() ? vector("prekond::bicgstab::y") : m_r;
    this->lend_scratch(m_t);
  }

 private:
  Vectors<Scalar, Space> vectors(int c) const {
    return {this->x(c),     column(m_r, c), column(m_shadow, c), column(m_p, c),
            column(m_z, c), column(m_v, c), column(m_y, c),      column(m_t, c)};
  }

  void iterate() override {
    begin();
    for (bool first = true; !this->running().empty(); first = false) {
      step(first);
      m_scalars.swap();
      this->count_iteration();
      test(true);
    }
  }

  void begin() {
    constexpr std::uint64_t seed = 2026;
    this->residual(m_r);
    for (int c : this->running()) {
      const Vectors<Scalar, Space> v = vectors(c);
      if (this->column_state(c).breakdowns == 0)
        Kokkos::deep_copy(this->space(), v.shadow, v.r);
      else
        krylov::fill_random<Scalar, Space>(this->space(), v.shadow, this->row_numbers(), seed);
      first_dots<Scalar, Space>(this->space(), v, m_scalars.now(Scalars::residual, c),
                                this->reduce_workspace());
    }
    this->sum(m_scalars.message(Scalars::residual));
    for (int c : this->running())
      block_reduce<1>(this->space(), "prekond::bicgstab::shadow_norm", this->num_rows(),
                      this->reduce_workspace(), m_scalars.now(Scalars::pivot, c),
                      impl::DotBody<Scalar, Space>{column(m_shadow, c), column(m_shadow, c)});
    this->sum(m_scalars.message(Scalars::pivot));
    test(false);
  }

  void step(bool first) {
    const Space& space = this->space();
    for (int c : this->running())
      update_direction<Scalar, Space>(space, vectors(c), m_scalars.now(Scalars::residual, c),
                                      m_scalars.before(Scalars::pivot, c),
                                      m_scalars.before(Scalars::omega, c), first);
    this->product(m_p, m_z, m_v);
    for (int c : this->running())
      pivot_dot<Scalar, Space>(space, vectors(c), m_scalars.now(Scalars::pivot, c), this->reduce_workspace());
    this->sum(m_scalars.message(Scalars::pivot));
    for (int c : this->running())
      half_step<Scalar, Space>(space, vectors(c), m_scalars.now(Scalars::residual, c),
                               m_scalars.now(Scalars::pivot, c), m_scalars.now(Scalars::omega, c),
                               this->reduce_workspace());
    this->product(m_r, m_y, m_t);
    for (int c : this->running()) {
      const VectorView<Scalar, Space> group = m_scalars.now(Scalars::omega, c);
      omega_dots<Scalar, Space>(space, vectors(c), VectorView<Scalar, Space>(group.data() + 1, 2),
                                this->reduce_workspace());
    }
    this->sum(m_scalars.message(Scalars::omega));
    for (int c : this->running())
      full_step<Scalar, Space>(space, vectors(c), m_scalars.now(Scalars::residual, c),
                               m_scalars.now(Scalars::pivot, c), m_scalars.now(Scalars::omega, c),
                               this->target2(c), m_scalars.before(Scalars::residual, c),
                               this->reduce_workspace());
    this->sum(m_scalars.message_before(Scalars::residual));
  }

  /// The stopping test. The scalars of the step are in the set before this one.
  void test(bool stepped) {
    m_scalars.read(this->space(), "prekond::bicgstab::stopping_test");
    this->for_each_running([&](int c) {
      const Scalar rho = m_scalars.host_now(Scalars::residual, c, 0);
      const double rr = m_scalars.real_now(Scalars::residual, c, 1);
      StopReason breakdown = stopping::no_breakdown;
      bool finite = is_finite(rho);
      if (!stepped) m_shadow_norms[c] = std::sqrt(m_scalars.real_now(Scalars::pivot, c, 0));
      const double size = m_shadow_norms[c] * std::sqrt(rr);
      if (stopping::rho_vanishes<Real>(static_cast<double>(Kokkos::abs(rho)), size))
        breakdown = StopReason::breakdown_rho;
      if (stepped) {
        const Scalar sigma = m_scalars.host_before(Scalars::pivot, c, 0);
        const Scalar ts = m_scalars.host_before(Scalars::omega, c, 1);
        finite = finite && is_finite(sigma) && is_finite(ts) &&
                 is_finite(m_scalars.host_before(Scalars::omega, c, 2));
        if (stopping::omega_vanishes<Real>(static_cast<double>(Kokkos::abs(ts)),
                                           m_scalars.real_before(Scalars::omega, c, 0),
                                           m_scalars.real_before(Scalars::omega, c, 2)))
          breakdown = StopReason::breakdown_omega;
        if (sigma == Scalar(0)) breakdown = StopReason::breakdown_pivot;
      }
      // (t, t) relative to (s, s), from which r is computed
      const double size_of_t = stepped ? m_scalars.real_before(Scalars::omega, c, 2) /
                                             m_scalars.real_before(Scalars::omega, c, 0) * rr
                                       : rr;
      this->judge(c, rr, finite, breakdown, true, {size_of_t});
    });
  }

  krylov::DeviceScalars<Scalar, Space> m_scalars;
  std::vector<double> m_shadow_norms;
  Multi m_r, m_shadow, m_p, m_v, m_t, m_z, m_y;
};

}  // namespace

template <class Scalar, class Space>
std::vector<SolveResult> Bicgstab<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  return BicgstabIteration<Scalar, Space>(problem, m_options.side).run();
}

#define PREKOND_BICGSTAB(Scalar, Space) template class Bicgstab<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_BICGSTAB)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_BICGSTAB)

}  // namespace prekond
