// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/all_reduces.hpp"
#include "testing/block_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/ifpack2.hpp>
#include <prekond/adapters/tpetra.hpp>
#include <prekond/krylov/cg.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

using MapPtr = Teuchos::RCP<const TpetraMap>;
using MatrixPtr = Teuchos::RCP<TpetraMatrix>;
using MatrixOperator = tpetra::MatrixOperator<double, int, GlobalIndex, TpetraMap::node_type>;
using OperatorView = tpetra::OperatorView<double, int, GlobalIndex, TpetraMap::node_type>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// ------------------------------------------------------------------------------------------------
// CommReducer

TEST(TpetraReducer, SumsAnyNumberOfValues) {
  const tpetra::CommReducer<double, TpetraSpace> reducer(world());
  const TpetraSpace space;
  const int size = num_ranks();
  for (const int count : {0, 1, 2, 3, 4, 5, 63, 64, 65, 100, 128, 129}) {
    std::vector<double> mine(count), expected(count);
    for (int k = 0; k < count; ++k) {
      mine[k] = double((my_rank() + 1) * (k + 1));
      expected[k] = double(size * (size + 1) / 2 * (k + 1));
    }
    const auto values = to_device<TpetraSpace>(mine);
    all_reduces = 0;
    reducer.sum(space, values);
    space.fence();
    EXPECT_EQ(all_reduces, size > 1 && count > 0 ? 1 : 0) << count << " values";
    EXPECT_EQ(to_vector(values), expected) << count << " values";
  }
}

TEST(TpetraReducer, SumsInSinglePrecision) {
  const tpetra::CommReducer<float, TpetraSpace> reducer(world());
  const TpetraSpace space;
  const auto values = to_device<TpetraSpace>(std::vector<float>{1.0f, float(my_rank()), -2.0f});
  reducer.sum(space, values);
  space.fence();
  const int size = num_ranks();
  EXPECT_EQ(to_vector(values),
            (std::vector<float>{float(size), float(size * (size - 1) / 2), -2.0f * float(size)}));
}

TEST(TpetraReducer, SumsComplexNumbers) {
  using Complex = Kokkos::complex<double>;
  const TpetraSpace space;
  const tpetra::CommReducer<Complex, TpetraSpace> reducer(world());
  const double rank = my_rank(), size = num_ranks();
  const auto values = to_device<TpetraSpace>(std::vector<Complex>{{1.0, rank}, {-rank, 2.0}, {0.5, 0.0}});
  reducer.sum(space, values);
  space.fence();
  const double ranks = size * (size - 1) / 2;
  EXPECT_EQ(to_vector(values), (std::vector<Complex>{{size, ranks}, {-ranks, 2 * size}, {0.5 * size, 0.0}}));
}

// ------------------------------------------------------------------------------------------------ operators

/// Rows x k with some rows of pad between the vectors.
struct Strided {
  Strided(const std::vector<std::vector<double>>& columns, std::size_t rows, int pad)
      : whole("prekond::testing::strided", rows + pad, columns.size()),
        part(Kokkos::subview(whole, std::make_pair(std::size_t(0), rows), Kokkos::ALL)) {
    const auto host = Kokkos::create_mirror_view(whole);
    for (std::size_t v = 0; v < columns.size(); ++v)
      for (std::size_t i = 0; i < rows; ++i) host(i, v) = columns[v][i];
    Kokkos::deep_copy(whole, host);
  }
  std::vector<double> column(std::size_t v) const {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
    return {host.data() + v * host.stride(1), host.data() + v * host.stride(1) + part.extent(0)};
  }
  MultiVector<double, TpetraSpace> whole;
  MultiVectorView<double, TpetraSpace> part;
};

