// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering.hpp"

#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>

#include <vector>

#include "table.hpp"

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

long long whole(std::int64_t value) {
  return static_cast<long long>(value);
}

template <class Scalar>
Reordered<Scalar> reorder_by(const Space& space, const Matrix<Scalar>& a, const std::string& name) {
  Reordered<Scalar> result;
  result.facts.name = result.facts.chosen = name;
  result.facts.before = order_statistics<Space>(space, a);
  space.fence("prekond::driver::reorder");
  const Kokkos::Timer timer;
  result.ordering = find_order(name)->make(space, a);
  result.a = permute_symmetric<Scalar, Space>(space, a, result.ordering);
  space.fence("prekond::driver::reordered");
  result.facts.seconds = timer.seconds();
  result.facts.after = order_statistics<Space>(space, result.a);
  return result;
}

/// What rcm leaves of the bandwidth; of a diagonal matrix, which has none, all.
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

void check_order(const std::string& name) {
  if (name == "none" || name == "auto") return;
  const Order* const order = find_order(name);
  if (order == nullptr) throw OptionError("--order takes " + order_names() + ", not '" + name + "'");
  if (!order->available())
    throw OptionError(
        "--order " + name + " needs " + order->missing +
        ", which this build does not have; install it and configure once more, or take another order");
}

template <class Scalar>
Reordered<Scalar> reorder(const Space& space, const Matrix<Scalar>& a, const std::string& name) {
  if (name != "auto") return reorder_by<Scalar>(space, a, name);
  Reordered<Scalar> result = reorder_by<Scalar>(space, a, "rcm");
  result.facts.name = name;
  result.facts.looked = true;
  if (part_of_bandwidth(result.facts) <= narrow_bandwidth) return result;
  result.facts.chosen = "none";
  result.a = a;
  result.ordering = {};
  return result;
}

template <class Scalar>
Vector<Scalar, Space> in_order(const Space& space, const Ordering<Space>& ordering,
                               const Vector<Scalar, Space>& x) {
  if (ordering.size() == 0) return x;
  const auto y = allocate<Vector<Scalar, Space>>(space, "prekond::driver::in_order", x.extent(0));
  permute_vector<Scalar, Space>(space, ordering, as_multivector(x), as_multivector(y));
  space.fence("prekond::driver::in_order");  // before x goes away
  return y;
}

template <class Scalar>
Vector<Scalar, Space> in_original_order(const Space& space, const Ordering<Space>& ordering,
                                        const Vector<Scalar, Space>& x) {
  if (ordering.size() == 0) return x;
  const auto y = allocate<Vector<Scalar, Space>>(space, "prekond::driver::in_original_order", x.extent(0));
  restore_vector<Scalar, Space>(space, ordering, as_multivector(x), as_multivector(y));
  space.fence("prekond::driver::in_original_order");
  return y;
}

std::int64_t original_row(const Vector<int, Space>& permutation, std::int64_t row) {
  if (row < 0 || row >= static_cast<std::int64_t>(permutation.extent(0))) return row;
  int original = 0;
  Kokkos::deep_copy(original, Kokkos::subview(permutation, row));
  return original;
}

void telling_order(const std::string& options, const std::function<void()>& work) {
  try {
    work();
  } catch (const OptionError&) {
    throw;
  } catch (const InputError& error) {
    if (options.empty() || error.row() < 0) throw;
    throw InputError(std::string(error.what()) + " (rows are counted in the order of " + options + ")",
                     error.row());
  }
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
  return format("%s in %s%s: bandwidth %lld -> %lld, profile %lld -> %lld, levels %lld -> %lld",
                facts.chosen.c_str(), seconds_text(facts.seconds).c_str(),
                (reason.empty() ? "" : " (" + reason + ")").c_str(), whole(before.bandwidth),
                whole(after.bandwidth), whole(before.profile), whole(after.profile), whole(before.levels),
                whole(after.levels));
}

#define PREKOND_DRIVER_ORDERING(Scalar)                                                                \
  template Reordered<Scalar> reorder<Scalar>(const Space&, const Matrix<Scalar>&, const std::string&); \
  template Vector<Scalar, Space> in_order<Scalar>(const Space&, const Ordering<Space>&,                \
                                                  const Vector<Scalar, Space>&);                       \
  template Vector<Scalar, Space> in_original_order<Scalar>(const Space&, const Ordering<Space>&,       \
                                                           const Vector<Scalar, Space>&);
PREKOND_DRIVER_ORDERING(double)
PREKOND_DRIVER_ORDERING(Complex)

}  // namespace prekond::driver
