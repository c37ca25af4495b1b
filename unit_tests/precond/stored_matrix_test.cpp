// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/reference_stored_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<Storage> storages = {Storage::full, Storage::single_precision, Storage::half,
                                       Storage::bfloat16};

template <class Scalar>
Scalar random_number(std::mt19937_64& engine) {
  const auto uniform = [&] { return static_cast<real_type_t<Scalar>>(double(engine() >> 11) * 0x1p-52 - 1); };
  if constexpr (is_complex<Scalar>) {
    const auto real = uniform();
    return Scalar(real, uniform());
  } else {
    return uniform();
  }
}

/// Rows of all kinds: every fifth is empty, row 2 is full, row 3 has only zeros; row i is scaled by 10^(i %
/// 9 - 4).
template <class Scalar>
HostMatrix<Scalar> random_matrix(int rows, int cols, double density, unsigned seed) {
  std::mt19937_64 engine(seed);
  HostMatrix<Scalar> a;
  a.num_rows = rows;
  a.num_cols = cols;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      const bool there = i == 2 || double(engine() >> 11) * 0x1p-53 < density;
      const Scalar value = random_number<Scalar>(engine);
      if (i % 5 == 4 || !there) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(i == 3 ? Scalar(0) : value * real_type_t<Scalar>(std::pow(10.0, i % 9 - 4)));
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

/// y = A x for some vectors, or y + A x where y is given; what is not written stays NaN.
template <class Scalar, class Space>
std::vector<std::vector<Scalar>> product(const StoredMatrix<Scalar, Space>& a,
                                         const std::vector<std::vector<Scalar>>& x,
                                         const std::vector<std::vector<Scalar>>& y = {}) {
  const Space space;
  const auto upload = [](const std::vector<std::vector<Scalar>>& from, std::int64_t rows, std::size_t cols) {
    const MultiVector<Scalar, Space> result("vectors", rows, cols);
    const auto host = Kokkos::create_mirror_view(result);
    Kokkos::deep_copy(host, Scalar(std::numeric_limits<real_type_t<Scalar>>::quiet_NaN()));
    for (std::size_t v = 0; v < from.size(); ++v)
      for (std::int64_t i = 0; i < rows; ++i) host(i, v) = from[v][i];
    Kokkos::deep_copy(result, host);
    return result;
  };
  const auto from = upload(x, a.num_cols(), x.size()), to = upload(y, a.num_rows(), x.size());
  a.multiply(space, from, upload({}, a.num_rows(), x.size()));  // a first launch allocates, in Kokkos
  space.fence();
  {
    const ToolEvents events;
    if (y.empty())
      a.multiply(space, from, to);
    else
      a.add_product(space, from, to);
    EXPECT_THAT(events.fences(), IsEmpty());
    EXPECT_THAT(events.allocations(), IsEmpty());
  }
  space.fence();
  std::vector<std::vector<Scalar>> result;
  for (std::size_t v = 0; v < x.size(); ++v) result.push_back(to_vector(column(to, v)));
  return result;
}

/// The matrix that is applied, by products with unit vectors: A e_j has one term a sum, and its scaling is
/// exact.
template <class Scalar, class Space>
void expect_entries(const StoredMatrix<Scalar, Space>& stored, const HostMatrix<Scalar>& expected) {
  std::vector<std::vector<Scalar>> units(expected.num_cols,
                                         std::vector<Scalar>(expected.num_cols, Scalar(0)));
  for (std::int64_t j = 0; j < expected.num_cols; ++j) units[j][j] = 1;
  const auto columns = product(stored, units);
  for (std::int64_t i = 0; i < expected.num_rows; ++i)
    for (std::int64_t j = 0; j < expected.num_cols; ++j)
      ASSERT_EQ(columns[j][i], expected(i, j)) << i << ' ' << j;
}

template <class Scalar>
std::vector<std::vector<Scalar>> random_vectors(std::int64_t n, int count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<Scalar>> x(count, std::vector<Scalar>(n));
  for (auto& vector : x)
    for (Scalar& value : vector) value = random_number<Scalar>(engine);
  return x;
}

template <class Scalar, class Space>
void check_products(int rows, int cols, double density, Storage storage) {
  using Real = real_type_t<Scalar>;
  const HostMatrix<Scalar> a = random_matrix<Scalar>(rows, cols, density, rows + cols);
  const StoredMatrix<Scalar, Space> stored(Space(), to_device<Space>(a), storage);
  const HostMatrix<Scalar> kept = reference_stored(a, storage);
  expect_entries(stored, kept);
  for (const int vectors : {1, 2, 3, 4, 5, 7}) {
    const auto x = random_vectors<Scalar>(cols, vectors, 7), z = random_vectors<Scalar>(rows, vectors, 8);
    const auto y = product(stored, x), sum = product(stored, x, z);
    for (int v = 0; v < vectors; ++v) {
      for (int i = 0; i < rows; ++i) {
        Complex expected = 0;
        double size = 0;
        for (std::size_t k = kept.row_ptrs[i]; k < kept.row_ptrs[i + 1]; ++k) {
          const Complex term = Complex(kept.values[k]) * Complex(x[v][kept.col_idxs[k]]);
          expected += term;
          size += Kokkos::abs(term);
        }
        const double epsilon = std::numeric_limits<Real>::epsilon();
        ASSERT_LE(Kokkos::abs(Complex(y[v][i]) - expected), 40 * epsilon * size) << i;
        // A x is rounded, then the sum: each part of it once.
        ASSERT_EQ(real_part(sum[v][i]), real_part(z[v][i]) + real_part(y[v][i])) << i;
        ASSERT_EQ(imaginary_part(sum[v][i]), imaginary_part(z[v][i]) + imaginary_part(y[v][i])) << i;
      }
      if (is_host_space<Space>) {
        ASSERT_EQ(product<Scalar>(stored, {x[v]})[0], y[v]) << "the bits that it has alone";
      }
    }
  }
}

template <class Space>
class StoredMatrixTest : public ::testing::Test {};
TYPED_TEST_SUITE(StoredMatrixTest, TestSpaces, SpaceNames);

TYPED_TEST(StoredMatrixTest, ProductsAreTheReferences) {
  for (const Storage storage : storages) {
    SCOPED_TRACE(static_cast<int>(storage));
    for (const auto& [rows, cols] : std::vector<std::pair<int, int>>{{1, 1}, {7, 3}, {37, 53}, {301, 67}}) {
      check_products<double, TypeParam>(rows, cols, 0.2, storage);
      check_products<float, TypeParam>(rows, cols, 0.2, storage);
      check_products<Kokkos::complex<double>, TypeParam>(rows, cols, 0.2, storage);
      check_products<Kokkos::complex<float>, TypeParam>(rows, cols, 0.2, storage);
    }
  }
}

TYPED_TEST(StoredMatrixTest, WithoutRowsOrEntries) {
  HostMatrix<double> none, empty;
  empty.num_rows = 5;
  empty.num_cols = 3;
  empty.row_ptrs.assign(6, 0);
  for (const Storage storage : storages) {
    const StoredMatrix<double, TypeParam> of_none(TypeParam(), to_device<TypeParam>(none), storage);
    EXPECT_TRUE(product(of_none, {{}})[0].empty());
    EXPECT_EQ(of_none.num_rows(), 0);
    const StoredMatrix<double, TypeParam> of_empty(TypeParam(), to_device<TypeParam>(empty), storage);
    EXPECT_EQ(product(of_empty, {{1, 2, 3}})[0], std::vector<double>(5, 0));
  }
  const StoredMatrix<double, TypeParam> nothing;
  EXPECT_TRUE(product(nothing, {{}})[0].empty());
  EXPECT_EQ(nothing.bytes(), 0);
}

TYPED_TEST(StoredMatrixTest, KeepsWhatItSays) {
  const auto a = to_device<TypeParam>(random_matrix<double>(37, 53, 0.3, 1));
  const std::int64_t pattern = a.bytes() - 8 * a.nnz();
  for (const auto& [storage, bytes] : std::vector<std::pair<Storage, int>>{
           {Storage::single_precision, 4}, {Storage::half, 2}, {Storage::bfloat16, 2}}) {
    const StoredMatrix<double, TypeParam> stored(TypeParam(), a, storage);
    EXPECT_FALSE(stored.is_full());
    EXPECT_EQ(stored.bytes(), pattern + bytes * a.nnz() + 8 * 37);
    EXPECT_EQ(stored.csr().values.extent(0), 0u);
    EXPECT_EQ(stored.csr().col_idxs.data(), a.col_idxs.data());
    EXPECT_EQ(stored.nnz(), a.nnz());
    EXPECT_EQ(stored.num_rows(), 37);
    EXPECT_EQ(stored.num_cols(), 53);
  }
  const StoredMatrix<double, TypeParam> full(TypeParam(), a, Storage::full);
  EXPECT_TRUE(full.is_full());
  EXPECT_EQ(full.bytes(), a.bytes());
  EXPECT_EQ(full.csr().values.data(), a.values.data());
  EXPECT_EQ(full.row_scale().extent(0), 0u);
  const auto of_floats = to_device<TypeParam>(random_matrix<float>(37, 53, 0.3, 1));
  const StoredMatrix<float, TypeParam> single(TypeParam(), of_floats, Storage::single_precision);
  EXPECT_TRUE(single.is_full());
  EXPECT_EQ(single.csr().values.data(), of_floats.values.data());
  const auto of_pairs = to_device<TypeParam>(random_matrix<Complex>(37, 53, 0.3, 1));
  const StoredMatrix<Complex, TypeParam> half(TypeParam(), of_pairs, Storage::half);
  EXPECT_EQ(half.bytes(), of_pairs.bytes() - 12 * of_pairs.nnz() + 8 * 37);
}

TYPED_TEST(StoredMatrixTest, RowsKeepTheirSmallEntries) {
  // A row's entries that are within 2^28 of the largest, at any scale of the row.
  for (const double scale : {0x1p-900, 0x1p-100, 1.0, 0x1p100, 0x1p1000}) {
    HostMatrix<double> a = sparse<double>({{1.5, 0x1p-28, -0x1p-14}, {0, 0, 3}});
    for (double& value : a.values) value *= scale;
    for (const Storage storage : storages) {
      const StoredMatrix<double, TypeParam> stored(TypeParam(), to_device<TypeParam>(a), storage);
      expect_entries(stored, a);
    }
  }
}

template <class Scalar, class Space>
void check_pair(Storage storage) {
  using Real = real_type_t<Scalar>;
  using Stored = StoredMatrix<Scalar, Space>;
  const Space space;
  const HostMatrix<Scalar> a = random_matrix<Scalar>(61, 61, 0.2, 5), of_columns = transposed(a);
  const Stored by_rows(space, to_device<Space>(a), storage);
  const auto scale = reference_row_scale(a, storage);
  EXPECT_EQ(to_vector(by_rows.row_scale()), scale);
  EXPECT_EQ(to_vector(Stored::scale_of_rows(space, to_device<Space>(a), storage)), scale);
  // H^T, to the last bit: times C it is the transposed of D H.
  const auto by_columns =
      Stored::with_columns_divided(space, to_device<Space>(of_columns), storage, by_rows.row_scale());
  EXPECT_EQ(by_columns.is_full(), scale.empty());
  EXPECT_EQ(by_columns.row_scale().extent(0), 0u);
  HostMatrix<Scalar> expected = transposed(reference_stored(a, storage));
  EXPECT_TRUE(expected == reference_stored(of_columns, storage, Nonzero::none, scale));
  for (std::size_t k = 0; k < expected.nnz(); ++k)
    if (!scale.empty()) expected.values[k] /= scale[expected.col_idxs[k]];
  expect_entries(by_columns, expected);
  if (scale.empty()) return;

  // D^2 H by what is its own, and another scale by a copy.
  Stored twice = by_rows;
  twice.multiply_rows(space, twice.row_scale());
  HostMatrix<Scalar> squared = reference_stored(a, storage);
  for (int i = 0; i < 61; ++i)
    for (std::size_t k = squared.row_ptrs[i]; k < squared.row_ptrs[i + 1]; ++k) squared.values[k] *= scale[i];
  if (sizeof(Real) == 8) expect_entries(twice, squared);
}

TYPED_TEST(StoredMatrixTest, ATransposedIsStoredWithTheSameRoundings) {
  for (const Storage storage : storages) {
    check_pair<double, TypeParam>(storage);
    check_pair<float, TypeParam>(storage);
    check_pair<Kokkos::complex<double>, TypeParam>(storage);
    check_pair<Kokkos::complex<float>, TypeParam>(storage);
  }
}

template <class Scalar, class Space>
void check_multiplied(Storage storage, MatrixFormat format) {
  using Real = real_type_t<Scalar>;
  const Space space;
  const HostMatrix<Scalar> a = random_matrix<Scalar>(61, 53, 0.5, 6);
  std::vector<Real> scale(61);
  for (int i = 0; i < 61; ++i) scale[i] = std::ldexp(Real(1), i % 7 - 3);
  const StoredMatrix<Scalar, Space> stored(space, to_device<Space>(a), {storage, format});
  const auto once = stored.with_rows_multiplied(space, to_device<Space>(scale));
  const auto twice = once.with_rows_multiplied(space, to_device<Space>(scale));
  HostMatrix<Scalar> expected = reference_stored(a, storage);
  const auto multiply = [&] {
    for (int i = 0; i < 61; ++i)
      for (std::size_t k = expected.row_ptrs[i]; k < expected.row_ptrs[i + 1]; ++k)
        expected.values[k] *= scale[i];
  };
  expect_entries(stored, expected);
  multiply();
  expect_entries(once, expected);
  multiply();
  expect_entries(twice, expected);
  EXPECT_EQ(once.csr().values.data(), stored.csr().values.data());
  EXPECT_EQ(once.bytes(),
            stored.bytes() + (stored.row_scale().extent(0) > 0 ? 0 : 61 * std::int64_t(sizeof(Real))));
  // Sums of rows, with what is added.
  const auto x = random_vectors<Scalar>(53, 3, 7), z = random_vectors<Scalar>(61, 3, 8);
  const auto y = product(stored, x), of_once = product(once, x), sum = product(once, x, z);
  for (int v = 0; v < 3; ++v)
    for (int i = 0; i < 61; ++i) {
      ASSERT_EQ(of_once[v][i], scale[i] * y[v][i]);
      ASSERT_EQ(sum[v][i], of_once[v][i] + z[v][i]);
    }
  EXPECT_THAT(message_of<InputError>([&] {
                stored.with_rows_multiplied(space, to_device<Space>(std::vector<Real>(60, Real(1))));
              }),
              HasSubstr("60 scales for 61 rows"));
}

TYPED_TEST(StoredMatrixTest, RowsAreMultipliedWithoutACopyOfTheEntries) {
  for (const Storage storage : storages) {
    for (const MatrixFormat format : {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::jad}) {
      check_multiplied<double, TypeParam>(storage, format);
      check_multiplied<float, TypeParam>(storage, format);
      check_multiplied<Kokkos::complex<double>, TypeParam>(storage, format);
    }
  }
}

TYPED_TEST(StoredMatrixTest, TheEntryThatIsNotToVanishDoesNot) {
  const HostMatrix<double> a =
      sparse<double>({{-1e-80, 1, 1e-80}, {1e-80, 3, -1e-80}, {1, 0, 0}, {0, 0, 0}, {0, 2, 0}});
  const auto device = to_device<TypeParam>(a);
  const auto ones = to_device<TypeParam>(std::vector<double>(3, 1));
  for (const Storage storage : {Storage::single_precision, Storage::half, Storage::bfloat16}) {
    for (const Nonzero nonzero : {Nonzero::none, Nonzero::first, Nonzero::last}) {
      const StoredMatrix<double, TypeParam> stored(TypeParam(), device, storage, nonzero);
      const HostMatrix<double> expected = reference_stored(a, storage, nonzero);
      expect_entries(stored, expected);
      EXPECT_EQ(expected(0, 0) < 0, nonzero == Nonzero::first);
      EXPECT_EQ(expected(1, 2) < 0, nonzero == Nonzero::last);
      const auto divided =
          StoredMatrix<double, TypeParam>::with_columns_divided(TypeParam(), device, storage, ones, nonzero);
      expect_entries(divided, reference_stored(a, storage, nonzero, {1, 1, 1}));
    }
  }
}

/// A of whole r x c blocks, with its pattern of these.
template <class Scalar, class Space>
std::pair<HostMatrix<Scalar>, BlockPattern<Space>> whole_blocks(int block_rows, int block_cols, int r,
                                                                int c) {
  const HostMatrix<Scalar> graph = random_matrix<Scalar>(block_rows, block_cols, 0.3, 4);
  HostMatrix<Scalar> a;
  a.num_rows = block_rows * r;
  a.num_cols = block_cols * c;
  std::mt19937_64 engine(5);
  for (int i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = graph.row_ptrs[i / r]; k < graph.row_ptrs[i / r + 1]; ++k)
      for (int s = 0; s < c; ++s) {
        a.col_idxs.push_back(graph.col_idxs[k] * c + s);
        a.values.push_back(random_number<Scalar>(engine) * real_type_t<Scalar>(std::pow(10.0, i % 9 - 4)));
      }
    a.row_ptrs.push_back(a.nnz());
  }
  const auto blocks = to_device<Space>(graph);
  return {a, {{block_rows, block_cols, blocks.row_ptrs, blocks.col_idxs}, r, c}};
}

