// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.hpp"

#include <prekond/batched/result.hpp>
#include <prekond/batched/solver.hpp>
#include <prekond/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include "commands.hpp"
#include "measured_solve.hpp"
#include "report.hpp"
#include "summary.hpp"

namespace prekond::driver {
namespace {

/// The options of BatchedOptions that -s or -p sets for a method.
std::vector<std::string> option_names(bool of_solver, const std::string& method) {
  static const std::map<std::string, std::vector<std::string>> own = {
      {"richardson", {"omega"}}, {"gmres", {"restart"}},
      {"idr", {"s", "kappa"}},   {"par_ilu", {"sweeps"}},
      {"isai", {"power"}},       {"fsai", {"power"}},
      {"ilu_isai", {"power"}},   {"block_jacobi", {"block_size"}}};
  std::vector<std::string> names = {"stored"};
  if (of_solver) names = {"lanes", "scratch", "workspace_budget", "spill_budget"};  // the last a former name
  const auto more = own.find(method);
  if (more != own.end()) names.insert(names.end(), more->second.begin(), more->second.end());
  return names;
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Sets the method and the options of -s or -p. \throws OptionError, with the place in the config file where
/// it came from one
void set_method(const Settings& settings, bool of_solver, const OptionFields& fields) {
  const std::string key = of_solver ? "solver" : "precond";
  const std::string& method = of_solver ? settings.solver : settings.precond;
  at_origin(settings.given, key, [&] { fields.set({{key, method}}, "batch"); });
  const std::vector<std::string> known = option_names(of_solver, method);
  for (const auto& option : of_solver ? settings.solver_options : settings.precond_options)
    at_origin(settings.given, key + "_options." + option.first, [&] {
      if (find_name(option.first, known) == nullptr)
        throw OptionError(method + " in a batch has no option '" + option.first + "'" +
                          did_you_mean(option.first, known));
      fields.set({option}, method);
    });
}

BatchedOptions options_of(const Settings& settings) {
  BatchedOptions options;
  const auto fields = OptionFields::of(options);
  set_method(settings, true, fields);
  set_method(settings, false, fields);
  options.stopping = settings.stopping;
  return options;
}

OptionMap in_force(BatchedOptions options, const std::vector<std::string>& names) {
  OptionMap values = OptionFields::of(options).values();
  std::erase_if(values, [&](const auto& value) { return !is_one_of(names, value.first); });
  return values;
}

template <class Scalar>
using CsrBatch = BatchedStorage<BatchedCsr<Scalar, Space>>;

/// Does `work` with a function that converts a CSR batch to the format of --format.
template <class Scalar, class Work>
void with_format(const Settings& settings, const Work& work) {
  using Batch = CsrBatch<Scalar>;
  if (settings.format == "csr") return work([](const Space&, const Batch& a) { return a; });
  if (settings.format == "ell")
    return work([](const Space& space, const Batch& a) { return to_ell<Scalar>(space, a.matrix); });
  if (settings.format == "dense")
    return work([](const Space& space, const Batch& a) { return to_dense<Scalar>(space, a.matrix); });
  work([](const Space& space, const Batch& a) { return to_banded<Scalar>(space, a.matrix); });
}

/// Within a KokkosSession. \throws OptionError where solver, preconditioner and format do not go together
void check_combination(const Settings& settings, const BatchedOptions& options) {
  with_format<double>(settings, [&](const auto& convert) {
    const BatchedSolver<double, decltype(convert(Space(), CsrBatch<double>()).matrix)> solver(options);
  });
}

/// --atol of each system, which is divided by the power of two that its b was divided by.
Vector<double, Space> scaled_atol(const Space& space, double atol, const Vector<int, Space>& exponents) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), exponents);
  const auto result = allocate<Vector<double, Space>>(space, "prekond::driver::atol", exponents.extent(0));
  const auto values = Kokkos::create_mirror_view(result);
  for (std::size_t s = 0; s < host.extent(0); ++s) values(s) = std::ldexp(atol, -host(s));
  Kokkos::deep_copy(result, values);
  return result;
}

