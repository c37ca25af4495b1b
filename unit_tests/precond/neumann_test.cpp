// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Singular systems that have a solution: Laplacians of graphs.
#include "testing/krylov_problems.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/krylov/cg.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <utility>

namespace prekond::testing {
namespace {

template <class Space>
class NeumannTest : public ::testing::Test {};
TYPED_TEST_SUITE(NeumannTest, TestSpaces, SpaceNames);

using Edges = std::vector<std::pair<int, int>>;

struct Graph {
  std::string name;
  int num_nodes;
  Edges edges;
};

Edges grid(int p, int q) {
  Edges edges;
  for (int i = 0; i < p; ++i)
    for (int j = 0; j < q; ++j) {
      if (i + 1 < p) edges.push_back({i * q + j, i * q + j + q});
      if (j + 1 < q) edges.push_back({i * q + j, i * q + j + 1});
    }
  return edges;
}

std::vector<Graph> graphs() {
  std::vector<Graph> all = {{"grid 3 x 3", 9, grid(3, 3)}, {"grid 7 x 7", 49, grid(7, 7)},
                            {"ladder", 20, grid(2, 10)},   {"path of 2", 2, {{0, 1}}},
                            {"path of 5", 5, grid(1, 5)},  {"path of 40", 40, grid(1, 40)}};
  for (const int n : {3, 4, 7, 50}) {
    Edges ring = grid(1, n);
    ring.push_back({n - 1, 0});
    all.push_back({"ring of " + std::to_string(n), n, ring});
  }
  Edges star, complete, tree;
  for (int i = 1; i < 9; ++i) star.push_back({0, i});
  for (int i = 1; i < 6; ++i)
    for (int j = 0; j < i; ++j) complete.push_back({i, j});
  std::mt19937 random(5);
  for (int i = 1; i < 30; ++i) tree.push_back({i, static_cast<int>(random() % unsigned(i))});
  all.push_back({"star", 9, star});
  all.push_back({"complete", 6, complete});
  all.push_back({"tree", 30, tree});
  return all;
}

/// Weights of 1, or from 10^-spread to 10^spread.
HostMatrix<double> laplacian(const Graph& graph, double spread) {
  std::vector<std::vector<double>> dense(graph.num_nodes, std::vector<double>(graph.num_nodes, 0.0));
  std::mt19937 random(8);
  for (const auto& [i, j] : graph.edges) {
    const double weight = std::pow(10, spread * (double(random()) / 0x1p31 - 1));
    dense[i][j] -= weight;
    dense[j][i] -= weight;
    dense[i][i] += weight;
    dense[j][j] += weight;
  }
  return sparse(dense);
}

template <class Space>
void check(const std::string& method, const OptionMap& options, double rtol) {
  for (const Graph& graph : graphs())
    for (const double spread : {0.0, 1.0, 2.0}) {
      SCOPED_TRACE(method + ", " + graph.name + ", weights over 10^" + std::to_string(2 * spread));
      const HostMatrix<double> a = laplacian(graph, spread);
      const auto device = to_device<Space>(a);
      const auto m = create_preconditioner<double, Space>(method, options);
      m->numeric(Space(), device);
      const auto exact = to_device<Space>(random_vector(graph.num_nodes));
      const Vector<double, Space> b("b", graph.num_nodes), x("x", graph.num_nodes);
      const CsrOperator<double, Space> op(device);
      op.apply(Space(), as_multivector(Vector<const double, Space>(exact)), as_multivector(b));
      const SolveResult result = Cg<double, Space>().solve(
          Space(), op, m.get(), VectorView<const double, Space>(b), x, stop_at(rtol));
      EXPECT_TRUE(result.converged) << to_string(result.reason) << " after " << result.iterations << ", "
                                    << result.true_relative_residual;
      // The part of x along the null vector stays of its size.
      for (const double value : to_vector(x)) EXPECT_LT(std::abs(value), 1e3);
    }
}

TYPED_TEST(NeumannTest, JacobiAndFsai) {
  check<TypeParam>("jacobi", {}, 1e-8);
  check<TypeParam>("fsai", {}, 1e-8);
  check<TypeParam>("fsai", {{"power", std::int64_t(4)}}, 1e-8);
}

TYPED_TEST(NeumannTest, AdaptiveFsai) {
  check<TypeParam>("adaptive_fsai", {}, 1e-8);
  check<TypeParam>("adaptive_fsai", {{"setup_scalar", std::string("double")}}, 1e-8);
  check<TypeParam>("adaptive_fsai", {{"postfilter", 0.05}}, 1e-8);
}

TYPED_TEST(NeumannTest, Multigrid) {
  check<TypeParam>("amg", {}, 1e-10);
}

TYPED_TEST(NeumannTest, Polynomials) {
  check<TypeParam>("chebyshev", {}, 1e-8);
  check<TypeParam>("ls_polynomial", {}, 1e-8);
}

}  // namespace
}  // namespace prekond::testing
