// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The use of the knowledge of a MatrixSource by preconditioners, and their work on a pattern before the
// values.
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class Space>
class SetupSourceTest : public ::testing::Test {};
TYPED_TEST_SUITE(SetupSourceTest, TestSpaces, SpaceNames);

/// A matrix whose pattern is made of b x b blocks, as blocks.
template <class Space>
auto in_blocks(const HostMatrix<double>& a, int b) {
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> col_idxs;
  std::vector<double> values;
  for (std::int64_t i = 0; i < a.num_rows; i += b) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; k += b) {
      col_idxs.push_back(a.col_idxs[k] / b);
      for (int p = 0; p < b; ++p)
        for (int q = 0; q < b; ++q) values.push_back(a.values[a.row_ptrs[i + p] + (k - a.row_ptrs[i]) + q]);
    }
    row_ptrs.push_back(col_idxs.size());
  }
  return BcsrMatrix<double, int, std::size_t, typename Space::memory_space>(
      b, BlockOrder::by_rows, a.num_rows / b, a.num_cols / b, to_device<Space>(row_ptrs),
      to_device<Space>(col_idxs), to_device<Space>(values));
}

/// M^-1 (1, 2, ...)
template <class Space>
std::vector<double> applied(const MatrixPreconditioner<double, Space>& m) {
  std::vector<double> x(m.num_rows());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = double(i + 1);
  const auto in = to_device<Space>(x), out = to_device<Space>(x);
  m.apply(Space(), as_multivector(in), as_multivector(out), *m.make_workspace(Space(), 1));
  Space().fence();
  return to_vector(out);
}

template <class Space>
using Source = MatrixSource<double, Space>;

TYPED_TEST(SetupSourceTest, BlocksGiveEveryMethodWhatTheirRowsGive) {
  const TypeParam space;
  const auto rows = generate<double>(space, "elasticity3d:4");
  const auto blocks = in_blocks<TypeParam>(to_host(rows), 3);
  for (const auto& line : preconditioner_registry<double, TypeParam>()) {
    SCOPED_TRACE(line.name);
    const auto expected = create_preconditioner<double, TypeParam>(line.name);
    const auto m = create_preconditioner<double, TypeParam>(line.name);
    expected->numeric(space, rows);
    const Source<TypeParam> source(space, blocks);
    m->symbolic(space, source);
    m->numeric(space, source);
    EXPECT_EQ(applied(*m), applied(*expected));
  }
}

TYPED_TEST(SetupSourceTest, MethodsThatReadBlocksExpandNothing) {
  const TypeParam space;
  const auto blocks = in_blocks<TypeParam>(to_host(generate<double>(space, "elasticity3d:4")), 3);
  const std::vector<std::pair<std::string, OptionMap>> methods = {
      {"none", {}},
      {"block_ilu0", {}},
      {"multicolor_block_gs", {}},
      {"jacobi", {{"type", std::string("block")}, {"block_size", std::int64_t(3)}}}};
  for (const auto& [name, options] : methods) {
    SCOPED_TRACE(name);
    const auto m = create_preconditioner<double, TypeParam>(name, options);
    const ToolEvents events;
    const Source<TypeParam> source(space, blocks);
    m->symbolic(space, source);
    m->numeric(space, source);
    m->numeric(space, source);
    EXPECT_THAT(expansions(events), IsEmpty());
  }
  // The others have the rows, which are made once.
  const auto m = create_preconditioner<double, TypeParam>("ilu0");
  const ToolEvents events;
  const Source<TypeParam> source(space, blocks);
  m->symbolic(space, source);
  const auto once = expansions(events).size();
  EXPECT_GT(once, 0u);
  m->numeric(space, source);
  EXPECT_EQ(expansions(events).size(), once);
}

