// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "kernel_times.hpp"
#include "krylov_problem.hpp"
#include "named_method.hpp"

#include <prekond/core/report.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/amg.hpp>
#include <prekond/precond/registry.hpp>
#include "matrix/elasticity3d_coordinates.hpp"

#include <memory>
#include <stdexcept>
#include <string>

/// Multigrid to a solution, compared with methods of one level: perf_amg --matrix=elasticity3d:30
/// [--smoothers=chebyshev,jacobi,l1_jacobi,multicolor_ssor,fsai,adaptive_fsai,spai,isai: also with options,
/// adaptive_fsai:max_steps=3:step_size=4:storage=single]
/// [--preconds=jacobi,fsai] [--rigid_body=true: the rigid body modes of elasticity3d, else constants]
/// [--storages=auto,full,single,half,bfloat16] [--rtol=1e-6] [--max_iters=100000] [--repetitions=5]
/// [--coarsenings=aggregation,classical,aggressive: classical, with one aggressive level] [--theta=auto]
/// [--variants=amg,amg:max_interpolation=4: with further options]
/// [--prolongator=smoothed|unsmoothed: of aggregation] [--cycles=v,w,k: with FGMRES where it is a K-cycle]
/// [--rhs=random; a_ones: b = A 1, whose solution prolongators nearly have in their range]
/// [--kernels=true: prints the times of the kernels of a setup, of a later numeric phase and of an
/// application, each fenced]
///
/// `time` is that of the whole solve: a second setup with fresh objects, and CG (FGMRES where M is not
/// symmetric). Counters: iterations, `first_setup` (of this process's first object of the kind), `setup`,
/// `again` (numeric of the same object), `solve`, `application`, levels, operator and grid complexity.
namespace {

using namespace prekond;
using perf::Space;
using Method = MatrixPreconditioner<double, Space>;
using Source = MatrixSource<double, Space>;

using Case = perf::NamedMethod;

/// Options of multigrid for the name of a smoother with its options.
OptionMap smoother_options(const std::string& text) {
  const Case of = perf::named_method(text);
  OptionMap options;
  if (of.name == "l1_jacobi")
    options = {{"smoother", std::string("jacobi")}, {"smoother.type", std::string("l1")}};
  else if (of.name == "isai")
    options = {{"smoother", of.name}, {"smoother.kind", std::string("spd")}};
  else if (of.name != "chebyshev")
    options = {{"smoother", of.name}};
  for (const auto& [name, value] : of.options) options["smoother." + name] = value;
  return options;
}

/// Prints the kernels of the second setup, of a later numeric phase, and of the second application.
void print_kernels(const perf::Problem& problem, const Source& source, const Case& of) {
  const Space space;
  create_preconditioner<double, Space>(of.name, of.options)->numeric(space, source);
  auto method = create_preconditioner<double, Space>(of.name, of.options);
  {
    const perf::KernelTimes times;
    method->numeric(space, source);
    times.print("a setup");
  }
  {
    const perf::KernelTimes times;
    method->numeric(space, source);
    times.print("numeric again");
  }
  const auto workspace = method->make_workspace(space, 1);
  const auto apply = [&] {
    method->apply(space, as_multivector(VectorView<const double, Space>(problem.b)),
                  as_multivector(problem.x), *workspace);
  };
  apply();
  const perf::KernelTimes times;
  apply();
  times.print("an application");
}

double solve(benchmark::State& state, const perf::Problem& problem, const Source& source, const Case& of,
             const StoppingOptions& stopping) {
  const Space space;
  std::unique_ptr<Method> method;
  const auto set_up = [&] {
    method = create_preconditioner<double, Space>(of.name, of.options);
    method->numeric(space, source);
  };
  const double first = perf::seconds(space, set_up), setup = perf::seconds(space, set_up);
  SolveResult result;
  const auto run = [&] {
    Kokkos::deep_copy(problem.x, 0.0);
    const CsrOperator<double, Space> a(problem.a);
    const auto solver = create_solver<double, Space>(
        method->is_nonsymmetric() || method->is_variable() ? "fgmres" : "cg", {});
    result = solver->solve(space, a, method.get(), problem.b, problem.x, stopping);
  };
  run();
  const double solve_seconds = perf::seconds(space, run);
  const auto workspace = method->make_workspace(space, 1);
  constexpr int times = 10;
  const double application = perf::seconds(space, [&] {
    for (int k = 0; k < times; ++k)
      method->apply(space, as_multivector(VectorView<const double, Space>(problem.b)),
                    as_multivector(problem.x), *workspace);
  });
  state.counters["iterations"] = double(result.iterations);
  state.counters["converged"] = result.converged ? 1 : 0;
  state.counters["first_setup"] = first;
  state.counters["setup"] = setup;
  state.counters["solve"] = solve_seconds;
  state.counters["application"] = application / times;
  state.counters["again"] = perf::seconds(space, [&] { method->numeric(space, source); });
  const auto& levels = method->report().levels;
  state.counters["levels"] = double(levels.size());
  state.counters["operator_complexity"] = operator_complexity(levels);
  state.counters["grid_complexity"] = grid_complexity(levels);
  if (!result.converged) state.SkipWithError(("the solver ended by " + to_string(result.reason)).c_str());
  return setup + solve_seconds;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:64");
  const auto smoothers = perf::words(perf::take_flag(
      argc, argv, "smoothers", "chebyshev,jacobi,l1_jacobi,multicolor_ssor,fsai,adaptive_fsai,spai,isai"));
  const auto preconds = perf::words(perf::take_flag(argc, argv, "preconds", "jacobi,fsai"));
  const auto storages = perf::words(perf::take_flag(argc, argv, "storages", "auto"));
  const bool elastic = spec.rfind("elasticity3d", 0) == 0;
  const bool rigid = elastic && perf::take_flag(argc, argv, "rigid_body", "true") == "true";
  const std::string theta = perf::take_flag(argc, argv, "theta", "auto");
  const std::string prolongator = perf::take_flag(argc, argv, "prolongator", "smoothed");
  const auto coarsenings = perf::words(perf::take_flag(argc, argv, "coarsenings", "aggregation"));
  const auto cycles = perf::words(perf::take_flag(argc, argv, "cycles", "v"));
  const auto variants = perf::words(perf::take_flag(argc, argv, "variants", "amg"));
  StoppingOptions stopping;
  stopping.rtol = std::stod(perf::take_flag(argc, argv, "rtol", "1e-6"));
  stopping.max_iters = std::stoll(perf::take_flag(argc, argv, "max_iters", "100000"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const auto problem = perf::make_problem(spec);
  if (perf::take_flag(argc, argv, "rhs", "random") == "random") perf::fill_random(problem->b);
  const auto source = std::make_shared<Source>(problem->a);
  const auto modes = std::make_shared<MultiVector<double, Space>>();
  Kokkos::push_finalize_hook([modes] { *modes = {}; });
  if (elastic) source->set_unknowns_per_node(3);
  if (rigid) {
    *modes = rigid_body_modes<double, Space>(Space(),
                                             elasticity3d_coordinates<Space>(Space(), problem->a.num_rows));
    source->set_near_null_space(*modes);
  }
  const auto add = [&](const std::string& label, const Case& of) {
    if (kernels) std::printf("%s\n", label.c_str()), print_kernels(*problem, *source, of);
    perf::add("amg/" + spec + "/" + label, repetitions,
              [=](benchmark::State& state) { return solve(state, *problem, *source, of, stopping); });
  };
  const auto add_cycle = [&](const std::string& variant, const std::string& coarsening,
                             const std::string& smoother, const std::string& storage,
                             const std::string& cycle) {
    OptionMap options = smoother_options(smoother);
    options["storage"] = storage;
    options["coarsening"] = coarsening == "aggressive" ? "classical" : coarsening;
    if (coarsening == "aggressive") options["aggressive_levels"] = std::int64_t(1);
    options["prolongator"] = prolongator;
    if (theta != "auto") options["theta"] = std::stod(theta);
    options["cycle"] = cycle;
    const perf::NamedMethod further = perf::named_method(variant);
    if (further.name != "amg")
      throw std::runtime_error("--variants takes amg:OPTION=VALUE..., not " + variant);
    for (const auto& [name, value] : further.options) options[name] = value;
    add(variant + ":" + coarsening + ":" + smoother + "/" + storage + (cycle == "v" ? "" : "/" + cycle),
        {"amg", options});
  };
  for (const std::string& coarsening : coarsenings)
    for (const std::string& smoother : smoothers)
      for (const std::string& storage : storages)
        for (const std::string& cycle : cycles)
          for (const std::string& variant : variants)
            add_cycle(variant, coarsening, smoother, storage, cycle);
  for (const std::string& name : preconds) add(name, {name, {}});
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
