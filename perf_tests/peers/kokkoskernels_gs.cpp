// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../benchmark_main.hpp"

#include <prekond/adapters/kokkoskernels.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/krylov/richardson.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/multicolor.hpp>

#include <KokkosKernels_config.h>
#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_gauss_seidel.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

/// multicolor_ssor compared with Kokkos Kernels' point and cluster multicolour Gauss-Seidel, as
/// preconditioners of the same CG (or Richardson iteration) on the same matrix, with as many symmetric sweeps
/// from zero: peer_kokkoskernels_gs [--matrix=poisson3d:100] [--solver=cg|richardson] [--sweeps=1]
/// [--omega=1]
/// [--rtol=1e-6] [--max_iters=10000] [--cluster_sizes=4,16] [--repeat=5]. A line each: setup (symbolic and
/// numeric), its repetition with new values, one application, iterations, solve; the best of the repetitions.
namespace {

#if KOKKOSKERNELS_VERSION >= 50000
namespace gauss_seidel = KokkosSparse;
#else
namespace gauss_seidel = KokkosSparse::Experimental;
#endif

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
using Memory = Space::memory_space;
using Handle =
    KokkosKernels::Experimental::KokkosKernelsHandle<std::size_t, int, double, Space, Memory, Memory>;

/// Symmetric sweeps of theirs from zero. Their calls work on the default instance.
class TheirSweeps : public Preconditioner<double, Space> {
 public:
  TheirSweeps(const Matrix& a, int cluster_size, int sweeps, double omega)
      : m_a(a), m_cluster_size(cluster_size), m_sweeps(sweeps), m_omega(omega) {
    if (cluster_size > 1)
      m_handle.create_gs_handle(KokkosSparse::CLUSTER_DEFAULT, cluster_size);
    else
      m_handle.create_gs_handle(KokkosSparse::GS_DEFAULT);
  }
  ~TheirSweeps() override { m_handle.destroy_gs_handle(); }

  void symbolic() {
    const auto n = static_cast<int>(m_a.num_rows);
    gauss_seidel::gauss_seidel_symbolic(&m_handle, n, n, m_a.row_ptrs, m_a.col_idxs, true);
  }
  void numeric() {
    const auto n = static_cast<int>(m_a.num_rows);
    gauss_seidel::gauss_seidel_numeric(&m_handle, n, n, m_a.row_ptrs, m_a.col_idxs, m_a.values, true);
  }

  std::string name() const override {
    return m_cluster_size > 1 ? "kokkoskernels cluster " + std::to_string(m_cluster_size)
                              : "kokkoskernels point";
  }
  std::int64_t num_rows() const override { return m_a.num_rows; }
  bool is_symmetric() const override { return true; }
  const Report& report() const override { return m_report; }
  void apply(const Space&, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace&) const override {
    const auto n = static_cast<int>(m_a.num_rows);
    gauss_seidel::symmetric_gauss_seidel_apply(&m_handle, n, n, m_a.row_ptrs, m_a.col_idxs, m_a.values,
                                               column(y, 0), column(x, 0), true, true, m_omega, m_sweeps);
  }

 private:
  Matrix m_a;
  int m_cluster_size, m_sweeps;
  double m_omega;
  mutable Handle m_handle;
  Report m_report;
};

struct Problem {
  Matrix a;
  Vector<double, Space> b;
  std::string solver;
  StoppingOptions stopping;
  int repeat;
};

/// Solves by either solver. \returns iterations and whether it converged
SolveResult solve(const Problem& problem, const Preconditioner<double, Space>& m,
                  const Vector<double, Space>& x) {
  const Space space;
  const CsrOperator<double, Space> a(problem.a);
  Kokkos::deep_copy(x, 0.0);
  if (problem.solver == "richardson") {
    Richardson<double, Space> solver;
    return solver.solve(space, a, &m, problem.b, x, problem.stopping);
  }
  Cg<double, Space> solver;
  return solver.solve(space, a, &m, problem.b, x, problem.stopping);
}

void measure(const Problem& problem, const Preconditioner<double, Space>& m,
             const std::function<void()>& symbolic, const std::function<void()>& numeric) {
  const Space space;
  double setup = 1e30, again = 1e30, apply = 1e30, time = 1e30;
  const Vector<double, Space> x("x", problem.a.num_rows), y("y", problem.a.num_rows);
  SolveResult result{};
  for (int k = 0; k < problem.repeat; ++k) {
    setup = std::min(setup, perf::seconds(space, [&] {
                       symbolic();
                       numeric();
                     }));
    again = std::min(again, perf::seconds(space, numeric));
    const auto workspace = m.make_workspace(space, 1);
    apply = std::min(apply, perf::seconds(space, [&] {
                       m.apply(space, as_multivector(VectorView<const double, Space>(problem.b)),
                               as_multivector(y), *workspace);
                     }));
    time = std::min(time, perf::seconds(space, [&] { result = solve(problem, m, x); }));
  }
  std::printf("%-28s setup %.5f s, again %.5f s, application %.6f s, %lld iterations, solve %.5f s%s\n",
              m.name().c_str(), setup, again, apply, static_cast<long long>(result.iterations), time,
              result.converged ? "" : " (not converged)");
}

void run(int argc, char** argv) {
  const Space space;
  const std::string spec = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const int sweeps = std::stoi(perf::take_flag(argc, argv, "sweeps", "1"));
  const double omega = std::stod(perf::take_flag(argc, argv, "omega", "1"));
  Problem problem;
  problem.solver = perf::take_flag(argc, argv, "solver", "cg");
  problem.stopping.rtol = std::stod(perf::take_flag(argc, argv, "rtol", "1e-6"));
  problem.stopping.max_iters = std::stoll(perf::take_flag(argc, argv, "max_iters", "10000"));
  problem.repeat = std::stoi(perf::take_flag(argc, argv, "repeat", "5"));
  const auto cluster_sizes = perf::numbers(perf::take_flag(argc, argv, "cluster_sizes", "4,16"));
  problem.a = generate<double>(space, spec);
  problem.b = Vector<double, Space>("b", problem.a.num_rows);
  const Vector<double, Space> ones("ones", problem.a.num_rows);
  Kokkos::deep_copy(ones, 1.0);
  spmv<double, Space>(space, 1.0, problem.a, as_multivector(VectorView<const double, Space>(ones)), 0.0,
                      as_multivector(problem.b));
  std::printf("%s: %lld rows, %lld entries; %s, %d symmetric sweeps, omega %g\n", spec.c_str(),
              static_cast<long long>(problem.a.num_rows), static_cast<long long>(problem.a.nnz()),
              problem.solver.c_str(), sweeps, omega);
  MulticolorGsOptions options = MulticolorGsOptions::symmetric();
  options.sweeps = sweeps;
  options.omega = omega;
  MulticolorGs<double, Space> ours(options);
  measure(
      problem, ours, [&] { ours.symbolic(space, problem.a); }, [&] { ours.numeric(space, problem.a); });
  std::printf("%-28s %d colours\n", "", ours.coloring().num_colors);
  std::vector<int> kinds = {1};
  kinds.insert(kinds.end(), cluster_sizes.begin(), cluster_sizes.end());
  for (const int size : kinds) {
    TheirSweeps theirs(problem.a, size, sweeps, omega);
    measure(
        problem, theirs, [&] { theirs.symbolic(); }, [&] { theirs.numeric(); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  run(argc, argv);
  return 0;
}
