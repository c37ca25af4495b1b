// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/host_matrix.hpp"

#include <prekond/distributed/impl/rows_by_number.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// Rows by their global columns, one map a row.
using RowsByNumber = std::vector<std::map<std::int64_t, double>>;

template <class Rows>
RowsByNumber as_maps(const Rows& rows) {
  const auto row_ptrs = to_vector(rows.row_ptrs);
  const auto col_idxs = to_vector(rows.col_idxs);
  const auto values = to_vector(rows.values);
  RowsByNumber maps(row_ptrs.size() - 1);
  for (std::size_t r = 0; r < maps.size(); ++r) {
    EXPECT_TRUE(std::is_sorted(col_idxs.begin() + row_ptrs[r], col_idxs.begin() + row_ptrs[r + 1]));
    for (std::size_t k = row_ptrs[r]; k < row_ptrs[r + 1]; ++k) maps[r][col_idxs[k]] = values[k];
    EXPECT_EQ(maps[r].size(), row_ptrs[r + 1] - row_ptrs[r]) << "a column of row " << r << " is there twice";
  }
  return maps;
}

/// Numbers of columns in no order, beyond 32 bits, and far from each other or not.
std::vector<std::int64_t> scattered(std::int64_t count, std::int64_t salt, bool far = true) {
  std::vector<std::int64_t> numbers(count);
  for (std::int64_t c = 0; c < count; ++c)
    numbers[c] = (c * 7919 + 13) % 10007 * 2 + salt + (std::int64_t(1) << 40) * (far ? c % 3 : 5);
  return numbers;
}

/// Every fifth row is empty, from the third on.
HostMatrix<double> with_gaps(std::int64_t n, unsigned seed) {
  const HostMatrix<double> full = random_general(static_cast<int>(n), 0.05, seed);
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::size_t k = full.row_ptrs[i]; i % 5 != 2 && k < full.row_ptrs[i + 1]; ++k) {
      a.col_idxs.push_back(full.col_idxs[k]);
      a.values.push_back(full.values[k]);
    }
    a.row_ptrs.push_back(a.values.size());
  }
  return a;
}

void add_rows(RowsByNumber& rows, const HostMatrix<double>& a, const std::vector<std::int64_t>& numbers,
              const std::vector<int>& list) {
  for (std::size_t r = 0; r < list.size(); ++r)
    for (std::size_t k = a.row_ptrs[list[r]]; k < a.row_ptrs[list[r] + 1]; ++k)
      rows[r][numbers[a.col_idxs[k]]] = a.values[k];
}

TEST(RowsByNumber, AreThoseOfTheList) {
  const Space space;
  for (const auto& [n, far] : std::vector<std::pair<std::int64_t, bool>>{
           {1, true}, {2, true}, {33, true}, {257, true}, {1000, true}, {1000, false}}) {
    const HostMatrix<double> a = with_gaps(n, 3);
    const auto matrix = to_device<Space>(a);
    const auto numbers = scattered(n, 0, far);
    std::vector<int> all(n), some, twice;
    for (int i = 0; i < n; ++i) {
      all[i] = static_cast<int>(n) - 1 - i;
      if (i % 3 == 0) some.push_back(i);
      twice.insert(twice.end(), 2, i);
    }
    for (const auto& list : {std::vector<int>(), all, some, twice}) {
      RowsByNumber expected(list.size());
      add_rows(expected, a, numbers, list);
      const auto found =
          rows_by_number<double, Space>(space, to_device<Space>(list), {matrix, to_device<Space>(numbers)});
      EXPECT_EQ(found.num_rows, static_cast<std::int64_t>(list.size()));
      EXPECT_EQ(as_maps(found), expected) << n << " rows, " << list.size() << " listed";
    }
  }
}

TEST(RowsByNumber, OfTwoPartsAreJoined) {
  const Space space;
  for (const std::int64_t n : {1, 40, 301}) {
    const HostMatrix<double> a = with_gaps(n, 1), b = with_gaps(n, 2);
    const auto of_a = scattered(n, 0), of_b = scattered(n, 1);
    std::vector<int> list;
    for (int i = 0; i < n; ++i) list.push_back(static_cast<int>((i * 5 + 2) % n));
    RowsByNumber expected(list.size());
    add_rows(expected, a, of_a, list);
    add_rows(expected, b, of_b, list);
    const auto a_rows = to_device<Space>(a), b_rows = to_device<Space>(b);
    EXPECT_EQ(
        as_maps(rows_by_number<double, Space>(space, to_device<Space>(list), {a_rows, to_device<Space>(of_a)},
                                              {b_rows, to_device<Space>(of_b)})),
        expected);
  }
}

