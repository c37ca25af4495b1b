// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/scaled_triangles.hpp"
#include "testing/multicolor_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_cg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/precond/multicolor.hpp>
#include <prekond/precond/registry.hpp>

#include <limits>
#include <map>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class MulticolorTest : public ::testing::Test {};
TYPED_TEST_SUITE(MulticolorTest, TestSpaces, SpaceNames);

/// A forward, a backward and a symmetric relaxation against the reference on its own colours.
template <class Scalar, class Space>
void check_sweeps(const Case& test, const MulticolorGsOptions& options, double tolerance) {
  SCOPED_TRACE(test.name + ", " + std::to_string(options.sweeps) + " sweeps, omega " +
               std::to_string(options.omega) + ", direction " + std::to_string(int(options.direction)));
  const Space space;
  const auto host = convert<Scalar>(test.matrix);
  const auto a = to_device<Space>(host);
  MulticolorGs<Scalar, Space> m(options);
  m.symbolic(space, a);
  m.numeric(space, a);
  const auto colors = to_vector(m.coloring().colors);
  std::vector<std::vector<Scalar>> b(3, std::vector<Scalar>(host.num_rows));
  for (int v = 0; v < 3; ++v) {
    const auto wave = waves_of(host.num_rows, v);
    b[v].assign(wave.begin(), wave.end());
  }
  const auto y = applied_to<Scalar, Space>(m, b);
  for (int v = 0; v < 3; ++v) {
    const LongVector expected =
        reference_sweeps(host, colors, b[v], options.direction != SweepDirection::backward,
                         options.direction != SweepDirection::forward, options.sweeps, options.omega);
    EXPECT_LE(relative_difference(y[v], expected), tolerance) << "column " << v;
  }
  const std::vector<Scalar> alone = applied_to<Scalar, Space>(m, b[1]);
  if (is_host_space<Space>) {
    EXPECT_EQ(alone, y[1]);
  }
}

TYPED_TEST(MulticolorTest, EverySweepEqualsTheSequentialOne) {
  for (const Case& test : relaxation_matrices())
    for (const auto direction :
         {SweepDirection::forward, SweepDirection::backward, SweepDirection::symmetric})
      for (const int sweeps : {1, 2, 5})
        for (const double omega : {1.0, 0.7, 1.6}) {
          MulticolorGsOptions options;
          options.direction = direction;
          options.sweeps = sweeps;
          options.omega = omega;
          options.order = sweeps == 2 ? ColoringOrder::hash : ColoringOrder::natural;
          check_sweeps<double, TypeParam>(test, options, 1e-14);
        }
}

TYPED_TEST(MulticolorTest, InSinglePrecision) {
  for (const Case& test : relaxation_matrices()) {
    MulticolorGsOptions options;
    options.direction = SweepDirection::symmetric;
    options.sweeps = 3;
    options.order = ColoringOrder::largest_first;
    check_sweeps<float, TypeParam>(test, options, 1e-5);
  }
}

TYPED_TEST(MulticolorTest, SsorIsTheSymmetricRelaxation) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("elasticity3d:4"));
  for (const int sweeps : {1, 3}) {
    MulticolorGsOptions options = MulticolorGsOptions::symmetric();
    options.sweeps = sweeps;
    options.omega = 1.3;
    MulticolorGs<double, TypeParam> gs(options);
    const auto ssor = create_preconditioner<double, TypeParam>(
        "multicolor_ssor", {{"sweeps", std::int64_t(sweeps)}, {"omega", 1.3}});
    EXPECT_TRUE(ssor->is_symmetric()) << "of symmetric matrices";
    ssor->numeric(space, a);
    gs.numeric(space, a);
    EXPECT_EQ(ssor->name(), "multicolor_ssor");
    EXPECT_EQ(ssor->report().apply_flops, gs.report().apply_flops);
    const auto b = waves_of(gs.num_rows());
    EXPECT_EQ((applied_to<double, TypeParam>(*ssor, b)), (applied_to<double, TypeParam>(gs, b)));
  }
}

