// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/krylov/cg.hpp>

#include "core/instantiate.hpp"
#include "iteration.hpp"

#include <algorithm>

namespace prekond {
namespace {

using krylov::Group;

/// The vectors of one column.
template <class Scalar, class Space>
struct Vectors {
  VectorView<Scalar, Space> x, r, z, p, q, s;  ///< q = A p, or A z with s = A p in the single-reduction form
};

/// The scalars of one column. Two sets alternate.
struct Scalars {
  static constexpr int size = 5;
  // With two reductions an iteration:
  static constexpr Group residual{0, 2};            ///< (r, M^-1 r), (r, r)
  static constexpr Group flexible_residual{0, 3};   ///< and (A p, M^-1 r)
  static constexpr Group curvature{3, 1};           ///< (p, A p)
  static constexpr Group flexible_curvature{3, 2};  ///< and (p, r)
  // With one:
  static constexpr Group dots{0, 3};  ///< (r, M^-1 r), (r, r), (A z, z)
  static constexpr Group step{3, 1};  ///< alpha
};

/// num / den where den is positive and the ratio is finite; 0 otherwise, so that x stays as it is until the
/// host has found the reason.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real safe_ratio(Real num, Real den) {
  const Real ratio = num / den;
  return den > Real(0) && Kokkos::isfinite(ratio) ? ratio : Real(0);
}

/// x += alpha p, r -= alpha q, alpha = (r, z) / (p, A p), or (p, r) / (p, A p) for the flexible form: where p
/// is what rounding leaves of z - beta p, (r, z) is of another size.
template <class Scalar, class Space>
void update_solution(const Space& space, const Vectors<Scalar, Space>& v,
                     VectorView<const Scalar, Space> residual, VectorView<const Scalar, Space> curvature,
                     bool flexible) {
  const VectorView<Scalar, Space> x = v.x, r = v.r;
  const VectorView<const Scalar, Space> p = v.p, q = v.q;
  Kokkos::parallel_for(
      "prekond::cg::update_solution", Kokkos::RangePolicy<Space>(space, 0, r.extent(0)),
      KOKKOS_LAMBDA(int i) {
        const auto above = real_part(flexible ? curvature(1) : residual(0));
        const auto alpha = safe_ratio(above, real_part(curvature(0)));
        x(i) += alpha * p(i);
        r(i) -= alpha * q(i);
      });
}

/// (r, z) and (r, r)
template <class Scalar, class Space>
void residual_dots(const Space& space, const Vectors<Scalar, Space>& v, VectorView<Scalar, Space> result,
                   const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = v.r, z = v.z;
  block_reduce<2>(
      space, "prekond::cg::residual_dots", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(r(i)) * z(i);
        sum[1] += conjugate(r(i)) * r(i);
      });
}

/// (r, z), (r, r) and (q, z), where q = A p is of the step before; the first iteration has none.
template <class Scalar, class Space>
void flexible_dots(const Space& space, const Vectors<Scalar, Space>& v, bool first,
                   VectorView<Scalar, Space> result, const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = v.r, z = v.z, q = v.q;
  block_reduce<3>(
      space, "prekond::cg::flexible_dots", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(r(i)) * z(i);
        sum[1] += conjugate(r(i)) * r(i);
        if (!first) sum[2] += conjugate(q(i)) * z(i);
      });
}

/// (p, q) and (p, r)
template <class Scalar, class Space>
void flexible_curvature_dots(const Space& space, const Vectors<Scalar, Space>& v,
                             VectorView<Scalar, Space> result,
                             const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = v.r, p = v.p, q = v.q;
  block_reduce<2>(
      space, "prekond::cg::flexible_curvature", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(p(i)) * q(i);
        sum[1] += conjugate(p(i)) * r(i);
      });
}

/// p = z - (q, z) / (q, p) p
template <class Scalar, class Space>
void update_flexible_direction(const Space& space, const Vectors<Scalar, Space>& v,
                               VectorView<const Scalar, Space> now, VectorView<const Scalar, Space> curvature,
                               bool first) {
  const VectorView<Scalar, Space> p = v.p;
  const VectorView<const Scalar, Space> z = v.z;
  Kokkos::parallel_for(
      "prekond::cg::update_flexible_direction", Kokkos::RangePolicy<Space>(space, 0, p.extent(0)),
      KOKKOS_LAMBDA(int i) { p(i) = first ? z(i) : z(i) - now(2) / real_part(curvature(0)) * p(i); });
}

/// p = z + beta p, beta = (r, z) / (r, z)_old
template <class Scalar, class Space>
void update_direction(const Space& space, const Vectors<Scalar, Space>& v,
                      VectorView<const Scalar, Space> now, VectorView<const Scalar, Space> before,
                      bool first) {
  const VectorView<Scalar, Space> p = v.p;
  const VectorView<const Scalar, Space> z = v.z;
  Kokkos::parallel_for(
      "prekond::cg::update_direction", Kokkos::RangePolicy<Space>(space, 0, p.extent(0)),
      KOKKOS_LAMBDA(int i) { p(i) = first ? z(i) : z(i) + real_part(now(0)) / real_part(before(0)) * p(i); });
}

