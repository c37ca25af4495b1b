// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/pattern/matching.hpp>
#include <prekond/pattern/permute.hpp>
#include "matrix/counter_hash.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>

/// Maximum-product matchings, by an auction and by augmenting paths: perf_matching --matrix=poisson3d:100, or
/// --matrix=FILE.mtx[.gz] [--methods=auction,augmenting_paths] [--epsilon=0.01] [--shuffled=true: rows in a
/// random order] [--spread=6: entries times 10 to random powers between -spread/2 and spread/2, 0 for none,
/// files as they are] [--repetitions=5]. Times are fenced, with every allocation and copy.
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

struct SpreadEntries {
  Vector<double, Space> values;
  double spread;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const double power = impl::unit_interval(impl::counter_hash(1, static_cast<std::uint64_t>(k))) - 0.5;
    values(k) *= Kokkos::pow(10.0, spread * power);
  }
};

Matrix read_or_make(const std::string& name, double spread, bool shuffled) {
  const Space space;
  Matrix a;
  if (name.find(".mtx") != std::string::npos) {
    const auto host = read_matrix_market<double>(name);
    const auto copy = [](const auto& x) {
      return Kokkos::create_mirror_view_and_copy(Space::memory_space(), x);
    };
    a = Matrix(host.num_rows, host.num_cols, copy(host.row_ptrs), copy(host.col_idxs), copy(host.values));
  } else {
    a = generate<double, Space>(space, name);
    if (spread > 0)
      Kokkos::parallel_for("prekond::perf::spread",
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz()),
                           SpreadEntries{a.values, spread});
  }
  if (shuffled)
    a = permute_rows<double, Space>(space, a, random_order<Space>(space, a.num_rows, 2).permutation);
  return a;
}

MatchingMethod method_of(const std::string& name) {
  if (name == "auction") return MatchingMethod::auction;
  if (name == "augmenting_paths") return MatchingMethod::augmenting_paths;
  throw std::invalid_argument("perf_matching: no method " + name);
}

double match(benchmark::State& state, const Matrix& a, const MatchingOptions& options) {
  const Space space;
  Matching<Space> found;
  const CsrView<double, Space> view = a;
  const double time =
      perf::seconds(space, [&] { found = maximum_product_matching<double, Space>(space, view, options); });
  state.counters["rows"] = double(a.num_rows);
  state.counters["nnz"] = double(a.nnz());
  state.counters["rank"] = double(found.rank);
  state.counters["rounds"] = double(found.rounds);
  state.counters["rows_on_host"] = double(found.rows_on_host);
  state.counters["host_seconds"] = found.host_seconds;
  state.counters["log_product"] = found.log_product;
  state.counters["ns_per_entry"] = 1e9 * time / double(a.nnz());
  return time;
}

void register_all(int& argc, char** argv) {
  const std::string name = perf::take_flag(argc, argv, "matrix", "convection_diffusion3d:40");
  const auto methods = perf::words(perf::take_flag(argc, argv, "methods", "auction,augmenting_paths"));
  const double epsilon = std::stod(perf::take_flag(argc, argv, "epsilon", "0.01"));
  const bool shuffled = perf::take_flag(argc, argv, "shuffled", "true") == "true";
  const double spread = std::stod(perf::take_flag(argc, argv, "spread", "6"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const auto a = std::make_shared<Matrix>(read_or_make(name, spread, shuffled));
  Kokkos::push_finalize_hook([a] { *a = {}; });
  for (const std::string& method : methods)
    perf::add("matching/" + name + "/" + method, repetitions, [=](benchmark::State& state) {
      return match(state, *a, {method_of(method), epsilon});
    });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
