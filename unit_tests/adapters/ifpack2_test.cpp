// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What holds for every preconditioner is tested on all lines of the registry. The references are sequential:
// the preconditioner of core, built from the rank's own block, which was taken out of the whole matrix by
// hand.
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <BelosLinearProblem.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosPseudoBlockGmresSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Ifpack2_AdditiveSchwarz.hpp>
#include <Teuchos_XMLParameterListCoreHelpers.hpp>
#include <prekond/adapters/ifpack2.hpp>

#include <limits>
#include <memory>
#include <sstream>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

using Space = TpetraSpace;
using RowMatrix = Tpetra::RowMatrix<double>;
using Adapter = ifpack2::Preconditioner<RowMatrix>;
using AdapterPointer = Teuchos::RCP<Adapter>;
using Local = MatrixPreconditioner<double, Space>;
using Columns = std::vector<std::vector<double>>;
using Teuchos::Exceptions::InvalidParameter;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const Registry<Local>& registry() {
  return preconditioner_registry<double, Space>();
}

struct NamedMap {
  std::string name;
  Teuchos::RCP<const TpetraMap> map;
};

std::vector<NamedMap> maps(std::int64_t n) {
  return {{"contiguous", contiguous_map(n)},
          {"cyclic", cyclic_map(n)},
          {"rank 0 without rows", map_with_empty_rank(n, 0)},
          {"the last rank without rows", map_with_empty_rank(n, num_ranks() - 1)}};
}

Teuchos::ParameterList list_of(const OptionMap& options) {
  Teuchos::ParameterList list;
  for (const auto& [name, value] : options)
    std::visit(
        [&list, &name = name](const auto& v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::int64_t>)
            list.set(name, static_cast<int>(v));
          else
            list.set(name, v);
        },
        value);
  return list;
}

AdapterPointer computed(const std::string& name, const Teuchos::RCP<TpetraMatrix>& matrix,
                        const OptionMap& options = {}) {
  const AdapterPointer m = ifpack2::create(name, matrix);
  m->setParameters(list_of(options));
  m->initialize();
  m->compute();
  return m;
}

// ------------------------------------------------------------------------------------------ references

/// A sequential preconditioner of this rank's own block.
std::unique_ptr<Local> reference(const std::string& name, const HostMatrix<double>& a, const TpetraMap& map,
                                 const OptionMap& options = {}) {
  auto m = create_preconditioner<double, Space>(name, options);
  const auto own = to_device<Space>(local_reference(a, map).own);
  m->symbolic(Space(), own);
  m->numeric(Space(), own);
  return m;
}

/// Known to all ranks.
Columns random_columns(std::int64_t n, int k, unsigned seed) {
  Columns x;
  for (int v = 0; v < k; ++v)
    x.push_back(random_vector(static_cast<std::size_t>(n), seed + 100 * static_cast<unsigned>(v)));
  return x;
}

/// What `map` gives this rank of them.
Columns own_part(const Columns& whole, const TpetraMap& map) {
  Columns mine;
  for (const auto& x : whole) {
    mine.emplace_back();
    for (const GlobalIndex i : own_indices(map)) mine.back().push_back(x[static_cast<std::size_t>(i)]);
  }
  return mine;
}

/// This rank's values.
Columns values_of(const TpetraMultiVector& x) {
  Columns mine;
  for (std::size_t k = 0; k < x.getNumVectors(); ++k) {
    const auto values = x.getData(k);
    mine.emplace_back(values.begin(), values.end());
  }
  return mine;
}

Columns applied(const Local& m, const Columns& x) {
  const std::size_t n = static_cast<std::size_t>(m.num_rows());
  MultiVector<double, Space> from("from", n, x.size()), to("to", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t i = 0; i < n; ++i) host(i, v) = x[v][i];
  Kokkos::deep_copy(from, host);
  const auto workspace = m.make_workspace(Space(), static_cast<int>(x.size()));
  m.apply(Space(), from, to, *workspace);
  Space().fence();
  Columns y;
  for (std::size_t v = 0; v < x.size(); ++v) y.push_back(to_vector(column(to, v)));
  return y;
}

/// M^-1 x by the adapter, into a Y that held NaN.
Columns applied(const Adapter& m, const Columns& whole, const Teuchos::RCP<const TpetraMap>& map) {
  const TpetraMultiVector x = distribute(whole, map);
  TpetraMultiVector y(map, whole.size());
  y.putScalar(not_a_number);
  m.apply(x, y);
  return values_of(y);
}

/// alpha z + beta y; with a factor of zero, what it multiplies does not count.
Columns combined(double alpha, const Columns& z, double beta, const Columns& y) {
  Columns sum = y;
  for (std::size_t k = 0; k < y.size(); ++k)
    for (std::size_t i = 0; i < y[k].size(); ++i)
      sum[k][i] = (alpha == 0 ? 0 : alpha * z[k][i]) + (beta == 0 ? 0 : beta * y[k][i]);
  return sum;
}

/// Equal but for the rounding of one product and one sum.
void expect_near(const Columns& actual, const Columns& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(actual[k].size(), expected[k].size());
    for (std::size_t i = 0; i < expected[k].size(); ++i)
      ASSERT_NEAR(actual[k][i], expected[k][i], 1e-14 * (1 + std::abs(expected[k][i])))
          << "vector " << k << ", row " << i;
  }
}

template <class T>
T over_all_ranks(Teuchos::EReductionType type, T mine) {
  T all{};
  Teuchos::reduceAll(*world(), type, 1, &mine, &all);
  return all;
}

// -------------------------------------------------------------------------------------------- matrices

double& entry(HostMatrix<double>& a, std::int64_t i, std::int64_t j) {
  for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
    if (a.col_idxs[k] == j) return a.values[k];
  throw std::logic_error("no such entry");
}

/// Row and column i hold stored zeros.
HostMatrix<double> with_zero_row(HostMatrix<double> a, std::int64_t i) {
  for (std::int64_t row = 0; row < a.num_rows; ++row)
    for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
      if (row == i || a.col_idxs[k] == i) a.values[k] = 0;
  return a;
}

/// Puts the values of `a` into a fill-complete matrix of the same pattern.
void replace_values(TpetraMatrix& matrix, const HostMatrix<double>& a) {
  matrix.resumeFill();
  for (const GlobalIndex row : own_indices(*matrix.getRowMap())) {
    const std::size_t begin = a.row_ptrs[row], length = a.row_ptrs[row + 1] - begin;
    const std::vector<GlobalIndex> cols(a.col_idxs.data() + begin, a.col_idxs.data() + begin + length);
    matrix.replaceGlobalValues(row, static_cast<int>(length), a.values.data() + begin, cols.data());
  }
  matrix.fillComplete(matrix.getDomainMap(), matrix.getRangeMap());
}

/// The rank with the highest indices in a contiguous map, and the third of its rows.
struct Place {
  std::int64_t row;
  int rank;
};
Place third_row_of_the_last_rank(const TpetraMap& map) {
  return {over_all_ranks<long long>(Teuchos::REDUCE_MAX, map.getMinGlobalIndex()) + 2, num_ranks() - 1};
}

// =============================================================================================== apply

TEST(Ifpack2Apply, IsTheSequentialPreconditionerOfTheRanksOwnBlock) {
  for (const char* spec : {"poisson2d:13", "elasticity3d:4"}) {
    const HostMatrix<double> a = problem(spec);
    for (const auto& [map_name, map] : maps(a.num_rows)) {
      const auto matrix = distribute(a, map);
      for (const auto& line : registry()) {
        SCOPED_TRACE(line.name + ", " + spec + ", " + map_name);
        const auto m = computed(line.name, matrix);
        const auto expected = reference(line.name, a, *map);
        for (const int k : {1, 2, 5, 2, 1}) {
          const Columns x = random_columns(a.num_rows, k, 3);
          EXPECT_EQ(applied(*m, x, map), applied(*expected, own_part(x, *map))) << k << " vectors";
        }
      }
    }
  }
}