/// (r, z), (r, r) and (A z, z), the only reduction of Chronopoulos and Gear's form
template <class Scalar, class Space>
void three_dots(const Space& space, const Vectors<Scalar, Space>& v, VectorView<Scalar, Space> result,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = v.r, z = v.z, q = v.q;
  block_reduce<3>(
      space, "prekond::cg::three_dots", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(r(i)) * z(i);
        sum[1] += conjugate(r(i)) * r(i);
        sum[2] += conjugate(q(i)) * z(i);
      });
}

/// The step of the single-reduction form: beta and alpha from the inner products, then p, s = A p, x and r in
/// one pass.
template <class Scalar, class Space>
void fused_update(const Space& space, const Vectors<Scalar, Space>& v, VectorView<const Scalar, Space> now,
                  VectorView<const Scalar, Space> before, VectorView<Scalar, Space> alpha_now,
                  VectorView<const Scalar, Space> alpha_before, bool first) {
  const VectorView<Scalar, Space> x = v.x, r = v.r, p = v.p, s = v.s;
  const VectorView<const Scalar, Space> z = v.z, q = v.q;
  const int n = static_cast<int>(r.extent(0));
  // A rank without rows runs index 0 as well, because the host reads alpha.
  Kokkos::parallel_for(
      "prekond::cg::fused_update", Kokkos::RangePolicy<Space>(space, 0, std::max(n, 1)),
      KOKKOS_LAMBDA(int i) {
        using Real = real_type_t<Scalar>;
        const Real rz = real_part(now(0));
        const Real beta = first ? Real(0) : rz / real_part(before(0));
        const Real curvature = real_part(now(2)) - (first ? Real(0) : beta * rz / real_part(alpha_before(0)));
        const Real alpha = safe_ratio(rz, curvature);
        if (i == 0) alpha_now(0) = alpha;
        if (i >= n) return;
        p(i) = first ? z(i) : z(i) + beta * p(i);
        s(i) = first ? q(i) : q(i) + beta * s(i);
        x(i) += alpha * p(i);
        r(i) -= alpha * s(i);
      });
}

/// One solve.
template <class Scalar, class Space>
class CgIteration : public krylov::KrylovIteration<Scalar, Space> {
  using Base = krylov::KrylovIteration<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

 public:
  CgIteration(const LinearProblem<Scalar, Space>& problem, const CgOptions& options)
      : Base(problem, Side::right, false),
        m_single(options.single_reduction),
        m_flexible(options.flexible),
        m_scalars(problem.space, "prekond::cg::scalars", Scalars::size, this->num_columns(), 2) {
    const auto vector = [&](const char* label) { return this->allocate_columns(label, this->num_columns()); };
    m_r = vector("prekond::cg::r");
    m_z = this->has_preconditioner() ? vector("prekond::cg::z") : m_r;
    m_p = vector("prekond::cg::p");
    m_q = vector("prekond::cg::q");
    if (m_single) m_s = vector("prekond::cg::s");
    this->lend_scratch(m_q);
  }

 private:
  Vectors<Scalar, Space> vectors(int c) const {
    Vectors<Scalar, Space> v{this->x(c), column(m_r, c), column(m_z, c), column(m_p, c), column(m_q, c), {}};
    if (m_single) v.s = column(m_s, c);
    return v;
  }
  Group residual_group() const {
    if (m_single) return Scalars::dots;
    return m_flexible ? Scalars::flexible_residual : Scalars::residual;
  }

  Group curvature_group() const { return m_flexible ? Scalars::flexible_curvature : Scalars::curvature; }

  void iterate() override {
    this->residual(m_r);
    m_stepped = false;
    dots();
    test();
    for (bool first = true; !this->running().empty(); first = false) {
      m_single ? single_step(first) : step(first);
      m_scalars.swap();
      m_stepped = true;
      dots();
      this->count_iteration();
      test();
    }
  }

  void single_step(bool first) {
    for (int c : this->running())
      fused_update<Scalar, Space>(this->space(), vectors(c), m_scalars.now(Scalars::dots, c),
                                  m_scalars.before(Scalars::dots, c), m_scalars.now(Scalars::step, c),
                                  m_scalars.before(Scalars::step, c), first);
  }

