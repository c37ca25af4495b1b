// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"

#include <prekond/precond/adaptive_fsai.hpp>

#include <map>
#include <memory>
#include <sstream>
#include <string>

/// Setup time of the adaptive FSAI: perf_adaptive_fsai --matrix=elasticity3d:100 [--tolerance=1e-3]
/// [--steps=10,20,30]
/// [--repetitions=5] [--gradient=list,marker,merge] [--workspace_budget=268435456]
/// [--kernels=true: times by kernel, once]. The time is that of symbolic and numeric, fenced, with every
/// allocation, cast and G^T.
/// --gradient=marker,merge with a workspace_budget as large as the markers of all rows in flight repeats
/// Table 3 of Bernaschi et al. (2019): `setup_bytes` and `density` are its other columns.
namespace {

using namespace prekond;
using perf::Matrix;
using perf::Space;
using Algorithm = AdaptiveFsai<double, Space>;

double set_up_again(const Matrix& a, const AdaptiveFsaiOptions& options) {
  const Space space;
  Algorithm fsai(options);
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  return perf::seconds(space, [&] { fsai.numeric(space, a); });
}

/// The choices named in "list,marker", by their names; without any, the default under no name.
std::map<std::string, AdaptiveFsaiOptions::Gradient> gradients(const std::string& text) {
  if (text.empty()) return {{"", AdaptiveFsaiOptions::Gradient::list}};
  std::map<std::string, AdaptiveFsaiOptions::Gradient> chosen;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    AdaptiveFsaiOptions options;
    OptionFields::of(options).set({{"gradient", word}}, AdaptiveFsaiOptions::name);
    chosen["/" + word] = options.gradient;
  }
  return chosen;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.tolerance = std::stod(perf::take_flag(argc, argv, "tolerance", "1e-3"));
  options.step_size = std::stoi(perf::take_flag(argc, argv, "step_size", "1"));
  options.workspace_budget =
      std::stoll(perf::take_flag(argc, argv, "workspace_budget", std::to_string(options.workspace_budget)));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto steps = perf::numbers(perf::take_flag(argc, argv, "steps", "10,20,30"));
  const auto chosen = gradients(perf::take_flag(argc, argv, "gradient", ""));
  const auto a = perf::lasting_matrix(spec);
  for (const auto& [name, gradient] : chosen) {
    options.gradient = gradient;
    for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
      options.setup_scalar = precision;
      const std::string word = (precision == Precision::single_precision ? "single" : "double") + name;
      for (int k : steps) {
        options.max_steps = k;
        if (kernels) perf::print_kernels<Algorithm>(*a, options, spec + " " + word + " " + std::to_string(k));
        perf::add("setup/" + spec + "/" + word + "/k_max:" + std::to_string(k), repetitions,
                  [=](benchmark::State& state) { return perf::set_up<Algorithm>(state, *a, options); });
      }
      perf::add("numeric_again/" + spec + "/" + word + "/k_max:" + std::to_string(options.max_steps),
                repetitions, [=](benchmark::State&) { return set_up_again(*a, options); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