TYPED_TEST(MulticolorTest, SymmetricSweepsArePositiveDefinite) {
  const TypeParam space;
  for (const char* spec : {"poisson2d:6", "elasticity3d:3"})
    for (const int sweeps : {1, 2, 4})
      for (const double omega : {0.2, 1.0, 1.9}) {
        const auto host = generated(spec);
        MulticolorGsOptions options = MulticolorGsOptions::symmetric();
        options.sweeps = sweeps;
        options.omega = omega;
        MulticolorGs<double, TypeParam> m(options);
        m.numeric(space, to_device<TypeParam>(host));
        const auto n = static_cast<std::size_t>(host.num_rows);
        std::vector<std::vector<double>> identity(n, std::vector<double>(n, 0));
        for (std::size_t i = 0; i < n; ++i) identity[i][i] = 1;
        auto inverse = applied_to<double, TypeParam>(m, identity);
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j)
            ASSERT_NEAR(inverse[i][j], inverse[j][i], 1e-14 * std::sqrt(inverse[i][i] * inverse[j][j]));
        // By Cholesky.
        for (std::size_t k = 0; k < n; ++k) {
          ASSERT_GT(inverse[k][k], 0) << spec << ", omega " << omega;
          for (std::size_t i = k + 1; i < n; ++i)
            for (std::size_t j = k + 1; j < n; ++j)
              inverse[i][j] -= inverse[i][k] * inverse[k][j] / inverse[k][k];
        }
      }
}

TYPED_TEST(MulticolorTest, SymmetryIsUnknownOnceThereIsAMatrix) {
  const TypeParam space;
  const auto host = random_general(40, 0.2, 6);
  MulticolorGsOptions options;
  options.direction = SweepDirection::symmetric;
  MulticolorGs<double, TypeParam> gs(options);
  MulticolorGs<double, TypeParam> ssor(MulticolorGsOptions::symmetric());
  for (MulticolorGs<double, TypeParam>* m : {&gs, static_cast<MulticolorGs<double, TypeParam>*>(&ssor)}) {
    m->numeric(space, to_device<TypeParam>(host));
    EXPECT_FALSE(m->is_symmetric()) << "an adapter would apply M^-1 for its transpose";
    EXPECT_FALSE(m->is_nonsymmetric()) << "cg accepts it";
    std::vector<std::vector<double>> unit(2, std::vector<double>(40, 0));
    unit[0][3] = unit[1][8] = 1;
    const auto columns = applied_to<double, TypeParam>(*m, unit);
    EXPECT_GT(std::abs(columns[0][8] - columns[1][3]), 1e-6);
  }
}

