// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/belos.hpp>
#include <prekond/adapters/ifpack2.hpp>
#include <prekond/adapters/tpetra.hpp>

#include <BelosLinearProblem.hpp>
#include <BelosSolverFactory_Tpetra.hpp>
#include <BelosTpetraAdapter.hpp>

#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using MapPtr = Teuchos::RCP<const TpetraMap>;
using TpetraOperator = Tpetra::Operator<double>;
using OperatorPtr = Teuchos::RCP<const TpetraOperator>;
using LinearProblem = Belos::LinearProblem<double, TpetraMultiVector, TpetraOperator>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto none = Teuchos::NO_TRANS;

// ------------------------------------------------------------------------------------------------ problems

/// D A D for a diagonal D from 1 to 7: what Jacobi undoes.
HostMatrix<double> scaled_problem(const std::string& spec) {
  HostMatrix<double> a = problem(spec);
  const auto scale = [](std::int64_t i) { return 1.0 + double(i * i % 7); };
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      a.values[k] *= scale(i) * scale(a.col_idxs[k]);
  return a;
}

/// A preconditioner as a user writes one: y = D x for a D of one's own, symmetric or not by the user's word.
template <class Space>
class OwnDiagonal : public Preconditioner<double, Space> {
 public:
  OwnDiagonal(const std::vector<double>& diagonal, bool symmetric)
      : m_diagonal(to_device<Space>(diagonal)), m_symmetric(symmetric) {}
  std::string name() const override { return "own diagonal"; }
  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_diagonal.extent(0)); }
  bool is_symmetric() const override { return m_symmetric; }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace&) const override {
    const Vector<double, Space> diagonal = m_diagonal;
    Kokkos::parallel_for(
        "prekond::testing::own_diagonal", Kokkos::RangePolicy<Space>(space, 0, x.extent(0)),
        KOKKOS_LAMBDA(int i) {
          for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = diagonal(i) * x(i, v);
        });
  }

 private:
  Vector<double, Space> m_diagonal;
  bool m_symmetric;
};

/// The tridiagonal matrix (-1, 2.5, -1) of a rank's own rows, that nobody stores.
template <class Space>
class Stencil : public Operator<double, Space> {
 public:
  explicit Stencil(std::int64_t n) : m_n(n) {}
  std::int64_t num_rows() const override { return m_n; }
  std::int64_t num_cols() const override { return m_n; }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    const std::int64_t n = m_n;
    Kokkos::parallel_for(
        "prekond::testing::stencil", Kokkos::RangePolicy<Space>(space, 0, n), KOKKOS_LAMBDA(std::int64_t i) {
          for (std::size_t v = 0; v < x.extent(1); ++v) {
            const double sum = 2.5 * x(i, v) - (i > 0 ? x(i - 1, v) : 0.0) - (i + 1 < n ? x(i + 1, v) : 0.0);
            y(i, v) = alpha * sum + (beta == 0 ? 0.0 : beta * y(i, v));
          }
        });
  }

 private:
  std::int64_t m_n;
};

/// The whole matrix of all ranks' stencils. \pre the map's rows are consecutive
HostMatrix<double> stencils(const TpetraMap& map) {
  const auto n = static_cast<std::int64_t>(map.getGlobalNumElements());
  std::vector<double> mine(n, 0), first(n, 0);
  if (map.getLocalNumElements() > 0) mine[map.getGlobalElement(0)] = 1;
  Teuchos::reduceAll(*world(), Teuchos::REDUCE_SUM, static_cast<int>(n), mine.data(), first.data());
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    dense[i][i] = 2.5;
    if (i > 0 && first[i] == 0) dense[i][i - 1] = dense[i - 1][i] = -1;
  }
  return sparse(dense);
}

std::vector<double> inverse_diagonal(const HostMatrix<double>& a, const TpetraMap& map) {
  std::vector<double> inverse;
  for (const GlobalIndex i : own_indices(map)) inverse.push_back(1 / a(i, i));
  return inverse;
}

// ------------------------------------------------------------------------------------------------ solves by
// Belos

