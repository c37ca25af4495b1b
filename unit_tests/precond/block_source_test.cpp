// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/pattern/impl/supernodes.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/isai.hpp>
#include "pattern/block_rows.hpp"
#include "pattern/power.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

/// Inverses on given patterns whose setup reads a matrix by blocks, compared with those of the expanded
/// matrix.
namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class Space, class Scalar = double>
using Blocks = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

/// A matrix of blocks on the host, by rows of blocks.
struct BlockMatrix {
  int b = 1, n = 0, block_cols = 0;
  std::vector<std::vector<int>> cols;
  std::vector<std::vector<std::vector<double>>> values;  ///< of each block by columns

  template <class Space, class Scalar = double>
  Blocks<Space, Scalar> on_device(BlockOrder order = BlockOrder::by_columns) const {
    std::vector<std::size_t> row_ptrs = {0};
    std::vector<int> col_idxs;
    std::vector<Scalar> all;
    for (int i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < cols[i].size(); ++k) {
        col_idxs.push_back(cols[i][k]);
        for (int outer = 0; outer < b; ++outer)
          for (int inner = 0; inner < b; ++inner)
            all.push_back(static_cast<Scalar>(
                values[i][k][order == BlockOrder::by_columns ? inner + outer * b : outer + inner * b]));
      }
      row_ptrs.push_back(col_idxs.size());
    }
    return Blocks<Space, Scalar>(b, order, n, block_cols, to_device<Space>(row_ptrs),
                                 to_device<Space>(col_idxs), to_device<Space>(all));
  }
};

/// Dominant by rows. Symmetric with `symmetric`. Every fifth block row has only its diagonal block; with
/// `arrow` the last one is full, and the first one too.
BlockMatrix random_blocks(int b, int n, unsigned seed, bool symmetric = true, double density = 0.3,
                          bool arrow = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1), part(0, 1);
  std::vector<std::vector<std::vector<double>>> full(n, std::vector<std::vector<double>>(n));
  const auto block = [&] {
    std::vector<double> result(std::size_t(b) * b);
    for (double& value : result) value = part(random) < 0.2 ? 0 : number(random);  // zeros are entries too
    return result;
  };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) {
      const bool alone = i % 5 == 3 || j % 5 == 3;
      const bool in_arrow = arrow && (j == 0 || i == n - 1);
      if (!in_arrow && (alone || part(random) >= density)) continue;
      full[i][j] = full[j][i] = block();
      for (int p = 0; p < b; ++p)
        for (int q = 0; q < b; ++q) full[j][i][q + p * b] = full[i][j][p + q * b];
      if (!symmetric) full[j][i] = block();
    }
  BlockMatrix a;
  a.b = b;
  a.n = a.block_cols = n;
  a.cols.resize(n);
  a.values.resize(n);
  for (int i = 0; i < n; ++i) {
    full[i][i] = block();
    for (int p = 0; p < b; ++p) {
      for (int q = 0; q < p && symmetric; ++q) full[i][i][q + p * b] = full[i][i][p + q * b];
      double sum = 0;
      for (int j = 0; j < n; ++j)
        for (int q = 0; q < b && !full[i][j].empty(); ++q)
          if (j != i || q != p) sum += std::abs(full[i][j][p + q * b]);
      full[i][i][p + p * b] = sum + 0.1 + part(random);
    }
    for (int j = 0; j < n; ++j)
      if (!full[i][j].empty()) {
        a.cols[i].push_back(j);
        a.values[i].push_back(full[i][j]);
      }
  }
  return a;
}

/// The same, each value by `change(value, row, column)`.
template <class Change>
BlockMatrix changed(BlockMatrix a, const Change& change) {
  for (int i = 0; i < a.n; ++i)
    for (std::size_t k = 0; k < a.cols[i].size(); ++k)
      for (int p = 0; p < a.b; ++p)
        for (int q = 0; q < a.b; ++q) {
          double& value = a.values[i][k][p + q * a.b];
          value = change(value, i * a.b + p, a.cols[i][k] * a.b + q);
        }
  return a;
}