TEST(Ifpack2Apply, ColumnMapsOfAnyOrderAndUnsortedRowsGiveTheSameBits) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const Columns x = random_columns(a.num_rows, 2, 5);
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    std::vector<GlobalIndex> descending = columns_of_rows(a, *map);
    std::reverse(descending.begin(), descending.end());
    const auto usual = distribute(a, map)->getColMap();
    for (const auto& [matrix, name] :
         {std::pair{distribute(a, map, map_of(descending)), "columns descend"},
          std::pair{distribute(a, map, map_of(descending), false), "columns descend, rows are not sorted"},
          std::pair{distribute(a, map, usual, false), "rows are not sorted"}}) {
      for (const auto& line : registry()) {
        SCOPED_TRACE(line.name + ", " + map_name + ", " + name);
        const auto m = computed(line.name, matrix);
        EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, a, *map), own_part(x, *map)));
        if (map->getLocalNumElements() > 1) {
          EXPECT_THAT(m->report().notes, Contains(HasSubstr("the matrix was copied")));
        }
        EXPECT_THAT(m->global_report().notes, Contains(HasSubstr("the matrix was copied")));
      }
    }
  }
}

TEST(Ifpack2Apply, AlphaBetaAndModes) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x_whole = random_columns(a.num_rows, 3, 7), y_whole = random_columns(a.num_rows, 3, 8);
  for (const auto& line : registry()) {
    const auto m = computed(line.name, matrix);
    const auto expected = reference(line.name, a, *map);
    const Columns z = applied(*expected, own_part(x_whole, *map));
    EXPECT_EQ(m->hasTransposeApply(), expected->is_symmetric());
    for (const Teuchos::ETransp mode : {Teuchos::NO_TRANS, Teuchos::TRANS, Teuchos::CONJ_TRANS})
      for (const double alpha : {1.0, 0.0, -2.5})
        for (const double beta : {0.0, 1.0, 0.5}) {
          SCOPED_TRACE(line.name + ", mode " + Teuchos::toString(mode) + ", alpha " + std::to_string(alpha) +
                       ", beta " + std::to_string(beta));
          TpetraMultiVector x = distribute(x_whole, map), y = distribute(y_whole, map);
          if (alpha == 0) x.putScalar(not_a_number);  // neither X nor Y is read where its factor is zero
          if (beta == 0) y.putScalar(not_a_number);
          if (mode != Teuchos::NO_TRANS && !m->hasTransposeApply()) {
            EXPECT_THAT(message_of<std::invalid_argument>([&] { m->apply(x, y, mode, alpha, beta); }),
                        HasSubstr("cannot apply its transpose"));
            continue;
          }
          m->apply(x, y, mode, alpha, beta);
          // In real arithmetic a symmetric M^-1 is its transpose; that it is one is tested below.
          if (mode == Teuchos::NO_TRANS || expected->is_symmetric())
            expect_near(values_of(y), combined(alpha, z, beta, own_part(y_whole, *map)));
        }
  }
}

TEST(Ifpack2Apply, TheTransposedModesAreAdjoint) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto map = cyclic_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const TpetraVector u = distribute(random_vector(a.num_rows, 1), map),
                     w = distribute(random_vector(a.num_rows, 2), map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    if (!m->hasTransposeApply()) continue;
    TpetraVector forward(map), backward(map);
    m->apply(u, forward);
    for (const Teuchos::ETransp mode : {Teuchos::TRANS, Teuchos::CONJ_TRANS}) {
      m->apply(w, backward, mode);
      const double scale = forward.norm2() * w.norm2();
      EXPECT_NEAR(forward.dot(w), u.dot(backward), 1e-13 * scale);
    }
  }
}

TEST(Ifpack2Apply, XAndYMayShareMemory) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns whole = random_columns(a.num_rows, 5, 11), mine = own_part(whole, *map);
  using Index = Teuchos::Array<std::size_t>;
  // X and Y are these vectors of one block of five.
  const std::vector<std::pair<Index, Index>> views = {{Index({0, 1, 2, 3, 4}), Index({0, 1, 2, 3, 4})},
                                                      {Index({0, 1, 2}), Index({1, 2, 3})},
                                                      {Index({2, 3, 4}), Index({1, 2, 3})},
                                                      {Index({2, 0}), Index({2, 0})},
                                                      {Index({2, 0}), Index({0, 2})},
                                                      {Index({0, 2, 4}), Index({4, 0, 2})},
                                                      {Index({1, 2}), Index({4, 1})},
                                                      {Index({4, 1}), Index({1, 2})}};
  for (const auto& line : registry()) {
    const auto m = computed(line.name, matrix);
    const auto expected = reference(line.name, a, *map);
    for (const auto& [from, to] : views)
      for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{-2.5, 0.5}}) {
        SCOPED_TRACE(line.name + ", X " + Teuchos::toString(from) + ", Y " + Teuchos::toString(to) +
                     ", alpha " + std::to_string(alpha));
        TpetraMultiVector all = distribute(whole, map);
        {
          const auto x = all.subView(from());
          const auto y = all.subViewNonConst(to());
          m->apply(*x, *y, Teuchos::NO_TRANS, alpha, beta);
        }
        Columns result = mine;
        for (int k = 0; k < to.size(); ++k)
          result[to[k]] = combined(alpha, applied(*expected, {mine[from[k]]}), beta, {mine[to[k]]})[0];
        expect_near(values_of(all), result);
      }
    SCOPED_TRACE(line.name + ", the same object");
    TpetraMultiVector all = distribute(whole, map);
    m->apply(all, all);
    EXPECT_EQ(values_of(all), applied(*expected, mine));
  }
}

TEST(Ifpack2Apply, VectorsThatDoNotLieAtOneStride) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = cyclic_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns whole = random_columns(a.num_rows, 3, 13), mine = own_part(whole, *map);
  const Teuchos::Array<std::size_t> two_and_zero({2, 0});
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    const Columns expected = applied(*reference(line.name, a, *map), {mine[2], mine[0]});
    const TpetraMultiVector x = distribute(whole, map);
    TpetraMultiVector y = distribute(whole, map);
    ASSERT_FALSE(x.subView(two_and_zero())->isConstantStride());
    m->apply(*x.subView(two_and_zero()), *y.subViewNonConst(two_and_zero()));
    EXPECT_EQ(values_of(y), (Columns{expected[1], mine[1], expected[0]}));

    TpetraMultiVector dense(map, 2);
    m->apply(*x.subView(two_and_zero()), dense);
    EXPECT_EQ(values_of(dense), expected);
    m->apply(*x.subCopy(two_and_zero()), dense, Teuchos::NO_TRANS, 2.0, -1.0);
    expect_near(values_of(dense), expected);
    y = distribute(whole, map);
    m->apply(*x.subCopy(two_and_zero()), *y.subViewNonConst(two_and_zero()));
    EXPECT_EQ(values_of(y), (Columns{expected[1], mine[1], expected[0]}));
  }
}

TEST(Ifpack2Apply, AllocatesNothingTheSecondTime) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Teuchos::Array<std::size_t> two_and_zero({2, 0});
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    const TpetraMultiVector x = distribute(random_columns(a.num_rows, 5, 13), map);
    TpetraMultiVector y(map, 5);
    y.putScalar(1);
    const auto x2 = x.subView(Teuchos::Range1D(0, 1)), x_apart = x.subView(two_and_zero());
    const auto y2 = y.subViewNonConst(Teuchos::Range1D(0, 1)), y_apart = y.subViewNonConst(two_and_zero());
    const auto all_ways = [&] {
      m->apply(x, y);
      m->apply(*x2, *y2);
      m->apply(x, y, Teuchos::NO_TRANS, -2.5, 0.5);
      m->apply(*x2, *y2, Teuchos::NO_TRANS, 1.0, 1.0);
      m->apply(y, y, Teuchos::NO_TRANS, 0.5, 0.0);
      if (m->hasTransposeApply()) m->apply(x, y, Teuchos::TRANS);
    };
    {
      const ToolEvents events;
      all_ways();
      EXPECT_THAT(events.allocations(),
                  Contains(HasSubstr("prekond::tpetra::apply::buffer")));  // they would be seen
    }
    {
      const ToolEvents events;
      all_ways();
      EXPECT_THAT(events.kernels(), Contains(HasSubstr("prekond::")));
      EXPECT_THAT(events.allocations(), IsEmpty());
    }
    const ToolEvents events;
    m->apply(*x_apart, *y_apart);
    m->apply(*y_apart, *y_apart);
    EXPECT_THAT(events.allocations(),
                Each("DualView::modified_flags"));  // of Tpetra's views of single vectors
  }
}