TYPED_TEST(MulticolorTest, TrianglesOfASymmetricMatrixAreTransposesToTheLastBit) {
  const TypeParam space;
  auto host = random_spd(67, 0.3, 4);
  for (int i = 0; i < 67; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      host.values[k] *= std::exp(std::sin(i)) * std::exp(std::sin(host.col_idxs[k]));
  for (int i = 0; i < 67; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      if (host.col_idxs[k] < i) host.values[k] = host(host.col_idxs[k], i);
  const auto a = to_device<TypeParam>(host);
  const auto pattern =
      impl::sweeps::make_grouped_triangles<TypeParam>(space, a, color_graph<TypeParam>(space, a));
  Report report;
  const auto factors = impl::sweeps::fill_triangles<double, TypeParam>(space, a, pattern, 1.3, report);
  const auto entries = [](const CsrGraph<TypeParam>& graph, const Vector<double, TypeParam>& values,
                          bool transposed) {
    const auto row_ptrs = to_vector(graph.row_ptrs);
    const auto col_idxs = to_vector(graph.col_idxs);
    const auto numbers = to_vector(values);
    std::map<std::pair<int, int>, double> result;
    for (int i = 0; i < static_cast<int>(graph.num_rows); ++i)
      for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k)
        result[transposed ? std::pair(col_idxs[k], i) : std::pair(i, col_idxs[k])] = numbers[k];
    return result;
  };
  EXPECT_GT(pattern.lower.nnz(), 400);
  EXPECT_EQ(entries(pattern.lower, factors.lower, true), entries(pattern.upper, factors.upper, false));
}

TYPED_TEST(MulticolorTest, StorageRoundsTheTriangles) {
  const TypeParam space;
  const auto host = generated("elasticity3d:5");
  const auto b = waves_of(host.num_rows);
  MulticolorGsOptions options = MulticolorGsOptions::symmetric();
  std::int64_t bytes = 0;
  const std::pair<Storage, double> storages[] = {{Storage::full, 1e-14},
                                                 {Storage::single_precision, 1e-6},
                                                 {Storage::half, 5e-3},
                                                 {Storage::bfloat16, 4e-2}};
  for (const auto& [storage, tolerance] : storages) {
    options.storage = storage;
    MulticolorGs<double, TypeParam> m(options);
    m.numeric(space, to_device<TypeParam>(host));
    const auto expected = reference_sweeps(host, to_vector(m.coloring().colors), b, true, true, 1, 1.0);
    const double difference = relative_difference(applied_to<double, TypeParam>(m, b), expected);
    EXPECT_LE(difference, tolerance) << int(storage);
    if (storage != Storage::full) {
      EXPECT_GE(difference, tolerance / 1000) << int(storage);
      const std::int64_t stored = 2 * static_cast<std::int64_t>(m.report().nnz - host.num_rows);
      EXPECT_LE(m.report().bytes, bytes - stored * (storage == Storage::single_precision ? 2 : 3));
    } else {
      bytes = m.report().bytes;
    }
  }
  // Half cuts entries that it cannot hold to its largest number; the diagonal is scaled to 1.
  const double most = 65504;
  const auto wide = sparse<double>({{1, 1e9}, {-0.5, 1}}), cut = sparse<double>({{1, most}, {-0.5, 1}});
  options.storage = Storage::half;
  MulticolorGs<double, TypeParam> m(options);
  m.numeric(space, to_device<TypeParam>(wide));
  const std::vector<double> ones = {1, 1};
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, ones),
                                reference_sweeps(cut, {0, 1}, ones, true, true, 1, 1.0)),
            1e-13);
  EXPECT_THAT(
      m.report().notes,
      ::testing::ElementsAre(
          HasSubstr("2 colours"),
          "multicolor_ssor: 1 entries beyond the range of the storage were cut to its largest number"));
  m.numeric(space, to_device<TypeParam>(sparse<double>({{1, 1e-9}, {0.5, 1}})));
  EXPECT_THAT(m.report().notes,
              ::testing::ElementsAre(HasSubstr("2 colours"),
                                     "multicolor_ssor: 1 entries below the range of the storage became 0"));
}

TYPED_TEST(MulticolorTest, ColoursAreNumberedByTheirRowsEntries) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("circuit:48"));
  const ColoringOptions coloring{1, ColoringOrder::largest_first};
  const auto found = color_graph<TypeParam>(space, a, coloring);
  const auto sparsified = color_sparsified<double, TypeParam>(space, a, {0.3}, coloring);
  ASSERT_GT(sparsified.dropped_edges, 0);
  for (const double sparsify : {0.0, 1e-12, 0.3}) {
    SCOPED_TRACE("sparsify " + std::to_string(sparsify));
    MulticolorGsOptions options;
    options.order = ColoringOrder::largest_first;
    options.sparsify = sparsify;
    MulticolorGs<double, TypeParam> m(options);
    m.numeric(space, a);
    const auto& before = sparsify == 0.3 ? sparsified.coloring : found;
    const auto after = renumber_by_degree<TypeParam>(space, before, a);
    EXPECT_NE(to_vector(before.colors), to_vector(after.colors));
    const bool renumbers = sparsify == 0.3;
    EXPECT_EQ(to_vector(m.coloring().colors), to_vector((renumbers ? after : before).colors));
    EXPECT_EQ(m.coloring().color_ptrs, (renumbers ? after : before).color_ptrs);
    m.set_coloring(found);
    m.symbolic(space, a);
    EXPECT_EQ(to_vector(m.coloring().colors), to_vector(found.colors)) << "the user's are kept";
  }
}

