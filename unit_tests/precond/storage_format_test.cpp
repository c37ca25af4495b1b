// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <limits>
#include <random>

namespace prekond::testing {
namespace {

constexpr MatrixFormat formats[] = {MatrixFormat::sell, MatrixFormat::dia, MatrixFormat::jad,
                                    MatrixFormat::automatic};

template <class Scalar, class Space>
MultiVector<Scalar, Space> vectors_of(std::int64_t rows, int columns) {
  std::mt19937 random(unsigned(rows + columns));
  const MultiVector<Scalar, Space> result("vectors", rows, columns);
  const auto host = Kokkos::create_mirror_view(result);
  for (int v = 0; v < columns; ++v)
    for (std::int64_t i = 0; i < rows; ++i)
      host(i, v) = Scalar(real_type_t<Scalar>(double(random()) / double(1u << 31) - 1));
  Kokkos::deep_copy(result, host);
  return result;
}

template <class Scalar, class Space>
std::vector<Scalar> all_of(const MultiVector<Scalar, Space>& x) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  std::vector<Scalar> result;
  for (std::size_t v = 0; v < x.extent(1); ++v)
    for (std::size_t i = 0; i < x.extent(0); ++i) result.push_back(host(i, v));
  return result;
}

template <class Scalar>
void expect_near(const std::vector<Scalar>& found, const std::vector<Scalar>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (const Scalar& value : expected) largest = std::max<double>(largest, Kokkos::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(Kokkos::abs(found[i] - expected[i]), 0, tolerance * largest) << i;
}

template <class Space>
class StorageFormatTest : public ::testing::Test {};
TYPED_TEST_SUITE(StorageFormatTest, TestSpaces, SpaceNames);

template <class Scalar, class Space>
void check_stored(const std::string& what) {
  const Space space;
  const auto a = generate<Scalar>(space, what);
  const double tolerance = 100 * std::numeric_limits<real_type_t<Scalar>>::epsilon();
  const auto x = vectors_of<Scalar, Space>(a.num_cols, 3), b = vectors_of<Scalar, Space>(a.num_rows, 3);
  const RecurrenceStep<Scalar> step{Scalar(1.5), Scalar(-0.75), Scalar(0.5), Scalar(2)};
  for (const auto& [name, storage] : storage_choices()) {
    const auto run = [&](MatrixFormat format, int operation) {
      const StoredMatrix<Scalar, Space> stored(space, a, {storage, format});
      EXPECT_NE(stored.format(), MatrixFormat::automatic);
      if (format != MatrixFormat::automatic) {
        EXPECT_EQ(stored.format(), format);
      }
      EXPECT_EQ(stored.nnz(), a.nnz());
      const MultiVector<Scalar, Space> y = vectors_of<Scalar, Space>(a.num_rows, 3);
      stored.multiply(space, x,
                      vectors_of<Scalar, Space>(a.num_rows, 3));  // a first launch allocates, in Kokkos
      space.fence();
      const ToolEvents events;
      if (operation == 0) stored.multiply(space, x, y);
      if (operation == 1) stored.add_product(space, x, y);
      if (operation == 2) stored.multiply_recurrence(space, step, x, b, y);
      EXPECT_EQ(events.kernels().size(), 1u);
      EXPECT_THAT(events.fences(), ::testing::IsEmpty());
      EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
      space.fence();
      return all_of<Scalar, Space>(y);
    };
    for (int operation = 0; operation < 3; ++operation) {
      const auto by_csr = run(MatrixFormat::csr, operation);
      for (const MatrixFormat format : formats) {
        SCOPED_TRACE(what + " in " + name + " by " + to_string(format) + ", operation " +
                     std::to_string(operation));
        expect_near(run(format, operation), by_csr, tolerance);
      }
    }
  }
}

TYPED_TEST(StorageFormatTest, ProductsAreThoseByRows) {
  check_stored<double, TypeParam>("convection_diffusion3d:9");
  check_stored<float, TypeParam>("convection_diffusion3d:9");
  check_stored<Kokkos::complex<double>, TypeParam>("magnetic3d:7");
}

/// A matrix stored in the layout of one of the same pattern is the matrix stored anew.
template <class Scalar, class Space>
void check_layouts(const std::string& what) {
  const Space space;
  const auto a = generate<Scalar>(space, what);
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> other = a;
  other.values = Vector<Scalar, Space>("values", a.nnz());
  Kokkos::deep_copy(Kokkos::subview(other.values, std::make_pair(std::size_t(1), other.values.extent(0))),
                    Kokkos::subview(a.values, std::make_pair(std::size_t(0), a.values.extent(0) - 1)));
  const auto x = vectors_of<Scalar, Space>(a.num_cols, 2);
  const auto product = [&](const StoredMatrix<Scalar, Space>& stored) {
    const auto y = vectors_of<Scalar, Space>(a.num_rows, 2);
    stored.multiply(space, x, y);
    space.fence();
    return all_of<Scalar, Space>(y);
  };
  for (const auto& [name, storage] : storage_choices())
    for (const MatrixFormat format : formats)
      for (const Storage before : {storage, Storage::full}) {
        SCOPED_TRACE(what + " in " + name + " by " + to_string(format));
        const StoredMatrix<Scalar, Space> like(space, a, {before, format});
        const StoredMatrix<Scalar, Space> found(space, other, storage, like),
            anew(space, other, {storage, like.format()});
        EXPECT_EQ(found.format(), like.format());
        EXPECT_EQ(found.storage(), anew.storage());
        EXPECT_EQ(found.bytes(), anew.bytes());
        EXPECT_TRUE(product(found) == product(anew));
      }
}

TYPED_TEST(StorageFormatTest, TheLayoutOfAnother) {
  check_layouts<double, TypeParam>("convection_diffusion3d:9");
  check_layouts<float, TypeParam>("poisson2d:13");
}

TYPED_TEST(StorageFormatTest, BytesAreOfWhatIsKept) {
  const TypeParam space;
  const auto a = generate<double>(space, "poisson3d:10");
  const auto pattern = static_cast<std::int64_t>(a.row_ptrs.extent(0) * 8 + a.col_idxs.extent(0) * 4);
  const StoredMatrix<double, TypeParam> dia(space, a, {Storage::full, MatrixFormat::dia});
  EXPECT_EQ(dia.bytes(), pattern + 7 * 4 + 7 * 1024 * 8);  // 1000 rows, rounded up to 32 of them
  EXPECT_EQ(dia.csr().values.extent(0), 0u);
  EXPECT_EQ(dia.csr().col_idxs.extent(0), a.col_idxs.extent(0));
  const StoredMatrix<double, TypeParam> half(space, a, {Storage::half, MatrixFormat::dia});
  EXPECT_EQ(half.bytes(), pattern + 7 * 4 + 7 * 1024 * 2 + 1000 * 8);
}

TYPED_TEST(StorageFormatTest, AFormatThatRefusesSaysSo) {
  const TypeParam space;
  const auto a = generate<double>(space, "circuit:60");
  EXPECT_THAT(message_of<InputError>([&] {
                StoredMatrix<double, TypeParam>(space, a, {Storage::full, MatrixFormat::dia});
              }),
              ::testing::HasSubstr("make_dia:"));
}

/// 1.5 entries a row on 8 diagonals: in half precision smaller than CSR, but mostly padding.
TYPED_TEST(StorageFormatTest, AutomaticIsNeverRefused) {
  const TypeParam space;
  HostMatrix<double> a;
  a.num_rows = 1400;
  a.num_cols = 1408;
  for (int i = 0; i < 1400; ++i) {
    a.col_idxs.push_back(i);
    if (i % 2 == 0) a.col_idxs.push_back(i + 1 + i / 2 % 7);
    a.row_ptrs.push_back(a.nnz());
  }
  a.values.assign(a.nnz(), 1.5);
  const auto device = to_device<TypeParam>(a);
  EXPECT_THAT(message_of<InputError>([&] {
                StoredMatrix<double, TypeParam>(space, device, {Storage::half, MatrixFormat::dia});
              }),
              ::testing::HasSubstr("make_dia:"));
  const StoredMatrix<double, TypeParam> stored(space, device, {Storage::half, MatrixFormat::automatic});
  EXPECT_EQ(stored.format(), is_host_space<TypeParam> ? MatrixFormat::csr : MatrixFormat::sell);
}

TYPED_TEST(StorageFormatTest, TheMakerGoesOnFromTheAdvice) {
  const TypeParam space;
  const auto a = generate<double>(space, "poisson3d:7");
  const ToolEvents events;
  const StoredMatrix<double, TypeParam> stored(space, a, {Storage::half, MatrixFormat::automatic});
  const bool is_slow = is_host_space<TypeParam> && !has_fused_multiply_add;
  EXPECT_EQ(stored.format(), is_slow ? MatrixFormat::csr : MatrixFormat::dia);
  EXPECT_THAT(events.kernels(), ::testing::Contains("prekond::dia::mark_diagonals").Times(is_slow ? 0 : 1))
      << "they are looked for once, and not where no kernel would read them fast";
}

/// Every registered method that has the option.
TYPED_TEST(StorageFormatTest, EveryMethodAppliesTheSameInverse) {
  const TypeParam space;
  const auto a = generate<double>(space, "poisson3d:7");
  const auto x = vectors_of<double, TypeParam>(a.num_rows, 2);
  int methods = 0;
  for (const auto& line : preconditioner_registry<double, TypeParam>()) {
    if (!line.configure()->fields().knows("storage_format")) continue;
    ++methods;
    const auto applied = [&](const std::string& format, const std::string& storage) {
      const auto m = create(preconditioner_registry<double, TypeParam>(), "preconditioner", line.name,
                            {{"storage_format", format}, {"storage", storage}});
      m->numeric(space, a);
      m->numeric(space, a);
      const auto workspace = m->make_workspace(space, 2);
      const MultiVector<double, TypeParam> y("y", a.num_rows, 2);
      m->apply(space, x, y, *workspace);
      space.fence();
      return all_of<double, TypeParam>(y);
    };
    for (const std::string storage : {"full", "half"}) {
      const auto by_csr = applied("csr", storage);
      for (const std::string format : {"sell", "dia", "jad", "auto"}) {
        SCOPED_TRACE(line.name + " by " + format + " in " + storage);
        expect_near(applied(format, storage), by_csr, 1e-13);
      }
    }
  }
  EXPECT_GE(methods, 6);
}

}  // namespace
}  // namespace prekond::testing
