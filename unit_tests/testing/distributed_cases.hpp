// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The promises of every DistributedMatrix, against the whole matrix. All ranks call these functions.
#include "testing/general_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/precond/distributed_transpose.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {

/// Entry `row` of vector v.
inline double entry(std::int64_t row, std::size_t v) {
  return double((row * 37 + static_cast<std::int64_t>(v) * 101 + 13) % 257) / 64 - 2;
}

inline std::vector<double> entries(const std::vector<std::int64_t>& rows, std::size_t v) {
  std::vector<double> x;
  for (const std::int64_t row : rows) x.push_back(entry(row, v));
  return x;
}

/// k vectors at a stride that is longer than they are: vector v has `of(v)`, the pad after it NaNs.
template <class Space, class Of>
MultiVectorView<double, Space> strided(MultiVector<double, Space>& memory, std::size_t rows, std::size_t k,
                                       const Of& of) {
  memory = MultiVector<double, Space>("prekond::testing::strided", rows + 3, k);
  Kokkos::deep_copy(memory, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t v = 0; v < k; ++v) {
    const std::vector<double> x = of(v);
    Kokkos::deep_copy(Kokkos::subview(column(memory, v), std::make_pair(std::size_t(0), rows)),
                      to_device<Space>(x));
  }
  return Kokkos::subview(memory, std::make_pair(std::size_t(0), rows), Kokkos::ALL);
}

template <class View>
std::vector<std::vector<double>> columns_of(const View& x) {
  std::vector<std::vector<double>> columns;
  for (std::size_t v = 0; v < x.extent(1); ++v) columns.push_back(to_vector(column(x, v)));
  return columns;
}

/// The product numbers the rank's rows, `own`, as the matrix does.
template <class Space>
void expect_product_numbers(const DistributedMatrix<double, Space>& a, const std::vector<std::int64_t>& own) {
  const RowNumbers<Space> rows = a.product().row_numbers(Space());
  EXPECT_EQ(rows.num_global_rows, a.num_global_rows());
  const auto list = to_vector(rows.numbers);
  ASSERT_TRUE(list.empty() || list.size() == own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_EQ(list.empty() ? rows.first + std::int64_t(i) : list[i], own[i]) << "row " << i;
}

/// Own rows first, and all entries of the whole matrix where the numbers say.
template <class Space>
void expect_numbers(const DistributedMatrix<double, Space>& a, const CsrView<double, Space>& rows,
                    const HostMatrix<double>& whole, const std::vector<std::int64_t>& own) {
  const Space space;
  ASSERT_EQ(a.num_rows(), static_cast<std::int64_t>(own.size()));
  ASSERT_EQ(a.num_rows(), rows.num_rows);
  ASSERT_EQ(a.num_cols(), rows.num_cols);
  EXPECT_EQ(a.num_global_rows(), whole.num_rows);
  const auto numbers = to_vector(a.global_numbers(space));
  ASSERT_EQ(static_cast<std::int64_t>(numbers.size()), a.num_cols());
  for (std::int64_t c = 0; c < a.num_cols(); ++c) EXPECT_EQ(a.global_number(c), numbers[c]) << "column " << c;
  EXPECT_EQ(std::vector<std::int64_t>(numbers.begin(), numbers.begin() + a.num_rows()), own);
  expect_product_numbers(a, own);

  const HostMatrix<double> local{rows.num_rows, rows.num_cols, to_vector(rows.row_ptrs),
                                 to_vector(rows.col_idxs), to_vector(rows.values)};
  std::set<int> used;
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::map<std::int64_t, double> found, expected;
    for (std::size_t k = local.row_ptrs[i]; k < local.row_ptrs[i + 1]; ++k) {
      found[numbers[local.col_idxs[k]]] = local.values[k];
      used.insert(local.col_idxs[k]);
    }
    for (std::size_t k = whole.row_ptrs[own[i]]; k < whole.row_ptrs[own[i] + 1]; ++k)
      expected[whole.col_idxs[k]] = whole.values[k];
    EXPECT_EQ(found, expected) << "row " << own[i];
  }
  for (std::int64_t c = a.num_rows(); c < a.num_cols(); ++c)
    EXPECT_TRUE(used.contains(static_cast<int>(c))) << "column " << c << " has no entry";
}

