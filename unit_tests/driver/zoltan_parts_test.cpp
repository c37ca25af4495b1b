// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of rows that the ranks find together by Zoltan.
#include "distributed/row_partition.hpp"

#include "driver/row_parts_mpi.hpp"
#include "driver/zoltan_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace prekond::driver {
namespace {

using ::testing::HasSubstr;

/// Columns of each row.
using Pattern = std::vector<std::set<int>>;

class ZoltanParts : public ::testing::Test {
 protected:
  /// This rank's block.
  HostRows block_of(const Pattern& pattern) const {
    const auto n = static_cast<std::int64_t>(pattern.size());
    const RowPartition blocks{n, m_processes.size()};
    const std::int64_t first = blocks.begin(m_processes.rank()), rows = blocks.size(m_processes.rank());
    std::int64_t nnz = 0;
    for (std::int64_t i = 0; i < rows; ++i) nnz += static_cast<std::int64_t>(pattern[first + i].size());
    HostRows block(rows, n, host_vector<std::size_t>("row_ptrs", rows + 1), host_vector<int>("cols", nnz),
                   host_vector<double>("values", nnz));
    block.row_ptrs(0) = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      std::size_t k = block.row_ptrs(i);
      for (const int j : pattern[first + i]) {
        block.values(k) = 1;
        block.col_idxs(k++) = j;
      }
      block.row_ptrs(i + 1) = k;
    }
    return block;
  }

  /// The parts of all rows: those of processes, and on all ranks the same.
  std::vector<int> parts_of(const Pattern& pattern) {
    const auto parts = find_parts(m_processes, PartitionChoice{"zoltan", {}}, block_of(pattern));
    EXPECT_EQ(parts.size(), pattern.size());
    std::int64_t mixed = 0;
    for (const int part : parts) {
      EXPECT_GE(part, 0);
      EXPECT_LT(part, m_processes.size());
      mixed = (mixed * 31 + part) % 1000003;
    }
    EXPECT_EQ(m_processes.min(mixed), mixed);
    EXPECT_EQ(m_processes.min(-mixed), -mixed);
    return parts;
  }

  std::vector<int> parts_by_rows(const Pattern& pattern) const {
    const RowPartition blocks{static_cast<std::int64_t>(pattern.size()), m_processes.size()};
    std::vector<int> parts;
    for (std::int64_t i = 0; i < blocks.num_rows; ++i) parts.push_back(blocks.block_of(i));
    return parts;
  }

  /// Entries of x that a product sends.
  static int exchanged(const Pattern& pattern, const std::vector<int>& parts) {
    std::set<std::pair<int, int>> sent;  // a column, and who gets it
    for (std::size_t i = 0; i < pattern.size(); ++i)
      for (const int j : pattern[i])
        if (parts[i] != parts[j]) sent.insert({j, parts[i]});
    return static_cast<int>(sent.size());
  }

  /// Entries of the rows of a part are the mean within 10 %, and one row.
  void expect_balanced(const Pattern& pattern, const std::vector<int>& parts) const {
    std::vector<std::size_t> entries(m_processes.size(), 0);
    std::size_t all = 0, longest = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      entries[parts[i]] += pattern[i].size();
      all += pattern[i].size();
      longest = std::max(longest, pattern[i].size());
    }
    const double mean = static_cast<double>(all) / m_processes.size();
    for (std::size_t r = 0; r < entries.size(); ++r) {
      EXPECT_LE(static_cast<double>(entries[r]), 1.1 * mean + static_cast<double>(longest)) << r;
      EXPECT_GE(static_cast<double>(entries[r]), 0.8 * mean - static_cast<double>(longest)) << r;
    }
  }

  void SetUp() override {
    if (!has_zoltan()) GTEST_SKIP() << "there is no Zoltan";
  }

  Processes m_processes;
};

