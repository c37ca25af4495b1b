// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Methods over ranks in one process, and the same on one rank.
#include "testing/distributed_cases.hpp"
#include "testing/matrix_of_rank.hpp"
#include "testing/tool_events.hpp"

#include <prekond/krylov/cg.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/registry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace prekond::testing {

template <class Space>
using Method = MatrixPreconditioner<double, Space>;
template <class Space>
using Across = DistributedPreconditioner<double, Space>;

struct Setup {
  std::string name;
  OptionMap options;
  int rank_overlap = -1;
};

inline std::string to_text(const Setup& setup) {
  std::string text = setup.name;
  for (const auto& [key, value] : setup.options) text += " " + key + "=" + to_string(value);
  return text;
}

template <class Space>
std::unique_ptr<Across<Space>> across(const Setup& setup) {
  const auto configurator =
      find_registered(preconditioner_registry<double, Space>(), setup.name, "preconditioner").configure();
  configurator->fields().set(setup.options, setup.name);
  DistributedOptions options;
  options.rank_overlap = setup.rank_overlap;
  return std::make_unique<Across<Space>>(*configurator, options);
}

/// On 1 to 7 ranks, two of four without rows, and dealt out in turn.
inline std::vector<Parts> partitions(std::int64_t n) {
  std::vector<Parts> all;
  for (const int size : {1, 2, 3, 4, 7}) {
    std::vector<std::int64_t> sizes;
    for (int rank = 0; rank < size; ++rank) sizes.push_back(n * (rank + 1) / size - n * rank / size);
    all.push_back(consecutive_parts(sizes));
  }
  all.push_back(consecutive_parts({0, n / 3, 0, n - n / 3}));
  all.push_back(cyclic_parts(n, 3));
  return all;
}

/// The method for the whole matrix.
template <class Space>
std::unique_ptr<Method<Space>> on_one_rank(const Setup& setup, const HostMatrix<double>& whole) {
  auto method = create_preconditioner<double, Space>(setup.name, setup.options);
  const auto a = to_device<Space>(whole);
  method->numeric(Space(), a);
  return method;
}

/// The numbers of all rows, as a single rank has them.
inline std::vector<std::int64_t> all_rows(const HostMatrix<double>& a) {
  return consecutive_parts({a.num_rows}).front();
}

/// Iterations of a solver with the method over ranks, once `prepare` was called with it.
template <class Space>
std::int64_t iterations_of(const std::string& solver, const Setup& setup, const HostMatrix<double>& whole,
                           const Parts& parts, const std::function<void(Across<Space>&)>& prepare = {}) {
  std::int64_t result = 0;
  run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
    const Space space;
    const MatrixOfRank<double, Space> a(rank, whole, parts);
    const auto m = across<Space>(setup);
    if (prepare) prepare(*m);
    m->symbolic(space, a);
    m->numeric(space, a);
    const Vector<double, Space> x("x", parts[rank.rank].size());
    const auto b = to_device<Space>(entries(parts[rank.rank], 0));
    const SolveResult solved = create_solver<double, Space>(solver)->solve(
        space, a.product(), m.get(), b, x, StoppingOptions(), Monitor(), a.reducer());
    EXPECT_TRUE(solved.converged);
    if (rank.rank == 0) result = solved.iterations;
  });
  return result;
}

template <class Space>
std::int64_t cg_iterations(const Setup& setup, const HostMatrix<double>& whole, const Parts& parts,
                           const std::function<void(Across<Space>&)>& prepare = {}) {
  return iterations_of<Space>("cg", setup, whole, parts, prepare);
}

struct NotedEvents {
  std::vector<std::string> kernels, allocations;
};

/// Collective. The events of the work of all ranks, which one notes, from when all are ready until all have
/// ended. \returns none on the others
template <class Work>
NotedEvents events_of_all(const Rank& rank, const Work& work) {
  std::unique_ptr<ToolEvents> events;
  rank.all_gather("ready", 0);
  if (rank.rank == 0) events = std::make_unique<ToolEvents>();
  rank.all_gather("begin", 0);
  work();
  rank.all_gather("end", 0);
  if (!events) return {};
  return {events->kernels(), events->allocations()};
}

}  // namespace prekond::testing
