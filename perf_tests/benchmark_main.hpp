// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>
#include <prekond/core/devices.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace prekond::perf {

using Space = Kokkos::DefaultExecutionSpace;

/// Takes --NAME=VALUE out of the arguments.
inline std::string take_flag(int& argc, char** argv, const std::string& name, const std::string& fallback) {
  const std::string prefix = "--" + name + "=";
  std::string value = fallback;
  int kept = 1;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument.rfind(prefix, 0) == 0)
      value = argument.substr(prefix.size());
    else
      argv[kept++] = argv[k];
  }
  argc = kept;
  return value;
}

/// "10,20,30" as numbers.
inline std::vector<int> numbers(const std::string& text) {
  std::vector<int> list;
  for (std::size_t at = 0; at < text.size();
       at = text.find(',', at) == std::string::npos ? text.size() : text.find(',', at) + 1)
    list.push_back(std::stoi(text.substr(at)));
  return list;
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

/// The upper one of the two in the middle of an even number.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Fenced wall seconds of `work`.
template <class Work>
double seconds(const Space& space, const Work& work) {
  space.fence();
  const Kokkos::Timer timer;
  work();
  space.fence();
  return timer.seconds();
}

/// Seconds of one `work`, by as many as take `wanted` seconds together, at most `most`.
template <class Work>
double mean_seconds(const Work& work, double wanted = 0.02, double most = 200) {
  const Space space;
  work();
  const int count = static_cast<int>(std::clamp(wanted / seconds(space, work), 1.0, most));
  return seconds(space,
                 [&] {
                   for (int k = 0; k < count; ++k) work();
                 }) /
         count;
}

/// Registers a benchmark whose time is the fenced wall time of `work(state)`, in medians of `repetitions`.
template <class Work>
void add(const std::string& name, int repetitions, const Work& work) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [work](benchmark::State& state) {
                                 for (auto _ : state) state.SetIterationTime(work(state));
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->ReportAggregatesOnly()
      ->Unit(benchmark::kMillisecond);
}

/// Runs what `register_all(argc, argv)` registers, between Kokkos's initialisation and its end.
template <class Register>
int run(int argc, char** argv, const Register& register_all) {
  Kokkos::ScopeGuard guard(argc, argv);
  if (take_flag(argc, argv, "keep_memory", "true") == "true") keep_freed_memory();
  register_all(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("backend", Space::name());
  benchmark::AddCustomContext("concurrency", std::to_string(Space().concurrency()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  benchmark::ClearRegisteredBenchmarks();  // what they share has Views
  return 0;
}

}  // namespace prekond::perf
