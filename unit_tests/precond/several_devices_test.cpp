// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Setups that several execution spaces share: what they find has the bits of one's.
#include <prekond/precond/several_devices.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/devices.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/precond/explicit_inverse.hpp>
#include <prekond/precond/factored_inverse.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include <atomic>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include "precond/devices/copies.hpp"
#include "precond/devices/merge_reports.hpp"
#include "precond/devices/row_ranges.hpp"
#include "precond/devices/side_by_side.hpp"
#include "precond/devices/turns.hpp"
#include "testing/general_matrices.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

namespace prekond::testing {
namespace {

using impl::devices::Manner;
using impl::devices::RowRange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class SeveralDevicesTest : public ::testing::Test {};
TYPED_TEST_SUITE(SeveralDevicesTest, TestSpaces, SpaceNames);

template <class Scalar, class Space>
using Method = MatrixPreconditioner<Scalar, Space>;

struct Setup {
  std::string name;
  OptionMap options;
};

std::string to_text(const Setup& setup) {
  std::string text = setup.name;
  for (const auto& [key, value] : setup.options) text += " " + key + "=" + to_string(value);
  return text;
}

template <class Scalar, class Space>
std::unique_ptr<SeveralDevices<Scalar, Space>> over(const Setup& setup, const std::vector<Space>& others) {
  const auto configurator =
      find_line(preconditioner_registry<Scalar, Space>(), setup.name, "preconditioner").configure();
  configurator->fields().set(setup.options, setup.name);
  return std::make_unique<SeveralDevices<Scalar, Space>>(*configurator, others);
}

template <class Scalar, class Space>
std::unique_ptr<SeveralDevices<Scalar, Space>> over(const Setup& setup, int count) {
  return over<Scalar, Space>(setup, std::vector<Space>(static_cast<std::size_t>(count) - 1, Space()));
}

/// G and G^H, G_L and G_U, or M.
template <class Scalar>
using Found = std::vector<HostMatrix<Scalar>>;

template <class Scalar, class Space>
Found<Scalar> found(const Method<Scalar, Space>& method) {
  const Method<Scalar, Space>* kept = &method;
  if constexpr (!is_complex<Scalar>) {
    const auto* isai = dynamic_cast<const Isai<Scalar, Space>*>(kept);
    if (isai && !isai->factored()) return {to_host(isai->inverse())};
    if (isai) kept = isai->factored();
  }
  if (const auto* several = dynamic_cast<const SeveralDevices<Scalar, Space>*>(kept))
    kept = &several->inverse();
  if (const auto* factored = dynamic_cast<const FactoredInverse<Scalar, Space>*>(kept))
    return {to_host(factored->factor()), to_host(factored->factor_transposed())};
  return {to_host(dynamic_cast<const ExplicitInverse<Scalar, Space>&>(*kept).inverse())};
}

/// The same bits; on a device, where lanes are chosen by the rows that it has, the same to rounding.
template <class Space, class Scalar>
void expect_same(const Found<Scalar>& result, const Found<Scalar>& expected) {
  if (is_host_space<Space>) {
    EXPECT_TRUE(result == expected);
    return;
  }
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t m = 0; m < result.size(); ++m) {
    ASSERT_EQ(result[m].row_ptrs, expected[m].row_ptrs);
    ASSERT_EQ(result[m].col_idxs, expected[m].col_idxs);
    for (std::size_t k = 0; k < result[m].values.size(); ++k)
      ASSERT_NEAR(Kokkos::abs(result[m].values[k] - expected[m].values[k]), 0,
                  1e-5 * (1 + Kokkos::abs(expected[m].values[k])));
  }
}

template <class Scalar, class Space>
std::vector<Scalar> applied(const Method<Scalar, Space>& m, std::int64_t n) {
  const Space space;
  std::vector<Scalar> x(static_cast<std::size_t>(2 * n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = Scalar(std::sin(1.0 + double(i)));
  const MultiVector<Scalar, Space> in("x", n, 2), out("y", n, 2);
  for (std::size_t v = 0; v < 2; ++v)
    Kokkos::deep_copy(column(in, v),
                      to_device<Space>(std::vector<Scalar>(x.begin() + v * n, x.begin() + (v + 1) * n)));
  const auto workspace = m.make_workspace(space, 2);
  m.apply(space, in, out, *workspace);
  EXPECT_TRUE(m.can_apply_add());
  m.apply_add(space, in, out, *workspace);
  space.fence();
  std::vector<Scalar> y;
  for (std::size_t v = 0; v < 2; ++v)
    for (const Scalar& value : to_vector(column(out, v))) y.push_back(value);
  return y;
}

/// Rows of all devices are those of the matrix, in their order, and entries those of the inverse.
void expect_devices(const Report& report, int count, std::int64_t n) {
  ASSERT_EQ(report.devices.size(), static_cast<std::size_t>(count));
  std::int64_t next = 0, nnz = 0;
  for (const DeviceReport& device : report.devices) {
    EXPECT_EQ(device.first_row, next);
    EXPECT_GE(device.rows_read, device.num_rows);
    EXPECT_EQ(device.numeric_seconds > 0, device.num_rows > 0);
    EXPECT_EQ(device.symbolic_seconds > 0, device.num_rows > 0);
    EXPECT_EQ(device.copy_seconds > 0, device.num_rows > 0);
    next += device.num_rows;
    nnz += device.nnz;
  }
  EXPECT_EQ(next, n);
  EXPECT_EQ(nnz, report.nnz);
  EXPECT_GT(report.gather_seconds, 0);
}

template <class Scalar, class Space>
void expect_same_as_on_one(const Setup& setup, const HostMatrix<Scalar>& whole, int count) {
  SCOPED_TRACE(to_text(setup) + ", " + std::to_string(whole.num_rows) + " rows, " + std::to_string(count) +
               " devices");
  const Space space;
  const auto a = to_device<Space>(whole);
  const auto one = create_preconditioner<Scalar, Space>(setup.name, setup.options);
  one->numeric(space, a);
  const auto m = over<Scalar, Space>(setup, count);
  EXPECT_EQ(m->num_devices(), count);
  m->numeric(space, a);
  expect_same<Space>(found<Scalar, Space>(*m), found<Scalar, Space>(*one));
  EXPECT_EQ(m->name(), one->name());
  EXPECT_EQ(m->is_symmetric(), one->is_symmetric());
  EXPECT_EQ(m->is_nonsymmetric(), one->is_nonsymmetric());
  EXPECT_EQ(m->report().nnz, one->report().nnz);
  EXPECT_EQ(m->report().bytes, one->report().bytes);
  EXPECT_EQ(m->report().apply_flops, one->report().apply_flops);
  EXPECT_EQ(m->report().breakdowns.count, one->report().breakdowns.count);
  EXPECT_EQ(m->report().breakdowns.first_row, one->report().breakdowns.first_row);
  EXPECT_FALSE(m->report().pattern_kept);
  expect_devices(m->report(), count, whole.num_rows);
  if (is_host_space<Space>) {
    EXPECT_EQ((applied<Scalar, Space>(*m, whole.num_rows)), (applied<Scalar, Space>(*one, whole.num_rows)));
  }
}

template <class Scalar, class Space>
void expect_same_on_all(const std::vector<Setup>& setups, const std::vector<HostMatrix<Scalar>>& matrices,
                        const std::vector<int>& counts = {1, 2, 3, 7}) {
  for (const Setup& setup : setups)
    for (const auto& whole : matrices)
      for (const int count : counts) expect_same_as_on_one<Scalar, Space>(setup, whole, count);
}

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
       {"adaptive_fsai", {{"gradient", "merge"}, {"max_steps", "4"}, {"prefilter", "0.01"}}},
       {"adaptive_fsai", {{"max_steps", "3"}, {"block_size", "3"}}}},
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
    EXPECT_EQ(m->report().devices.size(), 2u);
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
  // Row 0 and column 0 times 2^-300: out of the range that needs no scaling, on the first device alone.
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
          AllOf(HasSubstr(std::string(name) + " cannot be set up over several devices"),
                HasSubstr("choose fsai, adaptive_fsai, nonsymmetric_fsai, spai, isai, or one device")));
  for (const Setup& setup : std::vector<Setup>{{"fsai", {{"block_size", "0"}}},
                                               {"adaptive_fsai", {{"block_size", "0"}}},
                                               {"isai", {{"relaxation_steps", "1"}}}})
    EXPECT_THAT(message_of<InputError>([&] { over<double, TypeParam>(setup, 2); }),
                AllOf(HasSubstr(setup.name + " with these options cannot be set up over several devices"),
                      HasSubstr("leave out block_size=0 and relaxation_steps")));
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
  // Of several devices' errors, the first row's.
  const InputError first = error_of(with_diagonal_entry(with_diagonal_entry(whole, 390, -1), 2, 0));
  EXPECT_EQ(first.row(), 2);
  EXPECT_THAT(first.what(), AllOf(HasSubstr("device 0: "), Not(HasSubstr("of all rows"))));
  // What there was is applied as before.
  expect_same<TypeParam>(found<double, TypeParam>(*m), before);
  EXPECT_EQ((applied<double, TypeParam>(*m, whole.num_rows)), applied_before);
  m->numeric(space, to_device<TypeParam>(whole));
  expect_same<TypeParam>(found<double, TypeParam>(*m), before);
  // A budget that rows do not fit in.
  const auto small = over<double, TypeParam>({"fsai", {{"power", "6"}, {"pattern_bytes", "1024"}}}, 2);
  EXPECT_THAT(message_of<InputError>([&] { small->symbolic(space, to_device<TypeParam>(whole)); }),
              HasSubstr("device 0: the lower triangle"));
}

