// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Lists on the host, which mostly ascend, or are some that ascend one after the other.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace prekond::impl {

/// The places of the keys in ascending order; those of equal keys in the list's.
/// Cost: n for a list that ascends, n log k for k ascending ones.
template <class Key>
std::vector<int> ascending_places(const std::vector<Key>& keys) {
  std::vector<int> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<std::ptrdiff_t> runs(1, 0);  // where the ascending parts begin, and the end
  for (std::size_t k = 1; k < keys.size(); ++k)
    if (keys[k] < keys[k - 1]) runs.push_back(static_cast<std::ptrdiff_t>(k));
  runs.push_back(static_cast<std::ptrdiff_t>(keys.size()));
  const auto first = places.begin();
  while (runs.size() > 2) {
    std::vector<std::ptrdiff_t> merged(1, 0);
    for (std::size_t r = 1; r < runs.size(); r += 2) {
      const std::size_t next = std::min(r + 1, runs.size() - 1);
      std::inplace_merge(first + runs[r - 1], first + runs[r], first + runs[next],
                         [&](int s, int t) { return keys[s] < keys[t]; });
      merged.push_back(runs[next]);
    }
    runs = std::move(merged);
  }
  return places;
}

/// A number that stands in the list twice.
template <class Number>
std::optional<Number> number_twice(const std::vector<Number>& numbers) {
  if (std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end()) return {};
  auto sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() ? std::optional<Number>() : *twice;
}

}  // namespace prekond::impl
