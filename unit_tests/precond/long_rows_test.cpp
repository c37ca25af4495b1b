// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Rows and columns that are much longer than the others: their memory, who works on them, what is told
/// before.
#include "precond/setup/setup_time.hpp"
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/memory_peak.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/spai.hpp>

#include <map>
#include <random>
#include <stdexcept>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Rows = std::vector<std::map<int, double>>;

HostMatrix<double> matrix_of(const Rows& rows) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = static_cast<std::int64_t>(rows.size());
  for (const auto& row : rows) {
    for (const auto& [col, value] : row) {
      a.col_idxs.push_back(col);
      a.values.push_back(value);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

double random_value(std::mt19937& random) {
  return double(random()) * 0x1p-31 - 1;
}

/// Dense rows and columns `centres`, and some entries elsewhere. Symmetric positive definite, or general,
/// with zeros on its diagonal.
HostMatrix<double> arrows(int n, const std::vector<int>& centres, bool spd, unsigned seed) {
  std::mt19937 random(seed);
  Rows rows(n);
  const auto set = [&](int i, int j) {
    const double value = random_value(random);
    rows[i][j] = value;
    rows[j][i] = spd ? value : random_value(random);
  };
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) set(i, static_cast<int>(random() % static_cast<unsigned>(n)));
    for (const int centre : centres) set(i, centre);
  }
  for (int i = 0; i < n; ++i) {
    double sum = 0.5;
    for (const auto& [col, value] : rows[i]) sum += col == i ? 0 : std::abs(value);
    rows[i][i] = spd ? sum : (i % 2 == 0 ? 4 : -5);
  }
  return matrix_of(rows);
}

/// An arrow of any size: with the centre c, the entries a_ii = 4 + i % 3, a_ic = a_ci = 1 / (2 + i % 5), a_cc
/// = n.
HostMatrix<double> plain_arrow(int n, int centre) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  const auto add = [&](int i, int j) {
    const int other = i == centre ? j : i;
    a.col_idxs.push_back(j);
    a.values.push_back(i != j ? 1.0 / (2 + other % 5) : (i == centre ? n : 4.0 + i % 3));
  };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; i == centre && j < n; ++j) add(i, j);
    if (i != centre) {
      add(i, std::min(i, centre));
      add(i, std::max(i, centre));
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

template <class Preconditioner, class Space>
void set_up(Preconditioner& preconditioner, const Space& space, const HostMatrix<double>& a) {
  const auto device = to_device<Space>(a);
  preconditioner.symbolic(space, device);
  preconditioner.numeric(space, device);
  space.fence();
}

std::map<int, double> row_of(const HostMatrix<double>& a, int i) {
  std::map<int, double> row;
  for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) row[a.col_idxs[k]] = a.values[k];
  return row;
}

/// max_j |(m A)_j - t delta_ij| over the row's columns, where t is 1 or, with `any_scale`, (m A)_i.
double row_residual(const HostMatrix<double>& a, const HostMatrix<double>& m, int i, bool any_scale) {
  std::map<int, double> product;
  for (const auto& [k, value] : row_of(m, i))
    for (const auto& [j, entry] : row_of(a, k)) product[j] += value * entry;
  double largest = 0;
  for (const auto& [j, value] : row_of(m, i))
    if (j != i || !any_scale) largest = std::max(largest, std::abs(product[j] - (j == i ? 1 : 0)));
  return largest;
}

/// m A m^T for row i.
double quadratic_form(const HostMatrix<double>& a, const HostMatrix<double>& m, int i) {
  const auto row = row_of(m, i);
  double sum = 0;
  for (const auto& [k, value] : row)
    for (const auto& [j, entry] : row_of(a, k))
      if (row.count(j) > 0) sum += value * entry * row.at(j);
  return sum;
}

/// The execution space, and where it is OpenMP also one of its threads.
template <class Space>
std::vector<Space> spaces() {
  return {Space(), of_one_thread<Space>()};
}

