// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"

#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/polynomial.hpp>

#include <algorithm>

/// Setup and application of the polynomial preconditioners: perf_polynomial --matrix=poisson3d:100
/// [--degrees=2,10,30] [--storages=full,single,half] [--repetitions=5]. The time of a setup is that of
/// symbolic and numeric, fenced, Lanczos's steps included. That of an application is of one vector, the mean
/// of `applications`. step_over_product: the time of one step of the recurrence, which is the difference of
/// two degrees' applications by that of the degrees, over the time of y = A x in full precision and in the
/// format that the preconditioner keeps its matrix in; both the best of several.
namespace {

using namespace prekond;
using perf::Space;

constexpr int applications = 10;
constexpr int tries = 7;

/// The least of several means.
template <class Work>
double best_seconds(const Space& space, const Work& work) {
  work();
  double best = 1e300;
  for (int k = 0; k < tries; ++k)
    best = std::min(best, perf::seconds(space, [&] {
                            for (int i = 0; i < applications; ++i) work();
                          }) / applications);
  return best;
}

double application_seconds(const perf::Matrix& a, const PolynomialOptions& options) {
  const Space space;
  PolynomialPreconditioner<double, Space> m(options);
  m.numeric(space, a);
  const Vector<double, Space> x("x", a.num_rows), y("y", a.num_rows);
  Kokkos::deep_copy(x, 1.0);
  const auto workspace = m.make_workspace(space, 1);
  return best_seconds(space, [&] { m.apply(space, as_multivector(x), as_multivector(y), *workspace); });
}

double setup_seconds(benchmark::State& state, const perf::Matrix& a, const PolynomialOptions& options) {
  const Space space;
  PolynomialPreconditioner<double, Space> m(options);
  const double time = perf::seconds(space, [&] { m.numeric(space, a); });
  state.counters["bytes"] = double(m.report().bytes);
  state.counters["flops"] = m.report().apply_flops;
  return time;
}

double product_seconds(const perf::Matrix& a, const StoredAs& as) {
  const Space space;
  const MatrixFormat format = StoredMatrix<double, Space>(space, a, as).format();
  const StoredMatrix<double, Space> product(space, a, {Storage::full, format});
  const Vector<double, Space> x("x", a.num_cols), y("y", a.num_rows);
  Kokkos::deep_copy(x, 1.0);
  return best_seconds(space, [&] { product.multiply(space, as_multivector(x), as_multivector(y)); });
}

double step_seconds(benchmark::State& state, const perf::Matrix& a, PolynomialOptions options) {
  options.degree = 4;
  const double few = application_seconds(a, options);
  options.degree = 24;
  const double step = (application_seconds(a, options) - few) / 20;
  const double product = product_seconds(a, {options.storage, options.storage_format});
  state.counters["product_ms"] = 1e3 * product;
  state.counters["step_over_product"] = step / product;
  return step;
}

void register_method(const std::string& name, const perf::Matrix* a, PolynomialOptions options,
                     const std::vector<int>& degrees, int repetitions) {
  perf::add("step/" + name, repetitions,
            [=](benchmark::State& state) { return step_seconds(state, *a, options); });
  for (const int degree : degrees) {
    options.degree = degree;
    const std::string of_degree = name + "/degree:" + std::to_string(degree);
    perf::add("setup/" + of_degree, repetitions,
              [=](benchmark::State& state) { return setup_seconds(state, *a, options); });
    perf::add("apply/" + of_degree, repetitions,
              [=](benchmark::State&) { return application_seconds(*a, options); });
  }
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const auto degrees = perf::numbers(perf::take_flag(argc, argv, "degrees", "2,10,30"));
  const auto storages = perf::words(perf::take_flag(argc, argv, "storages", "full,half"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "3"));
  const auto* a = &*perf::lasting_matrix(spec);
  for (const std::string& word : storages) {
    for (PolynomialOptions options :
         {PolynomialOptions(), PolynomialOptions::chebyshev(), PolynomialOptions::neumann()}) {
      OptionFields::of(options).set({{"storage", word}}, "perf_polynomial");
      register_method(spec + "/" + options.name_of_kind() + "/" + word, a, options, degrees, repetitions);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
