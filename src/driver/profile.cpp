// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "profile.hpp"

#include <prekond/core/error.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <map>
#include <mutex>

#include "phase.hpp"

namespace prekond::driver {
namespace {

namespace tools = Kokkos::Tools::Experimental;

constexpr std::size_t most_kernels = 10;

struct Kernel {
  std::int64_t calls = 0;
  double seconds = 0;
};

struct State {
  std::mutex mutex;
  std::map<std::string, Kernel> kernels;
  std::int64_t bytes = 0;                                    ///< of the Views that live
  std::vector<std::pair<std::string, std::int64_t>> phases;  ///< with the most bytes in each
};
State* state = nullptr;
thread_local std::string running;
thread_local Kokkos::Timer timer;

void begin(const char* label, std::uint32_t /*device*/, std::uint64_t* /*handle*/) {
  running = label;
  timer.reset();
}

void end(std::uint64_t /*handle*/) {
  const double seconds = timer.seconds();
  const std::lock_guard lock(state->mutex);
  Kernel& kernel = state->kernels[running];
  ++kernel.calls;
  kernel.seconds += seconds;
}

void allocate(Kokkos_Profiling_SpaceHandle /*space*/, const char* /*label*/, const void* /*data*/,
              std::uint64_t bytes) {
  const std::lock_guard lock(state->mutex);
  auto& phases = state->phases;
  const std::string phase = Phase::current();
  state->bytes += static_cast<std::int64_t>(bytes);
  if (phases.empty() || phases.back().first != phase) phases.emplace_back(phase, 0);
  phases.back().second = std::max(phases.back().second, state->bytes);
}

void deallocate(Kokkos_Profiling_SpaceHandle /*space*/, const char* /*label*/, const void* /*data*/,
                std::uint64_t bytes) {
  const std::lock_guard lock(state->mutex);
  state->bytes -= static_cast<std::int64_t>(bytes);
}

void set_callbacks(bool on) {
  const auto begins = on ? &begin : nullptr;
  const auto ends = on ? &end : nullptr;
  tools::set_begin_parallel_for_callback(begins);
  tools::set_begin_parallel_reduce_callback(begins);
  tools::set_begin_parallel_scan_callback(begins);
  tools::set_end_parallel_for_callback(ends);
  tools::set_end_parallel_reduce_callback(ends);
  tools::set_end_parallel_scan_callback(ends);
  tools::set_allocate_data_callback(on ? &allocate : nullptr);
  tools::set_deallocate_data_callback(on ? &deallocate : nullptr);
}

}  // namespace

Profile::Profile() {
  const auto now = tools::get_callbacks();
  if (now.begin_parallel_for || now.begin_parallel_reduce || now.allocate_data)
    throw OptionError(
        "--profile takes the place of a Kokkos tool, and there is one: leave --profile or the tool out");
  state = new State;
  set_callbacks(true);
}

Profile::~Profile() {
  set_callbacks(false);
  delete state;
}

Json Profile::json() const {
  const std::lock_guard lock(state->mutex);
  std::vector<std::pair<std::string, Kernel>> kernels(state->kernels.begin(), state->kernels.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  Json profile = {{"kernels", Json::array()}, {"memory", Json::array()}};
  for (const auto& [label, kernel] : kernels)
    profile["kernels"].push_back({{"label", label}, {"calls", kernel.calls}, {"seconds", kernel.seconds}});
  for (const auto& [phase, bytes] : state->phases)
    profile["memory"].push_back({{"step", phase}, {"most_bytes", bytes}});
  return profile;
}

void print_profile(const Json& report) {
  if (!report.contains("profile")) return;
  const Json& profile = report.at("profile");
  for (const Json& step : profile.at("memory"))
    print_line("memory", text_of(bytes_text(step.at("most_bytes")), " in the step '", step.at("step"), "'"));
  double all = 0;
  std::vector<std::vector<std::string>> rows = {{"kernel", "calls", "seconds", ""}};
  for (const Json& kernel : profile.at("kernels")) {
    all += kernel.at("seconds").get<double>();
    if (rows.size() <= most_kernels)
      rows.push_back({kernel.at("label"), kernel.at("calls").dump(),
                      format("%.4g", kernel.at("seconds").get<double>()), ""});
  }
  print_line("profile", text_of(profile.at("kernels").size(), " kernels take ", seconds_text(all),
                                ", with a fence before and after each; the longest are"));
  print_table(rows);
}

}  // namespace prekond::driver