/// y = alpha A x + beta y of an operator that distributes `a` by `map`, and its apply_dot, against the
/// sequential product.
void expect_products(const Operator<double, TpetraSpace>& op, const HostMatrix<double>& a,
                     const TpetraMap& map) {
  const TpetraSpace space;
  const std::size_t n = a.num_rows, rows = map.getLocalNumElements();
  ASSERT_EQ(op.num_rows(), static_cast<std::int64_t>(rows));
  ASSERT_EQ(op.num_cols(), static_cast<std::int64_t>(rows));
  for (const auto& [k, alpha, beta] :
       {std::tuple{1, 1.0, 0.0}, {3, 2.5, 0.0}, {3, -1.0, 1.0}, {2, 0.5, -3.0}, {1, 0.0, 2.0}}) {
    std::vector<std::vector<double>> xs, ys;
    std::vector<std::vector<double>> x_parts, y_parts;
    for (int v = 0; v < k; ++v) {
      xs.push_back(random_vector(n, 10 + v));
      ys.push_back(beta == 0 ? std::vector<double>(n, nan) : random_vector(n, 20 + v));
      x_parts.push_back(part_of(xs[v], map));
      y_parts.push_back(part_of(ys[v], map));
    }
    const Strided x(x_parts, rows, 5), y(y_parts, rows, 3);
    op.apply(space, x.part, y.part, alpha, beta);
    space.fence();
    for (int v = 0; v < k; ++v) {
      std::vector<double> expected = multiply(a, xs[v]);
      for (std::size_t i = 0; i < n; ++i)
        expected[i] = alpha * expected[i] + (beta == 0 ? 0.0 : beta * ys[v][i]);
      const auto mine = part_of(expected, map), found = y.column(v);
      for (std::size_t i = 0; i < rows; ++i)
        EXPECT_NEAR(found[i], mine[i], 1e-12 * (1 + std::abs(mine[i]))) << "row " << i;
      EXPECT_EQ(x.column(v), x_parts[v]) << "x changed";
    }
  }
  const auto whole = random_vector(n, 30);
  const auto mine = part_of(whole, map), expected = part_of(multiply(a, whole), map);
  const auto x = to_device<TpetraSpace>(mine);
  const auto y = to_device<TpetraSpace>(std::vector<double>(rows, nan));
  const auto dot = to_device<TpetraSpace>(std::vector<double>{nan});
  const ReduceWorkspace<double, TpetraSpace> workspace(space, static_cast<std::int64_t>(rows));
  op.apply_dot(space, x, y, dot, workspace);
  space.fence();
  const auto found = to_vector(y);
  for (std::size_t i = 0; i < rows; ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
  EXPECT_NEAR(to_vector(dot)[0], inner(mine, expected), 1e-11 * (1 + norm(mine) * norm(expected)));
}

TEST(TpetraOperator, MatrixOperatorIsTheSequentialProduct) {
  for (const HostMatrix<double>& a : {irregular_matrix(53), shift_matrix(29), problem("poisson2d:8")}) {
    for (const auto& [name, map] : all_maps(a.num_rows)) {
      SCOPED_TRACE(name + ", " + std::to_string(a.num_rows) + " rows");
      expect_products(MatrixOperator(distribute(a, map)), a, *map);
      expect_products(MatrixOperator(distribute(a, map, descending_columns(a, map))), a, *map);
      expect_products(MatrixOperator(distribute(a, map, remote_columns_first(a, map), false)), a, *map);
    }
  }
}

TEST(TpetraOperator, MatrixOperatorByBlocksIsTheSequentialProduct) {
  for (const HostMatrix<double>& nodes : {irregular_matrix(53), shift_matrix(29), problem("poisson2d:8")}) {
    const HostMatrix<double> a = of_full_blocks(nodes, 3);
    for (const auto& [name, mesh] : all_maps(nodes.num_rows)) {
      SCOPED_TRACE(name + ", " + std::to_string(nodes.num_rows) + " nodes");
      expect_products(MatrixOperator(block_matrix(a, mesh)), a, *points_of(*mesh));
    }
  }
}

TEST(TpetraOperator, MatrixOperatorSeesNewValues) {
  HostMatrix<double> a = irregular_matrix(53);
  const MatrixPtr matrix = distribute(a, cyclic_map(53));
  const MatrixOperator op(matrix);
  expect_products(op, a, *matrix->getRowMap());
  matrix->resumeFill();
  matrix->scale(-3.0);
  matrix->fillComplete(matrix->getDomainMap(), matrix->getRangeMap());
  for (double& value : a.values) value *= -3.0;
  expect_products(op, a, *matrix->getRowMap());
}

TEST(TpetraOperator, OperatorViewIsTheSequentialProduct) {
  const HostMatrix<double> a = problem("elasticity3d:3");
  for (const auto& [name, mesh] : all_maps(a.num_rows / 3)) {
    SCOPED_TRACE(name);
    const MapPtr map = points_of(*mesh);
    expect_products(OperatorView(distribute(a, map)), a, *map);
    expect_products(OperatorView(block_matrix(a, mesh)), a, *map);
  }
}

TEST(TpetraOperator, OtherMapsAreRefused) {
  const MapPtr map = contiguous_map(49);
  const MatrixPtr matrix = insert_rows(problem("poisson2d:7"), map);
  matrix->fillComplete(reversed_map(49), map);
  EXPECT_THAT(message_of<InputError>([&] { const OperatorView op(matrix); }),
              HasSubstr("the operator's domain map is not its range map"));
  EXPECT_THAT(message_of<InputError>([&] { const MatrixOperator op(matrix); }),
              HasSubstr("the matrix's domain map is not its row map"));
}

// ------------------------------------------------------------------------------------------------ solve

struct Solved {
  SolveResult result;
  std::vector<double> x;
  std::vector<double> history;
};

StoppingOptions stop_at(double rtol, std::int64_t max_iters = 1000) {
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.max_iters = max_iters;
  return stopping;
}

std::vector<CgOptions> all_forms() {
  std::vector<CgOptions> forms(2);
  forms[1].single_reduction = true;
  return forms;
}

std::string form_name(const CgOptions& form) {
  return form.single_reduction ? "one reduction" : "two reductions";
}

Solved solve_on_ranks(const Teuchos::RCP<const Tpetra::Operator<>>& a,
                      const Preconditioner<double, TpetraSpace>* m, const std::vector<double>& b,
                      const CgOptions& options, const StoppingOptions& stopping) {
  TpetraVector x(a->getDomainMap());
  Solved solved;
  solved.result =
      tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(options), a, m, distribute(b, a->getRangeMap()), x,
                    stopping, [&](std::int64_t, double norm_r) { solved.history.push_back(norm_r); });
  solved.x = gather(x);
  return solved;
}