/// Value e of an entry v is v + 1000 e.
HostMatrix<double> several_values(HostMatrix<double> a, int size) {
  std::vector<double> values;
  for (const double value : a.values)
    for (int e = 0; e < size; ++e) values.push_back(value + 1000 * e);
  a.values = values;
  return a;
}

TEST(RowsByNumber, EntriesMayHaveSeveralValues) {
  const Space space;
  const std::int64_t n = 301;
  const HostMatrix<double> a = with_gaps(n, 1), b = with_gaps(n, 2);
  const auto of_a = scattered(n, 0), of_b = scattered(n, 1);
  std::vector<int> list, slots;
  for (int i = 0; i < n; ++i) list.push_back((i * 5 + 2) % 301), slots.push_back((i * 10 + 3) % 301);
  RowsByNumber expected(n), reordered(n);
  add_rows(expected, a, of_a, list);
  add_rows(expected, b, of_b, list);
  for (std::size_t r = 0; r < reordered.size(); ++r) reordered[r] = expected[slots[r]];
  for (const int size : {1, 4, 9}) {
    const auto a_rows = to_device<Space>(several_values(a, size)),
               b_rows = to_device<Space>(several_values(b, size));
    const auto rows =
        rows_by_number<double, Space>(space, to_device<Space>(list), {a_rows, to_device<Space>(of_a), size},
                                      {b_rows, to_device<Space>(of_b), size});
    const auto in_slots = reordered_rows<double, Space>(space, rows, to_device<Space>(slots));
    for (const auto& [found, of_one] : {std::pair(rows, expected), std::pair(in_slots, reordered)}) {
      ASSERT_EQ(found.entry_size, size);
      const auto row_ptrs = to_vector(found.row_ptrs);
      const auto col_idxs = to_vector(found.col_idxs);
      const auto values = to_vector(found.values);
      ASSERT_EQ(values.size(), col_idxs.size() * size);
      for (std::size_t r = 0; r < of_one.size(); ++r) {
        ASSERT_EQ(row_ptrs[r + 1] - row_ptrs[r], of_one[r].size());
        for (std::size_t k = row_ptrs[r]; k < row_ptrs[r + 1]; ++k)
          for (int e = 0; e < size; ++e)
            EXPECT_EQ(values[k * size + e], of_one[r].at(col_idxs[k]) + 1000 * e);
      }
    }
  }
}

TEST(RowsByNumber, ColumnNumbersAreThoseOfOwnRowsThenOfOthers) {
  const Space space;
  const std::vector<std::int64_t> others{7, std::int64_t(1) << 41, 3};
  const auto remote = to_device<Space>(others);
  EXPECT_EQ(to_vector(column_numbers<Space>(space, {100, 50, {}}, 2, remote)),
            (std::vector<std::int64_t>{50, 51, 7, std::int64_t(1) << 41, 3}));
  const auto listed = to_device<Space>(std::vector<std::int64_t>{9, 4});
  EXPECT_EQ(to_vector(column_numbers<Space>(space, {100, 0, listed}, 2, remote)),
            (std::vector<std::int64_t>{9, 4, 7, std::int64_t(1) << 41, 3}));
  EXPECT_EQ(column_numbers<Space>(space, {0, 0, {}}, 0, {}).extent(0), 0U);
}

TEST(RowsByNumber, AreReorderedBySlots) {
  const Space space;
  const HostMatrix<double> a = with_gaps(77, 4);
  const auto numbers = scattered(77, 0);
  std::vector<int> all(77), slots(77);
  for (int i = 0; i < 77; ++i) all[i] = i, slots[i] = (i * 10 + 3) % 77;
  const auto rows = rows_by_number<double, Space>(space, to_device<Space>(all),
                                                  {to_device<Space>(a), to_device<Space>(numbers)});
  RowsByNumber expected(77);
  add_rows(expected, a, numbers, slots);
  EXPECT_EQ(as_maps(reordered_rows<double, Space>(space, rows, to_device<Space>(slots))), expected);
}

}  // namespace
}  // namespace prekond::testing
