// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../benchmark_main.hpp"

#include <prekond/adapters/tpetra.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/polynomial.hpp>

#include <Ifpack2_Chebyshev.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

/// chebyshev and Ifpack2's, as preconditioners of the same CG with the same products, on one rank. The
/// polynomials are the same: Ifpack2 is given the largest eigenvalue that ours has found (`given`), and finds
/// it by itself in another line. peer_ifpack2_chebyshev [--matrix=poisson3d:60] [--degrees=1,3,7]
/// [--rtol=1e-6]
/// [--repeat=5]; a degree is the number of products of an application. A line each: setup, one application,
/// iterations, solve; the best of the repetitions.
namespace {

using namespace prekond;
using Space = Tpetra::Map<>::node_type::execution_space;
using TpetraMatrix = Tpetra::CrsMatrix<double>;
using TpetraVectors = Tpetra::MultiVector<double>;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

double seconds(const std::function<void()>& work) {
  Space().fence();
  const Kokkos::Timer timer;
  work();
  Space().fence();
  return timer.seconds();
}

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
class Theirs : public Preconditioner<double, Space> {
 public:
  Theirs(const Teuchos::RCP<TpetraMatrix>& a, int degree, double ratio, double boost, double largest)
      : m_a(a), m_is_given(largest > 0), m_method(new Ifpack2::Chebyshev<Tpetra::RowMatrix<double>>(a)) {
    Teuchos::ParameterList list;
    list.set("chebyshev: degree", degree + 1);
    list.set("chebyshev: ratio eigenvalue", ratio);
    list.set("chebyshev: boost factor", boost);
    list.set("chebyshev: zero starting solution", true);
    if (m_is_given) list.set("chebyshev: max eigenvalue", largest);
    m_method->setParameters(list);
  }

  void compute() {
    m_method->initialize();
    m_method->compute();
  }

  std::string name() const override { return m_is_given ? "Ifpack2, given" : "Ifpack2"; }
  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_a->getLocalNumRows()); }
  bool is_symmetric() const override { return true; }
  const Report& report() const override { return m_report; }
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
  bool m_is_given;
  std::unique_ptr<Ifpack2::Chebyshev<Tpetra::RowMatrix<double>>> m_method;
  Report m_report;
};

struct Problem {
  Matrix a;
  Vector<double, Space> b;
  StoppingOptions stopping;
  int repeat;
};

void measure(const Problem& problem, const Preconditioner<double, Space>& m, const std::string& name,
             const std::function<void()>& setup) {
  const Space space;
  const CsrOperator<double, Space> a(problem.a);
  const Vector<double, Space> x("x", problem.a.num_rows), y("y", problem.a.num_rows);
  double setup_time = 1e30, apply_time = 1e30, solve_time = 1e30;
  SolveResult result{};
  for (int k = 0; k < problem.repeat; ++k) {
    setup_time = std::min(setup_time, seconds(setup));
    const auto workspace = m.make_workspace(space, 1);
    apply_time = std::min(apply_time, seconds([&] {
                            m.apply(space, as_multivector(VectorView<const double, Space>(problem.b)),
                                    as_multivector(y), *workspace);
                          }));
    Kokkos::deep_copy(x, 0.0);
    solve_time = std::min(solve_time, seconds([&] {
                            result = Cg<double, Space>().solve(space, a, &m, problem.b, x, problem.stopping);
                          }));
  }
  std::printf("%-20s setup %.5f s, application %.6f s, %lld iterations, solve %.5f s%s\n", name.c_str(),
              setup_time, apply_time, static_cast<long long>(result.iterations), solve_time,
              result.converged ? "" : " (not converged)");
}

void run(int argc, char** argv) {
  const Space space;
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const auto degrees = perf::numbers(perf::take_flag(argc, argv, "degrees", "1,3,7"));
  Problem problem;
  problem.stopping.rtol = std::stod(perf::take_flag(argc, argv, "rtol", "1e-6"));
  problem.repeat = std::stoi(perf::take_flag(argc, argv, "repeat", "5"));
  problem.a = generate<double>(space, spec);
  problem.b = Vector<double, Space>("b", problem.a.num_rows);
  const Vector<double, Space> ones("ones", problem.a.num_rows);
  Kokkos::deep_copy(ones, 1.0);
  spmv<double, Space>(space, 1.0, problem.a, as_multivector(VectorView<const double, Space>(ones)), 0.0,
                      as_multivector(problem.b));
  const auto tpetra = to_tpetra(problem.a);
  std::printf("%s: %lld rows, %lld entries; cg, %s, %d threads\n", spec.c_str(),
              static_cast<long long>(problem.a.num_rows), static_cast<long long>(problem.a.nnz()),
              Space::name(), space.concurrency());
  for (const int degree : degrees)
    for (const MatrixFormat format : {MatrixFormat::csr, MatrixFormat::automatic}) {
      PolynomialOptions options = PolynomialOptions::chebyshev();
      options.degree = degree;
      options.storage_format = format;
      PolynomialPreconditioner<double, Space> ours(options);
      measure(problem, ours, "Prekond, " + to_string(format), [&] {
        ours.symbolic(space, problem.a);
        ours.numeric(space, problem.a);
      });
      if (format == MatrixFormat::csr) continue;
      const double largest = ours.spectrum().as_given(ours.spectrum().max);
      std::printf("%-20s %d products, largest eigenvalue %.6g\n", "", degree, largest);
      for (const double given : {largest, 0.0}) {
        Theirs theirs(tpetra, degree, options.eigenvalue_ratio, 1.1, given);
        measure(problem, theirs, theirs.name(), [&] { theirs.compute(); });
      }
    }
}

}  // namespace

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard guard(&argc, &argv);
  run(argc, argv);
  return 0;
}
