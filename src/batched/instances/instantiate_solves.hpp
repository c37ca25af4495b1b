// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The instances of one format: all methods in one unit, because they share the code of the preconditioners.
#include "batched/instances/launch_definitions.hpp"
#include "batched/methods/list.hpp"
#include "core/instantiate.hpp"

#define PREKOND_BATCHED_SOLVE(Method, Scalar, Format, Value, Space) \
  template void solve_by<Method, Scalar, Format<Value, Space>>(     \
      const Space&, const SolveArguments<Scalar, Format<Value, Space>>&);
#define PREKOND_BATCHED(Scalar, Format, Value, Space)                   \
  PREKOND_BATCHED_SOLVE(CgMethod, Scalar, Format, Value, Space)         \
  PREKOND_BATCHED_SOLVE(BicgstabMethod, Scalar, Format, Value, Space)   \
  PREKOND_BATCHED_SOLVE(GmresMethod, Scalar, Format, Value, Space)      \
  PREKOND_BATCHED_SOLVE(IdrMethod, Scalar, Format, Value, Space)        \
  PREKOND_BATCHED_SOLVE(RichardsonMethod, Scalar, Format, Value, Space) \
  template void generate_preconditioners<Scalar, Format<Value, Space>>( \
      const Space&, const GenerateArguments<Scalar, Format<Value, Space>>&);