TYPED_TEST(MulticolorTest, AnotherPatternThanSymbolicsIsRefused) {
  const TypeParam space;
  const auto host = random_spd(67, 0.15, 4), other = random_spd(67, 0.1, 4);
  ASSERT_NE(host.nnz(), other.nnz());
  for (const double sparsify : {0.0, 0.5}) {
    SCOPED_TRACE("sparsify " + std::to_string(sparsify));
    MulticolorGsOptions options = MulticolorGsOptions::symmetric();
    options.sparsify = sparsify;
    MulticolorGs<double, TypeParam> m(options);
    m.symbolic(space, to_device<TypeParam>(host));
    if (sparsify == 0) {
      EXPECT_THAT(message_of<InputError>([&] { m.numeric(space, to_device<TypeParam>(other)); }),
                  HasSubstr("multicolor_ssor: numeric was given " + std::to_string(other.nnz()) +
                            " entries, symbolic " + std::to_string(host.nnz()) + "; call symbolic again"));
    }
    m.numeric(space, to_device<TypeParam>(host));
    const auto expected = applied_to<double, TypeParam>(m, waves_of(67));
    EXPECT_THAT(message_of<InputError>([&] { m.numeric(space, to_device<TypeParam>(other)); }),
                HasSubstr("call symbolic again"));
    EXPECT_EQ((applied_to<double, TypeParam>(m, waves_of(67))), expected);
  }
}

TYPED_TEST(MulticolorTest, LargeColoursOfLongRows) {
  // Colours too large for the launch of the small ones, with rows of many entries: a device's teams share
  // them.
  for (const char* spec : {"elasticity3d:16", "poisson3d:23"})
    for (const auto direction : {SweepDirection::forward, SweepDirection::symmetric})
      for (const bool twice : {false, true}) {
        MulticolorGsOptions options;
        options.direction = direction;
        options.sweeps = twice ? 2 : 1;
        options.omega = twice ? 0.8 : 1.0;
        options.order = ColoringOrder::hash;
        check_sweeps<double, TypeParam>({spec, generated(spec)}, options, 1e-13);
      }
}

TYPED_TEST(MulticolorTest, UserColoursAndEntriesWithinThem) {
  const TypeParam space;
  const auto host = random_general(67, 0.15, 3);
  std::vector<int> colors(67);
  for (int i = 0; i < 67; ++i) colors[i] = i * i % 5;
  std::int64_t within = 0;
  for (int i = 0; i < 67; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      within += host.col_idxs[k] != i && colors[host.col_idxs[k]] == colors[i] ? 1 : 0;
  MulticolorGs<double, TypeParam> m;
  m.set_coloring(coloring_of<TypeParam>(space, to_device<TypeParam>(colors)));
  m.symbolic(space, to_device<TypeParam>(host));
  m.numeric(space, to_device<TypeParam>(host));
  EXPECT_EQ(m.entries_within_colors(), within);
  EXPECT_EQ(m.report().nnz, std::int64_t(host.nnz()) - within);
  EXPECT_THAT(m.report().notes, ::testing::ElementsAre(HasSubstr(std::to_string(within) + " entries")));
  const auto b = waves_of(67);
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b),
                                reference_sweeps(host, colors, b, true, false, 1, 1.0)),
            1e-14);
  const auto other = random_general(33, 0.15, 3);
  EXPECT_THAT(message_of<InputError>([&] { m.symbolic(space, to_device<TypeParam>(other)); }),
              HasSubstr("the colouring has 67 rows, the matrix 33"));
  auto broken = m.coloring();
  broken.color_ptrs.pop_back();
  m.set_coloring(broken);
  EXPECT_THAT(message_of<InputError>([&] { m.symbolic(space, to_device<TypeParam>(host)); }),
              HasSubstr("do not fit its colours; make it by coloring_of"));
  EXPECT_EQ((applied_to<double, TypeParam>(m, b).size()), 67u) << "a failed phase changes nothing";
}

