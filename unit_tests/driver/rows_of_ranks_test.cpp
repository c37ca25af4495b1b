// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common work of the command's ranks before a setup: they read rows, send them to their parts, check
// their symmetry.
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>
#include <prekond/pattern/partition.hpp>
#include "distributed/row_partition.hpp"

#include "driver/rows_of_ranks.hpp"
#include "driver/text.hpp"
#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace prekond::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Random numbers that all ranks share.
class Random {
 public:
  explicit Random(std::uint32_t seed) : m_state(seed * 2654435761u + 1) {}
  int operator()(int n) {
    m_state = m_state * 1664525u + 1013904223u;
    return static_cast<int>(m_state >> 8) % n;
  }

 private:
  std::uint32_t m_state;
};

class RowsOfRanks : public ::testing::Test {
 protected:
  /// The path of a file that rank 0 writes.
  std::string write(const std::string& text) {
    std::string path = m_folder ? *m_folder / "a.mtx" : "";
    if (m_processes.is_root()) {
      m_folder.emplace("rows_of_ranks");
      path = m_folder->write("a.mtx", text);
    }
    return m_processes.text_of_least(m_processes.rank(), path);
  }

  std::string error_of(const std::string& path) {
    try {
      read_rows(m_processes, path);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  /// Whose row is row i; the last rank has none where there are several.
  std::vector<int> scattered_parts(std::int64_t num_rows) {
    Random random(5);
    std::vector<int> parts;
    for (std::int64_t i = 0; i < num_rows; ++i) parts.push_back(random(std::max(1, m_processes.size() - 1)));
    return parts;
  }

  void expect_rows(const HostRows& rows, const std::vector<int>& numbers, const HostRows& whole) {
    ASSERT_EQ(rows.num_rows, static_cast<std::int64_t>(numbers.size()));
    EXPECT_EQ(rows.num_cols, whole.num_cols);
    for (std::int64_t i = 0; i < rows.num_rows; ++i) {
      const std::size_t a = rows.row_ptrs(i), b = whole.row_ptrs(numbers[i]), n = rows.row_ptrs(i + 1) - a;
      ASSERT_EQ(n, whole.row_ptrs(numbers[i] + 1) - b) << numbers[i];
      for (std::size_t k = 0; k < n; ++k) {
        ASSERT_EQ(rows.col_idxs(a + k), whole.col_idxs(b + k)) << numbers[i];
        ASSERT_EQ(rows.values(a + k), whole.values(b + k)) << numbers[i];
      }
    }
  }

  std::vector<int> block_numbers(std::int64_t num_rows) const {
    const RowPartition blocks{num_rows, m_processes.size()};
    std::vector<int> numbers(static_cast<std::size_t>(blocks.size(m_processes.rank())));
    std::iota(numbers.begin(), numbers.end(), static_cast<int>(blocks.begin(m_processes.rank())));
    return numbers;
  }

  Processes m_processes;
  std::optional<prekond::testing::TemporaryFolder> m_folder;  ///< rank 0's
};

std::string scattered(int rows, int entries, const std::string& symmetry) {
  Random random(7);
  std::string text = "%%MatrixMarket matrix coordinate real " + symmetry + "\n" + std::to_string(rows) + " " +
                     std::to_string(rows) + " " + std::to_string(entries) + "\n";
  for (int k = 0; k < entries; ++k) {
    int i = random(rows), j = random(rows);
    if (symmetry != "general" && i < j) std::swap(i, j);
    text +=
        std::to_string(i + 1) + " " + std::to_string(j + 1) + " " + std::to_string(random(1000000)) + "e-3\n";
  }
  return text;
}

TEST_F(RowsOfRanks, AreReadAsByOne) {
  for (const int rows : {1, 3, 50, 211})
    for (const char* symmetry : {"general", "symmetric"})
      for (const bool compressed : {false, true}) {
        const std::string text = scattered(rows, 20 * rows, symmetry);
        const std::string path = write(compressed ? prekond::testing::gzipped(text) : text);
        const NumberedRows own = read_rows(m_processes, path);
        EXPECT_EQ(own.numbers, block_numbers(rows));
        expect_rows(own.rows, own.numbers, read_matrix_market<double>(path));
        m_processes.max(0);  // before the file goes away
      }
}

/// A file of several blocks a rank: messages in turns, and of a gzip file blocks in turns as well.
TEST_F(RowsOfRanks, OfLongFilesAreReadAsByOne) {
  std::string text = scattered(3000, 700000, "symmetric");
  for (const bool compressed : {false, true}) {
    const std::string path = write(compressed ? prekond::testing::gzipped(text) : text);
    const HostRows own = read_rows(m_processes, path).rows;
    expect_rows(own, block_numbers(3000), read_matrix_market<double>(path));
    m_processes.max(0);
  }
}

TEST_F(RowsOfRanks, ErrorsAreThoseOfOneReader) {
  const std::string good = scattered(20, 400, "general");
  for (const int line : {4, 100, 250, 401}) {
    std::string text = good;
    std::size_t begin = 0;
    for (int k = 1; k < line; ++k) begin = text.find('\n', begin) + 1;
    text.replace(begin, 1, "x");
    if (line == 100) text.replace(text.size() - 8, 1, "y");  // two ranks have one
    const std::string path = write(text);
    std::string expected;
    try {
      read_matrix_market<double>(path);
    } catch (const InputError& error) {
      expected = error.what();
    }
    ASSERT_THAT(expected, HasSubstr("a.mtx:" + std::to_string(line) + ": "));
    EXPECT_EQ(error_of(path), expected);
    m_processes.max(0);
  }
  const std::string huge = "1 1 1\n20 20 1e308\n2 2 2\n20 20 1e308\n3 3 1\n";
  EXPECT_THAT(error_of(write("%%MatrixMarket matrix coordinate real general\n20 20 5\n" + huge)),
              HasSubstr("a.mtx: entries of row 20 stand in the file more than once"));
  m_processes.max(0);
  EXPECT_THAT(error_of(write("%%MatrixMarket matrix coordinate real general\n2147483647 20 1\n1 1 1\n")),
              HasSubstr("a.mtx:2: the header announces 2147483647 rows while the file holds only 1 entries"));
  m_processes.max(0);
  EXPECT_THAT(error_of(write("%%MatrixMarket matrix coordinate real general\n20 20 5\n1 1 1\n")),
              HasSubstr("a.mtx: line 2 announces 5 entries, but the file holds only 1"));
  m_processes.max(0);
}

TEST_F(RowsOfRanks, OneRankAloneCannotOpenTheFile) {
  const std::string path = write(scattered(5, 10, "general"));
  const int last = m_processes.size() - 1;
  const bool blind = m_processes.rank() == last;
  const std::string error = error_of(blind ? "/nowhere/a.mtx" : path);
  EXPECT_THAT(error, HasSubstr("/nowhere/a.mtx: cannot be opened"));
  if (last > 0) {
    EXPECT_THAT(error, HasSubstr("rank " + std::to_string(last) + " of "));
  }
  m_processes.max(0);
}

TEST_F(RowsOfRanks, AreSentToTheirParts) {
  const std::string path = write(scattered(97, 900, "general"));
  const NumberedRows block = read_rows(m_processes, path);
  const HostRows whole = read_matrix_market<double>(path);
  const auto stay = send_rows(m_processes, {}, block);
  EXPECT_EQ(stay.numbers, block_numbers(97));
  expect_rows(stay.rows, stay.numbers, whole);
  const std::vector<int> parts = scattered_parts(97);
  const auto own = send_rows(m_processes, parts, block);
  EXPECT_TRUE(std::is_sorted(own.numbers.begin(), own.numbers.end()));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(own.numbers.size()),
            std::count(parts.begin(), parts.end(), m_processes.rank()));
  for (const int row : own.numbers) EXPECT_EQ(parts[row], m_processes.rank());
  expect_rows(own.rows, own.numbers, whole);
  m_processes.max(0);
}

TEST_F(RowsOfRanks, MetisGetsThePatternOfAll) {
  if (!has_metis()) GTEST_SKIP() << "there is no METIS";
  // Two grids whose rows alternate, the one stored only above the diagonal: a partition cuts nothing between
  // them only if it sees all of A + A^T.
  const int n = 12;
  std::string lines;
  int entries = 0;
  for (int g = 0; g < 2; ++g)
    for (int i = 0; i < n * n; ++i)
      for (const int j : {i % n + 1 < n ? i + 1 : -1, i + n < n * n ? i + n : -1}) {
        if (j < 0) continue;
        lines += std::to_string(2 * i + g + 1) + " " + std::to_string(2 * j + g + 1) + " 1\n";
        ++entries;
      }
  const std::string path = write("%%MatrixMarket matrix coordinate real general\n288 288 " +
                                 std::to_string(entries) + "\n" + lines);
  const NumberedRows block = read_rows(m_processes, path);
  const auto parts = find_parts(m_processes, PartitionChoice{"metis", {}}, block);
  ASSERT_EQ(parts.size(), 288u);
  const HostRows whole = read_matrix_market<double>(path);
  int cut = 0, between = 0;
  std::map<int, int> sizes;
  for (int i = 0; i < 288; ++i) {
    ++sizes[parts[i]];
    for (std::size_t k = whole.row_ptrs(i); k < whole.row_ptrs(i + 1); ++k)
      cut += parts[i] != parts[whole.col_idxs(k)];
    between += i % 2 == 1 && parts[i] == parts[i - 1];
  }
  EXPECT_EQ(static_cast<int>(sizes.size()), m_processes.size());
  for (const auto& [part, size] : sizes) EXPECT_LE(size, 1.1 * 288 / m_processes.size() + 1) << part;
  if (m_processes.size() == 2) {
    EXPECT_EQ(cut, 0);
    EXPECT_EQ(between, 0);
  }
  EXPECT_LE(cut, 20 * m_processes.size());
  m_processes.max(0);
}

// ---------------------------------------------------------------------------------------------- the matrix
// of all

/// A problem with the matrix of a file, its rows by the parts, and b = A 1.
Problem<double> distributed(const Processes& processes, const std::string& path,
                            const std::vector<int>& parts) {
  NumberedRows block = read_rows(processes, path);
  const PartitionChoice choice = parts.empty() ? PartitionChoice{} : PartitionChoice{"parts.mtx", parts};
  Problem<double> problem{Settings()};
  distribute(Space(), processes, choice, std::move(block), true, problem);
  return problem;
}

TEST_F(RowsOfRanks, ProductsAndFactsAreThoseOfTheWhole) {
  const std::string path = write(scattered(97, 900, "general"));
  const HostRows whole = read_matrix_market<double>(path);
  for (const bool by_file : {false, true}) {
    const std::vector<int> parts = by_file ? scattered_parts(97) : std::vector<int>();
    const auto a = distributed(m_processes, path, parts);
    const Json& facts = a.facts.at("distribution");
    // x_j = j + 1 by the global numbers, y on rank 0 in their order.
    const Space space;
    const auto numbers = a.distributed->global_numbers(space);
    const auto x = Kokkos::create_mirror_view(Vector<double, Space>("x", a.rows.num_rows));
    for (std::int64_t i = 0; i < a.rows.num_rows; ++i)
      x(i) = static_cast<double>(a.distributed->global_number(i) + 1);
    const auto own = Kokkos::create_mirror_view_and_copy(Space::memory_space{}, x);
    const Vector<double, Space> y("y", a.rows.num_rows), all("all", 97), sums("sums", 97);
    a.distributed->product().apply(space, as_multivector(Vector<const double, Space>(own)),
                                   as_multivector(y));
    a.distributed->gather(space, y, all);
    a.distributed->gather(space, a.b, sums);
    const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, all);
    const auto row_sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, sums);
    std::int64_t cut = 0;
    std::set<std::pair<int, int>> sent;  // a column, and the rank that gets it
    std::map<int, std::int64_t> entries;
    const RowPartition blocks{97, m_processes.size()};
    const auto part_of = [&](int row) { return by_file ? parts[row] : blocks.block_of(row); };
    for (int i = 0; i < 97; ++i) {
      double product = 0, sum = 0;
      for (std::size_t k = whole.row_ptrs(i); k < whole.row_ptrs(i + 1); ++k) {
        product += whole.values(k) * (whole.col_idxs(k) + 1);
        sum += whole.values(k);
        const int col = whole.col_idxs(k);
        cut += part_of(i) != part_of(col);
        if (part_of(i) != part_of(col)) sent.insert({col, part_of(i)});
        ++entries[part_of(i)];
      }
      if (!m_processes.is_root()) continue;
      EXPECT_NEAR(result(i), product, 1e-9 * std::abs(product)) << i;
      EXPECT_NEAR(row_sums(i), sum, 1e-9 * std::abs(sum)) << i;
    }
    EXPECT_EQ(facts.at("cut_entries"), cut);
    EXPECT_EQ(facts.at("exchanged_entries"), static_cast<std::int64_t>(sent.size()));
    std::int64_t most_entries = 0;
    for (const auto& [part, count] : entries) most_entries = std::max(most_entries, count);
    EXPECT_EQ(facts.at("most_entries"), most_entries);
    EXPECT_EQ(facts.at("ranks"), m_processes.size());
    std::map<int, int> sizes;
    for (int i = 0; i < 97; ++i) ++sizes[part_of(i)];
    EXPECT_EQ(facts.at("most_rows"), std::max_element(sizes.begin(), sizes.end(), [](auto& p, auto& q) {
                                       return p.second < q.second;
                                     })->second);
    EXPECT_EQ(facts.at("fewest_rows") == 0, by_file && m_processes.size() > 1);
    EXPECT_LE(facts.at("most_neighbors"), m_processes.size() - 1);
    EXPECT_EQ(facts.at("most_neighbors") > 0, cut > 0);
  }
  m_processes.max(0);
}

