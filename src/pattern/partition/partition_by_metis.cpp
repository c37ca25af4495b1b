// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/partition.hpp>

#include "pattern/partition/host_partition.hpp"

#ifdef PREKOND_HAS_METIS
#include <metis.h>
#endif

#include <algorithm>
#include <limits>
#include <new>
#include <string>

namespace prekond {

#ifdef PREKOND_HAS_METIS

bool has_metis() {
  return true;
}

namespace {

constexpr idx_t seed = 1;  // any: what counts is that it stays the same
/// Parts up to which METIS's recursive bisection is better than its k-way partition, by its manual.
constexpr std::int64_t recursive = 8;
/// Parts that METIS makes at a time: its time grows with them.
constexpr std::int64_t at_once = 256;

/// A graph as METIS takes it.
struct Graph {
  std::vector<idx_t> ptrs{0};
  std::vector<idx_t> neighbours;
  std::int64_t num_rows() const { return static_cast<std::int64_t>(ptrs.size()) - 1; }
};

std::int64_t count_entries(const impl::HostGraph& graph) {
  std::int64_t entries = 0;
  for (std::int64_t i = 0; i < graph.num_rows; ++i)
    for (std::size_t k = graph.row_ptrs[i]; k < graph.row_ptrs[i + 1]; ++k) entries += graph.col_idxs[k] != i;
  return entries;
}

Graph copy(const impl::HostGraph& graph, std::int64_t entries) {
  Graph result;
  result.ptrs.reserve(static_cast<std::size_t>(graph.num_rows) + 1);
  result.neighbours.reserve(static_cast<std::size_t>(entries));
  for (std::int64_t i = 0; i < graph.num_rows; ++i) {
    for (std::size_t k = graph.row_ptrs[i]; k < graph.row_ptrs[i + 1]; ++k)
      if (graph.col_idxs[k] != i) result.neighbours.push_back(graph.col_idxs[k]);
    result.ptrs.push_back(static_cast<idx_t>(result.neighbours.size()));
  }
  return result;
}

/// Few parts, by one call.
std::vector<idx_t> call_metis(Graph& graph, std::int64_t num_parts) {
  const std::int64_t n = graph.num_rows();
  std::vector<idx_t> part(static_cast<std::size_t>(n), 0);
  if (num_parts == 1) return part;
  if (graph.neighbours.empty() || num_parts >= n) {  // on which METIS fails
    for (std::int64_t i = 0; i < n; ++i)
      part[static_cast<std::size_t>(i)] = static_cast<idx_t>(i * num_parts / n);
    return part;
  }
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  options[METIS_OPTION_NUMBERING] = 0;
  idx_t rows = static_cast<idx_t>(n), constraints = 1, cut = 0, parts = static_cast<idx_t>(num_parts);
  impl::check_memory_for_metis(sizeof(idx_t), graph.ptrs.size(), graph.neighbours.size());
  const std::lock_guard lock(impl::metis_mutex());
  const auto function = num_parts <= recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  const int status = function(&rows, &constraints, graph.ptrs.data(), graph.neighbours.data(), nullptr,
                              nullptr, nullptr, &parts, nullptr, nullptr, options, &cut, part.data());
  if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
  if (status != METIS_OK)
    throw InputError("partition: METIS failed with the number " + std::to_string(status) +
                     "; choose partition = bisection");
  return part;
}

/// The part of a graph on some of its vertices; `place` has room for all of its vertices' new numbers.
Graph part_of(const Graph& graph, const std::vector<idx_t>& vertices, const std::vector<idx_t>& group,
              idx_t own, const std::vector<idx_t>& place) {
  Graph result;
  for (const idx_t i : vertices) {
    for (idx_t k = graph.ptrs[i]; k < graph.ptrs[i + 1]; ++k)
      if (group[graph.neighbours[k]] == own) result.neighbours.push_back(place[graph.neighbours[k]]);
    result.ptrs.push_back(static_cast<idx_t>(result.neighbours.size()));
  }
  return result;
}

/// Many parts: groups of them first, each of which gets its share of the parts by its rows.
std::vector<idx_t> partition(Graph& graph, std::int64_t num_parts) {
  if (num_parts <= at_once) return call_metis(graph, num_parts);
  const std::int64_t n = graph.num_rows();
  const std::int64_t groups = std::min(at_once, (num_parts + recursive - 1) / recursive);
  const std::vector<idx_t> group = call_metis(graph, groups);
  std::vector<std::vector<idx_t>> vertices(static_cast<std::size_t>(groups));
  std::vector<idx_t> place(static_cast<std::size_t>(n)), result(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& own = vertices[static_cast<std::size_t>(group[static_cast<std::size_t>(i)])];
    place[static_cast<std::size_t>(i)] = static_cast<idx_t>(own.size());
    own.push_back(static_cast<idx_t>(i));
  }
  std::int64_t rows = 0, parts = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto& own = vertices[static_cast<std::size_t>(g)];
    if (own.empty()) continue;
    rows += static_cast<std::int64_t>(own.size());
    const std::int64_t share = std::max<std::int64_t>(1, rows * num_parts / n - parts);
    Graph inner = part_of(graph, own, group, static_cast<idx_t>(g), place);
    const std::vector<idx_t> numbers = partition(inner, share);
    for (std::size_t k = 0; k < own.size(); ++k)
      result[static_cast<std::size_t>(own[k])] = static_cast<idx_t>(parts) + numbers[k];
    parts += share;
  }
  return result;
}

}  // namespace

std::vector<int> impl::partition_by_metis(const HostGraph& graph, std::int64_t num_parts) {
  const std::int64_t entries = count_entries(graph);
  if (entries > static_cast<std::int64_t>(std::numeric_limits<idx_t>::max()))
    throw InputError("partition: the graph has " + std::to_string(entries) +
                     " entries, and this METIS counts in " + std::to_string(8 * sizeof(idx_t)) +
                     " bits; choose partition = bisection, or build with a METIS of 64 bits");
  Graph copied = copy(graph, entries);
  const std::vector<idx_t> part = partition(copied, num_parts);
  return {part.begin(), part.end()};
}

#else

bool has_metis() {
  return false;
}

std::vector<int> impl::partition_by_metis(const HostGraph&, std::int64_t) {
  throw InputError(
      "partition = metis: this library was built without METIS; choose bisection or auto, or build it where "
      "metis.h is found");
}

#endif

}  // namespace prekond
