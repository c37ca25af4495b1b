// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "kernel_times.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/precond/fsai.hpp>

#include <memory>

/// Setup time of the static FSAI: perf_fsai --matrix=elasticity3d:100 [--powers=1,2] [--prefilter=0]
/// [--postfilter=0]
/// [--repetitions=5] [--block_size=1] [--kernels=true: times by kernel, once]. The time is that of symbolic and numeric,
/// fenced, with every allocation, the pattern and G^T.
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

double set_up(benchmark::State& state, const Matrix& a, const FsaiOptions& options) {
  const Space space;
  Fsai<double, Space> fsai(options);
  const double time = perf::seconds(space, [&] {
    fsai.symbolic(space, a);
    fsai.numeric(space, a);
  });
  const Report& report = fsai.report();
  state.counters["rows"] = double(a.num_rows);
  state.counters["nnz"] = double(a.nnz());
  state.counters["nnz_g"] = double(report.nnz);
  state.counters["density"] = double(report.nnz) / double(a.nnz());
  state.counters["rows_per_second"] = double(a.num_rows) / time;
  state.counters["factor_flops"] = report.numeric_flops;
  state.counters["symbolic_seconds"] = report.symbolic_seconds;
  state.counters["breakdowns"] = double(report.breakdowns.count);
  state.counters["fences"] = report.fences;
  return time;
}

void print_kernels(const Matrix& a, const FsaiOptions& options, const std::string& title) {
  const Space space;
  Fsai<double, Space> fsai(options);
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  const perf::KernelTimes times;
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  times.print(title.c_str());
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  FsaiOptions options;
  options.prefilter = std::stod(perf::take_flag(argc, argv, "prefilter", "0"));
  options.postfilter = std::stod(perf::take_flag(argc, argv, "postfilter", "0"));
  options.block_size = std::stoi(perf::take_flag(argc, argv, "block_size", "1"));
  const std::string blocks = options.block_size == 1 ? "" : "/block_size:" + std::to_string(options.block_size);
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto powers = perf::numbers(perf::take_flag(argc, argv, "powers", "1,2"));
  const auto a = std::make_shared<Matrix>(generate<double>(Space(), spec));
  Kokkos::push_finalize_hook([a] { *a = {}; });
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    options.setup_scalar = precision;
    const std::string word = precision == Precision::single_precision ? "single" : "double";
    for (const int power : powers) {
      options.power = power;
      if (kernels) print_kernels(*a, options, spec + " " + word + " power " + std::to_string(power));
      perf::add("setup/" + spec + "/" + word + "/power:" + std::to_string(power) + blocks, repetitions,
                [=](benchmark::State& state) { return set_up(state, *a, options); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
