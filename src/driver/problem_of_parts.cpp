// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem_of_parts.hpp"

#include <sys/stat.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include "core/norm.hpp"
#include "distributed/row_partition.hpp"

#include <cmath>
#include <utility>

#include "random_rhs.hpp"
#include "symmetry_of_parts.hpp"

namespace prekond::driver {
namespace {

struct FillRandom {
  VectorView<const std::int64_t, Space> numbers;
  VectorView<double, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    b(i) = random_scalar<double>(static_cast<std::uint64_t>(numbers(i)));
  }
};

/// All: the size and the time of the last change, where it is a regular file and the same on all.
bool all_see_the_same_file(const Processes& processes, const std::string& path) {
  struct stat status = {};
  const bool regular = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (processes.min(regular ? 1 : 0) == 0) return false;
  const auto is_alike = [&](std::int64_t value) { return processes.min(value) == -processes.min(-value); };
  const bool same_size = is_alike(status.st_size);
  return is_alike(status.st_mtim.tv_sec) && same_size;
}

/// All: rank 0 reads the vector, and each gets its part.
Vector<double, Space> read_part(const Space& space, const Processes& processes,
                                const Problem<double>& problem, const std::string& path) {
  Vector<double, Space> whole;
  processes.only_first([&] {
    whole = Kokkos::create_mirror_view_and_copy(Space::memory_space{},
                                                read_vector_market<double>(path, problem.source.num_rows));
  });
  return own_part<double>(space, processes, problem.a, whole);
}

Vector<double, Space> make_rhs(const Space& space, const Processes& processes, Problem<double>& problem,
                               const std::string& what) {
  if (names_vector_file(what)) return read_part(space, processes, problem, what);
  if (what == "a_ones") return std::exchange(problem.a.times_ones, {});
  Vector<double, Space> b;
  processes.together([&] {
    b = allocate<Vector<double, Space>>(space, "prekond::driver::b", problem.a.rows.num_rows);
    if (what == "ones") return Kokkos::deep_copy(space, b, 1.0);
    Kokkos::parallel_for("prekond::driver::random_rhs", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
                         FillRandom{problem.a.distributed->global_numbers(space), b});
    space.fence("prekond::driver::random_rhs");
  });
  return b;
}

/// All: the norm of a vector of parts, whose squares need not be numbers.
double norm_of_parts(const Space& space, const Processes& processes, const Vector<double, Space>& b) {
  double own = 0;
  processes.together([&] { own = norm<double, Space>(space, b).value(); });
  const double largest = processes.max(own);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (int rank = 0; rank < processes.size(); ++rank) {
    const double part = processes.max(rank == processes.rank() ? own : 0) / largest;
    sum += part * part;
  }
  return largest * std::sqrt(sum);
}

Source source_of(const Processes& processes, const std::string& name, const HostRows& rows,
                 std::int64_t num_rows) {
  Source source;
  source.name = name;
  source.num_rows = num_rows;
  source.num_cols = rows.num_cols;
  source.nnz = processes.sum(rows.nnz());
  return source;
}

/// All: the block of rows that RowPartition gives each, of a generated matrix.
HostRows make_rows(const Space& space, const Processes& processes, const Settings& settings) {
  HostRows rows;
  const ChooseRows own = [&](std::int64_t num_rows) -> RowRange {
    const RowPartition blocks{num_rows, processes.size()};
    return {blocks.begin(processes.rank()), blocks.end(processes.rank())};
  };
  processes.together([&] {
    at_origin(settings.origins, "generate", [&] {
      const auto made = generate_rows<double, Space>(space, settings.generate, own);
      const Kokkos::HostSpace host;
      rows = {made.num_rows, made.num_cols, Kokkos::create_mirror_view_and_copy(host, made.row_ptrs),
              Kokkos::create_mirror_view_and_copy(host, made.col_idxs),
              Kokkos::create_mirror_view_and_copy(host, made.values)};
    });
  });
  return rows;
}

}  // namespace

bool can_read_parts(const Processes& processes, const Settings& settings, const MethodNeeds& needs) {
  if (processes.alone()) return false;
  if (is_to_be_matched(settings, needs.check) || is_to_be_ordered(settings, needs)) return false;
  if (settings.matrix.empty()) return generates_rows(settings.generate);
  return all_see_the_same_file(processes, settings.matrix);
}

Problem<double> make_problem_of_parts(const Space& space, const Processes& processes,
                                      const Settings& settings, const MethodNeeds& needs,
                                      Progress& progress) {
  Problem<double> problem;
  const bool is_made = settings.matrix.empty();
  const std::string& name = is_made ? settings.generate : settings.matrix;
  progress.phase((is_made ? "generating " : "reading ") + name);
  const Kokkos::Timer timer;
  std::int64_t num_rows = 0;
  HostRows rows = is_made ? make_rows(space, processes, settings) : read_rows(processes, name, num_rows);
  if (is_made) num_rows = rows.num_cols;
  problem.source = source_of(processes, name, rows, num_rows);
  problem.source.seconds = processes.max(timer.seconds());
  processes.together([&] { check_shape(problem.source); });
  PartitionChoice choice{settings.partition, {}};
  processes.only_first([&] {
    if (choice.by_file()) choice.parts = read_parts(choice.name, num_rows, processes.size());
  });
  progress.phase("distributing " + problem.source.name);
  problem.a = distribute_rows(space, processes, std::move(rows), choice, settings.rhs == "a_ones");
  choose_product<double>(space, processes, problem.a, settings.spmv);
  problem.product = problem.a.product;
  problem.distribution = problem.a.distribution;
  problem.distribution.read_by_all = true;
  progress.phase("checking " + problem.source.name);
  const SymmetryFacts symmetry = symmetry_of_parts(space, processes, problem.a);
  problem.symmetric = symmetry.symmetric;
  if (needs.check != SpdCheck::none) problem.not_spd = symmetry.not_spd;
  processes.together([&] {
    if (needs.check == SpdCheck::require && !problem.not_spd.empty())
      throw InputError(problem.source.name + ": " + problem.not_spd);
  });
  problem.b = make_rhs(space, processes, problem, settings.rhs);
  if (names_vector_file(settings.x0)) problem.x0 = read_part(space, processes, problem, settings.x0);
  problem.norm_b = norm_of_parts(space, processes, problem.b);
  problem.order.name = settings.order;
  problem.match.name = settings.match;
  problem.near_null_space = make_near_null_space(space, processes, problem.a, settings, num_rows);
  return problem;
}

}  // namespace prekond::driver
