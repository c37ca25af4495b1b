// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/supernodes.hpp>
#include <prekond/pattern/partition.hpp>

#include "core/instantiate.hpp"
#include "pattern/partition/host_partition.hpp"
#include "pattern/partition/merge_runs.hpp"
#include "pattern/partition/partition_by_multilevel.hpp"
#include "pattern/sorted_rows.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace prekond {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space, class T>
Vector<T, Space> to_space(const Space& space, const char* label, const std::vector<T>& from) {
  const auto to = allocate<Vector<T, Space>>(space, label, from.size());
  Kokkos::deep_copy(
      space, to,
      Kokkos::View<const T*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          from.data(), from.size()));
  space.fence("prekond::partition::copy");  // `from` goes away
  return to;
}

template <class Space>
struct KeyOfPart {
  VectorView<const int, Space> number;
  VectorView<std::uint64_t, Space> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    keys(i) = sort_key(static_cast<std::uint64_t>(number(i)), static_cast<std::uint64_t>(i));
  }
};

/// The parts in the order of their numbers, which skip some, are 0, 1, ...
template <class Space>
struct NumberParts {
  using value_type = std::int64_t;
  VectorView<const int, Space> number, rows;
  VectorView<int, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count, bool final) const {
    count += k == 0 || number(rows(k)) != number(rows(k - 1));
    if (final) part(rows(k)) = static_cast<int>(count - 1);
  }
};

template <class Space>
struct BeginParts {
  VectorView<const int, Space> rows, part;
  VectorView<int, Space> ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& elsewhere) const {
    const auto n = static_cast<std::int64_t>(rows.extent(0));
    if (k == 0 || part(rows(k)) != part(rows(k - 1))) ptrs(part(rows(k))) = static_cast<int>(k);
    if (k + 1 == n) ptrs(ptrs.extent(0) - 1) = static_cast<int>(n);
    elsewhere += rows(k) != k;
  }
};

template <class Space>
struct LargestPart {
  VectorView<const int, Space> ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t p, int& most) const {
    const int size = ptrs(p + 1) - ptrs(p);
    if (size > most) most = size;
  }
};

template <class Space>
int largest_part(const Space& space, const Vector<int, Space>& ptrs) {
  int largest = 0;
  const auto count = static_cast<std::int64_t>(ptrs.extent(0)) - 1;
  Kokkos::parallel_reduce("prekond::partition::largest", Rows<Space>(space, 0, count),
                          LargestPart<Space>{ptrs}, Kokkos::Max<int>(largest));
  return count > 0 ? largest : 0;
}

/// Parts by their numbers, 0 and above, without the empty ones.
template <class Space>
Partition<Space> grouped(const Space& space, const VectorView<const int, Space>& number) {
  const auto n = static_cast<std::int64_t>(number.extent(0));
  const Rows<Space> all(space, 0, n);
  const auto keys = allocate<Vector<std::uint64_t, Space>>(space, "prekond::partition::keys", n);
  Kokkos::parallel_for("prekond::partition::key_of_part", all, KeyOfPart<Space>{number, keys});
  Partition<Space> result;
  result.num_rows = n;
  result.rows = sorted_rows<Space>(space, keys);
  result.part = allocate<Vector<int, Space>>(space, "prekond::partition::part", n);
  std::int64_t count = 0, elsewhere = 0;
  Kokkos::parallel_scan("prekond::partition::number_parts", all,
                        NumberParts<Space>{number, result.rows, result.part}, count);
  result.ptrs = allocate_zero<Vector<int, Space>>(space, "prekond::partition::ptrs", count + 1);
  Kokkos::parallel_reduce("prekond::partition::begin_parts", all,
                          BeginParts<Space>{result.rows, result.part, result.ptrs}, elsewhere);
  result.is_consecutive = elsewhere == 0;
  result.largest = largest_part<Space>(space, result.ptrs);
  return result;
}

/// ptrs(p) of parts whose sizes differ by one at most.
template <class Space>
struct EqualParts {
  std::int64_t num_rows, num_parts;
  VectorView<int, Space> ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t p) const {
    ptrs(p) = static_cast<int>(num_rows * p / num_parts);
  }
};

/// The part of each row of consecutive parts, by a binary search.
template <class Space>
struct NumberRows {
  VectorView<const int, Space> ptrs;
  VectorView<int, Space> rows;
  VectorView<int, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    int begin = 0, end = static_cast<int>(ptrs.extent(0)) - 1;
    while (begin + 1 < end) {
      const int middle = begin + (end - begin) / 2;
      if (ptrs(middle) <= i)
        begin = middle;
      else
        end = middle;
    }
    rows(i) = static_cast<int>(i);
    part(i) = begin;
  }
};

template <class Space>
Partition<Space> consecutive(const Space& space, std::int64_t num_rows, const Vector<int, Space>& ptrs,
                             int largest) {
  Partition<Space> result;
  result.num_rows = num_rows;
  result.largest = largest;
  result.ptrs = ptrs;
  result.rows = allocate<Vector<int, Space>>(space, "prekond::partition::rows", num_rows);
  result.part = allocate<Vector<int, Space>>(space, "prekond::partition::part", num_rows);
  Kokkos::parallel_for("prekond::partition::number_rows", Rows<Space>(space, 0, num_rows),
                       NumberRows<Space>{result.ptrs, result.rows, result.part});
  return result;
}

