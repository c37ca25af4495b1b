// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common tests of all approximate inverses. Each runs for every method and for its variants.
#include "testing/approximate_inverses.hpp"
#include "testing/one_thread.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>

namespace prekond::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <class Type>
class ApproximateInverseTest : public ::testing::Test {};
using AllMethods = OnTestSpaces<FsaiCases, NonsymmetricFsaiCases, SpaiCases, IsaiCases, AdaptiveFsaiCases>;
TYPED_TEST_SUITE(ApproximateInverseTest, AllMethods, MethodNames);

TYPED_TEST(ApproximateInverseTest, TakesARankWithoutRows) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  HostMatrix<double> none;
  none.num_cols = 3;
  const HostGraph no_rows;
  for (auto options : settings<Cases>({0, 1, 3}, {0, 0.1}, {0, 3})) {
    SCOPED_TRACE(text_of(options));
    for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
      options.reuse = reuse;
      for (const HostGraph* pattern : std::vector<const HostGraph*>{nullptr, &no_rows}) {
        const auto m = set_up<Cases::template Method, Space>(none, options, nullptr, pattern);
        m->numeric(space, to_device<Space>(none));
        EXPECT_EQ(m->num_rows(), 0);
        EXPECT_EQ(m->report().nnz, 0);
        for (const auto& matrix : Cases::inverse_of(*m)) EXPECT_EQ(matrix.nnz(), 0u);
        const MultiVector<double, Space> x("x", 0, 2), y("y", 0, 2);
        EXPECT_NO_THROW(m->apply(space, x, y, *m->make_workspace(space, 2)));
      }
    }
  }
}

TYPED_TEST(ApproximateInverseTest, FloatMatrixInEitherPrecision) {
  using Cases = typename TypeParam::Cases;
  for (const auto& options : settings<Cases>({0, 1, 2})) {
    for (const auto& a : {Cases::sample(97, 0.1, 121, options), Cases::dense_sample(60, 122, options)}) {
      SCOPED_TRACE(text_of(options));
      const HostMatrix<float> a_float = convert<float>(a);
      Report report;
      Inverse<double> m;
      for (const auto& matrix : invert<Cases, typename TypeParam::Space>(a_float, options, &report))
        m.push_back(convert<double>(matrix));
      EXPECT_EQ(report.breakdowns.count, 0);
      ASSERT_NO_FATAL_FAILURE(
          Cases::expect_reference(convert<double>(a_float), m, options, Arithmetic::of_floats));
      if constexpr (requires { options.power; }) {
        EXPECT_EQ(pattern_of(m[0]), expected_pattern<Cases>(pattern_of(a), options.power, options));
      }
    }
  }
}

TYPED_TEST(ApproximateInverseTest, ColumnsOfOtherRanksAreSkipped) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const HostGraph pattern = pattern_of(random_entries<double>(80, 80, 0.1, 112));
  for (const auto& options : settings<Cases>({0, 1, 2, 3}, {0, 0.05}, {0, 2})) {
    SCOPED_TRACE(text_of(options));
    const HostMatrix<double> a = Cases::sample(80, 0.1, 111, options), wide = with_columns_of_other_ranks(a);
    for (const HostGraph* given : std::vector<const HostGraph*>{nullptr, &pattern}) {
      const auto m = set_up<Cases::template Method, Space>(a, options, nullptr, given);
      const auto of_wide = set_up<Cases::template Method, Space>(wide, options, nullptr, given);
      EXPECT_TRUE(Cases::inverse_of(*m) == Cases::inverse_of(*of_wide));
      EXPECT_EQ(applied<Space>(*m, sines(80)), applied<Space>(*of_wide, sines(80)));
    }
  }
}

