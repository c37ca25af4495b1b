// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "partition_choice.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/pattern/partition.hpp>

#include "table.hpp"
#include "zoltan_parts.hpp"

namespace prekond::driver {

void check_partition(const std::string& name) {
  if (name == "rows") return;
  if (name == "metis" && !has_metis())
    throw OptionError(
        "--partition metis needs METIS (Debian: libmetis-dev), which this build does not have; install it "
        "and "
        "configure once more, or take another partition");
  if (name == "zoltan" && !has_zoltan())
    throw OptionError(
        "--partition zoltan needs MPI and Zoltan of Trilinos (Debian: libtrilinos-zoltan-dev), which this "
        "build does not have; install them and configure once more, or take another partition");
  if (name != "metis" && name != "zoltan" && name.find_first_of("./") == std::string::npos)
    throw OptionError("--partition takes rows, metis, zoltan or a FILE.mtx, not '" + name + "'");
}

std::vector<int> read_parts(const std::string& path, std::int64_t num_rows, int ranks) {
  const auto numbers = read_vector_market<double>(path, num_rows);
  std::vector<int> parts(numbers.extent(0));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_rank = numbers(i) >= 0 && numbers(i) < ranks;
    if (is_rank) parts[i] = static_cast<int>(numbers(i));
    if (!is_rank || parts[i] != numbers(i))
      throw InputError(path + ": row " + std::to_string(i + 1) + " is in part " + format("%g", numbers(i)) +
                           "; parts are the ranks, whole numbers from 0 to " + std::to_string(ranks - 1),
                       static_cast<std::int64_t>(i));
  }
  return parts;
}

std::string distribution_text(const DistributionFacts& facts) {
  return format(
      "%d ranks, %s: %lld entries cut, %lld vector entries exchanged, %lld to %lld rows a rank, at most %lld "
      "neighbours; read by %s",
      facts.ranks, facts.partition.c_str(), static_cast<long long>(facts.cut_entries),
      static_cast<long long>(facts.exchanged_entries), static_cast<long long>(facts.fewest_rows),
      static_cast<long long>(facts.most_rows), static_cast<long long>(facts.most_neighbors),
      facts.read_by_all ? "all" : "rank 0");
}

}  // namespace prekond::driver
