// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/krylov/idr.hpp>

#include "basis.hpp"
#include "core/instantiate.hpp"
#include "idr_kernels.hpp"
#include "iteration.hpp"
#include "random_vector.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace prekond {
namespace {

using krylov::Basis;
using krylov::Group;

/// v = r - sum of c_i g_i, i >= k
template <class Scalar, class Space>
void shadow_orthogonal(const Space& space, IdrSystem<Scalar> state, int k, Basis<Scalar> g,
                       VectorView<const Scalar, Space> r, VectorView<Scalar, Space> v) {
  Kokkos::parallel_for(
      "prekond::idr::shadow_orthogonal", Kokkos::RangePolicy<Space>(space, 0, r.extent(0)),
      KOKKOS_LAMBDA(int i) {
        Scalar sum = r(i);
        for (int j = k; j < state.s; ++j) sum -= state.c()[j] * g.column(j)[i];
        v(i) = sum;
      });
}

/// u_k = omega z + sum of c_i u_i, i >= k
template <class Scalar, class Space>
void new_direction(const Space& space, IdrSystem<Scalar> state, int k, Basis<Scalar> u,
                   VectorView<const Scalar, Space> z) {
  Kokkos::parallel_for(
      "prekond::idr::new_direction", Kokkos::RangePolicy<Space>(space, 0, z.extent(0)), KOKKOS_LAMBDA(int i) {
        Scalar sum = state.omega() * z(i);
        for (int j = k; j < state.s; ++j) sum += state.c()[j] * u.column(j)[i];
        u.column(k)[i] = sum;
      });
}

/// g_k and u_k without their parts along p_0 .. p_(k-1); x += beta u_k, r -= beta g_k, and (r, r)
template <class Scalar, class Space>
void step_along(const Space& space, IdrSystem<Scalar> state, int k, Basis<Scalar> g, Basis<Scalar> u,
                VectorView<Scalar, Space> x, VectorView<Scalar, Space> r, VectorView<Scalar, Space> result,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<1>(
      space, "prekond::idr::step_along", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        Scalar g_i = g.column(k)[i], u_i = u.column(k)[i];
        for (int j = 0; j < k; ++j) {
          g_i -= state.alpha()[j] * g.column(j)[i];
          u_i -= state.alpha()[j] * u.column(j)[i];
        }
        g.column(k)[i] = g_i;
        u.column(k)[i] = u_i;
        const Scalar beta = state.beta();
        if (beta != Scalar(0)) {
          x(i) += beta * u_i;
          r(i) -= beta * g_i;
        }
        sum[0] += conjugate(r(i)) * r(i);
      });
}

/// (t, r) and (t, t)
template <class Scalar, class Space>
void omega_dots(const Space& space, VectorView<const Scalar, Space> r, VectorView<const Scalar, Space> t,
                VectorView<Scalar, Space> result, const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<2>(
      space, "prekond::idr::omega_dots", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(t(i)) * r(i);
        sum[1] += conjugate(t(i)) * t(i);
      });
}

/// x += omega z, r -= omega t, and (r, r). z may be r itself.
template <class Scalar, class Space>
void reduce_dimension(const Space& space, IdrSystem<Scalar> state, VectorView<const Scalar, Space> z,
                      VectorView<const Scalar, Space> t, VectorView<Scalar, Space> x,
                      VectorView<Scalar, Space> r, VectorView<Scalar, Space> result,
                      const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<1>(
      space, "prekond::idr::reduce_dimension", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        const Scalar omega = state.omega();
        if (omega != Scalar(0)) {
          x(i) += omega * z(i);
          r(i) -= omega * t(i);
        }
        sum[0] += conjugate(r(i)) * r(i);
      });
}

/// One solve.
template <class Scalar, class Space>
class IdrIteration : public krylov::KrylovIteration<Scalar, Space> {
  using Base = krylov::KrylovIteration<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

 public:
  IdrIteration(const LinearProblem<Scalar, Space>& problem, const IdrOptions& options)
      : Base(problem, options.side, true),
        m_s(options.s),
        m_kappa(options.kappa),
        m_kernels(problem.space, this->num_rows(), m_s + 1),
        m_scalars(problem.space, "prekond::idr::scalars", 2 * m_s + 5, this->num_columns()) {
    const int k = this->num_columns();
    m_state = allocate_zero<Multi>(problem.space, "prekond::idr::state", IdrSystem<Scalar>::length(m_s), k);
    m_shadow = allocate<Multi>(problem.space, "prekond::idr::shadow", this->num_rows(), m_s);
    m_g = this->allocate_columns("prekond::idr::g", m_s * k);
    m_u = this->allocate_columns("prekond::idr::u", m_s * k);
    m_r = this->allocate_columns("prekond::idr::r", k);
    m_v = this->allocate_columns("prekond::idr::v", k);
    m_t = this->allocate_columns("prekond::idr::t", k);
    m_z = this->moves_by_preconditioner() ? this->allocate_columns("prekond::idr::z", k) : m_v;
    this->lend_scratch(m_t);
  }

