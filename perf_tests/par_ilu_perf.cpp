// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "fsai_setup.hpp"

#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>

#include "precond/factorization/par_ilu/sweeps.hpp"

#include <string>

/// Setup of the factorisations by sweeps: perf_par_ilu --matrix=poisson3d:100 [--levels=0,1] [--sweeps=5]
/// [--repetitions=5] [--kernels=true: times by kernel, once].
///
/// symbolic/   the seconds of symbolic, with jacobi solves: no levels are found
/// numeric/    those of a further numeric phase; `residual` after it stands in the report's notes
/// sweep/      one sweep; `bytes_per_second`: the columns, A, the factors read and those written, once each,
///             beside its time
/// residual/   the residual alone
/// par_ilut/   a numeric phase that finds the pattern
namespace {

using namespace prekond;
using Matrix = perf::Matrix;
using perf::Space;

template <class Method>
double symbolic(const Matrix& a, const typename Method::options_type& options) {
  const Space space;
  Method method(options);
  method.symbolic(space, a);
  return perf::seconds(space, [&] { method.symbolic(space, a); });
}

template <class Method>
double numeric(benchmark::State& state, const Matrix& a, const typename Method::options_type& options) {
  const Space space;
  Method method(options);
  method.symbolic(space, a);
  method.numeric(space, a);
  const double time = perf::seconds(space, [&] { method.numeric(space, a); });
  state.counters["shift"] = method.shift();
  state.counters["breakdowns"] = double(method.report().breakdowns.count);
  state.counters["bytes"] = double(method.report().bytes);
  state.counters["entries"] = double(method.report().nnz);
  return time;
}

/// One sweep, or the residual.
double sweep(benchmark::State& state, const Matrix& a, int level, bool symmetric, bool residual) {
  const Space space;
  const auto pattern = fill_pattern<Space>(space, a, level, std::int64_t(1) << 40, true);
  const auto sweeps = impl::par_ilu::make_sweep_pattern<Space>(space, pattern);
  Report report;
  const auto factors = impl::sweeps::fill_triangles<double, Space>(space, a, pattern, 1.0, report);
  impl::par_ilu::Sweeps<double, Space> work(space, pattern, sweeps, factors, symmetric, 0);
  work.start();
  const auto once = [&] {
    if (residual)
      work.residual();
    else
      work.sweep(1);
  };
  once();
  const double time = perf::seconds(space, once);
  // Of L: its column, A's value, the old value and the new one. Of U also its place and its row.
  const double bytes = 28.0 * double(pattern.lower.nnz()) +
                       (symmetric ? 0 : 36.0 * double(pattern.upper.nnz())) + 48.0 * double(a.num_rows);
  state.counters["bytes_per_second"] = bytes / time;
  return time;
}

void add_method(const perf::Matrix* a, const std::string& spec, const ParIluOptions& options, int repetitions,
                bool kernels) {
  using Method = ParIlu<double, Space>;
  const bool symmetric = options.kind == IncompleteKind::ic;
  const int level = options.level;
  const std::string name = Method(options).name() + "/" + spec + "/level:" + std::to_string(level);
  if (kernels) perf::print_kernels<Method>(*a, options, name);
  perf::add("symbolic/" + name, repetitions,
            [=](benchmark::State&) { return symbolic<Method>(*a, options); });
  perf::add("numeric/" + name, repetitions,
            [=](benchmark::State& state) { return numeric<Method>(state, *a, options); });
  perf::add("sweep/" + name, repetitions,
            [=](benchmark::State& state) { return sweep(state, *a, level, symmetric, false); });
  perf::add("residual/" + name, repetitions,
            [=](benchmark::State& state) { return sweep(state, *a, level, symmetric, true); });
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const auto levels = perf::numbers(perf::take_flag(argc, argv, "levels", "0,1"));
  const int sweeps = std::stoi(perf::take_flag(argc, argv, "sweeps", "5"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto shared = perf::lasting_matrix(spec);
  const perf::Matrix* a = &*shared;
  for (const int level : levels)
    for (const IncompleteKind kind : {IncompleteKind::ilu, IncompleteKind::ic}) {
      ParIluOptions by_sweeps;
      by_sweeps.kind = kind;
      by_sweeps.level = level;
      by_sweeps.sweeps = sweeps;
      by_sweeps.solve.method = TriangularMethod::jacobi;
      add_method(a, spec, by_sweeps, repetitions, kernels);
    }
  ParIlutOptions options;
  options.reuse = Reuse::none;
  options.solve.method = TriangularMethod::jacobi;
  if (kernels) perf::print_kernels<ParIlut<double, Space>>(*a, options, "par_ilut/" + spec);
  perf::add("par_ilut/" + spec, repetitions,
            [=](benchmark::State& state) { return numeric<ParIlut<double, Space>>(state, *a, options); });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