/// A symmetric matrix with a positive diagonal, and what is wrong with it.
std::string nearly_symmetric(int rows,
                             const std::function<void(std::map<std::pair<int, int>, double>&)>& harm) {
  std::map<std::pair<int, int>, double> entries;
  Random random(11);
  for (int i = 0; i < rows; ++i) entries[{i, i}] = 10 + random(5);
  for (int k = 0; k < 4 * rows; ++k) {
    const int i = random(rows), j = random(rows);
    if (i != j) entries[{i, j}] = entries[{j, i}] = random(100) * 0.01;
  }
  harm(entries);
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(rows) + " " +
                     std::to_string(rows) + " " + std::to_string(entries.size()) + "\n";
  for (const auto& [place, value] : entries)
    text += format("%d %d %.17g\n", place.first + 1, place.second + 1, value);
  return text;
}

TEST_F(RowsOfRanks, SymmetryIsThatOfTheWhole) {
  using Entries = std::map<std::pair<int, int>, double>;
  const int rows = 61;
  std::vector<std::function<void(Entries&)>> harms = {
      [](Entries&) {},
      [](Entries& e) {
        e.erase({40, 40});
      },
      [](Entries& e) {
        e[{17, 17}] = -2;
      },
      [](Entries& e) {
        e[{17, 17}] = e[{3, 3}] = e[{60, 60}] = 0;
      },
      [](Entries& e) {
        e[{55, 2}] = 7, e.erase({2, 55});
      },
      [](Entries& e) {
        e[{2, 55}] = 7, e.erase({55, 2});
      },
      [](Entries& e) {
        e[{30, 31}] = 0.5, e[{31, 30}] = 0.25, e[{20, 60}] = 1, e[{60, 20}] = 2;
      },
      [](Entries& e) {
        e[{30, 31}] = 0.5, e[{31, 30}] = 0.5 + 1e-13;
      },
      [](Entries& e) {
        e[{30, 31}] = 1e-12, e.erase({31, 30}), e[{12, 12}] = 1e-30;
      },
      [](Entries& e) {
        e[{30, 31}] = 0.5, e[{31, 30}] = 0.5 + 1e-9, e[{30, 30}] = 1e8, e[{31, 31}] = 1e-8;
      },
      [](Entries& e) {
        e[{1, 50}] = 0, e.erase({50, 1});
      }};
  for (int seed = 0; seed < 6; ++seed)
    harms.push_back([seed](Entries& e) {
      Random random(100 + seed);
      for (int k = 0; k < 3; ++k) e[{random(rows), random(rows)}] = 0.125;
    });
  const Space space;
  for (std::size_t k = 0; k < harms.size(); ++k) {
    const std::string path = write(nearly_symmetric(rows, harms[k]));
    const auto whole = copy_to<Space>(read_matrix_market<double>(path));
    std::string expected;
    try {
      check_spd_input<double, Space>(space, whole);
    } catch (const InputError& error) {
      expected = error.what();
    }
    const bool symmetric = statistics<double, Space>(space, whole).symmetric_values;
    const NumberedRows block = read_rows(m_processes, path);
    for (const std::int64_t at_a_time : {3, 1000}) {
      const auto facts = symmetry_of_ranks(m_processes, block, at_a_time);
      EXPECT_EQ(facts.symmetric, symmetric) << k;
      EXPECT_EQ(facts.not_spd, expected) << k;
    }
    m_processes.max(0);
  }
}

}  // namespace
}  // namespace prekond::driver
