// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the comparisons of incomplete factorisations with other libraries: the matrix, the
/// candidates, their times and the difference of two factorisations.
#include "../benchmark_main.hpp"

#include <prekond/core/options.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/krylov/bicgstab.hpp>
#include <prekond/krylov/gmres.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace prekond::perf {

using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

/// A x = b with b = A 1, and how it is solved.
struct IluProblem {
  Matrix a;
  Vector<double, Space> b;
  std::string solver;  ///< gmres, with a restart after 30 steps, or bicgstab
  StoppingOptions stopping;
  int repeat = 5;
  bool takes_median = false;  ///< of the repetitions; else the least
};

/// A preconditioner that is measured.
struct Candidate {
  std::string name;
  std::shared_ptr<const Preconditioner<double, Space>> method;
  std::function<void()> symbolic, numeric;
  std::function<std::int64_t()> entries;  ///< of L and U, with one diagonal
  std::function<void()> finish = [] {};   ///< frees what only the setup needs
};

/// A generated matrix, or one of a file whose name has ".mtx" in it.
inline Matrix read_or_generate(const Space& space, const std::string& spec) {
  if (spec.find(".mtx") == std::string::npos) return generate<double>(space, spec);
  const auto host = read_matrix_market<double>(spec);
  Matrix a(host.num_rows, host.num_cols, Matrix::view<std::size_t>("row_ptrs", host.row_ptrs.extent(0)),
           Matrix::view<int>("col_idxs", host.col_idxs.extent(0)),
           Matrix::view<double>("values", host.values.extent(0)));
  Kokkos::deep_copy(a.row_ptrs, host.row_ptrs);
  Kokkos::deep_copy(a.col_idxs, host.col_idxs);
  Kokkos::deep_copy(a.values, host.values);
  return a;
}

/// By the flags --matrix, --solver, --rtol, --max_iters, --repeat, --statistic; prints its first line.
inline IluProblem make_ilu_problem(int& argc, char** argv) {
  const Space space;
  const std::string spec = take_flag(argc, argv, "matrix", "poisson3d:60");
  IluProblem problem;
  problem.solver = take_flag(argc, argv, "solver", "gmres");
  problem.stopping.rtol = std::stod(take_flag(argc, argv, "rtol", "1e-6"));
  problem.stopping.max_iters = std::stoll(take_flag(argc, argv, "max_iters", "1000"));
  problem.repeat = std::stoi(take_flag(argc, argv, "repeat", "5"));
  problem.takes_median = take_flag(argc, argv, "statistic", "best") == "median";
  problem.a = read_or_generate(space, spec);
  problem.b = Vector<double, Space>("b", problem.a.num_rows);
  const Vector<double, Space> ones("ones", problem.a.num_cols);
  Kokkos::deep_copy(ones, 1.0);
  spmv<double, Space>(space, 1.0, problem.a, as_multivector(VectorView<const double, Space>(ones)), 0.0,
                      as_multivector(problem.b));
  std::printf("%s: %lld rows, %lld entries; %s, rtol %g, %s, %d threads, the %s of %d repetitions\n",
              spec.c_str(), static_cast<long long>(problem.a.num_rows),
              static_cast<long long>(problem.a.nnz()), problem.solver.c_str(), problem.stopping.rtol,
              Space::name(), Space().concurrency(), problem.takes_median ? "median" : "best", problem.repeat);
  return problem;
}

inline SolveResult solve(const IluProblem& problem, const Preconditioner<double, Space>& m,
                         const Vector<double, Space>& x) {
  const Space space;
  const CsrOperator<double, Space> a(problem.a);
  Kokkos::deep_copy(x, 0.0);
  if (problem.solver == "bicgstab")
    return Bicgstab<double, Space>().solve(space, a, &m, problem.b, x, problem.stopping);
  return Gmres<double, Space>().solve(space, a, &m, problem.b, x, problem.stopping);
}

/// The times of a candidate's repetitions.
class Timings {
 public:
  enum Phase { symbolic, numeric, again, application, whole_solve };

  explicit Timings(const IluProblem& problem) : m_problem(problem) {}

  /// One more repetition. An exception of a candidate ends its measurement, and is printed.
  void repeat(const Candidate& candidate) {
    if (!m_error.empty()) return;
    try {
      measure(candidate);
    } catch (const std::exception& error) {
      m_error = error.what();
    }
    candidate.finish();
  }

  void print(const Candidate& candidate) const {
    if (!m_error.empty()) {
      std::printf("%-34s failed: %s\n", candidate.name.c_str(), m_error.c_str());
      return;
    }
    std::printf(
        "%-34s %9lld entries, symbolic %.5f s, numeric %.5f s, again %.5f s, application %.6f s, "
        "%4lld iterations, solve %.5f s%s\n",
        candidate.name.c_str(), static_cast<long long>(candidate.entries()), chosen(symbolic),
        chosen(numeric), chosen(again), chosen(application), static_cast<long long>(m_result.iterations),
        chosen(whole_solve),
        m_result.converged ? "" : (" (not converged: " + to_string(m_result.reason) + ")").c_str());
  }

