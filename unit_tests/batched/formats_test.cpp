// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/batch_cases.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include "core/concurrency.hpp"

#include "batched/lane_group.hpp"

namespace prekond::testing {
namespace {

using namespace impl::batched;

template <class Space>
class BatchedFormatsTest : public ::testing::Test {};
TYPED_TEST_SUITE(BatchedFormatsTest, TestSpaces, SpaceNames);

/// y = A x by a team a system: all of it, or its first vector; and sums of y.
template <class Scalar, class Matrix, int Lanes>
struct MultiplyAll {
  using Space = typename Matrix::execution_space;
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  decltype(std::declval<Matrix>().systems()) systems;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  VectorView<Scalar, Space> sums;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int s = team.league_rank();
    if constexpr (Lanes == 0)
      run(SystemTeamLaneGroup<Space, Member>(
              team, team.team_shmem().get_shmem_aligned(SystemTeamLaneGroup<Space, Member>::bytes + 16, 16)),
          s);
    else
      run(NativeLaneGroup<Space, Member, Lanes>(team), s);
  }
  template <class LaneGroup>
  KOKKOS_FUNCTION void run(const LaneGroup& lane_group, int s) const {
    const auto a = systems.system(s);
    const Scalar* x_s = &x(0, s);
    Scalar* y_s = &y(0, s);
    multiply(lane_group, a, x_s, y_s);
    const Scalar first = sum_elements<Scalar>(lane_group, a.num_rows, [&](int i) { return y_s[i]; });
    const Scalar second = multiply_and_sum<Scalar>(
        lane_group, a, x_s, y_s, [&](int i, const Scalar& y_i) { return Scalar(i + 1) * y_i; });
    Scalar both[2];
    update_and_sum<Scalar>(
        lane_group, a.num_rows, both, [&](int i) { y_s[i] *= Scalar(2); },
        [&](int i, Scalar* mine) {
          mine[0] += y_s[i];
          mine[1] += Scalar(i) * y_s[i];
        });
    lane_group.once(
        [&] { sums(s) = first + Scalar(10) * second + Scalar(100) * both[0] + Scalar(1000) * both[1]; });
  }
};

template <class Scalar, int Lanes, class Matrix>
void expect_product(const Matrix& a, const std::vector<HostMatrix<Scalar>>& systems) {
  using Space = typename Matrix::execution_space;
  const Space space;
  const auto n = static_cast<std::size_t>(a.num_rows);
  SCOPED_TRACE(std::string(Matrix::name) + ", lanes " + std::to_string(Lanes) + ", rows " +
               std::to_string(n));
  std::vector<std::vector<Scalar>> x;
  for (std::size_t s = 0; s < systems.size(); ++s) {
    const auto real = random_vector(n, unsigned(s));
    x.emplace_back(real.begin(), real.end());
  }
  const auto x_device = device_columns<Scalar, Space>(x, n);
  const MultiVector<Scalar, Space> y("prekond::testing::y", n, systems.size());
  const Vector<Scalar, Space> sums("prekond::testing::sums", systems.size());
  const MultiplyAll<Scalar, Matrix, Lanes> multiply_all{a.systems(), x_device, y, sums};
  Kokkos::TeamPolicy<Space> policy(space, int(systems.size()), 1, is_host_space<Space> ? 1 : 8);
  if constexpr (Lanes == 0)
    policy = Kokkos::TeamPolicy<Space>(space, int(systems.size()),
                                       is_host_space<Space> ? std::min(2, concurrency(space)) : 3,
                                       is_host_space<Space> ? 1 : 32);
  policy.set_scratch_size(0, Kokkos::PerTeam(4096));
  Kokkos::parallel_for("prekond::testing::multiply", policy, multiply_all);
  const auto y_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  const auto found = to_vector(sums);
  for (std::size_t s = 0; s < systems.size(); ++s) {
    Scalar sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Scalar expected = 0;
      for (std::size_t k = systems[s].row_ptrs[i]; k < systems[s].row_ptrs[i + 1]; ++k)
        expected += systems[s].values[k] * x[s][systems[s].col_idxs[k]];
      ASSERT_NEAR(Kokkos::abs(y_host(i, s) - Scalar(2) * expected), 0, 1e-11) << i << " of system " << s;
      sum += expected * Scalar(1 + 10.0 * (i + 1) + 200 + 2000.0 * i);
    }
    ASSERT_NEAR(Kokkos::abs(found[s] - sum), 0, 1e-9 * (1 + double(n) * double(n))) << "system " << s;
  }
}

