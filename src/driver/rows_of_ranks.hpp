// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A problem whose rows several processes have; only in builds with MPI.
#include <prekond/core/report.hpp>

#include "problem.hpp"

namespace prekond::driver {

/// A process's rows on the host. Columns are those of the whole matrix, ascending.
using HostRows = CsrMatrix<double, int, std::size_t, Kokkos::HostSpace>;

/// A block of consecutive rows of each process, in the order of the ranks.
struct RowBlock {
  HostRows rows;
  std::int64_t first_row = 0;
};

/// Collective, the same on all: can each read its part of the matrix, or make it? Not where it is matched or
/// put in order, nor where it is no file that all see, such as a pipe, or its generator makes all rows at
/// once.
bool can_read_rows(const Processes& processes, const Settings& settings, const MethodNeeds& needs);

/// Collective. The block of rows that RowPartition gives each process, of a Matrix Market file, with the bits
/// that one process reads.
///
/// Each parses its share of the lines (see io/matrix_market_share.hpp) and sends the entries to the processes
/// that have their rows, the mirrored ones of symmetric storage as well: a block of lines a message, so that
/// little memory is under way. No process holds the whole matrix.
///
/// `num_rows`: of the whole matrix. \throws Failure, on all processes the same: the first error of the file,
/// with its line
RowBlock read_rows(const Processes& processes, const std::string& path, std::int64_t& num_rows);

struct SymmetryFacts {
  bool symmetric = false;  ///< as MatrixStatistics::symmetric_values
  std::string not_spd;     ///< the message of check_spd_input for the whole matrix; empty: none
};

/// Collective, the same on all. Each entry goes to the process that has its mirror, and costs a binary search
/// there; the entries of `rows_at_a_time` rows of each process are under way at a time. \pre the blocks are
/// those of a RowPartition
SymmetryFacts symmetry_of_ranks(const Processes& processes, const RowBlock& block,
                                std::int64_t rows_at_a_time = 1 << 15);

/// Collective. The process that each row goes to, on all; empty where all rows stay. For METIS rank 0 gathers
/// the pattern of the whole matrix and finds parts of A + A^T with as many rows, within 3 %, and few entries
/// between them.
std::vector<int> find_parts(const Processes& processes, const PartitionChoice& choice, const RowBlock& block);

/// A process's rows, and their numbers in the whole matrix: ascending.
struct NumberedRows {
  std::vector<int> numbers;
  HostRows rows;
};

/// Collective. Sends the rows to the processes that `parts` names; without parts they stay.
NumberedRows send_rows(const Processes& processes, const std::vector<int>& parts, RowBlock block);

/// Collective. The problem's matrix of the blocks, sent to where the partition has them. Rows keep their
/// numbers, so that what depends on their order is that of one process. `with_sums`: b = A 1.
///
/// \throws InputError for more rows than a global index can count
void distribute(const Space& space, const Processes& processes, const PartitionChoice& choice, RowBlock block,
                bool with_sums, Problem<double>& problem);

/// Collective. Distributes problem.whole, which rank 0 has.
void distribute_whole(const Space& space, const Processes& processes, const PartitionChoice& choice,
                      Problem<double>& problem);

/// Collective. Reads or makes the rows on all processes, none of which holds the whole matrix, and the
/// vectors b and x0, which rank 0 reads where they are files.
void make_of_rows(const Space& space, const Processes& processes, const Settings& settings,
                  const MethodNeeds& needs, Progress& progress, Problem<double>& problem);

/// Collective. One report of all processes' setups: sums, the first row that broke down counted in all rows,
/// and what the setups left out because it couples two processes' rows.
Report report_of_all(const Processes& processes, const Problem<double>& problem, const Report& own);

}  // namespace prekond::driver
