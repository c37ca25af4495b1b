// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ilu_comparison.hpp"

#include <prekond/adapters/kokkoskernels.hpp>
#include <prekond/precond/ilu.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>

#include <KokkosKernels_config.h>
#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_par_ilut.hpp>
#include <KokkosSparse_spiluk.hpp>
#include <KokkosSparse_sptrsv.hpp>
#include <stdexcept>

/// Incomplete factorisations beside those of Kokkos Kernels (spiluk, par_ilut, both solved with sptrsv), as
/// preconditioners of the same solver on the same matrix: peer_kokkoskernels_ilu
/// [--matrix=poisson3d:60 | FILE.mtx] [--solver=gmres|bicgstab] [--levels=0,1,2]
/// [--methods=levels,auto,jacobi] [--sptrsv=SEQLVLSCHD_RP,SEQLVLSCHD_TP1] [--par=true] [--fill=2]
/// [--rtol=1e-6] [--max_iters=1000] [--repeat=5] [--statistic=best|median]. A line each, the candidates of a
/// group in turn: symbolic, numeric after it, numeric again, one application, iterations, solve. Where the
/// pattern is the same the difference of the two products L U is printed. Theirs is given memory of the exact
/// size from the second repetition on; in the first it looks for it.
namespace {

using namespace prekond;
using perf::Candidate;
using perf::Matrix;
using perf::Space;
using Memory = Space::memory_space;
using Handle =
    KokkosKernels::Experimental::KokkosKernelsHandle<std::size_t, int, double, Space, Memory, Memory>;
using KokkosSparse::Experimental::SPTRSVAlgorithm;

#if KOKKOSKERNELS_VERSION >= 50000
namespace spiluk = KokkosSparse;
namespace sptrsv = KokkosSparse;
#else
namespace spiluk = KokkosSparse::Experimental;
namespace sptrsv = KokkosSparse::Experimental;
#endif

SPTRSVAlgorithm sptrsv_algorithm(const std::string& name) {
  if (name == "SEQLVLSCHD_RP") return SPTRSVAlgorithm::SEQLVLSCHD_RP;
  if (name == "SEQLVLSCHD_TP1CHAIN") return SPTRSVAlgorithm::SEQLVLSCHD_TP1CHAIN;
  if (name == "SEQLVLSCHD_TP1") return SPTRSVAlgorithm::SEQLVLSCHD_TP1;
  throw std::invalid_argument("--sptrsv: SEQLVLSCHD_RP, SEQLVLSCHD_TP1 or SEQLVLSCHD_TP1CHAIN");
}

/// A triangle of theirs, its diagonal stored, and its solve.
struct Triangle {
  Matrix::view<std::size_t> row_ptrs;
  Matrix::view<int> col_idxs;
  Matrix::view<double> values;
  mutable Handle handle;
  bool adds_to_result = false;  ///< version 5.0.2's SEQLVLSCHD_RP begins a row's sum with what y holds

  void analyse(SPTRSVAlgorithm algorithm, bool is_lower) {
    adds_to_result = algorithm == SPTRSVAlgorithm::SEQLVLSCHD_RP;
    handle.destroy_sptrsv_handle();
    handle.create_sptrsv_handle(algorithm, row_ptrs.extent(0) - 1, is_lower);
    sptrsv::sptrsv_symbolic(&handle, row_ptrs, col_idxs);
  }
  template <class From, class To>
  void solve(const From& x, const To& y) const {
    if (adds_to_result) Kokkos::deep_copy(Space(), y, 0.0);
    sptrsv::sptrsv_solve(&handle, row_ptrs, col_idxs, values, x, y);
  }
  void resize(std::size_t num_entries) {
    col_idxs = Matrix::view<int>("col_idxs", num_entries);
    values = Matrix::view<double>("values", num_entries);
  }
};

/// Two triangles of theirs. Their calls work on the default instance.
class Theirs : public Preconditioner<double, Space> {
 public:
  Theirs(const Matrix& a, const std::string& algorithm)
      : m_a(a), m_algorithm(sptrsv_algorithm(algorithm)), m_between("between", a.num_rows) {
    for (Triangle* triangle : {&m_lower, &m_upper})
      triangle->row_ptrs = Matrix::view<std::size_t>("row_ptrs", a.row_ptrs.extent(0));
  }

