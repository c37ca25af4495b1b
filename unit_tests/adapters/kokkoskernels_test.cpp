// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/strided.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/kokkoskernels.hpp>
#include <prekond/core/options.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/validate.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include "matrix/sort_row_kernels.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

namespace prekond::testing {
namespace {

using kokkoskernels::SpmvAlgorithm;
using kokkoskernels::SpmvOperator;
using kokkoskernels::SpmvOptions;
using kokkoskernels::to_crs_matrix;
using kokkoskernels::to_csr_matrix;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<SpmvAlgorithm> algorithms = {SpmvAlgorithm::automatic, SpmvAlgorithm::native,
                                               SpmvAlgorithm::merge_path, SpmvAlgorithm::native_merge_path};

/// Rows of 0 to 2 * mean entries, unique sorted columns spread over num_cols, values in [-1, 1).
template <class Scalar>
HostMatrix<Scalar> random_matrix(int num_rows, int num_cols, int mean) {
  std::mt19937 random(unsigned(num_rows) * 31u + unsigned(num_cols) + unsigned(mean));
  HostMatrix<Scalar> a;
  a.num_rows = num_rows;
  a.num_cols = num_cols;
  for (int i = 0; i < num_rows; ++i) {
    for (int j = 0; j < num_cols; ++j) {
      if (int(random() % unsigned(num_cols)) >= mean) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(Scalar(random()) / Scalar(1u << 31) - 1);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

template <class Scalar>
std::vector<Scalar> random_vector(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Scalar> x(n);
  for (Scalar& value : x) value = Scalar(random()) / Scalar(1u << 31) - 1;
  return x;
}

template <class Space, class Scalar, class Offset>
auto with_offsets(const HostMatrix<Scalar>& a) {
  return CsrMatrix<Scalar, int, Offset, typename Space::memory_space>(
      a.num_rows, a.num_cols, to_device<Space>(std::vector<Offset>(a.row_ptrs.begin(), a.row_ptrs.end())),
      to_device<Space>(a.col_idxs), to_device<Space>(a.values));
}

/// A copy of any CsrMatrix: of const entries and of other offsets too.
template <class Matrix>
HostMatrix<typename Matrix::scalar_type> host_copy(const Matrix& a) {
  const auto ptrs = to_vector(a.row_ptrs);
  return {a.num_rows, a.num_cols, {ptrs.begin(), ptrs.end()}, to_vector(a.col_idxs), to_vector(a.values)};
}

template <class Ours, class Theirs>
void expect_shared(const Ours& ours, const Theirs& theirs) {
  EXPECT_EQ(ours.num_rows, theirs.numRows());
  EXPECT_EQ(ours.num_cols, theirs.numCols());
  EXPECT_EQ(ours.nnz(), std::int64_t(theirs.nnz()));
  EXPECT_EQ(ours.row_ptrs.data(), theirs.graph.row_map.data());
  EXPECT_EQ(ours.row_ptrs.extent(0), theirs.graph.row_map.extent(0));
  EXPECT_EQ(ours.col_idxs.data(), theirs.graph.entries.data());
  EXPECT_EQ(ours.values.data(), theirs.values.data());
  EXPECT_EQ(ours.values.extent(0), theirs.values.extent(0));
}

template <class Space>
class KokkosKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(KokkosKernelsTest, TestSpaces, SpaceNames);

// ------------------------------------------------------------------------------------------------
// conversions

template <class Space, class Scalar, class Offset>
void check_round_trip(const HostMatrix<Scalar>& host) {
  const auto a = with_offsets<Space, Scalar, Offset>(host);
  const ToolEvents events;
  const auto theirs = to_crs_matrix("prekond::testing::theirs", a);
  const auto ours = to_csr_matrix(theirs);
  EXPECT_THAT(events.allocations(), IsEmpty());
  EXPECT_THAT(events.kernels(), IsEmpty());
  EXPECT_THAT(events.fences(), IsEmpty());
  expect_shared(a, theirs);
  expect_shared(ours, theirs);
  using Theirs = std::remove_const_t<decltype(theirs)>;
  using Mine = std::remove_const_t<decltype(ours)>;
  using Memory = typename Space::memory_space;
  static_assert(std::is_same_v<Mine, CsrMatrix<Scalar, int, const Offset, Memory>>);
  static_assert(
      std::is_same_v<
          Theirs, KokkosSparse::CrsMatrix<
                      Scalar, int, Kokkos::Device<typename Memory::execution_space, Memory>, void, Offset>>);
  EXPECT_EQ(a.values.use_count(), 3);
  EXPECT_EQ(a.col_idxs.use_count(), 3);
  EXPECT_EQ(a.row_ptrs.use_count(), 3);
  EXPECT_EQ(host_copy(ours), host);
}

TYPED_TEST(KokkosKernelsTest, TheRoundTripSharesPointersAndAllocatesNothing) {
  for (const auto& host :
       {random_matrix<double>(113, 113, 7), random_matrix<double>(57, 91, 5), random_matrix<double>(1, 1, 1),
        random_matrix<double>(31, 31, 0), random_matrix<double>(0, 7, 0), random_matrix<double>(0, 0, 0)}) {
    check_round_trip<TypeParam, double, std::size_t>(host);
    check_round_trip<TypeParam, double, int>(host);
    check_round_trip<TypeParam, double, std::int64_t>(host);
  }
  check_round_trip<TypeParam, float, std::size_t>(random_matrix<float>(113, 140, 7));
  check_round_trip<TypeParam, float, int>(random_matrix<float>(113, 140, 7));
}

TYPED_TEST(KokkosKernelsTest, ADefaultConstructedMatrix) {
  using Ours = CsrMatrix<double, int, std::size_t, typename TypeParam::memory_space>;
  const auto theirs = to_crs_matrix("none", Ours());
  EXPECT_EQ(theirs.numRows(), 0);
  const auto ours = to_csr_matrix(std::remove_const_t<decltype(theirs)>());
  EXPECT_EQ(ours.num_rows, 0);
  EXPECT_EQ(ours.num_cols, 0);
  EXPECT_EQ(ours.nnz(), 0);
}

TYPED_TEST(KokkosKernelsTest, ConstAndUnmanagedStayWhatTheyAre) {
  const auto host = random_matrix<double>(57, 91, 5);
  const auto a = to_device<TypeParam>(host);
  using Memory = typename TypeParam::memory_space;
  using Device = Kokkos::Device<typename Memory::execution_space, Memory>;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;

  const CsrView<double, TypeParam> view = a;
  const auto theirs = to_crs_matrix("view", view);
  using Theirs = std::remove_const_t<decltype(theirs)>;
  static_assert(
      std::is_same_v<Theirs,
                     KokkosSparse::CrsMatrix<const double, const int, Device, Unmanaged, std::size_t>>);
  static_assert(std::is_same_v<decltype(to_csr_matrix(theirs)), CsrView<double, TypeParam>>);
  expect_shared(to_csr_matrix(theirs), theirs);
  EXPECT_EQ(a.values.use_count(), 1);

  const CsrMatrix<const double, const int, const std::size_t, Memory> constant = a;
  const auto their_constant = to_crs_matrix("constant", constant);
  expect_shared(constant, their_constant);
  EXPECT_EQ(a.values.use_count(), 3);
  static_assert(std::is_same_v<decltype(to_csr_matrix(their_constant)),
                               CsrMatrix<const double, const int, const std::size_t, Memory>>);
  EXPECT_EQ(host_copy(to_csr_matrix(their_constant)), host);
}

TYPED_TEST(KokkosKernelsTest, EachMatrixOutlivesTheOther) {
  const auto host = random_matrix<double>(57, 91, 5);
  const auto theirs = [&] { return to_crs_matrix("theirs", to_device<TypeParam>(host)); }();
  EXPECT_EQ(theirs.values.use_count(), 1);
  const auto ours = [&] { return to_csr_matrix(to_crs_matrix("theirs", to_device<TypeParam>(host))); }();
  EXPECT_EQ(ours.values.use_count(), 1);
  EXPECT_EQ(ours.row_ptrs.use_count(), 1);
  EXPECT_EQ(host_copy(ours), host);
  EXPECT_EQ(host_copy(to_csr_matrix(theirs)), host);
}

TYPED_TEST(KokkosKernelsTest, AMatrixOfTheirsWithRowsInAnyOrder) {
  // [4 0 1; 0 3 0; 1 0 5]
  using Memory = typename TypeParam::memory_space;
  using Theirs =
      KokkosSparse::CrsMatrix<double, int, Kokkos::Device<typename Memory::execution_space, Memory>, void,
                              std::size_t>;
  std::vector<double> values = {1, 4, 3, 5, 1};
  std::vector<int> rows = {0, 2, 3, 5}, cols = {2, 0, 1, 2, 0};
  const Theirs theirs("theirs", 3, 3, 5, values.data(), rows.data(), cols.data());
  const TypeParam space;
  const auto ours = to_csr_matrix(theirs);
  EXPECT_THROW((validate<double, TypeParam>(space, ours)), InputError);
  sort_rows(space, ours);
  space.fence();
  EXPECT_NO_THROW((validate<double, TypeParam>(space, ours)));
  EXPECT_EQ(to_vector(theirs.graph.entries), (std::vector<int>{0, 2, 1, 0, 2}));
  EXPECT_EQ(to_vector(theirs.values), (std::vector<double>{4, 1, 3, 1, 5}));
}

TYPED_TEST(KokkosKernelsTest, SizesThatTheirOrdinalDoesNotHoldThrow) {
  CsrMatrix<double, int, std::size_t, typename TypeParam::memory_space> a;
  a.num_cols = std::int64_t(1) << 31;
  EXPECT_THAT(message_of<InputError>([&] { to_crs_matrix("large", a); }),
              HasSubstr("the matrix is 0 x 2147483648, the ordinal holds at most 2147483647"));
}

// ------------------------------------------------------------------------------------------------ products

/// |y - (alpha A x + beta y_before)| to rounding, in long double.
template <class Scalar>
void expect_product(const HostMatrix<Scalar>& a, Scalar alpha, const std::vector<Scalar>& x, Scalar beta,
                    const std::vector<Scalar>& before, const std::vector<Scalar>& y) {
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    long double sum = 0, size = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      sum += static_cast<long double>(a.values[k]) * x[a.col_idxs[k]];
      size += std::abs(static_cast<long double>(a.values[k]) * x[a.col_idxs[k]]);
    }
    long double expected = alpha * sum;
    size *= std::abs(alpha);
    if (beta != Scalar(0)) {
      expected += beta * static_cast<long double>(before[i]);
      size += std::abs(beta * static_cast<long double>(before[i]));
    }
    ASSERT_NEAR(y[i], double(expected), double(30 * size * std::numeric_limits<Scalar>::epsilon()))
        << "row " << i;
  }
}

template <class Scalar, class Space, class Offset>
void check_operator(const HostMatrix<Scalar>& a, int k, Scalar alpha, Scalar beta, int extra,
                    SpmvAlgorithm algorithm) {
  SCOPED_TRACE(std::to_string(a.num_rows) + " x " + std::to_string(a.num_cols) + ", " +
               std::to_string(a.nnz()) + " entries, " + std::to_string(k) + " vectors, alpha " +
               std::to_string(alpha) + ", beta " + std::to_string(beta) + ", algorithm " +
               std::to_string(int(algorithm)));
  const Space space;
  const SpmvOperator<Scalar, Space, Offset> op(with_offsets<Space, Scalar, Offset>(a),
                                               SpmvOptions{algorithm});
  EXPECT_EQ(op.num_rows(), a.num_rows);
  EXPECT_EQ(op.num_cols(), a.num_cols);
  std::vector<std::vector<Scalar>> x_values, y_values;
  for (int v = 0; v < k; ++v) {
    x_values.push_back(random_vector<Scalar>(a.num_cols, 100u + v));
    y_values.push_back(beta == Scalar(0)
                           ? std::vector<Scalar>(a.num_rows, std::numeric_limits<Scalar>::quiet_NaN())
                           : random_vector<Scalar>(a.num_rows, 200u + v));
  }
  const Strided<Scalar, Space> x(x_values, a.num_cols, extra), y(y_values, a.num_rows, extra);
  for (int pass = 0; pass < 2; ++pass) {  // the second product reuses what the handle keeps
    Kokkos::deep_copy(y.whole, Strided<Scalar, Space>(y_values, a.num_rows, extra).whole);
    op.apply(space, x.part, y.part, alpha, beta);
    space.fence();
    const auto found = y.columns();
    for (int v = 0; v < k; ++v) expect_product(a, alpha, x_values[v], beta, y_values[v], found[v]);
  }
}

/// float and int offsets in the default space only: each is a minute of compilation, and Kokkos Kernels' own
/// business.
template <class Scalar, class Space, class Offset>
void check_products(const HostMatrix<Scalar>& a, int k, Scalar alpha, Scalar beta, int extra,
                    SpmvAlgorithm algorithm) {
  if constexpr (std::is_same_v<Space, Kokkos::DefaultExecutionSpace> ||
                (std::is_same_v<Scalar, double> && std::is_same_v<Offset, std::size_t>))
    check_operator<Scalar, Space, Offset>(a, k, alpha, beta, extra, algorithm);
}

TYPED_TEST(KokkosKernelsTest, ProductsOfEveryShapeAndAlgorithm) {
  for (const SpmvAlgorithm algorithm : algorithms) {
    for (const auto& [rows, cols, mean] : {std::array{1, 1, 1},
                                           {37, 37, 0},
                                           {1, 700, 600},
                                           {513, 900, 5},
                                           {777, 5, 2},
                                           {601, 601, 300},
                                           {1031, 1031, 1},
                                           {1031, 1031, 8},
                                           {1031, 1031, 33},
                                           {0, 3, 0}}) {
      check_products<double, TypeParam, std::size_t>(random_matrix<double>(rows, cols, mean), 1, 1, 0, 0,
                                                     algorithm);
      check_products<double, TypeParam, int>(random_matrix<double>(rows, cols, mean), 1, 1, 0, 0, algorithm);
      check_products<float, TypeParam, std::size_t>(random_matrix<float>(rows, cols, mean), 1, 1, 0, 0,
                                                    algorithm);
    }
  }
}

TYPED_TEST(KokkosKernelsTest, AlphaAndBetaAndNaN) {
  const auto a = random_matrix<double>(301, 333, 9);
  for (const SpmvAlgorithm algorithm : algorithms)
    for (const int k : {1, 2})
      for (const double alpha : {0.0, 1.0, -1.0, 2.5})
        for (const double beta : {0.0, 1.0, -1.0, 0.3})
          check_products<double, TypeParam, std::size_t>(a, k, alpha, beta, 0, algorithm);
  check_products<float, TypeParam, std::size_t>(random_matrix<float>(301, 333, 9), 3, -1.5f, 0.25f, 5,
                                                SpmvAlgorithm::automatic);
}

TYPED_TEST(KokkosKernelsTest, OneToFiveVectorsWithAStride) {
  const auto a = random_matrix<double>(203, 300, 17);
  for (int k = 0; k <= 5; ++k)
    for (const SpmvAlgorithm algorithm : algorithms)
      for (const int extra : {0, 11}) {
        check_products<double, TypeParam, std::size_t>(a, k, 1.5, 0, extra, algorithm);
        check_products<double, TypeParam, std::size_t>(a, k, -1, 1, extra, algorithm);
        check_products<double, TypeParam, int>(a, k, 1, 0, extra, algorithm);
      }
}

TYPED_TEST(KokkosKernelsTest, TheSameAsTheProductOfThisLibrary) {
  const TypeParam space;
  const auto a = generate<double>(space, "elasticity3d:9");
  const auto x = to_device<TypeParam>(random_vector<double>(a.num_cols, 7));
  Vector<double, TypeParam> ours("ours", a.num_rows), theirs("theirs", a.num_rows);
  spmv<double, TypeParam>(space, 1.0, a, as_multivector(x), 0.0, as_multivector(ours));
  SpmvOperator<double, TypeParam>(a).apply(space, as_multivector(x), as_multivector(theirs));
  space.fence();
  const auto found = to_vector(theirs), expected = to_vector(ours);
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(expected[i] - found[i]));
  }
  EXPECT_LE(difference, 1e-14 * largest);
}

TYPED_TEST(KokkosKernelsTest, NoAllocationAndNoFenceInALaterProduct) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_matrix<double>(1000, 1000, 10));
  const MultiVector<double, TypeParam> x("x", 1000, 3), y("y", 1000, 3);
  for (const SpmvAlgorithm algorithm : algorithms) {
    const SpmvOperator<double, TypeParam> op(a, SpmvOptions{algorithm});
    for (const int k : {1, 3}) {
      const auto columns = std::make_pair(0, k);
      const auto product = [&](double beta) {
        op.apply(space, Kokkos::subview(x, Kokkos::ALL, columns), Kokkos::subview(y, Kokkos::ALL, columns), 1,
                 beta);
      };
      for (const double beta : {0.0, 1.0, 0.5}) {
        product(beta);
        space.fence();
        const ToolEvents events;
        product(beta);
        EXPECT_THAT(events.allocations(), IsEmpty())
            << int(algorithm) << ", " << k << " vectors, beta " << beta;
        EXPECT_THAT(events.fences(), IsEmpty()) << int(algorithm) << ", " << k << " vectors, beta " << beta;
      }
    }
  }
}

