// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond {

/// L D U of a general matrix; L D L^T of a symmetric positive definite one; the same with what is dropped
/// added to the diagonal.
enum class IncompleteKind { ilu, ic, mic };

}  // namespace prekond
