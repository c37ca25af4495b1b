// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --partition: which process has which rows.
#include <cstdint>
#include <string>
#include <vector>

#include "processes.hpp"
#include "settings.hpp"
#include "text.hpp"

namespace prekond::driver {

/// The user's choice.
struct PartitionChoice {
  std::string name = "rows";  ///< or "metis", or a file's path
  std::vector<int> parts;     ///< of a file: each row's, in the order of the problem; on rank 0

  bool by_rows() const { return name == "rows"; }
  bool by_metis() const { return name == "metis"; }
  bool by_file() const { return !by_rows() && !by_metis(); }
};

/// A process's part of the matrix.
struct PartFacts {
  std::int64_t rows = 0;
  std::int64_t entries = 0;
  std::int64_t cut_entries = 0;        ///< whose column is another process's row
  std::int64_t exchanged_entries = 0;  ///< of a vector in a product, which this process gets
  std::int64_t neighbors = 0;          ///< processes that have columns of its rows
  double seconds = 0;                  ///< to find the parts and to send the rows there
};

/// Collective. The report's `distribution`: sums and extremes of all processes.
Json distribution_facts(const Processes& processes, const std::string& partition, const PartFacts& own);

/// \throws OptionError for METIS where the build has none
void check_partition(const Settings& settings);

/// The parts of a vector file of `num_rows` numbers, from 0. \throws InputError for a number that is no rank
std::vector<int> read_parts(const std::string& path, std::int64_t num_rows, int ranks);

}  // namespace prekond::driver