  virtual void symbolic() = 0;
  virtual void numeric() = 0;
  virtual void finish() = 0;
  std::int64_t entries() const {
    return static_cast<std::int64_t>(m_lower.col_idxs.extent(0) + m_upper.col_idxs.extent(0)) - num_rows();
  }
  perf::HostFactors host_factors() const {
    const std::vector<double> ones(std::size_t(num_rows()), 1.0);
    const auto matrix = [&](const Triangle& t) {
      return copy_to<Kokkos::HostSpace>(Matrix(num_rows(), num_rows(), t.row_ptrs, t.col_idxs, t.values));
    };
    return {matrix(m_lower), matrix(m_upper), false, ones, ones};
  }

  std::string name() const override { return "Kokkos Kernels"; }
  std::int64_t num_rows() const override { return m_a.num_rows; }
  void apply(const Space&, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace&) const override {
    m_lower.solve(column(x, 0), m_between);
    m_upper.solve(m_between, column(y, 0));
  }

 protected:
  void analyse() {
    m_lower.analyse(m_algorithm, true);
    m_upper.analyse(m_algorithm, false);
  }

  Matrix m_a;
  SPTRSVAlgorithm m_algorithm;
  Triangle m_lower, m_upper;
  Vector<double, Space> m_between;
  mutable Handle m_handle;
};

class TheirIluk : public Theirs {
 public:
  TheirIluk(const Matrix& a, int level, const std::string& algorithm)
      : Theirs(a, algorithm), m_level(level), m_size_lower(a.nnz()), m_size_upper(a.nnz()) {}

  void symbolic() override {
    while (!try_symbolic()) {
      m_size_lower *= 2;
      m_size_upper *= 2;
    }
    const auto* found = m_handle.get_spiluk_handle();
    if (found->get_nnzL() != m_size_lower || found->get_nnzU() != m_size_upper) {
      m_size_lower = found->get_nnzL();
      m_size_upper = found->get_nnzU();
      if (!try_symbolic()) throw std::logic_error("spiluk needs more memory the second time");
    }
    analyse();
  }
  void numeric() override {
    spiluk::spiluk_numeric(&m_handle, m_level, m_a.row_ptrs, m_a.col_idxs, m_a.values, m_lower.row_ptrs,
                           m_lower.col_idxs, m_lower.values, m_upper.row_ptrs, m_upper.col_idxs,
                           m_upper.values);
  }
  void finish() override { m_handle.destroy_spiluk_handle(); }

 private:
  /// Is the memory enough?
  bool try_symbolic() {
    m_lower.resize(m_size_lower);
    m_upper.resize(m_size_upper);
    m_handle.destroy_spiluk_handle();
    m_handle.create_spiluk_handle(KokkosSparse::Experimental::SPILUKAlgorithm::SEQLVLSCHD_TP1,
                                  std::size_t(num_rows()), m_size_lower, m_size_upper);
    try {
      spiluk::spiluk_symbolic(&m_handle, m_level, m_a.row_ptrs, m_a.col_idxs, m_lower.row_ptrs,
                              m_lower.col_idxs, m_upper.row_ptrs, m_upper.col_idxs);
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }

  int m_level;
  std::size_t m_size_lower, m_size_upper;
};

/// Steps until the residual's change is below `stop`, at most `steps`; stop = 0: all of them.
class TheirParIlut : public Theirs {
 public:
  TheirParIlut(const Matrix& a, double fill, int steps, double stop, const std::string& algorithm)
      : Theirs(a, algorithm), m_fill(fill), m_stop(stop), m_steps(steps) {}

  void symbolic() override {
    m_handle.destroy_par_ilut_handle();
    m_handle.create_par_ilut_handle(std::size_t(m_steps), m_stop, m_fill);
    KokkosSparse::Experimental::par_ilut_symbolic(&m_handle, m_a.row_ptrs, m_a.col_idxs, m_lower.row_ptrs,
                                                  m_upper.row_ptrs);
    m_lower_ptrs = Matrix::view<std::size_t>("row_ptrs", m_lower.row_ptrs.extent(0));
    m_upper_ptrs = Matrix::view<std::size_t>("row_ptrs", m_upper.row_ptrs.extent(0));
    Kokkos::deep_copy(m_lower_ptrs, m_lower.row_ptrs);
    Kokkos::deep_copy(m_upper_ptrs, m_upper.row_ptrs);
  }
  void numeric() override {
    Kokkos::deep_copy(m_lower.row_ptrs, m_lower_ptrs);
    Kokkos::deep_copy(m_upper.row_ptrs, m_upper_ptrs);
    m_lower.resize(m_handle.get_par_ilut_handle()->get_nnzL());
    m_upper.resize(m_handle.get_par_ilut_handle()->get_nnzU());
    KokkosSparse::Experimental::par_ilut_numeric(&m_handle, m_a.row_ptrs, m_a.col_idxs, m_a.values,
                                                 m_lower.row_ptrs, m_lower.col_idxs, m_lower.values,
                                                 m_upper.row_ptrs, m_upper.col_idxs, m_upper.values);
    analyse();
  }
  void finish() override {}