/// The same without a block.
BlockMatrix without(BlockMatrix a, int i, int j) {
  for (std::size_t k = 0; k < a.cols[i].size(); ++k)
    if (a.cols[i][k] == j) {
      a.cols[i].erase(a.cols[i].begin() + std::ptrdiff_t(k));
      a.values[i].erase(a.values[i].begin() + std::ptrdiff_t(k));
    }
  return a;
}

/// The source of the expanded matrix, with the blocks' unknowns a node.
template <class Space, class Scalar>
struct Expanded {
  explicit Expanded(const Blocks<Space, Scalar>& blocks)
      : rows(expand_blocks<Scalar, Space>(Space(), blocks)), source(rows) {
    source.set_unknowns_per_node(blocks.padding > 0 ? 1 : blocks.block_size);
  }
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> rows;
  MatrixSource<Scalar, Space> source;
};

void expect_same_reports(const Report& found, const Report& expected) {
  EXPECT_EQ(found.breakdowns.count, expected.breakdowns.count);
  EXPECT_EQ(found.breakdowns.first_row, expected.breakdowns.first_row);
  EXPECT_EQ(found.breakdowns.first_pivot, expected.breakdowns.first_pivot);
  EXPECT_EQ(found.breakdowns.action, expected.breakdowns.action);
  EXPECT_EQ(found.pattern_kept, expected.pattern_kept);
  EXPECT_EQ(found.nnz, expected.nnz);
}

// ------------------------------------------------------------------------------------------------- patterns

template <class Space>
class BlockSourceTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockSourceTest, TestSpaces, SpaceNames);

template <class Space>
void expect_same_graph(const CsrGraph<Space>& found, const CsrGraph<Space>& expected) {
  ASSERT_EQ(found.num_rows, expected.num_rows);
  ASSERT_EQ(found.num_cols, expected.num_cols);
  ASSERT_EQ(to_vector(found.row_ptrs), to_vector(expected.row_ptrs));
  ASSERT_EQ(to_vector(found.col_idxs), to_vector(expected.col_idxs));
}

TYPED_TEST(BlockSourceTest, RowsOfABlockPatternAreThoseOfTheExpandedMatrix) {
  const TypeParam space;
  constexpr std::int64_t all = std::int64_t(1) << 40;
  for (const int b : {1, 2, 3, 7, 17, 32})
    for (const int n : {1, 2, 9, b < 7 ? 70 : 23})
      for (const int k : {0, 1, 2, 3}) {
        SCOPED_TRACE(std::to_string(n) + " block rows of " + std::to_string(b) + ", power " +
                     std::to_string(k));
        const auto blocks = random_blocks(b, n, 7u * b + n, true, 3.0 / n).template on_device<TypeParam>();
        const Expanded<TypeParam, double> expanded(blocks);
        CsrGraph<TypeParam> graph{blocks.num_block_rows, blocks.num_block_cols, blocks.row_ptrs,
                                  blocks.col_idxs};
        const auto lower = lower_power<TypeParam>(space, graph, k, all, all);
        const auto rows_alone = lower_power<TypeParam>(space, expanded.rows, k, all, all);
        ASSERT_NO_FATAL_FAILURE(expect_same_graph(
            lower_rows_of_blocks<TypeParam>(space, lower, b, all),
            merge_supernodes<TypeParam>(space, rows_alone,
                                        uniform_supernodes<TypeParam>(space, std::int64_t(n) * b, b), all)));
        if (k == 0) continue;
        const auto whole = power<TypeParam>(space, graph, k, all, all);
        ASSERT_NO_FATAL_FAILURE(expect_same_graph(rows_of_blocks<TypeParam>(space, whole, b, all),
                                                  power<TypeParam>(space, expanded.rows, k, all, all)));
      }
}

