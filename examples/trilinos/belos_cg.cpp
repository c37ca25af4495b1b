// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prekond in Belos: several right-hand sides at once, with the preconditioner on the left (CG) or on the
// right (GMRES); an operator that is never assembled; for comparison, Prekond's own CG on Tpetra's vectors.
#include <prekond/adapters/belos.hpp>
#include <prekond/adapters/ifpack2.hpp>
#include <prekond/krylov/cg.hpp>

#include <BelosSolverFactory.hpp>
#include <Tpetra_Core.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>

using Matrix = Tpetra::CrsMatrix<>;
using Vectors = Tpetra::MultiVector<>;
using Operator = Tpetra::Operator<>;
using Global = Matrix::global_ordinal_type;
using Local = Matrix::local_ordinal_type;
using Node = Matrix::node_type;
using Space = Matrix::execution_space;

// -u'' - v'' on size x size nodes, zero outside.
Teuchos::RCP<const Matrix> assemble(int size) {
  const Tpetra::global_size_t num_rows = Tpetra::global_size_t(size) * size;
  const auto map = Teuchos::rcp(new Tpetra::Map<>(num_rows, 0, Tpetra::getDefaultComm()));
  const auto a = Teuchos::rcp(new Matrix(map, 5));
  for (const Global row : map->getLocalElementList()) {
    const Global x = row % size, y = row / size;
    const auto add = [&](bool there, Global column, double value) {
      if (there) a->insertGlobalValues(row, Teuchos::tuple(column), Teuchos::tuple(value));
    };
    add(y > 0, row - size, -1);
    add(x > 0, row - 1, -1);
    add(true, row, 4);
    add(x < size - 1, row + 1, -1);
    add(y < size - 1, row + size, -1);
  }
  a->fillComplete();
  return a;
}

// A + shift I, as an implicit time step has it, without a matrix of its own. An operator sees one rank's rows
// of the vectors; what it needs of other ranks is its own affair: here MatrixOperator imports it.
class Shifted : public prekond::Operator<double, Space> {
 public:
  using ConstView = prekond::MultiVectorView<const double, Space>;
  using View = prekond::MultiVectorView<double, Space>;

  Shifted(const Teuchos::RCP<const Matrix>& a, double shift) : m_a(a), m_shift(shift) {}
  std::int64_t num_rows() const override { return m_a.num_rows(); }
  std::int64_t num_cols() const override { return m_a.num_cols(); }

  // y = alpha (A + shift I) x + beta y
  void apply(const Space& space, ConstView x, View y, double alpha = 1, double beta = 0) const override {
    m_a.apply(space, x, y, alpha, beta);
    const double weight = alpha * m_shift;
    Kokkos::parallel_for(
        "shifted::apply", Kokkos::RangePolicy<Space>(space, 0, num_rows()), KOKKOS_LAMBDA(std::int64_t i) {
          for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) += weight * x(i, v);
        });
  }

 private:
  prekond::tpetra::MatrixOperator<double, Local, Global, Node> m_a;
  double m_shift;
};

enum class Side { left, right };

// Solves for all columns of b; what is printed is the worst of them.
bool solve(const std::string& name, const Teuchos::RCP<const Operator>& a,
           const Teuchos::RCP<const Operator>& m, Side side, const Teuchos::RCP<const Vectors>& b) {
  const auto x = Teuchos::rcp(new Vectors(a->getDomainMap(), b->getNumVectors()));
  const auto problem = Teuchos::rcp(new Belos::LinearProblem<double, Vectors, Operator>(a, x, b));
  if (side == Side::left)
    problem->setLeftPrec(m);
  else
    problem->setRightPrec(m);
  problem->setProblem();
  const auto parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-8);
  parameters->set("Maximum Iterations", 1000);
  parameters->set("Block Size", static_cast<int>(b->getNumVectors()));
  const auto solver = Belos::SolverFactory<double, Vectors, Operator>().create(name, parameters);
  solver->setProblem(problem);
  const bool converged = solver->solve() == Belos::Converged;

  Vectors r(*b, Teuchos::Copy);
  a->apply(*x, r, Teuchos::NO_TRANS, -1, 1);
  Teuchos::Array<double> r_norms(b->getNumVectors()), b_norms(b->getNumVectors());
  r.norm2(r_norms());
  b->norm2(b_norms());
  double worst = 0;
  for (std::size_t v = 0; v < b->getNumVectors(); ++v) worst = std::max(worst, r_norms[v] / b_norms[v]);
  if (b->getMap()->getComm()->getRank() == 0)
    std::printf("%-20s %s after %d iterations, ||b - A x|| / ||b|| <= %.2e\n", name.c_str(),
                converged ? "converged" : "not converged", solver->getNumIters(), worst);
  return converged;
}

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard guard(&argc, &argv);
  const auto a = assemble(100);
  const auto b = Teuchos::rcp(new Vectors(a->getRangeMap(), 4));
  b->randomize();

  const auto m = prekond::ifpack2::create("auto", a);
  Teuchos::ParameterList options;
  options.set("solves", 13);  // that one setup serves, a vector each
  m->setParameters(options);
  m->compute();  // initializes first
  bool converged = solve("Block CG", a, m, Side::left, b);
  converged &= solve("Block GMRES", a, m, Side::right, b);

  // A's preconditioner serves what is near A.
  const Teuchos::RCP<const Operator> shifted =
      prekond::belos::as_tpetra(std::make_shared<Shifted>(a, 1e-2), a->getRowMap());
  converged &= solve("Pseudo Block CG", shifted, m, Side::left, b);

  // Prekond's own CG solves for one vector. Dot products that are due together travel in one message.
  Tpetra::Vector<> x(a->getDomainMap());
  prekond::StoppingOptions stopping;
  stopping.rtol = 1e-8;
  const auto result = prekond::tpetra::solve(Space(), prekond::Cg<double, Space>(), a, &m->local(),
                                             *b->getVector(0), x, stopping);
  if (a->getComm()->getRank() == 0)
    std::printf("%-20s %s after %lld iterations, ||b - A x|| / ||b|| = %.2e\n", "prekond::Cg",
                prekond::to_string(result.reason).c_str(), static_cast<long long>(result.iterations),
                result.true_relative_residual);

  m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef(std::cout)), Teuchos::VERB_LOW);  // collective
  return converged && result.converged ? 0 : 1;
}
