// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering.hpp"

#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/permute.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include <vector>

#include "matrix/find_entry.hpp"
#include "problem.hpp"

namespace prekond::driver {
namespace {

struct Order {
  std::string name;
  bool is_available;
  std::string missing;  ///< what to install where it is not
  Ordering<Space> (*make)(const Space&, const CsrGraphView<Space>&);
};

const std::vector<Order>& orders() {
  static const auto random = [](const Space& space, const CsrGraphView<Space>& a) {
    return random_order<Space>(space, a.num_rows);
  };
  static const auto color = [](const Space& space, const CsrGraphView<Space>& a) {
    return make_ordering<Space>(space, color_graph<Space>(space, a).permutation);
  };
  static const std::vector<Order> all = {
      {"rcm", true, "", reverse_cuthill_mckee<Space>},
      {"amd", has_minimum_degree(), "AMD of SuiteSparse (Debian: libsuitesparse-dev)", minimum_degree<Space>},
      {"nd", has_nested_dissection(), "METIS (Debian: libmetis-dev)", nested_dissection<Space>},
      {"color", true, "", color},
      {"random", true, "", random}};
  return all;
}

/// Null for "none" and "auto".
const Order* find_order(const std::string& name) {
  for (const Order& order : orders())
    if (order.name == name) return &order;
  return nullptr;
}

template <class Scalar>
void check_square(const Problem<Scalar>& problem, const std::string& what, const std::string& option) {
  if (problem.num_rows != problem.num_cols)
    throw InputError(text_of(problem.name, ": ", what, " is for a square matrix, this one has ",
                             problem.num_rows, " rows and ", problem.num_cols, " columns; leave ", option,
                             " out"));
}

/// Entry i becomes entry rows(i).
template <class Scalar>
void take_rows(const Space& space, const Vector<int, Space>& rows, Vector<Scalar, Space>& x) {
  if (x.extent(0) == 0) return;
  const auto y = allocate<Vector<Scalar, Space>>(space, "prekond::driver::take_rows", x.extent(0));
  permute_vector<Scalar, Space>(space, Ordering<Space>{rows, rows}, as_multivector(x), as_multivector(y));
  space.fence("prekond::driver::take_rows");  // before x goes away
  x = y;
}

/// R A C by its entries.
template <class Scalar>
struct ScaledEntries {
  CsrView<Scalar, Space> a;
  VectorView<const real_type_t<Scalar>, Space> row, column;
  Vector<double, Space> diagonal;  ///< the sizes of its entries; 0 where it is weak

  KOKKOS_FUNCTION double size(std::int64_t i, std::int64_t j, const Scalar& value) const {
    return double(row(i)) * double(Kokkos::abs(value)) * double(column(j));
  }
  KOKKOS_FUNCTION double size(std::int64_t i, std::int64_t j) const {
    std::size_t place = 0;
    return size(i, j, find_entry(a, i, j, place));
  }
  KOKKOS_FUNCTION bool is_weak(std::int64_t i) const { return diagonal(i) == 0; }
};

/// Counts the weak ones.
template <class Scalar>
std::int64_t find_diagonal(const Space& space, const ScaledEntries<Scalar>& scaled) {
  std::int64_t weak = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::find_diagonal",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, scaled.a.num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & count) {
        const double found = scaled.size(i, i);
        const bool strong = found >= weak_diagonal && Kokkos::isfinite(found);
        scaled.diagonal(i) = strong ? found : 0;
        count += !strong;
      },
      weak);
  return weak;
}

/// Does row i fit a saddle-point matrix?
template <class Scalar>
KOKKOS_FUNCTION bool fits_saddle_point(const ScaledEntries<Scalar>& scaled, std::int64_t i) {
  double pivot = scaled.is_weak(i) ? 0 : 1;
  for (std::size_t k = scaled.a.row_ptrs(i); k < scaled.a.row_ptrs(i + 1); ++k) {
    const int j = scaled.a.col_idxs(k);
    const double size = scaled.size(i, j, scaled.a.values(k));
    if (j == i || size == 0 || !(scaled.is_weak(i) || scaled.is_weak(j))) continue;
    if (scaled.is_weak(i) && scaled.is_weak(j)) {
      if (size >= weak_diagonal) return false;
      continue;
    }
    const double mirror = scaled.size(j, i);
    if (mirror == 0) return false;
    if (scaled.is_weak(i)) pivot = Kokkos::fmax(pivot, size * mirror / scaled.diagonal(j));
  }
  return pivot >= weak_diagonal;
}