TEST(Ifpack2Apply, RefusesVectorsOfAnotherSizeAndAnythingBeforeCompute) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    TpetraMultiVector x(map, 2), y(map, 2), three(map, 3), longer(contiguous_map(a.num_rows + 8), 2);
    const auto m = ifpack2::create(line.name, matrix);
    const auto refused = [&] {
      EXPECT_THAT(message_of<std::runtime_error>([&] { m->apply(x, y); }),
                  AllOf(HasSubstr(line.name), HasSubstr("before compute")));
      EXPECT_THAT(message_of<std::runtime_error>([&] { m->local(); }), HasSubstr("before compute"));
    };
    refused();
    m->initialize();
    refused();
    m->compute();
    m->apply(x, y);
    EXPECT_THAT(message_of<std::invalid_argument>([&] { m->apply(x, three); }), HasSubstr("X of"));
    EXPECT_THAT(message_of<std::invalid_argument>([&] { m->apply(longer, longer); }),
                HasSubstr("on this rank, which has"));
    EXPECT_EQ(m->getNumApply(), 1);
    m->initialize();
    refused();
  }
}

// ============================================================================================== phases

TEST(Ifpack2Phases, CountersTimesAndFlops) {
  const HostMatrix<double> a = problem("poisson2d:13");
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    const bool has_rows = map->getLocalNumElements() > 0;
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto m = ifpack2::create(line.name, matrix);
      const auto counters = [&] {
        return std::vector<int>{m->getNumInitialize(), m->getNumCompute(), m->getNumApply()};
      };
      const auto times = [&] {
        return std::vector<double>{m->getInitializeTime(), m->getComputeTime(), m->getApplyTime()};
      };
      EXPECT_THAT(counters(), ElementsAre(0, 0, 0));
      EXPECT_THAT(times(), ElementsAre(0, 0, 0));
      EXPECT_FALSE(m->isInitialized() || m->isComputed());
      EXPECT_EQ(m->getNodeSmootherComplexity(), 0u);

      m->initialize();
      EXPECT_THAT(counters(), ElementsAre(1, 0, 0));
      EXPECT_TRUE(m->isInitialized());
      EXPECT_FALSE(m->isComputed());
      EXPECT_GT(m->getInitializeTime(), 0);
      EXPECT_EQ(m->getInitializeFlops(), 0);

      m->compute();
      EXPECT_THAT(counters(), ElementsAre(1, 1, 0));
      EXPECT_TRUE(m->isInitialized() && m->isComputed());
      EXPECT_GT(m->getComputeTime(), 0);
      const Report once = m->report();
      EXPECT_EQ(m->getComputeFlops(), once.numeric_flops);
      EXPECT_GE(once.numeric_flops, 0);
      EXPECT_EQ(m->getApplyFlops(), 0);
      EXPECT_EQ(m->getApplyTime(), 0);

      int vectors = 0;
      std::vector<double> before = times();
      for (const int k : {1, 5, 2}) {
        applied(*m, random_columns(a.num_rows, k, 1), map);
        vectors += k;
        EXPECT_GT(m->getApplyTime(), before[2]);
        before = times();
      }
      EXPECT_THAT(counters(), ElementsAre(1, 1, 3));
      EXPECT_DOUBLE_EQ(m->getApplyFlops(), vectors * once.apply_flops);

      m->compute();
      EXPECT_THAT(counters(), ElementsAre(1, 2, 3));
      EXPECT_EQ(times()[0], before[0]);
      EXPECT_GT(times()[1], before[1]);
      EXPECT_DOUBLE_EQ(m->getComputeFlops(), once.numeric_flops + m->report().numeric_flops);
      m->initialize();
      EXPECT_THAT(counters(), ElementsAre(2, 2, 3));
      EXPECT_FALSE(m->isComputed());
      EXPECT_GT(times()[0], before[0]);

      // The report is that of the sequential one, and what multigrid codes ask for is in it.
      m->compute();
      const auto expected = reference(line.name, a, *map);
      EXPECT_EQ(m->report().nnz, expected->report().nnz);
      EXPECT_EQ(m->report().apply_flops, expected->report().apply_flops);
      EXPECT_EQ(m->report().bytes, expected->report().bytes);
      EXPECT_EQ(m->getNodeSmootherComplexity(), static_cast<std::size_t>(expected->report().nnz));
      if (line.name != "none" && has_rows) {
        EXPECT_GT(m->getNodeSmootherComplexity(), 0u);
      }
    }
  }
}

TEST(Ifpack2Phases, ComputeInitialisesWhereThatIsLeftOut) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = ifpack2::create(line.name, matrix);
    m->compute();
    EXPECT_TRUE(m->isInitialized() && m->isComputed());
    EXPECT_EQ(m->getNumInitialize(), 1);
    EXPECT_EQ(m->getNumCompute(), 1);
    EXPECT_EQ(applied(*m, x, map), applied(*computed(line.name, matrix), x, map));
  }
}

TEST(Ifpack2Phases, TheGlobalReportIsOfAllRanks) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    const LocalReference local = local_reference(a, *map);
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto m = computed(line.name, matrix);
      EXPECT_EQ(m->report().foreign_columns, local.foreign_columns);
      EXPECT_EQ(m->report().foreign_entries, local.foreign_entries);
      const Report mine = reference(line.name, a, *map)->report(), all = m->global_report();
      const auto sum = [](std::int64_t x) { return over_all_ranks<long long>(Teuchos::REDUCE_SUM, x); };
      EXPECT_EQ(all.nnz, sum(mine.nnz));
      EXPECT_EQ(all.bytes, sum(mine.bytes));
      EXPECT_EQ(all.foreign_columns, sum(local.foreign_columns));
      EXPECT_EQ(all.foreign_entries, sum(local.foreign_entries));
      EXPECT_DOUBLE_EQ(all.apply_flops, over_all_ranks(Teuchos::REDUCE_SUM, mine.apply_flops));
      EXPECT_EQ(all.breakdowns.count, 0);
      EXPECT_EQ(all.breakdowns.first_row, -1);
      EXPECT_EQ(all.numeric_seconds, over_all_ranks(Teuchos::REDUCE_MAX, m->report().numeric_seconds));
    }
  }
}

TEST(Ifpack2Phases, NewValuesTakeEffectWithTheNextCompute) {
  const HostMatrix<double> a = problem("elasticity3d:4"), b = problem("elasticity3d:4,seed=2");
  ASSERT_EQ(a.col_idxs, b.col_idxs);
  const auto map = contiguous_map(a.num_rows);
  const Columns x = random_columns(a.num_rows, 2, 3), mine = own_part(x, *map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto matrix = distribute(a, map);
    const auto m = computed(line.name, matrix);
    const Columns old = applied(*m, x, map);
    replace_values(*matrix, b);
    EXPECT_TRUE(m->isComputed());
    EXPECT_EQ(applied(*m, x, map), old);
    const Columns fresh = applied(*reference(line.name, b, *map), mine);
    if (line.name != "none") {
      EXPECT_NE(old, fresh);
    }
    m->compute();
    EXPECT_EQ(m->getNumInitialize(), 1);
    EXPECT_FALSE(m->report().pattern_kept);
    EXPECT_EQ(applied(*m, x, map), fresh);
  }
}

