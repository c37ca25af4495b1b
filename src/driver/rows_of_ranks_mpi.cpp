// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows_of_ranks.hpp"

#include <sys/stat.h>
#include <prekond/matrix/generate.hpp>
#include "core/norm.hpp"
#include "distributed/row_partition.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace prekond::driver {
namespace {

/// Collective. Is it a regular file, with the same size and the same time of the last change on all?
bool all_see_the_same_file(const Processes& processes, const std::string& path) {
  struct stat status = {};
  const bool is_regular = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (processes.min(is_regular ? 1 : 0) == 0) return false;
  const auto is_alike = [&](std::int64_t value) { return processes.min(value) == -processes.min(-value); };
  const bool has_same_size = is_alike(status.st_size);
  return is_alike(status.st_mtim.tv_sec) && has_same_size;
}

/// Collective. The norm of a vector of parts, whose squares may overflow.
double norm_of_parts(const Space& space, const Processes& processes, const Vector<double, Space>& b) {
  const double own = norm<double, Space>(space, b).value();
  const double largest = processes.max(own);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (int rank = 0; rank < processes.size(); ++rank) {
    const double part = processes.max(rank == processes.rank() ? own : 0) / largest;
    sum += part * part;
  }
  return largest * std::sqrt(sum);
}

/// Can each process read its part of the matrix, or make it? The same on all.
bool can_have_own_rows(const Processes& processes, const Settings& settings, const MethodNeeds& needs) {
  if (is_to_be_matched(settings, needs.check) || is_to_be_ordered(settings, needs)) return false;
  if (settings.matrix.empty()) return generates_rows(settings.generate);
  return all_see_the_same_file(processes, settings.matrix);
}

/// A copy that may be changed.
HostRows host_rows(const Matrix<double>& a) {
  const auto copy = [](const auto& from) {
    using View = std::decay_t<decltype(from)>;
    const HostRows::view<typename View::non_const_value_type> to(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::driver::host_rows"), from.extent(0));
    Kokkos::deep_copy(to, from);
    return to;
  };
  return {a.num_rows, a.num_cols, copy(a.row_ptrs), copy(a.col_idxs), copy(a.values)};
}

/// Collective. The block of rows that RowPartition gives each process, of a generated matrix.
NumberedRows make_rows(const Context& context) {
  const Settings& settings = context.settings;
  NumberedRows block;
  context.processes.collective([&] {
    at_origin(settings.given, "generate", [&] {
      std::int64_t first = 0;
      const auto made = generate_rows<double, Space>(
          context.space, settings.generate, [&](std::int64_t num_rows) -> RowRange {
            const RowPartition blocks{num_rows, context.processes.size()};
            first = blocks.begin(context.processes.rank());
            return {first, blocks.end(context.processes.rank())};
          });
      const auto on_host = [](const auto& view) {
        return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
      };
      block = block_of_rows(first, {made.num_rows, made.num_cols, on_host(made.row_ptrs),
                                    on_host(made.col_idxs), on_host(made.values)});
    });
  });
  return block;
}

/// Collective. Each process's block of the matrix, and what is known of the symmetry of all.
NumberedRows own_blocks(const Context& context, Problem<double>& problem, SymmetryFacts& symmetry) {
  const Settings& settings = context.settings;
  const Processes& processes = context.processes;
  const bool is_made = settings.matrix.empty();
  problem.name = is_made ? settings.generate : settings.matrix;
  context.progress.phase((is_made ? "generating " : "reading ") + problem.name);
  const Kokkos::Timer timer;
  NumberedRows block = is_made ? make_rows(context) : read_rows(processes, problem.name);
  problem.set_size(processes.sum(block.rows.num_rows), block.rows.num_cols, processes.sum(block.rows.nnz()),
                   processes.max(timer.seconds()));
  processes.collective([&] { problem.check_shape(); });
  context.progress.phase("checking " + problem.name);
  symmetry = symmetry_of_ranks(processes, block);
  return block;
}

/// Collective. All rows in rank 0's block, and what each process knows of their order.
NumberedRows whole_block(const Context& context, const MethodNeeds& needs, MatrixInput& input,
                         Problem<double>& problem) {
  const Processes& processes = context.processes;
  NumberedRows block;
  processes.on_root([&] {
    make_whole<double>(context, needs, input, problem);
    block = block_of_rows(0, host_rows(problem.whole));
    problem.whole = {};
  });
  block.rows.num_cols = -processes.min(-block.rows.num_cols);
  problem.matched = processes.max(problem.matched ? 1 : 0) > 0;
  const std::string& order = context.settings.order;
  if (processes.max(problem.order != "none" ? 1 : 0) > 0) problem.order = order == "auto" ? "rcm" : order;
  return block;
}

/// Collective. Makes a random b one that a singular matrix with A 1 = 0 reaches, and says of another what it
/// has to be.
void take_zero_sums_out(const Context& context, Problem<double>& problem) {
  const std::string& rhs = context.settings.rhs;
  if (rhs == "a_ones") return;
  const bool is_zero = rows_sum_to_zero<double>(context.space, problem.rows);
  if (context.processes.min(is_zero ? 1 : 0) == 0) return;
  if (rhs != "random") return problem.add_note(note_of_own_zero_sums);
  take_mean_out<double>(context.space, problem.num_rows, problem.b);
  problem.add_note(note_of_zero_sums);
}

/// Collective. \throws as Problem::check_zero_rows
void check_zero_rows_of_ranks(const Context& context, Problem<double>& problem) {
  const auto first_of_all = [&](std::int64_t own) {
    const std::int64_t first =
        context.processes.min(own < 0 ? Processes::no_key : problem.distributed->global_number(own));
    return first == Processes::no_key ? -1 : first;
  };
  const std::int64_t unsolved = first_of_all(first_zero_row<double>(context.space, problem.rows, problem.b));
  const std::int64_t first = first_of_all(first_zero_row<double>(context.space, problem.rows));
  context.processes.collective([&] { problem.check_zero_rows(unsolved, first); });
}

/// The parts that a file gives the rows of A, of the rows in the problem's order.
std::vector<int> parts_in_order(std::vector<int> parts, const Problem<double>& problem) {
  for (const auto& rows : {problem.matched_rows, problem.ordering.permutation}) {
    if (rows.extent(0) == 0) continue;
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, rows);
    const std::vector<int> before = parts;
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = before[static_cast<std::size_t>(host(i))];
  }
  return parts;
}

}  // namespace

