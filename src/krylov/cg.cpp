// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/krylov/cg.hpp>

#include "instantiate.hpp"

#include <algorithm>
#include <cmath>

namespace prekond {
namespace {

/// Where the scalars live on the device: two sets that alternate between iterations, so that a kernel reads this
/// iteration's and the last one's while none overwrites them.
struct Place {
  static constexpr int rz = 0;         ///< (r, M^-1 r)
  static constexpr int rr = 1;         ///< (r, r)
  static constexpr int curvature = 2;  ///< (p, A p), or (z, A z) in the single-reduction form
  static constexpr int alpha = 3;
  static constexpr int size = 4;
};

/// The scalars, on the device and where the host reads them.
template <class Scalar, class Space>
class DeviceScalars {
 public:
  explicit DeviceScalars(const Space& space) {
    m_device = allocate_zero<Vector<Scalar, Space>>(space, "prekond::cg::scalars", 2 * Place::size);
    if constexpr (is_host_space<Space>) {
      m_host = m_device;
    } else {
      m_host = HostView("prekond::cg::host_scalars", 2 * Place::size);
    }
  }
  void swap() { m_now = 1 - m_now; }
  VectorView<Scalar, Space> now() const { return place(m_now, 0, Place::size); }
  VectorView<Scalar, Space> before() const { return place(1 - m_now, 0, Place::size); }
  VectorView<Scalar, Space> now(int first, int count) const {
    return place(m_now, first, count);
  }
  /// The one host round trip of an iteration.
  void read(const Space& space) const {
    if constexpr (!is_host_space<Space>) Kokkos::deep_copy(space, m_host, m_device);
    space.fence("prekond::cg::stopping_test");
  }
  /// All of them are real, but for rounding errors.
  double host_now(int place) const { return value(m_now * Place::size + place); }
  double host_before(int place) const { return value((1 - m_now) * Place::size + place); }

 private:
  /// The real part, and not a number where the imaginary one is not.
  double value(int k) const {
    const double imaginary = static_cast<double>(imaginary_part(m_host(k)));
    return std::isfinite(imaginary) ? static_cast<double>(real_part(m_host(k))) : imaginary;
  }
  VectorView<Scalar, Space> place(int set, int first, int count) const {
    return VectorView<Scalar, Space>(m_device.data() + set * Place::size + first, count);
  }

  template <class S, bool OnHost>
  struct host_view {
    using type = Vector<Scalar, S>;
  };
  template <class S>
  struct host_view<S, false> {
    using type = Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::SharedHostPinnedSpace>;
  };
  using HostView = typename host_view<Space, is_host_space<Space>>::type;
  Vector<Scalar, Space> m_device;
  HostView m_host;
  int m_now = 0;
};

template <class Scalar, class Space>
struct Vectors {
  VectorView<const Scalar, Space> b;
  VectorView<Scalar, Space> x;
  Vector<Scalar, Space> r, z, p, q, s;  ///< q = A p, or A z with s = A p in the single-reduction form
};

/// alpha = num / den where that is a step; 0 where it is not, so that x stays as it is until the host sees why.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real safe_ratio(Real num, Real den) {
  const Real ratio = num / den;
  return den > Real(0) && Kokkos::isfinite(ratio) ? ratio : Real(0);
}

/// x += alpha p, r -= alpha q, alpha = (r, z) / (p, A p)
template <class Scalar, class Space>
void update_solution(const Space& space, const Vectors<Scalar, Space>& v, VectorView<const Scalar, Space> now) {
  const VectorView<Scalar, Space> x = v.x, r = v.r;
  const VectorView<const Scalar, Space> p = v.p, q = v.q;
  Kokkos::parallel_for(
      "prekond::cg::update_solution", Kokkos::RangePolicy<Space>(space, 0, r.extent(0)), KOKKOS_LAMBDA(int i) {
        const auto alpha = safe_ratio(real_part(now(Place::rz)), real_part(now(Place::curvature)));
        x(i) += alpha * p(i);
        r(i) -= alpha * q(i);
      });
}

/// (r, z) and (r, r)
template <class Scalar, class Space>
void residual_dots(const Space& space, const Vectors<Scalar, Space>& v, const DeviceScalars<Scalar, Space>& scalars,
                   const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = v.r, z = v.z;
  block_reduce<2>(
      space, "prekond::cg::residual_dots", r.extent(0), workspace, scalars.now(Place::rz, 2),
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(r(i)) * z(i);
        sum[1] += conjugate(r(i)) * r(i);
      });
}