template <class Space>
Partition<Space> equal_parts(const Space& space, std::int64_t num_rows, std::int64_t num_parts) {
  const auto ptrs = allocate<Vector<int, Space>>(space, "prekond::partition::ptrs", num_parts + 1);
  Kokkos::parallel_for("prekond::partition::equal_parts", Rows<Space>(space, 0, num_parts + 1),
                       EqualParts<Space>{num_rows, num_parts, ptrs});
  return consecutive(space, num_rows, ptrs, static_cast<int>((num_rows + num_parts - 1) / num_parts));
}

/// The first row with a negative number.
template <class Space>
struct FirstNegative {
  VectorView<const int, Space> number;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first) const {
    if (number(i) < 0 && i < first) first = i;
  }
};

/// By METIS or the bisection, with a copy of the graph.
template <class Space>
Partition<Space> partition_on_host(const Space& space, const CsrGraphView<Space>& graph,
                                   std::int64_t num_parts, PartitionMethod method) {
  space.fence("prekond::partition::copy");  // the graph may still be being written
  const Kokkos::Timer timer;
  const auto row_ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, graph.row_ptrs);
  const auto col_idxs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, graph.col_idxs);
  const impl::HostGraph host{graph.num_rows, row_ptrs.data(), col_idxs.data()};
  const auto number =
      to_space<Space>(space, "prekond::partition::number",
                      method == PartitionMethod::metis ? impl::partition_by_metis(host, num_parts)
                                                       : impl::partition_by_bisection(host, num_parts));
  const double seconds = timer.seconds();
  auto result = grouped<Space>(space, number);
  result.host_seconds = seconds;
  return result;
}

/// The execution space's own method, where that is a device.
template <class Space>
PartitionMethod automatic_method() {
  if (!is_host_space<Space>) return PartitionMethod::multilevel;
  return has_metis() ? PartitionMethod::metis : PartitionMethod::bisection;
}

template <class Space>
struct CountCut {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& all, std::int64_t& cut) const {
    for (std::size_t k = graph.row_ptrs(i); k < graph.row_ptrs(i + 1); ++k) {
      const int j = graph.col_idxs(k);
      if (j >= i) return;
      ++all;
      cut += part(j) != part(i);
    }
  }
};

}  // namespace

template <class Space>
Partition<Space> partition_graph(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& graph,
                                 std::int64_t num_parts, PartitionMethod method) {
  if (method == PartitionMethod::supervariables)
    throw std::logic_error("prekond::partition_graph: supervariables are found by partition_supervariables");
  if (method == PartitionMethod::automatic) method = automatic_method<Space>();
  num_parts = std::min(num_parts, graph.num_rows);
  if (num_parts == 0) return grouped<Space>(space, {});
  if (num_parts == 1 || num_parts == graph.num_rows || method == PartitionMethod::rows)
    return equal_parts(space, graph.num_rows, num_parts);
  if (method != PartitionMethod::multilevel) return partition_on_host<Space>(space, graph, num_parts, method);
  return grouped<Space>(space, impl::partition::partition_by_multilevel<Space>(space, graph, num_parts));
}

template <class Space>
Partition<Space> partition_supervariables(const Space& space,
                                          const std::type_identity_t<CsrGraphView<Space>>& pattern, int most,
                                          int unknowns) {
  if (pattern.num_rows == 0) return grouped<Space>(space, {});
  const bool by_nodes = unknowns > 1 && unknowns <= most && pattern.num_rows % unknowns == 0;
  const auto pieces = by_nodes ? uniform_supernodes<Space>(space, pattern.num_rows, unknowns)
                               : find_supernodes<Space>(space, pattern, 1.0, most);
  const auto ptrs = impl::partition::merge_runs<Space>(space, pieces.begins, most);
  return consecutive(space, pattern.num_rows, ptrs, largest_part<Space>(space, ptrs));
}

template <class Space>
Partition<Space> partition_by_numbers(const Space& space,
                                      const std::type_identity_t<VectorView<const int, Space>>& part) {
  const auto n = static_cast<std::int64_t>(part.extent(0));
  std::int64_t first = n;
  Kokkos::parallel_reduce("prekond::partition::first_negative", Rows<Space>(space, 0, n),
                          FirstNegative<Space>{part}, Kokkos::Min<std::int64_t>(first));
  if (first < n) {
    int number = 0;
    Kokkos::deep_copy(space, number, Kokkos::subview(part, first));
    space.fence("prekond::partition::first_negative");
    throw InputError("partition: row " + std::to_string(first + 1) + " is in part " + std::to_string(number) +
                         "; parts are numbered from 0",
                     first);
  }
  return grouped<Space>(space, part);
}

template <class Space>
EdgeCount count_edges(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& graph,
                      const Partition<Space>& partition) {
  EdgeCount edges;
  Kokkos::parallel_reduce("prekond::partition::count_edges", Rows<Space>(space, 0, graph.num_rows),
                          CountCut<Space>{graph, partition.part}, Kokkos::Sum<std::int64_t>(edges.all),
                          Kokkos::Sum<std::int64_t>(edges.cut));
  return edges;
}

#define PREKOND_PARTITION(Space)                                                                            \
  template Partition<Space> partition_graph<Space>(const Space&, const CsrGraphView<Space>&, std::int64_t,  \
                                                   PartitionMethod);                                        \
  template Partition<Space> partition_supervariables<Space>(const Space&, const CsrGraphView<Space>&, int,  \
                                                            int);                                           \
  template Partition<Space> partition_by_numbers<Space>(const Space&, const VectorView<const int, Space>&); \
  template EdgeCount count_edges<Space>(const Space&, const CsrGraphView<Space>&, const Partition<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_PARTITION)

}  // namespace prekond
