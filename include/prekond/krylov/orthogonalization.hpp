// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond {

/// How the Arnoldi process keeps its basis orthogonal.
///
/// - `cgs2`: classical Gram-Schmidt twice; two global reductions a step, three passes over the basis (the
/// first
///   projection; its update with the second projection; the second update). The norm of the new vector comes
///   with the second reduction, by Pythagoras.
/// - `dcgs2`: the second projection is delayed to the next step, where it is made together with that one's
///   first: one global reduction a step and two passes over the basis. A step's column of the Hessenberg
///   matrix is known one product later, so that a cycle that ends early has made one product more.
///
/// Source: Bielich, Langou, Thomas, Swirydowicz, Yamazaki, Boman, Parallel Computing 112 (2022), 102940.
enum class Orthogonalization { cgs2, dcgs2 };

}  // namespace prekond
