// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/matrix_preconditioner.hpp>

#include "precond/multigrid/tentative.hpp"

namespace prekond::impl::amg {

/// A near null space that the smoother finds: `count` vectors after `sweeps` times x <- x - omega M^-1 A x,
/// which leaves what it cannot reduce, made orthonormal in (x, y) = sum |a_ii| x_i y_i. They begin as u_i /
/// sqrt |a_ii|, u uniform in (0, 1] for the first and in (-1, 1] for the others, a hash of the row's number:
/// the vectors of S A S, S diagonal, are S^-1 times those of A. A vector that depends on the ones before it
/// but for 1e-8 (1e-3 in single precision) is zero.
///
/// Cost: sweeps products and applications with `count` vectors, and count^2 / 2 inner products, which the
/// host reads. Memory: 3 count vectors. The same bits whatever the threads.
///
/// \throws InputError where the sweeps made numbers that are not finite
template <class Scalar, class Space>
MultiVector<Scalar, Space> relaxed_candidates(const Space& space, const CsrView<Scalar, Space>& a,
                                              const MatrixPreconditioner<Scalar, Space>& smoother,
                                              Scalar omega, int count, int sweeps);

}  // namespace prekond::impl::amg
