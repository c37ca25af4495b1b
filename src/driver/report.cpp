// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <prekond/core/version.hpp>

namespace prekond::driver {
namespace {

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

Json devices_json(const std::vector<DeviceReport>& devices, const std::vector<std::string>& names) {
  Json result;
  for (std::size_t k = 0; k < devices.size(); ++k)
    result.push_back({{"name", k < names.size() ? names[k] : ""},
                      {"first_row", devices[k].first_row},
                      {"rows", devices[k].num_rows},
                      {"rows_read", devices[k].rows_read},
                      {"nnz", devices[k].nnz},
                      {"bytes", devices[k].bytes},
                      {"copy_seconds", devices[k].copy_seconds},
                      {"symbolic_seconds", devices[k].symbolic_seconds},
                      {"numeric_seconds", devices[k].numeric_seconds},
                      {"fences", devices[k].fences}});
  return result;
}

}  // namespace

Json environment(int processes) {
  return {{"version", version},     {"backend", Space::name()},   {"threads", host_threads()},
          {"processes", processes}, {"kokkos", kokkos_version()}, {"device", device_name()}};
}

Json to_json(const OptionMap& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options)
    std::visit([&, &key = name](const auto& v) { json[key] = v; }, value);
  return json;
}

Json frame(const Context& context, const Json& problem, const MethodFacts& method) {
  const Settings& settings = context.settings;
  Json report = {{"prekond", environment(context.processes.size())}};
  report.update(problem);
  report.update(
      {{"rhs", settings.rhs},
       {"x0", settings.x0},
       {"spmv", settings.spmv},
       {"scale", settings.scale},
       {"devices", settings.devices},
       {"repeat", settings.repeat},
       {"preconditioner", {{"name", method.precond_name}, {"options", to_json(method.precond_options)}}},
       {"solver",
        {{"name", method.solver_name},
         {"options", to_json(method.solver_options)},
         {"converged", false},
         {"reason", "error"}}}});
  return report;
}

Json solver_json(const SolveResult& result) {
  // A solve that met a NaN may have ended before it had a residual.
  const bool known = result.reason != StopReason::nan;
  return {{"iterations", result.iterations},
          {"matrix_products", result.matrix_products},
          {"converged", result.converged},
          {"reason", to_string(result.reason)},
          {"looks_singular", result.looks_singular},
          {"went_back", result.went_back},
          {"relative_residual", known ? Json(result.relative_residual) : Json(nullptr)},
          {"true_relative_residual",
           known || result.went_back ? Json(result.true_relative_residual) : Json(nullptr)},
          {"seconds", result.seconds}};
}

Json setup_json(const Report& setup, const Devices* devices) {
  const bool has_levels = !setup.levels.empty();
  return {{"host_seconds", setup.host_seconds},
          {"nnz", setup.nnz},
          {"bytes", setup.bytes},
          {"setup_bytes", setup.setup_bytes},
          {"foreign_columns", setup.foreign_columns},
          {"foreign_entries", setup.foreign_entries},
          {"fences", setup.fences},
          {"breakdowns",
           {{"count", setup.breakdowns.count},
            {"first_row", setup.breakdowns.first_row},
            {"first_pivot", setup.breakdowns.first_pivot},
            {"action", setup.breakdowns.action}}},
          {"levels", levels_json(setup.levels)},
          {"operator_complexity", has_levels ? Json(operator_complexity(setup.levels)) : Json(nullptr)},
          {"grid_complexity", has_levels ? Json(grid_complexity(setup.levels)) : Json(nullptr)},
          {"devices", devices_json(setup.devices, devices ? devices->names() : std::vector<std::string>())},
          {"gather_seconds", setup.gather_seconds},
          {"notes", setup.notes}};
}

Json error_report(const CommandLine& line, const Failure& failure) {
  const Settings& settings = line.settings;
  // Kokkos need not run.
  const Json frame = {{"prekond", {{"version", version}, {"kokkos", kokkos_version()}}},
                      {"matrix", {{"source", settings.source()}}}};
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

std::string report_text(const Json& report) {
  // Names and paths need not be UTF-8, which JSON is.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace prekond::driver
