// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Methods for an engine's matrix over the ranks of mpirun. All ranks call these functions.
#include "testing/inverses_of_ranks.hpp"
#include "testing/tool_events.hpp"

#include <gtest/gtest.h>
#include <prekond/distributed/split_operator.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace prekond::testing {

/// A rank's rows of `all`, or its columns.
inline Entries part_of(const Entries& all, const std::vector<std::int64_t>& own, bool by_columns) {
  const auto is_own = [&](std::int64_t i) { return std::find(own.begin(), own.end(), i) != own.end(); };
  Entries part;
  for (const auto& [i, row] : all)
    for (const auto& [j, value] : row)
      if (is_own(by_columns ? j : i)) part[i][j] = value;
  return part;
}

/// The bits of one rank, entry by entry. \pre several ranks
template <class Space>
void expect_inverses_of_one_rank(const DistributedMatrix<double, Space>& a, const HostMatrix<double>& whole,
                                 const std::vector<std::int64_t>& own) {
  for (const Setup& setup : {Setup{"fsai", {{"power", "2"}}}, Setup{"adaptive_fsai", {}, 1000},
                             Setup{"nonsymmetric_fsai", {}}, Setup{"spai", {}}, Setup{"isai", {}}}) {
    SCOPED_TRACE(to_text(setup));
    const auto m = across<Space>(setup);
    m->numeric(Space(), a);
    const bool by_columns = m->method().reach().by_columns;
    Entries found;
    add_rows<Space>(m->rows(), own, by_columns, found);
    const Entries all = entries_of(serial_rows<Space>(*on_one_rank<Space>(setup, whole)));
    expect_entries<Space>(found, part_of(all, own, by_columns));
  }
}

/// Multigrid with distributed levels: the iterations, with the values of now and again, of one rank.
template <class Space>
void expect_multigrid_of_one_rank(const DistributedMatrix<double, Space>& a, const HostMatrix<double>& whole,
                                  const std::vector<std::int64_t>& own) {
  const Space space;
  const Setup setup{"amg", {{"coarse_size", std::int64_t(20)}, {"gather_rows", std::int64_t(50)}}};
  const std::int64_t one = cg_iterations<Space>(setup, whole, consecutive_parts({whole.num_rows}));
  const auto m = across<Space>(setup);
  for (int phase = 0; phase < 2; ++phase) {
    m->numeric(space, a);
    EXPECT_TRUE(m->exchanges());
    EXPECT_EQ(m->report().pattern_kept, phase > 0);
    const Vector<double, Space> x("x", own.size());
    const SolveResult solved = create_solver<double, Space>("cg")->solve(
        space, a.product(), m.get(), to_device<Space>(entries(own, 0)), x, StoppingOptions(), Monitor(),
        a.reducer());
    EXPECT_TRUE(solved.converged);
    EXPECT_EQ(solved.iterations, one);
  }
}

/// The kernels of `work()`, called once before.
template <class Work>
std::vector<std::string> kernels_of(const Work& work) {
  work();
  const ToolEvents events;
  work();
  return events.kernels();
}

/// A rank multiplies what is its own between the start and the end of every exchange. \pre every rank sends
/// entries to others, and needs some of theirs
template <class Space>
void expect_overlap(const DistributedMatrix<double, Space>& a) {
  const Space space;
  const MultiVector<double, Space> x("x", a.num_rows(), 1), y("y", a.num_rows(), 1);
  Kokkos::deep_copy(x, 1.0);
  EXPECT_EQ(overlapped_imports(kernels_of([&] { a.product().apply(space, x, y); })), 1);
  const SplitOperator<double, Space> parts(
      space, a, [](const auto& own) { return std::make_unique<CsrOperator<double, Space>>(own); });
  EXPECT_EQ(overlapped_imports(kernels_of([&] { parts.apply(space, x, y); })), 1);

  struct Expected {
    Setup setup;
    int imports, sums;
  };
  for (const auto& [setup, imports, sums] :
       {Expected{{"isai", {}}, 1, 0}, Expected{{"spai", {}}, 0, 1}, Expected{{"fsai", {}}, 1, 1},
        Expected{{"neumann", {{"degree", "3"}}}, 3, 0}}) {
    const auto m = across<Space>(setup);
    m->numeric(space, a);
    const auto workspace = m->make_workspace(space, 1);
    const auto kernels = kernels_of([&] { m->apply(space, x, y, *workspace); });
    EXPECT_EQ(overlapped_imports(kernels), imports)
        << setup.name << ": " << ::testing::PrintToString(kernels);
    EXPECT_EQ(overlapped_sums(kernels), sums) << setup.name << ": " << ::testing::PrintToString(kernels);
  }
}

}  // namespace prekond::testing