NumberedRows block_of_rows(std::int64_t first, HostRows rows) {
  NumberedRows block{std::vector<int>(static_cast<std::size_t>(rows.num_rows)), std::move(rows)};
  std::iota(block.numbers.begin(), block.numbers.end(), static_cast<int>(first));
  return block;
}

void make_rows_of_ranks(const Context& context, const MethodNeeds& needs, MatrixInput& input,
                        Problem<double>& problem) {
  const Settings& settings = context.settings;
  const Processes& processes = context.processes;
  const bool has_own = can_have_own_rows(processes, settings, needs);
  const bool is_rhs_file = names_file(settings.rhs), is_x0_file = names_file(settings.x0);
  SymmetryFacts symmetry;
  NumberedRows block =
      has_own ? own_blocks(context, problem, symmetry) : whole_block(context, needs, input, problem);
  input.file.reset();
  PartitionChoice choice{settings.partition, {}};
  processes.on_root([&] {
    if (choice.by_file())
      choice.parts = parts_in_order(read_parts(choice.name, problem.num_rows, processes.size()), problem);
    if (has_own && is_rhs_file) problem.b = read_vector<double>(settings.rhs, problem.num_rows);
    if (has_own && is_x0_file) problem.x0 = read_vector<double>(settings.x0, problem.num_rows);
  });
  context.progress.phase("distributing " + problem.name);
  distribute(context.space, processes, choice, std::move(block), has_own && settings.rhs == "a_ones",
             problem);
  problem.facts["distribution"]["read_by"] = has_own ? "all" : "rank 0";
  if (!has_own || is_rhs_file) {
    problem.b = problem.own_part(context, problem.b);
  } else if (settings.rhs != "a_ones") {
    problem.b = allocate<Vector<double, Space>>(context.space, "prekond::driver::b", problem.rows.num_rows);
    fill_rhs<double>(context.space, settings.rhs, problem.b,
                     problem.distributed->global_numbers(context.space));
  }
  if (has_own) {
    check_zero_rows_of_ranks(context, problem);
    processes.collective([&] { problem.take_symmetry(needs, symmetry); });
    if (symmetry.symmetric) take_zero_sums_out(context, problem);
  }
  if (is_x0_file) problem.x0 = problem.own_part(context, problem.x0);
  if (has_own) problem.norm_b = norm_of_parts(context.space, processes, problem.b);
  if (!problem.matched) return;
  for (auto* scale : {&problem.row_scale, &problem.column_scale}) *scale = problem.own_part(context, *scale);
}

}  // namespace prekond::driver
