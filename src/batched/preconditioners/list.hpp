// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/formats.hpp>

#include "batched/preconditioners/fsai.hpp"
#include "batched/preconditioners/ic0.hpp"
#include "batched/preconditioners/ilu0.hpp"
#include "batched/preconditioners/ilu_isai.hpp"
#include "batched/preconditioners/local.hpp"
#include "batched/preconditioners/one_of.hpp"
#include "batched/preconditioners/par_ilu.hpp"
#include "batched/preconditioners/pointwise.hpp"

namespace prekond::impl::batched {

/// The preconditioners of every format. A new one is a file and a line here.
template <class Scalar>
using Preconditioners =
    PreconditionerList<NoPreconditioner<Scalar>, JacobiPreconditioner<Scalar>, Ilu0Preconditioner<Scalar>,
                       Ic0Preconditioner<Scalar>, BlockJacobiPreconditioner<Scalar>,
                       IsaiPreconditioner<Scalar>, FsaiPreconditioner<Scalar>, IluIsaiPreconditioner<Scalar>,
                       ParIluPreconditioner<Scalar>>;

/// Calls f<Precond>() for the preconditioner that the options name.
template <class Scalar, class F>
void visit_preconditioner(BatchedPreconditioner kind, const F& f) {
  Preconditioners<Scalar>::visit(kind, f);
}

}  // namespace prekond::impl::batched