/// The same in one process, on the whole matrix.
Solved solve_alone(const HostMatrix<double>& a, const std::string& preconditioner,
                   const std::vector<double>& b, const CgOptions& options, const StoppingOptions& stopping) {
  const TpetraSpace space;
  const auto matrix = to_device<TpetraSpace>(a);
  const auto m = create_preconditioner<double, TpetraSpace>(preconditioner);
  m->symbolic(space, matrix);
  m->numeric(space, matrix);
  const auto x = to_device<TpetraSpace>(std::vector<double>(b.size(), 0));
  Solved solved;
  solved.result = Cg<double, TpetraSpace>(options).solve(
      space, CsrOperator<double, TpetraSpace>(matrix), m.get(), to_device<TpetraSpace>(b), x, stopping,
      [&](std::int64_t, double norm_r) { solved.history.push_back(norm_r); });
  solved.x = to_vector(x);
  return solved;
}

double distance(const std::vector<double>& x, std::vector<double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] -= x[i];
  return norm(y) / norm(x);
}

TEST(TpetraSolve, TheSameIterationsAsInOneProcess) {
  for (const char* spec : {"poisson2d:17", "anisotropic2d:15,epsilon=0.05"}) {
    const HostMatrix<double> a = problem(spec);
    const auto b = random_vector(a.num_rows);
    for (const CgOptions& form : all_forms()) {
      for (const char* name : {"none", "jacobi"}) {
        const Solved alone = solve_alone(a, name, b, form, stop_at(1e-9));
        ASSERT_TRUE(alone.result.converged);
        for (const auto& [map_name, map] : all_maps(a.num_rows)) {
          SCOPED_TRACE(std::string(spec) + ", " + name + ", " + map_name);
          const MatrixPtr matrix = distribute(a, map);
          const auto m = ifpack2::create(name, matrix);
          m->compute();
          const Solved found = solve_on_ranks(matrix, &m->local(), b, form, stop_at(1e-9));
          EXPECT_EQ(found.result.reason, StopReason::rtol);
          EXPECT_LE(std::abs(found.result.iterations - alone.result.iterations), 1);
          EXPECT_LE(distance(alone.x, found.x), 1e-6);
          EXPECT_LE(residual_norm(a, b, found.x), 1e-8 * norm(b));
          EXPECT_NEAR(found.result.true_relative_residual, residual_norm(a, b, found.x) / norm(b), 1e-12);
          // The residuals are those of one process, too, before rounding grows.
          for (std::size_t k = 0; k < 10; ++k)
            EXPECT_NEAR(found.history[k], alone.history[k], 1e-9 * alone.history[0]);
        }
      }
    }
  }
}

