// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "event_times.hpp"
#include "fsai_setup.hpp"

#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <string>
#include <vector>

/// The first setup of a process and the later ones: perf_first_call --matrix=elasticity3d:50
/// [--preconditioner=adaptive_fsai] [--repetitions=7] [--warm_up=poisson3d:4: a setup of this matrix before,
/// `warm_up_ms`] [--events=true: where the first one's time goes]. The
/// matrix is generated before, so that the device's context and memory are there. The time is the first
/// setup's, fenced, with every allocation; `later_ms` is the median of the next ones, `ratio` the first over
/// that. A process has one first call: run it several times.
namespace {

using namespace prekond;
using perf::Space;

double set_up(const perf::Matrix& a, const std::string& name) {
  const Space space;
  return perf::seconds(space, [&] {
    const auto m = create_preconditioner<double, Space>(name);
    m->symbolic(space, a);
    m->numeric(space, a);
  });
}

double print_events(const perf::Matrix& a, const std::string& name) {
  double first = 0;
  for (const char* title : {"the first setup", "the second", "the third"}) {
    const perf::EventTimes events(title);
    const double time = set_up(a, name);
    if (first == 0) first = time;
  }
  return first;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:50");
  const std::string name = perf::take_flag(argc, argv, "preconditioner", "adaptive_fsai");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "7"));
  const std::string warm_up = perf::take_flag(argc, argv, "warm_up", "");
  const bool with_events = perf::take_flag(argc, argv, "events", "false") == "true";
  perf::add("first_call/" + name + "/" + spec, 1, [=](benchmark::State& state) {
    const auto a = generate<double>(Space(), spec);
    Space().fence();
    if (!warm_up.empty())
      state.counters["warm_up_ms"] = 1e3 * set_up(generate<double>(Space(), warm_up), name);
    if (with_events) return print_events(a, name);
    const double first = set_up(a, name);
    std::vector<double> later;
    for (int k = 0; k < repetitions; ++k) later.push_back(set_up(a, name));
    std::nth_element(later.begin(), later.begin() + repetitions / 2, later.end());
    const double median = later[repetitions / 2];
    state.counters["later_ms"] = 1e3 * median;
    state.counters["ratio"] = first / median;
    return first;
  });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
