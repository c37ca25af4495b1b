// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Knowledge of a matrix in addition to its entries, as parameters.
#include "testing/ifpack2_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/cg.hpp>
#include <prekond/precond/amg.hpp>

#include <functional>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using Teuchos::Exceptions::InvalidParameter;
using Vectors = Teuchos::RCP<TpetraMultiVector>;

constexpr int size = 8;                              // of elasticity3d
constexpr int num_nodes = size * size * (size - 1);  // that are free

/// Layers of size^2 nodes from z = 1 on.
double coordinate(GlobalIndex node, int k) {
  return double(k == 0 ? node % size : k == 1 ? node / size % size : node / (size * size) + 1);
}

Vectors filled(const Teuchos::RCP<const TpetraMap>& map, int columns,
               const std::function<double(GlobalIndex, int)>& value) {
  const auto x = Teuchos::rcp(new TpetraMultiVector(map, columns));
  for (const GlobalIndex i : own_indices(*map))
    for (int k = 0; k < columns; ++k) x->replaceGlobalValue(i, k, value(i, k));
  return x;
}

/// Rows by nodes that one rank has.
struct Elasticity {
  Teuchos::RCP<const TpetraMap> nodes = contiguous_map(num_nodes);
  Teuchos::RCP<const TpetraMap> rows;
  Teuchos::RCP<TpetraMatrix> matrix;
  HostMatrix<double> host = problem("elasticity3d:8,contrast=1");

  Elasticity() {
    std::vector<GlobalIndex> mine;
    for (const GlobalIndex node : own_indices(*nodes))
      for (int c = 0; c < 3; ++c) mine.push_back(3 * node + c);
    rows = map_of(mine);
    matrix = distribute(host, rows);
  }
  Vectors coordinates() const { return filled(nodes, 3, coordinate); }
  /// Translations, and rotations about the origin.
  Vectors modes() const {
    return filled(rows, 6, [](GlobalIndex row, int k) {
      const GlobalIndex node = row / 3;
      const int c = static_cast<int>(row % 3), from = (k + 1) % 3, to = (k + 2) % 3;
      if (k < 3) return c == k ? 1.0 : 0.0;
      return c == from ? -coordinate(node, to) : c == to ? coordinate(node, from) : 0.0;
    });
  }
  AdapterPointer multigrid(const Teuchos::ParameterList& list) const {
    const AdapterPointer m = ifpack2::create("amg", matrix);
    m->setParameters(list);
    m->compute();
    return m;
  }
  std::int64_t iterations(const Teuchos::ParameterList& list) const {
    const auto m = multigrid(list);
    TpetraVector b(rows), x(rows);
    b.putScalar(1);
    StoppingOptions stopping;
    stopping.rtol = 1e-8;
    const auto result = tpetra::solve(Space(), Cg<double, Space>(), matrix, &m->local(), b, x, stopping);
    EXPECT_TRUE(result.converged);
    return result.iterations;
  }
};

TEST(Ifpack2NearNullSpace, RigidBodyModesNeedFewerIterations) {
  const Elasticity problem;
  Teuchos::ParameterList constants, by_coordinates, by_vectors, as_const;
  constants.set("unknowns_per_node", 3);
  by_coordinates.set("Coordinates", problem.coordinates());
  by_vectors.set("Nullspace", problem.modes());
  by_vectors.set("unknowns_per_node", 3);
  as_const.set("Coordinates", Teuchos::RCP<const TpetraMultiVector>(problem.coordinates()));
  const auto many = problem.iterations(constants), few = problem.iterations(by_coordinates);
  EXPECT_LE(few, many);
  if (num_ranks() < 4) {  // with more, a rank's rows are one level, which is exact
    EXPECT_LT(few, many);
  }
  EXPECT_LE(std::abs(problem.iterations(by_vectors) - few), 2);
  EXPECT_EQ(problem.iterations(as_const), few);
}

// With as many rows as these each rank has the whole hierarchy by default.
TEST(Ifpack2NearNullSpace, DistributedLevelsTakeTheIterationsOfOneRank) {
  const Elasticity problem;
  Teuchos::ParameterList own, whole;
  own.set("Coordinates", problem.coordinates());
  whole = own;
  whole.set("rank_overlap", -1);
  const auto of_one_rank = problem.iterations(whole);
  if (num_ranks() > 1) {
    EXPECT_LT(of_one_rank, problem.iterations(own));
  }
  whole.set("gather_rows", 40);
  EXPECT_EQ(problem.iterations(whole), of_one_rank);
}

TEST(Ifpack2NearNullSpace, IsThatOfTheRanksOwnRows) {
  const Elasticity problem;
  Teuchos::ParameterList list;
  list.set("Coordinates", problem.coordinates());
  const auto m = problem.multigrid(list);
  const auto own = to_device<Space>(local_reference(problem.host, *problem.rows).own);
  const auto nodes = own_indices(*problem.nodes);
  const MultiVector<double, Space> coordinates("coordinates", nodes.size(), 3);
  const auto host = Kokkos::create_mirror_view(coordinates);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (int k = 0; k < 3; ++k) host(i, k) = coordinate(nodes[i], k);
  Kokkos::deep_copy(coordinates, host);
  const auto modes = rigid_body_modes<double, Space>(Space(), coordinates);
  MatrixSource<double, Space> source(own);
  source.set_unknowns_per_node(3);
  source.set_near_null_space(modes);
  const auto expected = create_preconditioner<double, Space>("amg", {{"reuse", std::string("none")}});
  expected->numeric(Space(), source);
  const Columns x = random_columns(3 * num_nodes, 2, 5);
  EXPECT_EQ(applied(*m, x, problem.rows), applied(*expected, own_part(x, *problem.rows)));
}

TEST(Ifpack2NearNullSpace, TheListKeepsAndForgetsThem) {
  const Elasticity problem;
  const AdapterPointer m = ifpack2::create("amg", problem.matrix);
  Teuchos::ParameterList list;
  list.set("Nullspace", problem.modes());
  m->setParameters(list);
  m->setParameters(Teuchos::ParameterList().set("theta", 0.01));  // leaves it as it is
  const auto of = [&] {
    return m->getValidParameters()->get<Teuchos::RCP<const TpetraMultiVector>>("Nullspace");
  };
  EXPECT_EQ(of().getRawPtr(), list.get<Vectors>("Nullspace").getRawPtr());
  m->setParameters(*m->getValidParameters());
  EXPECT_FALSE(of().is_null());
  m->setParameters(Teuchos::ParameterList().set("Nullspace", Vectors()));
  EXPECT_TRUE(of().is_null());
}

TEST(Ifpack2NearNullSpace, WhatDoesNotFitIsRefused) {
  const Elasticity problem;
  const auto refused = [&](const char* name, const Vectors& vectors) {
    Teuchos::ParameterList list;
    list.set(name, vectors);
    try {
      problem.multigrid(list);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(refused("Nullspace", problem.coordinates()), HasSubstr("near null space's vectors have"));
  EXPECT_THAT(refused("Coordinates", problem.modes()), HasSubstr("'Coordinates' has"));
  const AdapterPointer m = ifpack2::create("amg", problem.matrix);
  Teuchos::ParameterList list;
  list.set("Nullspace", 3);
  list.set("theta", 0.5);
  EXPECT_THROW(m->setParameters(list), InvalidParameter);
  EXPECT_EQ(m->getValidParameters()->get<std::string>("theta"), "auto") << "nothing is changed";
}

}  // namespace
}  // namespace prekond::testing