/// The repetitions of setup and solve, whose medians the report gets, and the solutions.
template <class Scalar, class Matrix>
BatchedReport measure(const Context& context, const BatchedOptions& options, const Matrix& a,
                      const LoadedBatch<Scalar>& loaded, const MultiVector<Scalar, Space>& x, Json& report) {
  const Space& space = context.space;
  const MultiVector<Scalar, Space>& b = loaded.b;
  Vector<double, Space> atol;
  if (options.stopping.atol > 0) atol = scaled_atol(space, options.stopping.atol, loaded.scaling.rhs);
  BatchedResult<Space> result;
  std::vector<double> setups, generations, solves;
  for (std::int64_t k = 0; k < context.settings.repeat; ++k) {
    Kokkos::deep_copy(space, x, Scalar(0));
    space.fence("prekond::driver::batch");
    Kokkos::Timer timer;
    BatchedSolver<Scalar, Matrix> solver(options);
    solver.symbolic(space, a);
    space.fence("prekond::driver::batch_symbolic");
    const double symbolic = timer.seconds();
    solver.numeric(space, a);
    space.fence("prekond::driver::batch_setup");
    setups.push_back(timer.seconds());
    generations.push_back(setups.back() - symbolic);
    timer.reset();
    solver.solve(space, a, b, x, result, {{}, atol});
    unscale_solutions<Scalar, Space>(space, loaded.scaling, x, result);
    space.fence("prekond::driver::batch_solve");
    solves.push_back(timer.seconds());
  }
  report["preconditioner"].update({{"setup_seconds", median(setups)},
                                   {"first_setup_seconds", setups.front()},
                                   {"numeric_seconds", options.stored ? Json(median(generations)) : Json()}});
  report["solver"]["seconds"] = median(solves);
  report["total_seconds"] = median(setups) + median(solves);
  return summarize(space, result);
}

/// Writes the solutions, a column a system. A column of a system without one is not finite: it has zeros.
template <class Scalar>
void write_solutions(OutputFiles& files, const Settings& settings, const MultiVector<Scalar, Space>& x) {
  files.write("solution", settings.solution, [&](const std::string& path) {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    for (std::size_t s = 0; s < host.extent(1); ++s) {
      bool all = true;
      for (std::size_t i = 0; i < host.extent(0); ++i) all = all && is_finite(host(i, s));
      for (std::size_t i = 0; i < host.extent(0) && !all; ++i) host(i, s) = Scalar(0);
    }
    write_vectors_market(path, host, "prekond batch " + settings.values + settings.generate);
  });
}

Json systems_json(const BatchInput& input, const std::vector<BatchedSystemReport>& systems) {
  Json json = Json::array();
  for (const auto& one : systems) {
    Json system = {{"system", one.system}};
    if (!input.files.empty()) system["file"] = input.files[static_cast<std::size_t>(one.system)];
    system.update({{"iterations", one.iterations},
                   {"reason", to_string(one.reason)},
                   {"relative_residual", one.relative_residual}});
    json.push_back(system);
  }
  return json;
}

Json result_json(const BatchInput& input, const BatchedReport& result) {
  Json reasons = Json::object(), bins = Json::array();
  for (const auto& [reason, count] : result.reasons) reasons[to_string(reason)] = count;
  for (const auto& bin : result.histogram)
    bins.push_back({{"first", bin.first}, {"last", bin.last}, {"systems", bin.systems}});
  return {{"systems", result.num_systems},
          {"converged", result.num_converged},
          {"iterations",
           {{"min", result.min_iterations},
            {"quartiles", result.quartiles},
            {"max", result.max_iterations},
            {"mean", result.mean_iterations},
            {"histogram", bins}}},
          {"reasons", reasons},
          {"replaced_pivots",
           {{"systems", result.systems_with_replaced_pivots}, {"pivots", result.replaced_pivots}}},
          {"unsettled_factors", result.unsettled_factors},
          {"slowest", systems_json(input, result.slowest)},
          {"failures", systems_json(input, result.failures)}};
}

