// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Setups that several execution spaces share: what they find has the bits of one's.
#include <prekond/precond/several_devices.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/devices.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/precond/scaled.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "testing/general_matrices.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/one_thread.hpp"
#include "testing/several_devices_cases.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class SeveralDevicesTest : public ::testing::Test {};
TYPED_TEST_SUITE(SeveralDevicesTest, TestSpaces, SpaceNames);

TYPED_TEST(SeveralDevicesTest, StaticFsaiHasTheBitsOfOneDevice) {
  expect_same_on_all<double, TypeParam>(
      {{"fsai", {}},
       {"fsai", {{"power", "0"}}},
       {"fsai", {{"power", "3"}, {"setup_scalar", "double"}}},
       {"fsai", {{"power", "2"}, {"prefilter", "0.1"}, {"postfilter", "0.05"}}},
       {"fsai", {{"block_size", "3"}}},
       {"fsai", {{"block_size", "2"}, {"power", "2"}}},
       {"isai", {{"kind", "spd"}, {"power", "2"}}}},
      {problem("elasticity3d:5"), problem("poisson2d:13"), random_spd(61, 0.05, 3),
       diagonal_matrix({1, 2, 3, 4, 5})});
}

TYPED_TEST(SeveralDevicesTest, AdaptiveFsaiHasTheBitsOfOneDevice) {
  expect_same_on_all<double, TypeParam>(
      {{"adaptive_fsai", {}},
       {"adaptive_fsai", {{"max_steps", "3"}, {"step_size", "1"}, {"setup_scalar", "double"}}},
       {"adaptive_fsai", {{"initial_power", "1"}, {"max_steps", "2"}, {"postfilter", "0.02"}}},
       {"adaptive_fsai", {{"gradient", "merge"}, {"max_steps", "4"}, {"prefilter", "0.01"}}}},
      {problem("elasticity3d:4"), problem("poisson2d:21"), random_spd(61, 0.05, 3)});
}

TYPED_TEST(SeveralDevicesTest, GeneralMatricesHaveTheBitsOfOneDevice) {
  expect_same_on_all<double, TypeParam>({{"nonsymmetric_fsai", {}},
                                         {"nonsymmetric_fsai", {{"power", "2"}}},
                                         {"nonsymmetric_fsai", {{"postfilter", "0.05"}}},
                                         {"isai", {}},
                                         {"isai", {{"power", "2"}, {"prefilter", "0.05"}}},
                                         {"isai", {{"kind", "lower"}, {"power", "2"}}},
                                         {"isai", {{"kind", "upper"}}},
                                         {"spai", {}},
                                         {"spai", {{"power", "2"}}},
                                         {"spai", {{"side", "left"}, {"power", "2"}}}},
                                        {problem("convection_diffusion3d:5"), random_general(61, 0.05, 3)});
}

TYPED_TEST(SeveralDevicesTest, LowerPrecisionsAndFormatsAreThoseOfOneDevice) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:5");
  const auto a = to_device<TypeParam>(whole);
  for (const char* name : {"fsai", "nonsymmetric_fsai", "isai", "spai"})
    for (const auto& [key, value] :
         OptionMap{{"storage", "half"}, {"storage", "single"}, {"storage_format", "sell"}}) {
      const Setup setup{name, {{key, value}}};
      SCOPED_TRACE(to_text(setup));
      const auto one = create_preconditioner<double, TypeParam>(setup.name, setup.options);
      one->numeric(space, a);
      const auto m = over<double, TypeParam>(setup, 3);
      m->numeric(space, a);
      EXPECT_EQ(m->report().bytes, one->report().bytes);
      if (is_host_space<TypeParam>) {
        EXPECT_EQ((applied<double, TypeParam>(*m, whole.num_rows)),
                  (applied<double, TypeParam>(*one, whole.num_rows)));
      }
    }
}