TYPED_TEST(BlockSourceTest, PatternsOfBlocksThatAreNotSquare) {
  // 2 x 3 blocks, of sizes 3 x 2: block row 0 has the columns 0 and 2, block row 1 column 1.
  const TypeParam space;
  const CsrGraph<TypeParam> graph{2, 3, to_device<TypeParam>(std::vector<std::size_t>{0, 2, 3}),
                                  to_device<TypeParam>(std::vector<int>{0, 2, 1})};
  const auto rows = rows_of_blocks<TypeParam>(space, graph, 3, 2, std::int64_t(1) << 40);
  EXPECT_EQ(rows.num_rows, 6);
  EXPECT_EQ(rows.num_cols, 6);
  EXPECT_EQ(to_vector(rows.row_ptrs), (std::vector<std::size_t>{0, 4, 8, 12, 14, 16, 18}));
  EXPECT_EQ(to_vector(rows.col_idxs),
            (std::vector<int>{0, 1, 4, 5, 0, 1, 4, 5, 0, 1, 4, 5, 2, 3, 2, 3, 2, 3}));
}

TYPED_TEST(BlockSourceTest, APatternByRowsBeyondItsBudgetIsRefused) {
  const TypeParam space;
  const auto blocks = random_blocks(3, 20, 5).template on_device<TypeParam>();
  CsrGraph<TypeParam> graph{20, 20, blocks.row_ptrs, blocks.col_idxs};
  const auto rows = rows_of_blocks<TypeParam>(space, graph, 3, std::int64_t(1) << 40);
  const std::int64_t bytes = 61 * 8 + 4 * rows.nnz();
  rows_of_blocks<TypeParam>(space, graph, 3, bytes);
  EXPECT_THAT(message_of<InputError>([&] { rows_of_blocks<TypeParam>(space, graph, 3, bytes - 1); }),
              HasSubstr("the pattern by rows of blocks would have " + std::to_string(rows.nnz())));
}

// ----------------------------------------------------------------------------------------------------- fsai

FsaiOptions fsai_options(int block_size, int power = 1, Precision precision = Precision::double_precision) {
  FsaiOptions options;
  options.block_size = block_size;
  options.power = power;
  options.setup_scalar = precision;
  return options;
}

template <class Method, class Space, class Scalar>
Method set_up(const MatrixSource<Scalar, Space>& source, const typename Method::options_type& options,
              const Space& space = Space()) {
  Method m(options);
  m.symbolic(space, source);
  m.numeric(space, source);
  return m;
}

/// Equal but for the rounding of the rows' scales, whose sums are compiled, and on a device ordered,
/// otherwise.
template <class Values>
void expect_same_values(const Values& found, const Values& expected) {
  const auto x = to_vector(found), y = to_vector(expected);
  ASSERT_EQ(x.size(), y.size());
  const double tolerance = sizeof(x[0]) == 4 ? 2.0 / (1 << 23) : 1e-13;
  for (std::size_t k = 0; k < x.size(); ++k)
    ASSERT_LE(std::abs(x[k] - y[k]), tolerance * std::abs(y[k])) << "entry " << k;
}

/// Both factors are the same.
template <class Space, class Scalar>
void expect_same_factors(const Fsai<Scalar, Space>& found, const Fsai<Scalar, Space>& expected) {
  ASSERT_EQ(to_vector(found.factor().row_ptrs), to_vector(expected.factor().row_ptrs));
  ASSERT_EQ(to_vector(found.factor().col_idxs), to_vector(expected.factor().col_idxs));
  ASSERT_NO_FATAL_FAILURE(expect_same_values(found.factor().values, expected.factor().values));
  ASSERT_NO_FATAL_FAILURE(
      expect_same_values(found.factor_transposed().values, expected.factor_transposed().values));
  expect_same_reports(found.report(), expected.report());
  EXPECT_EQ(found.report().notes, expected.report().notes);
  EXPECT_EQ(found.report().numeric_flops, expected.report().numeric_flops);
}

/// The blocks are not expanded, and the factor is that of the expanded matrix.
template <class Space, class Scalar>
void expect_fsai_of_blocks(const Blocks<Space, Scalar>& blocks, const FsaiOptions& options) {
  const Expanded<Space, Scalar> expanded(blocks);
  const auto expected = set_up<Fsai<Scalar, Space>>(expanded.source, options);
  const ToolEvents events;
  const MatrixSource<Scalar, Space> source(Space(), blocks);
  const auto found = set_up<Fsai<Scalar, Space>>(source, options);
  EXPECT_THAT(expansions(events), IsEmpty());
  expect_same_factors(found, expected);
}

