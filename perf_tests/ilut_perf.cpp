// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "fsai_setup.hpp"

#include <prekond/precond/ilut.hpp>

#include "precond/factorization/ilut/numeric.hpp"

#include <string>

/// Setup and application of the threshold factorisations: perf_ilut --matrix=poisson3d:100 [--p=10]
/// [--tau=0.001] [--repetitions=5] [--kernels=true: times by kernel, once].
///
/// numeric/       the seconds of a further numeric phase; `factor`: of the factorisation alone, with
///                `launches` and `entries_per_second` of L and U; `fill`: entries of L, D and U over those
///                of A; `num_levels` of L; `cut_rows`: with more than p entries above the tolerance; `shift`
///
/// apply/         an application
namespace {

using namespace prekond;
using Matrix = perf::Matrix;
using perf::Space;

constexpr int inner = 10;

template <class Method>
double numeric(benchmark::State& state, const Matrix& a, const typename Method::options_type& options,
               bool symmetric) {
  const Space space;
  Method method(options);
  method.keep_factors();
  method.numeric(space, a);
  const double time = perf::seconds(space, [&] { method.numeric(space, a); });
  const auto pattern = fill_pattern<Space>(space, a, 0, std::int64_t(1) << 40, true);
  Report report;
  const auto scaled = impl::sweeps::fill_triangles<double, Space>(space, a, pattern, 1.0, report);
  impl::ilut::ThresholdRules<Space> rules;
  rules.symmetric = symmetric;
  rules.p = options.p;
  rules.tau = options.tau;
  rules.alpha = method.shift();
  impl::ilut::ThresholdFactors<double, Space> result;
  const auto factor = [&] {
    impl::ilu::Outcome outcome;
    result = impl::ilut::factor<double, Space>(space, pattern, scaled, rules, outcome);
  };
  factor();
  const double alone = perf::seconds(space, factor);
  const double entries = double(result.pattern.lower.nnz() + result.pattern.upper.nnz());
  state.counters["factor"] = alone;
  state.counters["launches"] = result.launches;
  state.counters["stalled"] = result.stalled;
  state.counters["entries_per_second"] = entries / alone;
  state.counters["fill"] = (entries + double(a.num_rows)) / double(a.nnz());
  state.counters["num_levels"] =
      level_schedule<Space>(space, CsrGraphView<Space>(result.pattern.lower), Triangle::lower).num_levels();
  state.counters["cut_rows"] = double(result.cut_rows);
  state.counters["shift"] = method.shift();
  state.counters["breakdowns"] = double(method.report().breakdowns.count);
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

void add_method(const perf::Matrix* a, const std::string& spec, const IlutOptions& options, int repetitions,
                bool kernels) {
  using Method = Ilut<double, Space>;
  const bool symmetric = options.kind == IncompleteKind::ic;
  const std::string name = (symmetric ? "ict/" : "ilut/") + spec;
  if (kernels) perf::print_kernels<Method>(*a, options, name);
  perf::add("numeric/" + name, repetitions,
            [=](benchmark::State& state) { return numeric<Method>(state, *a, options, symmetric); });
  perf::add("apply/" + name, repetitions,
            [=](benchmark::State& state) { return apply<Method>(state, *a, options); });
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const int p = std::stoi(perf::take_flag(argc, argv, "p", "10"));
  const double tau = std::stod(perf::take_flag(argc, argv, "tau", "0.001"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto shared = perf::lasting_matrix(spec);
  const perf::Matrix* a = &*shared;
  IlutOptions options;
  options.p = p;
  options.tau = tau;
  add_method(a, spec, options, repetitions, kernels);
  // ICT is for symmetric matrices.
  options.kind = IncompleteKind::ic;
  if (fill_pattern<Space>(Space(), *a, 0, std::int64_t(1) << 40, true).is_symmetric &&
      spec.find("convection") != 0)
    add_method(a, spec, options, repetitions, kernels);
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