enum class Side { left, right };

struct BelosResult {
  bool converged = false;
  int iterations = 0;
  double residual = 0;  ///< the largest ||b - A x|| / ||b||, by Tpetra
};

/// k vectors, by themselves or as columns of a larger multivector that do not lie at one stride.
Teuchos::RCP<TpetraMultiVector> make_vectors(const MapPtr& map, int k, bool strided) {
  if (!strided) return Teuchos::rcp(new TpetraMultiVector(map, k));
  const TpetraMultiVector whole(map, 2 * k + 2);
  Teuchos::Array<std::size_t> columns;
  for (int v = 0; v < k; ++v) columns.push_back(1 + v + (v + 1 == k ? k : 0));
  const auto some = Teuchos::rcp_const_cast<TpetraMultiVector>(whole.subView(columns()));
  EXPECT_EQ(some->isConstantStride(), k == 1);
  return some;
}

BelosResult solve(const std::string& solver_name, const OperatorPtr& a, const OperatorPtr& m, Side side,
                  int k, bool strided) {
  const MapPtr map = a->getDomainMap();
  std::vector<std::vector<double>> values;
  for (int v = 0; v < k; ++v) values.push_back(random_vector(map->getGlobalNumElements(), 40 + v));
  const auto x = make_vectors(map, k, strided), b = make_vectors(map, k, strided);
  Tpetra::deep_copy(*b, distribute(values, map));
  x->putScalar(0);
  const auto linear = Teuchos::rcp(new LinearProblem(a, x, b));
  if (!m.is_null() && side == Side::left) linear->setLeftPrec(m);
  if (!m.is_null() && side == Side::right) linear->setRightPrec(m);
  EXPECT_TRUE(linear->setProblem());
  const auto parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-9)
      .set("Maximum Iterations", 2000)
      .set("Verbosity", int(Belos::Errors));
  if (solver_name.find("GMRES") != std::string::npos) parameters->set("Num Blocks", 60);
  if (solver_name.find("BLOCK ") == 0) parameters->set("Block Size", k);
  const auto solver =
      Belos::SolverFactory<double, TpetraMultiVector, TpetraOperator>().create(solver_name, parameters);
  solver->setProblem(linear);
  BelosResult result;
  result.converged = solver->solve() == Belos::Converged;
  result.iterations = solver->getNumIters();
  TpetraMultiVector r(map, k);
  a->apply(*x, r);
  r.update(1.0, *b, -1.0);
  std::vector<double> r_norms(k), b_norms(k);
  r.norm2(Teuchos::arrayViewFromVector(r_norms));
  b->norm2(Teuchos::arrayViewFromVector(b_norms));
  for (int v = 0; v < k; ++v) result.residual = std::max(result.residual, r_norms[v] / b_norms[v]);
  return result;
}

/// Belos's CG methods take a preconditioner on either side and do the same with it; its GMRES methods
/// precondition on the side they are told; its BiCGStab takes one on the right only
/// (LeftIsNotGivenByBiCgStab).
std::vector<Side> sides_of(const std::string& solver) {
  return solver == "BICGSTAB" ? std::vector<Side>{Side::right} : std::vector<Side>{Side::left, Side::right};
}

/// Where X does not lie at one stride, two methods of Belos 17 report success and leave X as it was, without
/// any preconditioner too. (Where X's columns do not ascend either, they write outside of their memory.)
bool takes_strided_vectors(const std::string& solver) {
  return solver != "PSEUDOBLOCK GMRES" && solver != "BICGSTAB";
}

const char* const solvers[] = {"PSEUDOBLOCK CG", "BLOCK CG", "BLOCK GMRES", "PSEUDOBLOCK GMRES", "BICGSTAB"};

std::vector<std::pair<std::string, OperatorPtr>> preconditioners(const HostMatrix<double>& a,
                                                                 const Teuchos::RCP<TpetraMatrix>& matrix) {
  std::vector<std::pair<std::string, OperatorPtr>> all;
  for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
    const auto m = ifpack2::create(name, matrix);
    m->compute();
    all.emplace_back(name, m);
  }
  const MapPtr map = matrix->getRowMap();
  const auto own = std::make_shared<OwnDiagonal<TpetraSpace>>(inverse_diagonal(a, *map), true);
  all.emplace_back("own", belos::as_tpetra(own, map));
  return all;
}

