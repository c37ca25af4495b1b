// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "near_null_space.hpp"

#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/amg.hpp>
#include "matrix/elasticity3d_coordinates.hpp"

#include "text.hpp"

namespace prekond::driver {
namespace {

/// The numbers of a file, as columns.
MultiVector<double, Space> read_columns(const Space& space, const std::string& path) {
  const auto sparse = read_matrix_market<double>(path);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> host("prekond::driver::columns",
                                                                           sparse.num_rows, sparse.num_cols);
  for (std::int64_t i = 0; i < sparse.num_rows; ++i)
    for (std::size_t k = sparse.row_ptrs(i); k < sparse.row_ptrs(i + 1); ++k)
      host(i, sparse.col_idxs(k)) = sparse.values(k);
  const auto result =
      allocate<MultiVector<double, Space>>(space, "prekond::driver::columns", host.extent(0), host.extent(1));
  Kokkos::deep_copy(space, result, host);
  space.fence("prekond::driver::read_columns");
  return result;
}

using Vectors = NearNullSpace<double, Space>;

Vectors modes_of(const Space& space, const std::string& name, std::int64_t num_rows) {
  const bool is_grid = name == "grid";
  const auto coordinates =
      is_grid ? elasticity3d_coordinates<Space>(space, num_rows) : read_columns(space, name);
  const auto nodes = static_cast<std::int64_t>(coordinates.extent(0));
  const int dimensions = static_cast<int>(coordinates.extent(1));
  if ((dimensions != 2 && dimensions != 3) || nodes * dimensions != num_rows)
    throw InputError(text_of(name, ": ", nodes, " x ", dimensions,
                             " coordinates; wanted are those of nodes, 2 or 3 each, as many as the ",
                             num_rows, " rows of the matrix"));
  return {rigid_body_modes<double, Space>(space, coordinates), dimensions};
}

Vectors make_whole(const Context& context, std::int64_t num_rows) {
  const Settings& settings = context.settings;
  if (!settings.coordinates.empty()) return modes_of(context.space, settings.coordinates, num_rows);
  const Vectors result{read_columns(context.space, settings.near_null_space), 1};
  if (static_cast<std::int64_t>(result.vectors.extent(0)) != num_rows || result.vectors.extent(1) == 0)
    throw InputError(text_of(settings.near_null_space, ": ", result.vectors.extent(0), " x ",
                             result.vectors.extent(1), " numbers; wanted are vectors of ", num_rows,
                             " entries, one a column"));
  return result;
}

}  // namespace

void check_near_null_space(const Settings& settings) {
  if (!settings.has_near_null_space()) return;
  if (!settings.near_null_space.empty() && !settings.coordinates.empty())
    throw OptionError("both --near-null-space and --coordinates: leave one out");
  if (settings.coordinates == "grid" &&
      !find_name(settings.generate.substr(0, settings.generate.find(':')), {"elasticity3d"}))
    throw OptionError("--coordinates grid is for --generate elasticity3d:SIZE; give a FILE.mtx");
  if (settings.order != "none" || settings.match != "none" || settings.scale)
    throw OptionError((settings.coordinates.empty() ? "--near-null-space" : "--coordinates") +
                      std::string(" is of the rows as they are; leave --order, --match and --scale out"));
}

void add_near_null_space(const Context& context, Problem<double>& problem) {
  const Settings& settings = context.settings;
  const Processes& processes = context.processes;
  const Space& space = context.space;
  const std::string& name = settings.coordinates.empty() ? settings.near_null_space : settings.coordinates;
  if (name.empty()) return;
  Vectors whole;
  processes.on_root([&] { whole = make_whole(context, problem.num_rows); });
  const auto count = static_cast<int>(processes.max(static_cast<double>(whole.vectors.extent(1))));
  const auto unknowns = static_cast<int>(processes.max(whole.unknowns_per_node));
  problem.facts["near_null_space"] = {{"name", name}, {"vectors", count}, {"unknowns_per_node", unknowns}};
  problem.near = {whole.vectors, unknowns};
  if (processes.is_serial()) return;
  auto& own = problem.near.vectors;
  own = allocate<MultiVector<double, Space>>(space, "prekond::driver::near_null_space", problem.rows.num_rows,
                                             count);
  for (int k = 0; k < count; ++k) {
    Vector<double, Space> values;
    if (processes.is_root()) {
      values = allocate<Vector<double, Space>>(space, "prekond::driver::whole", problem.num_rows);
      Kokkos::deep_copy(space, values, column(whole.vectors, k));
    }
    Kokkos::deep_copy(space, column(own, k), problem.own_part(context, values));
  }
  space.fence("prekond::driver::near_null_space");
}

}  // namespace prekond::driver
