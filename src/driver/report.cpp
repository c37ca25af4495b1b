// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <prekond/core/report.hpp>
#include <prekond/core/version.hpp>

#include "atomic_file.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

Json to_json(const OptionMap& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options)
    std::visit([&, &key = name](const auto& v) { json[key] = v; }, value);
  return json;
}

Json environment(int processes) {
  return {{"version", version},     {"backend", Space::name()},   {"threads", host_threads()},
          {"processes", processes}, {"kokkos", kokkos_version()}, {"device", device_name()}};
}

Json matrix_json(const Source& source, bool symmetric) {
  return {{"source", source.name},
          {"rows", source.num_rows},
          {"cols", source.num_cols},
          {"nnz", source.nnz},
          {"field", source.complex ? "complex" : "real"},
          {"symmetric", symmetric},
          {"seconds", source.seconds}};
}

Json order_statistics_json(const OrderStatistics& s) {
  return {{"bandwidth", s.bandwidth}, {"profile", s.profile}, {"levels", s.levels}};
}

Json order_json(const OrderFacts& order) {
  Json json = {{"name", order.name}};
  if (!order.is_asked()) return json;
  if (order.name == "auto") {
    json["chosen"] = order.chosen;
    json["reason"] = order_reason(order);
    if (!order.looked) return json;
  }
  json["seconds"] = order.seconds;
  json["before"] = order_statistics_json(order.before);
  json["after"] = order_statistics_json(order.after);
  return json;
}

Json match_json(const MatchFacts& match) {
  Json json = {{"name", match.name}};
  if (!match.is_asked()) return json;
  json["done"] = match.done;
  if (match.looked) json["weak"] = match.weak;
  if (!match.done) return json;
  json["seconds"] = match.seconds;
  json["rank"] = match.rank;
  json["rows_moved"] = match.rows_moved;
  json["log_product"] = match.log_product;
  json["rounds"] = match.rounds;
  json["rows_on_host"] = match.rows_on_host;
  return json;
}

Json product_json(const ProductFacts& product) {
  return {{"format", product.format}, {"reason", product.reason}, {"seconds", product.seconds}};
}

Json advice_json(const FormatAdvice& advice) {
  return {{"format", to_string(advice.format)}, {"reason", advice.reason},
          {"csr_bytes", advice.csr_bytes},      {"sell_bytes", advice.sell_bytes},
          {"dia_bytes", advice.dia_bytes},      {"diagonals", advice.num_diagonals}};
}

OptionMap all_solver_options(const MethodFacts& method, StoppingOptions stopping) {
  OptionMap options = method.solver_options;
  options.merge(OptionFields::of(stopping).values());
  return options;
}

Json breakdowns_json(const Breakdowns& breakdowns) {
  return {{"count", breakdowns.count},
          {"first_row", breakdowns.first_row},
          {"first_pivot", breakdowns.first_pivot},
          {"action", breakdowns.action}};
}

/// Null unless the method is multigrid.
Json levels_json(const std::vector<LevelReport>& levels) {
  Json result;
  for (const LevelReport& level : levels)
    result.push_back({{"num_rows", level.num_rows},
                      {"nnz", level.nnz},
                      {"prolongator_nnz", level.prolongator_nnz},
                      {"method", level.method},
                      {"method_nnz", level.method_nnz},
                      {"damping", level.damping},
                      {"setup_seconds", level.setup_seconds}});
  return result;
}

/// Null unless the method is multigrid.
Json complexity_json(const std::vector<LevelReport>& levels,
                     double (*complexity)(const std::vector<LevelReport>&)) {
  return levels.empty() ? Json(nullptr) : Json(complexity(levels));
}

/// Null unless several devices share the setup.
Json devices_json(const Measurements& outcome) {
  const auto& devices = outcome.setup.devices;
  if (devices.empty()) return nullptr;
  Json json = Json::array();
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const DeviceReport& device = devices[k];
    json.push_back({{"name", k < outcome.device_names.size() ? outcome.device_names[k] : ""},
                    {"first_row", device.first_row},
                    {"rows", device.num_rows},
                    {"rows_read", device.rows_read},
                    {"nnz", device.nnz},
                    {"bytes", device.bytes},
                    {"copy_seconds", device.copy_seconds},
                    {"symbolic_seconds", device.symbolic_seconds},
                    {"numeric_seconds", device.numeric_seconds},
                    {"fences", device.fences}});
  }
  return json;
}