TEST(Ifpack2Phases, ReuseKeepsThePatternWhereAskedFor) {
  const HostMatrix<double> a = problem("elasticity3d:4"), b = problem("elasticity3d:4,seed=2");
  const auto map = contiguous_map(a.num_rows);
  const Columns x = random_columns(a.num_rows, 1, 3), mine = own_part(x, *map);
  int reusing = 0;
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto matrix = distribute(a, map);
    const auto m = ifpack2::create(line.name, matrix);
    if (!m->getValidParameters()->isParameter("reuse")) continue;
    ++reusing;
    EXPECT_EQ(m->getValidParameters()->get<std::string>("reuse"), "none");
    m->setParameters(list_of({{"reuse", std::string("pattern")}}));
    m->compute();
    EXPECT_FALSE(m->report().pattern_kept);
    const std::int64_t nnz = m->report().nnz;
    replace_values(*matrix, b);
    m->compute();
    EXPECT_TRUE(m->report().pattern_kept);
    EXPECT_TRUE(m->global_report().pattern_kept);
    EXPECT_EQ(m->report().nnz, nnz);
    const auto expected =
        create_preconditioner<double, Space>(line.name, {{"reuse", std::string("pattern")}});
    const auto own_a = to_device<Space>(local_reference(a, *map).own),
               own_b = to_device<Space>(local_reference(b, *map).own);
    expected->symbolic(Space(), own_a);
    expected->numeric(Space(), own_a);
    expected->numeric(Space(), own_b);
    EXPECT_EQ(applied(*m, x, map), applied(*expected, mine));
    EXPECT_NE(applied(*m, x, map), applied(*reference(line.name, b, *map), mine));
    m->initialize();
    m->compute();
    EXPECT_FALSE(m->report().pattern_kept);
    EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, b, *map), mine));
  }
  EXPECT_GE(reusing, 1);
}

/// Labels and bytes of what a second run of `work` allocates: what Kokkos allocates once for all is then
/// there.
std::pair<std::vector<std::string>, std::uint64_t> allocations_of(const std::function<void()>& work) {
  work();
  const ToolEvents events;
  work();
  return {events.allocations(), events.allocated_bytes()};
}

TEST(Ifpack2Phases, AMatrixWithTpetrasColumnMapIsNotCopied) {
  const HostMatrix<double> a = problem("elasticity3d:6");
  const std::string copy_label = "prekond::tpetra::local_matrix";
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    std::vector<GlobalIndex> descending = columns_of_rows(a, *map);
    std::reverse(descending.begin(), descending.end());
    const auto other = distribute(a, map, map_of(descending));
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto adapter = [&line = line](const Teuchos::RCP<TpetraMatrix>& of) {
        return allocations_of([&] { computed(line.name, of); });
      };
      // The algorithm itself, on a view of the matrix's own memory.
      const auto alone = allocations_of([&] {
        const auto local = matrix->getLocalMatrixDevice();
        const CsrView<double, Space> view(local.numRows(), local.numCols(), local.graph.row_map,
                                          local.graph.entries, local.values);
        const auto m = create_preconditioner<double, Space>(line.name);
        m->symbolic(Space(), view);
        if (line.needs_spd) check_local_spd_input<double, Space>(Space(), view);
        m->numeric(Space(), view);
      });
      const auto mine = adapter(matrix);
      EXPECT_THAT(mine.first, UnorderedElementsAreArray(alone.first));
      EXPECT_EQ(mine.second, alone.second);
      EXPECT_THAT(computed(line.name, matrix)->report().notes, Not(Contains(HasSubstr("copied"))));
      const auto copied = adapter(other);
      if (map->getLocalNumElements() < 2) continue;  // one column fits in any order
      EXPECT_THAT(copied.first, Contains(HasSubstr(copy_label)));
      EXPECT_GT(copied.second, mine.second + other->getLocalNumEntries() * (sizeof(double) + sizeof(int)));
    }
  }
}

// ============================================================================================= options

TEST(Ifpack2Options, EveryOptionOfEveryAlgorithmIsThere) {
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const AdapterPointer m = ifpack2::create(line.name, Teuchos::RCP<const TpetraMatrix>());
    const auto valid = m->getValidParameters();
    OptionMap defaults = line.configure()->fields().values();
    defaults["check_input"] = true;
    if (defaults.contains("reuse")) defaults["reuse"] = std::string("none");
    EXPECT_EQ(static_cast<std::size_t>(valid->numParams()), defaults.size());
    for (const auto& [name, value] : defaults) {
      ASSERT_TRUE(valid->isParameter(name)) << name;
      EXPECT_EQ(valid->getEntry(name).docString().empty(), false) << name;
      if (const auto* x = std::get_if<double>(&value)) {
        EXPECT_EQ(valid->get<double>(name), *x);
      }
      if (const auto* b = std::get_if<bool>(&value)) {
        EXPECT_EQ(valid->get<bool>(name), *b);
      }
      if (const auto* s = std::get_if<std::string>(&value)) {
        EXPECT_EQ(valid->get<std::string>(name), *s);
      }
      if (const auto* i = std::get_if<std::int64_t>(&value)) {
        EXPECT_EQ(valid->get<int>(name), *i);
      }
    }
    // What it gives, it takes, and a list is checked against it as against any other.
    m->setParameters(*valid);
    EXPECT_EQ(*m->getValidParameters(), *valid);
    Teuchos::ParameterList mine;
    mine.set("check_input", false).validateParametersAndSetDefaults(*valid);
    m->setParameters(mine);
    EXPECT_FALSE(m->getValidParameters()->get<bool>("check_input"));
  }
}

TEST(Ifpack2Options, AnUnknownKeyNamesTheNearestAndChangesNothing) {
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const AdapterPointer m = ifpack2::create(line.name, Teuchos::RCP<const TpetraMatrix>());
    const Teuchos::ParameterList before = *m->getValidParameters();
    for (auto option = before.begin(); option != before.end(); ++option) {
      const std::string name = before.name(option);
      Teuchos::ParameterList list = before;
      list.set("check_input", !before.get<bool>("check_input"));
      list.set(name + "z", 1);
      EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(list); }),
                  AllOf(HasSubstr("'" + line.name + "'"), HasSubstr("'" + name + "z'"),
                        HasSubstr("did you mean '" + name + "'?")));
      EXPECT_EQ(*m->getValidParameters(), before);
      // A value of a type that no option has, and a text where none is meant.
      Teuchos::ParameterList mistyped = before;
      mistyped.set("check_input", !before.get<bool>("check_input"));
      mistyped.remove(name);
      mistyped.set(name, std::vector<int>{1});
      EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(mistyped); }),
                  HasSubstr("'" + name + "'"));
      mistyped.remove(name);
      mistyped.set(name, std::string("nonsense"));
      EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(mistyped); }), HasSubstr(name));
      EXPECT_EQ(*m->getValidParameters(), before);
    }
    Teuchos::ParameterList nested = before;
    nested.set("check_input", !before.get<bool>("check_input"));
    nested.sublist("local").set("name", "ilu0");
    EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(nested); }),
                AllOf(HasSubstr("'local.name'"), HasSubstr("did you mean")));
    nested.sublist("local").remove("name");  // an empty sublist is an unknown key as well
    EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(nested); }),
                AllOf(HasSubstr("'local'"), HasSubstr("did you mean")));
    EXPECT_EQ(*m->getValidParameters(), before);
  }
}

