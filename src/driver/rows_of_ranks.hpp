// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A problem whose rows several processes have; only in builds with MPI.
#include <prekond/core/report.hpp>

#include <vector>

#include "partition.hpp"
#include "problem.hpp"

namespace prekond::driver {

using HostRows = CsrMatrix<double, int, std::size_t, Kokkos::HostSpace>;

/// A process's rows on the host, and their numbers in the whole matrix. Both the numbers and the columns,
/// which are those of the whole matrix, ascend. Before they are distributed each process has a block of
/// consecutive rows, in the order of the ranks.
struct NumberedRows {
  std::vector<int> numbers;
  HostRows rows;
};

/// Rows from `first` on.
NumberedRows block_of_rows(std::int64_t first, HostRows rows);

/// Collective. The block of rows that RowPartition gives each process, of a Matrix Market file, with the bits
/// that one process reads.
///
/// Each parses its share of the lines (see io/matrix_market_share.hpp) and sends the entries to the processes
/// that have their rows, the mirrored ones of symmetric storage as well: a block of lines a message, so that
/// little memory is under way. No process holds the whole matrix. \throws Failure, on all processes the same:
/// the first error of the file, with its line
NumberedRows read_rows(const Processes& processes, const std::string& path);

/// Collective, the same on all: symmetry_of for the whole matrix. Each entry goes to the process that has its
/// mirror, and costs a binary search there; the entries of `rows_at_a_time` rows of each process are under
/// way at a time. \pre the blocks are those of a RowPartition
SymmetryFacts symmetry_of_ranks(const Processes& processes, const NumberedRows& block,
                                std::int64_t rows_at_a_time = 1 << 15);

/// Collective. The process that each row goes to, on all; empty where all rows stay. For METIS rank 0 gathers
/// the pattern of the whole matrix and finds parts of A + A^T with as many rows, within 3 %, and few entries
/// between them.
std::vector<int> find_parts(const Processes& processes, const PartitionChoice& choice,
                            const NumberedRows& block);

/// Collective. Sends the rows to the processes that `parts` names; without parts they stay.
NumberedRows send_rows(const Processes& processes, const std::vector<int>& parts, NumberedRows block);

/// Collective. The problem's matrix of the blocks, sent to where the partition has them. Rows keep their
/// numbers, so that what depends on their order is that of one process. `with_sums`: b = A 1.
///
/// \throws InputError for more rows than a global index can count
void distribute(const Space& space, const Processes& processes, const PartitionChoice& choice,
                NumberedRows block, bool with_sums, Problem<double>& problem);

/// Collective. Reads or makes the problem and hands its rows out. Where the rows are neither matched nor
/// ordered, and all see the file, or the generator makes rows one at a time, no process holds the whole
/// matrix; else rank 0 does. Vectors of files are read by rank 0.
void make_rows_of_ranks(const Context& context, const MethodNeeds& needs, MatrixInput& input,
                        Problem<double>& problem);

/// Collective. One report of all processes' setups: sums, the first row that broke down counted in all rows,
/// and what the setups left out because it couples two processes' rows.
Report report_of_all(const Problem<double>& problem, const Report& own);

}  // namespace prekond::driver