TEST(TpetraSolve, WithAdaptiveFsaiOfEveryRank) {
  const HostMatrix<double> a = problem("elasticity3d:5");
  const auto b = random_vector(a.num_rows);
  const Solved plain = solve_alone(a, "jacobi", b, {}, stop_at(1e-9, 5000));
  const Solved alone = solve_alone(a, "adaptive_fsai", b, {}, stop_at(1e-9, 5000));
  ASSERT_TRUE(plain.result.converged && alone.result.converged);
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    for (const bool default_columns : {true, false}) {
      SCOPED_TRACE(name + (default_columns ? "" : ", descending columns"));
      const MatrixPtr matrix =
          default_columns ? distribute(a, map) : distribute(a, map, descending_columns(a, map));
      const auto m = ifpack2::create("adaptive_fsai", matrix);
      m->compute();
      const Solved found = solve_on_ranks(matrix, &m->local(), b, {}, stop_at(1e-9, 5000));
      EXPECT_EQ(found.result.reason, StopReason::rtol);
      EXPECT_LE(distance(alone.x, found.x), 1e-6);
      EXPECT_LE(residual_norm(a, b, found.x), 1e-8 * norm(b));
      // A rank's own block of a cyclic distribution is little more than the diagonal.
      EXPECT_TRUE(name == "cyclic" || found.result.iterations < plain.result.iterations)
          << found.result.iterations;
      // In another order of the rows FSAI is another preconditioner.
      const auto difference = static_cast<double>(found.result.iterations - alone.result.iterations);
      EXPECT_TRUE(num_ranks() > 1 ||
                  std::abs(difference) <= (map->isContiguous() ? 1 : 0.15 * double(alone.result.iterations)))
          << found.result.iterations << ", alone " << alone.result.iterations;
    }
  }
}

