// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include "precond/multigrid/aggregation/aggregate.hpp"
#include "precond/multigrid/strength.hpp"

#include <memory>

/// Strong couplings, and aggregates of their graph: perf_aggregate --matrix=poisson3d:100
/// [--unknowns=1: of a node, 3 for elasticity3d:40] [--theta=0.08] [--repetitions=5]. Times are fenced, with
/// every allocation. `rounds` are those of the independent set, `mean_size` is vertices an aggregate.
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

CsrGraph<Space> connect(const Matrix& a, int unknowns, double theta) {
  return strong_connections<double, Space>(Space(), a, unknowns, theta);
}

double strength(benchmark::State& state, const Matrix& a, int unknowns, double theta) {
  CsrGraph<Space> graph;
  const double time = perf::seconds(Space(), [&] { graph = connect(a, unknowns, theta); });
  state.counters["rows"] = double(a.num_rows);
  state.counters["nnz"] = double(a.nnz());
  state.counters["edges"] = double(graph.nnz());
  state.counters["ns_per_entry"] = 1e9 * time / double(a.nnz());
  return time;
}

double independent_set(benchmark::State& state, const CsrGraph<Space>& graph) {
  Vector<int, Space> set;
  const double time = perf::seconds(Space(), [&] { set = maximal_independent_set2(Space(), graph); });
  state.counters["vertices"] = double(graph.num_rows);
  state.counters["size"] = double(set.extent(0));
  state.counters["vertices_per_second"] = double(graph.num_rows) / time;
  return time;
}

double aggregates(benchmark::State& state, const CsrGraph<Space>& graph) {
  Aggregates<Space> found;
  const double time = perf::seconds(Space(), [&] { found = aggregate(Space(), graph); });
  state.counters["vertices"] = double(graph.num_rows);
  state.counters["edges"] = double(graph.nnz());
  state.counters["aggregates"] = double(found.count);
  state.counters["mean_size"] = double(graph.num_rows) / double(found.count);
  state.counters["rounds"] = double(found.rounds);
  state.counters["vertices_per_second"] = double(graph.num_rows) / time;
  return time;
}

void register_all(int& argc, char** argv) {
  const std::string name = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const int unknowns = std::stoi(perf::take_flag(argc, argv, "unknowns", "1"));
  const double theta = std::stod(perf::take_flag(argc, argv, "theta", "0.08"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const auto a = std::make_shared<Matrix>(generate<double, Space>(Space(), name));
  const auto graph = std::make_shared<CsrGraph<Space>>(connect(*a, unknowns, theta));
  Kokkos::push_finalize_hook([a, graph] {
    *a = {};
    *graph = {};
  });
  perf::add("strength/" + name, repetitions,
            [=](benchmark::State& state) { return strength(state, *a, unknowns, theta); });
  perf::add("independent_set/" + name, repetitions,
            [=](benchmark::State& state) { return independent_set(state, *graph); });
  perf::add("aggregate/" + name, repetitions,
            [=](benchmark::State& state) { return aggregates(state, *graph); });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
