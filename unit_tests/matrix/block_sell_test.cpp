// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/messages.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/sell_matrix.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "matrix/block_sell_kernels.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

/// Block rows of all kinds: every fourth is empty, the second is full.
struct Blocks {
  int rows, cols;                      ///< of a block
  HostMatrix<double> graph;            ///< of blocks; its values are not read
  std::vector<std::vector<double>> a;  ///< the rows' values, as CSR has them
  std::int64_t num_rows() const { return graph.num_rows * rows; }
  std::int64_t num_cols() const { return graph.num_cols * cols; }

  Blocks(int block_rows, int block_cols, int r, int c, double density, unsigned seed) : rows(r), cols(c) {
    std::mt19937_64 engine(seed);
    const auto uniform = [&] { return double(engine() >> 11) * 0x1p-53; };
    graph.num_rows = block_rows;
    graph.num_cols = block_cols;
    for (int i = 0; i < block_rows; ++i) {
      for (int j = 0; j < block_cols; ++j)
        if (i % 4 != 3 && (i == 1 || uniform() < density)) graph.col_idxs.push_back(j);
      graph.row_ptrs.push_back(graph.col_idxs.size());
      for (int q = 0; q < r; ++q) {
        a.emplace_back((graph.row_ptrs[i + 1] - graph.row_ptrs[i]) * c);
        for (double& value : a.back()) value = std::ldexp(std::floor(uniform() * 4096) - 2048, -9);
      }
    }
  }

  /// sum_j a_ij x_j, and sum_j |a_ij x_j|
  std::pair<double, double> product(std::int64_t i, const std::vector<double>& x) const {
    double sum = 0, size = 0;
    const std::size_t begin = graph.row_ptrs[i / rows];
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      const double term = a[i][k] * x[graph.col_idxs[begin + k / cols] * std::size_t(cols) + k % cols];
      sum += term;
      size += std::abs(term);
    }
    return {sum, size};
  }
};

template <class Space>
BlockPattern<Space> pattern_of(const Blocks& blocks) {
  return {{blocks.graph.num_rows, blocks.graph.num_cols, to_device<Space>(blocks.graph.row_ptrs),
           to_device<Space>(blocks.graph.col_idxs)},
          blocks.rows,
          blocks.cols};
}

template <class Value, class Space>
CsrMatrix<Value, int, std::size_t, typename Space::memory_space> rows_of(const Blocks& blocks) {
  HostMatrix<Value> a;
  a.num_rows = blocks.num_rows();
  a.num_cols = blocks.num_cols();
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = 0; k < blocks.a[i].size(); ++k) {
      a.col_idxs.push_back(blocks.graph.col_idxs[blocks.graph.row_ptrs[i / blocks.rows] + k / blocks.cols] *
                               blocks.cols +
                           int(k % blocks.cols));
      a.values.push_back(static_cast<Value>(float(blocks.a[i][k])));
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  return to_device<Space>(a);
}

/// Whatever the padding.
template <class Value, class Space>
BlockSellMatrix<Value, Space> matrix_of(const Blocks& blocks, int sigma) {
  const Space space;
  const auto pattern = pattern_of<Space>(blocks);
  const auto structure = make_sell_structure<Space>(space, pattern.blocks, {sigma, 1e9});
  const auto result = fill_block_sell<Value, Space>(space, rows_of<Value, Space>(blocks), pattern, structure);
  space.fence();
  return result;
}

std::vector<double> some_vector(std::int64_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> x(n);
  for (double& value : x) value = double(engine() >> 11) * 0x1p-52 - 1;
  return x;
}

template <class Scalar, class Space>
MultiVector<Scalar, Space> upload(const std::vector<std::vector<double>>& columns, std::int64_t rows) {
  const MultiVector<Scalar, Space> result("vectors", rows, columns.size());
  const auto host = Kokkos::create_mirror_view(result);
  for (std::size_t v = 0; v < columns.size(); ++v)
    for (std::int64_t i = 0; i < rows; ++i) host(i, v) = static_cast<Scalar>(columns[v][i]);
  Kokkos::deep_copy(result, host);
  return result;
}

using Columns = std::vector<std::vector<double>>;

template <class Space, class Multiply>
void check(const Blocks& blocks, int vectors, const RecurrenceStep<double>& step, bool scaled,
           const Multiply& multiply) {
  Columns x, y, b;
  for (int v = 0; v < vectors; ++v) {
    x.push_back(some_vector(std::max(blocks.num_cols(), blocks.num_rows()), 3 * v));
    y.push_back(some_vector(blocks.num_rows(), 3 * v + 1));
    b.push_back(some_vector(blocks.num_rows(), 3 * v + 2));
  }
  std::vector<double> scale(scaled ? blocks.num_rows() : 0);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::ldexp(1.0, int(i % 5) - 2);
  const Space space;
  const auto to = upload<double, Space>(y, blocks.num_rows());
  multiply(space, to_device<Space>(scale), upload<double, Space>(x, std::int64_t(x[0].size())),
           upload<double, Space>(b, blocks.num_rows()), to);
  space.fence();
  for (int v = 0; v < vectors; ++v) {
    const auto found = to_vector(column(to, v));
    for (std::int64_t i = 0; i < blocks.num_rows(); ++i) {
      auto [sum, size] = blocks.product(i, x[v]);
      const double d = step.product * (scaled ? scale[i] : 1.0);
      const double expected =
          d * sum + step.direct * x[v][i] + step.previous * y[v][i] + step.source * b[v][i];
      ASSERT_NEAR(found[i], expected, 40 * std::numeric_limits<double>::epsilon() * (std::abs(d) * size + 4))
          << "row " << i << " of column " << v;
    }
  }
}