TYPED_TEST(BlockSourceTest, FsaiIsThatOfTheExpandedMatrix) {
  for (const int b : {2, 3, 4, 5, 6, 7, 8, 17, 32})
    for (const int n : {1, 2, 7, b < 5 ? 43 : b < 9 ? 17 : 5}) {
      const BlockMatrix a = random_blocks(b, n, 100u * b + n);
      for (const BlockOrder order : both_orders)
        for (const Precision precision : {Precision::double_precision, Precision::single_precision})
          for (const int power : {0, 1, 2}) {
            SCOPED_TRACE(std::to_string(n) + " block rows of " + std::to_string(b) + ", power " +
                         std::to_string(power));
            const auto blocks = a.template on_device<TypeParam>(order);
            const int block_size = power == 1 && b <= 16 ? 0 : b;  // blocks that are found have up to 16 rows
            ASSERT_NO_FATAL_FAILURE(
                expect_fsai_of_blocks<TypeParam>(blocks, fsai_options(block_size, power, precision)));
          }
    }
  const auto of_floats = random_blocks(3, 29, 8).template on_device<TypeParam, float>();
  for (const Precision precision : {Precision::double_precision, Precision::single_precision})
    expect_fsai_of_blocks<TypeParam>(of_floats, fsai_options(3, 1, precision));
}

TYPED_TEST(BlockSourceTest, FsaiOfBlocksOfOneRow) {
  const auto blocks = random_blocks(1, 61, 3).template on_device<TypeParam>();
  const Expanded<TypeParam, double> expanded(blocks);
  const MatrixSource<double, TypeParam> source(TypeParam(), blocks);
  for (const int block_size : {0, 1, 2}) {
    using Method = Fsai<double, TypeParam>;
    expect_same_factors(set_up<Method>(source, fsai_options(block_size)),
                        set_up<Method>(expanded.source, fsai_options(block_size)));
  }
}

TYPED_TEST(BlockSourceTest, FsaiOfBlockRowsThatAreMuchLongerOrShorterThanTheirSystems) {
  for (const int b : {2, 5}) {
    const auto blocks = random_blocks(b, 75, 9, true, 0.01, true).template on_device<TypeParam>();
    for (const int power : {1, 2})
      for (const double postfilter : {0.0, 0.001}) {
        FsaiOptions options = fsai_options(b, power);
        options.postfilter = postfilter;
        expect_fsai_of_blocks<TypeParam>(blocks, options);
      }
  }
}

TYPED_TEST(BlockSourceTest, FsaiOfElasticity) {
  const auto rows = generate<double>(TypeParam(), "elasticity3d:6");
  for (const BlockOrder order : both_orders) {
    const auto blocks = to_bcsr<double, TypeParam>(TypeParam(), rows, 3, order);
    for (const Precision precision : {Precision::double_precision, Precision::single_precision})
      expect_fsai_of_blocks<TypeParam>(blocks, fsai_options(0, 2, precision));
    Fsai<double, TypeParam> m(fsai_options(0));
    m.numeric(TypeParam(), MatrixSource<double, TypeParam>(TypeParam(), blocks));
    EXPECT_THAT(m.report().notes, ::testing::ElementsAre("supernodes: 180, mean size 3, fill ratio 1"));
  }
}

TYPED_TEST(BlockSourceTest, FsaiOfBlocksHasTheSameBitsForAnyNumberOfThreads) {
  const auto blocks = random_blocks(3, 200, 10, true, 0.03).template on_device<TypeParam>();
  const MatrixSource<double, TypeParam> source(TypeParam(), blocks);
  using Method = Fsai<double, TypeParam>;
  const auto once = set_up<Method>(source, fsai_options(3, 2)),
             alone = set_up<Method>(source, fsai_options(3, 2), of_one_thread<TypeParam>());
  expect_same_factors(once, alone);
}

