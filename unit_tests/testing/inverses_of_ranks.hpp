// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Approximate inverses that ranks found together, compared entry by entry with those of one rank.
#include "testing/across_ranks.hpp"
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/isai.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace prekond::testing {

/// Row -> column -> value.
using Entries = std::map<std::int64_t, std::map<std::int64_t, double>>;

inline Entries entries_of(const HostMatrix<double>& a) {
  Entries entries;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) entries[i][a.col_idxs[k]] = a.values[k];
  return entries;
}

/// G, G_L or M of one rank.
template <class Space>
HostMatrix<double> serial_rows(const Method<Space>& method) {
  const auto* isai = dynamic_cast<const Isai<double, Space>*>(&method);
  if (isai && !isai->factored()) return to_host(isai->inverse());
  const Method<Space>* kept = isai ? isai->factored() : &method;
  if (const auto* factored = dynamic_cast<const FactoredInverse<double, Space>*>(kept))
    return to_host(factored->factor());
  return to_host(dynamic_cast<const ExplicitInverse<double, Space>&>(*kept).inverse());
}

/// A rank's part of it, by global numbers.
template <class Space>
void add_rows(const RankRows<double, Space>& rows, const std::vector<std::int64_t>& own, bool by_columns,
              Entries& all) {
  const auto numbers = to_vector(rows.remote_numbers);
  for (const auto& [i, row] : entries_of(to_host(rows.own)))
    for (const auto& [j, value] : row) all[own[i]][own[j]] = value;
  for (const auto& [i, row] : entries_of(to_host(rows.remote)))
    for (const auto& [j, value] : row)
      by_columns ? all[numbers[i]][own[j]] = value : all[own[i]][numbers[j]] = value;
}

/// The same bits; on a device, where lanes are chosen by what a rank has, the same to rounding.
template <class Space>
void expect_entries(const Entries& found, const Entries& expected) {
  if (is_host_space<Space>) {
    EXPECT_EQ(found, expected);
    return;
  }
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [i, row] : expected) {
    ASSERT_EQ(found.at(i).size(), row.size()) << "row " << i;
    for (const auto& [j, value] : row)
      EXPECT_NEAR(found.at(i).at(j), value, 1e-5 * (1 + std::abs(value))) << i << ", " << j;
  }
}

}  // namespace prekond::testing
