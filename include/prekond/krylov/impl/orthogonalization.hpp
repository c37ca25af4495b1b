// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond {

/// The Gram-Schmidt process that keeps the basis of the Arnoldi process orthogonal.
///
/// - `cgs2`: classical Gram-Schmidt twice, with two global reductions a step and three passes over the basis:
///   the first projection, its update with the second projection, and the second update. The norm of the new
///   vector comes with the second reduction, by Pythagoras.
/// - `dcgs2`: the second projection is delayed to the next step and joins its first one: one global reduction
///   a step and two passes over the basis. A step's column of the Hessenberg matrix is known one product
///   later, so a cycle that ends early has made one product more.
///
/// Source: Bielich, Langou, Thomas, Swirydowicz, Yamazaki, Boman, Parallel Computing 112 (2022), 102940.
enum class Orthogonalization { cgs2, dcgs2 };

}  // namespace prekond