/// p = z + beta p, beta = (r, z) / (r, z) of the iteration before
template <class Scalar, class Space>
void update_direction(const Space& space, const Vectors<Scalar, Space>& v, VectorView<const Scalar, Space> now,
                      VectorView<const Scalar, Space> before, bool first) {
  const VectorView<Scalar, Space> p = v.p;
  const VectorView<const Scalar, Space> z = v.z;
  Kokkos::parallel_for(
      "prekond::cg::update_direction", Kokkos::RangePolicy<Space>(space, 0, p.extent(0)), KOKKOS_LAMBDA(int i) {
        p(i) = first ? z(i) : z(i) + real_part(now(Place::rz)) / real_part(before(Place::rz)) * p(i);
      });
}

/// (r, z), (r, r) and (A z, z), the one reduction of Chronopoulos and Gear
template <class Scalar, class Space>
void three_dots(const Space& space, const Vectors<Scalar, Space>& v, const DeviceScalars<Scalar, Space>& scalars,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  const VectorView<const Scalar, Space> r = v.r, z = v.z, q = v.q;
  block_reduce<3>(
      space, "prekond::cg::three_dots", r.extent(0), workspace, scalars.now(Place::rz, 3),
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        sum[0] += conjugate(r(i)) * z(i);
        sum[1] += conjugate(r(i)) * r(i);
        sum[2] += conjugate(q(i)) * z(i);
      });
}

/// The step of the single-reduction form: beta and alpha from the dots, then p, s = A p, x and r in one pass.
template <class Scalar, class Space>
void fused_update(const Space& space, const Vectors<Scalar, Space>& v, VectorView<Scalar, Space> now,
                  VectorView<const Scalar, Space> before, bool first) {
  const VectorView<Scalar, Space> x = v.x, r = v.r, p = v.p, s = v.s;
  const VectorView<const Scalar, Space> z = v.z, q = v.q;
  const int n = static_cast<int>(r.extent(0));
  // Index 0 runs on a rank without rows as well: the host looks at alpha.
  Kokkos::parallel_for(
      "prekond::cg::fused_update", Kokkos::RangePolicy<Space>(space, 0, std::max(n, 1)), KOKKOS_LAMBDA(int i) {
        using Real = real_type_t<Scalar>;
        const Real rz = real_part(now(Place::rz));
        const Real beta = first ? Real(0) : rz / real_part(before(Place::rz));
        const Real curvature =
            real_part(now(Place::curvature)) - (first ? Real(0) : beta * rz / real_part(before(Place::alpha)));
        const Real alpha = safe_ratio(rz, curvature);
        if (i == 0) now(Place::alpha) = alpha;
        if (i >= n) return;
        p(i) = first ? z(i) : z(i) + beta * p(i);
        s(i) = first ? q(i) : q(i) + beta * s(i);
        x(i) += alpha * p(i);
        r(i) -= alpha * s(i);
      });
}

/// One solve: the vectors, the state of the iteration, and the tests.
template <class Scalar, class Space>
class CgRun {
 public:
  CgRun(const Space& space, const Operator<Scalar, Space>& a, const Preconditioner<Scalar, Space>* m,
        VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x, const StoppingOptions& stopping,
        const Monitor& monitor, const Reducer<Scalar, Space>& reducer, bool single_reduction)
      : m_space(space), m_a(a), m_m(m), m_stopping(stopping), m_monitor(monitor), m_reducer(reducer),
        m_single(single_reduction), m_scalars(space), m_workspace(space, b.extent(0)) {
    const std::size_t n = b.extent(0);
    const auto vector = [&](const char* label) { return allocate<Vector<Scalar, Space>>(space, label, n); };
    m_v.b = b;
    m_v.x = x;
    m_v.r = vector("prekond::cg::r");
    m_v.z = m ? vector("prekond::cg::z") : m_v.r;
    m_v.p = vector("prekond::cg::p");
    m_v.q = vector("prekond::cg::q");
    if (single_reduction) m_v.s = vector("prekond::cg::s");
    if (m) m_m_workspace = m->make_workspace(space, 1);
  }

