// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "partition.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/pattern/partition.hpp>

#include "text.hpp"

namespace prekond::driver {

void check_partition(const Settings& settings) {
  const PartitionChoice choice{settings.partition, {}};
  if (choice.by_metis() && !has_metis())
    settings.refuse("partition",
                    "--partition metis needs METIS (Debian: libmetis-dev), which this build does not have; "
                    "install it and configure once more, or take another partition");
  if (choice.by_file() && choice.name.find_first_of("./") == std::string::npos)
    settings.refuse("partition", "--partition takes rows, metis or a FILE.mtx, not '" + choice.name + "'");
}

std::vector<int> read_parts(const std::string& path, std::int64_t num_rows, int ranks) {
  const auto numbers = read_vector_market<double>(path, num_rows);
  std::vector<int> parts(numbers.extent(0));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_rank = numbers(i) >= 0 && numbers(i) < ranks;
    if (is_rank) parts[i] = static_cast<int>(numbers(i));
    if (!is_rank || parts[i] != numbers(i))
      throw InputError(concat(path, ": row ", i + 1, " is in part ", numbers(i),
                              "; parts are the ranks, whole numbers from 0 to ", ranks - 1),
                       static_cast<std::int64_t>(i));
  }
  return parts;
}

std::string distribution_text(const DistributionFacts& facts) {
  return concat(facts.ranks, " ranks, ", facts.partition, ": ", facts.cut_entries, " entries cut, ",
                facts.exchanged_entries, " vector entries exchanged, ", facts.fewest_rows, " to ",
                facts.most_rows, " rows a rank, at most ", facts.most_neighbors, " neighbours; read by ",
                facts.read_by_all ? "all" : "rank 0");
}

}  // namespace prekond::driver
