// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Helpers of the tests of block_jacobi and schwarz.
#include "testing/general_matrices.hpp"
#include "testing/reference_block.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/schwarz.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace prekond::testing {

template <class Scalar>
using Vectors = std::vector<std::vector<Scalar>>;

template <class Scalar>
Vectors<Scalar> waves(std::int64_t n, int count) {
  Vectors<Scalar> x(count, std::vector<Scalar>(n));
  for (int k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i) x[k][i] = Scalar(std::sin(1 + 3.0 * double(i) + 5.0 * k));
  return x;
}

/// M^-1 x, from a workspace for `room` vectors; y holds NaN before.
template <class Scalar, class Space>
Vectors<Scalar> applied(const Preconditioner<Scalar, Space>& m, const Vectors<Scalar>& x, int room = 0,
                        const Space& space = Space()) {
  const auto n = static_cast<std::size_t>(m.num_rows());
  const MultiVector<Scalar, Space> from("x", n, x.size()), to("y", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < n; ++i) host(i, k) = x[k][i];
  Kokkos::deep_copy(from, host);
  Kokkos::deep_copy(to, Scalar(std::nan("")));
  const auto workspace = m.make_workspace(space, std::max(room, static_cast<int>(x.size())));
  space.fence();
  {
    const ToolEvents events;
    m.apply(space, from, to, *workspace);
    EXPECT_THAT(events.fences(), ::testing::IsEmpty());
    EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  }
  space.fence();
  Vectors<Scalar> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = to_vector(column(to, k));
  return y;
}

template <class Space>
Sets sets_of(const Partition<Space>& partition) {
  const auto ptrs = to_vector(partition.ptrs), rows = to_vector(partition.rows);
  Sets sets;
  for (std::size_t d = 0; d + 1 < ptrs.size(); ++d)
    sets.emplace_back(rows.begin() + ptrs[d], rows.begin() + ptrs[d + 1]);
  return sets;
}

/// The block-diagonal matrix of the A[S_d, S_d], whose rows follow each other by sets.
inline HostMatrix<double> blocks_of(const HostMatrix<double>& a, const Sets& sets) {
  HostMatrix<double> result;
  int first = 0;
  for (const auto& set : sets) {
    for (const int i : set) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const auto found = std::lower_bound(set.begin(), set.end(), a.col_idxs[k]);
        if (found == set.end() || *found != a.col_idxs[k]) continue;
        result.col_idxs.push_back(first + static_cast<int>(found - set.begin()));
        result.values.push_back(a.values[k]);
      }
      result.row_ptrs.push_back(result.col_idxs.size());
    }
    first += static_cast<int>(set.size());
  }
  result.num_rows = result.num_cols = first;
  return result;
}

/// M^-1 x of a Schwarz method whose local method is this preconditioner, which is set up and applied for the
/// matrix of `blocks_of` by itself.
template <class Space>
Vectors<double> by_preconditioner_of_blocks(const HostMatrix<double>& a, const Sets& parts, int overlap,
                                            bool additive, const std::string& name,
                                            const Vectors<double>& x) {
  const Sets sets = with_neighbours(a, parts, overlap);
  const auto inner = create_preconditioner<double, Space>(name);
  inner->numeric(Space(), to_device<Space>(blocks_of(a, sets)));
  Vectors<double> places(x.size());
  for (std::size_t v = 0; v < x.size(); ++v)
    for (const auto& set : sets)
      for (const int i : set) places[v].push_back(x[v][i]);
  const auto solution = applied<double, Space>(*inner, places);
  Vectors<double> y(x.size(), std::vector<double>(a.num_rows, 0));
  for (std::size_t v = 0; v < x.size(); ++v) {
    std::size_t place = 0;
    for (std::size_t d = 0; d < sets.size(); ++d)
      for (const int i : sets[d]) {
        const double value = solution[v][place++];
        if (additive)
          y[v][i] += value;
        else if (std::binary_search(parts[d].begin(), parts[d].end(), i))
          y[v][i] = value;
      }
  }
  return y;
}

/// ||y - expected|| / ||expected||
template <class Scalar>
double relative_distance(const std::vector<Scalar>& y, const LongVector& expected) {
  long double square = 0, of_expected = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    square += (y[i] - expected[i]) * (y[i] - expected[i]);
    of_expected += expected[i] * expected[i];
  }
  return static_cast<double>(std::sqrt(square / of_expected));
}

inline OptionMap local_is(const std::string& name, OptionMap more = {}) {
  more["local.name"] = name;
  return more;
}
inline OptionMap with_size(std::int64_t size, OptionMap more) {
  more["block_size"] = size;
  return more;
}

template <class Scalar, class Space>
std::unique_ptr<Schwarz<Scalar, Space>> made_block_jacobi(const OptionMap& options) {
  SchwarzOptions own;
  own.overlap = 0;
  OptionFields::of(own).set(options, "block_jacobi");
  return std::make_unique<Schwarz<Scalar, Space>>(own);
}

/// Compares with dense solves of the blocks of the partition that was made, for several vectors.
template <class Scalar, class Space>
void check_block_jacobi(const HostMatrix<double>& matrix, const OptionMap& options, double tolerance) {
  const Space space;
  const auto a = convert<Scalar>(matrix);
  const auto m = made_block_jacobi<Scalar, Space>(options);
  m->symbolic(space, to_device<Space>(a));
  m->numeric(space, to_device<Space>(a));
  EXPECT_EQ(m->report().breakdowns.count, 0);
  EXPECT_GT(m->report().nnz, 0);
  EXPECT_GT(m->report().bytes, 0);
  EXPECT_GT(m->report().apply_flops, 0);
  EXPECT_THAT(m->report().notes, ::testing::Contains(::testing::HasSubstr("blocks of up to")));
  const auto sets = sets_of(m->partition());
  for (const int count : {1, 3}) {
    const auto x = waves<Scalar>(a.num_rows, count);
    const auto y = applied<Scalar, Space>(*m, x, count + 1);
    for (int k = 0; k < count; ++k)
      ASSERT_LT(relative_distance(y[k], reference_schwarz(a, sets, 0, false, x[k])), tolerance)
          << "vector " << k;
  }
}

inline const std::vector<std::string> partitions = {"auto", "bisection", "multilevel", "rows"};

}  // namespace prekond::testing
