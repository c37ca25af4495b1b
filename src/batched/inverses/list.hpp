// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/csr.hpp>

#include "batched/inverses/fsai.hpp"
#include "batched/inverses/ic0.hpp"
#include "batched/inverses/ilu0.hpp"
#include "batched/inverses/ilu_isai.hpp"
#include "batched/inverses/local.hpp"
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
    if (kind == BatchedInverse::block_jacobi) f.template operator()<BlockJacobiInverse<Scalar>>();
    if (kind == BatchedInverse::isai) f.template operator()<IsaiInverse<Scalar>>();
    if (kind == BatchedInverse::fsai) f.template operator()<FsaiInverse<Scalar>>();
    if (kind == BatchedInverse::ilu_isai) f.template operator()<IluIsaiInverse<Scalar>>();
    if (kind == BatchedInverse::par_ilu) f.template operator()<ParIluInverse<Scalar>>();
  }
  template <class F>
  static void visit_some(BatchedInverse kind, const F& f) {
    if (kind == BatchedInverse::none) f.template operator()<NoInverse<Scalar>>();
    if (kind == BatchedInverse::jacobi) f.template operator()<JacobiInverse<Scalar>>();
    if (kind == BatchedInverse::ilu0) f.template operator()<Ilu0Inverse<Scalar>>();
  }
};

/// Formats other than CSR have the first few preconditioners.
template <class Matrix>
inline constexpr bool has_all_inverses = false;
template <class Value, class Space>
inline constexpr bool has_all_inverses<BatchedCsr<Value, Space>> = true;

/// Calls f<Inverse>() for the preconditioner that the options name.
template <class Scalar, class Matrix, class F>
void visit_inverse(BatchedInverse kind, const F& f) {
  if constexpr (has_all_inverses<Matrix>)
    Inverses<Scalar>::visit_all(kind, f);
  else
    Inverses<Scalar>::visit_some(kind, f);
}

}  // namespace prekond::impl::batched
