// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pieces of multigrid's levels.
#include <prekond/krylov/lanczos.hpp>
#include <prekond/precond/jacobi.hpp>

#include "testing/amg_cases.hpp"
#include "testing/krylov_solves.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_amg.hpp"
#include "testing/reference_eigenvalues.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "precond/multigrid/strength.hpp"

#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/node_patterns.hpp"
#include "precond/multigrid/prolongator.hpp"

#include <cmath>

namespace prekond::testing {
namespace {

using namespace impl::amg;

template <class Space>
class AmgPiecesTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgPiecesTest, TestSpaces, SpaceNames);

template <class Space>
double eigenvalue_of(const CsrView<double, Space>& a) {
  const Space space;
  return largest_scaled_eigenvalue<double, Space>(space, a, CsrOperator<double, Space>(a),
                                                  row_sums<double, Space>(space, a));
}

template <class Space>
Aggregates<Space> aggregates_of(const std::vector<int>& part, int count) {
  Aggregates<Space> result;
  result.count = count;
  result.part = to_device<Space>(part);
  return result;
}

template <class Space>
Tentative<double, Space> tentative_of(const Aggregates<Space>& aggregates, int unknowns,
                                      const MultiVector<double, Space>& b) {
  return tentative_prolongator<double, Space>(Space(), aggregates, membership<Space>(Space(), aggregates),
                                              unknowns, MultiVectorView<const double, Space>(b));
}

/// I - omega D^-1 A_F: a prolongator smoothed from Q = I.
template <class Space>
HostMatrix<double> smoothing_of(const CsrMatrix<double, int, std::size_t, typename Space::memory_space>& f,
                                double omega) {
  const Space space;
  HostMatrix<double> q;
  q.num_rows = q.num_cols = f.num_rows;
  for (std::int64_t i = 0; i < q.num_rows; ++i) {
    q.col_idxs.push_back(static_cast<int>(i));
    q.values.push_back(1);
    q.row_ptrs.push_back(q.col_idxs.size());
  }
  const auto p = to_device<Space>(to_host(f));  // F I
  smooth_prolongator<double, Space>(space, f, omega, to_device<Space>(q), p);
  return to_host(p);
}

/// Q and R by Gram-Schmidt's method in long double, an aggregate after the other.
void expect_tentative(const std::vector<int>& part, int count, int unknowns, const DenseMatrix& b,
                      const HostMatrix<double>& q, const DenseMatrix& r) {
  const int m = static_cast<int>(b[0].size());
  const std::int64_t n = static_cast<std::int64_t>(b.size());
  ASSERT_EQ(q.num_rows, n);
  ASSERT_EQ(q.num_cols, count * m);
  for (int g = 0; g < count; ++g) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n; ++i)
      if (part[i / unknowns] == g) rows.push_back(i);
    std::vector<std::vector<long double>> columns;
    for (int c = 0; c < m; ++c) {
      std::vector<long double> v;
      for (const auto i : rows) v.push_back(b[i][c]);
      const auto dot = [&](const auto& x, const auto& y) {
        long double sum = 0;
        for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
        return sum;
      };
      const long double before = std::sqrt(dot(v, v));
      for (int pass = 0; pass < 2; ++pass)
        for (const auto& other : columns) {
          const long double along = dot(other, v);
          for (std::size_t k = 0; k < v.size(); ++k) v[k] -= along * other[k];
        }
      const long double after = std::sqrt(dot(v, v));
      const bool depends = !(after > 1e-10L * before);
      for (auto& value : v) value = depends ? 0 : value / after;
      ASSERT_NEAR(r[g * m + c][c], double(depends ? 0 : after), 1e-13 * double(before) + 1e-300);
      columns.push_back(v);
      for (std::size_t k = 0; k < rows.size(); ++k)
        ASSERT_NEAR(q(rows[k], g * m + c), double(v[k]), 1e-12) << "aggregate " << g << ", column " << c;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const int g = part[i / unknowns];
    ASSERT_EQ(q.row_ptrs[i + 1] - q.row_ptrs[i], g < 0 ? 0u : unsigned(m));
    for (int c = 0; g >= 0 && c < m; ++c) {
      double sum = 0;
      for (int k = 0; k < m; ++k) sum += q(i, g * m + k) * r[g * m + k][c];
      ASSERT_NEAR(sum, b[i][c], 1e-12) << "Q R is not B in row " << i;
    }
  }
}

