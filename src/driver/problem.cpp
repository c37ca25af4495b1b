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
  const Matrix& a = source.a;
  if (a.num_rows == 0) throw InputError(source.name + ": the matrix is empty: it has no rows");
  if (a.num_rows != a.num_cols)
    throw InputError(source.name + ": a solver needs a square matrix, this one has " +
                     std::to_string(a.num_rows) + " rows and " + std::to_string(a.num_cols) + " columns");
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

}  // namespace

Source load_matrix(const Space& space, const Settings& settings, Progress& progress) {
  const Kokkos::Timer timer;
  Source source;
  if (settings.matrix.empty()) {
    source.name = settings.generate;
    progress.phase("generating " + source.name);
    source.a = generate<double, Space>(space, settings.generate);
  } else {
    source.name = settings.matrix;
    progress.phase("reading " + source.name);
    source.a = copy_to<Space>(read_matrix_market<double>(settings.matrix));
    named(source.name, [&] { validate<double, Space>(space, source.a); });
  }
  space.fence("prekond::driver::load_matrix");
  source.seconds = timer.seconds();
  return source;
}

Problem make_problem(const Space& space, const Settings& settings, bool needs_spd, Progress& progress) {
  Problem problem;
  problem.source = load_matrix(space, settings, progress);
  const Matrix& a = problem.source.a;
  check_shape(problem.source);
  progress.phase("checking " + problem.source.name);
  if (needs_spd) {
    named(problem.source.name, [&] { check_spd_input<double, Space>(space, a); });
    problem.symmetric = true;
  } else {
    problem.symmetric = statistics<double, Space>(space, a).symmetric_values;
  }
  problem.b = make_rhs(space, a, settings.rhs);
  if (settings.x0 != "zero" && settings.x0 != "precond") problem.x0 = read_vector(settings.x0, a.num_rows);
  problem.norm_b = norm(space, problem.b);
  return problem;
}

}  // namespace prekond::driver
