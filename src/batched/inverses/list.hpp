// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/inverses/ic0.hpp"
#include "batched/inverses/ilu0.hpp"
#include "batched/inverses/par_ilu.hpp"
#include "batched/inverses/pointwise.hpp"

namespace prekond::impl::batched {

/// Every preconditioner; the first of them come with every format, the others with CSR.
template <class Scalar>
struct Inverses {
  template <class F>
  static void visit_all(BatchedInverse kind, const F& f) {
    visit_some(kind, f);
    if (kind == BatchedInverse::ic0) f.template operator()<Ic0Inverse<Scalar>>();
    if (kind == BatchedInverse::par_ilu) f.template operator()<ParIluInverse<Scalar>>();
  }
  template <class F>
  static void visit_some(BatchedInverse kind, const F& f) {
    if (kind == BatchedInverse::none) f.template operator()<NoInverse<Scalar>>();
    if (kind == BatchedInverse::jacobi) f.template operator()<JacobiInverse<Scalar>>();
    if (kind == BatchedInverse::ilu0) f.template operator()<Ilu0Inverse<Scalar>>();
  }
};

}  // namespace prekond::impl::batched