/// The five-point stencil on n x n nodes, numbered in no order.
Pattern shuffled_grid(int n) {
  std::vector<int> number(static_cast<std::size_t>(n * n));
  std::iota(number.begin(), number.end(), 0);
  std::mt19937 random(5);
  for (std::size_t i = number.size() - 1; i > 0; --i) std::swap(number[i], number[random() % (i + 1)]);
  Pattern pattern(number.size());
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      for (const auto& [dx, dy] : {std::pair{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}})
        if (x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n)
          pattern[number[y * n + x]].insert(number[(y + dy) * n + x + dx]);
  return pattern;
}

TEST_F(ZoltanParts, OfAShuffledGridExchangeLittle) {
  const Pattern grid = shuffled_grid(40);
  const auto parts = parts_of(grid);
  expect_balanced(grid, parts);
  // A straight cut through the grid is 40 nodes long, and each of its sides is sent.
  EXPECT_LE(exchanged(grid, parts), 100 * (m_processes.size() - 1));
  if (m_processes.size() > 1) {
    EXPECT_LT(3 * exchanged(grid, parts), exchanged(grid, parts_by_rows(grid)));
  }
}

TEST_F(ZoltanParts, AreTheSameEachTime) {
  const Pattern grid = shuffled_grid(30);
  const auto parts = parts_of(grid);
  parts_of(shuffled_grid(20));  // which takes random numbers as well
  EXPECT_EQ(parts_of(grid), parts);
  EXPECT_EQ(parts_of(grid), parts);
}

/// Entries beyond the diagonal alone: row i of a grid reads its neighbours to the right and above.
TEST_F(ZoltanParts, KnowWhoseTheColumnsAre) {
  const int n = 24;
  Pattern pattern(static_cast<std::size_t>(2 * n * n));
  for (int g = 0; g < 2; ++g)  // two grids whose rows alternate
    for (int i = 0; i < n * n; ++i) {
      if (i % n + 1 < n) pattern[2 * i + g].insert(2 * (i + 1) + g);
      if (i + n < n * n) pattern[2 * i + g].insert(2 * (i + n) + g);
    }
  const auto parts = parts_of(pattern);
  EXPECT_LE(exchanged(pattern, parts), m_processes.size() == 2 ? 6 : 40 * (m_processes.size() - 1));
}

TEST_F(ZoltanParts, HaveTheSameWork) {
  // Two halves that know nothing of each other: a band of 21 entries, and one of 3.
  const int n = 400;
  Pattern pattern(2 * n);
  for (int i = 0; i < 2 * n; ++i) {
    const int width = i < n ? 10 : 1, first = i < n ? 0 : n;
    for (int j = std::max(first, i - width); j <= std::min(first + n - 1, i + width); ++j)
      pattern[i].insert(j);
  }
  expect_balanced(pattern, parts_of(pattern));
}

/// Two dense blocks whose rows alternate: every column has half of the rows.
TEST_F(ZoltanParts, LeaveNoColumnOutOfTheCut) {
  const int n = 120;
  Pattern pattern(n);
  for (int i = 0; i < n; ++i)
    for (int j = i % 2; j < n; j += 2) pattern[i].insert(j);
  const auto parts = parts_of(pattern);
  expect_balanced(pattern, parts);
  // As many ranks share a block as its share of them.
  if (m_processes.size() == 2) {
    EXPECT_EQ(exchanged(pattern, parts), 0);
  }
  EXPECT_LE(exchanged(pattern, parts), n * ((m_processes.size() + 1) / 2));
}

TEST_F(ZoltanParts, OfADenseColumnAndRow) {
  const int n = 300;
  Pattern arrow(n);
  for (int i = 0; i < n; ++i) {
    arrow[i] = {0, i};
    arrow[0].insert(i);
    if (i + 1 < n) arrow[i].insert(i + 1);
  }
  const auto parts = parts_of(arrow);
  std::vector<int> rows(m_processes.size(), 0);
  for (const int part : parts) ++rows[part];
  EXPECT_GT(*std::min_element(rows.begin(), rows.end()), 0);
}

