// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/unknowns_per_node.hpp>

#include "instantiate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace prekond {
namespace {

struct UnknownsTuning {
  static constexpr int most = 8;
  static constexpr std::int64_t window = 840;  ///< every d up to 8 divides it
  static constexpr std::int64_t windows = 8;
  static constexpr std::size_t entries = 256;  ///< of a row, that are compared
  static constexpr double least_within = 0.5;
  static constexpr double most_between = 0.6;  ///< of that
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
  KOKKOS_FUNCTION std::size_t end_of(std::int64_t i) const {
    const std::size_t end = pattern.row_ptrs(i + 1), most = pattern.row_ptrs(i) + UnknownsTuning::entries;
    return end < most ? end : most;
  }
  KOKKOS_FUNCTION double compare(std::int64_t i, std::int64_t j) const {
    std::size_t k = pattern.row_ptrs(i), l = pattern.row_ptrs(j);
    const std::size_t end_k = end_of(i), end_l = end_of(j);
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
  int found = 1;
  double least = UnknownsTuning::most_between;
  for (int d = 2; d <= UnknownsTuning::most; ++d) {
    if (pattern.num_rows % d != 0 || pattern.num_rows == d) continue;
    const double ratio = ratio_of(host, sample.size(), d);
    if (ratio > least || (found > 1 && ratio == least)) continue;
    found = d;
    least = ratio;
  }
  return found;
}

#define PREKOND_FIND_UNKNOWNS_PER_NODE(Space) \
  template int find_unknowns_per_node<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_FIND_UNKNOWNS_PER_NODE)

}  // namespace prekond