template <class Space>
DenseMatrix to_rows(const MultiVector<double, Space>& v) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, v);
  DenseMatrix result(host.extent(0), std::vector<double>(host.extent(1)));
  for (std::size_t i = 0; i < host.extent(0); ++i)
    for (std::size_t c = 0; c < host.extent(1); ++c) result[i][c] = host(i, c);
  return result;
}

TYPED_TEST(AmgPiecesTest, TheTentativeProlongatorIsAQrOfEachAggregate) {
  struct Case {
    int nodes, unknowns, vectors, count;
    std::vector<int> part;
  };
  std::vector<Case> cases;
  for (const int unknowns : {1, 2, 3})
    for (const int vectors : {1, 3, 6}) {
      Case one{
          131, unknowns, vectors, 9, {}};  // members far apart; some nodes in none; aggregates of one node
      for (int node = 0; node < one.nodes; ++node)
        one.part.push_back(node % 10 == 9 ? -1
                           : node < 110   ? node % 7
                           : node == 111  ? 7
                           : node == 112  ? 8
                                          : 0);
      cases.push_back(one);
    }
  cases.push_back({1, 1, 1, 1, {0}});
  cases.push_back({5, 1, 1, 0, {-1, -1, -1, -1, -1}});
  for (const auto& [nodes, unknowns, vectors, count, part] : cases) {
    SCOPED_TRACE(std::to_string(nodes) + " nodes, " + std::to_string(unknowns) + " unknowns, " +
                 std::to_string(vectors) + " vectors");
    std::vector<std::vector<double>> columns;
    for (int c = 0; c < vectors; ++c) columns.push_back(random_vector(nodes * unknowns, 10 + c));
    if (vectors > 2)  // the second depends on the first in aggregate 1, and is zero in aggregate 2
      for (int i = 0; i < nodes * unknowns; ++i) {
        if (part[i / unknowns] == 1) columns[1][i] = 2 * columns[0][i];
        if (part[i / unknowns] == 2) columns[1][i] = 0;
      }
    const auto b = to_columns<TypeParam>(columns);
    const auto found = tentative_of<TypeParam>(aggregates_of<TypeParam>(part, count), unknowns, b);
    expect_tentative(part, count, unknowns, to_rows<TypeParam>(b), to_host(found.q),
                     to_rows<TypeParam>(found.near_null_space));
  }
}

TYPED_TEST(AmgPiecesTest, ConstantsAreOneForEachUnknown) {
  for (const int unknowns : {1, 2, 3, 5}) {
    const auto v = to_rows<TypeParam>(constant_vectors<double, TypeParam>(TypeParam(), 30, unknowns));
    for (int i = 0; i < 30; ++i)
      for (int c = 0; c < unknowns; ++c) ASSERT_EQ(v[i][c], i % unknowns == c ? 1.0 : 0.0);
  }
}

/// A_F by its definition, and I - omega D^-1 A_F.
void expect_smoothing(const HostMatrix<double>& a, int unknowns, double theta, double damping,
                      const HostMatrix<double>& s, double lambda) {
  const std::int64_t n = a.num_rows;
  const auto block_norm = [&](std::int64_t node, std::int64_t other) {
    double sum = 0;
    for (int r = 0; r < unknowns; ++r)
      for (int c = 0; c < unknowns; ++c) sum += std::pow(a(node * unknowns + r, other * unknowns + c), 2);
    return std::sqrt(sum);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> row(n, 0.0);
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const std::int64_t j = a.col_idxs[k], node = i / unknowns, other = j / unknowns;
      if (j >= n) continue;
      const double limit = theta * std::sqrt(block_norm(node, node) * block_norm(other, other));
      const bool strong = node == other || block_norm(node, other) > limit || block_norm(other, node) > limit;
      row[strong ? j : i] += a.values[k];
    }
    const double diagonal = row[i], omega = damping / lambda;
    for (std::int64_t j = 0; j < n; ++j) {
      const double expected = (i == j ? 1 : 0) - (diagonal > 0 ? omega / diagonal * row[j] : 0);
      ASSERT_NEAR(s(i, j), expected, 1e-13) << i << ", " << j;
    }
  }
}

