// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/supernodes.hpp>
#include <prekond/pattern/partition.hpp>

#include "core/instantiate.hpp"
#include "pattern/partition/host_partition.hpp"

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

template <class T, class View>
std::vector<T> to_host_vector(const View& from) {
  std::vector<T> to(from.extent(0));
  Kokkos::deep_copy(
      Kokkos::View<T*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          to.data(), to.size()),
      from);
  return to;
}

/// By a counting sort on the host, without the empty parts. `timer` runs since the host began.
template <class Space>
Partition<Space> grouped(const Space& space, std::vector<int> part, const Kokkos::Timer& timer) {
  const auto place = [](auto k) { return static_cast<std::size_t>(k); };
  Partition<Space> result;
  result.num_rows = static_cast<std::int64_t>(part.size());
  const int most = part.empty() ? -1 : *std::max_element(part.begin(), part.end());
  std::vector<int> length(place(most + 1), 0), number(place(most + 1), 0), ptrs{0};
  for (const int p : part) ++length[place(p)];
  for (int p = 0; p <= most; ++p) {
    number[place(p)] = static_cast<int>(ptrs.size()) - 1;
    if (length[place(p)] == 0) continue;
    ptrs.push_back(ptrs.back() + length[place(p)]);
    result.largest = std::max(result.largest, length[place(p)]);
  }
  std::vector<int> next(ptrs.begin(), ptrs.end() - 1), rows(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    part[i] = number[place(part[i])];
    const int k = next[place(part[i])]++;
    rows[place(k)] = static_cast<int>(i);
    result.is_consecutive = result.is_consecutive && k == static_cast<int>(i);
  }
  result.ptrs = to_space<Space>(space, "prekond::partition::ptrs", ptrs);
  result.rows = to_space<Space>(space, "prekond::partition::rows", rows);
  result.part = to_space<Space>(space, "prekond::partition::part", part);
  result.host_seconds = timer.seconds();
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
  if (method == PartitionMethod::automatic)
    method = has_metis() ? PartitionMethod::metis : PartitionMethod::bisection;
  num_parts = std::min(num_parts, graph.num_rows);
  if (num_parts == 0) return grouped<Space>(space, {}, Kokkos::Timer());
  if (num_parts == 1 || num_parts == graph.num_rows || method == PartitionMethod::rows)
    return equal_parts(space, graph.num_rows, num_parts);
  space.fence("prekond::partition::copy");  // the graph may still be being written
  const Kokkos::Timer timer;
  const auto row_ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, graph.row_ptrs);
  const auto col_idxs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, graph.col_idxs);
  const impl::HostGraph host{graph.num_rows, row_ptrs.data(), col_idxs.data()};
  return grouped<Space>(space,
                        method == PartitionMethod::metis ? impl::partition_by_metis(host, num_parts)
                                                         : impl::partition_by_bisection(host, num_parts),
                        timer);
}

template <class Space>
Partition<Space> partition_supervariables(const Space& space,
                                          const std::type_identity_t<CsrGraphView<Space>>& pattern, int most,
                                          int unknowns) {
  if (pattern.num_rows == 0) return grouped<Space>(space, {}, Kokkos::Timer());
  const bool by_nodes = unknowns > 1 && unknowns <= most && pattern.num_rows % unknowns == 0;
  const auto pieces = by_nodes ? uniform_supernodes<Space>(space, pattern.num_rows, unknowns)
                               : find_supernodes<Space>(space, pattern, 1.0, most);
  space.fence("prekond::partition::copy");
  const Kokkos::Timer timer;
  const std::vector<int> begins = to_host_vector<int>(pieces.begins);
  std::vector<int> ptrs{0};
  int largest = 0;
  for (std::size_t k = 1; k < begins.size(); ++k) {
    const bool ends = k + 1 == begins.size() || begins[k + 1] - ptrs.back() > most;
    if (!ends) continue;
    largest = std::max(largest, begins[k] - ptrs.back());
    ptrs.push_back(begins[k]);
  }
  const auto on_device = to_space<Space>(space, "prekond::partition::ptrs", ptrs);
  const double seconds = timer.seconds();
  auto result = consecutive(space, pattern.num_rows, on_device, largest);
  result.host_seconds = seconds;
  return result;
}

template <class Space>
Partition<Space> partition_by_numbers(const Space& space,
                                      const std::type_identity_t<VectorView<const int, Space>>& part) {
  space.fence("prekond::partition::copy");
  const Kokkos::Timer timer;
  std::vector<int> host = to_host_vector<int>(part);
  for (std::size_t i = 0; i < host.size(); ++i)
    if (host[i] < 0)
      throw InputError("partition: row " + std::to_string(i + 1) + " is in part " + std::to_string(host[i]) +
                           "; parts are numbered from 0",
                       static_cast<std::int64_t>(i));
  // Numbers up to 2^31 need no array of that size: the numbers' order is kept.
  std::vector<int> numbers(host);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (int& p : host)
    p = static_cast<int>(std::lower_bound(numbers.begin(), numbers.end(), p) - numbers.begin());
  return grouped(space, std::move(host), timer);
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