/// A matrix by blocks: own blocks are the own rows, and those of other ranks have their entries.
template <class Space>
void expect_blocks_of_ranks(const DistributedMatrix<double, Space>& a, const HostMatrix<double>& whole,
                            int b) {
  const Space space;
  ASSERT_EQ(a.block_size(), b);
  const BcsrView<double, Space> own = a.own_blocks();
  ASSERT_EQ(own.block_size, b);
  const auto expanded = expand_blocks<double, Space>(space, own);
  const CsrView<double, Space> rows = a.own_rows();
  EXPECT_EQ(to_vector(expanded.row_ptrs), to_vector(rows.row_ptrs));
  EXPECT_EQ(to_vector(expanded.col_idxs), to_vector(rows.col_idxs));
  EXPECT_EQ(to_vector(expanded.values), to_vector(rows.values));

  const auto columns = to_vector(a.global_numbers(space));
  std::vector<std::int64_t> wanted;  // the last first
  for (std::int64_t c = a.num_cols() - b; c >= a.num_rows(); c -= b) wanted.push_back(columns[c] / b);
  const auto remote = a.remote_blocks(space, to_device<Space>(wanted));
  ASSERT_EQ(remote.num_rows, static_cast<std::int64_t>(wanted.size()));
  ASSERT_EQ(remote.entry_size, b * b);
  const auto row_ptrs = to_vector(remote.row_ptrs);
  const auto cols = to_vector(remote.col_idxs);
  const auto values = to_vector(remote.values);
  ASSERT_EQ(values.size(), cols.size() * b * b);
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    EXPECT_EQ((row_ptrs[r + 1] - row_ptrs[r]) * b,
              whole.row_ptrs[wanted[r] * b + 1] - whole.row_ptrs[wanted[r] * b]);
    for (std::size_t k = row_ptrs[r]; k < row_ptrs[r + 1]; ++k) {
      EXPECT_TRUE(k == row_ptrs[r] || cols[k - 1] < cols[k]) << "columns do not ascend";
      for (int p = 0; p < b; ++p)
        for (int q = 0; q < b; ++q)
          EXPECT_EQ(values[k * b * b + (own.order == BlockOrder::by_rows ? p * b + q : p + q * b)],
                    whole(wanted[r] * b + p, cols[k] * b + q))
              << "block (" << wanted[r] << ", " << cols[k] << "), entry (" << p << ", " << q << ")";
    }
  }
}

/// `import` brings the entries of `remote`.
template <class Space>
void expect_import(const VectorImport<double, Space>& import, const std::vector<std::int64_t>& own,
                   const std::vector<std::int64_t>& remote) {
  const Space space;
  ASSERT_EQ(import.num_rows(), static_cast<std::int64_t>(own.size()));
  ASSERT_EQ(import.num_cols(), static_cast<std::int64_t>(own.size() + remote.size()));
  std::vector<std::int64_t> columns = own;
  columns.insert(columns.end(), remote.begin(), remote.end());
  for (const std::size_t k : {1, 0, 4, 2}) {
    MultiVector<double, Space> x_memory, all_memory;
    const auto x = strided<Space>(x_memory, own.size(), k, [&](std::size_t v) { return entries(own, v); });
    const auto all = strided<Space>(all_memory, columns.size(), k, [&](std::size_t) {
      return std::vector<double>(columns.size(), std::numeric_limits<double>::quiet_NaN());
    });
    import.apply(space, x, all);
    space.fence();
    std::vector<std::vector<double>> expected;
    for (std::size_t v = 0; v < k; ++v) expected.push_back(entries(columns, v));
    EXPECT_EQ(columns_of(all), expected);
    for (std::size_t v = 0; v < k; ++v)
      for (std::size_t i = columns.size(); i < columns.size() + 3; ++i)
        EXPECT_TRUE(std::isnan(to_vector(column(all_memory, v))[i])) << "written behind the vector";
  }
}

