// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem.hpp"

#include <prekond/distributed/split_operator.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>
#include "core/norm.hpp"
#include "distributed/one_rank_matrix.hpp"
#include "matrix/spd_text.hpp"

#include <utility>

#include "condition.hpp"
#include "near_null_space.hpp"
#include "partition.hpp"
#include "phase.hpp"
#include "product.hpp"
#ifdef PREKOND_DRIVER_HAS_MPI
#include "rows_of_ranks.hpp"
#endif

namespace prekond::driver {
namespace {

/// The right-hand side, of A before it is matched and ordered.
template <class Scalar>
Vector<Scalar, Space> make_rhs(const Space& space, const Matrix<Scalar>& a, const std::string& rhs) {
  if (names_file(rhs)) return read_vector<Scalar>(rhs, a.num_rows);
  if (rhs == "a_ones") return times_ones<Scalar>(space, a);
  const auto b = allocate<Vector<Scalar, Space>>(space, "prekond::driver::b", a.num_rows);
  fill_rhs<Scalar>(space, rhs, b);
  return b;
}

/// Makes a random b one that a singular matrix with A 1 = 0 reaches, and says of another what it has to be.
template <class Scalar>
void take_zero_sums_out(const Space& space, const std::string& rhs, Problem<Scalar>& problem) {
  if (rhs == "a_ones" || !rows_sum_to_zero<Scalar>(space, problem.whole)) return;
  if (rhs != "random") return problem.add_note(note_of_own_zero_sums);
  take_means_out<Scalar>(space, problem.whole, problem.b);
  problem.add_note(note_of_zero_sums);
}

/// The product with A, and A as a distributed matrix, on a serial process.
template <class Scalar>
void use_whole(const Context& context, Problem<Scalar>& problem) {
  std::shared_ptr<const Operator<Scalar, Space>> product =
      make_product<Scalar>(context.space, context.settings.spmv, problem.whole, problem.facts["product"]);
  problem.rows = problem.whole;
  problem.distributed = std::make_unique<OneRankMatrix<Scalar, Space>>(std::move(product));
  problem.facts["distribution"] =
      distribution_facts(context.processes, "rows", {.rows = problem.num_rows, .entries = problem.nnz});
}

#ifdef PREKOND_DRIVER_HAS_MPI
/// The product whose messages are under way while each process multiplies its own columns, in the format of
/// --spmv.
void split_product(const Context& context, Problem<double>& problem) {
  const Kokkos::Timer timer;
  Json& facts = problem.facts["product"];
  problem.split = std::make_unique<SplitOperator<double, Space>>(
      context.space, *problem.distributed, [&](const auto& own) {
        return make_product<double>(context.space, context.settings.spmv, own, facts);
      });
  facts["seconds"] = timer.seconds();
}
#endif

}  // namespace

template <class Scalar>
Problem<Scalar>::Problem(const Settings& settings)
    : facts({{"match", {{"name", settings.match}}},
             {"order", {{"name", settings.order}}},
             {"near_null_space", {{"name", ""}, {"vectors", 0}, {"unknowns_per_node", 1}}},
             {"notes", Json::array()}}) {
  if (settings.match != "none") facts["match"]["done"] = false;
  if (settings.order == "auto")
    facts["order"].update({{"chosen", "none"}, {"reason", "no incomplete factorisation is asked for"}});
}

template <class Scalar>
void Problem<Scalar>::load(const Context& context, MatrixInput& input) {
  const Settings& settings = context.settings;
  const Kokkos::Timer timer;
  name = input.file ? settings.matrix : settings.generate;
  context.progress.phase((input.file ? "reading " : "generating ") + name);
  if (input.file)
    whole = copy_to<Space>(input.file->template read<Scalar>());
  else
    at_origin(settings.given, "generate",
              [&] { whole = generate<Scalar, Space>(context.space, settings.generate); });
  context.space.fence("prekond::driver::load");
  set_size(whole.num_rows, whole.num_cols, whole.nnz(), timer.seconds());
}

template <class Scalar>
void Problem<Scalar>::set_size(std::int64_t height, std::int64_t width, std::int64_t entries,
                               double seconds) {
  num_rows = height;
  num_cols = width;
  nnz = entries;
  facts["matrix"] = {{"source", name},
                     {"rows", num_rows},
                     {"cols", num_cols},
                     {"nnz", nnz},
                     {"field", is_complex<Scalar> ? "complex" : "real"},
                     {"seconds", seconds}};
}

template <class Scalar>
void Problem<Scalar>::check_shape() const {
  if (num_rows == 0) throw InputError(name + ": the matrix is empty: it has no rows");
  if (num_rows != num_cols)
    throw InputError(text_of(name, ": a solver needs a square matrix, this one has ", num_rows, " rows and ",
                             num_cols, " columns"));
}

template <class Scalar>
void Problem<Scalar>::check_zero_rows(std::int64_t row_without_solution, std::int64_t row) {
  if (row_without_solution >= 0)
    throw InputError(text_of(name, ": ", zero_row_text(row_without_solution),
                             ", and b is not zero there, so that there is no solution; take the row and its "
                             "column out, or give --rhs a file that is zero there"));
  if (row >= 0) add_note(zero_row_text(row) + "; b is zero there, and x is one of many solutions");
}

template <class Scalar>
void Problem<Scalar>::note_zero_column(std::int64_t column) {
  is_singular = column >= 0;
  if (is_singular)
    add_note(zero_row_text(column, "column") + "; most right-hand sides have no solution, and others many");
}

template <class Scalar>
void Problem<Scalar>::take_symmetry(const MethodNeeds& needs, const SymmetryFacts& found) {
  facts["matrix"]["symmetric"] = found.symmetric;
  if (needs.check == SpdCheck::report) not_spd = found.not_spd;
  if (needs.check != SpdCheck::require || found.not_spd.empty()) return;
  // The fault, without the advice that changes the solver.
  const std::string fault = found.not_spd.substr(0, found.not_spd.find(impl::advice_of_asymmetry));
  throw InputError(name + ": " + (needs.instead.empty() ? found.not_spd : fault + "; " + needs.instead));
}

template <class Scalar>
Vector<Scalar, Space> Problem<Scalar>::own_part(const Context& context,
                                                const Vector<Scalar, Space>& all) const {
  if (context.processes.is_serial()) return all;
  const auto own = allocate<Vector<Scalar, Space>>(context.space, "prekond::driver::own", rows.num_rows);
  distributed->scatter(context.space, all, own);
  return own;
}

template <class Scalar>
Vector<Scalar, Space> Problem<Scalar>::whole_solution(const Context& context,
                                                      const Vector<Scalar, Space>& x) const {
  const Space& space = context.space;
  Vector<Scalar, Space> all = x;
  if (!context.processes.is_serial()) {
    const std::int64_t length = context.processes.is_root() ? distributed->num_global_rows() : 0;
    all = allocate<Vector<Scalar, Space>>(space, "prekond::driver::all", length);
    distributed->gather(space, x, all);
  }
  if (ordering.size() == 0) return all;
  const auto restored = allocate<Vector<Scalar, Space>>(space, "prekond::driver::restored", all.extent(0));
  restore_vector<Scalar, Space>(space, ordering, as_multivector(all), as_multivector(restored));
  space.fence("prekond::driver::whole_solution");  // before `all` goes away
  return restored;
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

template <class Scalar>
InputError Problem<Scalar>::in_order(const InputError& error) const {
  std::string options = matched ? "--match" : "";
  if (order != "none")
    options +=
        (matched ? " --order " : "--order ") + facts.at("order").at("name").template get<std::string>();
  if (options.empty() || error.row() < 0) return error;
  return InputError(std::string(error.what()) + " (rows are counted in the order of " + options + ")",
                    error.row());
}

template <class Scalar>
SymmetryFacts symmetry_of(const Space& space, const Matrix<Scalar>& a, SpdCheck check) {
  SymmetryFacts found;
  try {
    if (check != SpdCheck::none) check_spd_input<Scalar, Space>(space, a);
  } catch (const InputError& error) {
    found.not_spd = error.what();
  }
  if (check == SpdCheck::require && found.not_spd.empty()) {
    found.symmetric = true;
    return found;
  }
  const MatrixStatistics measured = statistics<Scalar, Space>(space, a, false);
  found.symmetric = measured.symmetric_values;
  if (!found.not_spd.empty() && found.symmetric && measured.diagonal_negative == a.num_rows) {
    const std::string text = negative_definite_text<Scalar>(space, a);
    if (!text.empty()) found.not_spd = text;
  }
  return found;
}

bool is_to_be_matched(const Settings& settings, SpdCheck check) {
  if (settings.match == "auto") return check == SpdCheck::none && !settings.condition;
  return settings.match != "none";
}

bool is_to_be_ordered(const Settings& settings, const MethodNeeds& needs) {
  return settings.order == "auto" ? needs.factors_in_order : settings.order != "none";
}

MatrixInput open_matrix(const Settings& settings) {
  MatrixInput input;
  if (settings.matrix.empty()) {
    at_origin(settings.given, "generate", [&] { input.complex = generates_complex(settings.generate); });
  } else {
    Phase::begin("reading " + settings.matrix);
    input.file.emplace(settings.matrix);
    input.complex = input.file->info().field == "complex";
  }
  return input;
}

template <class Scalar>
void make_whole(const Context& context, const MethodNeeds& needs, MatrixInput& input,
                Problem<Scalar>& problem) {
  const Settings& settings = context.settings;
  const Space& space = context.space;
  problem.load(context, input);
  problem.check_shape();
  context.progress.phase("checking " + problem.name);
  const SymmetryFacts symmetry = symmetry_of<Scalar>(space, problem.whole, needs.check);
  if (names_file(settings.rhs)) context.progress.phase("reading " + settings.rhs);
  problem.b = make_rhs<Scalar>(space, problem.whole, settings.rhs);
  context.progress.phase("checking " + problem.name);
  problem.check_zero_rows(first_zero_row<Scalar>(space, problem.whole, problem.b),
                          first_zero_row<Scalar>(space, problem.whole));
  if (!symmetry.symmetric) problem.note_zero_column(first_zero_column<Scalar>(space, problem.whole));
  problem.take_symmetry(needs, symmetry);
  if (symmetry.symmetric) take_zero_sums_out(space, settings.rhs, problem);
  if (names_file(settings.x0)) {
    context.progress.phase("reading " + settings.x0);
    problem.x0 = read_vector<Scalar>(settings.x0, problem.num_rows);
  }
  problem.norm_b = norm<Scalar, Space>(space, problem.b).value();
  if (is_to_be_matched(settings, needs.check)) problem.match(context);
  if (is_to_be_ordered(settings, needs)) problem.put_in_order(context);
}

template <class Scalar>
Problem<Scalar> make_problem(const Context& context, const MethodNeeds& needs, MatrixInput& input) {
  Problem<Scalar> problem(context.settings);
  if (context.processes.is_serial()) {
    make_whole<Scalar>(context, needs, input, problem);
    use_whole<Scalar>(context, problem);
  }
  if constexpr (!is_complex<Scalar>) {  // complex matrices are for one process
#ifdef PREKOND_DRIVER_HAS_MPI
    if (!context.processes.is_serial()) {
      make_rows_of_ranks(context, needs, input, problem);
      split_product(context, problem);
    }
#endif
    add_near_null_space(context, problem);
  }
  return problem;
}

template <class Scalar>
Vector<Scalar, Space> read_vector(const std::string& path, std::int64_t length) {
  return Kokkos::create_mirror_view_and_copy(Space::memory_space{}, read_vector_market<Scalar>(path, length));
}

#define PREKOND_DRIVER_PROBLEM(Scalar)                                                       \
  template struct Problem<Scalar>;                                                           \
  template SymmetryFacts symmetry_of<Scalar>(const Space&, const Matrix<Scalar>&, SpdCheck); \
  template Problem<Scalar> make_problem<Scalar>(const Context&, const MethodNeeds&, MatrixInput&);
PREKOND_DRIVER_PROBLEM(double)
PREKOND_DRIVER_PROBLEM(Complex)

}  // namespace prekond::driver