TYPED_TEST(SeveralDevicesTest, OtherScalars) {
  using Single = Kokkos::complex<float>;
  const auto elasticity = problem("elasticity3d:4");
  const auto hermitian = rotated(elasticity, random_phases(static_cast<std::size_t>(elasticity.num_rows), 6));
  const std::vector<Setup> setups = {{"fsai", {{"power", "2"}}}, {"adaptive_fsai", {{"max_steps", "3"}}}};
  expect_same_on_all<float, TypeParam>(setups, {convert<float>(elasticity)}, {1, 3});
  expect_same_on_all<Complex, TypeParam>(setups, {hermitian}, {1, 3});
  expect_same_on_all<Single, TypeParam>(setups, {to_single(hermitian)}, {1, 3});
  expect_same_on_all<float, TypeParam>({{"nonsymmetric_fsai", {}}, {"spai", {}}, {"isai", {}}},
                                       {convert<float>(random_general(61, 0.05, 3))}, {1, 3});
}

TYPED_TEST(SeveralDevicesTest, OneInstanceIsNotTwoDevices) {
  if (is_host_space<TypeParam>) GTEST_SKIP() << "a host's instances may be one";
  const auto a = to_device<TypeParam>(problem("poisson2d:9"));
  const auto own = instances<TypeParam>(1);
  for (const std::vector<TypeParam>& others : {std::vector<TypeParam>{TypeParam()}, {own[0], own[0]}}) {
    const auto m = over<double, TypeParam>({"fsai", {}}, others);
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(TypeParam(), a); }),
                HasSubstr("is one of those before: take different instances"));
  }
}

TYPED_TEST(SeveralDevicesTest, MoreDevicesThanRows) {
  const std::vector<Setup> setups = {
      {"fsai", {}}, {"fsai", {{"block_size", "2"}}}, {"adaptive_fsai", {}}, {"spai", {}}, {"isai", {}}};
  expect_same_on_all<double, TypeParam>(
      setups, {diagonal_matrix({4}), diagonal_matrix({1, 2, 3, 4, 5}), problem("poisson2d:2")}, {2, 9, 33});
}

TYPED_TEST(SeveralDevicesTest, NoRows) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(HostMatrix<double>());
  for (const char* name : {"fsai", "nonsymmetric_fsai", "spai", "isai"}) {
    const auto m = over<double, TypeParam>({name, {}}, 2);
    m->symbolic(space, a);
    m->numeric(space, a);
    EXPECT_EQ(m->num_rows(), 0);
    EXPECT_TRUE(m->report().devices.empty());
    const MultiVector<double, TypeParam> x("x", 0, 1), y("y", 0, 1);
    m->apply(space, x, y, *m->make_workspace(space, 1));
  }
}

/// The rows of other ranks are left out.
TYPED_TEST(SeveralDevicesTest, ColumnsOfOtherRanks) {
  expect_same_on_all<double, TypeParam>({{"fsai", {{"power", "2"}}},
                                         {"adaptive_fsai", {}},
                                         {"isai", {}},
                                         {"nonsymmetric_fsai", {}},
                                         {"spai", {}}},
                                        {with_columns_of_other_ranks(problem("poisson2d:9"))}, {1, 2, 5});
}

/// The adaptive FSAI takes another one in `numeric`, of the same size and with rows of the same lengths too.
TYPED_TEST(SeveralDevicesTest, AnotherPattern) {
  const TypeParam space;
  const HostMatrix<double> first = random_spd(60, 0.1, 3);
  std::vector<std::vector<double>> dense(60, std::vector<double>(60, 0));
  for (std::size_t i = 0; i < 60; ++i)  // rows 20 .. 39 in reverse
    for (std::size_t j = 0; j < 60; ++j) {
      const auto from = [](std::size_t k) { return std::int64_t(k >= 20 && k < 40 ? 59 - k : k); };
      dense[i][j] = first(from(i), from(j));
    }
  const HostMatrix<double> second = sparse(dense);
  for (const HostMatrix<double>& other : {second, random_spd(60, 0.2, 4)}) {
    const auto one = create_preconditioner<double, TypeParam>("adaptive_fsai", {{"max_steps", "1"}});
    const auto m = over<double, TypeParam>({"adaptive_fsai", {{"max_steps", "1"}}}, 3);
    for (Method<double, TypeParam>* method : {one.get(), static_cast<Method<double, TypeParam>*>(m.get())}) {
      method->symbolic(space, to_device<TypeParam>(first));
      method->numeric(space, to_device<TypeParam>(other));
    }
    expect_same<TypeParam>(found<double, TypeParam>(*m), found<double, TypeParam>(*one));
  }
}