void expect_solves(const HostMatrix<double>& a, const MapPtr& map, int k, bool strided) {
  const auto matrix = distribute(a, map);
  for (const std::string solver : solvers) {
    if (strided && !takes_strided_vectors(solver)) continue;
    const BelosResult plain = solve(solver, matrix, Teuchos::null, Side::right, k, strided);
    EXPECT_TRUE(plain.converged) << solver;
    EXPECT_LE(plain.residual, 1e-8) << solver;
    for (const Side side : sides_of(solver)) {
      std::map<std::string, int> iterations;
      for (const auto& [name, m] : preconditioners(a, matrix)) {
        SCOPED_TRACE(solver + ", " + name + (side == Side::left ? " on the left" : " on the right"));
        const BelosResult found = solve(solver, matrix, m, side, k, strided);
        EXPECT_TRUE(found.converged);
        EXPECT_LE(found.residual, 1e-8);
        iterations[name] = found.iterations;
      }
      SCOPED_TRACE(solver);
      EXPECT_NEAR(iterations["none"], plain.iterations, 0.1 * plain.iterations);
      EXPECT_LT(iterations["jacobi"], plain.iterations);
      EXPECT_LT(iterations["adaptive_fsai"], plain.iterations);
      EXPECT_NEAR(iterations["own"], iterations["jacobi"], 1) << "the same matrix, written by a user";
    }
  }
}

TEST(BelosSolve, OneRightHandSide) {
  expect_solves(scaled_problem("poisson2d:13"), contiguous_map(169), 1, false);
}

TEST(BelosSolve, ThreeRightHandSides) {
  expect_solves(scaled_problem("poisson2d:13"), contiguous_map(169), 3, false);
}

TEST(BelosSolve, ThreeRightHandSidesInVectorsWithoutAStride) {
  expect_solves(scaled_problem("poisson2d:13"), contiguous_map(169), 3, true);
}

TEST(BelosSolve, ARankWithoutRows) {
  expect_solves(scaled_problem("poisson2d:9"), map_with_empty_rank(81), 3, false);
}

TEST(BelosSolve, RowsHereAndThere) {
  const HostMatrix<double> a = scaled_problem("poisson2d:9");
  const auto matrix = distribute(a, cyclic_map(81));
  for (const std::string solver : solvers) {
    const int plain = solve(solver, matrix, Teuchos::null, Side::right, 2, false).iterations;
    for (const auto& [name, m] : preconditioners(a, matrix)) {
      const BelosResult found = solve(solver, matrix, m, Side::right, 2, takes_strided_vectors(solver));
      EXPECT_TRUE(found.converged) << solver << ", " << name;
      EXPECT_LE(found.residual, 1e-8) << solver << ", " << name;
      EXPECT_TRUE(name == "none" || found.iterations < plain) << solver << ", " << name;
    }
  }
}

TEST(BelosSolve, UnderTheShortNamesOfTheMethods) {
  const HostMatrix<double> a = scaled_problem("poisson2d:9");
  const auto matrix = distribute(a, contiguous_map(81));
  const auto m = ifpack2::create("adaptive_fsai", matrix);
  m->compute();
  for (const char* solver : {"CG", "GMRES"}) {
    const BelosResult plain = solve(solver, matrix, Teuchos::null, Side::right, 1, false);
    const BelosResult found = solve(solver, matrix, m, Side::right, 1, false);
    EXPECT_TRUE(found.converged) << solver;
    EXPECT_LE(found.residual, 1e-8) << solver;
    EXPECT_LT(found.iterations, plain.iterations) << solver;
  }
}