TEST(Ifpack2Options, WrongTypesAndRanges) {
  const AdapterPointer m = ifpack2::create("adaptive_fsai", Teuchos::RCP<const TpetraMatrix>());
  const auto refused = [&](const std::string& name, const OptionValue& value) {
    const std::string text = message_of<InvalidParameter>([&] {
      m->setParameters(list_of({{"step_size", std::int64_t(7)}, {name, value}}));
    });
    EXPECT_EQ(m->getValidParameters()->get<int>("step_size"), 1) << name;
    return text;
  };
  EXPECT_THAT(refused("max_stepz", std::int64_t(3)), HasSubstr("did you mean 'max_steps'?"));
  EXPECT_THAT(refused("max_steps", 2.5), HasSubstr("max_steps"));
  EXPECT_THAT(refused("max_steps", std::int64_t(-1)), AllOf(HasSubstr("max_steps"), HasSubstr("0 .. ")));
  EXPECT_THAT(refused("tolerance", 1.5), HasSubstr("tolerance"));
  EXPECT_THAT(refused("tolerance", true), HasSubstr("tolerance"));
  EXPECT_THAT(refused("reuse", std::string("patern")), AllOf(HasSubstr("reuse"), HasSubstr("pattern")));
  EXPECT_THAT(refused("check_input", 0.5), HasSubstr("check_input"));
  EXPECT_THAT(refused("local.name", std::string("x")), HasSubstr("'local.name'"));
}

TEST(Ifpack2Options, TheyTakeEffectWithTheNextComputeAndTheOthersStay) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 3), mine = own_part(x, *map);
  const auto expected = [&](const OptionMap& options) {
    return applied(*reference("adaptive_fsai", a, *map, options), mine);
  };
  const std::int64_t two = 2, five = 5;
  const Columns narrow = expected({{"max_steps", two}}), wider = expected({{"max_steps", five}});
  const Columns blocks = expected({{"max_steps", five}, {"step_size", two}});
  EXPECT_NE(narrow, wider);
  EXPECT_NE(wider, blocks);

  const auto m = ifpack2::create("adaptive_fsai", matrix);
  m->setParameters(list_of({{"max_steps", two}}));
  m->compute();
  EXPECT_EQ(applied(*m, x, map), narrow);

  m->setParameters(list_of({{"max_steps", five}}));
  EXPECT_TRUE(m->isComputed());
  EXPECT_EQ(applied(*m, x, map), narrow);
  m->compute();
  EXPECT_EQ(m->getNumInitialize(), 2);
  EXPECT_EQ(applied(*m, x, map), wider);

  m->initialize();
  m->setParameters(list_of({{"step_size", two}}));
  EXPECT_EQ(m->getValidParameters()->get<int>("max_steps"), 5);
  m->compute();
  EXPECT_EQ(applied(*m, x, map), blocks);

  // A list that was refused, and an empty one, leave everything in force.
  const int initialised = m->getNumInitialize();
  EXPECT_THROW(m->setParameters(list_of({{"max_steps", two}, {"step_size", true}})), InvalidParameter);
  m->setParameters(Teuchos::ParameterList());
  EXPECT_TRUE(m->isInitialized() && m->isComputed());
  m->compute();
  EXPECT_EQ(m->getNumInitialize(), initialised);
  EXPECT_EQ(applied(*m, x, map), blocks);
}

TEST(Ifpack2Options, FromXml) {
  const AdapterPointer m = ifpack2::create("adaptive_fsai", Teuchos::RCP<const TpetraMatrix>());
  m->setParameters(*Teuchos::getParametersFromXmlString(R"(
    <ParameterList name="prekond">
      <Parameter name="max_steps" type="int" value="7"/>
      <Parameter name="step_size" type="string" value="3"/>
      <Parameter name="slab_bytes" type="long long" value="8589934592"/>
      <Parameter name="tolerance" type="double" value="0.25"/>
      <Parameter name="setup_scalar" type="string" value="double"/>
      <Parameter name="check_input" type="bool" value="false"/>
    </ParameterList>)"));
  const auto now = m->getValidParameters();
  EXPECT_EQ(now->get<int>("max_steps"), 7);
  EXPECT_EQ(now->get<int>("step_size"), 3);
  EXPECT_EQ(now->get<long long>("slab_bytes"), 8589934592);
  EXPECT_EQ(now->get<double>("tolerance"), 0.25);
  EXPECT_EQ(now->get<std::string>("setup_scalar"), "double");
  EXPECT_EQ(now->get<bool>("check_input"), false);
  EXPECT_EQ(now->get<double>("step_tolerance"), 0);
}

// ============================================================================================ matrices

TEST(Ifpack2Create, TakesWhatIfpack2sFactoryTakes) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const Teuchos::RCP<TpetraMatrix> crs = distribute(a, map);
  const Teuchos::RCP<const TpetraMatrix> const_crs = crs;
  const Teuchos::RCP<RowMatrix> row = crs;
  const Teuchos::RCP<const RowMatrix> const_row = crs;
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    std::string upper = line.name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::vector<AdapterPointer> all = {ifpack2::create(line.name, crs),
                                             ifpack2::create(line.name, const_crs),
                                             ifpack2::create(line.name, row),
                                             ifpack2::create(line.name, const_row),
                                             ifpack2::create<RowMatrix>(line.name, crs),
                                             ifpack2::create<RowMatrix>(line.name, const_crs),
                                             ifpack2::create<TpetraMatrix>(line.name, const_crs),
                                             ifpack2::create(upper, crs)};
    const Columns expected = applied(*reference(line.name, a, *map), own_part(x, *map));
    for (const AdapterPointer& m : all) {
      const Teuchos::RCP<Ifpack2::Preconditioner<>> as_ifpack2 = m;
      EXPECT_EQ(as_ifpack2->getMatrix().getRawPtr(), const_row.getRawPtr());
      EXPECT_TRUE(as_ifpack2->getDomainMap()->isSameAs(*map));
      EXPECT_TRUE(as_ifpack2->getRangeMap()->isSameAs(*map));
      as_ifpack2->setParameters(Teuchos::ParameterList());
      as_ifpack2->initialize();
      as_ifpack2->compute();
      const Teuchos::RCP<const Tpetra::Operator<>> as_operator = as_ifpack2;
      const TpetraMultiVector from = distribute(x, map);
      TpetraMultiVector to(map, 1);
      as_operator->apply(from, to);
      EXPECT_EQ(values_of(to), expected);
      EXPECT_EQ(m->name(), line.name);
    }
    for (const AdapterPointer& m : {AdapterPointer(ifpack2::create<RowMatrix>(line.name, Teuchos::null)),
                                    AdapterPointer(ifpack2::create(line.name, Teuchos::RCP<TpetraMatrix>()))})
      EXPECT_TRUE(m->getMatrix().is_null());
  }
}

TEST(Ifpack2Create, AWrongNameNamesTheNearest) {
  const Teuchos::RCP<const TpetraMatrix> none;
  EXPECT_THAT(message_of<OptionError>([&] { ifpack2::create("jacobbi", none); }),
              HasSubstr("did you mean 'jacobi'?"));
  EXPECT_THAT(message_of<OptionError>([&] { ifpack2::create("Adaptive_FSAY", none); }),
              HasSubstr("did you mean 'adaptive_fsai'?"));
  std::string all;
  for (const auto& line : registry()) all += (all.empty() ? "" : ", ") + line.name;
  EXPECT_THAT(message_of<OptionError>([&] { ifpack2::create("", none); }), HasSubstr("(" + all + ")"));
}

TEST(Ifpack2Matrix, SetMatrix) {
  const HostMatrix<double> a = problem("poisson2d:9"), b = problem("elasticity3d:4");
  const auto map_a = contiguous_map(a.num_rows), map_b = cyclic_map(b.num_rows);
  const auto first = distribute(a, map_a), second = distribute(b, map_b);
  const Columns x_a = random_columns(a.num_rows, 2, 3), x_b = random_columns(b.num_rows, 2, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, first);
    const Columns y_a = applied(*m, x_a, map_a);
    m->setMatrix(first);
    EXPECT_TRUE(m->isInitialized() && m->isComputed());
    EXPECT_EQ(applied(*m, x_a, map_a), y_a);

    m->setMatrix(second);
    EXPECT_FALSE(m->isInitialized() || m->isComputed());
    EXPECT_EQ(m->getMatrix().getRawPtr(), static_cast<const RowMatrix*>(second.getRawPtr()));
    EXPECT_TRUE(m->getDomainMap()->isSameAs(*map_b));
    EXPECT_EQ(m->report().nnz, 0);
    TpetraMultiVector y(map_a, 2);
    EXPECT_THROW(m->apply(y, y), std::runtime_error);
    m->compute();
    EXPECT_EQ(applied(*m, x_b, map_b), applied(*reference(line.name, b, *map_b), own_part(x_b, *map_b)));

    m->setMatrix(Teuchos::null);
    EXPECT_TRUE(m->getMatrix().is_null());
    EXPECT_FALSE(m->isInitialized() || m->isComputed());
    m->setMatrix(first);
    m->initialize();
    m->compute();
    EXPECT_EQ(applied(*m, x_a, map_a), y_a);
    EXPECT_EQ(m->getNumCompute(), 3);
  }
}

