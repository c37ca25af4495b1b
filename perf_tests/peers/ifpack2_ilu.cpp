// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ilu_comparison.hpp"

#include <prekond/adapters/tpetra.hpp>
#include <prekond/precond/ilu.hpp>
#include <prekond/precond/ilut.hpp>

#include <Ifpack2_ILUT.hpp>
#include <Ifpack2_RILUK.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <type_traits>

/// Incomplete factorisations beside Ifpack2's RILUK and ILUT on one rank, as preconditioners of the same
/// solver on the same matrix: peer_ifpack2_ilu [--matrix=poisson3d:60 | FILE.mtx] [--solver=gmres|bicgstab]
/// [--levels=0,1,2] [--methods=levels,auto,jacobi] [--ilut=true] [--fill=2] [--tau=1e-3] [--rtol=1e-6]
/// [--max_iters=1000] [--repeat=5] [--statistic=best|median]. A line each, the candidates of a group in turn:
/// symbolic (initialize), numeric (compute), numeric again, one application, iterations, solve. The
/// difference of the factorisations of the same pattern is printed. `fill`: ILUT's "fact: ilut
/// level-of-fill"; `tau`: its "fact: drop tolerance". Our p is the largest with which ilut has at most as
/// many entries as theirs.
namespace {

using namespace prekond;
using perf::Candidate;
using perf::Matrix;
using perf::Space;
using TpetraMatrix = Tpetra::CrsMatrix<double>;
using TpetraRows = Tpetra::RowMatrix<double>;
using TpetraVectors = Tpetra::MultiVector<double>;
static_assert(std::is_same_v<Space, Tpetra::Map<>::node_type::execution_space>);

/// Shares the arrays.
Teuchos::RCP<TpetraMatrix> to_tpetra(const Matrix& a) {
  const auto comm = Tpetra::getDefaultComm();
  const auto map = Teuchos::rcp(new Tpetra::Map<>(static_cast<std::size_t>(a.num_rows), 0, comm));
  using Local = TpetraMatrix::local_matrix_device_type;
  using RowPtrs = Local::row_map_type::non_const_type;
  const RowPtrs row_ptrs("row_ptrs", a.row_ptrs.extent(0));
  Kokkos::deep_copy(row_ptrs, a.row_ptrs);
  const Local local("A", static_cast<int>(a.num_rows), static_cast<int>(a.num_cols),
                    static_cast<std::size_t>(a.nnz()), a.values, row_ptrs, a.col_idxs);
  return Teuchos::rcp(new TpetraMatrix(map, map, local));
}

/// Ifpack2's, on our vectors.
template <class Method>
class Theirs : public Preconditioner<double, Space> {
 public:
  Theirs(const Teuchos::RCP<TpetraMatrix>& a, const Teuchos::ParameterList& list)
      : m_a(a), m_method(new Method(Teuchos::RCP<const TpetraRows>(a))) {
    m_method->setParameters(list);
  }

  const Method& method() const { return *m_method; }
  void initialize() { m_method->initialize(); }
  void compute() { m_method->compute(); }

  std::string name() const override { return "Ifpack2"; }
  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_a->getLocalNumRows()); }
  void apply(const Space&, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace&) const override {
    using Dual = TpetraVectors::dual_view_type;
    using Device = Dual::t_dev;
    const Device from(const_cast<double*>(x.data()), x.extent(0), x.extent(1)),
        to(y.data(), y.extent(0), y.extent(1));
    const TpetraVectors given(m_a->getDomainMap(), Dual(from, from));
    TpetraVectors result(m_a->getRangeMap(), Dual(to, to));
    m_method->apply(given, result);
  }

 private:
  Teuchos::RCP<TpetraMatrix> m_a;
  std::unique_ptr<Method> m_method;
};

using TheirIluk = Theirs<Ifpack2::RILUK<TpetraRows>>;
using TheirIlut = Theirs<Ifpack2::ILUT<TpetraRows>>;

template <class Method>
Candidate their_candidate(const std::shared_ptr<Method>& theirs, const std::string& name,
                          const std::function<std::int64_t()>& entries) {
  return {"Ifpack2 " + name, theirs, [=] { theirs->initialize(); }, [=] { theirs->compute(); }, entries};
}