TYPED_TEST(AmgPiecesTest, TheSmoothingMatrixEqualsItsDefinition) {
  HostMatrix<double> holes = problem("poisson2d:7");  // rows without a diagonal, or with a negative one
  for (std::size_t k = holes.row_ptrs[3]; k < holes.row_ptrs[4]; ++k)
    if (holes.col_idxs[k] == 3) holes.values[k] = -1;
  for (std::size_t k = holes.row_ptrs[20]; k < holes.row_ptrs[21]; ++k)
    if (holes.col_idxs[k] == 20) holes.values[k] = 0;
  for (const auto& [a, unknowns] :
       {std::pair(problem("poisson2d:9"), 1), std::pair(problem("tridiagonal:1"), 1),
        std::pair(problem("anisotropic2d:8,epsilon=0.01"), 1), std::pair(problem("elasticity3d:3"), 3),
        std::pair(holes, 1), std::pair(problem("convection_diffusion3d:4"), 1)})
    for (const double theta : {0.0, 0.08, 0.3}) {
      SCOPED_TRACE(std::to_string(a.num_rows) + " rows, theta " + std::to_string(theta));
      const TypeParam space;
      const auto device = to_device<TypeParam>(a);
      const auto strong = strong_connections<double, TypeParam>(space, device, unknowns, theta);
      const auto pattern = filtered_pattern<double, TypeParam>(space, device, strong, unknowns);
      const auto f = filtered_matrix<double, TypeParam>(space, device, pattern);
      const double lambda = eigenvalue_of<TypeParam>(f);
      EXPECT_GT(lambda, 0);
      expect_smoothing(a, unknowns, theta, 4.0 / 3, smoothing_of<TypeParam>(f, 4.0 / 3 / lambda), lambda);
    }
}

TYPED_TEST(AmgPiecesTest, LambdaBoundsTheEigenvalues) {
  for (const char* spec : {"elasticity3d:3", "elasticity3d:4", "circuit:9", "anisotropic2d:12"}) {
    const HostMatrix<double> matrix = problem(spec);
    const double most = symmetric_eigenvalues(matrix, true).back();
    EXPECT_GE(eigenvalue_of<TypeParam>(to_device<TypeParam>(matrix)), most * (1 - 1e-12)) << spec;
    EXPECT_LE(eigenvalue_of<TypeParam>(to_device<TypeParam>(matrix)), 1.15 * most) << spec;
  }
  // The largest eigenvalue of D^-1 A for the Laplacian on n x n points: 1 + cos(pi / (n + 1)).
  const HostMatrix<double> a = problem("poisson2d:30");
  const TypeParam space;
  const auto device = to_device<TypeParam>(a);
  const double lambda = eigenvalue_of<TypeParam>(device);
  const double largest = 1 + std::cos(M_PI / 31);
  EXPECT_GE(lambda, largest);
  EXPECT_LE(lambda, 1.1 * largest * (1 + 1e-12));
}

template <class Space>
using DeviceMatrix = CsrMatrix<double, int, std::size_t, typename Space::memory_space>;

/// A_F where entries are left out for theta, else A.
template <class Space>
DeviceMatrix<Space> strongly_coupled(const DeviceMatrix<Space>& a, int unknowns, double theta) {
  const Space space;
  const auto strong = strong_connections<double, Space>(space, a, unknowns, theta);
  const auto pattern = filtered_pattern<double, Space>(space, a, strong, unknowns);
  return pattern.nnz() == a.nnz() ? a : filtered_matrix<double, Space>(space, a, pattern);
}

/// M = I or another multiple of it.
template <class Space>
Jacobi<double, Space> multiple_of_identity(double factor, std::int64_t n) {
  Jacobi<double, Space> m;
  m.numeric(Space(),
            to_device<Space>(diagonal_matrix(std::vector<double>(static_cast<std::size_t>(n), factor))));
  return m;
}

// Ten Lanczos steps are enough where the largest Ritz value has settled by then. It has not where one
// eigenvalue is apart from 5000 others.
TYPED_TEST(AmgPiecesTest, EigenvaluesAreEstimatedByTenStepsWhereTheseAreEnough) {
  const TypeParam space;
  for (const double apart : {1.0, 1.08}) {
    const int n = 5001;
    std::vector<double> values(n);
    for (int i = 0; i < n; ++i) values[i] = (i + 1.0) / n;
    values[n / 3] = apart;
    const auto a = to_device<TypeParam>(diagonal_matrix(values));
    const CsrOperator<double, TypeParam> product(a);
    const auto m = multiple_of_identity<TypeParam>(1, n);
    const auto lanczos_of = [&](int steps) {
      return lanczos<double, TypeParam>(space, product, &m, {.steps = steps});
    };
    const LanczosResult ten = lanczos_of(10), twenty = lanczos_of(20);
    const bool is_settled = ten.largest.bound < 0.05 * ten.largest.value;
    ASSERT_EQ(is_settled, apart == 1) << ten.largest.bound;
    const double found = estimated_largest_eigenvalue<double, TypeParam>(space, product, m);
    EXPECT_EQ(found, is_settled ? 1.15 * ten.largest.value : twenty.upper_bound);
    EXPECT_GE(found, apart);
  }
}