template <class Scalar, class Space>
void expect_products(const std::vector<HostMatrix<Scalar>>& systems) {
  const Space space;
  const DeviceBatch<Scalar, Space> batch(systems);
  const auto ell = to_ell(space, batch.matrix);
  const auto dense = to_dense(space, batch.matrix);
  const auto banded = to_banded(space, batch.matrix);
  const auto all = [&]<int Lanes>() {
    expect_product<Scalar, Lanes>(batch.matrix, systems);
    expect_product<Scalar, Lanes>(ell.matrix, systems);
    expect_product<Scalar, Lanes>(dense.matrix, systems);
    expect_product<Scalar, Lanes>(banded.matrix, systems);
  };
  all.template operator()<8>();
  all.template operator()<0>();
}

TYPED_TEST(BatchedFormatsTest, ProductsMatchTheReference) {
  for (const int n : {1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 257})
    expect_products<double, TypeParam>(perturbed(uneven_matrix(n), 3, 0.1));
  expect_products<double, TypeParam>(perturbed(random_general(67, 0.6, 3), 33, 0.1));
  expect_products<double, TypeParam>(perturbed(random_general(65, 0.05, 3), 2, 0.1));
  std::vector<HostMatrix<Kokkos::complex<double>>> systems;
  for (const auto& a : perturbed(random_general(37, 0.9, 3), 3, 0.1))
    systems.push_back(in_scalar<Kokkos::complex<double>>(a, 0.1));
  expect_products<Kokkos::complex<double>, TypeParam>(systems);
}

/// The matrix with zeros stored in all places up to `lower` below and `upper` above the diagonal.
HostMatrix<double> with_band(const HostMatrix<double>& a, int lower, int upper) {
  HostMatrix<double> band{a.num_rows, a.num_cols, {0}, {}, {}};
  for (int i = 0; i < a.num_rows; ++i) {
    for (int j = std::max(0, i - lower); j < std::min(int(a.num_cols), i + upper + 1); ++j) {
      band.col_idxs.push_back(j);
      band.values.push_back(a(i, j));
    }
    band.row_ptrs.push_back(band.col_idxs.size());
  }
  return band;
}

/// An ELL batch with a place of padding before the entries of each row.
template <class Space>
struct PaddedEll {
  explicit PaddedEll(const BatchedEll<double, Space>& a)
      : col_idxs("prekond::testing::col_idxs", a.num_rows, a.width() + 1),
        values("prekond::testing::values", a.stored_values() + a.num_rows, a.num_systems()) {
    Kokkos::deep_copy(col_idxs, -1);
    Kokkos::deep_copy(values, 1e30);
    using Range = std::pair<std::int64_t, std::int64_t>;
    const std::int64_t n = a.num_rows, stored = a.stored_values();
    Kokkos::deep_copy(Kokkos::subview(col_idxs, Kokkos::ALL, Range(1, a.width() + 1)), a.col_idxs);
    Kokkos::deep_copy(Kokkos::subview(values, Range(n, n + stored), Kokkos::ALL),
                      Kokkos::subview(a.values, Range(0, stored), Kokkos::ALL));
    matrix = {a.num_rows, col_idxs, values, a.nnz};
  }
  MultiVector<int, Space> col_idxs;
  MultiVector<double, Space> values;
  BatchedEll<double, Space> matrix;
};

