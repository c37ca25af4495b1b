// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering.hpp"

#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>

#include <vector>

#include "problem.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

struct Order {
  std::string name;
  bool (*available)();
  std::string missing;  ///< what to install where it is not
  Ordering<Space> (*make)(const Space&, const CsrGraphView<Space>&);
};

const std::vector<Order>& orders() {
  static const auto always = [] { return true; };
  static const auto random = [](const Space& space, const CsrGraphView<Space>& a) {
    return random_order<Space>(space, a.num_rows);
  };
  static const auto color = [](const Space& space, const CsrGraphView<Space>& a) {
    return make_ordering<Space>(space, color_graph<Space>(space, a).permutation);
  };
  static const std::vector<Order> all = {
      {"rcm", always, "", reverse_cuthill_mckee<Space>},
      {"amd", has_minimum_degree, "AMD of SuiteSparse (Debian: libsuitesparse-dev)", minimum_degree<Space>},
      {"nd", has_nested_dissection, "METIS (Debian: libmetis-dev)", nested_dissection<Space>},
      {"color", always, "", color},
      {"random", always, "", random}};
  return all;
}

const Order* find_order(const std::string& name) {
  for (const Order& order : orders())
    if (order.name == name) return &order;
  return nullptr;
}

/// The bandwidth in rcm over that of the matrix; 1 for a diagonal matrix, which has none.
double part_of_bandwidth(const OrderFacts& facts) {
  if (facts.before.bandwidth == 0) return 1;
  return static_cast<double>(facts.after.bandwidth) / static_cast<double>(facts.before.bandwidth);
}

}  // namespace

std::string order_names() {
  std::string names = "none";
  for (const Order& order : orders()) names += "|" + order.name;
  return names + "|auto";
}

void check_order(const Settings& settings) {
  const std::string& name = settings.order;
  if (name == "none" || name == "auto") return;
  const Order* const order = find_order(name);
  if (order == nullptr) settings.refuse("order", "--order takes " + order_names() + ", not '" + name + "'");
  if (!order->available())
    settings.refuse("order",
                    "--order " + name + " needs " + order->missing +
                        ", which this build does not have; install it and configure once more, or take "
                        "another order");
}

template <class Scalar>
void order_problem(const Space& space, const std::string& name, Problem<Scalar>& problem) {
  OrderFacts& facts = problem.order;
  facts.name = name;
  facts.looked = name == "auto";
  facts.before = order_statistics<Space>(space, problem.whole);
  space.fence("prekond::driver::order");
  const Kokkos::Timer timer;
  const Ordering<Space> ordering = find_order(facts.looked ? "rcm" : name)->make(space, problem.whole);
  const Matrix<Scalar> a = permute_symmetric<Scalar, Space>(space, problem.whole, ordering);
  space.fence("prekond::driver::ordered");
  facts.seconds = timer.seconds();
  facts.after = order_statistics<Space>(space, a);
  if (facts.looked && part_of_bandwidth(facts) > narrow_bandwidth) return;
  facts.chosen = facts.looked ? "rcm" : name;
  problem.whole = a;
  problem.ordering = ordering;
  for (auto* vector : {&problem.b, &problem.x0}) take_rows<Scalar>(space, ordering.permutation, *vector);
  for (auto* scale : {&problem.row_scale, &problem.column_scale})
    take_rows<double>(space, ordering.permutation, *scale);
}

template <class Scalar>
void take_rows(const Space& space, const Vector<int, Space>& rows, Vector<Scalar, Space>& x) {
  if (rows.extent(0) == 0 || x.extent(0) == 0) return;
  const auto y = allocate<Vector<Scalar, Space>>(space, "prekond::driver::take_rows", x.extent(0));
  permute_vector<Scalar, Space>(space, Ordering<Space>{rows, rows}, as_multivector(x), as_multivector(y));
  space.fence("prekond::driver::take_rows");  // before x goes away
  x = y;
}

std::string order_reason(const OrderFacts& facts) {
  if (!facts.looked) return "no incomplete factorisation is asked for";
  if (facts.before.bandwidth == 0) return "the matrix is diagonal";
  return format("rcm's bandwidth is %.3g of the matrix's, %s %g", part_of_bandwidth(facts),
                facts.chosen == "none" ? "above" : "at most", narrow_bandwidth);
}

std::string order_text(const OrderFacts& facts) {
  const std::string reason = facts.name == "auto" ? order_reason(facts) : "";
  if (facts.chosen == "none") return "rows as they are: " + reason;
  const OrderStatistics &before = facts.before, &after = facts.after;
  return concat(facts.chosen, " in ", seconds_text(facts.seconds), reason.empty() ? "" : " (" + reason + ")",
                ": bandwidth ", before.bandwidth, " -> ", after.bandwidth, ", profile ", before.profile,
                " -> ", after.profile, ", levels ", before.levels, " -> ", after.levels);
}

#define PREKOND_DRIVER_ORDERING(Scalar)                                                    \
  template void order_problem<Scalar>(const Space&, const std::string&, Problem<Scalar>&); \
  template void take_rows<Scalar>(const Space&, const Vector<int, Space>&, Vector<Scalar, Space>&);
PREKOND_DRIVER_ORDERING(double)
PREKOND_DRIVER_ORDERING(Complex)

}  // namespace prekond::driver
