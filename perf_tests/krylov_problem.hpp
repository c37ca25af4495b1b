// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the solvers are timed on, and against.
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
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

/// Bytes a second, read and written, of a copy between two vectors of 1 GB together.
inline double copy_bandwidth() {
  static const double bandwidth = [] {
    const Space space;
    const Vector<double, Space> from("from", 1 << 26), to("to", 1 << 26);
    Kokkos::deep_copy(space, to, from);
    double best = 0;
    for (int k = 0; k < 5; ++k)
      best = std::max(best, 16.0 * (1 << 26) / seconds(space, [&] { Kokkos::deep_copy(space, to, from); }));
    return best;
  }();
  return bandwidth;
}

/// "a,b,c" as words.
inline std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    list.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

}  // namespace prekond::perf
