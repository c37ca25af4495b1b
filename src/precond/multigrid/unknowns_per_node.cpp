// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/unknowns_per_node.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace prekond {
namespace {

struct UnknownsTuning {
  static constexpr int most = 8;
  static constexpr std::int64_t window = 840;  ///< every d up to 8 divides it
  static constexpr std::int64_t windows = 8;
  static constexpr std::size_t entries = 256;   ///< of a row, that are compared
  static constexpr double least_within = 0.55;  ///< rows of 9- and 27-point stencils have 1/2
  static constexpr double most_between = 0.6;   ///< of that
  static constexpr double least_fill = 0.68;    ///< of the blocks
};

/// The rows that are looked at: all of a small matrix, else windows.
struct Sample {
  std::int64_t num_rows;

  KOKKOS_FUNCTION bool has_all() const {
    return num_rows <= UnknownsTuning::windows * UnknownsTuning::window;
  }
  KOKKOS_FUNCTION std::int64_t size() const {
    return has_all() ? num_rows : UnknownsTuning::windows * UnknownsTuning::window;
  }
  /// Modulo every d that of k.
  KOKKOS_FUNCTION std::int64_t row(std::int64_t k) const {
    if (has_all()) return k;
    const std::int64_t last = num_rows / UnknownsTuning::window - 1, w = k / UnknownsTuning::window;
    return w * last / (UnknownsTuning::windows - 1) * UnknownsTuning::window + k % UnknownsTuning::window;
  }
};

/// A row's entries that are looked at end here.
template <class Space>
KOKKOS_FUNCTION std::size_t end_of(const CsrGraphView<Space>& pattern, std::int64_t i) {
  const std::size_t end = pattern.row_ptrs(i + 1), most = pattern.row_ptrs(i) + UnknownsTuning::entries;
  return end < most ? end : most;
}

/// s_i.
template <class Space>
struct CompareNeighbours {
  CsrGraphView<Space> pattern;
  Sample sample;
  VectorView<double, Space> similarity;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const std::int64_t i = sample.row(k);
    similarity(k) = i == 0 ? 0 : compare(i - 1, i);
  }
  KOKKOS_FUNCTION double compare(std::int64_t i, std::int64_t j) const {
    std::size_t k = pattern.row_ptrs(i), l = pattern.row_ptrs(j);
    const std::size_t end_k = end_of(pattern, i), end_l = end_of(pattern, j);
    const std::size_t all = end_k - k + end_l - l;
    std::size_t both = 0;
    while (k < end_k && l < end_l) {
      const int a = pattern.col_idxs(k), b = pattern.col_idxs(l);
      both += a == b;
      k += a <= b;
      l += b <= a;
    }
    return all > both ? double(both) / double(all - both) : 0;
  }
};

/// The entries of a sampled node's rows, and the places of the blocks that they are in.
template <class Space>
struct CountBlocks {
  CsrGraphView<Space> pattern;
  Sample sample;
  int d;

  KOKKOS_FUNCTION void operator()(std::int64_t node, std::int64_t& entries, std::int64_t& places) const {
    const std::int64_t first = sample.row(node * d);
    for (std::int64_t i = first; i < first + d; ++i) {
      int before = -1;
      const std::size_t end = end_of(pattern, i);
      for (std::size_t k = pattern.row_ptrs(i); k < end; ++k) {
        const int block = pattern.col_idxs(k) / d;
        ++entries;
        if (block != before && !is_above(first, i, block)) places += d * d;
        before = block;
      }
    }
  }
  KOKKOS_FUNCTION bool is_above(std::int64_t first, std::int64_t i, int block) const {
    for (std::int64_t j = first; j < i; ++j) {
      const std::size_t place = pattern.first_from(j, std::int64_t(block) * d);
      if (place < end_of(pattern, j) && pattern.col_idxs(place) / d == block) return true;
    }
    return false;
  }
};

template <class Space>
bool fills_blocks(const Space& space, const CsrGraphView<Space>& pattern, const Sample& sample, int d) {
  std::int64_t entries = 0, places = 0;
  Kokkos::parallel_reduce(
      "prekond::find_unknowns_per_node::blocks",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, sample.size() / d),
      CountBlocks<Space>{pattern, sample, d}, entries, places);
  return double(entries) >= UnknownsTuning::least_fill * double(places);
}

/// m_0 over the least of the others; above the limit for no node's size.
template <class Similarity>
double ratio_of(const Similarity& similarity, std::int64_t rows, int d) {
  std::array<double, UnknownsTuning::most> sum{};
  std::array<std::int64_t, UnknownsTuning::most> count{};
  for (std::int64_t k = 1; k < rows; ++k) {
    sum[k % d] += similarity(k);
    ++count[k % d];
  }
  const auto mean = [&](int r) { return sum[r] / double(std::max<std::int64_t>(1, count[r])); };
  double within = 1;
  for (int r = 1; r < d; ++r) within = std::min(within, mean(r));
  return within >= UnknownsTuning::least_within ? mean(0) / within : 1;
}

}  // namespace

std::vector<std::int64_t> rows_that_show_unknowns(std::int64_t num_rows) {
  const Sample sample{num_rows};
  std::vector<std::int64_t> rows(static_cast<std::size_t>(sample.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = sample.row(static_cast<std::int64_t>(k));
  return rows;
}

template <class Space>
int find_unknowns_per_node(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern) {
  const Sample sample{pattern.num_rows};
  const auto similarity =
      allocate<Vector<double, Space>>(space, "prekond::find_unknowns_per_node", sample.size());
  Kokkos::parallel_for("prekond::find_unknowns_per_node",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, sample.size()),
                       CompareNeighbours<Space>{pattern, sample, similarity});
  const auto host = Kokkos::create_mirror(Kokkos::HostSpace{}, similarity);
  Kokkos::deep_copy(space, host, similarity);
  space.fence("prekond::find_unknowns_per_node");
  std::vector<std::pair<double, int>> sizes;  // by their ratios
  for (int d = 2; d <= UnknownsTuning::most; ++d) {
    if (pattern.num_rows % d != 0 || pattern.num_rows == d) continue;
    const double ratio = ratio_of(host, sample.size(), d);
    if (ratio <= UnknownsTuning::most_between) sizes.emplace_back(ratio, d);
  }
  std::sort(sizes.begin(), sizes.end());
  for (const auto& [ratio, d] : sizes)
    if (fills_blocks<Space>(space, pattern, sample, d)) return d;
  return 1;
}

#define PREKOND_FIND_UNKNOWNS_PER_NODE(Space) \
  template int find_unknowns_per_node<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_FIND_UNKNOWNS_PER_NODE)

}  // namespace prekond
