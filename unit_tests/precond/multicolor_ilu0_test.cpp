// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/matrices.hpp"
#include "testing/multicolor_cases.hpp"
#include "testing/preconditioned_iterations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/multicolor.hpp>
#include <prekond/precond/registry.hpp>

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class MulticolorIlu0Test : public ::testing::Test {};
TYPED_TEST_SUITE(MulticolorIlu0Test, TestSpaces, SpaceNames);

/// M^-1 b against the reference on the preconditioner's own colours.
template <class Scalar, class Space>
void check_factors(const Case& test, const MulticolorIlu0Options& options, double tolerance) {
  SCOPED_TRACE(test.name + ", kind " + std::to_string(int(options.kind)) + ", order " +
               std::to_string(int(options.order)));
  const Space space;
  const auto host = convert<Scalar>(test.matrix);
  MulticolorIlu0<Scalar, Space> m(options);
  m.symbolic(space, to_device<Space>(host));
  m.numeric(space, to_device<Space>(host));
  const auto reference =
      reference_ilu0(host, to_vector(m.coloring().colors), options.kind == IncompleteKind::ic);
  EXPECT_EQ(m.report().breakdowns.count, reference.replaced);
  EXPECT_EQ(m.report().breakdowns.first_row, reference.first_replaced);
  std::vector<std::vector<Scalar>> b(2, std::vector<Scalar>(host.num_rows));
  for (int v = 0; v < 2; ++v) {
    const auto wave = waves_of(host.num_rows, v);
    b[v].assign(wave.begin(), wave.end());
  }
  const auto y = applied_to<Scalar, Space>(m, b);
  for (int v = 0; v < 2; ++v)
    EXPECT_LE(relative_difference(y[v], solve(reference, b[v])), tolerance) << "column " << v;
}

TYPED_TEST(MulticolorIlu0Test, EqualsTheSequentialOne) {
  for (const Case& test : relaxation_matrices())
    for (const ColoringOrder order :
         {ColoringOrder::natural, ColoringOrder::largest_first, ColoringOrder::hash}) {
      MulticolorIlu0Options options;
      options.order = order;
      check_factors<double, TypeParam>(test, options, 1e-13);
    }
}

TYPED_TEST(MulticolorIlu0Test, IcEqualsTheSequentialOne) {
  for (const Case& test : small_matrices())
    for (const ColoringOrder order : {ColoringOrder::natural, ColoringOrder::hash}) {
      MulticolorIlu0Options options;
      options.kind = IncompleteKind::ic;
      options.order = order;
      check_factors<double, TypeParam>(test, options, 1e-13);
      check_factors<float, TypeParam>(test, options, 1e-4);
    }
  MulticolorIlu0Options options;
  options.kind = IncompleteKind::ic;
  for (const char* spec : {"poisson3d:23", "elasticity3d:8", "circuit:48"})
    check_factors<double, TypeParam>({spec, generated(spec)}, options, 1e-13);
}

TYPED_TEST(MulticolorIlu0Test, SinglePrecisionOfGeneralMatrices) {
  for (const Case& test : general_matrices()) check_factors<float, TypeParam>(test, {}, 1e-4);
}

TYPED_TEST(MulticolorIlu0Test, IcIsSymmetricToTheLastBitInEveryStorage) {
  const TypeParam space;
  const auto host = generated("elasticity3d:3");
  const auto n = static_cast<std::size_t>(host.num_rows);
  for (const Storage storage : {Storage::full, Storage::single_precision, Storage::half, Storage::bfloat16}) {
    MulticolorIlu0Options options;
    options.kind = IncompleteKind::ic;
    options.storage = storage;
    MulticolorIlu0<double, TypeParam> m(options);
    m.numeric(space, to_device<TypeParam>(host));
    EXPECT_TRUE(m.is_symmetric());
    std::vector<std::vector<double>> identity(n, std::vector<double>(n, 0));
    for (std::size_t i = 0; i < n; ++i) identity[i][i] = 1;
    const auto inverse = applied_to<double, TypeParam>(m, identity);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        ASSERT_NEAR(inverse[i][j], inverse[j][i], 1e-14 * std::sqrt(inverse[i][i] * inverse[j][j]));
  }
}