Json preconditioner_json(const ProblemFacts& problem, const MethodFacts& method,
                         const Measurements& outcome) {
  const Report& setup = outcome.setup;
  return {{"name", method.precond_name},
          {"options", to_json(method.precond_options)},
          {"symbolic_seconds", outcome.symbolic_seconds},
          {"numeric_seconds", outcome.numeric_seconds},
          {"setup_seconds", outcome.setup_seconds},
          {"first_setup_seconds", outcome.first_setup_seconds},
          {"nnz", setup.nnz},
          {"density", density(problem, outcome)},
          {"bytes", setup.bytes},
          {"setup_bytes", setup.setup_bytes},
          {"foreign_columns", setup.foreign_columns},
          {"foreign_entries", setup.foreign_entries},
          {"fences", setup.fences},
          {"apply_seconds", outcome.apply_seconds},
          {"breakdowns", breakdowns_json(setup.breakdowns)},
          {"levels", levels_json(setup.levels)},
          {"operator_complexity", complexity_json(setup.levels, operator_complexity)},
          {"grid_complexity", complexity_json(setup.levels, grid_complexity)},
          {"devices", devices_json(outcome)},
          {"gather_seconds", setup.gather_seconds},
          {"notes", setup.notes}};
}

Json solver_json(const MethodFacts& method, const Settings& settings, const SolveResult& result) {
  // A solve that met a NaN may have ended before it had a residual.
  const bool known = result.reason != StopReason::nan;
  return {{"name", method.solver_name},
          {"options", to_json(all_solver_options(method, settings.stopping))},
          {"iterations", result.iterations},
          {"matrix_products", result.matrix_products},
          {"converged", result.converged},
          {"reason", to_string(result.reason)},
          {"looks_singular", result.looks_singular},
          {"relative_residual", known ? Json(result.relative_residual) : Json(nullptr)},
          {"true_relative_residual", known ? Json(result.true_relative_residual) : Json(nullptr)},
          {"seconds", result.seconds}};
}

Json distribution_json(const DistributionFacts& facts) {
  return {{"ranks", facts.ranks},
          {"partition", facts.partition},
          {"read_by", facts.read_by_all ? "all" : "rank 0"},
          {"cut_entries", facts.cut_entries},
          {"exchanged_entries", facts.exchanged_entries},
          {"most_entries", facts.most_entries},
          {"most_rows", facts.most_rows},
          {"fewest_rows", facts.fewest_rows},
          {"most_neighbors", facts.most_neighbors},
          {"seconds", facts.seconds}};
}

Json near_null_space_json(const ProblemFacts& facts) {
  return {{"name", facts.near_null_space},
          {"vectors", facts.num_near_vectors},
          {"unknowns_per_node", facts.unknowns_per_node}};
}

Json frame(const Processes& processes, const ProblemFacts& problem, const Settings& settings) {
  return {{"prekond", environment(processes.size())},
          {"matrix", matrix_json(problem.source, problem.symmetric)},
          {"rhs", settings.rhs},
          {"x0", settings.x0},
          {"spmv", settings.spmv},
          {"product", product_json(problem.product)},
          {"distribution", distribution_json(problem.distribution)},
          {"match", match_json(problem.match)},
          {"order", order_json(problem.order)},
          {"scale", settings.scale},
          {"near_null_space", near_null_space_json(problem)},
          {"devices", settings.devices},
          {"repeat", settings.repeat}};
}

/// The source as given, before anything was read.
std::string source_of(const Settings& settings) {
  for (const std::string& source : {settings.matrix, settings.pattern, settings.values})
    if (!source.empty()) return source;
  return settings.generate;
}

Json system_json(const BatchFacts& batch, const BatchedSystemReport& one) {
  Json json = {{"system", one.system}};
  if (!batch.files.empty()) json["file"] = batch.files[static_cast<std::size_t>(one.system)];
  json["iterations"] = one.iterations;
  json["reason"] = to_string(one.reason);
  json["relative_residual"] = one.relative_residual;
  return json;
}

Json systems_json(const BatchFacts& batch, const std::vector<BatchedSystemReport>& systems) {
  Json json = Json::array();
  for (const auto& one : systems) json.push_back(system_json(batch, one));
  return json;
}

Json iterations_json(const BatchedReport& result) {
  Json bins = Json::array();
  for (const auto& bin : result.histogram)
    bins.push_back({{"first", bin.first}, {"last", bin.last}, {"systems", bin.systems}});
  return {{"min", result.min_iterations},
          {"quartiles", result.quartiles},
          {"max", result.max_iterations},
          {"mean", result.mean_iterations},
          {"histogram", bins}};
}

Json batch_json(const BatchFacts& batch, const Settings& settings) {
  const BatchedReport& result = batch.result;
  Json reasons = Json::object();
  for (const auto& [reason, count] : result.reasons) reasons[to_string(reason)] = count;
  return {{"systems", result.num_systems},
          {"values", settings.values},
          {"format", settings.format},
          {"format_seconds", batch.format_seconds},
          {"converged", result.num_converged},
          {"iterations", iterations_json(result)},
          {"reasons", reasons},
          {"replaced_pivots",
           {{"systems", result.systems_with_replaced_pivots}, {"pivots", result.replaced_pivots}}},
          {"slowest", systems_json(batch, result.slowest)},
          {"failures", systems_json(batch, result.failures)}};
}

}  // namespace