TYPED_TEST(BlockSourceTest, FsaiOfARanksBlocks) {
  BlockMatrix a = random_blocks(3, 40, 11);
  a.n = 31;  // the columns of the others are another rank's
  expect_fsai_of_blocks<TypeParam>(a.template on_device<TypeParam>(), fsai_options(3, 2));
  a.n = 0;
  Fsai<double, TypeParam> m(fsai_options(3));
  const auto none = a.template on_device<TypeParam>();
  m.numeric(TypeParam(), MatrixSource<double, TypeParam>(TypeParam(), none));
  EXPECT_EQ(m.factor().nnz(), 0);
}

TYPED_TEST(BlockSourceTest, FsaiOfBlocksOfAnyRange) {
  const BlockMatrix a = random_blocks(3, 31, 12);
  const auto scaled = [&](const auto& scale) {
    const auto of_values = [&](double value, int i, int j) { return value * scale(i) * scale(j); };
    expect_fsai_of_blocks<TypeParam>(changed(a, of_values).template on_device<TypeParam>(), fsai_options(3));
  };
  scaled([](int) { return 0x1p+400; });
  scaled([](int) { return 0x1p-400; });
  scaled([](int i) { return std::ldexp(1.0, i * 10 - 465); });
}

TYPED_TEST(BlockSourceTest, FsaiSolvesAgainOnThePatternFound) {
  const TypeParam space;
  const BlockMatrix a = random_blocks(4, 33, 13);
  const BlockMatrix b = changed(a, [](double value, int i, int j) { return i == j ? 2 * value : value; });
  const auto first = a.template on_device<TypeParam>(), second = b.template on_device<TypeParam>();
  const Expanded<TypeParam, double> first_rows(first), second_rows(second);
  const MatrixSource<double, TypeParam> first_source(space, first), second_source(space, second);
  for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
    FsaiOptions options = fsai_options(4, 2);
    options.reuse = reuse;
    Fsai<double, TypeParam> of_blocks(options), of_rows(options);
    const ToolEvents events;
    of_blocks.numeric(space, first_source);
    of_blocks.numeric(space, second_source);
    EXPECT_THAT(expansions(events), IsEmpty());
    of_rows.numeric(space, first_rows.source);
    of_rows.numeric(space, second_rows.source);
    expect_same_factors(of_blocks, of_rows);
    of_blocks.numeric(space, first_rows.source);  // rows, on the pattern of blocks
    of_rows.numeric(space, first_rows.source);
    expect_same_factors(of_blocks, of_rows);
    of_rows.numeric(space, second_source);  // and the other way round
    of_blocks.numeric(space, second_source);
    expect_same_factors(of_blocks, of_rows);
  }
}

TYPED_TEST(BlockSourceTest, FsaiCountsABreakdownInABlock) {
  // Rows 1 and 2 of block 4, and the rows with number 1 of blocks 6 and 7, repeat one another.
  BlockMatrix a = random_blocks(3, 9, 14, true, 1.0);
  const auto repeat = [&](int to, int from) {
    const auto source = a;
    const auto entry = [&](int i, int j) {
      for (std::size_t k = 0; k < source.cols[i / 3].size(); ++k)
        if (source.cols[i / 3][k] == j / 3) return source.values[i / 3][k][i % 3 + j % 3 * 3];
      return 0.0;
    };
    a = changed(a, [&](double value, int i, int j) {
      if (i != to && j != to) return value;
      return entry(i == to ? from : i, j == to ? from : j);
    });
  };
  repeat(14, 13);
  repeat(22, 19);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const auto blocks = a.template on_device<TypeParam>();
    expect_fsai_of_blocks<TypeParam>(blocks, fsai_options(3, 1, precision));
    Fsai<double, TypeParam> m(fsai_options(3, 1, precision));
    m.numeric(TypeParam(), MatrixSource<double, TypeParam>(TypeParam(), blocks));
    EXPECT_GT(m.report().breakdowns.count, 0);
    EXPECT_EQ(m.report().breakdowns.first_row, 14);
  }
}

