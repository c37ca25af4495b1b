// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The parts that the performance tests of the FSAI setups share.
#include "benchmark_main.hpp"
#include "kernel_times.hpp"
#include "memory_peak.hpp"

#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/precond/setup_options.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace prekond::perf {

using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
using Blocks = BcsrMatrix<double, int, std::size_t, Space::memory_space>;

/// Times symbolic and numeric, and counts what the report says. `memory_ratio` is the most memory that A and
/// the setup held at a time over that of A, G and G^T. It may be 1.3, else the case fails; where these are
/// not much larger than the budget of the setup's slabs it is not judged. The setup is given `source`: a, or
/// the same by blocks.
template <class Fsai, class Source>
double set_up(benchmark::State& state, const Matrix& a, const typename Fsai::options_type& options,
              const Source& source) {
  const Space space;
  Fsai fsai(options);
  const MemoryPeak<Space::memory_space> memory;
  const double time = seconds(space, [&] {
    fsai.symbolic(space, source);
    fsai.numeric(space, source);
  });
  const auto& report = fsai.report();
  const double needed = double(a.bytes()) + double(report.bytes);
  const double ratio = (double(a.bytes()) + double(memory.bytes())) / needed;
  state.counters["rows"] = double(a.num_rows);
  state.counters["nnz"] = double(a.nnz());
  state.counters["nnz_g"] = double(report.nnz);
  state.counters["density"] = double(report.nnz) / double(a.nnz());
  state.counters["setup_bytes"] = double(report.setup_bytes);
  state.counters["memory_ratio"] = ratio;
  state.counters["rows_per_second"] = double(a.num_rows) / time;
  state.counters["breakdowns"] = double(report.breakdowns.count);
  state.counters["fences"] = report.fences;
  state.counters["symbolic_seconds"] = report.symbolic_seconds;
  state.counters["flops"] = report.numeric_flops;
  constexpr double allowed = 1.3, slabs_to_judge = 10;
  if (needed > slabs_to_judge * double(options.workspace_budget) && ratio > allowed) {
    char text[96];
    std::snprintf(text, sizeof(text), "the setup held %.3f times the memory of A, G and G^T", ratio);
    state.SkipWithError(text);
  }
  return time;
}

template <class Fsai>
double set_up(benchmark::State& state, const Matrix& a, const typename Fsai::options_type& options) {
  return set_up<Fsai>(state, a, options, a);
}

/// The times of a setup that is given blocks. `of_rows` is that of one that is given the expanded matrix,
/// right before it, and `ratio` how many times as long it is; expanding the blocks is in neither.
template <class Fsai>
double set_up_by_blocks(benchmark::State& state, const Matrix& a, const BcsrView<double, Space>& blocks,
                        const typename Fsai::options_type& options) {
  MatrixSource<double, Space> rows(a);
  rows.set_unknowns_per_node(blocks.block_size);
  const double of_rows = set_up<Fsai>(state, a, options, rows);
  const double time = set_up<Fsai>(state, a, options, MatrixSource<double, Space>(Space(), blocks));
  state.counters["of_rows"] = of_rows;
  state.counters["ratio"] = of_rows / time;
  return time;
}

/// The same by blocks, until the end of the program; nothing for a size of 0.
inline std::shared_ptr<const Blocks> lasting_blocks(const Matrix& a, int block_size) {
  const auto blocks = std::make_shared<Blocks>();
  if (block_size > 0) *blocks = to_bcsr<double, Space>(Space(), a, block_size);
  Kokkos::push_finalize_hook([blocks] { *blocks = {}; });
  return blocks;
}

/// The times of the kernels of a numeric phase that finds its pattern, after one that warmed up.
template <class Fsai, class Source>
void print_kernels(const Source& a, const typename Fsai::options_type& options, const std::string& title) {
  const Space space;
  Fsai fsai(options);
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  {
    const KernelTimes times;
    fsai.symbolic(space, a);
    times.print((title + ", symbolic").c_str());
  }
  const KernelTimes times;
  fsai.numeric(space, a);
  times.print(title.c_str());
}

/// A model problem that lives until Kokkos ends.
inline std::shared_ptr<const Matrix> lasting_matrix(const std::string& spec) {
  const auto a = std::make_shared<Matrix>(generate<double>(Space(), spec));
  Kokkos::push_finalize_hook([a] { *a = {}; });
  return a;
}

/// "" for blocks of one row, else what their size adds to a case's name.
inline std::string block_suffix(int block_size) {
  return block_size == 1 ? "" : "/block_size:" + std::to_string(block_size);
}

/// The cases of an FSAI on a given pattern: --matrix=..., --powers=1,2, --prefilter=0, --postfilter=0,
/// --repetitions=5,
/// --kernels=true (times by kernel, once), --blocks=3 (a case more, which gives the setup A by such blocks),
/// in single and in double precision.
template <class Fsai>
void register_powers(int& argc, char** argv, const std::string& default_matrix,
                     typename Fsai::options_type options, const std::string& suffix) {
  const std::string spec = take_flag(argc, argv, "matrix", default_matrix);
  const int repetitions = std::stoi(take_flag(argc, argv, "repetitions", "5"));
  options.prefilter = std::stod(take_flag(argc, argv, "prefilter", "0"));
  options.postfilter = std::stod(take_flag(argc, argv, "postfilter", "0"));
  const bool kernels = take_flag(argc, argv, "kernels", "false") == "true";
  const auto powers = numbers(take_flag(argc, argv, "powers", "1,2"));
  const int block_size = std::stoi(take_flag(argc, argv, "blocks", "0"));
  const auto a = lasting_matrix(spec);
  const auto blocks = lasting_blocks(*a, block_size);
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    options.setup_scalar = precision;
    const std::string word = precision == Precision::single_precision ? "single" : "double";
    for (const int power : powers) {
      options.power = power;
      if (kernels) print_kernels<Fsai>(*a, options, spec + " " + word + " power " + std::to_string(power));
      add("setup/" + spec + "/" + word + "/power:" + std::to_string(power) + suffix, repetitions,
          [=](benchmark::State& state) { return set_up<Fsai>(state, *a, options); });
      if (block_size == 0) continue;
      if (kernels)
        print_kernels<Fsai>(MatrixSource<double, Space>(Space(), *blocks), options,
                            spec + " by blocks, " + word + " power " + std::to_string(power));
      add("setup/" + spec + "/" + word + "/power:" + std::to_string(power) + suffix + "/by_blocks",
          repetitions,
          [=](benchmark::State& state) { return set_up_by_blocks<Fsai>(state, *a, *blocks, options); });
    }
  }
}

}  // namespace prekond::perf