TEST(Ifpack2Matrix, WithoutOne) {
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const AdapterPointer m = ifpack2::create<RowMatrix>(line.name, Teuchos::null);
    const auto says = [&](const char* what, const std::function<void()>& call) {
      EXPECT_THAT(message_of<std::runtime_error>(call),
                  AllOf(HasSubstr(line.name), HasSubstr(what), HasSubstr("call setMatrix first")));
    };
    says("initialize", [&] { m->initialize(); });
    says("compute", [&] { m->compute(); });
    says("getDomainMap", [&] { m->getDomainMap(); });
    says("getRangeMap", [&] { m->getRangeMap(); });
    says("global_report", [&] { m->global_report(); });
    TpetraMultiVector x(contiguous_map(9), 1);
    EXPECT_THAT(message_of<std::runtime_error>([&] { m->apply(x, x); }), HasSubstr("before compute"));
    EXPECT_THAT(m->description(), AllOf(HasSubstr(line.name), HasSubstr("Matrix: null")));
    std::ostringstream text;
    m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), Teuchos::VERB_LOW);
    EXPECT_THAT(text.str(), HasSubstr("Matrix: null"));
    EXPECT_FALSE(m->hasTransposeApply());
    EXPECT_EQ(m->getNumInitialize() + m->getNumCompute() + m->getNumApply(), 0);
  }
}

TEST(Ifpack2Matrix, RefusesWhatIsNotDistributedAsASquareMatrixIs) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const auto unfinished = insert_rows(a, map);
  const auto domain_elsewhere = insert_rows(a, map);
  domain_elsewhere->fillComplete(cyclic_map(a.num_rows), map);
  const auto range_elsewhere = insert_rows(a, map);
  range_elsewhere->fillComplete(map, cyclic_map(a.num_rows));
  const auto overlapping = insert_rows(a, overlapping_map(a.num_rows));
  overlapping->fillComplete(map, map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto message = [&](const Teuchos::RCP<TpetraMatrix>& matrix) {
      const auto m = ifpack2::create(line.name, matrix);
      const std::string text = message_of<InputError>([&] { m->initialize(); });
      EXPECT_EQ(message_of<InputError>([&] { m->compute(); }), text);
      EXPECT_FALSE(m->isInitialized() || m->isComputed());
      EXPECT_EQ(m->getNumInitialize() + m->getNumCompute(), 0);
      return text;
    };
    EXPECT_THAT(message(unfinished), HasSubstr("fillComplete()"));
    if (num_ranks() == 1) continue;  // there the maps are all the same
    EXPECT_THAT(message(domain_elsewhere), HasSubstr("domain map"));
    EXPECT_THAT(message(range_elsewhere), HasSubstr("range map"));
    EXPECT_THAT(message(overlapping), HasSubstr("overlapping"));
  }
}

TEST(Ifpack2Matrix, AZeroRowOnOneRankIsRefusedByAll) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  const auto map = contiguous_map(sound.num_rows);
  const Place place = third_row_of_the_last_rank(*map);
  const auto [row, rank] = place;
  const HostMatrix<double> a = with_zero_row(sound, row);
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    if (!line.needs_spd) continue;
    for (const bool check : {true, false}) {
      SCOPED_TRACE(line.name + (check ? ", checked" : ", not checked"));
      const auto matrix = distribute(a, map);
      const auto m = ifpack2::create(line.name, matrix);
      m->setParameters(list_of({{"check_input", check}}));
      m->initialize();
      const std::string text = message_of<InputError>([&] { m->compute(); });
      EXPECT_THAT(text, AnyOf(HasSubstr("row 3"), HasSubstr("(3, 3)")));
      if (num_ranks() > 1) {
        EXPECT_THAT(text,
                    AllOf(HasSubstr("rank " + std::to_string(rank) + " of " + std::to_string(num_ranks())),
                          HasSubstr("row 1 has the global index " + std::to_string(row - 2))));
      }
      EXPECT_FALSE(m->isComputed());
      EXPECT_EQ(m->getNumCompute(), 0);
      TpetraMultiVector y(map, 1);
      EXPECT_THAT(message_of<std::runtime_error>([&] { m->apply(y, y); }),
                  HasSubstr("a compute that failed"));
      // With sound values all goes on.
      replace_values(*matrix, sound);
      m->compute();
      EXPECT_EQ(m->getNumInitialize(), 1);
      EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, sound, *map), own_part(x, *map)));
    }
  }
}

TEST(Ifpack2Matrix, AColumnTwiceInARowThatIsCopiedIsRefusedByAll) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  const auto map = contiguous_map(sound.num_rows);
  const std::int64_t row = third_row_of_the_last_rank(*map).row;
  HostMatrix<double> a = sound;
  const std::size_t place = a.row_ptrs[row];
  a.col_idxs.insert(a.col_idxs.begin() + static_cast<std::ptrdiff_t>(place), a.col_idxs[place]);
  a.values.insert(a.values.begin() + static_cast<std::ptrdiff_t>(place), 1.0);
  for (std::int64_t i = row + 1; i <= a.num_rows; ++i) ++a.row_ptrs[i];
  const auto matrix = distribute(a, map, map_of(columns_of_rows(a, *map)), false);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = ifpack2::create(line.name, matrix);
    const std::string text = message_of<InputError>([&] { m->initialize(); });
    EXPECT_THAT(text, HasSubstr("3"));
    if (num_ranks() > 1) {
      EXPECT_THAT(text, HasSubstr("rank " + std::to_string(num_ranks() - 1) + " of "));
    }
    EXPECT_FALSE(m->isInitialized());
    EXPECT_EQ(m->getNumInitialize(), 0);
  }
}

TEST(Ifpack2Matrix, JacobiReportsAZeroRowByItsGlobalIndex) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  for (const auto& [map_name, map] : maps(sound.num_rows)) {
    SCOPED_TRACE(map_name);
    // The last row of all, whichever rank has it; two on the same rank where that is one.
    const std::int64_t row = sound.num_rows - 1;
    const HostMatrix<double> a = with_zero_row(with_zero_row(sound, row), row - 1);
    const auto m = computed("jacobi", distribute(a, map));
    const Report all = m->global_report();
    EXPECT_EQ(all.breakdowns.count, 2);
    EXPECT_EQ(all.breakdowns.first_row, row - 1);
    EXPECT_THAT(all.breakdowns.action, HasSubstr("not scaled"));
    const int local = map->getLocalElement(row) >= 0, other = map->getLocalElement(row - 1) >= 0;
    EXPECT_EQ(m->report().breakdowns.count, local + other);
    const Columns x = random_columns(a.num_rows, 1, 3);
    EXPECT_EQ(applied(*m, x, map), applied(*reference("jacobi", a, *map), own_part(x, *map)));
    std::ostringstream text;
    m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), Teuchos::VERB_LOW);
    if (my_rank() == 0) {
      EXPECT_THAT(text.str(), HasSubstr("the first has the global index " + std::to_string(row - 1)));
    }
  }
}

