// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/solve_by_blocks.hpp"

#include "testing/triangular_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

/// Both solves of block-diagonal factors on a host.
namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using impl::levels::find_row_blocks;
using impl::triangular::Factor;

/// A matrix of blocks of 1 to `largest` rows, not symmetric, and without most entries that the shape would
/// allow.
HostMatrix<double> blocks_of(int rows, int largest) {
  Dense dense(rows, std::vector<double>(rows, 0));
  for (int begin = 0, size = 1; begin < rows; begin += size, size = size % largest + 1)
    for (int i = begin; i < std::min(rows, begin + size); ++i)
      for (int j = begin; j < std::min(rows, begin + size); ++j)
        if (i == j || (i + j) % 3 > 0) dense[i][j] = std::sin(i + 3.0 * j) + 2 * (i == j);
  return sparse(dense);
}

std::vector<int> bounds_of(const HostMatrix<double>& lower, const HostMatrix<double>& upper) {
  const auto blocks = find_row_blocks<Space>(Space(), graph_of<Space>(lower), graph_of<Space>(upper));
  return blocks ? to_vector(blocks.bounds) : std::vector<int>{};
}

TEST(RowBlocks, AreThoseOfBothTriangles) {
  const auto triangle = [](const Dense& a, Triangle which) { return strict_triangle(sparse(a), which); };
  Dense a(6, std::vector<double>(6, 0));
  for (int i = 0; i < 6; ++i) a[i][i] = 1;
  a[1][0] = a[5][4] = 1;
  const auto lower = triangle(a, Triangle::lower);
  EXPECT_EQ(bounds_of(lower, triangle(a, Triangle::upper)), (std::vector<int>{0, 2, 3, 4, 6}));
  a[2][3] = 1;
  EXPECT_EQ(bounds_of(lower, triangle(a, Triangle::upper)), (std::vector<int>{0, 2, 4, 6}));
  a[1][2] = 1;  // rows 0 to 3, which are not yet more than two thirds of the rows and entries
  EXPECT_EQ(bounds_of(lower, triangle(a, Triangle::upper)), (std::vector<int>{0, 4, 6}));
  a[3][4] = 1;
  EXPECT_EQ(bounds_of(lower, triangle(a, Triangle::upper)), std::vector<int>{});
}

TEST(RowBlocks, SmallOnesArePutTogether) {
  const HostMatrix<double> none = strict_triangle(blocks_of(3000, 1), Triangle::lower);
  const std::vector<int> bounds = bounds_of(none, none);
  EXPECT_LE(bounds.size(), 300u);
  EXPECT_GE(bounds.size(), 200u);
  EXPECT_EQ(bounds.back(), 3000);
}

template <class Scalar>
struct BlockwiseCase {
  HostMatrix<Scalar> lower, upper;
  std::vector<Scalar> first, second, last;  ///< S_L, S_U, C

  std::vector<std::vector<Scalar>> solve(Storage storage, bool with_upper_values,
                                         const std::vector<std::vector<Scalar>>& x) const {
    const Space space;
    const auto n = lower.num_rows;
    const CsrGraph<Space> l = graph_of<Space>(lower), u = graph_of<Space>(upper);
    const Vector<Scalar, Space> none, values = to_device<Space>(upper.values);
    std::vector<std::string> notes;
    const auto solves = impl::triangular::make_blockwise_solves<Scalar, Space>(
        space, find_row_blocks<Space>(space, l, u),
        {"test", Triangle::lower, l, {}, to_device<Space>(lower.values), to_device<Space>(first)},
        {"test", Triangle::upper, u, {}, with_upper_values ? values : none, to_device<Space>(second)},
        to_device<Space>(last), storage, notes);
    const MultiVector<Scalar, Space> from("from", n, x.size()), to("to", n, x.size());
    for (std::size_t v = 0; v < x.size(); ++v)
      for (std::int64_t i = 0; i < n; ++i) from(i, v) = x[v][i];
    Kokkos::deep_copy(to, Scalar(std::nan("")));
    solves->apply(space, from, to);
    space.fence();
    std::vector<std::vector<Scalar>> y;
    for (std::size_t v = 0; v < x.size(); ++v) y.push_back(to_vector(column(to, v)));
    return y;
  }
};

template <class Scalar>
BlockwiseCase<Scalar> blockwise_case(int rows, int largest, bool symmetric, bool scaled) {
  const HostMatrix<double> a = blocks_of(rows, largest);
  const HostMatrix<double> lower = strict_triangle(a, Triangle::lower);
  const HostMatrix<double> upper = symmetric ? transposed(lower) : strict_triangle(a, Triangle::upper);
  const auto s = scales_of<Scalar>(rows);
  if (!scaled) return {convert<Scalar>(lower), convert<Scalar>(upper), {}, {}, {}};
  std::vector<Scalar> second(s.rbegin(), s.rend()), last(s.begin(), s.end());
  for (Scalar& c : last) c *= Scalar(0.25);
  return {convert<Scalar>(lower), convert<Scalar>(upper), s, second, last};
}

TEST(BlockwiseSolves, AreTheTwoSubstitutions) {
  for (const int rows : {7, 64, 401})
    for (const int largest : {1, 2, 5, 13})
      for (const bool scaled : {false, true}) {
        SCOPED_TRACE(std::to_string(rows) + ", " + std::to_string(largest) + (scaled ? ", scaled" : ""));
        const auto c = blockwise_case<double>(rows, largest, false, scaled);
        if (bounds_of(c.lower, c.upper).empty()) continue;  // one block is too large
        const auto x = right_sides<double>(rows, 3);
        const auto y = c.solve(Storage::full, true, x);
        for (std::size_t v = 0; v < x.size(); ++v) {
          const Substitution between = substitute(c.lower, Triangle::lower, c.first, x[v]);
          const std::vector<double> half(between.y.begin(), between.y.end());
          const Substitution expected = substitute(c.upper, Triangle::upper, c.second, half);
          for (int i = 0; i < rows; ++i) {
            const double last = scaled ? std::abs(c.last[i]) : 1;
            ASSERT_LE(std::abs(y[v][i] - last * expected.y[i]), 1e-13 * last * (1 + expected.magnitudes[i]))
                << i;
          }
        }
      }
}

template <class Scalar>
void check_transposed(Storage storage) {
  for (const bool scaled : {false, true}) {
    const auto c = blockwise_case<Scalar>(211, 9, true, scaled);
    const auto x = right_sides<Scalar>(211, 2);
    EXPECT_EQ(c.solve(storage, false, x), c.solve(storage, true, x));
  }
}

TEST(BlockwiseSolves, TheTransposeOfLHasTheBitsOfAStoredU) {
  for (const Storage storage : {Storage::full, Storage::single_precision, Storage::half, Storage::bfloat16}) {
    check_transposed<double>(storage);
    check_transposed<float>(storage);
  }
}

}  // namespace
}  // namespace prekond::testing