TYPED_TEST(ApproximateInverseTest, EveryKernelAndViewIsLabelled) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  for (auto options : settings<Cases>({2}, {0.001}, {0, 1})) {
    options.setup_scalar = Precision::single_precision;
    options.storage = Storage::half;
    if constexpr (requires { options.postfilter; }) options.postfilter = 0.01;
    SCOPED_TRACE(text_of(options));
    const auto a = to_device<Space>(Cases::sample(300, 0.1, 141, options));
    typename Cases::template Method<double, Space> m(options);
    const ToolEvents events;
    m.symbolic(space, a);
    m.numeric(space, a);
    for (const auto& labels : {events.kernels(), events.allocations()})
      EXPECT_THAT(labels, Each(AnyOf(StartsWith("prekond::"), StartsWith("Kokkos::"))));
    for (const std::string& label : Cases::template kernels<Space>(options))
      EXPECT_THAT(events.kernels(), Contains(label));
  }
}

TYPED_TEST(ApproximateInverseTest, ASecondNumericSolvesOnThePatternFound) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  for (auto options : settings<Cases>({Cases::power}, {0, 0.05})) {
    const HostMatrix<double> a = Cases::sample(150, 0.1, 91, options);
    HostMatrix<double> changed = with_larger_diagonal(a, 1);
    for (int i = 0; i < 150; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] != i)
          changed.values[k] *= 0.8 + 0.2 * std::sin(i + a.col_idxs[k]);  // SPD as before
    const auto device = to_device<Space>(a), changed_device = to_device<Space>(changed);
    const Arithmetic arithmetic = arithmetic_of(options.setup_scalar);
    for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
      for (const double delta : {0.0, 0.05}) {
        options.reuse = reuse;
        bool postfilters = false;
        if constexpr (requires { options.postfilter; }) postfilters = (options.postfilter = delta) > 0;
        SCOPED_TRACE(text_of(options));
        const auto m = set_up<Cases::template Method, Space>(a, options);
        EXPECT_FALSE(m->report().pattern_kept);
        const Inverse<double> first = Cases::inverse_of(*m);
        m->numeric(space, device);
        EXPECT_EQ(m->report().pattern_kept, reuse == Reuse::pattern);
        const Inverse<double> again = Cases::inverse_of(*m);
        ASSERT_EQ(first[0].col_idxs, again[0].col_idxs);
        // The solves on a filtered pattern are better than the entries left of others.
        const bool solves_alike = reuse == Reuse::none || (!postfilters && Cases::growth_error == 0);
        if (solves_alike) {
          EXPECT_TRUE(first == again);
        }
        for (std::size_t k = 0; !postfilters && k < again[0].nnz(); ++k)
          ASSERT_NEAR(first[0].values[k], again[0].values[k],
                      arithmetic == Arithmetic::in_single ? 1e-4 : 1e-12);
        m->numeric(space, changed_device);
        EXPECT_EQ(m->report().pattern_kept, reuse == Reuse::pattern);
        const Inverse<double> second = Cases::inverse_of(*m);
        if (reuse == Reuse::none) {
          EXPECT_TRUE((second == invert<Cases, Space>(changed, options)));
        } else {
          ASSERT_EQ(pattern_of(first[0]), pattern_of(second[0]));
          EXPECT_EQ(m->report().notes.size(), Cases::num_notes) << "nothing is filtered";
          if (options.prefilter > 0 || postfilters) {
            EXPECT_NE(pattern_of(second[0]), pattern_of(invert<Cases, Space>(changed, options)[0]));
          }
        }
        if (reuse == Reuse::pattern || !postfilters) {
          ASSERT_NO_FATAL_FAILURE(Cases::expect_reference(changed, second, options, arithmetic));
        }
        m->symbolic(space, changed_device);
        m->numeric(space, changed_device);
        EXPECT_FALSE(m->report().pattern_kept);
        EXPECT_TRUE((Cases::inverse_of(*m) == invert<Cases, Space>(changed, options)))
            << "symbolic begins anew";
      }
    }
  }
}

