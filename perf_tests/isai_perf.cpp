// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"

#include <prekond/precond/isai.hpp>

/// Setup and application of the ISAI: perf_isai --matrix=convection_diffusion3d:100
/// [--kinds=general,lower,upper] [--powers=1,2] [--steps=0,1,2: of the relaxation] [--prefilter=0]
/// [--repetitions=5] [--blocks=4: given by blocks too, see perf_fsai] [--kernels=true: times by kernel,
/// once]. The time of a setup is that of symbolic and numeric, fenced, with every allocation and the pattern;
/// that of an application is of one vector, the mean of `applications`.
namespace {

using namespace prekond;
using Method = Isai<double, perf::Space>;

constexpr int applications = 20;

/// Seconds of an application with the given number of relaxation steps.
double apply_seconds(benchmark::State& state, const perf::Matrix& a, const IsaiOptions& options) {
  const perf::Space space;
  Method isai(options);
  isai.numeric(space, a);
  const Vector<double, perf::Space> x("x", a.num_rows), y("y", a.num_rows);
  Kokkos::deep_copy(x, 1.0);
  const auto workspace = isai.make_workspace(space, 1);
  const auto apply = [&] { isai.apply(space, as_multivector(x), as_multivector(y), *workspace); };
  apply();
  const double time = perf::seconds(space, [&] {
    for (int k = 0; k < applications; ++k) apply();
  });
  state.counters["nnz_m"] = double(isai.report().nnz);
  state.counters["bytes"] = double(isai.report().bytes);
  state.counters["flops"] = isai.report().apply_flops;
  return time / applications;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "convection_diffusion3d:40");
  const auto kinds = perf::words(perf::take_flag(argc, argv, "kinds", "general,lower,upper"));
  const auto powers = perf::numbers(perf::take_flag(argc, argv, "powers", "1,2"));
  const auto steps = perf::numbers(perf::take_flag(argc, argv, "steps", "0,1,2"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const double prefilter = std::stod(perf::take_flag(argc, argv, "prefilter", "0"));
  const int block_size = std::stoi(perf::take_flag(argc, argv, "blocks", "0"));
  const auto a = perf::lasting_matrix(spec);
  const auto blocks = perf::lasting_blocks(*a, block_size);
  for (const std::string& kind : kinds) {
    for (const std::string precision : {"single", "double"}) {
      if (precision == "single" && kind != "general") continue;  // triangles are solved in double
      for (const int power : powers) {
        IsaiOptions options;
        OptionFields::of(options).set({{"kind", kind},
                                       {"setup_scalar", precision},
                                       {"power", std::int64_t(power)},
                                       {"prefilter", prefilter}},
                                      "perf_isai");
        const std::string name = spec + "/" + kind + "/" + precision + "/power:" + std::to_string(power);
        if (kernels) perf::print_kernels<Method>(*a, options, name);
        perf::add("setup/" + name, repetitions,
                  [=](benchmark::State& state) { return perf::set_up<Method>(state, *a, options); });
        if (block_size > 0 && kind == "general")
          perf::add("setup/" + name + "/by_blocks", repetitions, [=](benchmark::State& state) {
            return perf::set_up_by_blocks<Method>(state, *a, *blocks, options);
          });
        if (precision == "single") continue;
        for (const int count : steps) {
          options.relaxation_steps = count;
          perf::add("apply/" + name + "/steps:" + std::to_string(count), repetitions,
                    [=](benchmark::State& state) { return apply_seconds(state, *a, options); });
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
