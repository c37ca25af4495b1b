// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"

#include <prekond/precond/schwarz.hpp>

/// Setup and application of block_jacobi and schwarz: perf_block --matrix=elasticity3d:40
/// [--blocks=supervariables,64,256: sizes] [--locals=dense,ilu0,ic0,ilut] [--overlaps=0,1] [--storage=full]
/// [--partition=auto] [--vectors=1,4] [--repetitions=5] [--kernels=true: times by kernel, once]. The time of
/// a setup is that of symbolic, with the partition, and of numeric, each fenced (`symbolic` and `numeric`
/// have them apart); that of an application is the mean of `applications`, and `bytes_per_second` counts what
/// it has to move: the inverses or factors once, x and y once a vector.
namespace {

using namespace prekond;

constexpr int applications = 20;

SchwarzOptions options_of(const std::string& blocks, const std::string& local, int overlap,
                          const std::string& partition, const std::string& storage) {
  SchwarzOptions options;
  OptionMap values = {{"local", local}, {"overlap", std::int64_t(overlap)}};
  if (blocks == "supervariables") {
    values["partition"] = blocks;
    values["block_size"] = std::int64_t(3);
  } else {
    values["partition"] = partition;
    values["block_size"] = blocks;
  }
  if (local == "dense") values["local.storage"] = storage;
  OptionFields::of(options).set(values, "perf_block");
  return options;
}

void count(benchmark::State& state, const Report& report, std::int64_t rows) {
  state.counters["nnz_m"] = double(report.nnz);
  state.counters["bytes"] = double(report.bytes);
  state.counters["rows_per_second"] = benchmark::Counter(double(rows));
  state.counters["breakdowns"] = double(report.breakdowns.count);
  state.counters["fences"] = report.fences;
}

double set_up(benchmark::State& state, const perf::Matrix& a, const SchwarzOptions& options, bool symbolic) {
  const perf::Space space;
  Schwarz<double, perf::Space> m(options);
  m.symbolic(space, a);
  m.numeric(space, a);
  const double time = perf::seconds(space, [&] { symbolic ? m.symbolic(space, a) : m.numeric(space, a); });
  if (symbolic) m.numeric(space, a);
  count(state, m.report(), a.num_rows);
  state.counters["rows_per_second"] = double(a.num_rows) / time;
  state.counters["flops_per_second"] = symbolic ? 0 : m.report().numeric_flops / time;
  return time;
}

double bytes_moved(const Report& report, const SchwarzOptions& options, std::int64_t rows, int vectors) {
  const bool dense = options.local.name == "dense";
  const auto storage = options.local.options.find("storage");
  double entry = 12;  // a value and its column
  if (dense) {
    const std::string word = storage == options.local.options.end() ? "full" : to_string(storage->second);
    entry = word == "full" ? 8 : (word == "single" ? 4 : 2);
  }
  const double factors = entry * double(report.nnz) * (options.local.name == "ic0" ? 2 : 1);
  return factors + 16.0 * double(rows) * vectors;
}

double apply(benchmark::State& state, const perf::Matrix& a, const SchwarzOptions& options, int vectors) {
  const perf::Space space;
  Schwarz<double, perf::Space> m(options);
  m.numeric(space, a);
  const MultiVector<double, perf::Space> x("x", a.num_rows, vectors), y("y", a.num_rows, vectors);
  Kokkos::deep_copy(x, 1.0);
  const auto workspace = m.make_workspace(space, vectors);
  m.apply(space, x, y, *workspace);
  const double time = perf::seconds(space,
                                    [&] {
                                      for (int k = 0; k < applications; ++k) m.apply(space, x, y, *workspace);
                                    }) /
                      applications;
  count(state, m.report(), a.num_rows);
  state.counters["rows_per_second"] = double(a.num_rows) / time;
  state.counters["bytes_per_second"] = bytes_moved(m.report(), options, a.num_rows, vectors) / time;
  return time;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:20");
  const auto blocks = perf::words(perf::take_flag(argc, argv, "blocks", "supervariables,64,256"));
  const auto locals = perf::words(perf::take_flag(argc, argv, "locals", "dense,ilu0,ic0,ilut"));
  const auto overlaps = perf::numbers(perf::take_flag(argc, argv, "overlaps", "0,1"));
  const auto vectors = perf::numbers(perf::take_flag(argc, argv, "vectors", "1,4"));
  const std::string partition = perf::take_flag(argc, argv, "partition", "auto");
  const std::string storage = perf::take_flag(argc, argv, "storage", "full");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto a = perf::lasting_matrix(spec);
  for (const std::string& size : blocks)
    for (const std::string& local : locals)
      for (const int overlap : overlaps) {
        if (size == "supervariables" && (local != "dense" || overlap > 0)) continue;
        const SchwarzOptions options = options_of(size, local, overlap, partition, storage);
        const std::string name =
            spec + "/blocks:" + size + "/" + local + "/overlap:" + std::to_string(overlap);
        if (kernels) perf::print_kernels<Schwarz<double, perf::Space>>(*a, options, name);
        perf::add("symbolic/" + name, repetitions,
                  [=](benchmark::State& state) { return set_up(state, *a, options, true); });
        perf::add("numeric/" + name, repetitions,
                  [=](benchmark::State& state) { return set_up(state, *a, options, false); });
        for (const int k : vectors)
          perf::add("apply/" + name + "/vectors:" + std::to_string(k), repetitions,
                    [=](benchmark::State& state) { return apply(state, *a, options, k); });
      }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