TYPED_TEST(AmgPiecesTest, EigenvaluesAreNotEstimatedWhereMIsNegative) {
  const auto a = to_device<TypeParam>(problem("poisson2d:9"));
  const auto m = multiple_of_identity<TypeParam>(-1, a.num_rows);
  EXPECT_EQ(
      (estimated_largest_eigenvalue<double, TypeParam>(TypeParam(), CsrOperator<double, TypeParam>(a), m)),
      0);
}

TYPED_TEST(AmgPiecesTest, ProlongatorsAreSmoothedByStrongCouplings) {
  struct Case {
    const char* matrix;
    int unknowns;
    double theta;
    bool drops;
  };
  for (const auto& [matrix, unknowns, theta, drops] :
       {Case{"poisson2d:20", 1, 0.02, false}, Case{"anisotropic2d:19,epsilon=0.001", 1, 0.08, true},
        Case{"elasticity3d:5", 3, 0.0, false}, Case{"elasticity3d:5", 3, 0.2, true}}) {
    SCOPED_TRACE(matrix);
    AmgOptions options;
    options.coarse_size = 5;
    options.unknowns_per_node = unknowns;
    options.theta = theta;
    const auto a = to_device<TypeParam>(problem(matrix));
    Report report;
    const Hierarchy<double, TypeParam> found(TypeParam(), options, MatrixSource<double, TypeParam>(a),
                                             nullptr, report);
    const auto& transfer = found.levels()[0].transfer;
    EXPECT_EQ(transfer.drops, drops);
    const auto f = strongly_coupled<TypeParam>(a, unknowns, theta);
    EXPECT_EQ(f.nnz() < a.nnz(), drops);
    const double lambda = found.levels()[0].lambda;  // found with A as it is stored
    EXPECT_NEAR(lambda / eigenvalue_of<TypeParam>(a), 1, 1e-6);
    const HostMatrix<double> s = smoothing_of<TypeParam>(f, 1.3333 / lambda);
    const DenseMatrix expected = dense_product(dense(s), dense(to_host(transfer.q)), false);
    const DenseMatrix p = dense(to_host(transfer.prolongator));
    for (std::size_t i = 0; i < p.size(); ++i)
      for (std::size_t j = 0; j < p[0].size(); ++j)
        ASSERT_NEAR(p[i][j], expected[i][j], 1e-12) << i << ", " << j;
  }
}

TYPED_TEST(AmgPiecesTest, SmoothersOfTheDiagonalAreDampedByTheProlongatorsEigenvalue) {
  const TypeParam space;
  const HostMatrix<double> host = problem("poisson2d:20");
  const auto a = to_device<TypeParam>(host);
  const double lambda = eigenvalue_of<TypeParam>(a);
  const auto level_of = [&](const MethodChoice& smoother) {
    AmgOptions options;
    options.coarse_size = 5;
    options.smoother = smoother;
    Report report;
    return Hierarchy<double, TypeParam>(space, options, MatrixSource<double, TypeParam>(a), nullptr, report)
        .levels()[0];
  };
  EXPECT_EQ(level_of({"jacobi", {}}).omega, std::min(1.0, 1.6 / lambda));
  EXPECT_NE(level_of({"jacobi", {{"omega", 0.5}}}).omega, std::min(1.0, 1.6 / lambda));  // by M's own
  const std::vector<double> b = random_vector(host.num_rows, 1);
  const auto chebyshev = [&](const OptionMap& options) {
    const auto m = create_preconditioner<double, TypeParam>("chebyshev", options);
    m->numeric(space, a);
    return applied_to<TypeParam>(*m, b);
  };
  const OptionMap known = {{"lambda_max", lambda}}, own = {{"lanczos_steps", std::int64_t(3)}};
  EXPECT_EQ(applied_to<TypeParam>(*level_of({"chebyshev", {}}).smoother, b), chebyshev(known));
  EXPECT_EQ(applied_to<TypeParam>(*level_of({"chebyshev", own}).smoother, b), chebyshev(own));
  EXPECT_NE(chebyshev(known), chebyshev(own));
}