TEST(Ifpack2Matrix, AsymmetricValuesAreRefusedUnlessTheCheckIsOff) {
  HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const std::int64_t row = third_row_of_the_last_rank(*map).row;
  entry(a, row, row - 1) *= 1.001;
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = ifpack2::create(line.name, matrix);
    if (line.needs_spd) {
      const std::string text = message_of<InputError>([&] { m->compute(); });
      EXPECT_THAT(text, AllOf(HasSubstr("symmetric"), HasSubstr("3")));
      if (num_ranks() > 1) {
        EXPECT_THAT(text, HasSubstr("rank " + std::to_string(num_ranks() - 1)));
      }
      EXPECT_FALSE(m->isComputed());
      m->setParameters(list_of({{"check_input", false}}));
    }
    m->compute();
    EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, a, *map), own_part(x, *map)));
  }
}

TEST(Ifpack2Matrix, BlockMatrices) {
  using Block = Tpetra::BlockCrsMatrix<double>;
  constexpr int size = 3;
  const HostMatrix<double> sound = problem("elasticity3d:4");
  for (const bool broken : {false, true}) {
    const std::int64_t row = sound.num_rows - 2;
    const HostMatrix<double> a = broken ? with_zero_row(sound, row) : sound;
    const auto block_map = contiguous_map(a.num_rows / size);
    std::vector<GlobalIndex> mine;
    for (const GlobalIndex i : own_indices(*block_map))
      for (int k = 0; k < size; ++k) mine.push_back(size * i + k);
    const auto point_map = map_of(mine);
    const Teuchos::RCP<Block> matrix = Tpetra::convertToBlockCrsMatrix(*distribute(a, point_map), size);
    const Columns x = random_columns(a.num_rows, 2, 3);
    for (const auto& line : registry()) {
      if (broken && line.name != "jacobi") continue;
      SCOPED_TRACE(line.name + (broken ? ", with a zero row" : ""));
      const auto m = ifpack2::create(line.name, matrix);
      m->compute();
      ASSERT_TRUE(on_all_ranks(m->getDomainMap()->getLocalNumElements() == mine.size()));
      EXPECT_EQ(applied(*m, x, point_map),
                applied(*reference(line.name, a, *point_map), own_part(x, *point_map)));
      EXPECT_THAT(m->global_report().notes, Contains(HasSubstr("blocks are stored as single entries")));
      EXPECT_EQ(m->global_report().breakdowns.count, broken ? 1 : 0);
      EXPECT_EQ(m->global_report().breakdowns.first_row, broken ? row : -1);
    }
  }
}

// ===================================================================================== what is printed

TEST(Ifpack2Text, DescriptionAndDescribe) {
  const HostMatrix<double> a = problem("poisson2d:9");
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto m = ifpack2::create(line.name, matrix);
      const auto described = [&](Teuchos::EVerbosityLevel level) {
        std::ostringstream text;
        m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), level);
        EXPECT_EQ(text.str().empty(), level == Teuchos::VERB_NONE || my_rank() != 0);
        return text.str();
      };
      EXPECT_THAT(m->description(),
                  AllOf(HasSubstr("Name: " + line.name), HasSubstr("Initialized: false"),
                        HasSubstr("Computed: false"), HasSubstr("[81, 81]"), Not(HasSubstr("\n"))));
      described(Teuchos::VERB_LOW);
      m->compute();
      applied(*m, random_columns(a.num_rows, 2, 1), map);
      EXPECT_THAT(m->description(),
                  AllOf(HasSubstr("Initialized: true"), HasSubstr("Computed: true"), Not(HasSubstr("\n"))));
      EXPECT_THAT(described(Teuchos::VERB_NONE), IsEmpty());
      described(Teuchos::VERB_DEFAULT);
      const Report all = m->global_report();
      for (const auto level : {Teuchos::VERB_LOW, Teuchos::VERB_EXTREME}) {
        const std::string text = described(level);
        if (my_rank() != 0) continue;
        EXPECT_THAT(text, AllOf(HasSubstr(m->description()), HasSubstr("initialize: 1 times"),
                                HasSubstr("compute: 1 times"), HasSubstr("apply: 1 times"),
                                HasSubstr("all ranks: " + std::to_string(all.nnz) + " entries")));
        EXPECT_EQ(text.find("Name: "), text.rfind("Name: "));
        const auto valid = m->getValidParameters();
        for (auto option = valid->begin(); option != valid->end(); ++option)
          EXPECT_THAT(text, HasSubstr(valid->name(option) + ": "));
        if (all.foreign_entries > 0) {
          EXPECT_THAT(text, HasSubstr("left out: " + std::to_string(all.foreign_columns) + " with " +
                                      std::to_string(all.foreign_entries) + " entries"));
        }
      }
    }
  }
}

// ========================================================================================== in solvers

/// What `prekond solve --generate SPEC --precond NAME` does, on this rank alone.
SolveResult solved_alone(const std::string& spec, const std::string& name) {
  const Space space;
  const auto a = generate<double>(space, spec);
  const auto m = create_preconditioner<double, Space>(name);
  m->symbolic(space, a);
  m->numeric(space, a);
  Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
  Kokkos::deep_copy(b, 1.0);
  return create_solver<double, Space>("cg")->solve(space, CsrOperator<double, Space>(a), m.get(), b, x, {});
}

/// The same by way of the adapters, on all ranks.
SolveResult solved_by_all(const std::string& spec, const std::string& name) {
  const HostMatrix<double> a = problem(spec);
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const auto m = computed(name, matrix);
  TpetraVector b(map), x(map);
  b.putScalar(1);
  return tpetra::solve(Space(), *create_solver<double, Space>("cg"),
                       Teuchos::RCP<const Tpetra::Operator<>>(matrix), &m->local(), b, x);
}

TEST(Ifpack2Solve, OnOneRankAsManyIterationsAsTheCommandAndOnMoreAsBlockJacobi) {
  for (const char* spec : {"elasticity3d:8", "poisson3d:16"})
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + std::string(", ") + spec);
      const SolveResult alone = solved_alone(spec, line.name), all = solved_by_all(spec, line.name);
      ::testing::Test::RecordProperty(
          line.name + "_" + std::string(spec, std::string(spec).find(':')) + "_np" +
              std::to_string(num_ranks()),
          std::to_string(all.iterations) + " (one rank: " + std::to_string(alone.iterations) + ")");
      ASSERT_TRUE(alone.converged);
      EXPECT_TRUE(all.converged) << to_string(all.reason);
      EXPECT_LE(all.true_relative_residual, 1e-5);
      if (num_ranks() == 1) {
        EXPECT_EQ(all.iterations, alone.iterations);
      }
      EXPECT_GE(all.iterations, alone.iterations - 2);
      if (line.name == "jacobi")
        EXPECT_LE(all.iterations, alone.iterations + 1);
      else
        EXPECT_LE(all.iterations, 3 * alone.iterations);
      if (line.name == "adaptive_fsai") {
        EXPECT_LT(all.iterations, solved_alone(spec, "jacobi").iterations);
      }
    }
}

enum class Krylov { cg, gmres };

struct BelosResult {
  bool converged;
  int iterations;
  double relative_residual;
};

/// By Belos, preconditioned from the right (CG: in its own way); b = 1, x = 0 before.
BelosResult solved_by_belos(Krylov krylov, const Teuchos::RCP<TpetraMatrix>& a,
                            const Teuchos::RCP<const Tpetra::Operator<>>& m) {
  using Vectors = TpetraMultiVector;
  using Op = Tpetra::Operator<>;
  const auto x = Teuchos::rcp(new Vectors(a->getDomainMap(), 1)),
             b = Teuchos::rcp(new Vectors(a->getRangeMap(), 1));
  b->putScalar(1);
  const auto linear = Teuchos::rcp(new Belos::LinearProblem<double, Vectors, Op>(a, x, b));
  if (krylov == Krylov::cg)
    linear->setLeftPrec(m);
  else
    linear->setRightPrec(m);
  linear->setProblem();
  const auto parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-6);
  parameters->set("Maximum Iterations", 2000);
  if (krylov == Krylov::gmres) parameters->set("Num Blocks", 200);
  std::unique_ptr<Belos::SolverManager<double, Vectors, Op>> solver;
  if (krylov == Krylov::cg)
    solver = std::make_unique<Belos::PseudoBlockCGSolMgr<double, Vectors, Op>>(linear, parameters);
  else
    solver = std::make_unique<Belos::PseudoBlockGmresSolMgr<double, Vectors, Op>>(linear, parameters);
  const bool converged = solver->solve() == Belos::Converged;
  Vectors residual(*b, Teuchos::Copy);
  a->apply(*x, residual, Teuchos::NO_TRANS, -1.0, 1.0);
  return {converged, solver->getNumIters(), residual.getVector(0)->norm2() / b->getVector(0)->norm2()};
}