TYPED_TEST(SeveralDevicesTest, OtherExceptionsNameTheDevice) {
  const auto thrown_by = [](const std::function<void()>& work) {
    std::vector<std::exception_ptr> thrown(3);
    try {
      work();
    } catch (...) {
      thrown[1] = std::current_exception();
    }
    return thrown;
  };
  const auto throw_of = [&](const std::function<void()>& work) {
    impl::devices::throw_first(thrown_by(work), {0, 5, 9});
  };
  throw_of([] {});
  EXPECT_EQ(message_of<OptionError>([&] { throw_of([] { throw OptionError("text"); }); }), "device 1: text");
  EXPECT_THAT(message_of<std::runtime_error>([&] { throw_of([] { throw std::bad_alloc(); }); }),
              HasSubstr("device 1: it failed to allocate memory: "));
  EXPECT_EQ(message_of<std::runtime_error>([&] { throw_of([] { throw std::logic_error("text"); }); }),
            "device 1: text");
  const auto of_listener = std::make_exception_ptr(std::logic_error("stop"));
  EXPECT_EQ(message_of<std::logic_error>(
                [&] { throw_of([&] { throw impl::devices::ThrownByListener{of_listener}; }); }),
            "stop");
  EXPECT_EQ(message_of<InputError>([&] { throw_of([] { throw InputError("text", 2); }); }),
            "device 1: text (rows are counted from A's row 6 on: of all rows it is row 8)");
  EXPECT_EQ(message_of<InputError>(
                [&] { impl::devices::throw_first({std::make_exception_ptr(InputError("text", 2))}, {0}); }),
            "text");
}