TYPED_TEST(ApproximateInverseTest, ScalesOfAnySize) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  for (const auto& options : settings<Cases>({Cases::power}, {0, 0.02})) {
    SCOPED_TRACE(text_of(options));
    const HostMatrix<double> a = Cases::sample(60, 0.2, 81, options);
    Report of_plain, report;
    const Inverse<double> plain = invert<Cases, Space>(a, options, &of_plain);
    for (const int exponent : {-300, 300}) {
      HostMatrix<double> scaled = a;
      for (double& value : scaled.values) value = std::ldexp(value, exponent);
      const Inverse<double> m = invert<Cases, Space>(scaled, options, &report);
      for (std::size_t f = 0; f < m.size(); ++f) {
        ASSERT_EQ(m[f].col_idxs, plain[f].col_idxs);
        for (std::size_t k = 0; k < m[f].nnz(); ++k)
          ASSERT_EQ(std::ldexp(m[f].values[k], exponent / int(m.size())), plain[f].values[k]);
      }
      EXPECT_EQ(report.breakdowns.count, 0);
      EXPECT_EQ(report.notes.size(), of_plain.notes.size());
    }
  }
}

TYPED_TEST(ApproximateInverseTest, SameBitsTwiceInSlabsOfAnySizeAndOnOneThread) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  for (auto options : settings<Cases>({Cases::power}, {0, 0.02})) {
    SCOPED_TRACE(text_of(options));
    const std::int64_t usual_workspace = options.workspace_budget;
    for (const HostMatrix<double>& a : Cases::large_matrices(options)) {
      options.workspace_budget = usual_workspace;
      const Inverse<double> once = invert<Cases, Space>(a, options);
      EXPECT_TRUE((once == invert<Cases, Space>(a, options)));
      EXPECT_TRUE(once == invert<Cases>(a, options, nullptr, nullptr, of_one_thread<Space>()));
      options.workspace_budget = Cases::small_workspace;
      EXPECT_TRUE((once == invert<Cases, Space>(a, options)));
    }
  }
}

TYPED_TEST(ApproximateInverseTest, CountsItsOperationsAndBytes) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const auto expected = Cases::counted();
  const auto m = set_up<Cases::template Method, Space>(expected.matrix, expected.options);
  EXPECT_DOUBLE_EQ(m->report().numeric_flops, expected.flops);
  EXPECT_EQ(m->report().nnz, expected.nnz);
  double apply_flops = 0;
  std::size_t bytes = 0;
  for (const auto& matrix : Cases::inverse_of(*m)) {
    apply_flops += 2 * double(matrix.nnz());
    bytes += (matrix.num_rows + 1) * sizeof(std::size_t) + matrix.nnz() * (sizeof(int) + sizeof(double));
  }
  EXPECT_EQ(m->report().apply_flops, apply_flops);
  EXPECT_EQ(m->report().bytes, std::int64_t(bytes));
  m->numeric(Space(), to_device<Space>(expected.matrix));
  EXPECT_DOUBLE_EQ(m->report().numeric_flops, expected.kept_flops) << "on the kept pattern";
}

TYPED_TEST(ApproximateInverseTest, RefusesToApplyBeforeNumericAndToMoreVectorsThanTheWorkspaceHas) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  for (const auto& options : settings<Cases>({1}, {0}, {0, 2})) {
    SCOPED_TRACE(text_of(options));
    const auto a = to_device<Space>(Cases::sample(10, 0.5, 1, options));
    typename Cases::template Method<double, Space> m(options);
    m.symbolic(space, a);
    const MultiVector<double, Space> x("x", 10, 2), y("y", 10, 2);
    const MultiVectorView<double, Space> one(x.data(), 10, 1), to(y.data(), 10, 1);
    const auto workspace = m.make_workspace(space, 1);
    EXPECT_EQ(message_of<std::logic_error>([&] { m.apply(space, one, to, *workspace); }),
              m.name() + ": apply before numeric");
    m.numeric(space, a);
    bool needs_workspace = Cases::inverse_of(m).size() > 1;
    if constexpr (requires { options.relaxation_steps; }) needs_workspace |= options.relaxation_steps > 0;
    if (needs_workspace) {
      EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(space, x, y, *workspace); }),
                  HasSubstr(": the workspace was made for fewer vectors"));
    }
  }
}

