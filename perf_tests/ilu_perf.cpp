// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "fsai_setup.hpp"
#include "peers/cusparse_ilu.hpp"

#include <prekond/precond/ic.hpp>
#include <prekond/precond/ilu.hpp>

#include "precond/factorization/ilu/numeric.hpp"

#include <string>

/// Setup and application of the incomplete factorisations: perf_ilu --matrix=poisson3d:100 [--levels=1,2]
/// [--schedules=levels,sync_free] [--repetitions=5] [--kernels=true: times by kernel, once].
///
/// symbolic/      the seconds of symbolic; `pattern`, `levels`: of the pattern and of the levels;
///                `fill`: entries in addition to A's
///
/// numeric/       those of a further numeric phase, with the solves' own; `factor`: of the factorisation,
///                with A's scaled triangles; `bytes_per_second`: L and U with their columns, read and
///                written once, over its time; `num_levels`; `shift`
///
/// apply/         an application
///
/// cusparse_*     with CUDA, csrilu02 and csric02 in the same run: `analysis`, and the factorisation
namespace {

using namespace prekond;
using Matrix = perf::Matrix;
using perf::Space;

constexpr int inner = 10;

template <class Method>
double symbolic(benchmark::State& state, const Matrix& a, const typename Method::options_type& options) {
  const Space space;
  Method method(options);
  method.symbolic(space, a);
  const double time = perf::seconds(space, [&] { method.symbolic(space, a); });
  FillPattern<Space> pattern;
  state.counters["pattern"] = perf::seconds(
      space, [&] { pattern = fill_pattern<Space>(space, a, options.level, std::int64_t(1) << 40, true); });
  state.counters["levels"] = perf::seconds(
      space, [&] { level_schedule<Space>(space, CsrGraphView<Space>(pattern.lower), Triangle::lower); });
  state.counters["fill"] = double(pattern.added);
  return time;
}

template <class Method>
double numeric(benchmark::State& state, const Matrix& a, const typename Method::options_type& options,
               IncompleteKind kind) {
  const Space space;
  Method method(options);
  method.symbolic(space, a);
  method.numeric(space, a);
  const double time = perf::seconds(space, [&] { method.numeric(space, a); });
  const auto pattern = fill_pattern<Space>(space, a, options.level, std::int64_t(1) << 40, true);
  const auto schedule = impl::ilu::schedule_rows<Space>(
      space, pattern.lower, kind == IncompleteKind::ic ? pattern.lower : pattern.upper, options.schedule());
  Report report;
  impl::ilu::Outcome outcome;
  const auto factor = [&] {
    impl::ilu::factor<double, Space>(space, a, pattern, schedule, kind, method.shift(), report, outcome);
  };
  factor();
  const double alone = perf::seconds(space, factor);
  const double entries = double(pattern.lower.nnz() + (kind == IncompleteKind::ic ? 0 : pattern.upper.nnz()));
  state.counters["factor"] = alone;
  state.counters["bytes_per_second"] = (20 * entries + 24.0 * double(a.num_rows)) / alone;
  state.counters["num_levels"] = schedule.levels.num_levels();
  state.counters["shift"] = method.shift();
  state.counters["breakdowns"] = double(method.report().breakdowns.count);
  state.counters["stalled"] = outcome.stalled;
  state.counters["bytes"] = double(method.report().bytes);
  return time;
}

template <class Method>
double apply(benchmark::State& state, const Matrix& a, const typename Method::options_type& options) {
  const Space space;
  Method method(options);
  method.numeric(space, a);
  const Vector<double, Space> x("x", a.num_rows), y("y", a.num_rows);
  Kokkos::deep_copy(x, 1.0 / 3);
  const auto workspace = method.make_workspace(space, 1);
  const auto once = [&] {
    method.apply(space, as_multivector(VectorView<const double, Space>(x)), as_multivector(y), *workspace);
  };
  once();
  const double time = perf::seconds(space,
                                    [&] {
                                      for (int k = 0; k < inner; ++k) once();
                                    }) /
                      inner;
  state.counters["bytes_per_second"] = 12.0 * double(method.report().nnz) / time;
  return time;
}

template <class Method>
void add_method(const perf::Matrix* a, const std::string& spec, typename Method::options_type options,
                const std::vector<std::string>& schedules, int repetitions, bool kernels) {
  IncompleteKind kind = IncompleteKind::ilu;
  if constexpr (requires { options.kind(); }) kind = options.kind();
  std::string name = Method(options).name() + "/" + spec;
  if (options.level > 0) name += "/level:" + std::to_string(options.level);
  perf::add("symbolic/" + name, repetitions,
            [=](benchmark::State& state) { return symbolic<Method>(state, *a, options); });
  for (const std::string& schedule : schedules) {
    auto scheduled = options;
    OptionFields::of(scheduled).set({{"solve.method", schedule}}, "perf_ilu");
    if (kernels) perf::print_kernels<Method>(*a, scheduled, name + "/" + schedule);
    perf::add("numeric/" + name + "/" + schedule, repetitions,
              [=](benchmark::State& state) { return numeric<Method>(state, *a, scheduled, kind); });
  }
  perf::add("apply/" + name, repetitions,
            [=](benchmark::State& state) { return apply<Method>(state, *a, options); });
}

void add_cusparse(const perf::Matrix* a, const std::string& spec, int repetitions) {
#ifdef KOKKOS_ENABLE_CUDA
  for (const bool is_ic : {false, true})
    perf::add(std::string(is_ic ? "cusparse_csric02/" : "cusparse_csrilu02/") + spec, repetitions,
              [=](benchmark::State& state) {
                const Space space;
                const perf::CusparseIncomplete m(space, *a, is_ic);
                m.analyse();
                state.counters["analysis"] = perf::seconds(space, [&] { m.analyse(); });
                m.factor();
                m.reset(space);
                return perf::seconds(space, [&] { m.factor(); });
              });
#else
  (void)a;
  (void)spec;
  (void)repetitions;
#endif
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const auto levels = perf::numbers(perf::take_flag(argc, argv, "levels", "1"));
  const auto schedules = perf::words(perf::take_flag(argc, argv, "schedules", "levels,sync_free"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto shared = perf::lasting_matrix(spec);
  const perf::Matrix* a = &*shared;
  IluOptions ilu;
  IcOptions ic, mic;
  mic.kind = IncompleteKind::mic_gustafsson;
  add_method<Ilu<double, Space>>(a, spec, ilu, schedules, repetitions, kernels);
  add_method<Ic<double, Space>>(a, spec, ic, schedules, repetitions, kernels);
  add_method<Ic<double, Space>>(a, spec, mic, schedules, repetitions, kernels);
  for (const int level : levels) {
    ilu.level = ic.level = level;
    add_method<Ilu<double, Space>>(a, spec, ilu, schedules, repetitions, kernels);
    add_method<Ic<double, Space>>(a, spec, ic, schedules, repetitions, kernels);
  }
  add_cusparse(a, spec, repetitions);
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