TYPED_TEST(SeveralDevicesTest, NotesOfAllDevicesAppearOnce) {
  impl::devices::DevicePart first{0, 4, 0, 5, 7, 0, 1, {}}, second{4, 4, 3, 5, 8, 0, 1, {}},
      none{8, 0, 8, 0, 0, 0, 0, {}};
  first.report.notes = {"both", "the first"};
  second.report.notes = {"both"};
  first.report.numeric_flops = 3;
  second.report.numeric_flops = 4;
  first.report.setup_bytes = 30;
  second.report.setup_bytes = 20;
  second.rows_bytes = 15;
  second.report.pattern_kept = true;
  second.report.breakdowns = {2, 1, 0.5, "something"};
  Report whole;
  whole.setup_bytes = 10;
  impl::devices::merge_reports({first, second, none}, whole);
  EXPECT_THAT(whole.notes, ElementsAre("both", "device 0: the first"));
  EXPECT_EQ(whole.numeric_flops, 7);
  EXPECT_EQ(whole.setup_bytes, 35);
  EXPECT_FALSE(whole.pattern_kept);
  EXPECT_EQ(whole.breakdowns.first_row, 4);
  EXPECT_EQ(whole.breakdowns.count, 2);
  EXPECT_EQ(whole.breakdowns.action, "device 1: something");
  EXPECT_EQ(whole.devices[1].nnz, 8);
}