TYPED_TEST(MulticolorTest, SparsifiedColoursAreFoundByNumeric) {
  const TypeParam space;
  Dense a(60, std::vector<double>(60, 0.001));
  for (int i = 0; i < 60; ++i) a[i][(i + 1) % 60] = a[(i + 1) % 60][i] = -1;
  for (int i = 0; i < 60; ++i) a[i][i] = 3;
  const auto host = sparse(a);
  const auto device = to_device<TypeParam>(host);
  MulticolorGsOptions options = MulticolorGsOptions::symmetric();
  options.sparsify = 0.1;
  MulticolorGs<double, TypeParam> m(options);
  m.symbolic(space, device);
  EXPECT_EQ(m.coloring().num_colors, 0);
  m.numeric(space, device);
  EXPECT_EQ(m.coloring().num_colors, 2);
  EXPECT_EQ(m.num_colors_before(), 60);
  EXPECT_EQ(m.entries_within_colors(), 60 * 29);
  EXPECT_THAT(m.report().notes[0], HasSubstr("2 colours, 60 without sparsification; 1740 entries"));
  const auto b = waves_of(60);
  EXPECT_LE(
      relative_difference(applied_to<double, TypeParam>(m, b),
                          reference_sweeps(host, to_vector(m.coloring().colors), b, true, true, 1, 1.0)),
      1e-14);
}

TYPED_TEST(MulticolorTest, NumericTakesNewValuesAndKeepsTheColours) {
  const TypeParam space;
  const auto host = random_spd(67, 0.15, 4);
  auto changed = host;  // other edges are weak
  for (int i = 0; i < 67; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      if (host.col_idxs[k] != i && i * host.col_idxs[k] % 3 == 0) changed.values[k] *= 0.01;
  const auto b = waves_of(67);
  for (const bool anew : {false, true}) {
    MulticolorGsOptions options = MulticolorGsOptions::symmetric();
    options.sparsify = 0.5;
    MulticolorGs<double, TypeParam> m(options), fresh(options);
    m.numeric(space, to_device<TypeParam>(host));
    EXPECT_FALSE(m.report().pattern_kept);
    if (anew) m.symbolic(space, to_device<TypeParam>(changed));
    m.numeric(space, to_device<TypeParam>(changed));
    EXPECT_EQ(m.report().pattern_kept, !anew);
    fresh.numeric(space, to_device<TypeParam>(changed));
    const auto colors = to_vector(m.coloring().colors);
    EXPECT_EQ(colors == to_vector(fresh.coloring().colors), anew);
    EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b),
                                  reference_sweeps(changed, colors, b, true, true, 1, 1.0)),
              1e-14);
  }
}