/// The reverse of `import` sums, over all ranks, what each has for the entries of `remote`. `reverse_sums`
/// are those of the rank's own rows.
template <class Space>
void expect_reverse(const VectorImport<double, Space>& import, const std::vector<std::int64_t>& own,
                    const std::vector<std::int64_t>& remote, const std::vector<double>& reverse_sums) {
  const Space space;
  for (const std::size_t k : {1, 0, 3}) {
    MultiVector<double, Space> remote_memory, y_memory;
    const auto mine =
        strided<Space>(remote_memory, remote.size(), k, [&](std::size_t v) { return entries(remote, v); });
    const auto y =
        strided<Space>(y_memory, own.size(), k, [&](std::size_t v) { return entries(own, v + 9); });
    import.start_reverse(space, mine);
    import.finish_reverse(space, y);
    space.fence();
    for (std::size_t v = 0; v < k; ++v) {
      const auto found = to_vector(column(y, v));
      for (std::size_t i = 0; i < own.size(); ++i)
        EXPECT_NEAR(found[i], entry(own[i], v + 9) + reverse_sums[i] * entry(own[i], v), 1e-12) << own[i];
    }
  }
}

/// y = alpha A x + beta y for k vectors, each with the bits that it has by itself.
template <class Space>
void expect_product(const DistributedMatrix<double, Space>& a, const HostMatrix<double>& whole,
                    const std::vector<std::int64_t>& own) {
  const Space space;
  std::vector<std::int64_t> rows(whole.num_rows);
  for (std::int64_t i = 0; i < whole.num_rows; ++i) rows[i] = i;
  std::vector<std::vector<double>> alone;
  for (const std::size_t k : {1, 4, 0, 3}) {
    MultiVector<double, Space> x_memory, y_memory;
    const auto x = strided<Space>(x_memory, own.size(), k, [&](std::size_t v) { return entries(own, v); });
    const auto y =
        strided<Space>(y_memory, own.size(), k, [&](std::size_t v) { return entries(own, v + 50); });
    a.product().apply(space, x, y, 0.5, -2.0);
    space.fence();
    for (std::size_t v = 0; v < k; ++v) {
      const std::vector<double> expected = multiply(whole, entries(rows, v)), found = to_vector(column(y, v));
      for (std::size_t i = 0; i < own.size(); ++i) {
        const double e = 0.5 * expected[own[i]] - 2.0 * entry(own[i], v + 50);
        EXPECT_NEAR(found[i], e, 1e-12 * (1 + std::abs(e))) << "row " << own[i] << ", vector " << v;
      }
      if (v == 0 && is_host_space<Space>) alone.push_back(found);
    }
  }
  for (const auto& found : alone) EXPECT_EQ(found, alone.front());

  const Vector<double, Space> y("prekond::testing::y", own.size()), dot("prekond::testing::dot", 1);
  const ReduceWorkspace<double, Space> workspace(space, static_cast<std::int64_t>(own.size()));
  a.product().apply_dot(space, to_device<Space>(entries(own, 0)), y, dot, workspace);
  a.reducer().sum(space, dot);
  space.fence();
  const double expected = inner(entries(rows, 0), multiply(whole, entries(rows, 0)));
  EXPECT_NEAR(to_vector(dot)[0], expected, 1e-10 * (1 + std::abs(expected)));
}