/// The whole problem in one process, by a solver with random vectors, against that on ranks.
TEST(TpetraSolve, RandomVectorsAreThoseOfOneProcess) {
  const HostMatrix<double> a = problem("convection_diffusion3d:4");
  const auto b = random_vector(a.num_rows);
  const TpetraSpace space;
  const auto idr = create_solver<double, TpetraSpace>("idr");
  const auto alone_x = to_device<TpetraSpace>(std::vector<double>(b.size(), 0));
  const SolveResult alone = idr->solve(space, CsrOperator<double, TpetraSpace>(to_device<TpetraSpace>(a)),
                                       nullptr, to_device<TpetraSpace>(b), alone_x, stop_at(1e-8));
  ASSERT_TRUE(alone.converged);
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    SCOPED_TRACE(name);
    const MatrixPtr matrix = distribute(a, map);
    const Teuchos::RCP<const Tpetra::Operator<>> op = matrix;
    TpetraVector x(map);
    const SolveResult found = tpetra::solve(space, *idr, op, nullptr, distribute(b, map), x, stop_at(1e-8));
    EXPECT_TRUE(found.converged);
    EXPECT_LE(std::abs(found.iterations - alone.iterations), 1);
    EXPECT_LE(distance(to_vector(alone_x), gather(x)), 1e-6);
    for (const auto& rows :
         {MatrixOperator(matrix).row_numbers(space), OperatorView(op).row_numbers(space)}) {
      EXPECT_EQ(rows.num_global_rows, a.num_rows);
      const auto list = to_vector(rows.numbers);
      EXPECT_EQ(list.empty(), map->isContiguous() || map->getLocalNumElements() == 0);
      for (std::size_t i = 0; i < map->getLocalNumElements(); ++i)
        EXPECT_EQ(list.empty() ? rows.first + std::int64_t(i) : list[i], map->getGlobalElement(int(i)));
    }
  }
}

TEST(TpetraSolve, AnOperatorThatIsNoCrsMatrix) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto b = random_vector(a.num_rows);
  const MapPtr mesh = cyclic_map(a.num_rows / 3);
  const auto blocks = block_matrix(a, mesh);
  const Solved alone = solve_alone(a, "none", b, {}, stop_at(1e-8, 5000));
  const Solved found = solve_on_ranks(blocks, nullptr, b, {}, stop_at(1e-8, 5000));
  EXPECT_EQ(found.result.reason, StopReason::rtol);
  EXPECT_LE(distance(alone.x, found.x), 1e-5);
  EXPECT_LE(residual_norm(a, b, found.x), 1e-7 * norm(b));
  const Solved matrix = solve_on_ranks(distribute(a, points_of(*mesh)), nullptr, b, {}, stop_at(1e-8, 5000));
  EXPECT_NEAR(double(found.result.iterations), double(matrix.result.iterations),
              0.02 * double(matrix.result.iterations) + 1);
}

TEST(TpetraSolve, AZeroRightHandSideGivesZero) {
  const HostMatrix<double> a = problem("poisson2d:9");
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
    const TpetraVector b(map);
    TpetraVector x = distribute(random_vector(a.num_rows), map);
    const auto result = tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr, b, x);
    EXPECT_EQ(result.reason, StopReason::zero_rhs) << name;
    EXPECT_EQ(gather(x), std::vector<double>(a.num_rows, 0.0)) << name;
  }
}

TEST(TpetraSolve, TheStartIsTheXGiven) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto solution = random_vector(a.num_rows);
  const MapPtr map = cyclic_map(a.num_rows);
  const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
  TpetraVector x = distribute(solution, map);
  const auto result = tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr,
                                    distribute(multiply(a, solution), map), x);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(gather(x), solution);
}

TEST(TpetraSolve, VectorsOfAnotherMapAreRefused) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const MapPtr map = contiguous_map(81);
  const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
  const auto refused = [&](const MapPtr& b_map, const MapPtr& x_map) {
    TpetraVector x(x_map);
    const TpetraVector b(b_map);
    return message_of<InputError>(
        [&] { tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr, b, x); });
  };
  for (const MapPtr& other : {reversed_map(81), contiguous_map(80)}) {
    EXPECT_EQ(refused(other, map), "cg: b and x have to be distributed as A's range and domain map are");
    EXPECT_EQ(refused(map, other), "cg: b and x have to be distributed as A's range and domain map are");
  }
}