/// The solution of each format is that of the CSR batch of the format's pattern.
template <class Space>
void expect_same_solutions(const std::vector<HostMatrix<double>>& systems, BatchedMethod method,
                           BatchedPreconditioner inverse) {
  SCOPED_TRACE("method " + std::to_string(int(method)) + ", preconditioner " + std::to_string(int(inverse)));
  const Space space;
  const auto n = int(systems.front().num_rows), count = int(systems.size());
  const auto b = random_columns(n, count);
  auto options = options_of(method, inverse, 1e-10, 12);
  options.power = 2;
  const auto expect_alike = [&](const auto& a, const BatchedCsr<double, Space>& same_pattern) {
    SCOPED_TRACE(a.name);
    const auto found = solve_batch<double>(a, b, options);
    const auto csr = solve_batch<double>(same_pattern, b, options);
    EXPECT_EQ(found.replaced, csr.replaced);
    EXPECT_EQ(found.unsettled, csr.unsettled);
    for (int s = 0; s < count; ++s) {
      EXPECT_LE(std::abs(found.iterations[s] - csr.iterations[s]), 1);
      for (int i = 0; i < n; ++i) ASSERT_NEAR(found.x[s][i], csr.x[s][i], 1e-8 * (1 + std::abs(csr.x[s][i])));
    }
  };
  const DeviceBatch<double, Space> batch(systems);
  const auto ell = to_ell(space, batch.matrix);
  const auto banded = to_banded(space, batch.matrix);
  const auto dense = to_dense(space, batch.matrix);
  const auto of_band = [&](int lower, int upper) {
    std::vector<HostMatrix<double>> wider;
    for (const auto& a : systems) wider.push_back(with_band(a, lower, upper));
    return DeviceBatch<double, Space>(wider);
  };
  expect_alike(ell.matrix, batch.matrix);
  expect_alike(PaddedEll<Space>(ell.matrix).matrix, batch.matrix);
  expect_alike(banded.matrix, of_band(banded.matrix.lower, banded.matrix.upper).matrix);
  expect_alike(dense.matrix, of_band(n, n).matrix);
}

TYPED_TEST(BatchedFormatsTest, AllFormatsGiveTheSameSolutions) {
  const auto systems = perturbed(uneven_matrix(33), 7, 0.1);
  const auto spd = perturbed(random_spd(33, 0.05, 5), 7, 0.001, true);
  for (const auto inverse :
       {BatchedPreconditioner::none, BatchedPreconditioner::jacobi, BatchedPreconditioner::block_jacobi,
        BatchedPreconditioner::ilu0, BatchedPreconditioner::par_ilu, BatchedPreconditioner::isai,
        BatchedPreconditioner::ilu_isai})
    for (const auto method :
         {BatchedMethod::bicgstab, BatchedMethod::gmres, BatchedMethod::idr, BatchedMethod::richardson})
      expect_same_solutions<TypeParam>(systems, method, inverse);
  for (const auto inverse :
       {BatchedPreconditioner::none, BatchedPreconditioner::jacobi, BatchedPreconditioner::block_jacobi,
        BatchedPreconditioner::ic0, BatchedPreconditioner::fsai})
    for (const auto method : {BatchedMethod::cg, BatchedMethod::gmres})
      expect_same_solutions<TypeParam>(spd, method, inverse);
}

template <class Scalar, class Value, class Space>
void expect_solutions(double imaginary, double rtol) {
  std::vector<HostMatrix<Value>> systems;
  for (const auto& a : perturbed(uneven_matrix(65), 5, 0.1))
    systems.push_back(in_scalar<Value>(a, imaginary));
  std::vector<std::vector<Scalar>> b;
  for (const auto& column : random_columns(65, 5)) b.emplace_back(column.begin(), column.end());
  const DeviceBatch<Value, Space> batch(systems);
  for (const auto inverse : {BatchedPreconditioner::none, BatchedPreconditioner::jacobi,
                             BatchedPreconditioner::ilu0, BatchedPreconditioner::par_ilu}) {
    const auto solved =
        solve_batch<Scalar>(batch.matrix, b, options_of(BatchedMethod::bicgstab, inverse, rtol));
    EXPECT_EQ(solved.report.num_converged, 5) << int(inverse) << solved.report.text();
    for (int s = 0; s < 5; ++s) {
      double rest = 0, size = 0;
      for (int i = 0; i < 65; ++i) {
        Scalar r = b[s][i];
        for (std::size_t k = systems[s].row_ptrs[i]; k < systems[s].row_ptrs[i + 1]; ++k)
          r -= static_cast<Scalar>(systems[s].values[k]) * solved.x[s][systems[s].col_idxs[k]];
        rest += double(abs2(r));
        size += double(abs2(b[s][i]));
      }
      EXPECT_LE(std::sqrt(rest / size), 1.01 * rtol) << int(inverse);
      EXPECT_NEAR(solved.relative[s], std::sqrt(rest / size), 0.2 * rtol);
    }
  }
}