TYPED_TEST(BlockSourceTest, FsaiRefusesABadDiagonalOfBlocks) {
  const TypeParam space;
  const BlockMatrix a = random_blocks(3, 9, 15);
  const auto refusal = [&](const BlockMatrix& bad) {
    const auto blocks = bad.template on_device<TypeParam>();
    Fsai<double, TypeParam> m(fsai_options(3));
    const MatrixSource<double, TypeParam> source(space, blocks);
    return message_of<InputError>([&] { m.numeric(space, source); });
  };
  EXPECT_THAT(refusal(without(a, 4, 4)), HasSubstr("the diagonal entry of row 13 is missing"));
  EXPECT_THAT(refusal(changed(a, [](double value, int i, int j) { return i == 16 && j == 16 ? -1 : value; })),
              HasSubstr("the diagonal entry of row 17 is missing or not positive"));
}

/// The blocks are expanded, and the factor is that of the expanded matrix.
template <class Space>
void expect_fsai_of_rows(const Blocks<Space>& blocks, const FsaiOptions& options) {
  const Expanded<Space, double> expanded(blocks);
  const auto expected = set_up<Fsai<double, Space>>(expanded.source, options);
  const ToolEvents events;
  const auto found = set_up<Fsai<double, Space>>(MatrixSource<double, Space>(Space(), blocks), options);
  EXPECT_THAT(expansions(events), Not(IsEmpty()));
  expect_same_factors(found, expected);
}

TYPED_TEST(BlockSourceTest, FsaiOfWhatNeedsTheRowsHasThem) {
  const TypeParam space;
  const auto blocks = random_blocks(3, 31, 16).template on_device<TypeParam>();
  expect_fsai_of_rows<TypeParam>(blocks, fsai_options(1));
  expect_fsai_of_rows<TypeParam>(blocks, fsai_options(4));
  FsaiOptions options = fsai_options(3);
  options.prefilter = 0.05;
  expect_fsai_of_rows<TypeParam>(blocks, options);
  const auto rows = generate<double>(space, "poisson3d:5");
  expect_fsai_of_rows<TypeParam>(to_bcsr<double, TypeParam>(space, rows, 3), fsai_options(3));  // padded

  // A pattern of the user's.
  const Expanded<TypeParam, double> expanded(blocks);
  const auto pattern = power<TypeParam>(space, expanded.rows, 2, 1 << 30, 1 << 30);
  Fsai<double, TypeParam> of_blocks(fsai_options(3)), of_rows(fsai_options(3));
  of_blocks.set_pattern(space, pattern);
  of_rows.set_pattern(space, pattern);
  of_blocks.numeric(space, MatrixSource<double, TypeParam>(space, blocks));
  of_rows.numeric(space, expanded.source);
  expect_same_factors(of_blocks, of_rows);
}

TYPED_TEST(BlockSourceTest, APostfilterOfFsaiLeavesThePatternByRows) {
  const TypeParam space;
  const auto blocks = random_blocks(3, 31, 17).template on_device<TypeParam>();
  FsaiOptions options = fsai_options(3);
  options.postfilter = 0.1;
  expect_fsai_of_blocks<TypeParam>(blocks, options);
  const Expanded<TypeParam, double> expanded(blocks);
  auto of_blocks = set_up<Fsai<double, TypeParam>>(MatrixSource<double, TypeParam>(space, blocks), options),
       of_rows = set_up<Fsai<double, TypeParam>>(expanded.source, options);
  of_blocks.numeric(space, MatrixSource<double, TypeParam>(space, blocks));
  of_rows.numeric(space, expanded.source);
  expect_same_factors(of_blocks, of_rows);
}

// ----------------------------------------------------------------------------------------------------- isai

IsaiOptions isai_options(IsaiKind kind, int power = 1, Precision precision = Precision::double_precision) {
  IsaiOptions options;
  options.kind = kind;
  options.power = power;
  options.setup_scalar = precision;
  return options;
}