template <class Space>
class LongRows : public ::testing::Test {};
TYPED_TEST_SUITE(LongRows, TestSpaces, SpaceNames);

// ------------------------------------------------------------------------------------------ who solves them

TYPED_TEST(LongRows, IsaiSolvesThemByAllThreads) {
  const int centre = 517;
  const HostMatrix<double> a = arrows(1103, {centre}, false, 3);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    std::vector<HostMatrix<double>> inverses;
    for (const TypeParam& space : spaces<TypeParam>()) {
      IsaiOptions options;
      options.setup_scalar = precision;
      Isai<double, TypeParam> isai(options);
      set_up(isai, space, a);
      inverses.push_back(to_host(isai.inverse()));
      EXPECT_EQ(isai.report().breakdowns.count, 0);
      EXPECT_THAT(isai.report().notes, IsEmpty());
    }
    EXPECT_TRUE(inverses[0] == inverses[1]) << "the same bits on fewer threads";
    const double tolerance = precision == Precision::double_precision ? 1e-10 : 1e-2;
    for (const int row : {0, centre, 1102}) EXPECT_LT(row_residual(a, inverses[0], row, false), tolerance);
  }
}

TYPED_TEST(LongRows, IsaiShortensSingularOnes) {
  const int n = 1061, centre = 100;
  Rows rows(n);
  std::mt19937 random(17);
  for (int i = 0; i < n; ++i) {
    rows[i][i] = 3 + random_value(random);
    rows[i][centre] = 1 + random_value(random);
    rows[centre][i] = 0.01 * random_value(random);
  }
  rows[centre][centre] = 5;
  rows[700] = {{centre, 0.5}, {700, 2.0}, {701, 2.0}};  // two rows alike
  rows[701] = rows[700];
  const HostMatrix<double> a = matrix_of(rows);
  std::vector<HostMatrix<double>> inverses;
  for (const TypeParam& space : spaces<TypeParam>()) {
    Isai<double, TypeParam> isai;
    set_up(isai, space, a);
    inverses.push_back(to_host(isai.inverse()));
    EXPECT_GE(isai.report().breakdowns.count, 1);
    EXPECT_EQ(isai.report().breakdowns.first_row, centre);
  }
  EXPECT_TRUE(inverses[0] == inverses[1]);
  int zeros = 0;
  for (const auto& [col, value] : row_of(inverses[0], centre)) {
    ASSERT_TRUE(std::isfinite(value));
    zeros += value == 0;
  }
  EXPECT_EQ(zeros, 1) << "the column that was left out";
}

TYPED_TEST(LongRows, StaticFsaiSolvesThemByAllThreads) {
  const int n = 1109;
  const HostMatrix<double> a = arrows(n, {n - 2, n - 1}, true, 5);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    for (const int block_size : {1, 2}) {
      std::vector<HostMatrix<double>> factors;
      for (const TypeParam& space : spaces<TypeParam>()) {
        FsaiOptions options;
        options.setup_scalar = precision;
        options.block_size = block_size;
        Fsai<double, TypeParam> fsai(options);
        set_up(fsai, space, a);
        factors.push_back(to_host(fsai.factor()));
        EXPECT_EQ(fsai.report().breakdowns.count, 0);
      }
      EXPECT_TRUE(factors[0] == factors[1]) << "the same bits on fewer threads";
      const double tolerance = precision == Precision::double_precision ? 1e-10 : 1e-4;
      for (const int row : {0, 700, n - 2, n - 1}) {
        EXPECT_LT(row_residual(a, factors[0], row, true), tolerance);
        EXPECT_NEAR(quadratic_form(a, factors[0], row), 1, 1e-12);
      }
    }
  }
}