TYPED_TEST(MulticolorIlu0Test, ExactForTrianglesAndTwoColours) {
  // Two colours and one row of the second: nothing is dropped.
  const TypeParam space;
  Dense star(30, std::vector<double>(30, 0));
  for (int i = 0; i < 30; ++i) star[i][i] = 3;
  for (int i = 1; i < 30; ++i) {
    star[0][i] = -0.3 - 0.01 * i;
    star[i][0] = 0.2 + 0.03 * i;
  }
  const auto host = sparse(star);
  MulticolorIlu0<double, TypeParam> m;
  std::vector<int> colors(30, 0);
  colors[0] = 1;
  m.set_coloring(coloring_of<TypeParam>(space, to_device<TypeParam>(colors)));
  m.numeric(space, to_device<TypeParam>(host));
  const auto x = waves_of(30);
  const LongVector expected(x.begin(), x.end());
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, multiply(host, x)), expected), 1e-14);
  // As they are found, row 0 comes first, and the fill that it makes between all others is dropped.
  const auto device = to_device<TypeParam>(host);
  for (const bool by_degree : {false, true}) {
    MulticolorIlu0<double, TypeParam> own;
    if (by_degree)
      own.set_coloring(renumber_by_degree<TypeParam>(space, color_graph<TypeParam>(space, device), device));
    own.numeric(space, device);
    EXPECT_EQ(to_vector(own.coloring().colors)[0], by_degree ? 1 : 0);
    const double difference =
        relative_difference(applied_to<double, TypeParam>(own, multiply(host, x)), expected);
    if (by_degree) {
      EXPECT_LE(difference, 1e-14);
    } else {
      EXPECT_GE(difference, 1e-3);
    }
  }
}

TYPED_TEST(MulticolorIlu0Test, LongRowsOfACircuitAreNumberedLast) {
  for (const auto& file : matrices_named({"general/circuit.mtx"}, {"general/memplus.mtx.gz"})) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    const auto by_degree = iterations<TypeParam>(
        a, "multicolor_ilu0", {{"sparsify", 0.05}, {"order", std::string("largest_first")}}, 300);
    MulticolorIlu0<double, TypeParam> as_found;
    as_found.set_coloring(color_sparsified<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), {0.05},
                                                              {.order = ColoringOrder::largest_first})
                              .coloring);
    const auto found = iterations_by<TypeParam>(as_found, a, 300);
    EXPECT_LT(4 * by_degree, found) << file;
  }
}

TYPED_TEST(MulticolorIlu0Test, PivotsThatBreakDownAreReplacedAndCounted) {
  const TypeParam space;
  // Row 1 ends with 1 - 2 * 2 < 0, or with 1 - 1 = 0.
  const HostMatrix<double> negative = sparse<double>({{1, 2, 0}, {2, 1, 0}, {0, 0, 5}});
  const HostMatrix<double> zero = sparse<double>({{1, 1, 0}, {1, 1, 0}, {0, 0, 5}});
  for (const IncompleteKind kind : {IncompleteKind::ilu, IncompleteKind::ic}) {
    MulticolorIlu0Options options;
    options.kind = kind;
    MulticolorIlu0<double, TypeParam> m(options);
    m.numeric(space, to_device<TypeParam>(zero));
    EXPECT_EQ(m.report().breakdowns.count, 1);
    EXPECT_EQ(m.report().breakdowns.first_row, 1);
    EXPECT_EQ(m.report().breakdowns.first_pivot, 0);
    EXPECT_THAT(m.report().breakdowns.action,
                HasSubstr("1 rows of the factors fell back to their diagonal entries"));
    m.numeric(space, to_device<TypeParam>(negative));
    EXPECT_EQ(m.report().breakdowns.count, kind == IncompleteKind::ic ? 1 : 0);
    EXPECT_EQ(m.report().breakdowns.first_pivot, kind == IncompleteKind::ic ? -3 : 0);
    EXPECT_LE(relative_difference(
                  applied_to<double, TypeParam>(m, std::vector<double>{1, 2, 3}),
                  solve(reference_ilu0(negative, to_vector(m.coloring().colors), kind == IncompleteKind::ic),
                        std::vector<double>{1, 2, 3})),
              1e-14);
  }
}

