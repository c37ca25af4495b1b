// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"
#include "named_method.hpp"

#include <prekond/core/devices.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/several_devices.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

/// Setup time over several devices of one host, Table 7 of Bernaschi et al. (2019): perf_devices
/// --matrix=elasticity3d:100 [--preconditioners=adaptive_fsai,fsai: also with options,
/// adaptive_fsai:max_steps=30:step_size=1] [--devices=1,2,4: default 1 to as many as there are]
/// [--instances=4: instead, of one device] [--repetitions=5].
/// The time is that of symbolic and numeric, fenced, with every allocation, the copies and G^T. `again_ms`:
/// of a next numeric phase. `speedup`: that of one device, without this wrapper, over this, in medians;
/// `efficiency`: the same over the number of devices. `copy_ms`, `slowest_ms` and `fastest_ms` (of the
/// devices' own phases), `gather_ms`: where the time goes; `rows_read`: of all devices, over those of A.
namespace {

using namespace prekond;
using perf::Matrix;
using perf::Space;
using Method = MatrixPreconditioner<double, Space>;

/// Spaces of further devices, and what they need.
struct Others {
  std::unique_ptr<Devices> devices;
  std::vector<Space> spaces;
};

Others others(int count, bool of_one_device) {
  Others made;
  if (of_one_device) {
    const auto further = static_cast<std::size_t>(count) - 1;
    if constexpr (is_host_space<Space>)
      made.spaces.assign(further, Space());
    else if (further > 0)
      made.spaces = Kokkos::Experimental::partition_space(Space(), std::vector<int>(further, 1));
  } else {
    made.devices = std::make_unique<Devices>(count);
    made.spaces = made.devices->others();
  }
  return made;
}

std::unique_ptr<Method> build(const std::string& text, const std::vector<Space>& spaces) {
  const auto [name, options] = perf::named_method(text);
  const auto configurator =
      find_registered(preconditioner_registry<double, Space>(), name, "preconditioner").configure();
  configurator->fields().set(options, name);
  if (spaces.empty()) return configurator->build();
  return std::make_unique<SeveralDevices<double, Space>>(*configurator, spaces, Sharing::always);
}

/// Medians of seconds.
struct Times {
  double setup = 0, again = 0;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

Times measure(const Matrix& a, const std::string& name, const std::vector<Space>& spaces, int repetitions,
              Report& report) {
  const Space space;
  std::vector<double> setup, again;
  for (int k = 0; k < repetitions + 1; ++k) {  // the first one is not counted
    std::unique_ptr<Method> m;
    const double first = perf::seconds(space, [&] {
      m = build(name, spaces);
      m->symbolic(space, a);
      m->numeric(space, a);
    });
    report = m->report();
    const double next = perf::seconds(space, [&] { m->numeric(space, a); });
    if (k == 0) continue;
    setup.push_back(first);
    again.push_back(next);
  }
  return {median(setup), median(again)};
}

void count_report(benchmark::State& state, const Report& report, std::int64_t num_rows) {
  double copy = 0, slowest = 0, fastest = 0, read = 0;
  for (const DeviceReport& device : report.devices) {
    const double own = device.symbolic_seconds + device.numeric_seconds;
    copy = std::max(copy, device.copy_seconds);
    slowest = std::max(slowest, own);
    fastest = fastest == 0 ? own : std::min(fastest, own);
    read += static_cast<double>(device.rows_read);
  }
  state.counters["copy_ms"] = 1e3 * copy;
  state.counters["slowest_ms"] = 1e3 * slowest;
  state.counters["fastest_ms"] = 1e3 * fastest;
  state.counters["gather_ms"] = 1e3 * report.gather_seconds;
  state.counters["rows_read"] = read / static_cast<double>(num_rows);
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const auto names = perf::words(perf::take_flag(argc, argv, "preconditioners", "adaptive_fsai,fsai"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const int instances = std::stoi(perf::take_flag(argc, argv, "instances", "0"));
  auto counts = perf::numbers(perf::take_flag(argc, argv, "devices", ""));
  if (counts.empty())
    for (int k = 1; k <= (instances > 0 ? instances : Devices::available()); ++k) counts.push_back(k);
  const auto a = perf::lasting_matrix(spec);
  for (const std::string& name : names) {
    const auto of_one = std::make_shared<Times>();
    for (const int count : counts) {
      perf::add("setup/" + spec + "/" + name + "/devices:" + std::to_string(count), 1,
                [=](benchmark::State& state) {
                  Report report;
                  if (of_one->setup == 0) *of_one = measure(*a, name, {}, repetitions, report);
                  Times times = *of_one;
                  if (count > 1) {
                    const Others further = others(count, instances > 0);
                    times = measure(*a, name, further.spaces, repetitions, report);
                    count_report(state, report, a->num_rows);
                  }
                  state.counters["again_ms"] = 1e3 * times.again;
                  state.counters["speedup"] = of_one->setup / times.setup;
                  state.counters["efficiency"] = of_one->setup / times.setup / count;
                  state.counters["speedup_again"] = of_one->again / times.again;
                  return times.setup;
                });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