TYPED_TEST(SeveralDevicesTest, RangesHaveEqualWork) {
  const TypeParam space;
  const auto range = [&](const HostMatrix<double>& a, int count, int block_rows) {
    const auto device = to_device<TypeParam>(a);
    return impl::devices::ranges_of_equal_work<TypeParam>(space, device, count, block_rows);
  };
  EXPECT_THAT(range(diagonal_matrix(std::vector<double>(12, 1.0)), 3, 1),
              ElementsAre(RowRange{0, 4}, RowRange{4, 8}, RowRange{8, 12}));
  EXPECT_THAT(range(diagonal_matrix(std::vector<double>(11, 1.0)), 3, 3),
              ElementsAre(RowRange{0, 3}, RowRange{3, 6}, RowRange{6, 11}));
  EXPECT_THAT(range(diagonal_matrix({1, 1}), 4, 1),
              ElementsAre(RowRange{0, 0}, RowRange{0, 1}, RowRange{1, 1}, RowRange{1, 2}));
  // A dense row has the work of 9 entries; those of other ranks' columns do not count.
  std::vector<std::vector<double>> dense(9, std::vector<double>(9, 0));
  for (std::size_t i = 0; i < 9; ++i) dense[i][i] = dense[0][i] = 1;
  EXPECT_THAT(range(sparse(dense), 2, 1), ElementsAre(RowRange{0, 2}, RowRange{2, 9}));
  HostMatrix<double> wide = sparse(dense);
  wide.num_rows = 4;
  wide.row_ptrs.resize(5);
  wide.col_idxs.resize(wide.row_ptrs.back());
  wide.values.resize(wide.row_ptrs.back());
  EXPECT_THAT(range(wide, 3, 1), ElementsAre(RowRange{0, 1}, RowRange{1, 2}, RowRange{2, 4}));
  EXPECT_THAT(range(HostMatrix<double>(), 2, 1), ElementsAre(RowRange{0, 0}, RowRange{0, 0}));
}

TYPED_TEST(SeveralDevicesTest, RangesThatAreReadFollowTheEntries) {
  const TypeParam space;
  // Row i has entries in i and i + 1.
  std::vector<std::vector<double>> dense(12, std::vector<double>(12, 0));
  for (std::size_t i = 0; i < 12; ++i) dense[i][i] = dense[i][std::min<std::size_t>(i + 1, 11)] = 1;
  const auto a = to_device<TypeParam>(sparse(dense));
  const auto read = [&](RowRange own, const RowReach& reach) {
    return impl::devices::range_read<TypeParam>(space, a, own, reach);
  };
  EXPECT_EQ(read({4, 6}, {.levels = 0}), (RowRange{4, 6}));
  EXPECT_EQ(read({4, 6}, {.levels = 2}), (RowRange{4, 8}));
  EXPECT_EQ(read({4, 6}, {.levels = 2, .both_ways = true}), (RowRange{2, 8}));
  EXPECT_EQ(read({4, 6}, {.levels = 1, .block_rows = 5}), (RowRange{0, 12}));
  EXPECT_EQ(read({4, 6}, {.levels = 0, .block_rows = 5}), (RowRange{0, 10}));
  EXPECT_EQ(read({4, 6}, {.levels = 1000000}), (RowRange{4, 12}));
  EXPECT_EQ(read({4, 4}, {.levels = 3}), (RowRange{4, 4}));
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

template <class View>
HostMatrix<double> host_of(const View& a) {
  return {a.num_rows, a.num_cols, to_vector(a.row_ptrs), to_vector(a.col_idxs), to_vector(a.values)};
}

/// A copy for another device is one, also of all rows.
TYPED_TEST(SeveralDevicesTest, RowsAreCopied) {
  const TypeParam space;
  const HostMatrix<double> whole = with_columns_of_other_ranks(problem("poisson2d:5"));
  const HostMatrix<double> square = problem("poisson2d:5");
  const auto wide = to_device<TypeParam>(whole);
  const auto a = to_device<TypeParam>(square);
  for (const bool on_first : {true, false}) {
    const auto all = impl::devices::rows_on_device<double, TypeParam>(space, a, {0, 25}, on_first);
    EXPECT_TRUE(host_of(all.view) == square);
    EXPECT_EQ(all.view.values.data() == a.values.data(), on_first);
    EXPECT_EQ(all.owned.bytes() == 0, on_first);
    const auto own =
        impl::devices::rows_on_device<double, TypeParam>(space, wide, {0, whole.num_rows}, on_first);
    EXPECT_EQ(own.view.num_cols, whole.num_rows);
    const auto some = impl::devices::rows_on_device<double, TypeParam>(space, a, {7, 19}, on_first);
    const HostMatrix<double> host = host_of(some.view);
    ASSERT_EQ(host.num_rows, 12);
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 12; ++j) EXPECT_EQ(host(i, j), square(7 + i, 7 + j));
    const auto none = impl::devices::rows_on_device<double, TypeParam>(space, a, {7, 7}, on_first);
    EXPECT_EQ(none.view.num_rows, 0);
  }
}

