// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/work.hpp"

namespace prekond::impl::batched {

/// Richardson's iteration, x += omega M^-1 r, r -= omega A M^-1 r. Two steps with a barrier an iteration, and
/// those of M^-1 where it is not the identity.
struct RichardsonMethod {
  static constexpr BatchedMethod kind = BatchedMethod::richardson;
  static constexpr bool needs_symmetric = false, restarts = false;
  enum { product, residual, preconditioned };
  static constexpr int spare = product;
  static constexpr int num_vectors(bool, bool identity) { return identity ? 2 : 3; }

  template <class Work>
  KOKKOS_FUNCTION static void iterate(const Work& w) {
    using Scalar = typename Work::scalar_type;
    using Real = real_type_t<Scalar>;
    constexpr bool pointwise = Work::inverse_type::is_pointwise, identity = Work::inverse_type::is_identity;
    const int n = w.size();
    Scalar *x = w.x, *r = w.vector(residual), *t = w.vector(product);
    Scalar* z = identity ? r : w.vector(preconditioned);
    const Scalar omega = static_cast<Scalar>(static_cast<Real>(w.settings.omega));
    const auto precondition = [&] {
      if constexpr (pointwise && !identity)
        for_elements(w.lane_group, n, [&](int i) { z[i] = w.inverse_at(i, r[i]); });
      else
        w.precondition(r, z);
    };
    Real rr = sum_elements<Real>(w.lane_group, n, [&](int i) { return abs2(r[i]); });
    while (w.goes_on(rr, true)) {
      precondition();
      multiply(w.lane_group, w.a, z, t);
      rr = sum_elements<Real>(w.lane_group, n, [&](int i) {
        x[i] += omega * z[i];
        r[i] -= omega * t[i];
        return abs2(r[i]);
      });
      w.course.count_iteration();
    }
  }
};

}  // namespace prekond::impl::batched