TYPED_TEST(LongRows, NonsymmetricFsaiSolvesThemByAllThreads) {
  const int n = 1103;
  const HostMatrix<double> a = arrows(n, {1050, n - 1}, false, 7);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    std::vector<HostMatrix<double>> lower, upper;
    for (const TypeParam& space : spaces<TypeParam>()) {
      NonsymmetricFsaiOptions options;
      options.setup_scalar = precision;
      NonsymmetricFsai<double, TypeParam> fsai(options);
      set_up(fsai, space, a);
      lower.push_back(to_host(fsai.lower_factor()));
      upper.push_back(transposed(to_host(fsai.upper_factor())));
    }
    EXPECT_TRUE(lower[0] == lower[1] && upper[0] == upper[1]) << "the same bits on fewer threads";
    const HostMatrix<double> at = transposed(a);
    for (const int row : {0, 700, 1050, n - 1}) {
      const double tolerance = precision == Precision::double_precision ? 1e-9 : 1e-2;
      EXPECT_LT(row_residual(a, lower[0], row, true), tolerance);
      EXPECT_LT(row_residual(at, upper[0], row, true), tolerance);
    }
  }
}

/// max_j |(A m - e_k, A e_j)| over column k's pattern, for M^T by rows.
double least_squares_residual(const HostMatrix<double>& at, const HostMatrix<double>& mt, int k) {
  std::map<int, double> rest = {{k, -1}};
  for (const auto& [j, value] : row_of(mt, k))
    for (const auto& [i, entry] : row_of(at, j)) rest[i] += value * entry;
  double largest = 0;
  for (const auto& [j, value] : row_of(mt, k)) {
    double sum = 0;
    for (const auto& [i, entry] : row_of(at, j)) sum += entry * rest[i];
    largest = std::max(largest, std::abs(sum));
  }
  return largest;
}

/// A column of 611 entries, and one with two that depend on each other.
TYPED_TEST(LongRows, SpaiSolvesColumnsByAllThreads) {
  const int n = 803, of_column = 611;
  HostMatrix<double> a = arrows(n, {}, false, 11);
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    if (i < of_column) pattern[i].push_back(5);
    if (i != 5) pattern[i].push_back(i);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    std::vector<HostMatrix<double>> inverses;
    for (const TypeParam& space : spaces<TypeParam>()) {
      SpaiOptions options;
      options.setup_scalar = precision;
      Spai<double, TypeParam> spai(options);
      spai.set_pattern(space, graph_of<TypeParam>(pattern, n));
      set_up(spai, space, a);
      inverses.push_back(to_host(spai.inverse()));
      EXPECT_EQ(spai.report().breakdowns.count, 0);
    }
    EXPECT_TRUE(inverses[0] == inverses[1]) << "the same bits on fewer threads";
    const double tolerance = precision == Precision::double_precision ? 1e-9 : 1e-2;
    EXPECT_LT(least_squares_residual(transposed(a), transposed(inverses[0]), 5), tolerance);
  }
}

TYPED_TEST(LongRows, SpaiGivesRankDeficientColumnsTheLeastNorm) {
  const int n = 641;
  Rows rows(n);
  std::mt19937 random(29);
  for (int i = 0; i < n; ++i) {
    rows[i][i] = 3;
    rows[i][static_cast<int>(random() % unsigned(n))] += 0.2 * random_value(random);
  }
  for (int i = 0; i < n; ++i) {  // columns 30 and 31 are the same
    rows[i].erase(31);
    if (rows[i].count(30) > 0) rows[i][31] = rows[i][30];
  }
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    pattern[i] = {i};
    if (i != 8) pattern[i].push_back(8);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  std::vector<HostMatrix<double>> inverses;
  for (const TypeParam& space : spaces<TypeParam>()) {
    Spai<double, TypeParam> spai;
    spai.set_pattern(space, graph_of<TypeParam>(pattern, n));
    set_up(spai, space, matrix_of(rows));
    inverses.push_back(to_host(spai.inverse()));
    EXPECT_GE(spai.report().breakdowns.count, 1);
  }
  EXPECT_TRUE(inverses[0] == inverses[1]) << "the same bits on fewer threads";
  EXPECT_NEAR(inverses[0](30, 8), inverses[0](31, 8), 1e-12);
  EXPECT_LT(least_squares_residual(transposed(matrix_of(rows)), transposed(inverses[0]), 8), 1e-9);
}