TYPED_TEST(SetupSourceTest, BlocksOfOtherRanksAreCountedWithoutExpansion) {
  const TypeParam space;
  auto host = to_host(generate<double>(space, "elasticity3d:4"));
  const auto blocks = in_blocks<TypeParam>(host, 3);
  auto wide = blocks;  // a rank's part: its last block rows are gone
  wide.num_block_rows = blocks.num_block_rows - 8;
  const auto ptrs = to_vector(blocks.row_ptrs);
  const auto cols = to_vector(blocks.col_idxs);
  const auto blocks_of_part = ptrs[wide.num_block_rows];
  std::int64_t foreign = 0;
  for (std::size_t k = 0; k < blocks_of_part; ++k) foreign += cols[k] >= wide.num_block_rows;
  wide.row_ptrs =
      Kokkos::subview(blocks.row_ptrs, std::make_pair(std::size_t(0), std::size_t(wide.num_block_rows + 1)));
  wide.col_idxs = Kokkos::subview(blocks.col_idxs, std::make_pair(std::size_t(0), blocks_of_part));
  wide.values = Kokkos::subview(blocks.values, std::make_pair(std::size_t(0), 9 * blocks_of_part));
  ASSERT_GT(foreign, 0);
  for (const std::string name : {"block_ilu0", "multicolor_block_gs"}) {
    const auto m = create_preconditioner<double, TypeParam>(name);
    const ToolEvents events;
    m->numeric(space, Source<TypeParam>(space, wide));
    EXPECT_EQ(m->report().foreign_entries, 9 * foreign);
    EXPECT_THAT(expansions(events), IsEmpty());
  }
}

template <class Method, class Space>
std::vector<std::string> notes_with_nodes(const Source<Space>& source) {
  typename Method::options_type options;
  options.block_size = 0;
  Method m(options);
  m.numeric(Space(), source);
  return m.report().notes;
}

TYPED_TEST(SetupSourceTest, NodesAreTheSupernodesWhereTheirUnknownsAreKnown) {
  const auto a = generate<double>(TypeParam(), "poisson2d:6");  // no two rows are alike
  Source<TypeParam> source = a;
  const auto nodes = [&] { return notes_with_nodes<Fsai<double, TypeParam>>(source); };
  const std::string none = "supernodes: none were found, each row was solved by itself";
  EXPECT_THAT(nodes(), Contains(none));
  source.set_unknowns_per_node(3);
  EXPECT_THAT(nodes(), Contains(HasSubstr("supernodes: 12, mean size 3")));
  source.set_unknowns_per_node(18);
  EXPECT_THAT(nodes(), Contains(none)) << "blocks have up to 16 rows";
}

// ------------------------------------------------------------------- the adaptive FSAI's work on the pattern

AdaptiveFsaiOptions with_pattern_work(Reuse reuse = Reuse::none) {
  AdaptiveFsaiOptions options;
  options.initial_power = 2;
  options.max_steps = 3;
  options.reuse = reuse;
  return options;
}

bool is_pattern_work(const std::string& kernel) {
  for (const char* of : {"power", "equal_rows"})
    if (kernel.find(std::string("prekond::") + of) != std::string::npos) return true;
  return false;
}

std::vector<std::string> pattern_work(const ToolEvents& events) {
  std::vector<std::string> kernels;
  for (const std::string& kernel : events.kernels())
    if (is_pattern_work(kernel)) kernels.push_back(kernel);
  return kernels;
}

TYPED_TEST(SetupSourceTest, SymbolicDoesTheAdaptiveFsaisWorkOnThePattern) {
  const TypeParam space;
  const auto a = generate<double>(space, "elasticity3d:4");
  for (const Reuse reuse : {Reuse::none, Reuse::pattern, Reuse::extend}) {
    AdaptiveFsai<double, TypeParam> m(with_pattern_work(reuse));
    {
      const ToolEvents events;
      m.symbolic(space, a);
      EXPECT_THAT(pattern_work(events), Contains("prekond::power::fill_rows"));
      EXPECT_THAT(pattern_work(events), Contains("prekond::equal_rows::compare"));
    }
    for (int k = 0; k < 3; ++k) {
      const ToolEvents events;
      m.numeric(space, a);
      EXPECT_THAT(pattern_work(events), IsEmpty()) << "numeric phase " << k;
    }
  }
}