/// "system 3 (3/A.mtx): max_iters after 100 iterations, relative residual 1.2e-03; ..."
std::string ends_text(const Json& systems, std::size_t most) {
  std::string text;
  for (std::size_t k = 0; k < std::min(systems.size(), most); ++k) {
    const Json& one = systems[k];
    text += text_of(k == 0 ? "" : "; ", "system ", one.at("system"),
                    one.contains("file") ? text_of(" (", one.at("file"), ")") : "", ": ", one.at("reason"),
                    " after ", one.at("iterations"), " iterations");
    if (one.at("reason") != "nan")
      text += format(", relative residual %.2e", one.at("relative_residual").get<double>());
  }
  return text;
}

/// The systems of each reason: "rtol 99, max_iters 1"
std::string reasons_text(const Json& reasons) {
  std::string text;
  for (const auto& [reason, count] : reasons.items())
    text += text_of(text.empty() ? "" : ", ", reason, " ", count);
  return text;
}

void print_iterations(const Json& iterations) {
  const Json& quartiles = iterations.at("quartiles");
  print_line("  iterations", text_of(iterations.at("min"), " to ", iterations.at("max"),
                                     format(", mean %.2f", iterations.at("mean").get<double>()),
                                     ", quartiles ", quartiles[0], ", ", quartiles[1], ", ", quartiles[2]));
  if (iterations.at("histogram").size() < 2) return;
  for (const Json& bin : iterations.at("histogram")) {
    const Json &first = bin.at("first"), &last = bin.at("last");
    print_line(text_of("  ", first, first == last ? "" : text_of(" to ", last)),
               text_of(bin.at("systems"), " systems"));
  }
}

void print_batch(const Json& report, const OptionMap& solver_options, const OptionMap& precond_options) {
  const Json &matrix = report.at("matrix"), &batch = report.at("batch"), &solver = report.at("solver"),
             &precond = report.at("preconditioner"), &pivots = batch.at("replaced_pivots");
  const double ready = matrix.at("seconds").get<double>() + batch.at("format_seconds").get<double>();
  print_line("pattern", text_of(matrix.at("source"), ": ", matrix.at("rows"), " rows, ", matrix.at("nnz"),
                                " entries", matrix.at("field") == "complex" ? ", complex" : ""));
  print_line("batch", text_of(batch.at("systems"), " systems by ", batch.at("format"), ", ready in ",
                              seconds_text(ready)));
  print_environment(report);
  print_line("preconditioner", text_of(precond.at("name"), ": ", options_text(precond_options)));
  const Json& numeric = precond.at("numeric_seconds");
  print_line("  setup", text_of(seconds_text(precond.at("setup_seconds")),
                                numeric.is_null() ? "" : ", numeric " + seconds_text(numeric)));
  if (pivots.at("pivots") > 0)
    print_line("  breakdowns", text_of(pivots.at("pivots"), " pivots of ", pivots.at("systems"),
                                       " systems were zero, too small or not finite, and were replaced"));
  if (batch.at("unsettled_factors") > 0)
    print_line("  note", text_of(batch.at("unsettled_factors"),
                                 " systems met the bound of sweeps before their "
                                 "factors settled; raise -p sweeps=N"));
  print_line("solver", text_of(solver.at("name"), ": ", options_text(solver_options)));
  print_line("  ended", text_of(batch.at("converged"), " of ", batch.at("systems"), " systems converged (",
                                reasons_text(batch.at("reasons")), ")"));
  print_iterations(batch.at("iterations"));
  print_line("  slowest", ends_text(batch.at("slowest"), 3));
  if (!batch.at("failures").empty())
    print_line("  failed", ends_text(batch.at("failures"), batch.at("failures").size()));
  print_line("  solve", seconds_text(solver.at("seconds")));
  print_line("total", seconds_text(report.at("total_seconds")));
}