// --------------------------------------------------------------------------------------------- their memory

/// "... takes 721536 bytes; ..."
std::int64_t bytes_in(const std::string& message) {
  const std::size_t begin = message.find("takes ");
  return begin == std::string::npos ? 0 : std::stoll(message.substr(begin + 6));
}

/// A budget that is too small for the long rows is refused before anything of their size is allocated, by a
/// message that says which one has room; that one is enough for all threads.
template <class Preconditioner, class Options>
void expect_budget(Options options, const HostMatrix<double>& a, const std::string& name, int row,
                   int length) {
  using Space = typename Preconditioner::matrix_type::memory_space::execution_space;
  const Space space;
  const auto device = to_device<Space>(a);
  options.memory_budget = 1 << 16;
  Preconditioner small(options);
  small.symbolic(space, device);
  std::string message;
  std::int64_t peak = 0;
  {
    const MemoryPeak memory;
    message = message_of<InputError>([&] { small.numeric(space, device); });
    peak = memory.without({});
  }
  EXPECT_THAT(message, AllOf(HasSubstr(name + ": row " + std::to_string(row) + " (from 0)"),
                             HasSubstr("has " + std::to_string(length) + " entries"),
                             HasSubstr("memory_budget = 65536 are allowed"),
                             HasSubstr("Set memory_budget = " + std::to_string(bytes_in(message)))));
  const std::int64_t needed = bytes_in(message);
  EXPECT_GE(needed, std::int64_t(length) * length * 4) << "half a matrix of doubles at least";
  EXPECT_LT(peak, needed / 4);
  options.memory_budget = needed - 1;
  Preconditioner one_less(options);
  EXPECT_THAT(message_of<InputError>([&] { one_less.numeric(space, device); }), HasSubstr("memory_budget"));
  options.memory_budget = needed;
  options.workspace_budget = 1 << 16;  // room for one system, which is larger
  Preconditioner enough(options);
  enough.symbolic(space, device);
  const MemoryPeak memory;
  enough.numeric(space, device);
  space.fence();
  EXPECT_LT(memory.without({}), needed + needed / 4) << "one workspace, whatever the number of threads";
  EXPECT_EQ(enough.report().breakdowns.count, 0);
}

TYPED_TEST(LongRows, MemoryBudgetIsObeyedOrTheErrorNamesTheNeededOne) {
  const int n = 907;
  const HostMatrix<double> general = arrows(n, {n - 3, n - 2, n - 1}, false, 13),
                           spd = arrows(n, {n - 3, n - 2, n - 1}, true, 13);
  ASSERT_NO_FATAL_FAILURE((expect_budget<Isai<double, TypeParam>>(IsaiOptions(), general, "isai", n - 3, n)));
  IsaiOptions factored;
  factored.kind = IsaiKind::spd;
  ASSERT_NO_FATAL_FAILURE((expect_budget<Isai<double, TypeParam>>(factored, spd, "isai", n - 1, n)));
  ASSERT_NO_FATAL_FAILURE((expect_budget<Fsai<double, TypeParam>>(FsaiOptions(), spd, "fsai", n - 1, n)));
  ASSERT_NO_FATAL_FAILURE((expect_budget<NonsymmetricFsai<double, TypeParam>>(
      NonsymmetricFsaiOptions(), general, "nonsymmetric_fsai", n - 1, n)));
}