/// Instances of one thread each, on which kernels of different devices run at the same time.
TYPED_TEST(SeveralDevicesTest, InstancesOfTheirOwn) {
  const TypeParam space = of_one_thread<TypeParam>();
  const HostMatrix<double> whole = problem("elasticity3d:6");
  const auto a = to_device<TypeParam>(whole);
  for (const char* name : {"adaptive_fsai", "fsai", "spai"}) {
    const auto one = create_preconditioner<double, TypeParam>(name);
    const auto m = over<double, TypeParam>(
        {name, {}}, {of_one_thread<TypeParam>(), of_one_thread<TypeParam>(), of_one_thread<TypeParam>()});
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
  const OptionMap room = {{"slab_bytes", "2147483648"}};
  for (const bool before : {true, false}) {
    const auto m = over<double, TypeParam>({"fsai", room}, 2);
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

// ------------------------------------------------------------------------------------------ side by side

/// All are done, what they throw is theirs, and the first is done by the calling thread.
TYPED_TEST(SeveralDevicesTest, EveryMannerDoesAll) {
  const std::vector<std::function<void()>> fences(5, [] { TypeParam().fence(); });
  for (const Manner manner : {Manner::in_sequence, Manner::threads, Manner::turns}) {
    std::vector<std::thread::id> threads(5);
    const auto thrown = impl::devices::side_by_side(
        manner, 5,
        [&](int k) {
          threads[static_cast<std::size_t>(k)] = std::this_thread::get_id();
          if (k % 2 == 1) throw std::runtime_error(std::to_string(k));
        },
        fences);
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(thrown[k] != nullptr, k % 2 == 1);
      EXPECT_EQ(threads[k] == std::this_thread::get_id(), k == 0 || manner == Manner::in_sequence);
      if (!thrown[k]) continue;
      const std::string text = message_of<std::runtime_error>([&] { std::rethrow_exception(thrown[k]); });
      EXPECT_EQ(text, std::to_string(k));
    }
  }
  EXPECT_TRUE(impl::devices::side_by_side(Manner::threads, 0, [](int) {}, {}).empty());
}

/// By turns one thread at a time works; the others go on where it waits: in a fence, a copy or a
/// deallocation.
TYPED_TEST(SeveralDevicesTest, TurnsArePassedOnInFences) {
  const TypeParam space = of_one_thread<TypeParam>();
  const Vector<int, TypeParam> from("from", 10), to("to", 10);
  for (const std::string wait : {"fence", "copy", "free"}) {
    std::atomic<int> inside = 0, most = 0, finished = 0, waits = 0;
    std::atomic<bool> others_began = false;
    const std::vector<std::function<void()>> fences(3, [&] {
      ++waits;
      space.fence("prekond::testing::wait");
    });
    impl::devices::side_by_side(
        Manner::turns, 3,
        [&](int k) {
          if (k > 0) others_began = true;
          for (int round = 0; round < 20 || (k == 0 && !others_began && round < 100000); ++round) {
            const int now = ++inside;
            for (int pause = 0; pause < 50; ++pause) {
              if (inside > most) most = inside.load();
              std::this_thread::yield();
            }
            EXPECT_GE(now, 1);
            --inside;
            if (wait == "fence") {
              space.fence("prekond::testing::fence");
            } else if (wait == "copy") {
              Kokkos::deep_copy(space, to, from);
            } else {
              const Vector<int, TypeParam> gone(Kokkos::view_alloc(space, "gone"), 10);
            }
          }
          ++finished;
        },
        fences);
    EXPECT_EQ(most, 1) << wait;
    EXPECT_EQ(finished, 3) << wait;
    EXPECT_TRUE(others_began) << wait;
    EXPECT_EQ(waits > 0, wait != "fence") << wait;
  }
}

/// Tools that were there go on being called, and are there afterwards.
TYPED_TEST(SeveralDevicesTest, TurnsLeaveToolsAlone) {
  namespace tools = Kokkos::Tools::Experimental;
  static std::atomic<int> begun, ended;
  begun = ended = 0;
  const auto before = tools::get_callbacks();
  tools::set_begin_fence_callback([](const char*, std::uint32_t, std::uint64_t*) { ++begun; });
  tools::set_end_fence_callback([](std::uint64_t) { ++ended; });
  const auto mine = tools::get_callbacks();
  const TypeParam space;
  const std::vector<std::function<void()>> fences(2, [&] { space.fence(); });
  impl::devices::side_by_side(
      Manner::turns, 2, [&](int) { space.fence(); }, fences);
  EXPECT_GE(begun, 2);
  EXPECT_EQ(begun, ended);
  const auto after = tools::get_callbacks();
  EXPECT_EQ(after.begin_fence, mine.begin_fence);
  EXPECT_EQ(after.end_fence, mine.end_fence);
  EXPECT_EQ(after.deallocate_data, before.deallocate_data);
  EXPECT_EQ(after.begin_deep_copy, before.begin_deep_copy);
  tools::set_begin_fence_callback(before.begin_fence);
  tools::set_end_fence_callback(before.end_fence);
}

/// Setups by turns: the same bits.
TYPED_TEST(SeveralDevicesTest, SetupsByTurns) {
  const TypeParam space = of_one_thread<TypeParam>();
  const auto a = to_device<TypeParam>(problem("elasticity3d:5"));
  for (const char* name : {"adaptive_fsai", "fsai", "nonsymmetric_fsai", "spai", "isai"}) {
    const auto one = create_preconditioner<double, TypeParam>(name);
    one->numeric(space, a);
    const std::vector<std::function<void()>> fences(3, [&] { space.fence(); });
    std::vector<Found<double>> all(3);
    const auto thrown = impl::devices::side_by_side(
        Manner::turns, 3,
        [&](int k) {
          const auto m = create_preconditioner<double, TypeParam>(name);
          m->numeric(space, a);
          all[static_cast<std::size_t>(k)] = found<double, TypeParam>(*m);
        },
        fences);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(thrown[k], nullptr);
      expect_same<TypeParam>(all[k], found<double, TypeParam>(*one));
    }
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

TEST(SeveralDevices, NumbersOfDevicesThatThereAreNot) {
  const int all = Devices::available();
  EXPECT_THAT(message_of<OptionError>([] { const Devices none(0); }),
              HasSubstr("0 devices: there has to be one"));
  const std::string text = message_of<OptionError>([&] { const Devices more(all + 1); });
  EXPECT_THAT(text, HasSubstr(std::to_string(all + 1) + " devices were asked for"));
  if (is_host_space<Devices::Space>) {
    EXPECT_THAT(text,
                AllOf(HasSubstr("this build computes on the host (" + std::string(Devices::Space::name())),
                      HasSubstr("ask for 1, or take a build for GPUs")));
  } else {
    EXPECT_THAT(text, HasSubstr("sees " + std::to_string(all) + ": ask for fewer"));
  }
}

TEST(SeveralDevices, MannerOfSpaces) {
  if constexpr (!is_host_space<Kokkos::DefaultExecutionSpace>) {
    EXPECT_EQ(impl::devices::manner_of<Kokkos::DefaultExecutionSpace>(), Manner::turns);
  }
#ifdef KOKKOS_ENABLE_OPENMP
  EXPECT_EQ(impl::devices::manner_of<Kokkos::OpenMP>(), Manner::threads);
#endif
#ifdef KOKKOS_ENABLE_SERIAL
  EXPECT_EQ(impl::devices::manner_of<Kokkos::Serial>(), Manner::threads);
#endif
}

}  // namespace
}  // namespace prekond::testing