 private:
  void measure(const Candidate& candidate) {
    const Space space;
    constexpr int applications = 10;
    const Vector<double, Space> x("x", m_problem.a.num_rows), y("y", m_problem.a.num_rows);
    m_times[symbolic].push_back(seconds(space, candidate.symbolic));
    m_times[numeric].push_back(seconds(space, candidate.numeric));
    m_times[again].push_back(seconds(space, candidate.numeric));
    candidate.finish();
    const auto workspace = candidate.method->make_workspace(space, 1);
    const auto apply = [&] {
      candidate.method->apply(space, as_multivector(VectorView<const double, Space>(m_problem.b)),
                              as_multivector(y), *workspace);
    };
    apply();
    m_times[application].push_back(seconds(space,
                                           [&] {
                                             for (int k = 0; k < applications; ++k) apply();
                                           }) /
                                   applications);
    m_times[whole_solve].push_back(
        seconds(space, [&] { m_result = solve(m_problem, *candidate.method, x); }));
  }

  double chosen(Phase phase) const {
    std::vector<double> times = m_times[phase];
    std::sort(times.begin(), times.end());
    return times.empty() ? 0 : times[m_problem.takes_median ? times.size() / 2 : 0];
  }

  const IluProblem& m_problem;
  std::array<std::vector<double>, 5> m_times;
  SolveResult m_result{};
  std::string m_error;
};

/// Measures the candidates, in turn in each repetition, and prints a line each.
inline void compare(const IluProblem& problem, const std::vector<Candidate>& candidates) {
  std::vector<Timings> timings(candidates.size(), Timings(problem));
  for (int k = 0; k < problem.repeat; ++k)
    for (std::size_t c = 0; c < candidates.size(); ++c) timings[c].repeat(candidates[c]);
  for (std::size_t c = 0; c < candidates.size(); ++c) timings[c].print(candidates[c]);
  std::fflush(stdout);
}

/// One of ours, with options by name.
template <class Method>
Candidate our_candidate(const Matrix& a, const std::string& name, const OptionMap& values) {
  typename Method::options_type options;
  OptionFields::of(options).set(values, Method::options_type::name);
  const auto method = std::make_shared<Method>(options);
  return {"Prekond " + name, method, [=] { method->symbolic(Space(), a); },
          [=] { method->numeric(Space(), a); }, [=] { return method->report().nnz; }};
}

/// M = R^-1 (e I + L) D (e I + U) C^-1 on the host, with e = 1 or 0, and C = |R|.
struct HostFactors {
  using HostMatrix = CsrMatrix<const double, const int, const std::size_t, Kokkos::HostSpace>;
  HostMatrix lower, upper;
  bool adds_identity;                  ///< e = 1
  std::vector<double> inverse_pivots;  ///< D^-1
  std::vector<double> row_scale;       ///< R

  /// M x; with the sizes of all entries in place of the entries, if `in_size`.
  std::vector<double> product(const std::vector<double>& x, bool in_size) const {
    const auto size = [&](double value) { return in_size ? std::abs(value) : value; };
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = size(x[i]) / std::abs(row_scale[i]);
    y = product(upper, y, in_size);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] /= size(inverse_pivots[i]);
    y = product(lower, y, in_size);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] /= size(row_scale[i]);
    return y;
  }

 private:
  std::vector<double> product(const HostMatrix& a, const std::vector<double>& x, bool in_size) const {
    std::vector<double> y = adds_identity ? x : std::vector<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
        y[i] += (in_size ? std::abs(a.values(k)) : a.values(k)) * x[std::size_t(a.col_idxs(k))];
    return y;
  }
};

inline std::vector<double> to_host(const Vector<double, Space>& x) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  return std::vector<double>(host.data(), host.data() + host.extent(0));
}

/// The factors of one of our methods after its numeric phase. \pre it keeps its factors
template <class Method>
HostFactors host_factors(const Method& method) {
  return {copy_to<Kokkos::HostSpace>(method.factor_lower()),
          copy_to<Kokkos::HostSpace>(method.factor_upper()), true, to_host(method.pivots()),
          to_host(method.row_scale())};
}

/// max_i |(M_1 x - M_2 x)_i| / (|L_2| |D_2| |U_2| |x|)_i over three fixed vectors: only rounding where both
/// are the same factorisation.
inline double difference(const HostFactors& first, const HostFactors& second) {
  double largest = 0;
  std::vector<double> x(first.inverse_pivots.size());
  for (int number = 0; number < 3; ++number) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(double(i) * double(number + 1) + 0.5);
    const auto y = first.product(x, false), z = second.product(x, false), sizes = second.product(x, true);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = std::abs(y[i] - z[i]);
      if (!(error <= largest * sizes[i])) largest = std::isfinite(error) ? error / sizes[i] : INFINITY;
    }
  }
  return largest;
}

/// Prints the difference of ours, made anew with its factors kept, from theirs.
template <class Method>
void print_difference(const Matrix& a, const OptionMap& values, const HostFactors& theirs) {
  typename Method::options_type options;
  OptionFields::of(options).set(values, Method::options_type::name);
  Method method(options);
  method.keep_factors();
  method.numeric(Space(), a);
  const double found = difference(host_factors(method), theirs);
  std::printf("%-34s |M x - M_theirs x| at most %.1e |L||D||U||x|, shift %g, %lld breakdowns: %s\n", "",
              found, method.shift(), static_cast<long long>(method.report().breakdowns.count),
              found <= 1e-10 ? "the same" : "NOT the same");
}

}  // namespace prekond::perf