/// The same pattern, and values that differ by rounding from the expanded matrix's.
template <class Space, class Scalar>
void expect_isai_of_blocks(const Blocks<Space, Scalar>& blocks, const IsaiOptions& options, double tolerance,
                           bool expands = false) {
  const Expanded<Space, Scalar> expanded(blocks);
  const auto expected = set_up<Isai<Scalar, Space>>(expanded.source, options);
  const ToolEvents events;
  const MatrixSource<Scalar, Space> source(Space(), blocks);
  const auto found = set_up<Isai<Scalar, Space>>(source, options);
  EXPECT_EQ(expansions(events).empty(), !expands);
  const auto& m = found.factored() ? found.factored()->factor() : found.inverse();
  const auto& n = expected.factored() ? expected.factored()->factor() : expected.inverse();
  ASSERT_EQ(to_vector(m.row_ptrs), to_vector(n.row_ptrs));
  ASSERT_EQ(to_vector(m.col_idxs), to_vector(n.col_idxs));
  const auto row_ptrs = to_vector(m.row_ptrs);
  const auto x = to_vector(m.values), y = to_vector(n.values);
  for (std::size_t i = 0; i + 1 < row_ptrs.size(); ++i) {
    double largest = 0;
    for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k)
      largest = std::max(largest, std::abs(double(y[k])));
    for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k)
      ASSERT_LE(std::abs(double(x[k]) - double(y[k])), tolerance * largest) << "row " << i;
  }
  expect_same_reports(found.report(), expected.report());
}

TYPED_TEST(BlockSourceTest, GeneralIsaiIsThatOfTheExpandedMatrix) {
  for (const int b : {2, 3, 4, 5, 6, 7, 8, 17, 32})
    for (const int n : {1, 2, 7, b < 9 ? 23 : 6}) {
      const BlockMatrix a = random_blocks(b, n, 100u * b + n, false);
      for (const BlockOrder order : both_orders)
        for (const Precision precision : {Precision::double_precision, Precision::single_precision})
          for (const int power : {1, 2}) {
            SCOPED_TRACE(std::to_string(n) + " block rows of " + std::to_string(b) + ", power " +
                         std::to_string(power));
            const bool in_double = precision == Precision::double_precision;
            ASSERT_NO_FATAL_FAILURE(expect_isai_of_blocks<TypeParam>(
                a.template on_device<TypeParam>(order), isai_options(IsaiKind::general, power, precision),
                in_double ? 1e-12 : 1e-5));
          }
    }
  const auto of_floats = random_blocks(3, 29, 8, false).template on_device<TypeParam, float>();
  expect_isai_of_blocks<TypeParam>(of_floats, isai_options(IsaiKind::general), 1e-5);
}

TYPED_TEST(BlockSourceTest, GeneralIsaiOfRanksAndOfRowsOfAnyLength) {
  BlockMatrix a = random_blocks(3, 40, 21, false);
  a.n = 31;
  expect_isai_of_blocks<TypeParam>(a.template on_device<TypeParam>(), isai_options(IsaiKind::general), 1e-12);
  expect_isai_of_blocks<TypeParam>(
      random_blocks(2, 75, 22, false, 0.01, true).template on_device<TypeParam>(),
      isai_options(IsaiKind::general), 1e-12);
}

TYPED_TEST(BlockSourceTest, GeneralIsaiByBlocksOrByRows) {
  const auto general = isai_options(IsaiKind::general);
  const BlockMatrix a = random_blocks(3, 23, 23, false);
  const auto blocks = a.template on_device<TypeParam>();
  IsaiOptions options = general;
  options.prefilter = 0.05;
  expect_isai_of_blocks<TypeParam>(blocks, options, 1e-12, /*expands=*/true);
  expect_isai_of_blocks<TypeParam>(blocks, isai_options(IsaiKind::general, 0), 1e-12, true);
  expect_isai_of_blocks<TypeParam>(blocks, isai_options(IsaiKind::lower), 0, true);
  expect_isai_of_blocks<TypeParam>(blocks, isai_options(IsaiKind::upper), 0, true);
  // A row's own block is not in its pattern where it is not stored, but for the diagonal.
  expect_isai_of_blocks<TypeParam>(without(a, 5, 5).template on_device<TypeParam>(), general, 1e-12, true);
  options = general;
  options.relaxation_steps = 1;
  expect_isai_of_blocks<TypeParam>(blocks, options, 1e-12, true);
}