template <class Space>
void expect_remote_rows(const DistributedMatrix<double, Space>& a, const HostMatrix<double>& whole,
                        const std::vector<std::int64_t>& remote) {
  const Space space;
  const RemoteRows<double, Space> found =
      a.remote_rows(space, VectorView<const std::int64_t, Space>(to_device<Space>(remote)));
  ASSERT_EQ(found.num_rows, static_cast<std::int64_t>(remote.size()));
  std::vector<std::size_t> row_ptrs(1, 0);
  std::vector<std::int64_t> col_idxs;
  std::vector<double> values;
  for (const std::int64_t row : remote) {
    for (std::size_t k = whole.row_ptrs[row]; k < whole.row_ptrs[row + 1]; ++k) {
      col_idxs.push_back(whole.col_idxs[k]);
      values.push_back(whole.values[k]);
    }
    row_ptrs.push_back(values.size());
  }
  EXPECT_EQ(to_vector(found.row_ptrs), row_ptrs);
  EXPECT_EQ(to_vector(found.col_idxs), col_idxs);
  EXPECT_EQ(to_vector(found.values), values);
}

/// With rows that came before, values pass and no columns: those are the ones that came before.
template <class Space>
void expect_values_pass(const RemoteRows<double, Space>& all, const RemoteRows<double, Space>& values) {
  EXPECT_EQ(values.num_rows, all.num_rows);
  EXPECT_EQ(to_vector(values.row_ptrs), to_vector(all.row_ptrs));
  EXPECT_EQ(to_vector(values.values), to_vector(all.values));
  for (const std::int64_t column : to_vector(values.col_idxs)) EXPECT_EQ(column, -5);
}

/// An exchange of rows brings the values of the same pattern again, in both directions.
template <class Space>
void expect_values_again(const DistributedMatrix<double, Space>& a, const std::vector<std::int64_t>& remote) {
  const Space space;
  const auto exchange = a.make_row_exchange(space, to_device<Space>(remote));
  const auto numbers = a.global_numbers(space);
  const auto with_values = [](const auto& rows, double shift) {
    HostMatrix<double> host{rows.num_rows, rows.num_cols, to_vector(rows.row_ptrs), to_vector(rows.col_idxs),
                            to_vector(rows.values)};
    for (std::size_t k = 0; k < host.values.size(); ++k) host.values[k] += shift * double(k % 7 + 1);
    return to_device<Space>(host);
  };
  const auto own = with_values(a.own_rows(), 0), later = with_values(a.own_rows(), 1);
  auto before = exchange->fetch(space, {own, numbers});
  const auto fetched = exchange->fetch(space, {later, numbers});
  Kokkos::deep_copy(before.col_idxs, -5);
  before.values = {};
  expect_values_pass<Space>(fetched, exchange->fetch(space, {later, numbers}, {}, &before));

  HostMatrix<double> mine{static_cast<std::int64_t>(remote.size()), a.num_cols(), {0}, {}, {}};
  for (std::size_t r = 0; r < remote.size(); ++r) {  // rows of one and of two entries
    for (std::int64_t c = 0; c < std::min<std::int64_t>(a.num_cols(), 1 + remote[r] % 2); ++c) {
      mine.col_idxs.push_back(static_cast<int>(c));
      mine.values.push_back(entry(remote[r], static_cast<std::size_t>(c)));
    }
    mine.row_ptrs.push_back(mine.values.size());
  }
  const auto rows = to_device<Space>(mine), rows_later = with_values(rows, 2);
  auto given_before = exchange->give(space, {rows, numbers});
  const auto given = exchange->give(space, {rows_later, numbers});
  Kokkos::deep_copy(given_before.rows.col_idxs, -5);
  given_before.rows.values = {};
  const auto again = exchange->give(space, {rows_later, numbers}, &given_before);
  EXPECT_EQ(to_vector(again.own), to_vector(given.own));
  expect_values_pass<Space>(given.rows, again.rows);
}

/// A list that a rank gives wrong is refused on all; afterwards they go on.
template <class Space>
void expect_refused(const DistributedMatrix<double, Space>& a, const std::vector<std::int64_t>& global,
                    const std::string& text) {
  const auto list = to_device<Space>(global);
  EXPECT_THAT(message_of<InputError>([&] { a.remote_rows(Space(), list); }), ::testing::HasSubstr(text));
  EXPECT_THAT(message_of<InputError>([&] { a.make_import(Space(), list); }), ::testing::HasSubstr(text));
}