TYPED_TEST(SeveralDevicesTest, NewValues) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:4");
  const HostMatrix<double> other = with_larger_diagonal(whole, 5);
  for (const Setup& setup : std::vector<Setup>{{"fsai", {{"postfilter", "0.1"}}},
                                               {"fsai", {{"postfilter", "0.1"}, {"reuse", "none"}}},
                                               {"adaptive_fsai", {{"max_steps", "3"}}},
                                               {"adaptive_fsai", {{"max_steps", "3"}, {"reuse", "none"}}},
                                               {"adaptive_fsai", {{"max_steps", "2"}, {"reuse", "extend"}}},
                                               {"nonsymmetric_fsai", {}},
                                               {"spai", {}},
                                               {"isai", {{"prefilter", "0.1"}}}}) {
    SCOPED_TRACE(to_text(setup));
    const auto one = create_preconditioner<double, TypeParam>(setup.name, setup.options);
    const auto m = over<double, TypeParam>(setup, 3);
    m->symbolic(space, to_device<TypeParam>(whole));
    EXPECT_THROW(m->make_workspace(space, 1), std::logic_error);
    for (const auto& values : {whole, other, whole}) {
      const auto a = to_device<TypeParam>(values);
      one->numeric(space, a);
      m->numeric(space, a);
      expect_same<TypeParam>(found<double, TypeParam>(*m), found<double, TypeParam>(*one));
      EXPECT_EQ(m->report().pattern_kept, one->report().pattern_kept);
      EXPECT_EQ(m->report().nnz, one->report().nnz);
    }
    // Another matrix.
    const auto poisson = to_device<TypeParam>(problem("poisson2d:11"));
    one->symbolic(space, poisson);
    one->numeric(space, poisson);
    m->symbolic(space, poisson);
    m->numeric(space, poisson);
    expect_same<TypeParam>(found<double, TypeParam>(*m), found<double, TypeParam>(*one));
  }
}

TYPED_TEST(SeveralDevicesTest, TheRangeOfTheDiagonalIsThatOfAllRows) {
  HostMatrix<double> whole = problem("poisson2d:9");
  // Row 0 and column 0 times 2^-300: out of the range that needs no scaling, only on the first device.
  for (std::int64_t i = 0; i < whole.num_rows; ++i)
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      for (const std::int64_t index : {i, std::int64_t(whole.col_idxs[k])})
        if (index == 0) whole.values[k] *= 0x1p-300;
  expect_same_on_all<double, TypeParam>({{"fsai", {}}, {"adaptive_fsai", {{"max_steps", "4"}}}}, {whole});
}

TYPED_TEST(SeveralDevicesTest, BreakdownsAreCountedOnce) {
  HostMatrix<double> general = problem("convection_diffusion3d:5");
  for (std::int64_t i = 20; i < general.num_rows; i += 7)
    for (std::size_t k = general.row_ptrs[i]; k < general.row_ptrs[i + 1]; ++k)
      if (general.col_idxs[k] == i || i % 2 == 0) general.values[k] = 0;
  const TypeParam space;
  const auto a = to_device<TypeParam>(general);
  for (const Setup& setup : std::vector<Setup>{{"nonsymmetric_fsai", {}},
                                               {"isai", {}},
                                               {"isai", {{"kind", "upper"}}},
                                               {"spai", {}},
                                               {"spai", {{"side", "left"}}}}) {
    const auto one = create_preconditioner<double, TypeParam>(setup.name, setup.options);
    one->numeric(space, a);
    EXPECT_GT(one->report().breakdowns.count, 3) << to_text(setup);
    for (const int count : {1, 2, 3, 5}) {
      SCOPED_TRACE(to_text(setup) + ", " + std::to_string(count) + " devices");
      const auto m = over<double, TypeParam>(setup, count);
      m->numeric(space, a);
      const Breakdowns& all = m->report().breakdowns;
      EXPECT_EQ(all.count, one->report().breakdowns.count);
      EXPECT_EQ(all.first_row, one->report().breakdowns.first_row);
      EXPECT_EQ(all.first_pivot, one->report().breakdowns.first_pivot);
      if (count == 1) {
        EXPECT_EQ(all.action, one->report().breakdowns.action);
      } else
        EXPECT_THAT(all.action, HasSubstr("device "));
      if (is_host_space<TypeParam>) {
        EXPECT_TRUE((found<double, TypeParam>(*m) == found<double, TypeParam>(*one)));
      }
    }
  }
}