TYPED_TEST(KokkosKernelsTest, WrongSizesThrow) {
  const TypeParam space;
  const SpmvOperator<double, TypeParam> op(to_device<TypeParam>(random_matrix<double>(3, 4, 2)));
  const auto product = [&](int x_rows, int x_cols, int y_rows, int y_cols) {
    return message_of<InputError>([&] {
      op.apply(space, MultiVector<double, TypeParam>("x", x_rows, x_cols),
               MultiVector<double, TypeParam>("y", y_rows, y_cols));
    });
  };
  EXPECT_THAT(product(3, 1, 3, 1), HasSubstr("the matrix is 3 x 4, x is 3 x 1, y is 3 x 1"));
  EXPECT_THAT(product(4, 1, 2, 1), HasSubstr("y is 2 x 1"));
  EXPECT_THAT(product(4, 1, 3, 2), HasSubstr("y is 3 x 2"));
  // Longer vectors are a rank's local ones with entries of others at the end: allowed, as in spmv.
  EXPECT_NO_THROW(
      op.apply(space, MultiVector<double, TypeParam>("x", 6, 2), MultiVector<double, TypeParam>("y", 5, 2)));
  space.fence();
}

TYPED_TEST(KokkosKernelsTest, OptionsHaveNames) {
  SpmvOptions options;
  const auto fields = OptionFields::of(options);
  for (const auto& [word, algorithm] : {std::pair{"native", SpmvAlgorithm::native},
                                        {"merge_path", SpmvAlgorithm::merge_path},
                                        {"native_merge_path", SpmvAlgorithm::native_merge_path},
                                        {"default", SpmvAlgorithm::automatic}}) {
    fields.set({{"algorithm", std::string(word)}}, "spmv");
    EXPECT_EQ(options.algorithm, algorithm);
  }
  EXPECT_THAT(message_of<OptionError>([&] {
                fields.set({{"algorithm", std::string("nativ")}}, "spmv");
              }),
              HasSubstr("native"));
}