TYPED_TEST(AmgPiecesTest, PolynomialSmoothersShareTheLevelsMatrix) {
  const TypeParam space;
  const HostMatrix<double> host = problem("circuit:9");
  const auto a = to_device<TypeParam>(host);
  const std::vector<double> b = random_vector(host.num_rows, 1);
  const MethodChoice chebyshev{"chebyshev", {}}, polynomial{"ls_polynomial", {}},
      of_its_own{"chebyshev", {{"storage", std::string("full")}}};
  struct Case {
    MethodChoice smoother;
    int candidates;
    bool shares_finest, shares_coarse;
  };
  for (const Case& test : {Case{chebyshev, 0, true, true}, Case{polynomial, 0, true, true},
                           Case{of_its_own, 0, false, false}, Case{chebyshev, 1, true, true}}) {
    AmgOptions options;
    options.coarse_size = 5;
    options.max_levels = 2;
    options.smoother = test.smoother;
    options.candidates = test.candidates;
    Report report;
    const MatrixSource<double, TypeParam> source(a);
    const Hierarchy<double, TypeParam> first(space, options, source, nullptr, report);
    ASSERT_EQ(first.levels().size(), 2u);
    const auto shares = [&](int l) {
      return first.levels()[l].smoother->report().bytes == 8 * first.levels()[l].num_rows();
    };
    EXPECT_EQ(shares(0), test.shares_finest);
    EXPECT_EQ(shares(1), test.shares_coarse);
    // The same smoother for the same matrix again, whatever made the first.
    const auto y = applied_to<TypeParam>(*first.levels()[0].smoother, b);
    const Hierarchy<double, TypeParam> again(space, options, source, &first, report);
    EXPECT_EQ(again.levels()[0].smoother, first.levels()[0].smoother);
    EXPECT_EQ(applied_to<TypeParam>(*again.levels()[0].smoother, b), y);
  }
}

TYPED_TEST(AmgPiecesTest, CoarseMatricesAreGalerkinProducts) {
  for (const auto& [a, unknowns] :
       {std::pair(problem("poisson2d:20"), 1), std::pair(problem("elasticity3d:5"), 3),
        std::pair(problem("anisotropic2d:19,epsilon=0.001"), 1)})
    for (const auto prolongator : {AmgProlongator::smoothed, AmgProlongator::unsmoothed}) {
      SCOPED_TRACE(a.num_rows);
      AmgOptions options;
      options.coarse_size = 5;
      options.unknowns_per_node = unknowns;
      options.prolongator = prolongator;
      const auto device = to_device<TypeParam>(a);
      Report report;
      const Hierarchy<double, TypeParam> found(TypeParam(), options, MatrixSource<double, TypeParam>(device),
                                               nullptr, report);
      ASSERT_GT(found.levels().size(), 2u);
      ASSERT_EQ(report.levels.size(), found.levels().size());
      for (std::size_t l = 0; l + 1 < found.levels().size(); ++l) {
        const DenseMatrix fine = dense(to_host(found.levels()[l].matrix));
        const DenseMatrix p = dense(to_host(found.levels()[l].transfer.prolongator));
        const DenseMatrix r = dense(to_host(found.levels()[l].transfer.restriction));
        DenseMatrix expected = dense_product(p, dense_product(fine, p, false), true);
        const HostMatrix<double> coarse = to_host(found.levels()[l + 1].matrix);
        const auto near = to_rows<TypeParam>(found.levels()[l].transfer.near_null_space);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          if (near[i][i % near[i].size()] == 0) expected[i][i] = 1;
          for (std::size_t j = 0; j < expected.size(); ++j)
            ASSERT_NEAR(coarse(i, j), expected[i][j], 1e-12 * fine[0][0]) << l << ": " << i << ", " << j;
          for (std::size_t j = 0; j < fine.size(); ++j) ASSERT_EQ(r[i][j], p[j][i]);
        }
        EXPECT_EQ(report.levels[l].num_rows, std::int64_t(fine.size()));
        EXPECT_EQ(report.levels[l].prolongator_nnz, found.levels()[l].transfer.prolongator.nnz());
      }
    }
}

TYPED_TEST(AmgPiecesTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const auto a = to_device<TypeParam>(problem("elasticity3d:8"));
    AmgOptions options;
    options.unknowns_per_node = 3;
    options.coarse_size = 20;
    Report report;
    const Hierarchy<double, TypeParam> all(TypeParam(), options, a, nullptr, report);
    const Hierarchy<double, TypeParam> one(of_one_thread<TypeParam>(), options, a, nullptr, report);
    ASSERT_EQ(all.levels().size(), one.levels().size());
    for (std::size_t l = 0; l < all.levels().size(); ++l) {
      EXPECT_TRUE(to_host(all.levels()[l].matrix) == to_host(one.levels()[l].matrix)) << l;
      EXPECT_EQ(all.levels()[l].omega, one.levels()[l].omega);
    }
  }
}

}  // namespace
}  // namespace prekond::testing