/// A whole vector to the ranks and back.
template <class Space>
void expect_whole_vectors(const DistributedMatrix<double, Space>& a, const std::vector<std::int64_t>& own,
                          bool first) {
  const Space space;
  std::vector<double> whole;
  for (std::int64_t i = 0; first && i < a.num_global_rows(); ++i) whole.push_back(entry(i, 7));
  const Vector<double, Space> mine("prekond::testing::mine", own.size());
  a.scatter(space, VectorView<const double, Space>(to_device<Space>(whole)), mine);
  space.fence();
  EXPECT_EQ(to_vector(mine), entries(own, 7));
  const Vector<double, Space> back("prekond::testing::back", whole.size());
  a.gather(space, mine, back);
  space.fence();
  EXPECT_EQ(to_vector(back), whole);
}

/// How many ranks have each of the own rows in their list. Collective.
template <class Space>
std::vector<double> ranks_that_want(const DistributedMatrix<double, Space>& a, std::int64_t num_rows,
                                    const std::vector<std::int64_t>& own,
                                    const std::vector<std::int64_t>& remote) {
  std::vector<double> counts(num_rows, 0);
  for (const std::int64_t row : remote) counts[row] = 1;
  const auto sums = to_device<Space>(counts);
  a.reducer().sum(Space(), sums);
  Space().fence();
  const auto all = to_vector(sums);
  std::vector<double> mine;
  for (const std::int64_t row : own) mine.push_back(all[row]);
  return mine;
}

/// The rank's rows are those of the whole matrix bit for bit, their columns ascend, and so do the numbers of
/// the columns of other ranks.
template <class Scalar, class Space>
void expect_bits(const DistributedMatrix<Scalar, Space>& a, const HostMatrix<Scalar>& whole,
                 const std::vector<std::int64_t>& own) {
  const CsrView<Scalar, Space> rows = a.own_rows();
  const auto numbers = to_vector(a.global_numbers(Space()));
  ASSERT_EQ(rows.num_rows, static_cast<std::int64_t>(own.size()));
  ASSERT_EQ(rows.num_cols, static_cast<std::int64_t>(numbers.size()));
  EXPECT_TRUE(std::is_sorted(numbers.begin() + rows.num_rows, numbers.end()));
  const auto row_ptrs = to_vector(rows.row_ptrs);
  const auto col_idxs = to_vector(rows.col_idxs);
  const auto values = to_vector(rows.values);
  ASSERT_EQ(row_ptrs.back(), values.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::vector<std::pair<std::int64_t, Scalar>> found;
    for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) {
      EXPECT_TRUE(k == row_ptrs[i] || col_idxs[k - 1] < col_idxs[k]) << "row " << own[i];
      found.emplace_back(numbers[col_idxs[k]], values[k]);
    }
    std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    ASSERT_EQ(found.size(), whole.row_ptrs[own[i] + 1] - whole.row_ptrs[own[i]]) << "row " << own[i];
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::size_t at = whole.row_ptrs[own[i]] + k;
      EXPECT_EQ(found[k].first, whole.col_idxs[at]) << "row " << own[i];
      EXPECT_EQ(std::memcmp(&found[k].second, &whole.values[at], sizeof(Scalar)), 0)
          << "row " << own[i] << ", column " << found[k].first;
    }
  }
}

/// A failure on one rank is one on all, with its row.
template <class Space>
void expect_agreement(const DistributedMatrix<double, Space>& a, int rank) {
  int done = 0;
  a.together([&] { ++done; });
  EXPECT_EQ(done, 1);
  const auto last = static_cast<int>(a.largest(rank));
  EXPECT_GE(last, rank);
  try {
    a.together([&] {
      if (rank == last) throw InputError("a text of the last", 0);
    });
    ADD_FAILURE() << "nothing was thrown on rank " << rank;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a text of the last"));
  }
}