TYPED_TEST(LongRows, SpaiTakesTheMemoryOfOneColumn) {
  const int n = 400;
  const HostMatrix<double> a = arrows(n, {3, 300}, false, 19);
  SpaiOptions options;
  options.workspace_budget = 1 << 16;
  Spai<double, TypeParam> spai(options);
  const auto device = to_device<TypeParam>(a);
  spai.symbolic(TypeParam(), device);
  const MemoryPeak memory;
  spai.numeric(TypeParam(), device);
  Kokkos::fence();
  const std::int64_t of_column = std::int64_t(n) * n * 8;
  EXPECT_LT(memory.without({}), of_column + of_column / 2) << "one workspace, whatever the number of threads";
}

// ----------------------------------------------------------------------------------------- what they cost

/// Collects what it is told, and ends the phase by an exception.
struct Ended : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Preconditioner, class Space>
std::string told_before(Preconditioner& preconditioner, const Space& space, const HostMatrix<double>& a) {
  preconditioner.set_listener([](const std::string& text) { throw Ended(text); });
  return message_of<Ended>([&] { set_up(preconditioner, space, a); });
}

/// The smallest of some orders whose cubes take more than a minute.
template <class Space>
int expensive_order(double operations_of_cube) {
  int n = 5000;
  while (impl::cautious_seconds(Space(), {operations_of_cube * n * n * n, operations_of_cube * n * n * n}) <
         61)
    n += 1000;
  return n;
}

TYPED_TEST(LongRows, ListenerIsToldBeforeSolvesOfMoreThanAMinute) {
  const TypeParam space;
  const int n = expensive_order<TypeParam>(2.0 / 3), of_cholesky = expensive_order<TypeParam>(1.0 / 3);
  const auto length = [](int entries) { return "has " + std::to_string(entries) + " entries"; };
  IsaiOptions isai_options;
  isai_options.memory_budget = std::int64_t(1) << 40;
  Isai<double, TypeParam> isai(isai_options);
  EXPECT_THAT(told_before(isai, space, plain_arrow(n, 10)),
              AllOf(HasSubstr("isai: the setup's"), HasSubstr("may take "), HasSubstr(" seconds; "),
                    HasSubstr("row 10 (from 0)"), HasSubstr(length(n))));
  isai_options.kind = IsaiKind::spd;
  Isai<double, TypeParam> factored(isai_options);
  EXPECT_THAT(told_before(factored, space, plain_arrow(of_cholesky, of_cholesky - 1)),
              AllOf(HasSubstr("isai: the setup's"), HasSubstr(length(of_cholesky))));
  FsaiOptions fsai_options;
  fsai_options.memory_budget = std::int64_t(1) << 40;
  Fsai<double, TypeParam> fsai(fsai_options);
  EXPECT_THAT(told_before(fsai, space, plain_arrow(of_cholesky, of_cholesky - 1)),
              AllOf(HasSubstr("fsai: the setup's"), HasSubstr(length(of_cholesky))));
  NonsymmetricFsaiOptions general_options;
  general_options.memory_budget = std::int64_t(1) << 40;
  NonsymmetricFsai<double, TypeParam> general(general_options);
  EXPECT_THAT(told_before(general, space, plain_arrow(n, n - 1)),
              AllOf(HasSubstr("nonsymmetric_fsai: the setup's"), HasSubstr(length(n))));
}

TYPED_TEST(LongRows, ListenerIsToldBeforeLongColumnsOfSpai) {
  const int n = expensive_order<TypeParam>(1.0 / 3);
  Rows rows(n);
  for (int i = 0; i < n; ++i) rows[i] = {{i, 4}, {7, 1}};
  SpaiOptions options;
  options.memory_budget = std::int64_t(1) << 40;
  HostGraph pattern(n);  // other columns have only the diagonal
  for (int i = 0; i < n; ++i)
    pattern[i] = i == 7 ? std::vector<int>{7} : std::vector<int>{std::min(i, 7), std::max(i, 7)};
  Spai<double, TypeParam> spai(options);
  spai.set_pattern(TypeParam(), graph_of<TypeParam>(pattern, n));
  EXPECT_THAT(told_before(spai, TypeParam(), matrix_of(rows)),
              AllOf(HasSubstr("spai: the setup's"), HasSubstr("has " + std::to_string(n) + " entries")));
}

