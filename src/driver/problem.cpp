// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem.hpp"

#include <prekond/core/block_reduce.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/impl/counter_hash.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>

#include <cmath>
#include <utility>

namespace prekond::driver {
namespace {

constexpr std::uint64_t rhs_seed = 1;

/// Where a check of the matrix fails, the message begins with the matrix's name.
template <class Check>
void named(const std::string& name, Check check) {
  try {
    check();
  } catch (const OptionError&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(name + ": " + error.what());
  }
}

void check_shape(const Source& source) {
  if (source.num_rows == 0) throw InputError(source.name + ": the matrix is empty: it has no rows");
  if (source.num_rows != source.num_cols)
    throw InputError(source.name + ": a solver needs a square matrix, this one has " +
                     std::to_string(source.num_rows) + " rows and " + std::to_string(source.num_cols) +
                     " columns");
}

/// b_i uniform in (-1, 1], a function of i alone.
void fill_random(const Space& space, const Vector<double, Space>& b) {
  Kokkos::parallel_for(
      "prekond::driver::random_rhs", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i) {
        b(i) = 2 * impl::unit_interval(impl::counter_hash(rhs_seed, static_cast<std::uint64_t>(i))) - 1;
      });
}

Vector<double, Space> read_vector(const std::string& path, std::int64_t length) {
  const auto host = read_vector_market<double>(path, length);
  return Kokkos::create_mirror_view_and_copy(Space::memory_space{}, host);
}

Vector<double, Space> make_rhs(const Space& space, const Matrix& a, const std::string& what) {
  const bool named_rhs = what == "a_ones" || what == "ones" || what == "random";
  if (!named_rhs) return read_vector(what, a.num_rows);
  const auto b = allocate<Vector<double, Space>>(space, "prekond::driver::b", a.num_rows);
  if (what == "random") {
    fill_random(space, b);
  } else if (what == "ones") {
    Kokkos::deep_copy(space, b, 1.0);
  } else {
    const auto ones = allocate<Vector<double, Space>>(space, "prekond::driver::ones", a.num_cols);
    Kokkos::deep_copy(space, ones, 1.0);
    spmv<double, Space>(space, 1.0, a, as_multivector(ones), 0.0, as_multivector(b));
    space.fence("prekond::driver::a_ones");  // before `ones` goes away
  }
  return b;
}

double norm(const Space& space, const Vector<double, Space>& b) {
  const auto n = static_cast<std::int64_t>(b.extent(0));
  const ReduceWorkspace<double, Space> workspace(space, n);
  const auto sum = allocate<Vector<double, Space>>(space, "prekond::driver::norm", 1);
  block_reduce<1, double, Space>(space, "prekond::driver::norm", n, workspace, sum,
                                 prekond::impl::DotBody<double, Space>{b, b});
  double value = 0;
  Kokkos::deep_copy(space, Kokkos::View<double, Kokkos::HostSpace>(&value), Kokkos::subview(sum, 0));
  space.fence("prekond::driver::norm");
  return std::sqrt(value);
}

/// What one process reads or makes before the rows are handed out.
struct WholeProblem {
  LoadedMatrix matrix;
  bool symmetric = false;
  std::string not_spd;
  double norm_b = 0;
  Vector<double, Space> b;
  Vector<double, Space> x0;
};

bool is_file(const std::string& x0) {
  return x0 != "zero" && x0 != "precond";
}

/// Is the matrix symmetric, and nothing against its being positive definite?
void check_symmetry(const Space& space, SpdCheck check, WholeProblem& problem) {
  const Matrix& a = problem.matrix.a;
  const std::string& name = problem.matrix.source.name;
  if (check == SpdCheck::require) {
    named(name, [&] { check_spd_input<double, Space>(space, a); });
    problem.symmetric = true;
    return;
  }
  problem.symmetric = statistics<double, Space>(space, a).symmetric_values;
  if (check == SpdCheck::none) return;
  try {
    check_spd_input<double, Space>(space, a);
  } catch (const InputError& error) {
    problem.not_spd = error.what();
  }
}

WholeProblem make_whole(const Space& space, const Settings& settings, SpdCheck check, Progress& progress) {
  WholeProblem problem;
  problem.matrix = load_matrix(space, settings, progress);
  const Source& source = problem.matrix.source;
  check_shape(source);
  progress.phase("checking " + source.name);
  check_symmetry(space, check, problem);
  problem.b = make_rhs(space, problem.matrix.a, settings.rhs);
  if (is_file(settings.x0)) problem.x0 = read_vector(settings.x0, source.num_rows);
  problem.norm_b = norm(space, problem.b);
  return problem;
}

}  // namespace

LoadedMatrix load_matrix(const Space& space, const Settings& settings, Progress& progress) {
  const Kokkos::Timer timer;
  Source source;
  Matrix a;
  if (settings.matrix.empty()) {
    source.name = settings.generate;
    progress.phase("generating " + source.name);
    a = generate<double, Space>(space, settings.generate);
  } else {
    source.name = settings.matrix;
    progress.phase("reading " + source.name);
    a = copy_to<Space>(read_matrix_market<double>(settings.matrix));
    named(source.name, [&] { validate<double, Space>(space, a); });
  }
  space.fence("prekond::driver::load_matrix");
  source.num_rows = a.num_rows;
  source.num_cols = a.num_cols;
  source.nnz = a.nnz();
  source.seconds = timer.seconds();
  return {source, a};
}

Problem make_problem(const Space& space, const Processes& processes, const Settings& settings, SpdCheck check,
                     Progress& progress) {
  WholeProblem whole;
  processes.only_first([&] { whole = make_whole(space, settings, check, progress); });
  Problem problem;
  problem.source = whole.matrix.source;
  problem.symmetric = whole.symmetric;
  problem.not_spd = whole.not_spd;
  problem.norm_b = whole.norm_b;
  if (!processes.alone()) progress.phase("distributing " + problem.source.name);
  problem.a = distribute(space, processes, std::move(whole.matrix.a), settings.spmv);
  problem.b = problem.a->scatter(space, whole.b);
  if (is_file(settings.x0)) problem.x0 = problem.a->scatter(space, whole.x0);
  return problem;
}

}  // namespace prekond::driver