template <class Space>
class BlockSellTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockSellTest, TestSpaces, SpaceNames);

constexpr std::pair<int, int> sizes[] = {{1, 1}, {1, 3}, {2, 2}, {2, 3}, {3, 2}, {3, 1},
                                         {3, 3}, {3, 6}, {6, 3}, {6, 6}, {5, 2}, {13, 7}};

TYPED_TEST(BlockSellTest, ProductsAreTheReferences) {
  for (const auto& [r, c] : sizes)
    for (const auto& [block_rows, block_cols, density] : std::vector<std::tuple<int, int, double>>{
             {1, 1, 1.0}, {37, 23, 0.2}, {130, 61, 0.1}, {9, 401, 0.7}, {5, 70000 / c, 0.0}}) {
      const int sigma = block_rows % 2 == 0 ? 64 : 1;
      SCOPED_TRACE(std::to_string(r) + " x " + std::to_string(c) + ", " + std::to_string(block_rows));
      const Blocks blocks(block_rows, block_cols, r, c, density, unsigned(r + c));
      const auto full = matrix_of<double, TypeParam>(blocks, sigma);
      const auto single = matrix_of<float, TypeParam>(blocks, sigma);
      for (const int vectors : {1, 5})
        for (const RecurrenceStep<double>& step :
             {RecurrenceStep<double>{}, RecurrenceStep<double>{-1, 0, 0, 1},
              RecurrenceStep<double>{2, -3, 0.5, 4}})
          for (const bool scaled : {false, true}) {
            if (step.direct != 0 && blocks.num_rows() > blocks.num_cols()) continue;
            if (scaled != (step.source != 0)) continue;
            const auto by = [&](const auto& a) {
              check<TypeParam>(
                  blocks, vectors, step, scaled,
                  [&]<class Scale, class X, class B, class Y>(const TypeParam& space, const Scale& scale,
                                                              const X& x, const B& b, const Y& y) {
                    using Value = typename decltype(a.values)::non_const_value_type;
                    block_sell_recurrence<Value, double, TypeParam>(space, step, scale, a, x, b, y);
                  });
            };
            by(full);
            by(single);
          }
    }
}

TYPED_TEST(BlockSellTest, PaddingIsNotRead) {
  // An infinity in the first block column stays out of rows that have not got it.
  const Blocks blocks(37, 23, 3, 3, 0.2, 1);
  const auto a = matrix_of<double, TypeParam>(blocks, 1);
  const TypeParam space;
  const MultiVector<double, TypeParam> x("x", blocks.num_cols(), 1), y("y", blocks.num_rows(), 1);
  Kokkos::deep_copy(Kokkos::subview(x, std::make_pair(0, 3), 0), std::numeric_limits<double>::infinity());
  block_sell_recurrence<double, double, TypeParam>(space, {}, {}, a, x, {}, y);
  space.fence();
  const auto found = to_vector(column(y, 0));
  for (std::int64_t i = 0; i < blocks.num_rows(); ++i)
    if (blocks.a[i].empty() || blocks.graph.col_idxs[blocks.graph.row_ptrs[i / 3]] != 0) {
      EXPECT_EQ(found[i], 0) << i;
    }
}

TYPED_TEST(BlockSellTest, IsMadeWherePaddingIsLittle) {
  const TypeParam space;
  const auto make = [&](const Blocks& blocks) {
    return make_block_sell<float, TypeParam>(space, rows_of<float, TypeParam>(blocks),
                                             pattern_of<TypeParam>(blocks));
  };
  const Blocks alike(64, 20, 3, 3, 1.0, 1);  // full but for empty rows, which are sorted
  const auto found = make(alike);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->bytes(),
            found->pattern.blocks.bytes() + found->structure.bytes() + 4 * 9 * found->structure.num_places());
  const RecurrenceStep<double> step;
  check<TypeParam>(alike, 1, step, false,
                   [&]<class Scale, class X, class B, class Y>(const TypeParam& on, const Scale& scale,
                                                               const X& x, const B& b, const Y& y) {
                     block_sell_recurrence<float, double, TypeParam>(on, step, scale, *found, x, b, y);
                   });
  EXPECT_FALSE(make(Blocks(40, 20000, 3, 3, 0.0, 1)).has_value());  // one long row alone
  EXPECT_TRUE(make(Blocks(0, 0, 3, 3, 0.0, 1)).has_value());
  // Rows of 8,192 blocks: 2.9 ms of a thread beside 7.1 MB of a device's memory.
  const Blocks late(32, 8192, 3, 3, 1.0, 1);
  EXPECT_EQ(make(late).has_value(), is_host_space<TypeParam>);
}

TYPED_TEST(BlockSellTest, RefusesWhatDoesNotFit) {
  const auto a = matrix_of<double, TypeParam>(Blocks(4, 5, 2, 3, 0.5, 1), 1);
  const auto multiply = [&](int x, int y) {
    block_sell_recurrence<double, double, TypeParam>(TypeParam(), {}, {}, a,
                                                     MultiVector<double, TypeParam>("x", x, 1), {},
                                                     MultiVector<double, TypeParam>("y", y, 1));
  };
  EXPECT_THAT(message_of<InputError>([&] { multiply(14, 8); }), HasSubstr("8 x 15"));
  EXPECT_THAT(message_of<InputError>([&] { multiply(15, 7); }), HasSubstr("8 x 15"));
  multiply(15, 8);
}

}  // namespace
}  // namespace prekond::testing
