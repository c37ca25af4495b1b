// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/csr.hpp>

#include "batched/preconditioners/fsai.hpp"
#include "batched/preconditioners/ic0.hpp"
#include "batched/preconditioners/ilu0.hpp"
#include "batched/preconditioners/ilu_isai.hpp"
#include "batched/preconditioners/local.hpp"
#include "batched/preconditioners/one_of.hpp"
#include "batched/preconditioners/par_ilu.hpp"
#include "batched/preconditioners/pointwise.hpp"

namespace prekond::impl::batched {

/// FewPreconditioners exist for every format, AllPreconditioners for CSR. A new preconditioner is a file and
/// a line here.
template <class Scalar>
using FewPreconditioners =
    PreconditionerList<NoPreconditioner<Scalar>, JacobiPreconditioner<Scalar>, Ilu0Preconditioner<Scalar>>;
template <class Scalar>
using AllPreconditioners =
    PreconditionerList<NoPreconditioner<Scalar>, JacobiPreconditioner<Scalar>, Ilu0Preconditioner<Scalar>,
                       Ic0Preconditioner<Scalar>, BlockJacobiPreconditioner<Scalar>,
                       IsaiPreconditioner<Scalar>, FsaiPreconditioner<Scalar>, IluIsaiPreconditioner<Scalar>,
                       ParIluPreconditioner<Scalar>>;

template <class Scalar, class Matrix>
struct PreconditionersOf {
  using type = FewPreconditioners<Scalar>;
};
template <class Scalar, class Value, class Space>
struct PreconditionersOf<Scalar, BatchedCsr<Value, Space>> {
  using type = AllPreconditioners<Scalar>;
};

/// Calls f<Precond>() for the preconditioner that the options name, where the format has it.
template <class Scalar, class Matrix, class F>
void visit_preconditioner(BatchedPreconditioner kind, const F& f) {
  PreconditionersOf<Scalar, Matrix>::type::visit(kind, f);
}

}  // namespace prekond::impl::batched
