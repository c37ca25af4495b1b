// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the solvers are timed on, and against.
#include "device_rates.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond::perf {

/// A x = b with b = A 1.
struct Problem {
  CsrMatrix<double, int, std::size_t, Space::memory_space> a;
  Vector<double, Space> b, x;
};

/// A generated matrix's problem, until Kokkos ends.
inline std::shared_ptr<Problem> make_problem(const std::string& spec) {
  const Space space;
  const auto problem = std::make_shared<Problem>();
  Kokkos::push_finalize_hook([problem] { *problem = {}; });
  problem->a = generate<double>(space, spec);
  problem->b = Vector<double, Space>("b", problem->a.num_rows);
  problem->x = Vector<double, Space>("x", problem->a.num_rows);
  Kokkos::deep_copy(problem->x, 1.0);
  spmv<double, Space>(space, 1.0, problem->a, as_multivector(VectorView<const double, Space>(problem->x)),
                      0.0, as_multivector(problem->b));
  return problem;
}

}  // namespace prekond::perf
