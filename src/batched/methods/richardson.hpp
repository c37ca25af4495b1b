// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/solve_context.hpp"

namespace prekond::impl::batched {

/// Richardson's iteration, x += omega M^-1 r, r -= omega A M^-1 r.
///
/// Cost of an iteration: two steps with a barrier, and those of M^-1 where it is not the identity.
struct RichardsonMethod {
  static constexpr BatchedMethod kind = BatchedMethod::richardson;
  static constexpr bool needs_symmetric = false, restarts = false;
  enum { product, residual, preconditioned };
  static constexpr int spare = product;
  static constexpr int num_vectors(bool, bool identity) { return identity ? 2 : 3; }

  template <class Context>
  KOKKOS_FUNCTION static void iterate(const Context& context) {
    using Scalar = typename Context::scalar_type;
    using Real = real_type_t<Scalar>;
    constexpr bool pointwise = Context::precond_type::is_pointwise,
                   identity = Context::precond_type::is_identity;
    const int n = context.size();
    Scalar *x = context.x, *r = context.vector(residual), *t = context.vector(product);
    Scalar* z = identity ? r : context.vector(preconditioned);
    const Scalar omega = static_cast<Scalar>(static_cast<Real>(context.settings.omega));
    const auto precondition = [&] {
      if constexpr (pointwise && !identity)
        for_elements(context.lane_group, n, [&](int i) { z[i] = context.precondition_at(i, r[i]); });
      else
        context.precondition(r, z);
    };
    Real rr = sum_elements<Real>(context.lane_group, n, [&](int i) { return abs2(r[i]); });
    while (context.goes_on(rr, true)) {
      precondition();
      multiply(context.lane_group, context.a, z, t);
      rr = sum_elements<Real>(context.lane_group, n, [&](int i) {
        x[i] += omega * z[i];
        r[i] -= omega * t[i];
        return abs2(r[i]);
      });
      context.stopping.count_iteration();
    }
  }
};

}  // namespace prekond::impl::batched