 private:
  // Places of the scalars; the groups of m_s + 1 values end with (r, r) or, while P is made, with a norm.
  Group projection() const { return {0, m_s}; }
  Group reduced() const { return {m_s, m_s + 1}; }  ///< P^H r, (r, r)
  Group residual_norm() const { return {2 * m_s + 1, 1}; }
  Group omega() const { return {2 * m_s + 2, 2}; }
  Group pivot() const { return {2 * m_s + 4, 1}; }

  IdrSystem<Scalar> state(int c) const { return {column(m_state, c).data(), m_s}; }
  Multi block(const Multi& v, int j) const {
    const int k = this->num_columns();
    return Kokkos::subview(v, Kokkos::ALL, Kokkos::make_pair(j * k, (j + 1) * k));
  }
  Basis<Scalar> basis(const Multi& v, int c) const {
    const std::size_t stride = v.extent(1) > 1 ? v.stride(1) : 0;
    return {v.data() + stride * c, stride * this->num_columns()};
  }
  Basis<Scalar> shadow() const { return {m_shadow.data(), m_s > 1 ? std::size_t(m_shadow.stride(1)) : 0}; }

  template <class Functor>
  void on_one_thread(const char* label, const Functor& functor) const {
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Space>(this->space(), 0, 1), functor);
  }

  void iterate() override {
    begin();
    while (!this->running().empty()) {
      for (int k = 0; k < m_s && !this->running().empty(); ++k) step(k);
      if (!this->running().empty()) reduce();
    }
  }

  void begin() {
    const bool another = std::any_of(this->running().begin(), this->running().end(),
                                     [&](int c) { return this->column_state(c).breakdowns > 0; });
    make_shadow(another ? 2 : 1);
    Kokkos::deep_copy(this->space(), m_g, Scalar(0));
    Kokkos::deep_copy(this->space(), m_u, Scalar(0));
    this->residual(m_r);
    for (int c : this->running())
      block_reduce<1>(this->space(), "prekond::idr::first_norm", this->num_rows(), this->reduce_workspace(),
                      square_of(c), impl::DotBody<Scalar, Space>{column(m_r, c), column(m_r, c)});
    project_residual();
    for (int c : this->running())
      on_one_thread("prekond::idr::start",
                    krylov::IdrStart<Scalar, Space>{state(c), m_scalars.now(reduced(), c)});
    m_scalars.read(this->space(), "prekond::idr::stopping_test");
    this->for_each_running(
        [&](int c) { this->judge(c, m_scalars.real_now(reduced(), c, m_s), finite(c, reduced())); });
  }

  /// P: random vectors, orthonormalised by classical Gram-Schmidt twice. The first vector that is not
  /// independent of those before it ends the process, and s becomes smaller.
  void make_shadow(std::uint64_t seed) {
    const Space& space = this->space();
    const double negligible =
        std::sqrt(static_cast<double>(std::numeric_limits<real_type_t<Scalar>>::epsilon()));
    krylov::DeviceScalars<Scalar, Space> sums(space, "prekond::idr::shadow_scalars", 2 * m_s + 3, 1);
    const Basis<Scalar> p = shadow();
    const RowNumbers<Space> rows = this->row_numbers();
    for (int j = 0; j < m_s; ++j) {
      const Group first{0, j + 1}, second{m_s + 1, j + 1}, norm{2 * m_s + 2, 1};
      krylov::fill_random<Scalar, Space>(space, column(m_shadow, j), rows, seed + 16 * std::uint64_t(j));
      m_kernels.project(space, "prekond::idr::make_shadow", p, j + 1, p.column(j), sums.now(first, 0));
      this->sum(sums.message(first));
      m_kernels.project(space, "prekond::idr::make_shadow", p, j + 1, p.column(j), sums.now(second, 0), j,
                        sums.now(first, 0).data());
      this->sum(sums.message(second));
      m_kernels.orthonormalize(space, "prekond::idr::make_shadow", p, j, sums.now(second, 0).data(),
                               p.column(j), sums.now(norm, 0).data());
      sums.read(space, "prekond::idr::make_shadow");
      if (!(sums.real_now(norm, 0, 0) > negligible * std::sqrt(sums.real_now(first, 0, j)))) {
        m_s = std::max(1, j);
        return;
      }
    }
  }

  VectorView<Scalar, Space> square_of(int c) const {
    return VectorView<Scalar, Space>(m_scalars.now(reduced(), c).data() + m_s, 1);
  }

  /// P^H r and (r, r) in one message.
  void project_residual() {
    for (int c : this->running())
      m_kernels.project(this->space(), "prekond::idr::project_residual", shadow(), m_s, column(m_r, c).data(),
                        VectorView<Scalar, Space>(m_scalars.now(reduced(), c).data(), m_s));
    this->sum(m_scalars.message(reduced()));
  }

  /// Step k along u_k.
  void step(int k) {
    const Space& space = this->space();
    for (int c : this->running())
      shadow_orthogonal<Scalar, Space>(space, state(c), k, basis(m_g, c), column(m_r, c), column(m_v, c));
    if (this->moves_by_preconditioner()) this->precondition(m_v, m_z);
    for (int c : this->running())
      new_direction<Scalar, Space>(space, state(c), k, basis(m_u, c), column(m_z, c));
    this->left_product(block(m_u, k), block(m_g, k));
    for (int c : this->running())
      m_kernels.project(space, "prekond::idr::project", shadow(), m_s, basis(m_g, c).column(k),
                        m_scalars.now(projection(), c));
    this->sum(m_scalars.message(projection()));
    for (int c : this->running()) {
      on_one_thread("prekond::idr::biorthogonal",
                    krylov::IdrStep<Scalar, Space>{state(c), k, m_scalars.now(projection(), c),
                                                   m_scalars.now(pivot(), c)});
      step_along<Scalar, Space>(space, state(c), k, basis(m_g, c), basis(m_u, c), this->x(c), column(m_r, c),
                                m_scalars.now(residual_norm(), c), this->reduce_workspace());
    }
    this->sum(m_scalars.message(residual_norm()));
    test(residual_norm(), 0, pivot(), StopReason::breakdown_pivot);
  }

  /// The step that reduces the dimension.
  void reduce() {
    const Space& space = this->space();
    const Multi z = this->moves_by_preconditioner() ? m_z : m_r;
    this->product(m_r, z, m_t);
    for (int c : this->running())
      omega_dots<Scalar, Space>(space, column(m_r, c), column(m_t, c), m_scalars.now(omega(), c),
                                this->reduce_workspace());
    this->sum(m_scalars.message(omega()));
    for (int c : this->running()) {
      on_one_thread("prekond::idr::omega",
                    krylov::IdrOmega<Scalar, Space>{state(c), m_scalars.now(omega(), c),
                                                    m_scalars.now(residual_norm(), c), m_kappa});
      reduce_dimension<Scalar, Space>(space, state(c), column(z, c), column(m_t, c), this->x(c),
                                      column(m_r, c), square_of(c), this->reduce_workspace());
    }
    project_residual();
    for (int c : this->running())
      on_one_thread("prekond::idr::reduced",
                    krylov::IdrReduced<Scalar, Space>{state(c), m_scalars.now(reduced(), c)});
    test(reduced(), m_s, omega(), StopReason::breakdown_omega);
  }

  bool finite(int c, Group group) const {
    bool all = true;
    for (int k = 0; k < group.count; ++k) all = all && is_finite(m_scalars.host_now(group, c, k));
    return all;
  }

  /// The stopping test: (r, r) is value k of `square`. The step has broken down where the first value of
  /// `divisor` is 0.
  void test(Group square, int k, Group divisor, StopReason reason) {
    m_scalars.read(this->space(), "prekond::idr::stopping_test");
    this->count_iteration();
    this->for_each_running([&](int c) {
      StopReason breakdown = stopping::no_breakdown;
      if (m_scalars.host_now(divisor, c, 0) == Scalar(0)) breakdown = reason;
      // t is not zero, but its square is.
      if (divisor.first == omega().first && m_scalars.real_now(omega(), c, 1) == 0) breakdown = reason;
      const double rr = m_scalars.real_now(square, c, k);
      this->judge(c, rr, finite(c, square) && finite(c, divisor), breakdown, true,
                  {size_of_product(divisor, c, rr)});
    });
  }

  /// (t, t) relative to (r, r) for the step that has a t
  double size_of_product(Group divisor, int c, double rr) const {
    if (divisor.first != omega().first) return rr;
    return m_scalars.real_now(omega(), c, 1) / m_scalars.real_now(residual_norm(), c, 0) * rr;
  }

  int m_s;
  double m_kappa;
  krylov::BasisKernels<Scalar, Space> m_kernels;
  krylov::DeviceScalars<Scalar, Space> m_scalars;
  Multi m_state, m_shadow, m_g, m_u, m_r, m_v, m_t, m_z;
};

}  // namespace

template <class Scalar, class Space>
std::vector<SolveResult> Idr<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  return IdrIteration<Scalar, Space>(problem, m_options).run();
}

#define PREKOND_IDR(Scalar, Space) template class Idr<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_IDR)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_IDR)

}  // namespace prekond