TYPED_TEST(MulticolorTest, RowsThatBreakDownAreCountedAndFinite) {
  const TypeParam space;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double unusable : {0.0, infinity, std::nan(""), 1e-320}) {
    auto host = generated("poisson2d:9");
    for (std::size_t k = host.row_ptrs[20]; k < host.row_ptrs[21]; ++k)
      if (host.col_idxs[k] == 20) host.values[k] = unusable;
    MulticolorGs<double, TypeParam> m;
    m.numeric(space, to_device<TypeParam>(host));
    EXPECT_EQ(m.report().breakdowns.count, 1) << unusable;
    EXPECT_EQ(m.report().breakdowns.first_row, 20);
    EXPECT_EQ(m.report().breakdowns.first_pivot, 0);
    EXPECT_THAT(m.report().breakdowns.action, HasSubstr("took their largest entry"));
    for (std::size_t k = host.row_ptrs[20]; k < host.row_ptrs[21]; ++k)
      if (host.col_idxs[k] == 20)
        host.values[k] = -1;  // the largest magnitude next to it, as updates have it
    const auto b = waves_of(81);
    EXPECT_LE(
        relative_difference(applied_to<double, TypeParam>(m, b),
                            reference_sweeps(host, to_vector(m.coloring().colors), b, true, false, 1, 1.0)),
        1e-14);
  }
  auto host = generated("poisson2d:9");
  host.values[host.row_ptrs[31]] = std::nan("");
  host.values[host.row_ptrs[50]] = infinity;
  MulticolorGs<double, TypeParam> m;
  m.numeric(space, to_device<TypeParam>(host));
  EXPECT_EQ(m.report().breakdowns.count, 2);
  EXPECT_EQ(m.report().breakdowns.first_row, 31);
  EXPECT_THAT(m.report().breakdowns.action, HasSubstr("2 with entries that are not finite"));
  for (const double value : applied_to<double, TypeParam>(m, waves_of(81))) EXPECT_TRUE(std::isfinite(value));
  // An empty row, and no entries at all.
  const HostMatrix<double> empty = sparse<double>({{2, 1, 0}, {0, 0, 0}, {0, 1, 4}});
  m.symbolic(space, to_device<TypeParam>(empty));
  m.numeric(space, to_device<TypeParam>(empty));
  EXPECT_EQ(m.report().breakdowns.count, 1);
  EXPECT_EQ(m.report().breakdowns.first_row, 1);
}

TYPED_TEST(MulticolorTest, DiagonalAndEmptyMatrices) {
  const TypeParam space;
  for (const int n : {0, 1}) {
    HostMatrix<double> host;
    host.num_rows = n;
    host.num_cols = n + 2;
    if (n == 1) {
      host.col_idxs = {0, 2};
      host.values = {4, 7};
      host.row_ptrs = {0, 2};
    }
    MulticolorGs<double, TypeParam> m(MulticolorGsOptions::symmetric());
    m.symbolic(space, to_device<TypeParam>(host));
    m.numeric(space, to_device<TypeParam>(host));
    EXPECT_EQ(m.num_rows(), n);
    EXPECT_EQ(m.report().foreign_entries, n);
    const auto y = applied_to<double, TypeParam>(m, std::vector<double>(n, 1.0));
    EXPECT_EQ(y, std::vector<double>(n, 0.25));
  }
}

TYPED_TEST(MulticolorTest, AnApplicationIsAKernelAColourWithoutFences) {
  const TypeParam space;
  const auto count = [&](const char* spec, const MulticolorGsOptions& options) {
    MulticolorGs<double, TypeParam> m(options);
    m.numeric(space, to_device<TypeParam>(generated(spec)));
    const MultiVector<double, TypeParam> x("x", m.num_rows(), 2), y("y", m.num_rows(), 2);
    const auto workspace = m.make_workspace(space, 2);
    space.fence();
    const ToolEvents events;
    m.apply(space, x, y, *workspace);
    EXPECT_THAT(events.fences(), IsEmpty());
    EXPECT_THAT(events.allocations(), IsEmpty());
    for (const auto& label : events.kernels())
      EXPECT_THAT(label, HasSubstr("prekond::multicolor_ssor::apply"));
    return static_cast<int>(events.kernels().size());
  };
  MulticolorGsOptions options = MulticolorGsOptions::symmetric();
  EXPECT_EQ(count("poisson3d:23", options), 4);
  EXPECT_EQ(count("poisson3d:4", options), 2) << "small colours, a launch for all of them";
  options.sweeps = 3;
  EXPECT_EQ(count("poisson3d:23", options), 12);
}

