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

/// Diagonal entries that are missing, 0, not finite or weak, once rows and columns are equilibrated.
template <class Scalar>
std::int64_t count_weak(const Space& space, const Matrix<Scalar>& a) {
  Scaled<Scalar, Space> scaled(create_preconditioner<Scalar, Space>("none"), {ScalingKind::equilibrate});
  scaled.numeric(space, CsrView<Scalar, Space>(a));
  const auto row = scaled.row_scale(), column = scaled.column_scale();
  std::int64_t weak = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::count_weak",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & count) {
        double diagonal = 0;
        for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
          if (a.col_idxs(k) == i) diagonal = row(i) * Kokkos::abs(a.values(k)) * column(i);
        count += !(diagonal >= weak_diagonal && Kokkos::isfinite(diagonal));
      },
      weak);
  return weak;
}

/// Why `auto` takes rcm or leaves the rows: "rcm's bandwidth is 0.31 of the matrix's, at most 0.75"
std::string reason_of(std::int64_t before, double part, bool is_narrow) {
  if (before == 0) return "the matrix is diagonal";
  return format("rcm's bandwidth is %.3g of the matrix's, %s %g", part, is_narrow ? "at most" : "above",
                narrow_bandwidth);
}

std::string match_text(const Json& match, std::int64_t num_rows) {
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
void Problem<Scalar>::match(const Context& context) {
  const Space& space = context.space;
  check_square(*this, "a matching", "--match");
  context.progress.phase("matching " + name);
  space.fence("prekond::driver::match");
  const Kokkos::Timer timer;
  if (context.settings.match == "auto") {
    const std::int64_t weak = count_weak<Scalar>(space, whole);
    facts["match"]["weak"] = weak;
    if (weak == 0) return;
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
                         {"rows_on_host", found.matching.rows_on_host}});
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

#define PREKOND_DRIVER_ORDERING(Scalar)                 \
  template void Problem<Scalar>::match(const Context&); \
  template void Problem<Scalar>::put_in_order(const Context&);
PREKOND_DRIVER_ORDERING(double)
PREKOND_DRIVER_ORDERING(Complex)

}  // namespace prekond::driver
