// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/csr.hpp>

#include "batched/inverses/fsai.hpp"
#include "batched/inverses/ic0.hpp"
#include "batched/inverses/ilu0.hpp"
#include "batched/inverses/ilu_isai.hpp"
#include "batched/inverses/local.hpp"
#include "batched/inverses/one_of.hpp"
#include "batched/inverses/par_ilu.hpp"
#include "batched/inverses/pointwise.hpp"

namespace prekond::impl::batched {

/// The first of them come with every format, the others with CSR. A new preconditioner is a file and a line
/// here.
template <class Scalar>
using FewInverses = InverseList<NoInverse<Scalar>, JacobiInverse<Scalar>, Ilu0Inverse<Scalar>>;
template <class Scalar>
using AllInverses = InverseList<NoInverse<Scalar>, JacobiInverse<Scalar>, Ilu0Inverse<Scalar>,
                                Ic0Inverse<Scalar>, BlockJacobiInverse<Scalar>, IsaiInverse<Scalar>,
                                FsaiInverse<Scalar>, IluIsaiInverse<Scalar>, ParIluInverse<Scalar>>;

template <class Scalar, class Matrix>
struct InversesOf {
  using type = FewInverses<Scalar>;
};
template <class Scalar, class Value, class Space>
struct InversesOf<Scalar, BatchedCsr<Value, Space>> {
  using type = AllInverses<Scalar>;
};

/// Calls f<Inverse>() for the preconditioner that the options name, where the format has it.
template <class Scalar, class Matrix, class F>
void visit_inverse(BatchedInverse kind, const F& f) {
  InversesOf<Scalar, Matrix>::type::visit(kind, f);
}

}  // namespace prekond::impl::batched