TYPED_TEST(MulticolorTest, AWorkspaceOfAnotherSizeIsRefused) {
  const TypeParam space;
  MulticolorGs<double, TypeParam> m(MulticolorGsOptions::symmetric());
  m.numeric(space, to_device<TypeParam>(generated("poisson2d:7")));
  const MultiVector<double, TypeParam> x("x", 49, 2), y("y", 49, 2);
  const auto narrow = m.make_workspace(space, 1);
  EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(space, x, y, *narrow); }),
              HasSubstr("made for fewer vectors"));
  MulticolorGs<double, TypeParam> smaller(MulticolorGsOptions::symmetric());
  smaller.numeric(space, to_device<TypeParam>(generated("poisson2d:6")));
  const auto shorter = smaller.make_workspace(space, 2);
  EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(space, x, y, *shorter); }),
              HasSubstr("made for 36 rows, and there are 49"));
}

TYPED_TEST(MulticolorTest, OptionsAreChecked) {
  using Gs = MulticolorGs<double, TypeParam>;
  for (const double omega : {0.0, 2.0}) {
    MulticolorGsOptions gs;
    gs.omega = omega;
    EXPECT_THAT(message_of<OptionError>([&] { Gs{gs}; }), HasSubstr("multicolor_gs: omega has to be"));
    MulticolorGsOptions ssor = MulticolorGsOptions::symmetric();
    ssor.omega = omega;
    EXPECT_THAT(message_of<OptionError>([&] { Gs{ssor}; }), HasSubstr("multicolor_ssor: omega has to be"));
  }
  const auto refusal = [](const std::string& name, const OptionMap& options) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>(name, options); });
  };
  EXPECT_THAT(refusal("multicolor_gs", {{"sweeps", std::int64_t(0)}}), HasSubstr("sweeps"));
  EXPECT_THAT(refusal("multicolor_gs", {{"direction", std::string("sideways")}}), HasSubstr("direction"));
  EXPECT_THAT(refusal("multicolor_ssor", {{"sparsify", 1.5}}), HasSubstr("sparsify"));
  const Gs forward;
  EXPECT_TRUE(forward.is_nonsymmetric());
  const auto symmetric =
      create_preconditioner<double, TypeParam>("multicolor_gs", {{"direction", std::string("symmetric")},
                                                                 {"order", std::string("hash")},
                                                                 {"storage", std::string("half")}});
  EXPECT_TRUE(symmetric->is_symmetric());
}

TYPED_TEST(MulticolorTest, SameBitsForAnyThreads) {
  if constexpr (is_host_space<TypeParam>) {
    // All colours in one launch, some, and none.
    for (const char* spec :
         {"elasticity3d:7", "elasticity3d:12", "elasticity3d:16", "circuit:48", "poisson3d:23"})
      for (const ColoringOrder order : {ColoringOrder::natural, ColoringOrder::hash}) {
        SCOPED_TRACE(std::string(spec) + ", order " + std::to_string(int(order)));
        const auto host = generated(spec);
        const auto a = to_device<TypeParam>(host);
        std::vector<std::vector<double>> results;
        std::vector<std::vector<int>> colors;
        for (const TypeParam& space : {TypeParam(), of_one_thread<TypeParam>()}) {
          MulticolorGsOptions options = MulticolorGsOptions::symmetric();
          options.sweeps = 2;
          options.order = order;
          MulticolorGs<double, TypeParam> m(options);
          m.numeric(space, a);
          const auto b = to_device<TypeParam>(waves_of(host.num_rows));
          const Vector<double, TypeParam> y("y", host.num_rows);
          const auto workspace = m.make_workspace(space, 1);
          m.apply(space, as_multivector(VectorView<const double, TypeParam>(b)), as_multivector(y),
                  *workspace);
          space.fence();
          results.push_back(to_vector(y));
          colors.push_back(to_vector(m.coloring().colors));
        }
        EXPECT_EQ(colors[0], colors[1]);
        EXPECT_EQ(results[0], results[1]);
      }
  }
}

}  // namespace
}  // namespace prekond::testing