  void step(bool first) {
    for (int c : this->running()) {
      if (m_flexible)
        update_flexible_direction<Scalar, Space>(this->space(), vectors(c),
                                                 m_scalars.now(residual_group(), c),
                                                 m_scalars.before(curvature_group(), c), first);
      else
        update_direction<Scalar, Space>(this->space(), vectors(c), m_scalars.now(Scalars::residual, c),
                                        m_scalars.before(Scalars::residual, c), first);
    }
    multiply_directions();
    this->sum(m_scalars.message(curvature_group()));
    for (int c : this->running())
      update_solution<Scalar, Space>(this->space(), vectors(c), m_scalars.now(residual_group(), c),
                                     m_scalars.now(curvature_group(), c), m_flexible);
  }

  /// q = A p and (p, q), and (p, r) in the flexible form. With one running column the first two are one pass
  /// over the matrix.
  void multiply_directions() {
    if (m_flexible) {
      this->multiply(m_p, m_q);
      for (int c : this->running())
        flexible_curvature_dots<Scalar, Space>(this->space(), vectors(c), m_scalars.now(curvature_group(), c),
                                               this->reduce_workspace());
      return;
    }
    if (this->running().size() == 1) {
      const int c = this->running().front();
      this->multiply_dot(column(m_p, c), column(m_q, c), m_scalars.now(Scalars::curvature, c));
      return;
    }
    this->multiply(m_p, m_q);
    for (int c : this->running())
      block_reduce<1>(this->space(), "prekond::cg::curvature", this->num_rows(), this->reduce_workspace(),
                      m_scalars.now(Scalars::curvature, c),
                      impl::DotBody<Scalar, Space>{column(m_p, c), column(m_q, c)});
  }

  /// (r, z) and (r, r), and (q, z) in the single-reduction form and, from the second step on, the flexible
  /// one.
  void dots() {
    if (this->has_preconditioner()) this->precondition(m_r, m_z);
    if (m_single) this->multiply(m_z, m_q);
    for (int c : this->running()) {
      const VectorView<Scalar, Space> result = m_scalars.now(residual_group(), c);
      if (m_single)
        three_dots<Scalar, Space>(this->space(), vectors(c), result, this->reduce_workspace());
      else if (m_flexible)
        flexible_dots<Scalar, Space>(this->space(), vectors(c), !m_stepped, result, this->reduce_workspace());
      else
        residual_dots<Scalar, Space>(this->space(), vectors(c), result, this->reduce_workspace());
    }
    this->sum(m_scalars.message(residual_group()));
  }

  /// The stopping test.
  void test() {
    m_scalars.read(this->space(), "prekond::cg::stopping_test");
    this->for_each_running([&](int c) {
      const Group group = residual_group();
      const double rz = m_scalars.real_now(group, c, 0), rr = m_scalars.real_now(group, c, 1);
      // The two-reduction form filed the curvature of its last step in the set before this one.
      const double curvature =
          m_single ? m_scalars.real_now(Scalars::dots, c, 2) : m_scalars.real_before(curvature_group(), c, 0);
      StopReason breakdown = stopping::no_breakdown;
      if (!(rz > 0))
        breakdown = StopReason::breakdown_preconditioner_not_spd;
      else if (m_flexible && m_stepped && curvature == 0)  // z is a multiple of the last p, but for rounding
        breakdown = StopReason::stagnation;
      else if (!curvature_is_positive(c, curvature))
        breakdown = StopReason::breakdown_not_spd;
      const bool known = m_single || m_stepped;
      // Large values end in an infinity before they do harm.
      this->judge(c, rr, std::isfinite(rz) && (!known || std::isfinite(curvature)), breakdown, true,
                  {std::min(rz, rr), known ? std::min(curvature, rr) : rr});
    });
  }

  /// With one reduction, (A z, z) is tested before a step, and (p, A p) after it: alpha = 0 where it was not
  /// positive.
  bool curvature_is_positive(int c, double curvature) const {
    if (!m_single) return !m_stepped || curvature > 0;
    return curvature > 0 && (!m_stepped || m_scalars.real_before(Scalars::step, c, 0) > 0);
  }

  bool m_single, m_flexible;
  bool m_stepped = false;  ///< whether this cycle has made a step; the scalars are of another cycle otherwise
  krylov::DeviceScalars<Scalar, Space> m_scalars;
  Multi m_r, m_p;
  Multi m_z;  ///< M^-1 r; r itself without a preconditioner
  Multi m_q;  ///< A p; A z with one reduction
  Multi m_s;  ///< A p with one reduction
};

}  // namespace

template <class Scalar, class Space>
std::vector<SolveResult> Cg<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  if (problem.preconditioner && problem.preconditioner->is_nonsymmetric())
    throw InputError(
        "cg: the preconditioner " + problem.preconditioner->name() +
        " is not symmetric; cg needs a symmetric positive definite one, such as jacobi, fsai or "
        "adaptive_fsai, and a nonsymmetric one needs a solver for general matrices: bicgstab, gmres, "
        "fgmres or idr");
  return CgIteration<Scalar, Space>(problem, m_options).run();
}

#define PREKOND_CG(Scalar, Space) template class Cg<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_CG)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_CG)

}  // namespace prekond
