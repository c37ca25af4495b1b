// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace prekond::perf {

/// A rank's consecutive rows of a matrix, in the columns of the whole.
struct RowsOfRank {
  GeneratedMatrix<double, Kokkos::DefaultHostExecutionSpace> rows;
  std::int64_t first = 0, num_global_rows = 0;
  int block_size = 1;  ///< rows of a node, which one rank has
  std::int64_t num_rows() const { return rows.num_rows; }
};

/// The rows that one of `size` ranks has of MATRIX[@B], a generated matrix or FILE.mtx[.gz]: nodes of B rows
/// (3 of elasticity3d, else 1), split evenly. A rank makes its own rows, where the generator can.
inline RowsOfRank rows_of_rank(const std::string& spec, int rank, int size) {
  const Kokkos::DefaultHostExecutionSpace space;
  const auto at = spec.rfind('@');
  const std::string matrix = spec.substr(0, at);
  RowsOfRank result;
  if (at != std::string::npos)
    result.block_size = std::stoi(spec.substr(at + 1));
  else if (matrix.starts_with("elasticity3d"))
    result.block_size = 3;
  if (matrix.starts_with("elasticity3d") && result.block_size % 3 != 0)
    throw InputError("nodes of elasticity3d have 3 rows");
  const auto choose = [&](std::int64_t num_rows) {
    const std::int64_t b = result.block_size, nodes = num_rows / b;
    if (nodes * b != num_rows)
      throw InputError(std::to_string(num_rows) + " rows are no nodes of " + std::to_string(b));
    result.num_global_rows = num_rows;
    result.first = nodes * rank / size * b;
    return RowRange{result.first, nodes * (rank + 1) / size * b};
  };
  const bool is_file = matrix.find(".mtx") != std::string::npos;
  if (!is_file && generates_rows(matrix)) {
    result.rows = generate_rows<double>(space, matrix, choose);
    return result;
  }
  const GeneratedMatrix<double, Kokkos::DefaultHostExecutionSpace> whole =
      is_file ? read_matrix_market<double>(matrix) : generate<double>(space, matrix);
  const RowRange range = choose(whole.num_rows);
  const auto n = range.end - range.begin;
  const std::size_t begin = whole.row_ptrs(range.begin), end = whole.row_ptrs(range.end);
  const Vector<std::size_t, Kokkos::HostSpace> row_ptrs("prekond::perf::row_ptrs", n + 1);
  for (std::int64_t i = 0; i <= n; ++i) row_ptrs(i) = whole.row_ptrs(range.begin + i) - begin;
  const auto entries = std::make_pair(begin, end);
  result.rows = {n, whole.num_cols, row_ptrs, Kokkos::subview(whole.col_idxs, entries),
                 Kokkos::subview(whole.values, entries)};
  return result;
}

/// Where node k of elasticity3d:EDGE stands: x is the fastest, and nodes with z = 0 are eliminated.
inline std::array<double, 3> coordinates_of_elasticity(const std::string& spec, std::int64_t k) {
  const std::int64_t edge = std::stoll(spec.substr(spec.find(':') + 1));
  return {double(k % edge), double(k / edge % edge), double(k / edge / edge + 1)};
}

}  // namespace prekond::perf