 private:
  double m_fill, m_stop;
  int m_steps;
  Matrix::view<std::size_t> m_lower_ptrs, m_upper_ptrs;
};

Candidate their_candidate(const std::shared_ptr<Theirs>& theirs, const std::string& name) {
  return {"Kokkos Kernels " + name,          theirs,
          [=] { theirs->symbolic(); },       [=] { theirs->numeric(); },
          [=] { return theirs->entries(); }, [=] { theirs->finish(); }};
}

void compare_level(const perf::IluProblem& problem, int level, const std::vector<std::string>& methods,
                   const std::vector<std::string>& algorithms) {
  std::vector<Candidate> candidates;
  const std::string k = std::to_string(level);
  for (const std::string& method : methods)
    if (level == 0)
      candidates.push_back(
          perf::our_candidate<Ilu<double, Space>>(problem.a, "ilu0, " + method, {{"solve.method", method}}));
    else
      candidates.push_back(perf::our_candidate<Ilu<double, Space>>(problem.a, "iluk " + k + ", " + method,
                                                                   {{"level", k}, {"solve.method", method}}));
  std::shared_ptr<Theirs> theirs;
  for (const std::string& algorithm : algorithms) {
    theirs = std::make_shared<TheirIluk>(problem.a, level, algorithm);
    candidates.push_back(
        their_candidate(theirs, "spiluk " + k + ", " + algorithm.substr(std::string("SEQLVLSCHD_").size())));
  }
  perf::compare(problem, candidates);
  if (theirs) perf::print_difference<Ilu<double, Space>>(problem.a, {{"level", k}}, theirs->host_factors());
}

void compare_par(const perf::IluProblem& problem, const std::string& fill,
                 const std::vector<std::string>& methods, const std::vector<std::string>& algorithms) {
  std::vector<Candidate> candidates;
  for (const std::string& method : methods) {
    candidates.push_back(perf::our_candidate<ParIlu<double, Space>>(problem.a, "par_ilu, " + method,
                                                                    {{"solve.method", method}}));
    candidates.push_back(perf::our_candidate<ParIlut<double, Space>>(
        problem.a, "par_ilut, " + method, {{"solve.method", method}, {"fill_factor", fill}}));
  }
  if (!algorithms.empty()) {
    const std::string suffix = ", " + algorithms[0].substr(std::string("SEQLVLSCHD_").size());
    candidates.push_back(
        their_candidate(std::make_shared<TheirParIlut>(problem.a, std::stod(fill), 20, 1e-2, algorithms[0]),
                        "par_ilut" + suffix));
    candidates.push_back(
        their_candidate(std::make_shared<TheirParIlut>(problem.a, std::stod(fill), 5, 0.0, algorithms[0]),
                        "par_ilut 5" + suffix));
  }
  perf::compare(problem, candidates);
}

void run(int argc, char** argv) {
  const auto levels = perf::numbers(perf::take_flag(argc, argv, "levels", "0,1,2"));
  const auto methods = perf::words(perf::take_flag(argc, argv, "methods", "levels,auto,jacobi"));
  const auto algorithms = perf::words(perf::take_flag(argc, argv, "sptrsv", "SEQLVLSCHD_RP,SEQLVLSCHD_TP1"));
  const bool par = perf::take_flag(argc, argv, "par", "true") == "true";
  const std::string fill = perf::take_flag(argc, argv, "fill", "2");
  const perf::IluProblem problem = perf::make_ilu_problem(argc, argv);
  for (const int level : levels) compare_level(problem, level, methods, algorithms);
  if (par) compare_par(problem, fill, methods, algorithms);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  run(argc, argv);
  return 0;
}
