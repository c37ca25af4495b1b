// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem.hpp"

#include <prekond/distributed/split_operator.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>
#include "core/norm.hpp"
#include "distributed/one_rank_matrix.hpp"
#include "matrix/counter_hash.hpp"

#include <utility>

#include "near_null_space.hpp"
#include "product.hpp"
#ifdef PREKOND_DRIVER_HAS_MPI
#include "rows_of_ranks.hpp"
#endif
#include "text.hpp"

namespace prekond::driver {
namespace {

template <class Scalar>
Vector<Scalar, Space> read_vector(const std::string& path, std::int64_t length) {
  return Kokkos::create_mirror_view_and_copy(Space::memory_space{}, read_vector_market<Scalar>(path, length));
}

template <class Scalar>
Vector<Scalar, Space> make_rhs(const Space& space, const Matrix<Scalar>& a, const std::string& rhs) {
  if (names_vector_file(rhs)) return read_vector<Scalar>(rhs, a.num_rows);
  const auto b = allocate<Vector<Scalar, Space>>(space, "prekond::driver::b", a.num_rows);
  if (rhs == "random") {
    fill_random<Scalar>(space, b);
  } else if (rhs == "ones") {
    Kokkos::deep_copy(space, b, Scalar(1));
  } else {
    const auto ones = allocate<Vector<Scalar, Space>>(space, "prekond::driver::ones", a.num_cols);
    Kokkos::deep_copy(space, ones, Scalar(1));
    spmv<Scalar, Space>(space, Scalar(1), a, as_multivector(ones), Scalar(0), as_multivector(b));
    space.fence("prekond::driver::a_ones");  // before `ones` goes away
  }
  return b;
}

/// Is the matrix symmetric, and is there nothing against its being positive definite?
template <class Scalar>
void check_symmetry(const Space& space, SpdCheck check, Problem<Scalar>& problem) {
  problem.symmetric = check == SpdCheck::require;
  if (check == SpdCheck::require) return check_spd<Scalar>(space, problem.source.name, problem.whole);
  problem.symmetric = statistics<Scalar, Space>(space, problem.whole).symmetric_values;
  if (check == SpdCheck::none) return;
  try {
    check_spd_input<Scalar, Space>(space, problem.whole);
  } catch (const InputError& error) {
    problem.not_spd = error.what();
  }
}

/// The whole of the problem, read or made by one process. A right-hand side that has a name is made of A as
/// it was before it is matched and ordered.
template <class Scalar>
void make_whole(const Space& space, const Settings& settings, MatrixInput& input, const MethodNeeds& needs,
                Progress& progress, Problem<Scalar>& problem) {
  Source& source = problem.source;
  problem.whole = load_matrix<Scalar>(space, settings, input, progress, source);
  check_shape(source);
  progress.phase("checking " + source.name);
  check_symmetry<Scalar>(space, needs.check, problem);
  problem.b = make_rhs<Scalar>(space, problem.whole, settings.rhs);
  if (names_vector_file(settings.x0)) problem.x0 = read_vector<Scalar>(settings.x0, source.num_rows);
  problem.norm_b = norm<Scalar, Space>(space, problem.b).value();
  if (is_to_be_matched(settings, needs.check)) {
    progress.phase("matching " + source.name);
    match_problem<Scalar>(space, settings.match, problem);
  }
  if (is_to_be_ordered(settings, needs)) {
    progress.phase("ordering " + source.name);
    order_problem<Scalar>(space, settings.order, problem);
  }
}

#ifdef PREKOND_DRIVER_HAS_MPI
/// The parts that a file gives the rows of A, of the rows in the problem's order.
std::vector<int> parts_in_order(std::vector<int> parts, const Problem<double>& problem) {
  for (const auto& rows : {problem.matched_rows, problem.ordering.permutation}) {
    if (rows.extent(0) == 0) continue;
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, rows);
    const std::vector<int> before = parts;
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = before[static_cast<std::size_t>(host(i))];
  }
  return parts;
}

/// Collective. Hands out the problem that rank 0 has.
void hand_out(const Space& space, const Processes& processes, const Settings& settings,
              Problem<double>& problem) {
  PartitionChoice choice{settings.partition, {}};
  processes.on_root([&] {
    if (choice.by_file())
      choice.parts =
          parts_in_order(read_parts(choice.name, problem.source.num_rows, processes.size()), problem);
  });
  if (processes.max(problem.order.chosen != "none" ? 1 : 0) > 0)
    problem.order.chosen = settings.order == "auto" ? "rcm" : settings.order;
  problem.match.done = processes.max(problem.match.done ? 1 : 0) > 0;
  distribute_whole(space, processes, choice, problem);
  problem.b = own_part<double>(space, processes, problem, problem.b);
  if (names_vector_file(settings.x0)) problem.x0 = own_part<double>(space, processes, problem, problem.x0);
  if (!problem.match.done) return;
  problem.row_scale = own_part<double>(space, processes, problem, problem.row_scale);
  problem.column_scale = own_part<double>(space, processes, problem, problem.column_scale);
}

/// The product whose messages are under way while each process multiplies its own columns, in the format of
/// --spmv.
void split_product(const Space& space, const std::string& spmv, Problem<double>& problem) {
  const Kokkos::Timer timer;
  problem.split = std::make_unique<SplitOperator<double, Space>>(
      space, *problem.distributed,
      [&](const auto& own) { return make_product<double>(space, spmv, own, problem.product); });
  problem.product.seconds = timer.seconds();
}
#endif

/// The product with A, and A as a distributed matrix, on a serial process.
template <class Scalar>
void use_whole(const Space& space, const std::string& spmv, Problem<Scalar>& problem) {
  std::shared_ptr<const Operator<Scalar, Space>> product =
      make_product<Scalar>(space, spmv, problem.whole, problem.product);
  problem.rows = problem.whole;
  problem.distributed = std::make_unique<OneRankMatrix<Scalar, Space>>(std::move(product));
  problem.distribution.most_rows = problem.distribution.fewest_rows = problem.whole.num_rows;
}

template <class Scalar>
struct FillRandom {
  VectorView<const std::int64_t, Space> numbers;
  Vector<Scalar, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    constexpr std::uint64_t seed = 1;
    const auto number = static_cast<std::uint64_t>(numbers.extent(0) > 0 ? numbers(i) : i);
    const double real = 2 * impl::unit_interval(impl::counter_hash(seed, number)) - 1;
    if constexpr (is_complex<Scalar>)
      b(i) = Scalar(real, 2 * impl::unit_interval(impl::counter_hash(seed + 1, number)) - 1);
    else
      b(i) = real;
  }
};

}  // namespace