TYPED_TEST(SeveralDevicesTest, MethodsThatDependOnAllRowsAreRefused) {
  EXPECT_THAT((methods_over_devices<double, TypeParam>()),
              ElementsAre("fsai", "adaptive_fsai", "nonsymmetric_fsai", "spai", "isai"));
  EXPECT_THAT((methods_over_devices<Complex, TypeParam>()), ElementsAre("fsai", "adaptive_fsai"));
  for (const char* name : {"jacobi", "ilu0", "none", "dynamic_spai", "schwarz", "chebyshev"})
    for (const int count : {1, 2})
      EXPECT_THAT(
          message_of<InputError>([&] {
            over<double, TypeParam>({name, {}}, count);
          }),
          AllOf(
              HasSubstr(std::string(name) + " cannot be set up over several devices"),
              HasSubstr("choose fsai, adaptive_fsai, nonsymmetric_fsai, spai, isai, without block_size=0 and "
                        "relaxation_steps, or one device")));
  for (const Setup& setup :
       std::vector<Setup>{{"fsai", {{"block_size", "0"}}}, {"isai", {{"relaxation_steps", "1"}}}})
    EXPECT_THAT(message_of<InputError>([&] { over<double, TypeParam>(setup, 2); }),
                AllOf(HasSubstr(setup.name + " cannot be set up over several devices"),
                      HasSubstr("without block_size=0 and relaxation_steps")));
}

/// Entry (i, i) of the last rows.
HostMatrix<double> with_diagonal_entry(HostMatrix<double> a, std::int64_t row, double value) {
  for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
    if (a.col_idxs[k] == row) a.values[k] = value;
  return a;
}

TYPED_TEST(SeveralDevicesTest, ErrorsNameTheDeviceAndTheRow) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:20");
  const auto m = over<double, TypeParam>({"fsai", {}}, 4);
  m->numeric(space, to_device<TypeParam>(whole));
  const auto before = found<double, TypeParam>(*m);
  const auto applied_before = applied<double, TypeParam>(*m, whole.num_rows);
  const auto error_of = [&](const HostMatrix<double>& a) {
    try {
      m->numeric(space, to_device<TypeParam>(a));
    } catch (const InputError& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return InputError("");
  };
  const InputError last = error_of(with_diagonal_entry(whole, 390, -1));
  EXPECT_EQ(last.row(), 390);
  EXPECT_THAT(last.what(), AllOf(HasSubstr("device 3: "), HasSubstr("of all rows it is row 391")));
  // The first row's among several devices' errors.
  const InputError first = error_of(with_diagonal_entry(with_diagonal_entry(whole, 390, -1), 2, 0));
  EXPECT_EQ(first.row(), 2);
  EXPECT_THAT(first.what(), AllOf(HasSubstr("device 0: "), Not(HasSubstr("of all rows"))));
  // The inverse of before is applied.
  expect_same<TypeParam>(found<double, TypeParam>(*m), before);
  EXPECT_EQ((applied<double, TypeParam>(*m, whole.num_rows)), applied_before);
  m->numeric(space, to_device<TypeParam>(whole));
  expect_same<TypeParam>(found<double, TypeParam>(*m), before);
  // A budget that rows do not fit in.
  const auto small = over<double, TypeParam>({"fsai", {{"power", "6"}, {"memory_budget", "1024"}}}, 2);
  EXPECT_THAT(message_of<InputError>([&] { small->numeric(space, to_device<TypeParam>(whole)); }),
              HasSubstr("device 0: the lower triangle"));
}