TEST(Ifpack2Solve, InBelos) {
  const HostMatrix<double> a = problem("elasticity3d:6");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    const BelosResult cg = solved_by_belos(Krylov::cg, matrix, m),
                      gmres = solved_by_belos(Krylov::gmres, matrix, m);
    EXPECT_TRUE(cg.converged && gmres.converged);
    EXPECT_LE(cg.relative_residual, 1e-5);
    EXPECT_LE(gmres.relative_residual, 1e-5);
    const auto own = static_cast<double>(solved_by_all("elasticity3d:6", line.name).iterations);
    EXPECT_NEAR(cg.iterations, own, 1 + 0.01 * own);
    EXPECT_GE(m->getNumApply(), cg.iterations + gmres.iterations);
  }
}

// ================================================================================== in AdditiveSchwarz

struct Schwarz {
  AdapterPointer inner;
  Teuchos::RCP<Ifpack2::AdditiveSchwarz<RowMatrix>> outer;
};

Schwarz schwarz(const std::string& name, const Teuchos::RCP<TpetraMatrix>& matrix, int overlap,
                const Teuchos::ParameterList& more = {}) {
  Schwarz s;
  s.inner = ifpack2::create<RowMatrix>(name, Teuchos::null);
  s.outer = Teuchos::rcp(new Ifpack2::AdditiveSchwarz<RowMatrix>(matrix));
  Teuchos::ParameterList list = more;
  list.set("schwarz: overlap level", overlap);
  if (!list.isParameter("schwarz: combine mode")) list.set("schwarz: combine mode", "ADD");
  s.outer->setParameters(list);
  const Teuchos::RCP<Ifpack2::Preconditioner<>> inner = s.inner;
  s.outer->setInnerPreconditioner(inner);
  s.outer->initialize();
  s.outer->compute();
  return s;
}

Columns applied(const Tpetra::Operator<>& m, const Columns& whole, const Teuchos::RCP<const TpetraMap>& map) {
  const TpetraMultiVector x = distribute(whole, map);
  TpetraMultiVector y(map, whole.size());
  m.apply(x, y);
  return values_of(y);
}

TEST(Ifpack2Schwarz, WithoutOverlapItIsTheBlockOfEachRank) {
  const HostMatrix<double> a = problem("elasticity3d:4"), b = problem("elasticity3d:4,seed=2");
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& [map_name, map] : maps(a.num_rows))
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto matrix = distribute(a, map);
      const Schwarz s = schwarz(line.name, matrix, 0);
      EXPECT_TRUE(s.inner->isComputed());
      EXPECT_EQ(applied(*s.outer, x, map), applied(*reference(line.name, a, *map), own_part(x, *map)));
      replace_values(*matrix, b);
      s.outer->compute();
      EXPECT_EQ(s.inner->getNumCompute(), 2);
      EXPECT_EQ(applied(*s.outer, x, map), applied(*reference(line.name, b, *map), own_part(x, *map)));
    }
}

TEST(Ifpack2Schwarz, OverlapLowersTheIterations) {
  const HostMatrix<double> a = problem("poisson3d:10");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  Teuchos::ParameterList restricted;
  restricted.set("schwarz: combine mode", "ZERO");
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const BelosResult cg_0 = solved_by_belos(Krylov::cg, matrix, schwarz(line.name, matrix, 0).outer);
    const BelosResult cg_1 = solved_by_belos(Krylov::cg, matrix, schwarz(line.name, matrix, 1).outer);
    const BelosResult gmres_0 =
        solved_by_belos(Krylov::gmres, matrix, schwarz(line.name, matrix, 0, restricted).outer);
    const BelosResult gmres_1 =
        solved_by_belos(Krylov::gmres, matrix, schwarz(line.name, matrix, 1, restricted).outer);
    for (const BelosResult& result : {cg_0, cg_1, gmres_0, gmres_1}) {
      EXPECT_TRUE(result.converged);
      EXPECT_LE(result.relative_residual, 1e-5);
    }
    ::testing::Test::RecordProperty(line.name, "CG " + std::to_string(cg_0.iterations) + ", " +
                                                   std::to_string(cg_1.iterations) + "; GMRES " +
                                                   std::to_string(gmres_0.iterations) + ", " +
                                                   std::to_string(gmres_1.iterations));
    EXPECT_LE(gmres_1.iterations, gmres_0.iterations + 2);
    // Summed up, the overlap weighs the rows that several ranks have more: only what couples rows makes up
    // for that.
    EXPECT_LE(cg_1.iterations, 3 * cg_0.iterations);
    if (line.name == "adaptive_fsai") {
      EXPECT_LE(cg_1.iterations, cg_0.iterations + 2);
    }
  }
}

TEST(Ifpack2Schwarz, OverlapOfDiagonalsIsKnown) {
  const HostMatrix<double> a = problem("poisson3d:6");
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    // With overlap 1 a rank has the rows that its own are coupled with: so many ranks have a row.
    std::vector<double> mine(static_cast<std::size_t>(a.num_rows), 0), ranks = mine;
    for (const GlobalIndex i : columns_of_rows(a, *map)) mine[static_cast<std::size_t>(i)] = 1;
    Teuchos::reduceAll(*world(), Teuchos::REDUCE_SUM, static_cast<int>(mine.size()), mine.data(),
                       ranks.data());
    const std::vector<double> weights = own_part({ranks}, *map)[0];
    for (const char* name : {"none", "jacobi"}) {
      SCOPED_TRACE(std::string(name) + ", " + map_name);
      const Columns once = applied(*reference(name, a, *map), own_part(x, *map));
      Columns summed = once;
      for (auto& column : summed)
        for (std::size_t i = 0; i < column.size(); ++i) column[i] *= weights[i];
      expect_near(applied(*schwarz(name, matrix, 1).outer, x, map), summed);
      Teuchos::ParameterList restricted;
      restricted.set("schwarz: combine mode", "ZERO");
      expect_near(applied(*schwarz(name, matrix, 1, restricted).outer, x, map), once);
    }
  }
}

TEST(Ifpack2Schwarz, ReorderingAndSingletons) {
  // Row 7 is decoupled from the others: a singleton.
  HostMatrix<double> a = with_zero_row(problem("poisson2d:13"), 7);
  entry(a, 7, 7) = 5;
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& line : registry())
    for (const bool reorder : {false, true})
      for (const bool filter : {false, true}) {
        SCOPED_TRACE(line.name + (reorder ? ", reordered" : "") + (filter ? ", without singletons" : ""));
        Teuchos::ParameterList list;
        list.set("schwarz: use reordering", reorder);
        if (reorder) list.sublist("schwarz: reordering list").set("order_method", "rcm");
        list.set("schwarz: filter singletons", filter);
        const Schwarz s = schwarz(line.name, matrix, 0, list);
        const BelosResult cg = solved_by_belos(Krylov::cg, matrix, s.outer);
        const BelosResult plain = solved_by_belos(Krylov::cg, matrix, computed(line.name, matrix));
        EXPECT_TRUE(cg.converged);
        EXPECT_LE(cg.relative_residual, 1e-5);
        EXPECT_LE(cg.iterations, plain.iterations + 5);
        // A diagonal is the same in any order.
        if (line.name == "jacobi")
          expect_near(applied(*s.outer, x, map), applied(*computed("jacobi", matrix), x, map));
      }
}

}  // namespace
}  // namespace prekond::testing