Json run_report(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                const Settings& settings, const Measurements& outcome) {
  Json report = frame(processes, problem, settings);
  report["preconditioner"] = preconditioner_json(problem, method, outcome);
  report["solver"] = solver_json(method, settings, outcome.solve);
  if (outcome.condition) report["condition"] = condition_json(*outcome.condition);
  report["total_seconds"] = outcome.setup_seconds + outcome.solve.seconds;
  return report;
}

Json failed_report(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                   const Settings& settings, const std::string& error) {
  Json report = frame(processes, problem, settings);
  report["preconditioner"] = {{"name", method.precond_name}, {"options", to_json(method.precond_options)}};
  report["solver"] = {{"name", method.solver_name},
                      {"options", to_json(all_solver_options(method, settings.stopping))},
                      {"converged", false},
                      {"reason", "error"}};
  report["error"] = error;
  return report;
}

Json error_report(const CommandLine& line, const Failure& failure) {
  const Settings& settings = line.settings;
  // Kokkos need not run.
  const Json frame = {{"prekond", {{"version", version}, {"kokkos", kokkos_version()}}},
                      {"matrix", {{"source", source_of(settings)}}}};
  const auto add_error = [&](Json report) {
    report["error"] = failure.what();
    report["exit_code"] = static_cast<int>(failure.code());
    return report;
  };
  if (line.command == "info" || line.command == "batch") return add_error(frame);
  const auto row = [&](const std::string& precond) {
    Json report = frame;
    report["preconditioner"] = {{"name", precond.substr(0, precond.find(':'))}};
    report["solver"] = {{"name", settings.solver},
                        {"converged", false},
                        {"reason", failure.code() > signalled ? "interrupted" : "error"}};
    return add_error(report);
  };
  if (line.command == "solve") {
    Json report = row(settings.precond);
    report["files"] = {{"history", nullptr}, {"solution", nullptr}};
    return report;
  }
  Json rows = Json::array();
  for (const auto& precond : split(settings.precond, ',')) rows.push_back(row(precond));
  return rows;
}

Json info_report(const ProblemFacts& problem, const MatrixStatistics& s, const FormatAdvice& advice,
                 const std::optional<Condition>& condition) {
  Json matrix = matrix_json(problem.source, s.symmetric_values);
  matrix["row_length"] = {{"min", s.row_length_min},
                          {"max", s.row_length_max},
                          {"mean", s.row_length_mean},
                          {"empty", s.empty_rows}};
  matrix["symmetric_pattern"] = s.symmetric_pattern;
  matrix["max_asymmetry"] = s.max_asymmetry;
  matrix["diagonal"] = {{"missing", s.diagonal_missing},   {"zero", s.diagonal_zero},
                        {"negative", s.diagonal_negative}, {"positive", s.diagonal_positive},
                        {"min_abs", s.diagonal_min_abs},   {"max_abs", s.diagonal_max_abs}};
  matrix["bandwidth"] = {{"lower", s.lower_bandwidth}, {"upper", s.upper_bandwidth}};
  matrix["profile"] = problem.order.before.profile;
  matrix["levels"] = problem.order.before.levels;
  matrix["diagonally_dominant_rows"] = s.diagonally_dominant_rows;
  matrix["product"] = advice_json(advice);
  matrix["frobenius_norm"] = s.frobenius_norm;
  matrix["max_abs"] = s.max_abs;
  Json report = {{"prekond", environment(1)},
                 {"matrix", matrix},
                 {"match", match_json(problem.match)},
                 {"order", order_json(problem.order)}};
  if (condition) report["condition"] = condition_json(*condition);
  return report;
}

Json batch_report(const BatchFacts& batch, const Settings& settings) {
  Json matrix = matrix_json(batch.source, false);
  matrix.erase("symmetric");  // each system has values of its own
  return {{"prekond", environment(1)},
          {"matrix", matrix},
          {"rhs", settings.rhs},
          {"repeat", settings.repeat},
          {"batch", batch_json(batch, settings)},
          {"preconditioner",
           {{"name", settings.precond},
            {"options", to_json(batch.precond_options)},
            {"setup_seconds", batch.setup_seconds},
            {"first_setup_seconds", batch.first_setup_seconds}}},
          {"solver",
           {{"name", settings.solver},
            {"options", to_json(batch.solver_options)},
            {"converged", batch.result.num_converged == batch.result.num_systems},
            {"seconds", batch.solve_seconds}}},
          {"total_seconds", batch.setup_seconds + batch.solve_seconds}};
}

void write_report(const std::string& path, const Json& report) {
  // Names and paths need not be UTF-8, which JSON is.
  if (!path.empty()) write_text(path, report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace prekond::driver