TEST_F(ZoltanParts, OfRowsWithoutNeighbours) {
  const int n = 100;
  Pattern diagonal(n), empty(n), both(n);
  for (int i = 0; i < n; ++i) {
    diagonal[i] = {i};
    if (i % 3 == 0) both[i] = {i, (i + 3) % n};
  }
  for (const Pattern& pattern : {diagonal, empty, both}) {
    const auto parts = parts_of(pattern);
    std::vector<int> rows(m_processes.size(), 0);
    for (const int part : parts) ++rows[part];
    // An empty row counts for one with its diagonal alone.
    EXPECT_LE(*std::max_element(rows.begin(), rows.end()), 2 * n / m_processes.size() + 2);
    EXPECT_GT(*std::min_element(rows.begin(), rows.end()), 0);
  }
  EXPECT_EQ(exchanged(diagonal, parts_of(diagonal)), 0);
}

TEST_F(ZoltanParts, OfFewRows) {
  for (int n = 0; n <= m_processes.size() + 2; ++n) {
    Pattern pattern(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) pattern[i] = {std::max(0, i - 1), i, std::min(n - 1, i + 1)};
    const auto parts = parts_of(pattern);
    if (n > m_processes.size()) continue;
    for (int i = 0; i < n; ++i) EXPECT_EQ(parts[i], i) << n;
  }
}

TEST_F(ZoltanParts, OfMoreEntriesThanItCanCountAreRefusedOnAllRanks) {
  Pattern pattern(static_cast<std::size_t>(10 * m_processes.size()));
  HostRows block = block_of(pattern);
  static int none;
  const std::size_t many = std::size_t(1) << 31;
  if (m_processes.rank() == m_processes.size() - 1)
    block = HostRows(block.num_rows, block.num_cols, block.row_ptrs, HostVector<int>(&none, many), {});
  std::string text;
  try {
    find_parts(m_processes, PartitionChoice{"zoltan", {}}, block);
  } catch (const Failure& failure) {
    text = failure.what();
  }
  EXPECT_THAT(text, HasSubstr(" entries are on one process, and Zoltan counts those in 32 bits"));
  if (!m_processes.alone()) {
    EXPECT_THAT(text, HasSubstr("rank " + std::to_string(m_processes.size() - 1) + " of "));
  }
}

TEST_F(ZoltanParts, ErrorsAreExplained) {
  const auto text_of = [&](int code) -> std::string {
    try {
      m_processes.together([&] { check_zoltan(m_processes.first() ? code : 0, "its partition"); });
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), other_error);
      return failure.what();
    }
    return "";
  };
  EXPECT_EQ(text_of(0), "");
  EXPECT_EQ(text_of(1), "");  // a warning
  EXPECT_THAT(
      text_of(-1),
      HasSubstr("--partition zoltan: Zoltan failed with the number -1 (its partition); take another"));
  EXPECT_THAT(
      text_of(-2),
      HasSubstr("--partition zoltan: not enough memory for Zoltan (its partition): run more processes"));
}

/// In any build.
class WithoutZoltan : public ZoltanParts {
  void SetUp() override {}
};

TEST_F(WithoutZoltan, ItSaysWhatToInstall) {
  if (has_zoltan()) GTEST_SKIP() << "there is Zoltan";
  std::string text;
  try {
    find_parts(m_processes, PartitionChoice{"zoltan", {}}, block_of(shuffled_grid(5)));
  } catch (const std::exception& error) {
    text = error.what();
  }
  EXPECT_THAT(text, HasSubstr("--partition zoltan needs MPI and Zoltan of Trilinos"));
  EXPECT_THAT(text, HasSubstr("libtrilinos-zoltan-dev"));
}

}  // namespace
}  // namespace prekond::driver