TEST(BelosSolve, LeftIsNotGivenByBiCgStab) {
  const HostMatrix<double> a = scaled_problem("poisson2d:9");
  const auto matrix = distribute(a, contiguous_map(81));
  const auto m = ifpack2::create("jacobi", matrix);
  m->compute();
  EXPECT_THAT(message_of<std::logic_error>([&] { solve("BICGSTAB", matrix, m, Side::left, 1, false); }),
              HasSubstr("left-preconditioned case has not yet been implemented"));
}

TEST(BelosSolve, AnOperatorWithoutAMatrix) {
  for (const MapPtr& map : {contiguous_map(150), map_with_empty_rank(150)}) {
    const auto stencil =
        std::make_shared<Stencil<TpetraSpace>>(static_cast<std::int64_t>(map->getLocalNumElements()));
    const OperatorPtr a = belos::as_tpetra(stencil, map);
    const HostMatrix<double> whole = stencils(*map);
    const OperatorPtr stored = distribute(whole, map);
    const auto diagonal = std::make_shared<OwnDiagonal<TpetraSpace>>(inverse_diagonal(whole, *map), true);
    const OperatorPtr m = belos::as_tpetra(diagonal, map);
    for (const std::string solver : solvers) {
      for (const int k : {1, 3}) {
        const bool strided = takes_strided_vectors(solver);
        const BelosResult found = solve(solver, a, m, Side::right, k, strided);
        const BelosResult expected = solve(solver, stored, m, Side::right, k, strided);
        EXPECT_TRUE(found.converged) << solver;
        EXPECT_LE(found.residual, 1e-8) << solver;
        EXPECT_NEAR(found.iterations, expected.iterations, 1) << solver;
        EXPECT_GT(found.iterations, 2) << solver;
      }
    }
  }
}

TEST(BelosSolve, AnOperatorThatCommunicates) {
  const HostMatrix<double> a = scaled_problem("poisson2d:9");
  for (const MapPtr& map : {contiguous_map(81), cyclic_map(81), map_with_empty_rank(81)}) {
    const auto matrix = distribute(a, map);
    using MatrixOperator = tpetra::MatrixOperator<double, int, GlobalIndex, TpetraMap::node_type>;
    const OperatorPtr op = belos::as_tpetra(std::make_shared<MatrixOperator>(matrix), map);
    const auto m = ifpack2::create("jacobi", matrix);
    m->compute();
    const BelosResult found = solve("BLOCK GMRES", op, m, Side::left, 3, true);
    const BelosResult expected = solve("BLOCK GMRES", matrix, m, Side::left, 3, true);
    EXPECT_TRUE(found.converged);
    EXPECT_LE(found.residual, 1e-8);
    EXPECT_NEAR(found.iterations, expected.iterations, 1);
  }
}

// ------------------------------------------------------------------------------------------------
// applications

/// The two adapters for one rank's rows and what they do, as y = f(x) on whole vectors.
struct Applied {
  std::string name;
  OperatorPtr op;
  HostMatrix<double> matrix;  ///< whole
};

std::vector<Applied> adapters(const MapPtr& map) {
  const auto n = static_cast<std::int64_t>(map->getGlobalNumElements());
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) dense[i][i] = 0.5 + double(i);
  std::vector<double> mine;
  for (const GlobalIndex i : own_indices(*map)) mine.push_back(0.5 + double(i));
  const auto rows = static_cast<std::int64_t>(map->getLocalNumElements());
  return {{"preconditioner", belos::as_tpetra(std::make_shared<OwnDiagonal<TpetraSpace>>(mine, true), map),
           sparse(dense)},
          {"operator", belos::as_tpetra(std::make_shared<Stencil<TpetraSpace>>(rows), map), stencils(*map)}};
}

std::vector<std::vector<double>> random_columns(std::int64_t n, int k, unsigned seed) {
  std::vector<std::vector<double>> columns;
  for (int v = 0; v < k; ++v) columns.push_back(random_vector(n, seed + v));
  return columns;
}

void expect_columns(const TpetraMultiVector& y, const std::vector<std::vector<double>>& expected) {
  for (std::size_t v = 0; v < expected.size(); ++v) {
    const auto found = gather(y, v);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[v][i], 1e-13 * (1 + std::abs(expected[v][i])))
          << "vector " << v << ", row " << i;
  }
}