/// Where sharing promises nothing, one device makes the setup: with its bits, and a note. A later matrix may
/// be shared again.
TYPED_TEST(SeveralDevicesTest, OneDeviceWhereItIsFaster) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:4");
  const auto a = to_device<TypeParam>(whole);
  for (const char* name : {"adaptive_fsai", "fsai", "nonsymmetric_fsai", "spai", "isai"}) {
    SCOPED_TRACE(name);
    const auto one = create_preconditioner<double, TypeParam>(name);
    const auto m = over<double, TypeParam>({name, {}}, instances<TypeParam>(3), Sharing::where_faster);
    m->symbolic(space, a);
    for (const auto& values : {whole, with_larger_diagonal(whole, 5)}) {
      one->numeric(space, to_device<TypeParam>(values));
      m->numeric(space, to_device<TypeParam>(values));
      EXPECT_TRUE((found<double, TypeParam>(*m) == found<double, TypeParam>(*one)));
      EXPECT_EQ((applied<double, TypeParam>(*m, whole.num_rows)),
                (applied<double, TypeParam>(*one, whole.num_rows)));
    }
    EXPECT_TRUE(m->report().devices.empty());
    EXPECT_EQ(m->report().nnz, one->report().nnz);
    EXPECT_EQ(m->report().bytes, one->report().bytes);
    EXPECT_EQ(m->report().pattern_kept, one->report().pattern_kept);
    EXPECT_THAT(m->report().notes.back(), AllOf(HasSubstr("one of 4 devices makes the setup: it would take "),
                                                HasSubstr(" ms (estimates for an H200)")));
  }
}

/// By the estimate many rows that may take many steps are shared. The choice is one of each symbolic phase.
TYPED_TEST(SeveralDevicesTest, SharedWhereThatIsFaster) {
  const TypeParam space;
  const auto many = to_device<TypeParam>(diagonal_matrix(std::vector<double>(5000000, 4.0)));
  const auto few = to_device<TypeParam>(diagonal_matrix({4, 4}));
  const OptionMap steps = {{"max_steps", "30"}, {"tolerance", "1e-3"}};
  const auto m =
      over<double, TypeParam>({"adaptive_fsai", steps}, instances<TypeParam>(1), Sharing::where_faster);
  for (const auto& [a, devices] : {std::pair{many, 2u}, std::pair{few, 0u}, std::pair{many, 2u}}) {
    m->symbolic(space, a);
    m->numeric(space, a);
    EXPECT_EQ(m->report().devices.size(), devices);
    EXPECT_EQ(m->report().nnz, a.num_rows);
  }
}

/// Devices read the rows around their own, not all.
TYPED_TEST(SeveralDevicesTest, RowsThatAreRead) {
  const auto m = over<double, TypeParam>({"fsai", {}}, 4);
  m->numeric(TypeParam(), to_device<TypeParam>(problem("poisson2d:20")));
  for (const DeviceReport& device : m->report().devices) {
    EXPECT_NEAR(device.num_rows, 100, 5);
    EXPECT_LE(device.rows_read, device.num_rows + 40);
    EXPECT_GE(device.rows_read, device.num_rows + 20);
  }
}

/// Instances of one thread each, on which kernels of different devices run at the same time.
TYPED_TEST(SeveralDevicesTest, InstancesOfTheirOwn) {
  const TypeParam space = of_one_thread<TypeParam>();
  const HostMatrix<double> whole = problem("elasticity3d:6");
  const auto a = to_device<TypeParam>(whole);
  for (const char* name : {"adaptive_fsai", "fsai", "spai"}) {
    const auto one = create_preconditioner<double, TypeParam>(name);
    auto others = instances<TypeParam>(3);
    if (is_host_space<TypeParam>)
      others = {of_one_thread<TypeParam>(), of_one_thread<TypeParam>(), of_one_thread<TypeParam>()};
    const auto m = over<double, TypeParam>({name, {}}, others);
    for (int k = 0; k < 3; ++k) {
      one->numeric(space, a);
      m->numeric(space, a);
      expect_same<TypeParam>(found<double, TypeParam>(*m), found<double, TypeParam>(*one));
    }
  }
}