TYPED_TEST(ApproximateInverseTest, AppliesItsMatricesInEveryStorageToAnyNumberOfVectors) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  const int n = 211, vectors = 7;
  struct StorageCase {
    Storage storage;
    double error;
  };
  for (auto options : settings<Cases>({Cases::power})) {
    const HostMatrix<double> a = Cases::sample(n, 0.05, 151, options);
    const Inverse<double> inverse = invert<Cases, Space>(a, options);
    for (const auto& [storage, error] : std::vector<StorageCase>{{Storage::full, 1e-15},
                                                                 {Storage::single_precision, 0x1p-24},
                                                                 {Storage::half, 0x1p-11},
                                                                 {Storage::bfloat16, 0x1p-8}}) {
      options.storage = storage;
      SCOPED_TRACE(text_of(options));
      const auto m = set_up<Cases::template Method, Space>(a, options);
      EXPECT_EQ(Cases::inverse_of(*m)[0].values.empty(), storage != Storage::full);
      EXPECT_EQ(m->report().nnz, nnz_of(inverse, options));
      const MultiVector<double, Space> x("x", n, vectors), y("y", n, vectors);
      const auto host_x = Kokkos::create_mirror_view(x);
      for (int v = 0; v < vectors; ++v)
        for (int i = 0; i < n; ++i) host_x(i, v) = sines(n, v)[i];
      Kokkos::deep_copy(x, host_x);
      Kokkos::deep_copy(y, std::nan(""));
      const auto workspace = m->make_workspace(space, vectors);
      m->apply(space, x, y, *workspace);
      space.fence();
      const auto host_y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
      for (int v = 0; v < vectors; ++v) {
        std::vector<double> expected = sines(n, v), sizes = expected;
        for (double& value : sizes) value = std::abs(value);
        for (HostMatrix<double> matrix : inverse) {
          expected = multiply(matrix, expected);
          for (double& value : matrix.values) value = std::abs(value);
          sizes = multiply(matrix, sizes);  // rounding errors are relative to them
        }
        for (int i = 0; i < n; ++i)
          ASSERT_NEAR(host_y(i, v), expected[i], 1.05 * double(inverse.size()) * error * sizes[i]);
      }
      const std::vector<double> before = applied<Space>(*m, sines(n));
      m->numeric(space, to_device<Space>(a));
      EXPECT_TRUE(m->report().pattern_kept);
      if (Cases::growth_error == 0) {
        EXPECT_EQ(applied<Space>(*m, sines(n)), before);
      }
    }
  }
}

TYPED_TEST(ApproximateInverseTest, AnApplicationNeitherAllocatesNorFences) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  for (auto options : settings<Cases>({Cases::power}, {0}, {0, 2})) {
    const HostMatrix<double> a = Cases::sample(150, 0.1, 153, options);
    for (const Storage storage : {Storage::full, Storage::half}) {
      options.storage = storage;
      SCOPED_TRACE(text_of(options));
      const auto m = set_up<Cases::template Method, Space>(a, options);
      const auto workspace = m->make_workspace(space, 7);
      const MultiVector<double, Space> x("x", 150, 7), y("y", 150, 7);
      std::size_t products = Cases::inverse_of(*m).size();
      if constexpr (requires { options.relaxation_steps; })
        if (options.relaxation_steps > 0) products = 0;
      const ToolEvents events;
      m->apply(space, x, y, *workspace);
      EXPECT_THAT(events.allocations(), IsEmpty());
      EXPECT_THAT(events.fences(), IsEmpty());
      EXPECT_FALSE(events.kernels().empty());
      if (products > 0) {
        EXPECT_EQ(events.kernels().size(), 2 * products) << "in groups of four vectors";
      }
    }
  }
}

}  // namespace
}  // namespace prekond::testing