/// 4 where all that failed ran out of iterations, else 5.
std::optional<Failure> failure_of_batch(const BatchedReport& result, const Json& report) {
  const std::int64_t failed = result.num_systems - result.num_converged;
  if (failed == 0) return std::nullopt;
  const auto slow = result.reasons.find(StopReason::max_iters);
  const bool only_slow = slow != result.reasons.end() && slow->second == failed;
  constexpr std::size_t named = 3;
  const Json& failures = report.at("batch").at("failures");
  const std::string solver = report.at("solver").at("name"), precond = report.at("preconditioner").at("name");
  std::string text =
      text_of(failed, " of ", result.num_systems, " systems have no solution: ", ends_text(failures, named));
  if (failed > static_cast<std::int64_t>(named))
    text += text_of("; and ", failed - static_cast<std::int64_t>(named), " more");
  text += only_slow ? "; raise --max-iters, or choose a stronger --precond"
                    : text_of("; choose ", solver == "gmres" ? "" : "--solver gmres, or ",
                              "another --precond than ", precond,
                              ", or look at these systems with 'prekond solve', which says more");
  return Failure(only_slow ? not_converged : breakdown, text);
}

template <class Scalar>
void batch(const Context& context, const BatchedOptions& options, const BatchInput& input,
           OutputFiles& files) {
  const Settings& settings = context.settings;
  auto solver_names = option_names(true, settings.solver);
  solver_names.insert(solver_names.end(), {"rtol", "atol", "max_iters"});
  const OptionMap solver_options = in_force(options, solver_names);
  const OptionMap precond_options = in_force(options, option_names(false, settings.precond));
  const LoadedBatch<Scalar> loaded = load_batch<Scalar>(context, input);
  Json report = {{"prekond", environment(1)},
                 {"matrix", loaded.matrix},
                 {"rhs", settings.rhs},
                 {"repeat", settings.repeat},
                 {"batch", {{"values", settings.values}, {"format", settings.format}}},
                 {"preconditioner", {{"name", settings.precond}, {"options", to_json(precond_options)}}},
                 {"solver", {{"name", settings.solver}, {"options", to_json(solver_options)}}}};
  BatchedReport result;
  const auto x = allocate<MultiVector<Scalar, Space>>(context.space, "prekond::driver::x", loaded.b.extent(0),
                                                      loaded.b.extent(1));
  with_format<Scalar>(settings, [&](const auto& convert) {
    context.progress.phase("converting to " + settings.format);
    const Kokkos::Timer timer;
    const auto a = convert(context.space, loaded.a);
    report["batch"]["format_seconds"] = timer.seconds();
    context.progress.phase(settings.solver + " with " + settings.precond);
    result = measure<Scalar>(context, options, a.matrix, loaded, x, report);
  });
  report["batch"].update(result_json(input, result));
  report["solver"]["converged"] = result.num_converged == result.num_systems;
  context.progress.end();
  write_solutions<Scalar>(files, settings, x);
  files.write_report(report);
  if (!settings.quiet) print_batch(report, solver_options, precond_options);
  files.finish(failure_of_batch(result, report));
}

}  // namespace

void batch_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  const Settings& settings = line.settings;
  processes.on_root([&] {
    // The command line is checked before the systems are read.
    const BatchedOptions options = options_of(settings);
    const KokkosSession session(line.kokkos);
    check_combination(settings, options);
    const BatchInput input = open_batch(settings);
    Progress progress(!settings.quiet);
    const Context context{settings, processes, progress};
    if (input.complex)
      batch<Complex>(context, options, input, files);
    else
      batch<double>(context, options, input, files);
  });
}

}  // namespace prekond::driver
