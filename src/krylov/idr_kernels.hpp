// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Kernels of one thread that solve the small systems of IDR(s) on the device, so that the host does not
/// wait.
#include <prekond/core/views.hpp>

#include "dense/idr_system.hpp"

namespace prekond::krylov {

/// M = I, omega = 1, f = P^H r and the first c.
template <class Scalar, class Space>
struct IdrStart {
  IdrSystem<Scalar> state;
  VectorView<const Scalar, Space> projection;
  KOKKOS_FUNCTION void operator()(int) const {
    for (int i = 0; i < state.s; ++i) state.f()[i] = projection(i);
    state.omega() = Scalar(1);
    state.start();
  }
};

/// The step from P^H g_k. `pivot` is M(k, k) for the host.
template <class Scalar, class Space>
struct IdrStep {
  IdrSystem<Scalar> state;
  int k;
  VectorView<Scalar, Space> projection;
  VectorView<Scalar, Space> pivot;
  KOKKOS_FUNCTION void operator()(int) const {
    state.step(k, projection.data());
    pivot(0) = state.pivot();
  }
};

/// omega of the step that reduces the dimension.
template <class Scalar, class Space>
struct IdrOmega {
  IdrSystem<Scalar> state;
  VectorView<Scalar, Space> dots;            ///< (t, r), (t, t)
  VectorView<const Scalar, Space> residual;  ///< (r, r)
  double kappa;
  KOKKOS_FUNCTION void operator()(int) const {
    using Real = real_type_t<Scalar>;
    state.omega() = state.enlarged_omega(dots(0), dots(1), real_part(residual(0)), static_cast<Real>(kappa));
  }
};

/// f = P^H r after the dimension was reduced, and the c of the next step.
template <class Scalar, class Space>
struct IdrReduced {
  IdrSystem<Scalar> state;
  VectorView<const Scalar, Space> projection;
  KOKKOS_FUNCTION void operator()(int) const {
    for (int i = 0; i < state.s; ++i) state.f()[i] = projection(i);
    state.solve(0);
  }
};

}  // namespace prekond::krylov