  SolveResult run() {
    const double norm_b = norm(m_v.b);
    if (!std::isfinite(norm_b)) return ended(StopReason::nan);
    if (norm_b == 0) {
      Kokkos::deep_copy(m_space, m_v.x, Scalar(0));
      m_space.fence("prekond::cg::zero_rhs");
      return ended(StopReason::zero_rhs);
    }
    m_norm_b = norm_b;
    m_threshold = std::max(m_stopping.rtol * norm_b, m_stopping.atol);
    for (bool again : {true, false}) {
      const bool recursive_converged = iterate();
      const double recursive = m_norm_r;
      const double truth = true_residual();
      m_result.relative_residual = recursive / norm_b;
      m_result.true_relative_residual = truth / norm_b;
      if (!recursive_converged) return ended(m_reason);
      if (truth <= 10 * std::max(recursive, m_threshold)) {
        return ended(m_stopping.rtol * norm_b >= m_stopping.atol ? StopReason::rtol : StopReason::atol);
      }
      if (!again || !std::isfinite(truth)) break;
    }
    return ended(std::isfinite(m_result.true_relative_residual) ? StopReason::stagnation : StopReason::nan);
  }

 private:
  SolveResult ended(StopReason reason) {
    m_result.reason = reason;
    m_result.converged = reason == StopReason::rtol || reason == StopReason::atol || reason == StopReason::zero_rhs;
    return m_result;
  }

  double norm(VectorView<const Scalar, Space> v) {
    block_reduce<1>(m_space, "prekond::cg::norm", static_cast<std::int64_t>(v.extent(0)), m_workspace,
                    m_scalars.now(Place::curvature, 1), impl::DotBody<Scalar, Space>{v, v});
    m_reducer.sum(m_space, m_scalars.now(Place::curvature, 1));
    m_scalars.read(m_space);
    return std::sqrt(m_scalars.host_now(Place::curvature));
  }

  /// r = b - A x, left in `target`
  void residual(const Vector<Scalar, Space>& target) {
    Kokkos::deep_copy(m_space, target, m_v.b);
    m_a.apply(m_space, as_multivector(VectorView<const Scalar, Space>(m_v.x)), as_multivector(target), Scalar(-1), Scalar(1));
    ++m_result.matrix_products;
  }

  double true_residual() {
    residual(m_v.q);
    return norm(m_v.q);
  }

  void precondition() {
    if (m_m) {
      m_m->apply(m_space, as_multivector(VectorView<const Scalar, Space>(m_v.r)), as_multivector(m_v.z), *m_m_workspace);
    }
  }

  /// From the x there is, until convergence of the recursive residual (true) or m_reason says why not.
  bool iterate() {
    residual(m_v.r);
    precondition();
    dots();
    if (test()) return m_reason == StopReason::rtol;
    for (bool first = true;; first = false) {
      if (m_result.iterations >= m_stopping.max_iters) return failed(StopReason::max_iters);
      if (m_single) {
        fused_update<Scalar, Space>(m_space, m_v, m_scalars.now(), m_scalars.before(), first);
      } else {
        update_direction<Scalar, Space>(m_space, m_v, m_scalars.now(), m_scalars.before(), first);
        const auto curvature = m_scalars.now(Place::curvature, 1);
        m_a.apply_dot(m_space, m_v.p, m_v.q, curvature, m_workspace);
        ++m_result.matrix_products;
        m_reducer.sum(m_space, curvature);
        update_solution<Scalar, Space>(m_space, m_v, m_scalars.now());
      }
      m_scalars.swap();
      precondition();
      dots();
      ++m_result.iterations;
      if (test()) return m_reason == StopReason::rtol;
    }
  }

  void dots() {
    if (m_single) {
      m_a.apply(m_space, as_multivector(VectorView<const Scalar, Space>(m_v.z)), as_multivector(m_v.q));
      ++m_result.matrix_products;
      three_dots(m_space, m_v, m_scalars, m_workspace);
      m_reducer.sum(m_space, m_scalars.now(Place::rz, 3));
    } else {
      residual_dots(m_space, m_v, m_scalars, m_workspace);
      m_reducer.sum(m_space, m_scalars.now(Place::rz, 2));
    }
  }

