// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.hpp"

#include <prekond/batched/solver.hpp>
#include <prekond/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "commands.hpp"
#include "report.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// An option of BatchedOptions that -s or -p sets, and the methods that have it; none: all do.
struct OwnOption {
  const char* name;
  bool of_solver;
  std::vector<std::string> methods;
};
const std::vector<OwnOption>& own_options() {
  static const std::vector<OwnOption> options = {
      {"omega", true, {"richardson"}},
      {"restart", true, {"gmres"}},
      {"s", true, {"idr"}},
      {"kappa", true, {"idr"}},
      {"lanes", true, {}},
      {"scratch", true, {}},
      {"workspace_budget", true, {}},
      {"spill_budget", true, {}},  // its former name
      {"sweeps", false, {"par_ilu"}},
      {"power", false, {"isai", "fsai", "ilu_isai"}},
      {"block_size", false, {"block_jacobi"}},
      {"stored", false, {}},
  };
  return options;
}

bool is_for(const OwnOption& option, const std::string& method) {
  const auto& methods = option.methods;
  return methods.empty() || std::find(methods.begin(), methods.end(), method) != methods.end();
}

std::vector<std::string> option_names(bool of_solver, const std::string& method) {
  std::vector<std::string> names;
  for (const auto& option : own_options())
    if (option.of_solver == of_solver && is_for(option, method)) names.emplace_back(option.name);
  return names;
}

/// Sets the options of -s or -p. \throws OptionError
void set_options(const Settings& settings, bool of_solver, BatchedOptions& options) {
  const std::string& method = of_solver ? settings.solver : settings.precond;
  const std::string prefix = of_solver ? "solver_options." : "precond_options.";
  const std::vector<std::string> known = option_names(of_solver, method);
  for (const auto& [key, value] : of_solver ? settings.solver_options : settings.precond_options) {
    at_origin(settings.origins, prefix + key, [&, &name = key, &written = value] {
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw OptionError(method + " in a batch has no option '" + name + "'; did you mean '" +
                          nearest_word(name, known) + "'?");
      OptionFields::of(options).set({{name, written}}, method);
    });
  }
}

/// \throws OptionError, with the place in the config file where it came from one
BatchedOptions options_of(const Settings& settings) {
  BatchedOptions options;
  const auto fields = OptionFields::of(options);
  at_origin(settings.origins, "solver", [&] { fields.set({{"solver", settings.solver}}, "batch"); });
  at_origin(settings.origins, "precond", [&] { fields.set({{"precond", settings.precond}}, "batch"); });
  set_options(settings, true, options);
  set_options(settings, false, options);
  options.stopping = settings.stopping;
  return options;
}

OptionMap in_force(BatchedOptions options, const std::vector<std::string>& names) {
  OptionMap values = OptionFields::of(options).values();
  std::erase_if(values, [&](const auto& value) {
    return std::find(names.begin(), names.end(), value.first) == names.end();
  });
  return values;
}

template <class Scalar>
using CsrBatch = BatchedStorage<BatchedCsr<Scalar, Space>>;

/// Does `work` with a function that converts a CSR batch to the format. \throws OptionError for another name
template <class Scalar, class Work>
void with_format(const Settings& settings, const Work& work) {
  using Batch = CsrBatch<Scalar>;
  if (settings.format == "csr") return work([](const Space&, const Batch& a) { return a; });
  if (settings.format == "ell")
    return work([](const Space& space, const Batch& a) { return to_ell<Scalar>(space, a.matrix); });
  if (settings.format == "dense")
    return work([](const Space& space, const Batch& a) { return to_dense<Scalar>(space, a.matrix); });
  if (settings.format == "banded")
    return work([](const Space& space, const Batch& a) { return to_banded<Scalar>(space, a.matrix); });
  settings.refuse("format", "--format takes csr, ell, dense or banded, not '" + settings.format + "'");
}

/// Within a KokkosSession. \throws OptionError where solver, preconditioner and format do not go together
void check_combination(const Settings& settings, const BatchedOptions& options) {
  with_format<double>(settings, [&](const auto& convert) {
    const BatchedSolver<double, decltype(convert(Space(), CsrBatch<double>()).matrix)> solver(options);
  });
}

/// The repetitions of setup and solve.
template <class Scalar, class Matrix>
void measure(const Space& space, const Settings& settings, const BatchedOptions& options, const Matrix& a,
             const MultiVector<Scalar, Space>& b, BatchFacts& facts) {
  const auto x =
      allocate<MultiVector<Scalar, Space>>(space, "prekond::driver::x", a.num_rows, a.num_systems());
  BatchedResult<Space> result;
  std::vector<double> setups, solves;
  for (std::int64_t k = 0; k < settings.repeat; ++k) {
    Kokkos::deep_copy(space, x, Scalar(0));
    space.fence("prekond::driver::batch");
    Kokkos::Timer timer;
    BatchedSolver<Scalar, Matrix> solver(options);
    solver.symbolic(space, a);
    solver.numeric(space, a);
    space.fence("prekond::driver::batch_setup");
    setups.push_back(timer.seconds());
    timer.reset();
    solver.solve(space, a, b, x, result);
    space.fence("prekond::driver::batch_solve");
    solves.push_back(timer.seconds());
  }
  facts.first_setup_seconds = setups.front();
  facts.setup_seconds = median(std::move(setups));
  facts.solve_seconds = median(std::move(solves));
  facts.result = summarize(space, result);
}

std::string system_text(const BatchFacts& facts, std::int64_t system) {
  const std::string text = concat("system ", system);
  return facts.files.empty() ? text : text + " (" + facts.files[static_cast<std::size_t>(system)] + ")";
}

