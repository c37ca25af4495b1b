// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A Matrix Market file read by all processes.
#include <prekond/matrix/csr_matrix.hpp>

#include <string>

#include "processes.hpp"

namespace prekond::driver {

/// A process's rows on the host. Columns are those of the whole matrix, ascending.
using HostRows = CsrMatrix<double, int, std::size_t, Kokkos::HostSpace>;

template <class T>
using HostVector = HostRows::view<T>;

template <class T>
HostVector<T> host_vector(const std::string& label, std::int64_t size) {
  return HostVector<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), size);
}

/// All processes: the block of rows that RowPartition gives each, with the bits that one process reads.
///
/// Each parses its share of the lines (see io/matrix_market_share.hpp) and sends the entries to the processes
/// that their rows belong to, the mirrored ones of symmetric storage as well: a block of lines a message, so
/// that what is on its way is small. No process holds the whole matrix.
///
/// `num_rows`: of the whole matrix. \throws Failure, on all processes the same: the first error of the file,
/// with its line
HostRows read_rows(const Processes& processes, const std::string& path, std::int64_t& num_rows);

}  // namespace prekond::driver