template <class Scalar>
std::int64_t count_others(const Space& space, const ScaledEntries<Scalar>& scaled) {
  std::int64_t others = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::fit_saddle_point",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, scaled.a.num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & count) { count += !fits_saddle_point(scaled, i); },
      others);
  return others;
}

/// Why `auto` takes rcm or leaves the rows: "rcm's bandwidth is 0.31 of the matrix's, at most 0.75"
std::string reason_of(std::int64_t before, double part, bool is_narrow) {
  if (before == 0) return "the matrix is diagonal";
  return format("rcm's bandwidth is %.3g of the matrix's, %s %g", part, is_narrow ? "at most" : "above",
                narrow_bandwidth);
}

std::string match_text(const Json& match, std::int64_t num_rows) {
  if (match.value("saddle_point", false))
    return text_of(
        "rows as they are: a saddle-point matrix, ", match.at("weak"),
        " rows with a weak diagonal entry that get pivots from the other rows; --match matches it");
  if (!match.at("done"))
    return match.contains("weak")
               ? text_of("rows as they are: no entry of the scaled diagonal is below ", weak_diagonal)
               : "rows as they are: what is asked for needs a symmetric matrix";
  std::string text =
      text_of(match.at("rows_moved"), " of ", num_rows, " rows moved in ", seconds_text(match.at("seconds")),
              ", log product ", match.at("log_product").get<double>());
  if (match.at("rank") < num_rows)
    text += text_of("; STRUCTURALLY SINGULAR: only ", match.at("rank"), " rows can be matched");
  return text;
}

std::string order_text(const Json& order) {
  const std::string reason = order.value("reason", ""),
                    chosen = order.value("chosen", order.value("name", ""));
  if (chosen == "none") return "rows as they are: " + reason;
  std::string text = chosen + " in " + seconds_text(order.at("seconds"));
  if (!reason.empty()) text += " (" + reason + ")";
  for (const char* key : {"bandwidth", "profile", "levels"})
    text += text_of(key[0] == 'b' ? ": " : ", ", key, " ", order.at("before").at(key), " -> ",
                    order.at("after").at(key));
  return text;
}

}  // namespace

std::string order_names() {
  std::string names = "none";
  for (const Order& order : orders()) names += "|" + order.name;
  return names + "|auto";
}

void check_order(const Settings& settings) {
  const Order* const order = find_order(settings.order);
  if (order != nullptr && !order->is_available)
    settings.refuse("order",
                    "--order " + order->name + " needs " + order->missing +
                        ", which this build does not have; install it and configure once more, or take "
                        "another order");
}

Json order_facts(const Space& space, const CsrGraphView<Space>& a) {
  const OrderStatistics found = order_statistics<Space>(space, a);
  return {{"bandwidth", found.bandwidth}, {"profile", found.profile}, {"levels", found.levels}};
}

template <class Scalar>
DiagonalFacts diagonal_facts(const Space& space, const CsrView<Scalar, Space>& a) {
  Scaled<Scalar, Space> scaling(create_preconditioner<Scalar, Space>("none"), {ScalingKind::equilibrate});
  scaling.numeric(space, a);
  const ScaledEntries<Scalar> scaled{
      a, scaling.row_scale(), scaling.column_scale(),
      allocate<Vector<double, Space>>(space, "prekond::driver::scaled_diagonal", a.num_rows)};
  DiagonalFacts facts;
  facts.weak = find_diagonal<Scalar>(space, scaled);
  facts.is_saddle_point = facts.weak > 0 && facts.weak < a.num_rows &&
                          weak_rows_an_exception * count_others<Scalar>(space, scaled) <= facts.weak;
  return facts;
}