std::string ends_text(const BatchFacts& facts, const std::vector<BatchedSystemReport>& systems,
                      std::size_t most) {
  std::string text;
  for (std::size_t k = 0; k < std::min(systems.size(), most); ++k) {
    const auto& one = systems[k];
    text += (k == 0 ? "" : "; ") + system_text(facts, one.system) +
            concat(": ", to_string(one.reason), " after ", one.iterations, " iterations");
    if (one.reason != StopReason::nan) text += format(", relative residual %.2e", one.relative_residual);
  }
  return text;
}

/// The systems of each reason: "rtol 99, max_iters 1"
std::string reasons_text(const BatchedReport& result) {
  std::string text;
  for (const auto& [reason, count] : result.reasons)
    text += concat(text.empty() ? "" : ", ", to_string(reason), " ", count);
  return text;
}

void print_histogram(const BatchedReport& result) {
  if (result.histogram.size() < 2) return;
  for (const auto& bin : result.histogram) {
    const std::string end = bin.first == bin.last ? "" : concat(" to ", bin.last);
    print_line(concat("  ", bin.first, end), concat(bin.systems, " systems"));
  }
}

void print_facts(const Settings& settings, const BatchFacts& facts) {
  const BatchedReport& result = facts.result;
  const Source& source = facts.source;
  print_line("pattern", concat(source.name, ": ", source.num_rows, " rows, ", source.nnz, " entries",
                               source.complex ? ", complex" : ""));
  print_line("batch", concat(result.num_systems, " systems by ", settings.format, ", ready in ",
                             seconds_text(source.seconds + facts.format_seconds)));
  print_line("computed on", computed_on(1));
  print_line("preconditioner", settings.precond + ": " + options_text(facts.precond_options));
  print_line("  setup", seconds_text(facts.setup_seconds));
  if (result.replaced_pivots > 0)
    print_line("  breakdowns",
               concat(result.replaced_pivots, " pivots of ", result.systems_with_replaced_pivots,
                      " systems were zero, too small or not finite, and were replaced"));
  print_line("solver", settings.solver + ": " + options_text(facts.solver_options));
  print_line("  ended", concat(result.num_converged, " of ", result.num_systems, " systems converged (",
                               reasons_text(result), ")"));
  const auto& quartiles = result.quartiles;
  print_line("  iterations",
             format("%d to %d, mean %.2f, quartiles %d, %d, %d", result.min_iterations, result.max_iterations,
                    result.mean_iterations, quartiles[0], quartiles[1], quartiles[2]));
  print_histogram(result);
  print_line("  slowest", ends_text(facts, result.slowest, 3));
  if (!result.failures.empty())
    print_line("  failed", ends_text(facts, result.failures, result.failures.size()));
  print_line("  solve", seconds_text(facts.solve_seconds));
  print_line("total", seconds_text(facts.setup_seconds + facts.solve_seconds));
}

/// 4 where all that failed ran out of iterations, else 5.
std::optional<Failure> failure_of_batch(const BatchFacts& facts) {
  const BatchedReport& result = facts.result;
  const std::int64_t failed = result.num_systems - result.num_converged;
  if (failed == 0) return std::nullopt;
  const auto slow = result.reasons.find(StopReason::max_iters);
  const bool only_slow = slow != result.reasons.end() && slow->second == failed;
  constexpr std::size_t named = 3;
  std::string text = concat(failed, " of ", result.num_systems,
                            " systems have no solution: ", ends_text(facts, result.failures, named));
  if (failed > static_cast<std::int64_t>(named))
    text += concat("; and ", failed - static_cast<std::int64_t>(named), " more");
  text += only_slow ? "; raise --max-iters, or choose a stronger --precond"
                    : "; choose another --solver or --precond, or look at these systems with 'prekond solve'";
  return Failure(only_slow ? not_converged : breakdown, text);
}

template <class Scalar>
void batch(const Settings& settings, const BatchedOptions& options, const BatchInput& input,
           OutputFiles& files) {
  const Space space;
  BatchFacts facts;
  facts.files = input.files;
  auto solver_names = option_names(true, settings.solver);
  solver_names.insert(solver_names.end(), {"rtol", "atol", "max_iters"});
  facts.solver_options = in_force(options, solver_names);
  facts.precond_options = in_force(options, option_names(false, settings.precond));
  {
    Progress progress(!settings.quiet);
    const LoadedBatch<Scalar> loaded = load_batch<Scalar>(space, settings, input, progress);
    facts.source = loaded.source;
    with_format<Scalar>(settings, [&](const auto& convert) {
      progress.phase("converting to " + settings.format);
      const Kokkos::Timer timer;
      const auto a = convert(space, loaded.a);
      facts.format_seconds = timer.seconds();
      progress.phase(settings.solver + " with " + settings.precond);
      measure<Scalar>(space, settings, options, a.matrix, loaded.b, facts);
    });
  }
  files.write_report(batch_report(facts, settings));
  if (!settings.quiet) print_facts(settings, facts);
  files.finish(failure_of_batch(facts));
}

}  // namespace

void batch_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  const Settings& settings = line.settings;
  processes.on_root([&] {
    // The command line is checked before the systems are read.
    const BatchedOptions options = options_of(settings);
    with_format<double>(settings, [](const auto&) {});
    const KokkosSession session(line.kokkos);
    check_combination(settings, options);
    const BatchInput input = open_batch(settings);
    if (input.complex)
      batch<Complex>(settings, options, input, files);
    else
      batch<double>(settings, options, input, files);
  });
}

}  // namespace prekond::driver