template <class Space>
HostMatrix<double> fresh(const AdaptiveFsaiOptions& options, const HostMatrix<double>& a) {
  AdaptiveFsai<double, Space> m(options);
  m.numeric(Space(), to_device<Space>(a));
  return to_host(m.factor());
}

TYPED_TEST(SetupSourceTest, NumericSeesWhereThePatternIsAnother) {
  const TypeParam space;
  const HostMatrix<double> first = random_spd(60, 0.1, 3), other = random_spd(60, 0.2, 4);
  const AdaptiveFsaiOptions options = with_pattern_work();
  AdaptiveFsai<double, TypeParam> m(options);
  const auto notes = [&](const HostMatrix<double>& a) {
    m.numeric(space, to_device<TypeParam>(a));
    return m.report().notes;
  };
  m.symbolic(space, to_device<TypeParam>(first));
  EXPECT_THAT(notes(other), Contains(HasSubstr("another pattern than symbolic")));
  EXPECT_TRUE(to_host(m.factor()) == fresh<TypeParam>(options, other));
  EXPECT_THAT(notes(other), Not(Contains(HasSubstr("another pattern than symbolic"))));
  EXPECT_THAT(notes(first), Contains(HasSubstr("another pattern than symbolic")));
  EXPECT_TRUE(to_host(m.factor()) == fresh<TypeParam>(options, first));
}

TYPED_TEST(SetupSourceTest, AKeptPatternIsSolvedOnWithTheRowsOfTheMatrixThatIsGiven) {
  const TypeParam space;
  // Rows 0 and 1 have equal columns in the one matrix and different ones in the other.
  const HostMatrix<double> first = sparse<double>({{4, 1, 1, 0}, {1, 4, 1, 0}, {1, 1, 4, 1}, {0, 0, 1, 4}});
  const HostMatrix<double> other = sparse<double>({{4, 1, 0, 0}, {1, 4, 1, 0}, {0, 1, 4, 1}, {0, 0, 1, 4}});
  AdaptiveFsai<double, TypeParam> m;
  m.numeric(space, to_device<TypeParam>(first));
  m.numeric(space, to_device<TypeParam>(other));
  EXPECT_TRUE(m.report().pattern_kept);
  // diag(G A G^T) = 1 for the matrix that was given.
  const HostMatrix<double> g = to_host(m.factor());
  for (std::int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k)
      for (std::size_t l = g.row_ptrs[i]; l < g.row_ptrs[i + 1]; ++l)
        for (std::size_t e = other.row_ptrs[g.col_idxs[k]]; e < other.row_ptrs[g.col_idxs[k] + 1]; ++e)
          if (other.col_idxs[e] == g.col_idxs[l]) sum += g.values[k] * other.values[e] * g.values[l];
    EXPECT_NEAR(sum, 1, 1e-12) << "row " << i;
  }
}

TYPED_TEST(SetupSourceTest, AGivenStartReplacesThePowerOfSymbolic) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(60, 0.1, 5), start = random_spd(60, 0.05, 6);
  const AdaptiveFsaiOptions options = with_pattern_work();
  AdaptiveFsai<double, TypeParam> before(options), after(options);
  const auto graph = to_device<TypeParam>(start), matrix = to_device<TypeParam>(a);
  before.set_initial_pattern(space, CsrGraphView<TypeParam>(graph));
  before.symbolic(space, matrix);
  before.numeric(space, matrix);
  after.symbolic(space, matrix);
  after.set_initial_pattern(space, CsrGraphView<TypeParam>(graph));
  after.numeric(space, matrix);
  EXPECT_TRUE(to_host(before.factor()) == to_host(after.factor()));
  EXPECT_FALSE(to_host(after.factor()) == fresh<TypeParam>(options, a));
}

}  // namespace
}  // namespace prekond::testing