TYPED_TEST(MulticolorIlu0Test, NonfiniteEntriesGiveAFinitePreconditioner) {
  const TypeParam space;
  auto host = random_general(67, 0.2, 3);
  host.values[host.row_ptrs[11]] = std::nan("");
  for (std::size_t k = host.row_ptrs[40]; k < host.row_ptrs[41]; ++k)
    if (host.col_idxs[k] == 40) host.values[k] = 0;
  for (std::size_t k = host.row_ptrs[50]; k < host.row_ptrs[51]; ++k)
    if (host.col_idxs[k] != 50) host.values[k] = 1e300;
  MulticolorIlu0<double, TypeParam> m;
  m.numeric(space, to_device<TypeParam>(host));
  EXPECT_GE(m.report().breakdowns.count, 2);
  EXPECT_EQ(m.report().breakdowns.first_row, 11);
  for (const double value : applied_to<double, TypeParam>(m, waves_of(67))) EXPECT_TRUE(std::isfinite(value));
}

TYPED_TEST(MulticolorIlu0Test, IcRefusesNonpositiveDiagonals) {
  const TypeParam space;
  MulticolorIlu0Options options;
  options.kind = IncompleteKind::ic;
  MulticolorIlu0<double, TypeParam> m(options);
  const auto one_sided = sparse<double>({{4, 1, 0}, {0, 4, 1}, {1, 1, 4}});
  EXPECT_THAT(message_of<InputError>([&] { m.numeric(space, to_device<TypeParam>(one_sided)); }),
              HasSubstr("kind = ic is for symmetric matrices"));
  const auto negative = sparse<double>({{4, 1}, {1, -4}});
  EXPECT_THAT(message_of<InputError>([&] { m.numeric(space, to_device<TypeParam>(negative)); }),
              HasSubstr("the diagonal entry of row 2"));
}

TYPED_TEST(MulticolorIlu0Test, NumericTakesNewValues) {
  const TypeParam space;
  const auto host = random_general(67, 0.1, 5);
  auto changed = host;
  for (double& value : changed.values) value *= 1.5 + 0.3 * std::sin(value);
  MulticolorIlu0<double, TypeParam> m;
  m.numeric(space, to_device<TypeParam>(host));
  m.numeric(space, to_device<TypeParam>(changed));
  EXPECT_TRUE(m.report().pattern_kept);
  const auto b = waves_of(67);
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b),
                                solve(reference_ilu0(changed, to_vector(m.coloring().colors), false), b)),
            1e-13);
}

TYPED_TEST(MulticolorIlu0Test, SparsifiedColoursDropEntriesWithinThem) {
  const TypeParam space;
  const auto host = random_general(129, 0.2, 8);
  MulticolorIlu0Options options;
  options.sparsify = 0.6;
  MulticolorIlu0<double, TypeParam> m(options);
  m.numeric(space, to_device<TypeParam>(host));
  EXPECT_LT(m.coloring().num_colors, m.num_colors_before());
  EXPECT_GT(m.entries_within_colors(), 0);
  const auto b = waves_of(129);
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b),
                                solve(reference_ilu0(host, to_vector(m.coloring().colors), false), b)),
            1e-13);
}

TYPED_TEST(MulticolorIlu0Test, ItLeadsToFewerIterationsThanJacobi) {
  const auto a = generated("convection_diffusion3d:9");
  const auto jacobi = iterations<TypeParam>(a, "jacobi", {}, 500);
  const auto ilu = iterations<TypeParam>(a, "multicolor_ilu0", {}, 500);
  EXPECT_LT(ilu, jacobi);
  EXPECT_TRUE((create_preconditioner<double, TypeParam>("multicolor_ilu0")->is_nonsymmetric()));
}

}  // namespace
}  // namespace prekond::testing
