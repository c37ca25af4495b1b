// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "fsai_setup.hpp"

#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/precond/multicolor.hpp>

#include <string>

/// Colouring, setup and sweeps of the multicolour preconditioners: perf_relaxation --matrix=poisson3d:100
/// [--orders=natural,largest_first,hash] [--storages=full,single,half] [--sweeps=1,2] [--sparsify=0.05]
/// [--repetitions=5] [--kernels=true: times by kernel, once].
///
/// A colouring has `colors` and `rounds`, a setup the seconds of symbolic and numeric, and `again`, those of
/// a further numeric. An application (`sweep/`) has the rate of the bytes that it has to move,
/// `bytes_per_second`: both triangles once a symmetric sweep, the vectors once where a pass reads or writes
/// them; `sweep_over_product` is that over the product's rate with A, and `products` its time in products.
namespace {

using namespace prekond;
using Matrix = perf::Matrix;
using perf::Space;

constexpr int inner = 20;

template <class Work>
double repeat(const Work& work) {
  work();
  return perf::seconds(Space(),
                       [&] {
                         for (int k = 0; k < inner; ++k) work();
                       }) /
         inner;
}

struct Product {
  double seconds = 0, bytes = 0;
};

Product time_product(const Matrix& a) {
  const Vector<double, Space> x("x", a.num_rows), y("y", a.num_rows);
  Kokkos::deep_copy(x, 1.0 / 3);
  Product result;
  result.bytes = double(a.bytes()) + 16.0 * double(a.num_rows);
  result.seconds = repeat([&] {
    spmv<double, Space>(Space(), 1.0, a, as_multivector(VectorView<const double, Space>(x)), 0.0,
                        as_multivector(y));
  });
  return result;
}

double color(benchmark::State& state, const Matrix& a, const ColoringOptions& options, double sparsify) {
  Coloring<Space> coloring;
  const double time = perf::seconds(Space(), [&] {
    if (sparsify > 0)
      coloring = color_sparsified<double, Space>(Space(), a, {sparsify}, options).coloring;
    else
      coloring = color_graph<Space>(Space(), a, options);
  });
  state.counters["colors"] = coloring.num_colors;
  state.counters["rounds"] = coloring.rounds;
  state.counters["entries_per_second"] = double(a.nnz()) / time;
  return time;
}

template <class Method>
double set_up(benchmark::State& state, const Matrix& a, const typename Method::options_type& options) {
  const Space space;
  Method method(options);
  const double time = perf::seconds(space, [&] {
    method.symbolic(space, a);
    method.numeric(space, a);
  });
  state.counters["symbolic_seconds"] = method.report().symbolic_seconds;
  state.counters["again"] = perf::seconds(space, [&] { method.numeric(space, a); });
  state.counters["colors"] = method.coloring().num_colors;
  state.counters["bytes"] = double(method.report().bytes);
  state.counters["fences"] = method.report().fences;
  return time;
}

/// Bytes of an application: of each symmetric sweep both triangles and their row pointers, and a row's x,
/// permutation, scale and t in each half; of the first half b, of the last one y.
double bytes_of(const Matrix& a, std::int64_t stored, int value_bytes, int sweeps) {
  const double n = double(a.num_rows);
  const double triangles = double(stored) * (value_bytes + 4) + 16 * n;
  const double gathered = 16 * n, own = 24 * n;  // x by the columns, x of the row
  const double first = (8 + 8 + 4) * n, last = (8 + 8 + 4) * n;
  const double between = (sweeps - 1) * 2 * (20 + 16) * n;  // b again, and t read and written
  return sweeps * (triangles + gathered + own) + first + last + between;
}

template <class Method>
double sweep(benchmark::State& state, const Matrix& a, const typename Method::options_type& options,
             int sweeps) {
  const Space space;
  Method method(options);
  method.symbolic(space, a);
  method.numeric(space, a);
  const Vector<double, Space> x("x", a.num_rows), y("y", a.num_rows);
  Kokkos::deep_copy(x, 1.0 / 3);
  const auto workspace = method.make_workspace(space, 1);
  const double time = repeat([&] {
    method.apply(space, as_multivector(VectorView<const double, Space>(x)), as_multivector(y), *workspace);
  });
  const int value_bytes = options.storage == Storage::full               ? 8
                          : options.storage == Storage::single_precision ? 4
                                                                         : 2;
  const double bytes = bytes_of(a, method.report().nnz - a.num_rows, value_bytes, sweeps);
  const Product product = time_product(a);
  state.counters["colors"] = method.coloring().num_colors;
  state.counters["bytes_per_second"] = bytes / time;
  state.counters["sweep_over_product"] = bytes / time / (product.bytes / product.seconds);
  state.counters["products"] = time / product.seconds;
  return time;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const auto orders = perf::words(perf::take_flag(argc, argv, "orders", "natural,largest_first,hash"));
  const auto storages = perf::words(perf::take_flag(argc, argv, "storages", "full,single"));
  const auto sweeps = perf::numbers(perf::take_flag(argc, argv, "sweeps", "1,2"));
  const double sparsify = std::stod(perf::take_flag(argc, argv, "sparsify", "0"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const auto a = perf::lasting_matrix(spec);
  for (const std::string& order : orders) {
    MulticolorGsOptions options = MulticolorGsOptions::symmetric();
    OptionFields::of(options).set({{"order", order}, {"sparsify", sparsify}}, "perf_relaxation");
    const std::string name = spec + "/" + order;
    const ColoringOptions coloring{.order = options.order};
    perf::add("coloring/" + name, repetitions,
              [=](benchmark::State& state) { return color(state, *a, coloring, sparsify); });
    perf::add("coloring/" + name + "/distance:2", repetitions, [=](benchmark::State& state) {
      ColoringOptions two = coloring;
      two.distance = 2;
      return color(state, *a, two, 0);
    });
    using Ssor = MulticolorGs<double, Space>;
    using Ilu0 = MulticolorIlu0<double, Space>;
    if (kernels) perf::print_kernels<Ssor>(*a, options, name);
    perf::add("setup/multicolor_ssor/" + name, repetitions,
              [=](benchmark::State& state) { return set_up<Ssor>(state, *a, options); });
    MulticolorIlu0Options ilu;
    static_cast<MulticolorOptions&>(ilu) = options;
    for (const std::string kind : {"ilu", "ic"}) {
      OptionFields::of(ilu).set({{"kind", kind}}, "perf_relaxation");
      perf::add("setup/multicolor_ilu0/" + kind + "/" + name, repetitions,
                [=](benchmark::State& state) { return set_up<Ilu0>(state, *a, ilu); });
    }
    for (const std::string& storage : storages) {
      OptionFields::of(options).set({{"storage", storage}}, "perf_relaxation");
      OptionFields::of(ilu).set({{"storage", storage}}, "perf_relaxation");
      for (const int count : sweeps) {
        options.sweeps = count;
        perf::add("sweep/multicolor_ssor/" + name + "/" + storage + "/sweeps:" + std::to_string(count),
                  repetitions,
                  [=](benchmark::State& state) { return sweep<Ssor>(state, *a, options, count); });
      }
      perf::add("sweep/multicolor_ilu0/" + name + "/" + storage, repetitions,
                [=](benchmark::State& state) { return sweep<Ilu0>(state, *a, ilu, 1); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