TYPED_TEST(LongRows, ListenerIsNotToldOfShortRows) {
  Isai<double, TypeParam> isai;
  isai.set_listener([](const std::string& text) { ADD_FAILURE() << text; });
  set_up(isai, TypeParam(), plain_arrow(300, 10));
  EXPECT_THAT(isai.report().notes, IsEmpty());
}

// ------------------------------------------------------------------------------------- rows that meet them

/// The pattern of an arrow without its long row: {min(i, c), max(i, c)}, or {c} and i.
HostGraph without_centre(int n, int centre, bool lower) {
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    pattern[i] = {i};
    if (i > centre || (i < centre && !lower)) pattern[i].push_back(centre);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  return pattern;
}

/// Reading a dense row for each row that meets it would take 10^10 steps and more.
TYPED_TEST(LongRows, LongRowIsNotReadByEachRowThatMeetsIt) {
  const TypeParam space;
  const int n = 400000;
  for (const int centre : {0, n / 2}) {
    const HostMatrix<double> a = plain_arrow(n, centre);
    Fsai<double, TypeParam> fsai;
    fsai.set_pattern(space, graph_of<TypeParam>(without_centre(n, centre, true), n));
    set_up(fsai, space, a);
    const HostMatrix<double> g = to_host(fsai.factor());
    NonsymmetricFsai<double, TypeParam> general;
    general.set_pattern(space, graph_of<TypeParam>(without_centre(n, centre, true), n));
    set_up(general, space, a);
    const HostMatrix<double> lower = to_host(general.lower_factor());
    Isai<double, TypeParam> isai;
    isai.set_pattern(space, graph_of<TypeParam>(without_centre(n, centre, false), n));
    set_up(isai, space, a);
    const HostMatrix<double> m = to_host(isai.inverse());
    for (const int i : {centre + 1, centre + 77, n - 1}) {
      const double a_ic = 1.0 / (2 + i % 5), a_ii = 4.0 + i % 3, schur = a_ii - a_ic * a_ic / n;
      EXPECT_NEAR(g(i, i), 1 / std::sqrt(schur), 1e-6);
      EXPECT_NEAR(g(i, centre), -a_ic / n / std::sqrt(schur), 1e-6);
      EXPECT_NEAR(lower(i, i), 1 / std::sqrt(schur), 1e-6);
      EXPECT_NEAR(lower(i, centre), -a_ic / n / std::sqrt(schur), 1e-6);
      EXPECT_NEAR(m(i, i), 1 / schur, 1e-12);
      EXPECT_NEAR(m(i, centre), -a_ic / n / schur, 1e-12);
    }
  }
}

