// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "partition.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/pattern/partition.hpp>

#include "text.hpp"

namespace prekond::driver {

Json distribution_facts(const Processes& processes, const std::string& partition, const PartFacts& own) {
  const auto most = [&](std::int64_t value) { return -processes.min(-value); };
  return {{"ranks", processes.size()},
          {"partition", partition},
          {"read_by", "rank 0"},
          {"cut_entries", processes.sum(own.cut_entries)},
          {"exchanged_entries", processes.sum(own.exchanged_entries)},
          {"most_entries", most(own.entries)},
          {"most_rows", most(own.rows)},
          {"fewest_rows", processes.min(own.rows)},
          {"most_neighbors", most(own.neighbors)},
          {"seconds", processes.max(own.seconds)}};
}

void check_partition(const Settings& settings) {
  if (settings.partition == "metis" && !has_metis())
    settings.refuse("partition",
                    "--partition metis needs METIS (Debian: libmetis-dev), which this build does not have; "
                    "install it and configure once more, or take another partition");
}

std::vector<int> read_parts(const std::string& path, std::int64_t num_rows, int ranks) {
  const auto numbers = read_vector_market<double>(path, num_rows);
  std::vector<int> parts(numbers.extent(0));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_rank = numbers(i) >= 0 && numbers(i) < ranks;
    if (is_rank) parts[i] = static_cast<int>(numbers(i));
    if (!is_rank || parts[i] != numbers(i))
      throw InputError(text_of(path, ": row ", i + 1, " is in part ", numbers(i),
                               "; parts are the ranks, whole numbers from 0 to ", ranks - 1),
                       static_cast<std::int64_t>(i));
  }
  return parts;
}

}  // namespace prekond::driver
