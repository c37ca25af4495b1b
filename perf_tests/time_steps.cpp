// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "named_method.hpp"

#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/linear_solver.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

/// Matrices of one pattern, one after another, with each way to use a setup again: time_steps REPEAT RTOL
/// METHOD... -- NAME... A METHOD is a preconditioner with options (amg:theta=0.08) or auto; the solver is
/// chosen. NAME.mtx.gz is a matrix and NAME_b.mtx its right-hand side; each solve begins with the solution of
/// the last one. A row of JSON for each method and way; seconds are the median of REPEAT passes over all.
namespace {

using namespace prekond;
using Space = Kokkos::DefaultExecutionSpace;
using Matrix = CsrMatrix<const double, const int, const std::size_t, Space::memory_space>;

struct Step {
  Matrix a;
  Vector<double, Space> b;
};

std::vector<Step> read_steps(const std::vector<std::string>& names) {
  std::vector<Step> steps;
  for (const std::string& name : names) {
    const auto host = read_matrix_market<double>(name + ".mtx.gz");
    const auto b = read_vector_market<double>(name + "_b.mtx", host.num_rows);
    steps.push_back({copy_to<Space>(host), Kokkos::create_mirror_view_and_copy(Space::memory_space{}, b)});
  }
  return steps;
}

struct Pass {
  std::int64_t setups = 0, iterations = 0;
  int failed = 0;
  double seconds = 0;
};

Pass run(const Space& space, const std::vector<Step>& steps, const LinearSolverOptions& options) {
  LinearSolver<double, Space> solver(options);
  const auto x = allocate_zero<Vector<double, Space>>(space, "x", steps.front().a.num_rows);
  space.fence("time_steps");
  const Kokkos::Timer timer;
  Pass pass;
  for (const Step& step : steps) {
    solver.set_values(space, CsrView<double, Space>(step.a));
    const SolveResult result = solver.solve(space, step.b, x);
    pass.iterations += result.iterations;
    pass.failed += !result.converged;
  }
  space.fence("time_steps");
  pass.seconds = timer.seconds();
  pass.setups = solver.setups();
  return pass;
}

void measure(const Space& space, const std::vector<Step>& steps, const std::string& text, double rtol,
             int repeat) {
  const std::pair<const char*, SetupReuse> ways[] = {
      {"none", SetupReuse::none}, {"values", SetupReuse::values}, {"automatic", SetupReuse::automatic}};
  std::vector<std::vector<Pass>> passes(std::size(ways));
  for (int k = 0; k < repeat; ++k) {  // by turns: other work on the machine meets all
    for (std::size_t w = 0; w < std::size(ways); ++w) {
      LinearSolverOptions options;
      const perf::NamedMethod method = perf::named_method(text);
      options.preconditioner = {method.name, method.options};
      options.stopping.rtol = rtol;
      options.reuse = ways[w].second;
      passes[w].push_back(run(space, steps, options));
    }
  }
  for (std::size_t w = 0; w < std::size(ways); ++w) {
    auto& of_way = passes[w];
    std::sort(of_way.begin(), of_way.end(),
              [](const Pass& a, const Pass& b) { return a.seconds < b.seconds; });
    const Pass& middle = of_way[of_way.size() / 2];
    std::printf(
        "{\"method\": \"%s\", \"reuse\": \"%s\", \"steps\": %zu, \"rows\": %lld, \"setups\": %lld, "
        "\"iterations\": %lld, \"failed\": %d, \"seconds\": %.4g}\n",
        text.c_str(), ways[w].first, steps.size(), static_cast<long long>(steps.front().a.num_rows),
        static_cast<long long>(middle.setups), static_cast<long long>(middle.iterations), middle.failed,
        middle.seconds);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const Kokkos::ScopeGuard guard(argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto end = std::find(words.begin(), words.end(), "--");
  if (words.size() < 5 || words.end() - end < 2) {
    std::fprintf(stderr, "time_steps REPEAT RTOL METHOD... -- NAME...\n");
    return 2;
  }
  const Space space;
  const std::vector<Step> steps = read_steps({end + 1, words.end()});
  for (auto method = words.begin() + 2; method != end; ++method)
    measure(space, steps, *method, std::atof(words[1].c_str()), std::max(1, std::atoi(words[0].c_str())));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "time_steps: %s\n", error.what());
  return 1;
}