  bool failed(StopReason reason) {
    m_reason = reason;
    return false;
  }

  /// The stopping test: true where the iteration ends, with m_reason = rtol for convergence.
  bool test() {
    m_scalars.read(m_space);
    const double rr = m_scalars.host_now(Place::rr);
    const double rz = m_scalars.host_now(Place::rz);
    // The two-reduction form filed the curvature of its last step in the set before this one.
    const double curvature = m_single ? m_scalars.host_now(Place::curvature) : m_scalars.host_before(Place::curvature);
    m_norm_r = std::sqrt(rr);
    if (m_monitor) m_monitor(m_result.iterations, m_norm_r);
    m_reason = StopReason::rtol;
    if (!std::isfinite(rr) || !std::isfinite(rz) || !std::isfinite(curvature)) {
      m_reason = StopReason::nan;
      return true;
    }
    if (m_norm_r <= m_threshold) return true;
    if (!(rz > 0)) m_reason = StopReason::breakdown_preconditioner_not_spd;
    else if (!curvature_positive(curvature)) m_reason = StopReason::breakdown_not_spd;
    return m_reason != StopReason::rtol;
  }

  /// With one reduction, (A z, z) is looked at before a step, and (p, A p) after it: alpha = 0 where it was not positive.
  bool curvature_positive(double curvature) const {
    const bool stepped = m_result.iterations > 0;
    if (!m_single) return !stepped || curvature > 0;
    return curvature > 0 && (!stepped || m_scalars.host_before(Place::alpha) > 0);
  }

  const Space& m_space;
  const Operator<Scalar, Space>& m_a;
  const Preconditioner<Scalar, Space>* m_m;
  const StoppingOptions& m_stopping;
  const Monitor& m_monitor;
  const Reducer<Scalar, Space>& m_reducer;
  bool m_single;
  DeviceScalars<Scalar, Space> m_scalars;
  ReduceWorkspace<Scalar, Space> m_workspace;
  Vectors<Scalar, Space> m_v;
  std::unique_ptr<Workspace> m_m_workspace;
  SolveResult m_result;
  StopReason m_reason = StopReason::rtol;
  double m_norm_b = 0;
  double m_norm_r = 0;
  double m_threshold = 0;
};

}  // namespace

template <class Scalar, class Space>
SolveResult Cg<Scalar, Space>::solve(const Space& space, const Operator<Scalar, Space>& a,
                                     const Preconditioner<Scalar, Space>* preconditioner,
                                     VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x,
                                     const StoppingOptions& stopping, const Monitor& monitor,
                                     const Reducer<Scalar, Space>& reducer) const {
  const auto n = static_cast<std::size_t>(a.num_rows());
  if (b.extent(0) != n || x.extent(0) != n)
    throw InputError("cg: A has " + std::to_string(n) + " rows, b " + std::to_string(b.extent(0)) + " entries, x " +
                     std::to_string(x.extent(0)));
  if (a.num_cols() != a.num_rows())
    throw InputError("cg: A is " + std::to_string(n) + " x " + std::to_string(a.num_cols()) + ", not square");
  if (preconditioner && preconditioner->num_rows() != a.num_rows())
    throw InputError("cg: the preconditioner has " + std::to_string(preconditioner->num_rows()) + " rows, A has " +
                     std::to_string(n));
  if (preconditioner && preconditioner->is_nonsymmetric())
    throw InputError("cg: the preconditioner " + preconditioner->name() +
                     " is not symmetric; cg needs a symmetric positive definite one, such as jacobi, fsai or "
                     "adaptive_fsai, and a nonsymmetric one needs a method for nonsymmetric systems, such as "
                     "BiCGSTAB or GMRES");
  Kokkos::Timer timer;
  SolveResult result = CgRun<Scalar, Space>(space, a, preconditioner, b, x, stopping, monitor, reducer,
                                            m_options.single_reduction).run();
  result.seconds = timer.seconds();
  return result;
}

#define PREKOND_CG(Scalar, Space) template class Cg<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_CG)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_CG)

}  // namespace prekond
