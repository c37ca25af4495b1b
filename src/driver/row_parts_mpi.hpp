// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows that go to the processes that a partition gives them to.
#include "market_rows.hpp"
#include "partition_choice.hpp"

#include <vector>

namespace prekond::driver {

/// A process's rows, and which ones of the whole matrix they are: ascending.
struct NumberedRows {
  std::vector<int> numbers;
  HostRows rows;
};

/// All: the process that each row of the whole matrix goes to, on all; empty where each keeps its block of a
/// RowPartition. For METIS the pattern of the whole matrix is gathered on rank 0, which finds the parts of A
/// + A^T with as many rows, within 3 %, and few entries between them. For Zoltan see parts_by_zoltan.
std::vector<int> find_parts(const Processes& processes, const PartitionChoice& choice, const HostRows& block);

/// All: sends the block's rows to the processes that `parts` names; without parts they stay.
NumberedRows send_rows(const Processes& processes, const std::vector<int>& parts, HostRows block);

}  // namespace prekond::driver
