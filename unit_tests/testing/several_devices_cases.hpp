// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Setups that several execution spaces share, compared with those of one.
#include <gtest/gtest.h>
#include <prekond/core/scalar.hpp>
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/several_devices.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "testing/host_matrix.hpp"
#include "testing/instances.hpp"

namespace prekond::testing {

template <class Scalar, class Space>
using Method = MatrixPreconditioner<Scalar, Space>;

struct Setup {
  std::string name;
  OptionMap options;
};

inline std::string to_text(const Setup& setup) {
  std::string text = setup.name;
  for (const auto& [key, value] : setup.options) text += " " + key + "=" + to_string(value);
  return text;
}

/// One that is shared, however small the matrix is.
template <class Scalar, class Space>
std::unique_ptr<SeveralDevices<Scalar, Space>> over(const Setup& setup, const std::vector<Space>& others,
                                                    Sharing sharing = Sharing::always) {
  const auto configurator =
      find_registered(preconditioner_registry<Scalar, Space>(), setup.name, "preconditioner").configure();
  configurator->fields().set(setup.options, setup.name);
  return std::make_unique<SeveralDevices<Scalar, Space>>(*configurator, others, sharing);
}

template <class Scalar, class Space>
std::unique_ptr<SeveralDevices<Scalar, Space>> over(const Setup& setup, int count) {
  return over<Scalar, Space>(setup, instances<Space>(count - 1));
}

/// G and G^H, G_L and G_U, or M.
template <class Scalar>
using Found = std::vector<HostMatrix<Scalar>>;

template <class Scalar, class Space>
Found<Scalar> found(const Method<Scalar, Space>& method) {
  const Method<Scalar, Space>* kept = &method;
  if (const auto* several = dynamic_cast<const SeveralDevices<Scalar, Space>*>(kept))
    kept = &several->inverse();
  if constexpr (!is_complex<Scalar>) {
    const auto* isai = dynamic_cast<const Isai<Scalar, Space>*>(kept);
    if (isai && !isai->factored()) return {to_host(isai->inverse())};
    if (isai) kept = isai->factored();
  }
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

/// Rows of all devices are those of the matrix, in their order, and entries those of the inverse. One device
/// by itself shares nothing.
inline void expect_devices(const Report& report, int count, std::int64_t n) {
  if (count == 1) {
    EXPECT_TRUE(report.devices.empty());
    return;
  }
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

}  // namespace prekond::testing