/// A triangle with two dense rows: a row that meets both subtracts the second at one place.
TYPED_TEST(LongRows, LongRowOfATriangleIsNotReadByEachRowThatMeetsIt) {
  const int n = 400000, first = n / 2, second = first + 1;
  Rows rows(n);
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    rows[i][i] = 2;
    pattern[i] = {i};
    if (i > second) pattern[i] = {first, second, i};
    if (i > second) rows[i] = {{first, 0.5}, {second, 0.25}, {i, 2}};
  }
  pattern[second] = {first, second};
  for (int j = 0; j < first; ++j) rows[first][j] = rows[second][j] = 1;
  rows[second][first] = 0.125;
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    const bool lower = kind == IsaiKind::lower;
    IsaiOptions options;
    options.kind = kind;
    Isai<double, TypeParam> isai(options);
    HostMatrix<double> a = matrix_of(rows);
    HostGraph columns = pattern;
    if (!lower) {  // the same, turned around
      Rows turned(n);
      for (int i = 0; i < n; ++i)
        for (const auto& [j, value] : rows[i]) turned[n - 1 - i][n - 1 - j] = value;
      a = matrix_of(turned);
      for (int i = 0; i < n; ++i) {
        columns[n - 1 - i].clear();
        for (std::size_t k = pattern[i].size(); k-- > 0;) columns[n - 1 - i].push_back(n - 1 - pattern[i][k]);
      }
    }
    isai.set_pattern(TypeParam(), graph_of<TypeParam>(columns, n));
    set_up(isai, TypeParam(), a);
    const HostMatrix<double> m = to_host(isai.inverse());
    const auto at = [&](int i, int j) { return lower ? m(i, j) : m(n - 1 - i, n - 1 - j); };
    for (const int i : {second + 1, n - 1}) {
      EXPECT_DOUBLE_EQ(at(i, i), 0.5);
      EXPECT_DOUBLE_EQ(at(i, second), -0.0625);
      EXPECT_DOUBLE_EQ(at(i, first), -0.125 + 0.0625 * 0.125 / 2);
    }
  }
}

/// Where the long row's columns do not matter, as growth ends before they are candidates.
TYPED_TEST(LongRows, LongRowIsNotReadByEachAdaptiveRow) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a GPU's rows read them";
  const int n = 400000;
  for (const int centre : {0, n / 2}) {
    const HostMatrix<double> a = plain_arrow(n, centre);
    AdaptiveFsaiOptions options;
    options.max_steps = options.step_size = 1;
    for (const double step_tolerance : {0.05, 0.0}) {
      options.step_tolerance = step_tolerance;
      AdaptiveFsai<double, TypeParam> fsai(options);
      // The long row itself has 10^5 candidates, and takes two of them.
      set_up(fsai, TypeParam(), a);
      const HostMatrix<double> g = to_host(fsai.factor());
      for (const int i : {centre + 1, centre + 77, n - 1}) {
        const double a_ic = 1.0 / (2 + i % 5), a_ii = 4.0 + i % 3, schur = a_ii - a_ic * a_ic / n;
        EXPECT_NEAR(g(i, i), 1 / std::sqrt(schur), 1e-6);
        EXPECT_NEAR(g(i, centre), -a_ic / n / std::sqrt(schur), 1e-6);
      }
    }
  }
}

/// Rows that are put off give what is read at once: where they are met in the end, the candidates are the
/// same.
TYPED_TEST(LongRows, AdaptiveFsaiGrowsThemAsTheReferenceDoes) {
  const int n = 1300;
  const HostMatrix<double> a = arrows(n, {2, 40}, true, 23);
  for (const double step_tolerance : {0.0, 0.05}) {
    AdaptiveFsaiOptions options;
    options.max_steps = 6;
    options.step_tolerance = step_tolerance;
    options.tolerance = 1e-6;
    options.setup_scalar = Precision::double_precision;
    std::vector<HostMatrix<double>> factors;
    // Rows are read at once for a merge, which never puts any off.
    for (const auto gradient : {AdaptiveFsaiOptions::Gradient::list, AdaptiveFsaiOptions::Gradient::merge}) {
      options.gradient = gradient;
      AdaptiveFsai<double, TypeParam> fsai(options);
      set_up(fsai, TypeParam(), a);
      factors.push_back(to_host(fsai.factor()));
    }
    ASSERT_EQ(factors[0].col_idxs, factors[1].col_idxs);
    for (std::size_t k = 0; k < factors[0].nnz(); ++k)
      ASSERT_NEAR(factors[0].values[k], factors[1].values[k], 1e-12);
    for (const int row : {0, 3, 41, 700, n - 1})
      EXPECT_NEAR(quadratic_form(a, factors[0], row), 1, 1e-12) << "row " << row;
  }
}

}  // namespace
}  // namespace prekond::testing