TYPED_TEST(SeveralDevicesTest, CgTakesAsManyIterations) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:5");
  const auto a = to_device<TypeParam>(whole);
  const CsrOperator<double, TypeParam> op(a);
  const auto b = to_device<TypeParam>(random_vector(static_cast<std::size_t>(whole.num_rows)));
  const auto iterations = [&](const Preconditioner<double, TypeParam>& m) {
    const Vector<double, TypeParam> x("x", whole.num_rows);
    const SolveResult result = Cg<double, TypeParam>().solve(space, op, &m, b, x, stop_at(1e-8));
    EXPECT_TRUE(result.converged);
    return result.iterations;
  };
  const auto one = create_preconditioner<double, TypeParam>("adaptive_fsai");
  one->numeric(space, a);
  const auto m = over<double, TypeParam>({"adaptive_fsai", {}}, 3);
  m->numeric(space, a);
  EXPECT_EQ(iterations(*m), iterations(*one));
  Scaled<double, TypeParam> scaled(over<double, TypeParam>({"adaptive_fsai", {}}, 3));
  Scaled<double, TypeParam> scaled_one(create_preconditioner<double, TypeParam>("adaptive_fsai"));
  scaled.numeric(space, a);
  scaled_one.numeric(space, a);
  EXPECT_EQ(scaled.report().devices.size(), 3u);
  EXPECT_EQ(iterations(scaled), iterations(scaled_one));
}

/// A row of 12,000 entries, whose solve may take minutes, among the first device's.
HostMatrix<double> with_a_long_row() {
  constexpr int dense = 12000, rows = 42000;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = rows;
  const auto add = [&](int col, double value) {
    a.col_idxs.push_back(col);
    a.values.push_back(value);
  };
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; i == dense && j < dense; ++j) add(j, 1e-3);
    add(i, 1);
    if (i < dense) add(dense, 1e-3);
    a.row_ptrs.push_back(a.values.size());
  }
  return a;
}

TYPED_TEST(SeveralDevicesTest, TheListenerIsToldByTheFirstDevice) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a device solves any row in less than a minute";
  const TypeParam space = of_one_thread<TypeParam>();
  const auto a = to_device<TypeParam>(with_a_long_row());
  for (const bool before : {true, false}) {
    const auto m = over<double, TypeParam>({"fsai", {}}, 2);
    if (!before) m->symbolic(space, a);
    std::string told;
    m->set_listener([&](const std::string& text) {
      told = text;
      throw std::logic_error("stop");
    });
    EXPECT_EQ(message_of<std::logic_error>([&] { m->numeric(space, a); }), "stop");
    EXPECT_THAT(told, HasSubstr("fsai"));
    m->set_listener({});
  }
}

TEST(SeveralDevices, DevicesOfThisHost) {
  const int all = Devices::available();
  ASSERT_GE(all, 1);
  const Devices devices(all);
  ASSERT_EQ(devices.others().size(), static_cast<std::size_t>(all) - 1);
  EXPECT_EQ(devices.names().size(), static_cast<std::size_t>(all));
  const Devices::Space space;
  const auto a = to_device<Devices::Space>(problem("elasticity3d:8"));
  for (const char* name : {"adaptive_fsai", "fsai", "nonsymmetric_fsai", "spai", "isai"}) {
    const auto one = create_preconditioner<double, Devices::Space>(name);
    const auto m = over<double, Devices::Space>({name, {}}, devices.others());
    for (int k = 0; k < 3; ++k) {
      one->numeric(space, a);
      m->numeric(space, a);
      expect_same<Devices::Space>(found<double, Devices::Space>(*m), found<double, Devices::Space>(*one));
    }
    expect_devices(m->report(), all, a.num_rows);
  }
}

}  // namespace
}  // namespace prekond::testing