// ------------------------------------------------------------------------------------------------ in a
// solver

TYPED_TEST(KokkosKernelsTest, CgNeedsAsManyIterationsOnEitherProduct) {
  const TypeParam space;
  for (const char* spec : {"elasticity3d:9", "poisson3d:17"}) {
    AdaptiveFsai<double, TypeParam> preconditioner;
    std::unique_ptr<SpmvOperator<double, TypeParam>> theirs;
    std::unique_ptr<CsrOperator<double, TypeParam>> ours;
    std::int64_t n = 0;
    {
      // The matrix goes; the operators keep its views.
      const auto a = generate<double>(space, spec);
      preconditioner.symbolic(space, a);
      preconditioner.numeric(space, a);
      theirs = std::make_unique<SpmvOperator<double, TypeParam>>(a);
      ours = std::make_unique<CsrOperator<double, TypeParam>>(a);
      n = a.num_rows;
    }
    const auto b = to_device<TypeParam>(random_vector<double>(n, 3));
    StoppingOptions stopping;
    stopping.rtol = 1e-8;
    const auto solve = [&](const Operator<double, TypeParam>& op) {
      Vector<double, TypeParam> x("x", n);
      const auto result = Cg<double, TypeParam>().solve(space, op, &preconditioner, b, x, stopping);
      EXPECT_TRUE(result.converged) << spec;
      return std::make_pair(result.iterations, result.relative_residual);
    };
    const auto expected = solve(*ours), found = solve(*theirs);
    EXPECT_EQ(found.first, expected.first)
        << spec << ": residuals " << found.second << ", " << expected.second;
    EXPECT_GT(found.first, 10);
  }
}

}  // namespace
}  // namespace prekond::testing