/// alpha A x + beta y, with beta = 0 without y, with alpha = 0 without A x.
std::vector<std::vector<double>> expected_columns(const HostMatrix<double>& a, double alpha,
                                                  const std::vector<std::vector<double>>& x, double beta,
                                                  const std::vector<std::vector<double>>& y) {
  std::vector<std::vector<double>> result;
  for (std::size_t v = 0; v < x.size(); ++v) {
    result.push_back(multiply(a, x[v]));
    for (std::size_t i = 0; i < x[v].size(); ++i)
      result[v][i] = (alpha == 0 ? 0 : alpha * result[v][i]) + (beta == 0 ? 0 : beta * y[v][i]);
  }
  return result;
}

TEST(BelosApply, AlphaAndBeta) {
  for (const MapPtr& map : {contiguous_map(40), map_with_empty_rank(40)}) {
    for (const auto& [name, op, a] : adapters(map)) {
      for (const auto& [alpha, beta] :
           {std::pair{1.0, 0.0}, {1.0, 1.0}, {-2.5, 0.0}, {0.5, -3.0}, {0.0, 2.0}, {0.0, 0.0}}) {
        for (const int k : {1, 3, 2}) {
          for (const bool strided : {false, true}) {
            SCOPED_TRACE(name + ", alpha " + std::to_string(alpha) + ", beta " + std::to_string(beta) + ", " +
                         std::to_string(k));
            const auto xs = random_columns(40, k, 1);
            const auto ys =
                beta == 0 ? std::vector(k, std::vector<double>(40, nan)) : random_columns(40, k, 50);
            const auto x = make_vectors(map, k, strided), y = make_vectors(map, k, strided);
            Tpetra::deep_copy(*x, distribute(xs, map));
            Tpetra::deep_copy(*y, distribute(ys, map));
            op->apply(*x, *y, none, alpha, beta);
            expect_columns(*y, expected_columns(a, alpha, xs, beta, ys));
            expect_columns(*x, xs);
          }
        }
      }
    }
  }
}

TEST(BelosApply, WithAlphaZeroNothingOfAnEarlierResultIsSeen) {
  const MapPtr map = contiguous_map(40);
  const auto m =
      std::make_shared<OwnDiagonal<TpetraSpace>>(std::vector<double>(map->getLocalNumElements(), 3.0), true);
  const auto op = belos::as_tpetra(m, map);
  const std::vector<std::vector<double>> nans(2, std::vector<double>(40, nan));
  const auto ys = random_columns(40, 2, 7);
  const auto x = distribute(nans, map);
  auto y = distribute(ys, map);
  op->apply(x, y, none, 2.0, 1.0);
  ASSERT_TRUE(std::isnan(gather(y)[0])) << "the buffer holds NaN now";
  y = distribute(ys, map);
  op->apply(x, y, none, 0.0, -2.0);
  expect_columns(
      y, {expected_columns(sparse<double>(std::vector(40, std::vector<double>(40, 0))), 0, ys, -2.0, ys)});
  y = distribute(nans, map);
  op->apply(x, y, none, 0.0, 0.0);
  expect_columns(y, std::vector(2, std::vector<double>(40, 0.0)));
}

TEST(BelosApply, XAndYMayBeTheSame) {
  for (const MapPtr& map : {contiguous_map(40), map_with_empty_rank(40)}) {
    for (const auto& [name, op, a] : adapters(map)) {
      SCOPED_TRACE(name);
      for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {2.0, -0.5}}) {
        for (const bool strided : {false, true}) {
          const auto xs = random_columns(40, 3, 1);
          const auto x = make_vectors(map, 3, strided);
          Tpetra::deep_copy(*x, distribute(xs, map));
          op->apply(*x, *x, none, alpha, beta);
          expect_columns(*x, expected_columns(a, alpha, xs, beta, xs));
        }
      }
    }
  }
}