InputError ProblemFacts::in_order(const InputError& error) const {
  std::string options = match.done ? "--match" : "";
  if (order.chosen != "none") options += (options.empty() ? "" : " ") + ("--order " + order.name);
  if (options.empty() || error.row() < 0) return error;
  return InputError(std::string(error.what()) + " (rows are counted in the order of " + options + ")",
                    error.row());
}

template <class Scalar>
std::int64_t Problem<Scalar>::original_row(std::int64_t row) const {
  for (const auto& originals : {ordering.permutation, matched_rows}) {
    if (row < 0 || row >= static_cast<std::int64_t>(originals.extent(0))) continue;
    int original = 0;
    Kokkos::deep_copy(original, Kokkos::subview(originals, row));
    row = original;
  }
  return row;
}

bool is_to_be_matched(const Settings& settings, SpdCheck check) {
  if (settings.match == "auto") return check == SpdCheck::none && !settings.condition;
  return settings.match != "none";
}

bool is_to_be_ordered(const Settings& settings, const MethodNeeds& needs) {
  return settings.order == "auto" ? needs.factors_in_order : settings.order != "none";
}

void check_shape(const Source& source) {
  if (source.num_rows == 0) throw InputError(source.name + ": the matrix is empty: it has no rows");
  if (source.num_rows != source.num_cols)
    throw InputError(concat(source.name, ": a solver needs a square matrix, this one has ", source.num_rows,
                            " rows and ", source.num_cols, " columns"));
}