TEST(TpetraSolve, VectorsThatShareMemoryAreRefused) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, contiguous_map(81));
  TpetraVector x(contiguous_map(81));
  EXPECT_THAT(message_of<InputError>(
                  [&] { tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr, x, x); }),
              HasSubstr("share memory"));
}

TEST(TpetraSolve, APreconditionerOfOtherRowsIsRefusedByAll) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const MapPtr map = contiguous_map(81);
  const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
  // Rank 0 has one row more than its part of the matrix.
  const auto own = static_cast<std::int64_t>(map->getLocalNumElements()) + (my_rank() == 0 ? 1 : 0);
  const auto m = create_preconditioner<double, TpetraSpace>("none");
  m->symbolic(TpetraSpace(), generate<double>(TpetraSpace(), "tridiagonal:" + std::to_string(own)));
  TpetraVector x(map);
  const TpetraVector b(map);
  EXPECT_THAT(
      message_of<InputError>(
          [&] { tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, m.get(), b, x); }),
      HasSubstr("the preconditioner has " +
                std::to_string(a.num_rows / num_ranks() + (a.num_rows % num_ranks() > 0) + 1) + " rows"));
}

TEST(TpetraSolve, OneAllReduceAReduction) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto b = random_vector(a.num_rows);
  for (const MapPtr& map : {contiguous_map(400), cyclic_map(400), map_with_empty_rank(400)}) {
    const MatrixPtr matrix = distribute(a, map);
    for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
      const auto m = ifpack2::create(name, matrix);
      m->compute();
      for (const CgOptions& form : all_forms()) {
        const auto calls = [&](std::int64_t iterations) {
          TpetraVector x(map);
          const TpetraVector b_vector = distribute(b, map);
          const Teuchos::RCP<const Tpetra::Operator<>> op = matrix;
          all_reduces = 0;
          const auto result = tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(form), op, &m->local(),
                                            b_vector, x, stop_at(0, iterations));
          EXPECT_EQ(result.iterations, iterations);
          return all_reduces;
        };
        const int each = num_ranks() == 1 ? 0 : form.single_reduction ? 1 : 2;
        EXPECT_EQ(calls(15) - calls(5), 10 * each) << name << ", " << form_name(form);
      }
    }
  }
}

// But for 8 bytes of Tpetra's: the flags that its MultiVector over memory of others keeps with each product.
TEST(TpetraSolve, AnIterationAllocatesNothing) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto b = random_vector(a.num_rows);
  for (const MapPtr& map : {contiguous_map(400), cyclic_map(400), map_with_empty_rank(400)}) {
    for (const bool default_columns : {true, false}) {
      const MatrixPtr matrix =
          default_columns ? distribute(a, map) : distribute(a, map, descending_columns(a, map));
      for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
        const auto m = ifpack2::create(name, matrix);
        m->compute();
        const auto allocations = [&](std::int64_t iterations) {
          TpetraVector x(map);
          const TpetraVector b_vector = distribute(b, map);
          const Teuchos::RCP<const Tpetra::Operator<>> op = matrix;
          const ToolEvents events;
          tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), op, &m->local(), b_vector, x,
                        stop_at(0, iterations));
          std::map<std::string, int> counts;
          for (const auto& label : events.allocations()) ++counts[label];
          const int flags = counts["DualView::modified_flags"];
          counts.erase("DualView::modified_flags");
          return std::tuple{counts, flags, events.allocated_bytes() - 8 * flags};
        };
        const auto [few, few_flags, few_bytes] = allocations(5);
        const auto [many, many_flags, many_bytes] = allocations(15);
        EXPECT_EQ(few, many) << name;
        EXPECT_EQ(few_bytes, many_bytes) << name;
        EXPECT_LE(many_flags - few_flags, 10) << name;
        EXPECT_GT(few.count("prekond::cg::p"), 0u) << "nothing was recorded";
      }
    }
  }
}

}  // namespace
}  // namespace prekond::testing