TEST(BelosApply, XAndYMayShareSomeVectors) {
  const MapPtr map = contiguous_map(40);
  for (const auto& [name, op, a] : adapters(map)) {
    const auto check = [&, &op = op, &a = a](const Teuchos::Array<std::size_t>& x_cols,
                                             const Teuchos::Array<std::size_t>& y_cols) {
      const auto values = random_columns(40, 4, 1);
      auto whole = distribute(values, map);
      std::vector<std::vector<double>> xs;
      for (const std::size_t c : x_cols) xs.push_back(values[c]);
      const auto x = whole.subView(x_cols());
      const auto y = whole.subViewNonConst(y_cols());
      op->apply(*x, *y, none, 1.0, 0.0);
      expect_columns(*y, expected_columns(a, 1.0, xs, 0.0, xs));
    };
    SCOPED_TRACE(name);
    check(Teuchos::tuple<std::size_t>(0, 1, 2), Teuchos::tuple<std::size_t>(1, 2, 3));
    check(Teuchos::tuple<std::size_t>(1, 2, 3), Teuchos::tuple<std::size_t>(0, 1, 2));
    // Not at one stride, and what is written first is read later.
    check(Teuchos::tuple<std::size_t>(0, 1, 3), Teuchos::tuple<std::size_t>(1, 3, 0));
    check(Teuchos::tuple<std::size_t>(0, 1, 3), Teuchos::tuple<std::size_t>(1, 2, 3));
  }
}

TEST(BelosApply, XAndYMayBeWrappedAroundMemoryThatOverlaps) {
  const MapPtr map = contiguous_map(40);
  const std::size_t n = map->getLocalNumElements();
  const auto whole = random_vector(n + 1, 3);
  for (const auto& [name, op, a] : adapters(map)) {
    SCOPED_TRACE(name);
    using View = TpetraMultiVector::dual_view_type::t_dev;
    const View memory("memory", n + 1, 1), apart("apart", n, 1), result("result", n, 1);
    const auto fill = [&](const View& view) {
      const auto host = Kokkos::create_mirror_view(view);
      for (std::size_t i = 0; i < view.extent(0); ++i) host(i, 0) = whole[i];
      Kokkos::deep_copy(view, host);
    };
    fill(memory);
    fill(apart);
    const auto rows = [n](const View& view, std::size_t first) {
      return View(Kokkos::subview(view, std::pair(first, first + n), Kokkos::ALL));
    };
    TpetraMultiVector expected(map, result), y(map, rows(memory, 1));
    op->apply(TpetraMultiVector(map, apart), expected);
    op->apply(TpetraMultiVector(map, rows(memory, 0)), y);
    EXPECT_EQ(gather(y), gather(expected));
  }
}

TEST(BelosApply, TransposedWhereThePreconditionerIsSymmetric) {
  const MapPtr map = contiguous_map(40);
  const std::vector<double> diagonal(map->getLocalNumElements(), 4.0);
  const auto symmetric = belos::as_tpetra(std::make_shared<OwnDiagonal<TpetraSpace>>(diagonal, true), map);
  const auto other = belos::as_tpetra(std::make_shared<OwnDiagonal<TpetraSpace>>(diagonal, false), map);
  const auto stencil = belos::as_tpetra(
      std::make_shared<Stencil<TpetraSpace>>(static_cast<std::int64_t>(diagonal.size())), map);
  EXPECT_TRUE(symmetric->hasTransposeApply());
  EXPECT_FALSE(other->hasTransposeApply());
  EXPECT_FALSE(stencil->hasTransposeApply());
  const auto xs = random_columns(40, 2, 1);
  const auto x = distribute(xs, map);
  for (const auto mode : {Teuchos::TRANS, Teuchos::CONJ_TRANS}) {
    TpetraMultiVector y(map, 2);
    symmetric->apply(x, y, mode, 0.5, 0.0);
    auto expected = xs;
    for (auto& column : expected)
      for (double& value : column) value *= 2.0;
    expect_columns(y, expected);
    EXPECT_EQ(message_of<std::invalid_argument>([&] { other->apply(x, y, mode); }),
              "own diagonal cannot apply its transpose");
    EXPECT_EQ(message_of<std::invalid_argument>([&] { stencil->apply(x, y, mode); }),
              "an operator without a matrix cannot apply its transpose");
    expect_columns(y, expected);  // a refusal changes nothing
  }
}

