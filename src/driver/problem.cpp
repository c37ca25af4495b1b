// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>
#include "core/norm.hpp"

#include <algorithm>
#include <utility>

#include "problem_of_parts.hpp"
#include "random_rhs.hpp"
#include "spmv_choice.hpp"

namespace prekond::driver {
namespace {

template <class Scalar>
void fill_random(const Space& space, const Vector<Scalar, Space>& b) {
  Kokkos::parallel_for(
      "prekond::driver::random_rhs", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i) { b(i) = random_scalar<Scalar>(static_cast<std::uint64_t>(i)); });
}

template <class Scalar>
Vector<Scalar, Space> read_vector(const std::string& path, std::int64_t length) {
  const auto host = read_vector_market<Scalar>(path, length);
  return Kokkos::create_mirror_view_and_copy(Space::memory_space{}, host);
}

template <class Scalar>
Vector<Scalar, Space> make_rhs(const Space& space, const Matrix<Scalar>& a, const std::string& what) {
  const bool named_rhs = what == "a_ones" || what == "ones" || what == "random";
  if (!named_rhs) return read_vector<Scalar>(what, a.num_rows);
  const auto b = allocate<Vector<Scalar, Space>>(space, "prekond::driver::b", a.num_rows);
  if (what == "random") {
    fill_random<Scalar>(space, b);
  } else if (what == "ones") {
    Kokkos::deep_copy(space, b, Scalar(1));
  } else {
    const auto ones = allocate<Vector<Scalar, Space>>(space, "prekond::driver::ones", a.num_cols);
    Kokkos::deep_copy(space, ones, Scalar(1));
    spmv<Scalar, Space>(space, Scalar(1), a, as_multivector(ones), Scalar(0), as_multivector(b));
    space.fence("prekond::driver::a_ones");  // before `ones` goes away
  }
  return b;
}

/// What one process reads or makes before the rows are handed out.
template <class Scalar>
struct WholeProblem {
  LoadedMatrix<Scalar> matrix;
  bool symmetric = false;
  std::string not_spd;
  double norm_b = 0;
  Vector<Scalar, Space> b;
  Vector<Scalar, Space> x0;
  Ordering<Space> ordering;
  OrderFacts order;
  MatchedRows<Scalar> match;  ///< without its matrix
};

bool is_file(const std::string& x0) {
  return x0 != "zero" && x0 != "precond";
}

/// Is the matrix symmetric, and nothing against its being positive definite?
template <class Scalar>
void check_symmetry(const Space& space, SpdCheck check, WholeProblem<Scalar>& problem) {
  const Matrix<Scalar>& a = problem.matrix.a;
  const std::string& name = problem.matrix.source.name;
  if (check == SpdCheck::require) {
    named(name, [&] { check_spd_input<Scalar, Space>(space, a); });
    problem.symmetric = true;
    return;
  }
  problem.symmetric = statistics<Scalar, Space>(space, a).symmetric_values;
  if (check == SpdCheck::none) return;
  try {
    check_spd_input<Scalar, Space>(space, a);
  } catch (const InputError& error) {
    problem.not_spd = error.what();
  }
}

/// A right-hand side that has a name is made before, of A as it was.
template <class Scalar>
void put_in_order(const Space& space, const std::string& name, WholeProblem<Scalar>& problem) {
  const Reordered<Scalar> reordered = reorder<Scalar>(space, problem.matrix.a, name);
  problem.matrix.a = reordered.a;
  problem.ordering = reordered.ordering;
  problem.order = reordered.facts;
  problem.b = in_order<Scalar>(space, problem.ordering, problem.b);
  if (problem.x0.extent(0) > 0) problem.x0 = in_order<Scalar>(space, problem.ordering, problem.x0);
}

/// Q A x = Q b, with its residuals and its solution.
template <class Scalar>
void match_whole(const Space& space, const std::string& name, WholeProblem<Scalar>& problem) {
  problem.match = match_rows<Scalar>(space, problem.matrix.a, name);
  problem.matrix.a = std::exchange(problem.match.a, {});
  problem.b = in_matched_rows<Scalar>(space, problem.match.rows, problem.b);
}

template <class Scalar>
WholeProblem<Scalar> make_whole(const Space& space, const Settings& settings, MatrixInput& input,
                                const MethodNeeds& needs, Progress& progress) {
  WholeProblem<Scalar> problem;
  problem.matrix = load_matrix<Scalar>(space, settings, input, progress);
  const Source& source = problem.matrix.source;
  check_shape(source);
  progress.phase("checking " + source.name);
  check_symmetry<Scalar>(space, needs.check, problem);
  problem.b = make_rhs<Scalar>(space, problem.matrix.a, settings.rhs);
  if (is_file(settings.x0)) problem.x0 = read_vector<Scalar>(settings.x0, source.num_rows);
  problem.norm_b = norm<Scalar, Space>(space, problem.b).value();
  if (is_to_be_matched(settings, needs.check)) {
    progress.phase("matching " + source.name);
    match_whole<Scalar>(space, settings.match, problem);
  }
  if (!is_to_be_ordered(settings, needs)) return problem;
  progress.phase("ordering " + source.name);
  put_in_order<Scalar>(space, settings.order, problem);
  if (!problem.match.facts.done) return problem;
  problem.match.row_scale = in_order<double>(space, problem.ordering, problem.match.row_scale);
  problem.match.column_scale = in_order<double>(space, problem.ordering, problem.match.column_scale);
  return problem;
}

/// The parts that a file gives the rows of A, of the rows in the problem's order.
template <class Scalar>
std::vector<int> parts_in_order(const Space& space, const std::vector<int>& parts,
                                const WholeProblem<Scalar>& problem) {
  const auto host =
      Kokkos::View<double*, Kokkos::LayoutLeft, Kokkos::HostSpace>("prekond::driver::parts", parts.size());
  std::copy(parts.begin(), parts.end(), host.data());
  Vector<double, Space> numbers = Kokkos::create_mirror_view_and_copy(Space::memory_space{}, host);
  numbers = in_matched_rows<double>(space, problem.match.rows, numbers);
  numbers = in_order<double>(space, problem.ordering, numbers);
  const auto ordered = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, numbers);
  return {ordered.data(), ordered.data() + ordered.extent(0)};
}

