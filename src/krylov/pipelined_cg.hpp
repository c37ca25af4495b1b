// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/krylov/solver.hpp>

#include <vector>

namespace prekond::krylov {

/// The pipelined form of Cg.
template <class Scalar, class Space>
std::vector<SolveResult> pipelined_cg(const LinearProblem<Scalar, Space>& problem);

}  // namespace prekond::krylov