template <class Scalar, class Space>
void check_blocks(int r, int c, Storage storage) {
  const Space space;
  const auto [a, blocks] = whole_blocks<Scalar, Space>(17, 11, r, c);
  const auto device = to_device<Space>(a);
  const StoredMatrix<Scalar, Space> stored(space, device, storage, blocks), by_rows(space, device, storage);
  const bool is_kept = r * c > 1 && !is_complex<Scalar>;
  EXPECT_EQ(stored.format(), is_kept ? MatrixFormat::bcsr : MatrixFormat::csr);
  EXPECT_EQ(stored.is_full(), by_rows.is_full());
  EXPECT_EQ(stored.nnz(), by_rows.nnz());
  if (is_kept) {
    EXPECT_GT(stored.bytes(), by_rows.bytes() + blocks.blocks.bytes());  // rows and columns of A are kept
  }
  expect_entries(stored, reference_stored(a, storage));
  const auto x = random_vectors<Scalar>(a.num_cols, 5, 7), z = random_vectors<Scalar>(a.num_rows, 5, 8);
  const auto y = product(stored, x), expected = product(by_rows, x), sum = product(stored, x, z);
  for (int v = 0; v < 5; ++v)
    for (int i = 0; i < a.num_rows; ++i) {
      double size = 0;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) size += Kokkos::abs(a.values[k]);
      ASSERT_LE(Kokkos::abs(y[v][i] - expected[v][i]),
                80 * std::numeric_limits<real_type_t<Scalar>>::epsilon() * size);
      ASSERT_EQ(sum[v][i], z[v][i] + y[v][i]);
    }
  // Other values in the same blocks.
  HostMatrix<Scalar> other = a;
  for (std::size_t k = 0; k < other.nnz(); ++k) other.values[k] *= real_type_t<Scalar>(k % 3 + 1);
  const StoredMatrix<Scalar, Space> later(space, to_device<Space>(other), storage, stored);
  EXPECT_EQ(later.format(), stored.format());
  expect_entries(later, reference_stored(other, storage));
  expect_entries(stored, reference_stored(a, storage));
}

