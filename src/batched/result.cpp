// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/result.hpp>

#include "core/instantiate.hpp"

#include <algorithm>
#include <sstream>

namespace prekond {
namespace {

void describe(std::ostringstream& text, const char* heading,
              const std::vector<BatchedSystemReport>& systems) {
  if (systems.empty()) return;
  text << heading;
  for (const auto& one : systems)
    text << "\n  system " << one.system << ": " << to_string(one.reason) << " after " << one.iterations
         << " iterations, ||b - A x|| / ||b|| = " << one.relative_residual;
  text << '\n';
}

/// The `named` systems with the most iterations.
std::vector<BatchedSystemReport> slowest_of(std::vector<BatchedSystemReport> systems, int named) {
  const auto count = std::min<std::size_t>(systems.size(), static_cast<std::size_t>(named));
  std::partial_sort(systems.begin(), systems.begin() + static_cast<std::ptrdiff_t>(count), systems.end(),
                    [](const BatchedSystemReport& a, const BatchedSystemReport& b) {
                      return a.iterations != b.iterations ? a.iterations > b.iterations : a.system < b.system;
                    });
  systems.resize(count);
  return systems;
}

/// The least number that `quarters` quarters of the sorted numbers do not exceed
int quartile(const std::vector<int>& sorted, std::size_t quarters) {
  return sorted.empty() ? 0 : sorted[(quarters * sorted.size() + 3) / 4 - 1];
}

std::vector<BatchedBin> histogram_of(const std::vector<int>& sorted) {
  constexpr std::int64_t most_bins = 16;
  std::vector<BatchedBin> bins;
  if (sorted.empty()) return bins;
  const std::int64_t least = sorted.front(), most = sorted.back();
  const std::int64_t width = (most - least) / most_bins + 1;
  for (std::int64_t first = least; first <= most; first += width)
    bins.push_back({static_cast<int>(first), static_cast<int>(std::min(first + width - 1, most)), 0});
  for (const int k : sorted) ++bins[static_cast<std::size_t>((k - least) / width)].systems;
  return bins;
}

}  // namespace

std::string BatchedReport::text() const {
  std::ostringstream text;
  text << num_converged << " of " << num_systems << " systems converged\n"
       << "iterations: " << min_iterations << " to " << max_iterations << ", " << mean_iterations
       << " on average; quartiles " << quartiles[0] << ", " << quartiles[1] << ", " << quartiles[2] << '\n';
  for (const auto& [reason, count] : reasons) text << to_string(reason) << ": " << count << '\n';
  if (replaced_pivots > 0)
    text << replaced_pivots << " pivots of " << systems_with_replaced_pivots
         << " preconditioners were zero, too small or not finite, and were replaced\n";
  if (unsettled_factors > 0)
    text << unsettled_factors
         << " systems met the bound of par_ilu's sweeps before their factors settled; raise the option "
            "sweeps\n";
  describe(text, "most iterations:", slowest);
  describe(text, "did not converge:", failures);
  return text.str();
}

template <class Space>
BatchedReport summarize(const Space& space, const BatchedResult<Space>& result, int named) {
  space.fence("prekond::batched::summarize");
  const Kokkos::HostSpace host;
  const auto iterations = Kokkos::create_mirror_view_and_copy(host, result.iterations);
  const auto relative = Kokkos::create_mirror_view_and_copy(host, result.relative_residual);
  const auto reasons = Kokkos::create_mirror_view_and_copy(host, result.reasons);
  const auto replaced = Kokkos::create_mirror_view_and_copy(host, result.replaced_pivots);
  const auto unsettled = Kokkos::create_mirror_view_and_copy(host, result.unsettled_factors);
  BatchedReport report;
  report.num_systems = result.num_systems();
  std::vector<BatchedSystemReport> systems;
  systems.reserve(static_cast<std::size_t>(report.num_systems));
  double sum = 0;
  for (std::int64_t s = 0; s < report.num_systems; ++s) {
    const BatchedSystemReport one{s, iterations(s), relative(s), reasons(s)};
    systems.push_back(one);
    report.min_iterations = s == 0 ? one.iterations : std::min(report.min_iterations, one.iterations);
    report.max_iterations = std::max(report.max_iterations, one.iterations);
    sum += one.iterations;
    ++report.reasons[one.reason];
    report.num_converged += converged(one.reason);
    report.systems_with_replaced_pivots += replaced(s) > 0;
    report.replaced_pivots += replaced(s);
    report.unsettled_factors += unsettled(s);
    if (!converged(one.reason) && static_cast<int>(report.failures.size()) < named)
      report.failures.push_back(one);
  }
  if (report.num_systems > 0) report.mean_iterations = sum / static_cast<double>(report.num_systems);
  std::vector<int> sorted(iterations.data(), iterations.data() + iterations.extent(0));
  std::sort(sorted.begin(), sorted.end());
  report.quartiles = {quartile(sorted, 1), quartile(sorted, 2), quartile(sorted, 3)};
  report.histogram = histogram_of(sorted);
  report.slowest = slowest_of(std::move(systems), named);
  return report;
}

#define PREKOND_BATCHED_SUMMARIZE(Space) \
  template BatchedReport summarize<Space>(const Space&, const BatchedResult<Space>&, int);
PREKOND_INSTANTIATE_SPACES(PREKOND_BATCHED_SUMMARIZE)

}  // namespace prekond