/// This process's part of the scales that rank 0 has.
template <class Scalar>
Vector<double, Space> own_scale(const Space& space, const Processes& processes,
                                const ProblemMatrix<Scalar>& a, const Vector<double, Space>& whole) {
  if constexpr (std::is_same_v<Scalar, double>)
    return own_part<double>(space, processes, a, whole);
  else
    return whole;  // complex matrices are for one process
}

template <class Scalar>
void check_real_vectors(const Settings& settings) {
  if (is_complex<Scalar> && !(settings.near_null_space.empty() && settings.coordinates.empty()))
    throw OptionError("--near-null-space and --coordinates are for real matrices; leave them out");
}

}  // namespace

bool is_to_be_matched(const Settings& settings, SpdCheck check) {
  if (settings.match == "auto") return check == SpdCheck::none && !settings.condition;
  return settings.match != "none";
}

bool is_to_be_ordered(const Settings& settings, const MethodNeeds& needs) {
  return settings.order == "auto" ? needs.factors_in_order : settings.order != "none";
}

std::string ProblemFacts::order_options() const {
  const std::string ordered = order.option();
  return match.done ? (ordered.empty() ? "--match" : "--match " + ordered) : ordered;
}

void check_shape(const Source& source) {
  if (source.num_rows == 0) throw InputError(source.name + ": the matrix is empty: it has no rows");
  if (source.num_rows != source.num_cols)
    throw InputError(source.name + ": a solver needs a square matrix, this one has " +
                     std::to_string(source.num_rows) + " rows and " + std::to_string(source.num_cols) +
                     " columns");
}

void named(const std::string& name, const std::function<void()>& check) {
  try {
    check();
  } catch (const OptionError&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(name + ": " + error.what());
  }
}

MatrixInput open_matrix(const Settings& settings) {
  MatrixInput input;
  if (settings.matrix.empty()) {
    at_origin(settings.origins, "generate", [&] { input.complex = generates_complex(settings.generate); });
  } else {
    input.file.emplace(settings.matrix);
    input.complex = input.file->info().field == "complex";
  }
  return input;
}

MatrixInput open_matrix(const Settings& settings, const Processes& processes) {
  MatrixInput input;
  processes.only_first([&] { input = open_matrix(settings); });
  input.complex = processes.max(input.complex ? 1 : 0) > 0;
  processes.together([&] {
    if (input.complex && !processes.alone())
      throw OptionError("a complex matrix is for one process; run it without mpirun");
    if (input.complex && is_kokkoskernels(settings.spmv))
      throw OptionError("--spmv " + settings.spmv + " is for real matrices; take --spmv auto");
  });
  return input;
}