/// Other rows, as many on a rank as its number and two, and none on the second.
template <class Space>
void expect_redistributed(const DistributedMatrix<double, Space>& a, int rank) {
  const std::int64_t size = rank == 1 ? 0 : rank + 2, first = a.sum_before(size);
  const auto last = static_cast<std::int64_t>(a.largest(double(first + size)));
  std::vector<std::int64_t> own, others;
  for (std::int64_t i = 0; i < last; ++i) (i >= first && i < first + size ? own : others).push_back(i);
  const auto empty = a.with_rows(Space(), to_device<Space>(own));
  EXPECT_EQ(empty->num_global_rows(), last);
  EXPECT_EQ(empty->num_cols(), size);
  EXPECT_EQ(empty->own_rows().nnz(), 0);
  EXPECT_EQ(to_vector(empty->global_numbers(Space())), own);
  for (std::int64_t i = 0; i < size; ++i)
    EXPECT_EQ(empty->global_number(i), own[static_cast<std::size_t>(i)]);
  expect_product_numbers(*empty, own);
  EXPECT_EQ(empty->column_import().num_cols(), size);
  EXPECT_EQ(empty->remote_rows(Space(), to_device<Space>(others)).col_idxs.extent(0), 0U);
  const MultiVector<double, Space> x("x", size, 2), y("y", size, 2);
  Kokkos::deep_copy(x, 3.0);
  Kokkos::deep_copy(y, 2.0);
  empty->product().apply(Space(), x, y, 1.0, 0.5);
  Space().fence();
  EXPECT_EQ(columns_of(y), std::vector<std::vector<double>>(2, std::vector<double>(own.size(), 1.0)));
  const auto import = empty->make_import(Space(), to_device<Space>(others));
  expect_import<Space>(*import, own, others);
  expect_reverse<Space>(*import, own, others, ranks_that_want(*empty, last, own, others));
}

/// All of the above, for rank `rank` of `size`, which has the rows `own`.
template <class Space>
void expect_distributed(const DistributedMatrix<double, Space>& a, const CsrView<double, Space>& rows,
                        const HostMatrix<double>& whole, const std::vector<std::int64_t>& own, int rank) {
  expect_numbers<Space>(a, rows, whole, own);
  const auto numbers = to_vector(a.global_numbers(Space()));
  expect_import<Space>(a.column_import(), own, {numbers.begin() + a.num_rows(), numbers.end()});
  expect_product<Space>(a, whole, own);

  // All rows of other ranks, the last first; some of them; none on some ranks; of each rank its own choice.
  const std::set<std::int64_t> mine(own.begin(), own.end());
  std::vector<std::int64_t> others, some, choice;
  for (std::int64_t i = whole.num_rows - 1; i >= 0; --i)
    if (!mine.contains(i)) others.push_back(i);
  for (std::size_t k = 0; k < others.size(); k += 3) some.push_back(others[k]);
  for (std::size_t k = 0; k < others.size(); ++k)
    if (k % (static_cast<std::size_t>(rank) + 1) == 0) choice.push_back(others[k]);
  for (const auto& remote : {others, rank % 2 == 0 ? some : std::vector<std::int64_t>{}, choice}) {
    expect_remote_rows<Space>(a, whole, remote);
    if (a.redistributes()) expect_values_again<Space>(a, remote);
    const auto import = a.make_import(Space(), to_device<Space>(remote));
    expect_import<Space>(*import, own, remote);
    expect_reverse<Space>(*import, own, remote, ranks_that_want(a, whole.num_rows, own, remote));
  }
  if (a.redistributes()) expect_redistributed<Space>(a, rank);
  expect_agreement<Space>(a, rank);
  expect_whole_vectors<Space>(a, own, rank == 0);
}

/// A^T has the bits of the sequential transpose, and keeps all promises.
template <class Space>
void expect_transposed(const DistributedMatrix<double, Space>& a, const HostMatrix<double>& whole,
                       const std::vector<std::int64_t>& own, int rank) {
  const HostMatrix<double> expected = transposed(whole);
  const auto at = distributed_transpose<double, Space>(Space(), a);
  expect_bits<double, Space>(*at, expected, own);
  expect_distributed<Space>(*at, at->own_rows(), expected, own, rank);
}

}  // namespace prekond::testing
