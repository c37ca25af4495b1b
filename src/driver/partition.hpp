// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --partition: which process has which rows.
#include <cstdint>
#include <string>
#include <vector>

#include "settings.hpp"

namespace prekond::driver {

/// The user's choice.
struct PartitionChoice {
  std::string name = "rows";  ///< or "metis", or a file's path
  std::vector<int> parts;     ///< of a file: each row's, in the order of the problem; on rank 0

  bool by_rows() const { return name == "rows"; }
  bool by_metis() const { return name == "metis"; }
  bool by_file() const { return !by_rows() && !by_metis(); }
};

/// The partition's effect, over all processes.
struct DistributionFacts {
  int ranks = 1;
  std::string partition = "rows";
  bool read_by_all = false;            ///< did each process read its part, or rank 0 all?
  std::int64_t cut_entries = 0;        ///< whose row and column are different processes'
  std::int64_t exchanged_entries = 0;  ///< of a vector in a product: one for each process that gets it
  std::int64_t most_entries = 0;       ///< of a process's rows
  std::int64_t most_rows = 0;          ///< of a process
  std::int64_t fewest_rows = 0;
  std::int64_t most_neighbors = 0;  ///< processes that have columns of one process's rows
  double seconds = 0;               ///< to find the parts and to send the rows there
};

/// \throws OptionError for a name that is none and looks like no file, and for METIS where the build has none
void check_partition(const Settings& settings);

/// The parts of a vector file of `num_rows` numbers, from 0. \throws InputError for a number that is no rank
std::vector<int> read_parts(const std::string& path, std::int64_t num_rows, int ranks);

/// "4 ranks, metis: 1234 entries cut, 600 vector entries exchanged, 480 to 520 rows a rank, at most 3
/// neighbours; read by all"
std::string distribution_text(const DistributionFacts& facts);

}  // namespace prekond::driver
