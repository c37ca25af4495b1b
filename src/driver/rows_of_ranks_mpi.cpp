// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows_of_ranks.hpp"

#include <sys/stat.h>
#include <prekond/matrix/generate.hpp>
#include "core/norm.hpp"
#include "distributed/row_partition.hpp"

#include <cmath>
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

Vector<double, Space> read_part(const Space& space, const Processes& processes,
                                const Problem<double>& problem, const std::string& path) {
  Vector<double, Space> whole;
  processes.on_root([&] {
    whole = Kokkos::create_mirror_view_and_copy(Space::memory_space{},
                                                read_vector_market<double>(path, problem.source.num_rows));
  });
  return own_part<double>(space, processes, problem, whole);
}

/// b, but for A 1, which is made where the rows are distributed.
void make_rhs(const Space& space, const Processes& processes, const std::string& rhs,
              Problem<double>& problem) {
  if (rhs == "a_ones") return;
  if (names_vector_file(rhs)) {
    problem.b = read_part(space, processes, problem, rhs);
    return;
  }
  problem.b = allocate<Vector<double, Space>>(space, "prekond::driver::b", problem.rows.num_rows);
  if (rhs == "ones") return Kokkos::deep_copy(space, problem.b, 1.0);
  fill_random<double>(space, problem.b, problem.distributed->global_numbers(space));
  space.fence("prekond::driver::random_rhs");
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

/// Collective. The block of rows that RowPartition gives each process, of a generated matrix.
RowBlock make_rows(const Space& space, const Processes& processes, const Settings& settings) {
  RowBlock block;
  processes.collective([&] {
    at_origin(settings.origins, "generate", [&] {
      const auto made =
          generate_rows<double, Space>(space, settings.generate, [&](std::int64_t num_rows) -> RowRange {
            const RowPartition blocks{num_rows, processes.size()};
            block.first_row = blocks.begin(processes.rank());
            return {block.first_row, blocks.end(processes.rank())};
          });
      const Kokkos::HostSpace host;
      block.rows = {made.num_rows, made.num_cols, Kokkos::create_mirror_view_and_copy(host, made.row_ptrs),
                    Kokkos::create_mirror_view_and_copy(host, made.col_idxs),
                    Kokkos::create_mirror_view_and_copy(host, made.values)};
    });
  });
  return block;
}

}  // namespace

bool can_read_rows(const Processes& processes, const Settings& settings, const MethodNeeds& needs) {
  if (is_to_be_matched(settings, needs.check) || is_to_be_ordered(settings, needs)) return false;
  if (settings.matrix.empty()) return generates_rows(settings.generate);
  return all_see_the_same_file(processes, settings.matrix);
}

void make_of_rows(const Space& space, const Processes& processes, const Settings& settings,
                  const MethodNeeds& needs, Progress& progress, Problem<double>& problem) {
  const bool is_made = settings.matrix.empty();
  Source& source = problem.source;
  source.name = is_made ? settings.generate : settings.matrix;
  progress.phase((is_made ? "generating " : "reading ") + source.name);
  const Kokkos::Timer timer;
  RowBlock block =
      is_made ? make_rows(space, processes, settings) : read_rows(processes, source.name, source.num_rows);
  source.num_cols = block.rows.num_cols;
  if (is_made) source.num_rows = source.num_cols;
  source.nnz = processes.sum(block.rows.nnz());
  source.seconds = processes.max(timer.seconds());
  processes.collective([&] { check_shape(source); });
  progress.phase("checking " + source.name);
  const SymmetryFacts symmetry = symmetry_of_ranks(processes, block);
  problem.symmetric = symmetry.symmetric;
  if (needs.check != SpdCheck::none) problem.not_spd = symmetry.not_spd;
  processes.collective([&] {
    if (needs.check == SpdCheck::require && !problem.not_spd.empty())
      throw InputError(source.name + ": " + problem.not_spd);
  });
  PartitionChoice choice{settings.partition, {}};
  processes.on_root([&] {
    if (choice.by_file()) choice.parts = read_parts(choice.name, source.num_rows, processes.size());
  });
  progress.phase("distributing " + source.name);
  distribute(space, processes, choice, std::move(block), settings.rhs == "a_ones", problem);
  problem.distribution.read_by_all = true;
  make_rhs(space, processes, settings.rhs, problem);
  if (names_vector_file(settings.x0)) problem.x0 = read_part(space, processes, problem, settings.x0);
  problem.norm_b = norm_of_parts(space, processes, problem.b);
}

}  // namespace prekond::driver
