// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A Trilinos program of the usual kind: a matrix assembled row by row on all ranks, a preconditioner whose
// parameters stand in an XML file, CG of Belos. ifpack2_before.cpp takes Ifpack2's incomplete LU,
// ifpack2_after.cpp Prekond: compare the two.
#include <Ifpack2_Factory.hpp>

#include <BelosSolverFactory.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Teuchos_XMLParameterListHelpers.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <cstdio>

using Matrix = Tpetra::CrsMatrix<>;
using Vector = Tpetra::Vector<>;
using Vectors = Tpetra::MultiVector<>;
using Operator = Tpetra::Operator<>;
using Global = Matrix::global_ordinal_type;

// -0.01 u_xx - u_yy - u_zz on size^3 nodes, zero outside.
Teuchos::RCP<const Matrix> assemble(int size) {
  const Tpetra::global_size_t num_rows = Tpetra::global_size_t(size) * size * size;
  const auto map = Teuchos::rcp(new Tpetra::Map<>(num_rows, 0, Tpetra::getDefaultComm()));
  const auto a = Teuchos::rcp(new Matrix(map, 7));
  const double weak = 0.01;
  for (const Global row : map->getLocalElementList()) {
    const Global x = row % size, y = row / size % size, z = row / size / size;
    Teuchos::Array<Global> columns;
    Teuchos::Array<double> values;
    const auto add = [&](bool there, Global column, double value) {
      if (!there) return;
      columns.push_back(column);
      values.push_back(value);
    };
    add(z > 0, row - size * size, -1);
    add(y > 0, row - size, -1);
    add(x > 0, row - 1, -weak);
    add(true, row, 4 + 2 * weak);
    add(x < size - 1, row + 1, -weak);
    add(y < size - 1, row + size, -1);
    add(z < size - 1, row + size * size, -1);
    a->insertGlobalValues(row, columns(), values());
  }
  a->fillComplete();
  return a;
}

double relative_residual(const Matrix& a, const Vector& x, const Vector& b) {
  Vector r(b, Teuchos::Copy);
  a.apply(x, r, Teuchos::NO_TRANS, -1, 1);
  return r.norm2() / b.norm2();
}

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard guard(&argc, &argv);
  const auto a = assemble(30);
  const auto x = Teuchos::rcp(new Vector(a->getDomainMap()));
  const auto b = Teuchos::rcp(new Vector(a->getRangeMap()));
  b->putScalar(1);

  const auto preconditioner = Ifpack2::Factory::create<Tpetra::RowMatrix<>>("RILUK", a);
  preconditioner->setParameters(*Teuchos::getParametersFromXmlFile("riluk.xml"));
  preconditioner->initialize();
  preconditioner->compute();

  const auto problem = Teuchos::rcp(new Belos::LinearProblem<double, Vectors, Operator>(a, x, b));
  problem->setLeftPrec(preconditioner);
  problem->setProblem();
  const auto parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-8);
  parameters->set("Maximum Iterations", 500);
  const auto solver = Belos::SolverFactory<double, Vectors, Operator>().create("CG", parameters);
  solver->setProblem(problem);
  const bool converged = solver->solve() == Belos::Converged;

  const double residual = relative_residual(*a, *x, *b);
  if (a->getComm()->getRank() == 0)
    std::printf("%s after %d iterations, ||b - A x|| / ||b|| = %.2e\n",
                converged ? "converged" : "not converged", solver->getNumIters(), residual);
  return converged ? 0 : 1;
}