template <class Scalar>
void check_spd(const Space& space, const std::string& name, const Matrix<Scalar>& a) {
  try {
    check_spd_input<Scalar, Space>(space, a);
  } catch (const InputError& error) {
    throw InputError(name + ": " + error.what(), error.row());
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

template <class Scalar>
Matrix<Scalar> load_matrix(const Space& space, const Settings& settings, MatrixInput& input,
                           Progress& progress, Source& source) {
  const Kokkos::Timer timer;
  Matrix<Scalar> a;
  source.complex = is_complex<Scalar>;
  source.name = input.file ? settings.matrix : settings.generate;
  progress.phase((input.file ? "reading " : "generating ") + source.name);
  if (input.file) {
    a = copy_to<Space>(input.file->template read<Scalar>());
    try {
      validate<Scalar, Space>(space, a);
    } catch (const InputError& error) {
      throw InputError(source.name + ": " + error.what());
    }
  } else {
    at_origin(settings.origins, "generate", [&] { a = generate<Scalar, Space>(space, settings.generate); });
  }
  space.fence("prekond::driver::load_matrix");
  source.num_rows = a.num_rows;
  source.num_cols = a.num_cols;
  source.nnz = a.nnz();
  source.seconds = timer.seconds();
  return a;
}

template <class Scalar>
Problem<Scalar> make_problem(const Space& space, const Processes& processes, const Settings& settings,
                             MatrixInput& input, const MethodNeeds& needs, Progress& progress) {
  Problem<Scalar> problem;
  problem.order.name = settings.order;
  problem.match.name = settings.match;
  if (is_complex<Scalar> && !(settings.near_null_space.empty() && settings.coordinates.empty()))
    throw OptionError("--near-null-space and --coordinates are for real matrices; leave them out");
  if (processes.is_serial()) {
    make_whole<Scalar>(space, settings, input, needs, progress, problem);
    use_whole<Scalar>(space, settings.spmv, problem);
  }
#ifdef PREKOND_DRIVER_HAS_MPI
  if constexpr (!is_complex<Scalar>) {  // complex matrices are for one process
    if (!processes.is_serial() && can_read_rows(processes, settings, needs)) {
      input.file.reset();
      make_of_rows(space, processes, settings, needs, progress, problem);
    } else if (!processes.is_serial()) {
      processes.on_root([&] { make_whole<double>(space, settings, input, needs, progress, problem); });
      progress.phase("distributing " + problem.source.name);
      hand_out(space, processes, settings, problem);
    }
    if (!processes.is_serial()) split_product(space, settings.spmv, problem);
  }
#endif
  if constexpr (!is_complex<Scalar>)
    add_near_null_space(space, processes, settings, problem.source.num_rows, problem);
  return problem;
}

template <class Scalar>
void fill_random(const Space& space, const Vector<Scalar, Space>& b,
                 const VectorView<const std::int64_t, Space>& numbers) {
  Kokkos::parallel_for("prekond::driver::random_rhs", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
                       FillRandom<Scalar>{numbers, b});
}

template <class Scalar>
Vector<Scalar, Space> own_part(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
                               const Vector<Scalar, Space>& whole) {
  if (processes.is_serial()) return whole;
  const auto own = allocate<Vector<Scalar, Space>>(space, "prekond::driver::own", problem.rows.num_rows);
  problem.distributed->scatter(space, whole, own);
  return own;
}

template <class Scalar>
Vector<Scalar, Space> whole_solution(const Space& space, const Processes& processes,
                                     const Problem<Scalar>& problem, const Vector<Scalar, Space>& x) {
  Vector<Scalar, Space> whole = x;
  if (!processes.is_serial()) {
    whole = {};
    if (processes.is_root())
      whole = allocate<Vector<Scalar, Space>>(space, "prekond::driver::all",
                                              problem.distributed->num_global_rows());
    problem.distributed->gather(space, x, whole);
  }
  if (problem.ordering.size() == 0) return whole;
  const auto restored = allocate<Vector<Scalar, Space>>(space, "prekond::driver::restored", whole.extent(0));
  restore_vector<Scalar, Space>(space, problem.ordering, as_multivector(whole), as_multivector(restored));
  space.fence("prekond::driver::whole_solution");  // before `whole` goes away
  return restored;
}

#define PREKOND_DRIVER_PROBLEM(Scalar)                                                                    \
  template struct Problem<Scalar>;                                                                        \
  template Matrix<Scalar> load_matrix<Scalar>(const Space&, const Settings&, MatrixInput&, Progress&,     \
                                              Source&);                                                   \
  template void check_spd<Scalar>(const Space&, const std::string&, const Matrix<Scalar>&);               \
  template Problem<Scalar> make_problem<Scalar>(const Space&, const Processes&, const Settings&,          \
                                                MatrixInput&, const MethodNeeds&, Progress&);             \
  template Vector<Scalar, Space> own_part<Scalar>(const Space&, const Processes&, const Problem<Scalar>&, \
                                                  const Vector<Scalar, Space>&);                          \
  template void fill_random<Scalar>(const Space&, const Vector<Scalar, Space>&,                           \
                                    const VectorView<const std::int64_t, Space>&);                        \
  template Vector<Scalar, Space> whole_solution<Scalar>(                                                  \
      const Space&, const Processes&, const Problem<Scalar>&, const Vector<Scalar, Space>&);
PREKOND_DRIVER_PROBLEM(double)
PREKOND_DRIVER_PROBLEM(Complex)

}  // namespace prekond::driver