TEST(BelosApply, WrongSizesAreRefused) {
  const MapPtr map = contiguous_map(14 * num_ranks()), longer = contiguous_map(15 * num_ranks());
  for (const auto& [name, op, a] : adapters(map)) {
    const std::string who = name == "operator" ? "the operator" : "own diagonal";
    const auto refused = [&, &op = op](const MapPtr& x_map, int x_vectors, const MapPtr& y_map,
                                       int y_vectors) {
      const TpetraMultiVector x(x_map, x_vectors);
      TpetraMultiVector y(y_map, y_vectors);
      return message_of<std::invalid_argument>([&] { op->apply(x, y); });
    };
    EXPECT_EQ(refused(map, 2, map, 3),
              who + ": apply was given X of 14 x 2 and Y of 14 x 3 on this rank, which has 14 rows");
    EXPECT_THAT(refused(longer, 1, map, 1), AllOf(HasSubstr(who), HasSubstr("X of 15 x 1 and Y of 14 x 1")));
    EXPECT_THAT(refused(map, 1, longer, 1), HasSubstr("X of 14 x 1 and Y of 15 x 1"));
    EXPECT_THAT(refused(longer, 1, longer, 1), HasSubstr("which has 14 rows"));
  }
}

TEST(BelosApply, AMapThatDoesNotFitIsRefusedByAll) {
  const std::string rank_0 = num_ranks() == 1 ? "" : "rank 0 of " + std::to_string(num_ranks()) + ": ";
  const MapPtr map = contiguous_map(14 * num_ranks());
  const auto diagonal = std::make_shared<OwnDiagonal<TpetraSpace>>(std::vector<double>(13, 1.0), true);
  EXPECT_EQ(message_of<InputError>([&] { belos::as_tpetra(diagonal, map); }),
            rank_0 + "own diagonal has 13 rows on this rank, the map 14");
  const auto stencil = std::make_shared<Stencil<TpetraSpace>>(my_rank() == 0 ? 15 : 14);
  EXPECT_EQ(message_of<InputError>([&] { belos::as_tpetra(stencil, map); }),
            rank_0 + "the operator is 15 x 15 on this rank, the map has 14 rows here");
}

TEST(BelosApply, TheMapIsTheOneGiven) {
  const MapPtr map = cyclic_map(40);
  for (const auto& m : {belos::as_tpetra(std::make_shared<OwnDiagonal<TpetraSpace>>(
                                             std::vector<double>(map->getLocalNumElements(), 1.0), true),
                                         map),
                        belos::as_tpetra(std::make_shared<Stencil<TpetraSpace>>(
                                             static_cast<std::int64_t>(map->getLocalNumElements())),
                                         map)}) {
    EXPECT_EQ(m->getDomainMap().getRawPtr(), map.getRawPtr());
    EXPECT_EQ(m->getRangeMap().getRawPtr(), map.getRawPtr());
  }
}

TEST(BelosApply, ALaterApplicationAllocatesNothing) {
  const MapPtr map = contiguous_map(40);
  for (const auto& [name, op, a] : adapters(map)) {
    const auto x = distribute(random_columns(40, 3, 1), map);
    TpetraMultiVector y(map, 3);
    const auto first = x.subView(Teuchos::Range1D(0, 1));
    const auto part = y.subViewNonConst(Teuchos::Range1D(0, 1));
    op->apply(x, y, none, 2.0, 1.0);
    op->apply(y, y, none, 1.0, 0.0);
    const ToolEvents events;
    op->apply(x, y, none, 2.0, 1.0);
    op->apply(x, y);
    op->apply(y, y, none, 1.0, 0.0);
    op->apply(*first, *part, none, 0.5, 3.0);
    EXPECT_THAT(events.allocations(), IsEmpty()) << name;
    EXPECT_FALSE(events.kernels().empty()) << "nothing was recorded";
  }
}

}  // namespace
}  // namespace prekond::testing