TYPED_TEST(StoredMatrixTest, WholeBlocksHaveAColumnEach) {
  for (const Storage storage : storages)
    for (const auto& [r, c] :
         std::vector<std::pair<int, int>>{{1, 1}, {1, 2}, {3, 1}, {3, 3}, {6, 3}, {5, 7}}) {
      SCOPED_TRACE(std::to_string(r) + " x " + std::to_string(c));
      check_blocks<double, TypeParam>(r, c, storage);
      check_blocks<float, TypeParam>(r, c, storage);
      check_blocks<Kokkos::complex<double>, TypeParam>(r, c, storage);
    }
}

TYPED_TEST(StoredMatrixTest, RefusesWhatDoesNotFit) {
  using Stored = StoredMatrix<double, TypeParam>;
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_matrix<double>(5, 3, 0.5, 2));
  const auto scale = [](int n) { return to_device<TypeParam>(std::vector<double>(n, 2)); };
  for (const Storage storage : storages) {
    const Stored stored(space, a, storage);
    const auto refusal = [&](int rows_x, int cols_x, int rows_y, int cols_y) {
      const MultiVector<double, TypeParam> x("x", rows_x, cols_x), y("y", rows_y, cols_y);
      EXPECT_THROW(stored.add_product(space, x, y), InputError);
      return message_of<InputError>([&] { stored.multiply(space, x, y); });
    };
    EXPECT_THAT(refusal(2, 1, 5, 1), HasSubstr("the matrix is 5 x 3, x is 2 x 1"));
    EXPECT_THAT(refusal(3, 1, 4, 1), HasSubstr("y is 4 x 1"));
    EXPECT_THAT(refusal(3, 2, 5, 1), HasSubstr("x is 3 x 2"));
  }
  Stored full(space, a, Storage::full), half(space, a, Storage::half);
  EXPECT_THAT(message_of<std::logic_error>([&] { full.multiply_rows(space, scale(5)); }),
              HasSubstr("stored in full has no scales"));
  EXPECT_THAT(
      message_of<std::logic_error>([&] { Stored::with_columns_divided(space, a, Storage::full, scale(3)); }),
      HasSubstr("stored in full has no scales"));
  EXPECT_THAT(message_of<InputError>([&] { half.multiply_rows(space, scale(4)); }),
              HasSubstr("4 scales for 5 rows"));
}

}  // namespace
}  // namespace prekond::testing
