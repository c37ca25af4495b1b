// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the units of a method instantiate.
#include "batched/units.hpp"
#include "instantiate.hpp"

#define PREKOND_BATCHED_SOLVE(Method, Scalar, Format, Value, Space) \
  template void solve_by<Method, Scalar, Format<Value, Space>>(     \
      const Space&, const SolveTask<Scalar, Format<Value, Space>>&);
#define PREKOND_BATCHED_SOLVE_FORMATS(Method, Scalar, Space)         \
  PREKOND_BATCHED_SOLVE(Method, Scalar, BatchedEll, Scalar, Space)   \
  PREKOND_BATCHED_SOLVE(Method, Scalar, BatchedDense, Scalar, Space) \
  PREKOND_BATCHED_SOLVE(Method, Scalar, BatchedBanded, Scalar, Space)