TYPED_TEST(BlockSourceTest, GeneralIsaiSolvesAgainOnThePatternFound) {
  const TypeParam space;
  const BlockMatrix a = random_blocks(3, 23, 24, false);
  const BlockMatrix b = changed(a, [](double value, int i, int j) { return i == j ? 2 * value : value; });
  const auto first = a.template on_device<TypeParam>(), second = b.template on_device<TypeParam>();
  const Expanded<TypeParam, double> second_rows(second);
  const MatrixSource<double, TypeParam> first_source(space, first), second_source(space, second);
  const auto options = isai_options(IsaiKind::general, 2);
  const auto expected = set_up<Isai<double, TypeParam>>(second_source, options);
  auto m = set_up<Isai<double, TypeParam>>(first_source, options);
  const auto of_first = to_vector(m.inverse().values);
  m.numeric(space, second_source);
  EXPECT_TRUE(m.report().pattern_kept);
  EXPECT_EQ(to_vector(m.inverse().values), to_vector(expected.inverse().values));
  m.numeric(space, second_rows.source);  // by rows, on the pattern of blocks
  const auto of_rows = to_vector(m.inverse().values), of_blocks = to_vector(expected.inverse().values);
  for (std::size_t k = 0; k < of_rows.size(); ++k)
    ASSERT_NEAR(of_rows[k], of_blocks[k], 1e-12 * (1 + std::abs(of_blocks[k])));
  m.numeric(space, first_source);
  EXPECT_EQ(to_vector(m.inverse().values), of_first);
  const auto alone = set_up<Isai<double, TypeParam>>(first_source, options, of_one_thread<TypeParam>());
  EXPECT_EQ(to_vector(alone.inverse().values), of_first);
}

TYPED_TEST(BlockSourceTest, GeneralIsaiCountsBreakdownsRowByRow) {
  const BlockMatrix a = random_blocks(3, 9, 25, false, 0.5);
  // A column of zeros: its rows' systems are singular, all rows of the blocks that have it are shortened.
  const auto singular = changed(a, [](double value, int, int j) { return j == 13 ? 0 : value; });
  for (const Precision precision : {Precision::double_precision, Precision::single_precision})
    expect_isai_of_blocks<TypeParam>(singular.template on_device<TypeParam>(),
                                     isai_options(IsaiKind::general, 1, precision), 1e-9);
  // One row's inverse is beyond the matrix's numbers, the others of its block are sound, and stay as they
  // are.
  const auto tiny = changed(
      a, [](double value, int i, int j) { return i == 19 || j == 19 ? (i == j ? 0x1p-130 : 0) : value; });
  const auto blocks = tiny.template on_device<TypeParam, float>();
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const auto options = isai_options(IsaiKind::general, 1, precision);
    expect_isai_of_blocks<TypeParam>(blocks, options, 1e-9);
    Isai<float, TypeParam> m(options);
    m.numeric(TypeParam(), MatrixSource<float, TypeParam>(TypeParam(), blocks));
    EXPECT_EQ(m.report().breakdowns.count, 1);
    EXPECT_EQ(m.report().breakdowns.first_row, 19);
  }
}

TYPED_TEST(BlockSourceTest, SpdIsaiIsThatOfTheExpandedMatrix) {
  for (const int b : {2, 3, 17}) {
    const BlockMatrix a = random_blocks(b, 17, 30u + b);
    const auto blocks = a.template on_device<TypeParam>();
    for (const int power : {1, 2})
      expect_isai_of_blocks<TypeParam>(blocks, isai_options(IsaiKind::spd, power), 1e-12);
    expect_isai_of_blocks<TypeParam>(blocks, isai_options(IsaiKind::spd, 0), 0, true);
    IsaiOptions options = isai_options(IsaiKind::spd);
    options.prefilter = 0.05;
    expect_isai_of_blocks<TypeParam>(blocks, options, 0, true);
  }
}

}  // namespace
}  // namespace prekond::testing
