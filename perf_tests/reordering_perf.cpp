// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/pattern/order_statistics.hpp>
#include <prekond/pattern/permute.hpp>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>

#include "pattern/reordering/cuthill_mckee.hpp"

/// Orders, and a matrix put into them: perf_reordering --matrix=poisson3d:100
/// [--orders=rcm,rcm_by_levels,rcm_sequential,amd,nd,random] [--shuffled=false: the matrix in a random order
/// to begin with] [--repetitions=5]. Times are fenced, with every allocation. `ns_per_entry` divides by A's
/// entries; of permute, `gbytes_per_second` counts A read once and P A P^T written once.
namespace {

using namespace prekond;
using perf::Space;
using reordering::Search;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
using Make = std::function<Ordering<Space>(const Space&, const CsrGraphView<Space>&)>;

Make cuthill_mckee(Search search) {
  return [search](const Space& space, const CsrGraphView<Space>& a) {
    return reordering::reverse_cuthill_mckee<Space>(space, a, search);
  };
}

Make order_of(const std::string& name) {
  const std::map<std::string, Make> all = {{"rcm", reverse_cuthill_mckee<Space>},
                                           {"rcm_by_levels", cuthill_mckee(Search::by_levels)},
                                           {"rcm_by_wide_levels", cuthill_mckee(Search::by_wide_levels)},
                                           {"rcm_sequential", cuthill_mckee(Search::sequential)},
                                           {"amd", minimum_degree<Space>},
                                           {"nd", nested_dissection<Space>},
                                           {"random", [](const Space& space, const CsrGraphView<Space>& a) {
                                              return random_order<Space>(space, a.num_rows);
                                            }}};
  const auto found = all.find(name);
  if (found == all.end()) throw std::invalid_argument("perf_reordering: no order " + name);
  return found->second;
}

void count_entries(benchmark::State& state, const Matrix& a, double time) {
  state.counters["rows"] = double(a.num_rows);
  state.counters["nnz"] = double(a.nnz());
  state.counters["ns_per_entry"] = 1e9 * time / double(a.nnz());
}

double find_order(benchmark::State& state, const Matrix& a, const Make& make) {
  const Space space;
  Ordering<Space> ordering;
  const double time = perf::seconds(space, [&] { ordering = make(space, a); });
  const OrderStatistics before = order_statistics<Space>(space, a);
  const OrderStatistics after =
      order_statistics<Space>(space, permute_pattern<Space>(space, a, ordering).graph);
  count_entries(state, a, time);
  state.counters["bandwidth_before"] = double(before.bandwidth);
  state.counters["bandwidth_after"] = double(after.bandwidth);
  state.counters["levels_before"] = double(before.levels);
  state.counters["levels_after"] = double(after.levels);
  state.counters["host_seconds"] = ordering.host_seconds;
  return time;
}

double permute(benchmark::State& state, const Matrix& a, const Ordering<Space>& ordering) {
  const Space space;
  const CsrView<double, Space> view = a;
  const double time = perf::seconds(space, [&] { permute_symmetric<double, Space>(space, view, ordering); });
  count_entries(state, a, time);
  state.counters["gbytes_per_second"] = 2e-9 * double(a.bytes()) / time;
  return time;
}

double levels(benchmark::State& state, const Matrix& a) {
  const Space space;
  const double time = perf::seconds(space, [&] { count_levels<Space>(space, a); });
  count_entries(state, a, time);
  return time;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const auto orders = perf::words(
      perf::take_flag(argc, argv, "orders", "rcm,rcm_by_levels,rcm_by_wide_levels,rcm_sequential,random"));
  const bool shuffled = perf::take_flag(argc, argv, "shuffled", "false") == "true";
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const Space space;
  const auto a = std::make_shared<Matrix>(generate<double, Space>(space, spec));
  Kokkos::push_finalize_hook([a] { *a = {}; });
  if (shuffled) *a = permute_symmetric<double, Space>(space, *a, random_order<Space>(space, a->num_rows, 2));
  for (const std::string& order : orders) {
    const Make make = order_of(order);
    perf::add("order/" + spec + "/" + order, repetitions,
              [=](benchmark::State& state) { return find_order(state, *a, make); });
    perf::add("permute/" + spec + "/" + order, repetitions,
              [=](benchmark::State& state) { return permute(state, *a, make(Space(), *a)); });
  }
  perf::add("levels/" + spec, repetitions, [=](benchmark::State& state) { return levels(state, *a); });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
