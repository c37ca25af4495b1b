// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the units of a format instantiate: all methods together, as they share what preconditioners compile
/// to.
#include "batched/methods/list.hpp"
#include "batched/units/dispatch.hpp"
#include "core/instantiate.hpp"

#define PREKOND_BATCHED_SOLVE(Method, Scalar, Format, Value, Space) \
  template void solve_by<Method, Scalar, Format<Value, Space>>(     \
      const Space&, const SolveTask<Scalar, Format<Value, Space>>&);
#define PREKOND_BATCHED(Scalar, Format, Value, Space)                   \
  PREKOND_BATCHED_SOLVE(CgMethod, Scalar, Format, Value, Space)         \
  PREKOND_BATCHED_SOLVE(BicgstabMethod, Scalar, Format, Value, Space)   \
  PREKOND_BATCHED_SOLVE(GmresMethod, Scalar, Format, Value, Space)      \
  PREKOND_BATCHED_SOLVE(IdrMethod, Scalar, Format, Value, Space)        \
  PREKOND_BATCHED_SOLVE(RichardsonMethod, Scalar, Format, Value, Space) \
  template void generate_inverses<Scalar, Format<Value, Space>>(        \
      const Space&, const GenerateTask<Scalar, Format<Value, Space>>&);