TYPED_TEST(BatchedFormatsTest, OtherScalars) {
  expect_solutions<Kokkos::complex<double>, Kokkos::complex<double>, TypeParam>(0.02, 1e-10);
  expect_solutions<float, float, TypeParam>(0, 1e-5);
  expect_solutions<double, float, TypeParam>(0, 1e-10);
  expect_solutions<Kokkos::complex<float>, Kokkos::complex<float>, TypeParam>(0.02, 1e-5);
}

TYPED_TEST(BatchedFormatsTest, ListsOfMatrices) {
  const TypeParam space;
  auto systems = perturbed(uneven_matrix(9), 4, 0.1);
  const auto convert = [&] {
    std::vector<CsrMatrix<double, int, std::size_t, typename TypeParam::memory_space>> owned;
    for (const auto& a : systems) owned.push_back(to_device<TypeParam>(a));
    return batched_from_matrices<double, TypeParam>(
        space, std::vector<CsrView<double, TypeParam>>(owned.begin(), owned.end()));
  };
  const auto batch = convert();
  expect_product<double, 8>(batch.matrix, systems);
  systems[2].col_idxs[1] += 1;
  EXPECT_THAT(message_of<InputError>(convert),
              ::testing::HasSubstr("matrix 2 of the list has another pattern"));
  systems[1] = uneven_matrix(8);
  EXPECT_THAT(message_of<InputError>(convert),
              ::testing::HasSubstr("matrix 1 of the list has another pattern"));
  systems.clear();
  EXPECT_THAT(message_of<InputError>(convert), ::testing::HasSubstr("the list of matrices is empty"));
}

HostMatrix<double> block_diagonal(const std::vector<HostMatrix<double>>& blocks) {
  HostMatrix<double> a;
  for (const auto& block : blocks) {
    for (std::int64_t i = 0; i < block.num_rows; ++i)
      a.row_ptrs.push_back(a.row_ptrs.back() + block.row_ptrs[i + 1] - block.row_ptrs[i]);
    for (const int col : block.col_idxs) a.col_idxs.push_back(int(a.num_rows) + col);
    a.values.insert(a.values.end(), block.values.begin(), block.values.end());
    a.num_rows = a.num_cols = a.num_rows + block.num_rows;
  }
  return a;
}

TYPED_TEST(BatchedFormatsTest, BlocksOfAMatrix) {
  const TypeParam space;
  const auto blocks = perturbed(uneven_matrix(9), 4, 0.1);
  HostMatrix<double> host = block_diagonal(blocks);
  const auto convert = [&](int rows) {
    const auto a = to_device<TypeParam>(host);
    const auto batch = batched_from_blocks<double, TypeParam>(space, a, rows);
    expect_product<double, 8>(batch, blocks);
  };
  convert(9);
  EXPECT_THAT(message_of<InputError>([&] { convert(5); }),
              ::testing::HasSubstr("do not make a matrix of 36"));
  const std::size_t place = host.row_ptrs[9 * 2 + 3];
  host.col_idxs[place] -= 1;
  EXPECT_THAT(message_of<InputError>([&] { convert(9); }), ::testing::HasSubstr("block 2 of the matrix"));
  host = block_diagonal(blocks);
  host.col_idxs[host.row_ptrs[9] - 1] = 9;
  EXPECT_THAT(message_of<InputError>([&] { convert(9); }), ::testing::HasSubstr("block 0 of the matrix"));
}

}  // namespace
}  // namespace prekond::testing