template <class Scalar>
LoadedMatrix<Scalar> load_matrix(const Space& space, const Settings& settings, MatrixInput& input,
                                 Progress& progress) {
  const Kokkos::Timer timer;
  Source source;
  source.complex = is_complex<Scalar>;
  Matrix<Scalar> a;
  if (settings.matrix.empty()) {
    source.name = settings.generate;
    progress.phase("generating " + source.name);
    at_origin(settings.origins, "generate", [&] { a = generate<Scalar, Space>(space, settings.generate); });
  } else {
    source.name = settings.matrix;
    progress.phase("reading " + source.name);
    a = copy_to<Space>(input.file->template read<Scalar>());
    named(source.name, [&] { validate<Scalar, Space>(space, a); });
  }
  space.fence("prekond::driver::load_matrix");
  source.num_rows = a.num_rows;
  source.num_cols = a.num_cols;
  source.nnz = a.nnz();
  source.seconds = timer.seconds();
  return {source, a};
}

template <class Scalar>
Problem<Scalar> make_problem(const Space& space, const Processes& processes, const Settings& settings,
                             MatrixInput& input, const MethodNeeds& needs, Progress& progress) {
  if constexpr (std::is_same_v<Scalar, double>)
    if (can_read_parts(processes, settings, needs)) {
      input.file.reset();
      return make_problem_of_parts(space, processes, settings, needs, progress);
    }
  processes.together([&] { check_real_vectors<Scalar>(settings); });
  WholeProblem<Scalar> whole;
  PartitionChoice choice{settings.partition, {}};
  processes.only_first([&] {
    whole = make_whole<Scalar>(space, settings, input, needs, progress);
    if (choice.by_file() && !processes.alone())
      choice.parts = parts_in_order<Scalar>(
          space, read_parts(choice.name, whole.matrix.source.num_rows, processes.size()), whole);
  });
  Problem<Scalar> problem;
  problem.source = whole.matrix.source;
  problem.symmetric = whole.symmetric;
  problem.not_spd = whole.not_spd;
  problem.norm_b = whole.norm_b;
  problem.order = whole.order;
  problem.order.name = settings.order;
  const bool reordered = processes.max(whole.order.chosen != "none" ? 1 : 0) > 0;
  if (reordered) problem.order.chosen = settings.order == "auto" ? "rcm" : settings.order;
  problem.ordering = whole.ordering;
  problem.match = whole.match.facts;
  problem.match.name = settings.match;
  problem.match.done = processes.max(whole.match.facts.done ? 1 : 0) > 0;
  problem.matched_rows = whole.match.rows;
  if (!processes.alone()) progress.phase("distributing " + problem.source.name);
  problem.a = distribute<Scalar>(space, processes, std::move(whole.matrix.a), settings.spmv, choice);
  choose_product<Scalar>(space, processes, problem.a, settings.spmv);
  problem.product = problem.a.product;
  problem.distribution = problem.a.distribution;
  problem.b = own_part<Scalar>(space, processes, problem.a, whole.b);
  if (is_file(settings.x0)) problem.x0 = own_part<Scalar>(space, processes, problem.a, whole.x0);
  if (problem.match.done) {
    problem.row_scale = own_scale<Scalar>(space, processes, problem.a, whole.match.row_scale);
    problem.column_scale = own_scale<Scalar>(space, processes, problem.a, whole.match.column_scale);
  }
  if constexpr (std::is_same_v<Scalar, double>)
    problem.near_null_space =
        make_near_null_space(space, processes, problem.a, settings, problem.source.num_rows);
  return problem;
}

#define PREKOND_DRIVER_PROBLEM(Scalar)                                                                       \
  template LoadedMatrix<Scalar> load_matrix<Scalar>(const Space&, const Settings&, MatrixInput&, Progress&); \
  template Problem<Scalar> make_problem<Scalar>(const Space&, const Processes&, const Settings&,             \
                                                MatrixInput&, const MethodNeeds&, Progress&);
PREKOND_DRIVER_PROBLEM(double)
PREKOND_DRIVER_PROBLEM(Complex)

}  // namespace prekond::driver
