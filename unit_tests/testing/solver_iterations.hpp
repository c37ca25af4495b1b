// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/krylov_solves.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

/// The iterations of the library's solver with a preconditioner, both by name.
template <class Space>
std::int64_t solver_iterations(const std::string& solver, const HostMatrix<double>& a,
                               const std::string& name, const OptionMap& options = {}) {
  const Space space;
  const auto device = to_device<Space>(a);
  const auto m = create_preconditioner<double, Space>(name, options);
  m->numeric(space, device);
  std::vector<double> x(a.num_rows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.0 + 3.0 * static_cast<double>(i));
  StoppingOptions stopping;
  stopping.rtol = 1e-8;
  stopping.max_iters = 500;
  const auto solved = solve_with<double, Space>({solver, {}}, CsrOperator<double, Space>(device), m.get(),
                                                multiply(a, x), stopping);
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << name;
  EXPECT_LE(solved.result.true_relative_residual, 1e-7) << name;
  return solved.result.iterations;
}

}  // namespace prekond::testing
