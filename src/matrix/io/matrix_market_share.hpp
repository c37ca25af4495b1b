// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A Matrix Market file read by several processes, each its share of the lines. What is wrong in the whole
/// file becomes known when all have told each other of their sections: this is what each does between the
/// messages.
///
/// A process reads its share, all exchange the facts of their sections, each checks its share in their light,
/// the first error of all ends the reading; else entries go to whom their rows belong to, in the order of the
/// sections, and each process assembles its rows. The result has the bits of read_matrix_market.
#include <prekond/matrix/csr_matrix.hpp>

#include "matrix/io/matrix_market_piece.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prekond::impl {

/// What the others have to know of consecutive lines that one process has parsed.
struct MarketSectionFacts {
  std::int64_t number = 0;     ///< ascends through the file, over all shares
  std::int64_t num_bytes = 0;  ///< of the text
  std::int64_t num_lines = 0;
  std::int64_t num_data_lines = 0;  ///< entries
  std::int64_t first_lower = -1;    ///< the first data line with an entry below the diagonal, from 0
  std::int64_t first_upper = -1;    ///< above it
};

template <class Scalar>
struct MarketSection {
  MarketSectionFacts facts;
  std::vector<std::vector<MarketEntry<Scalar>>> pieces;  ///< in the order of the file
  std::vector<std::int64_t> lines_without_data;          ///< from 0
  std::string error;                                     ///< of a line, the last that was read; empty: none
  std::int64_t error_line = 0;
  bool error_in_entry = false;
};

/// The first of several errors is the one with the smallest `line`, behind which stand those of the file as
/// a whole.
struct MarketError {
  static constexpr std::int64_t of_text = std::numeric_limits<std::int64_t>::max() - 3;
  static constexpr std::int64_t of_count = of_text + 1;
  static constexpr std::int64_t of_assembly = of_text + 2;
  std::int64_t line = 0;
  std::string text;  ///< with the path, and the line where it is one
};

template <class Scalar>
struct MarketShare {
  std::string path;
  MarketHeader header;
  std::int64_t header_bytes = 0;
  std::vector<MarketSection<Scalar>> sections;  ///< ascending
  std::optional<MarketError> error;             ///< of the text: it is not read to its end

  std::int64_t num_entries() const;  ///< that are kept
  std::int64_t entry_bytes() const;  ///< their memory
};

constexpr std::size_t share_block_size = std::size_t(4) << 20;

/// Share `part` of `num_parts`. Of a plain file these are consecutive bytes, cut at line ends. A gzip file is
/// inflated by each process, which is what all would wait for if one did it, and costs no messages; of its
/// blocks of lines every num_parts-th one is parsed, and in the others lines are counted.
///
/// \throws InputError for a file that cannot be opened or whose header is wrong; what is wrong behind it is
/// kept in the share
template <class Scalar>
MarketShare<Scalar> read_market_share(const std::string& path, int part, int num_parts,
                                      std::size_t block_size = share_block_size);

/// The first error of the share, `all` being the facts of all shares' sections in ascending order. Where no
/// share has one, the values of an array are where they belong afterwards.
template <class Scalar>
std::optional<MarketError> check_market_share(MarketShare<Scalar>& share,
                                              std::span<const MarketSectionFacts> all);

/// Are the entries of all shares too few for the rows that the header announces? The last two are sums over
/// the shares.
template <class Scalar>
std::optional<MarketError> check_market_budget(const MarketShare<Scalar>& share,
                                               std::span<const MarketSectionFacts> all,
                                               std::int64_t num_entries, std::int64_t entry_bytes);

/// The rows [first_row, first_row + num_rows) from their entries in the order of the file, mirrored ones
/// included, which counts rows from 0 in the whole matrix. Sorted, duplicates summed.
/// \throws InputError as read_matrix_market for a sum that is too large; its `row()` is that in the matrix
template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> assemble_market_rows(
    const std::string& path, const MarketHeader& header, std::int64_t first_row, std::int64_t num_rows,
    std::vector<std::vector<MarketEntry<Scalar>>>&& entries);

}  // namespace prekond::impl