/// M = (I + L) D (I + U); its D holds the inverse pivots.
perf::HostFactors host_factors(const TheirIluk& theirs) {
  const auto matrix = [&](const TpetraMatrix& t) {
    const auto local = t.getLocalMatrixHost();
    using Host = perf::HostFactors::HostMatrix;
    return Host(theirs.num_rows(), theirs.num_rows(),
                Host::view<const std::size_t>(local.graph.row_map.data(), local.graph.row_map.extent(0)),
                Host::view<const int>(local.graph.entries.data(), local.graph.entries.extent(0)),
                Host::view<const double>(local.values.data(), local.values.extent(0)));
  };
  const auto pivots = theirs.method().getD().getData(0);
  return {matrix(theirs.method().getL()), matrix(theirs.method().getU()), true,
          std::vector<double>(pivots.begin(), pivots.end()),
          std::vector<double>(std::size_t(theirs.num_rows()), 1.0)};
}

void compare_level(const perf::IluProblem& problem, const Teuchos::RCP<TpetraMatrix>& tpetra, int level,
                   const std::vector<std::string>& methods) {
  std::vector<Candidate> candidates;
  const std::string k = std::to_string(level);
  for (const std::string& method : methods)
    if (level == 0)
      candidates.push_back(
          perf::our_candidate<Ilu<double, Space>>(problem.a, "ilu0, " + method, {{"solve.method", method}}));
    else
      candidates.push_back(perf::our_candidate<Ilu<double, Space>>(problem.a, "iluk " + k + ", " + method,
                                                                   {{"level", k}, {"solve.method", method}}));
  Teuchos::ParameterList list;
  list.set("fact: iluk level-of-fill", level);
  const auto theirs = std::make_shared<TheirIluk>(tpetra, list);
  candidates.push_back(their_candidate(theirs, "RILUK " + k, [=] {
    return static_cast<std::int64_t>(theirs->method().getL().getLocalNumEntries() +
                                     theirs->method().getU().getLocalNumEntries()) +
           theirs->num_rows();
  }));
  perf::compare(problem, candidates);
  if (theirs->method().isComputed())
    perf::print_difference<Ilu<double, Space>>(problem.a, {{"level", k}}, host_factors(*theirs));
}

/// The largest p with which our ilut has no more entries than `most`.
int find_p(const Matrix& a, const std::string& tau, std::int64_t most) {
  int below = 0, above = 256;
  while (above - below > 1) {
    const int p = (below + above) / 2;
    const auto tried =
        perf::our_candidate<Ilut<double, Space>>(a, "", {{"p", std::to_string(p)}, {"tau", tau}});
    tried.symbolic();
    tried.numeric();
    (tried.entries() <= most ? below : above) = p;
  }
  return below;
}

void compare_ilut(const perf::IluProblem& problem, const Teuchos::RCP<TpetraMatrix>& tpetra, double fill,
                  const std::string& tau, const std::vector<std::string>& methods) {
  Teuchos::ParameterList list;
  list.set("fact: ilut level-of-fill", fill);
  list.set("fact: drop tolerance", std::stod(tau));
  const auto theirs = std::make_shared<TheirIlut>(tpetra, list);
  const auto entries = [=] { return static_cast<std::int64_t>(theirs->method().getLocalNumEntries()); };
  theirs->initialize();
  theirs->compute();
  const std::string p = std::to_string(find_p(problem.a, tau, entries()));
  std::vector<Candidate> candidates;
  for (const std::string& method : methods)
    candidates.push_back(perf::our_candidate<Ilut<double, Space>>(
        problem.a, "ilut " + p + ", " + method, {{"p", p}, {"tau", tau}, {"solve.method", method}}));
  candidates.push_back(their_candidate(theirs, "ILUT", entries));
  perf::compare(problem, candidates);
}

void run(int argc, char** argv) {
  const auto levels = perf::numbers(perf::take_flag(argc, argv, "levels", "0,1,2"));
  const auto methods = perf::words(perf::take_flag(argc, argv, "methods", "levels,auto,jacobi"));
  const bool ilut = perf::take_flag(argc, argv, "ilut", "true") == "true";
  const double fill = std::stod(perf::take_flag(argc, argv, "fill", "2"));
  const std::string tau = perf::take_flag(argc, argv, "tau", "1e-3");
  const perf::IluProblem problem = perf::make_ilu_problem(argc, argv);
  const auto tpetra = to_tpetra(problem.a);
  for (const int level : levels) compare_level(problem, tpetra, level, methods);
  if (ilut) compare_ilut(problem, tpetra, fill, tau, methods);
}

}  // namespace

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard guard(&argc, &argv);
  run(argc, argv);
  return 0;
}