std::string advice_for(const DiagonalFacts& facts) {
  return facts.is_saddle_point ? "a denser factorisation helps for a saddle-point matrix such as this one, "
                                 "rather than --match: "
                                 "ilut with a larger p and a smaller tau"
                               : "--match brings large entries to the diagonal";
}

template <class Scalar>
void Problem<Scalar>::match(const Context& context) {
  const Space& space = context.space;
  check_square(*this, "a matching", "--match");
  context.progress.phase("matching " + name);
  space.fence("prekond::driver::match");
  const Kokkos::Timer timer;
  if (context.settings.match == "auto") {
    const DiagonalFacts found = diagonal_facts<Scalar>(space, whole);
    facts["match"]["weak"] = found.weak;
    if (found.is_saddle_point) facts["match"]["saddle_point"] = true;
    if (found.weak == 0 || found.is_saddle_point) return;
  }
  const MatchedRows<Space> found = match_rows<Scalar, Space>(space, whole);
  whole = permute_rows<Scalar, Space>(space, whole, found.rows);
  matched = true;
  matched_rows = found.rows;
  row_scale = found.row_scale;
  column_scale = found.matching.column_scale;
  take_rows<Scalar>(space, found.rows, b);
  space.fence("prekond::driver::matched");
  facts["match"].update({{"done", true},
                         {"seconds", timer.seconds()},
                         {"rank", found.matching.rank},
                         {"rows_moved", found.rows_moved},
                         {"log_product", found.matching.log_product},
                         {"rounds", found.matching.rounds},
                         {"rows_on_host", found.matching.rows_on_host},
                         {"host_seconds", found.matching.host_seconds}});
}

template <class Scalar>
void Problem<Scalar>::put_in_order(const Context& context) {
  const Space& space = context.space;
  check_square(*this, "an order", "--order");
  context.progress.phase("ordering " + name);
  const bool is_auto = context.settings.order == "auto";
  const Order& wanted = *find_order(is_auto ? "rcm" : context.settings.order);
  Json& order_of = facts["order"];
  order_of["before"] = order_facts(space, whole);
  space.fence("prekond::driver::order");
  const Kokkos::Timer timer;
  const Ordering<Space> found = wanted.make(space, whole);
  const Matrix<Scalar> a = permute_symmetric<Scalar, Space>(space, whole, found);
  space.fence("prekond::driver::ordered");
  order_of["seconds"] = timer.seconds();
  order_of["host_seconds"] = found.host_seconds;
  order_of["after"] = order_facts(space, a);
  if (is_auto) {
    const std::int64_t before = order_of["before"]["bandwidth"], after = order_of["after"]["bandwidth"];
    const double part = before == 0 ? 1 : static_cast<double>(after) / static_cast<double>(before);
    const bool is_narrow = part <= narrow_bandwidth;
    order_of["chosen"] = is_narrow ? "rcm" : "none";
    order_of["reason"] = reason_of(before, part, is_narrow);
    if (!is_narrow) return;
  }
  order = wanted.name;
  whole = a;
  ordering = found;
  for (auto* vector : {&b, &x0}) take_rows<Scalar>(space, found.permutation, *vector);
  for (auto* scale : {&row_scale, &column_scale}) take_rows<double>(space, found.permutation, *scale);
}

std::vector<std::pair<std::string, std::string>> order_texts(const Json& report) {
  std::vector<std::pair<std::string, std::string>> texts;
  const Json &match = report.at("match"), &order = report.at("order");
  if (match.at("name") != "none")
    texts.emplace_back("match", match_text(match, report.at("matrix").at("rows")));
  if (order.at("name") != "none") texts.emplace_back("order", order_text(order));
  return texts;
}

#define PREKOND_DRIVER_ORDERING(Scalar)                                                       \
  template DiagonalFacts diagonal_facts<Scalar>(const Space&, const CsrView<Scalar, Space>&); \
  template void Problem<Scalar>::match(const Context&);                                       \
  template void Problem<Scalar>::put_in_order(const Context&);
PREKOND_DRIVER_ORDERING(double)
PREKOND_DRIVER_ORDERING(Complex)

}  // namespace prekond::driver
