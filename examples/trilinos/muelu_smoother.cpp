// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prekond's inverses as smoothers of a MueLu hierarchy: MueLu aggregates and solves the coarsest level, and
// on each finer one a factored or an explicit sparse inverse M smooths by x <- x + omega M^-1 (b - A x).
#include <prekond/adapters/ifpack2.hpp>
#include <prekond/krylov/lanczos.hpp>

#include <BelosSolverFactory.hpp>
#include <BelosTpetraAdapter.hpp>
#include <MueLu.hpp>
#include <MueLu_Factory.hpp>
#include <MueLu_FactoryManager.hpp>
#include <MueLu_Hierarchy.hpp>
#include <MueLu_Level.hpp>
#include <MueLu_SmootherFactory.hpp>
#include <MueLu_SmootherPrototype.hpp>
#include <MueLu_TpetraOperator.hpp>
#include <Tpetra_Core.hpp>

#include <algorithm>
#include <cstdio>

using TpetraMatrix = Tpetra::CrsMatrix<>;
using TpetraVectors = Tpetra::MultiVector<>;
using Operator = Tpetra::Operator<>;
using Global = TpetraMatrix::global_ordinal_type;
using Local = TpetraMatrix::local_ordinal_type;
using Node = TpetraMatrix::node_type;
using Space = TpetraMatrix::execution_space;
using Hierarchy = MueLu::Hierarchy<double, Local, Global, Node>;
using Manager = MueLu::FactoryManager<double, Local, Global, Node>;

// -u'' - v'' on size x size nodes, zero outside.
Teuchos::RCP<TpetraMatrix> assemble(int size) {
  const Tpetra::global_size_t num_rows = Tpetra::global_size_t(size) * size;
  const auto map = Teuchos::rcp(new Tpetra::Map<>(num_rows, 0, Tpetra::getDefaultComm()));
  const auto a = Teuchos::rcp(new TpetraMatrix(map, 5));
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

// A smoother as MueLu wants one: copied for each level, set up there, and applied. On several ranks an
// inverse by rows is that of the whole level, with rank_overlap = -1.
class Smoother : public MueLu::SmootherPrototype<double, Local, Global, Node> {
 public:
  using Base = MueLu::SmootherPrototype<double, Local, Global, Node>;
  using LevelOperator = Xpetra::Operator<double, Local, Global, Node>;
  using LevelVectors = Xpetra::MultiVector<double, Local, Global, Node>;
  using Adapter = prekond::ifpack2::Preconditioner<Tpetra::RowMatrix<double, Local, Global, Node>>;

  Smoother(const std::string& name, const Teuchos::ParameterList& options)
      : m_name(name), m_options(options) {}

  void DeclareInput(MueLu::Level& level) const override { Input(level, "A"); }

  void Setup(MueLu::Level& level) override {
    const auto a = Get<Teuchos::RCP<LevelOperator>>(level, "A");
    m_matrix = Teuchos::rcp_dynamic_cast<const TpetraMatrix>(Xpetra::toTpetraRowMatrix(a), true);
    m_inverse = prekond::ifpack2::create(m_name, m_matrix);
    m_inverse->setParameters(m_options);
    m_inverse->compute();
    // 4/3 over the largest eigenvalue of M^-1 A reduces the upper three quarters of its spectrum best. Ten
    // steps find a little less than that eigenvalue.
    if (m_inverse->local().is_symmetric()) {
      const Space space;
      const prekond::tpetra::MatrixOperator<double, Local, Global, Node> product(m_matrix);
      const prekond::tpetra::CommReducer<double, Space> reducer(m_matrix->getComm());
      const auto found =
          prekond::lanczos<double, Space>(space, product, &m_inverse->local(), {.steps = 10}, reducer);
      m_omega = std::min(1.0, 4.0 / 3 / (1.1 * found.largest.value));
    }
    IsSetup(true);
  }

  void Apply(LevelVectors& x, const LevelVectors& b, bool x_is_zero = false) const override {
    auto& to = Xpetra::toTpetra(x);
    const auto& from = Xpetra::toTpetra(b);
    if (x_is_zero) return m_inverse->apply(from, to, Teuchos::NO_TRANS, m_omega, 0);
    TpetraVectors residual(from, Teuchos::Copy);
    m_matrix->apply(to, residual, Teuchos::NO_TRANS, -1, 1);
    m_inverse->apply(residual, to, Teuchos::NO_TRANS, m_omega, 1);
  }

  Teuchos::RCP<Base> Copy() const override { return Teuchos::rcp(new Smoother(m_name, m_options)); }
  std::size_t getNodeSmootherComplexity() const override { return m_inverse->getNodeSmootherComplexity(); }

 private:
  std::string m_name;
  Teuchos::ParameterList m_options;
  Teuchos::RCP<const TpetraMatrix> m_matrix;
  Teuchos::RCP<Adapter> m_inverse;
  double m_omega = 1;
};

Teuchos::RCP<Hierarchy> hierarchy(const Teuchos::RCP<TpetraMatrix>& a,
                                  const Teuchos::RCP<Smoother>& smoother) {
  const auto levels = Teuchos::rcp(new Hierarchy(Xpetra::toXpetra(a)));
  levels->IsPreconditioner(true);
  levels->SetDefaultVerbLevel(MueLu::None);
  levels->SetMaxCoarseSize(100);
  Manager manager;
  manager.SetFactory("Smoother",
                     Teuchos::rcp(new MueLu::SmootherFactory<double, Local, Global, Node>(smoother)));
  levels->Setup(manager, 0, 10);
  return levels;
}

// Iterations of `solver`; -1 where it has not converged.
int iterations(const std::string& solver_name, const Teuchos::RCP<const Operator>& a,
               const Teuchos::RCP<const Operator>& m) {
  const auto x = Teuchos::rcp(new TpetraVectors(a->getDomainMap(), 1)),
             b = Teuchos::rcp(new TpetraVectors(a->getRangeMap(), 1));
  b->putScalar(1);
  const auto problem = Teuchos::rcp(new Belos::LinearProblem<double, TpetraVectors, Operator>(a, x, b));
  problem->setRightPrec(m);
  problem->setProblem();
  const auto parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-8);
  parameters->set("Maximum Iterations", 200);
  const auto solver = Belos::SolverFactory<double, TpetraVectors, Operator>().create(solver_name, parameters);
  solver->setProblem(problem);
  return solver->solve() == Belos::Converged ? solver->getNumIters() : -1;
}

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard guard(&argc, &argv);
  const auto a = assemble(150);
  bool good = true;
  for (const std::string name : {"jacobi", "fsai", "adaptive_fsai", "isai", "spai"}) {
    Teuchos::ParameterList options;
    if (name != "jacobi") options.set("rank_overlap", -1);
    if (name == "isai") options.set("kind", "spd");
    const auto levels = hierarchy(a, Teuchos::rcp(new Smoother(name, options)));
    const auto m = Teuchos::rcp(new MueLu::TpetraOperator<double, Local, Global, Node>(levels));
    const std::string solver = name == "spai" ? "Block GMRES" : "Pseudo Block CG";
    const int count = iterations(solver, a, m);
    good &= count > 0 && count <= 40;
    if (a->getComm()->getRank() == 0)
      std::printf("%-14s %d levels, %s: %d iterations\n", name.c_str(), levels->GetNumLevels(),
                  solver.c_str(), count);
  }
  return good ? 0 : 1;
}
