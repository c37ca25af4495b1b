// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A Matrix Market file read by several processes, each its share of the lines. An error may depend on the
/// lines of other shares, so that the processes tell each other the facts of their sections: this is what
/// each process does between the messages.
///
/// A process reads its share, all exchange the facts of their sections, each checks its share by them, and
/// the first error of all ends the reading. Otherwise the entries go to the processes that have their rows,
/// in the order of the sections, and each process assembles its rows. The result has the bits of
/// read_matrix_market.
#include <prekond/matrix/csr_matrix.hpp>

#include "matrix_market_parser.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prekond::impl {

/// The first of several errors is the one with the smallest `line`; the errors of the file as a whole come
/// after those of a line.
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
  std::vector<MarketSection<Scalar>> sections;  ///< ascending
  std::optional<MarketError> error;             ///< of the text: it is not read to its end

  /// Entries that are kept.
  std::int64_t num_entries() const {
    std::int64_t sum = 0;
    for (const auto& section : sections) sum += num_entries_of(section.pieces);
    return sum;
  }
  /// Their memory.
  std::int64_t entry_bytes() const {
    return num_entries() * static_cast<std::int64_t>(sizeof(MarketEntry<Scalar>));
  }
};

constexpr std::size_t share_block_size = std::size_t(4) << 20;

/// The share `part` of `num_parts`. In a plain file it is a range of bytes, with the lines that begin in it.
/// A gzip file is inflated by each process, since all would wait for a single one as long; each parses every
/// num_parts-th block of lines, and counts the lines of the others.
///
/// \throws InputError for a file that cannot be opened or whose header is wrong; a later error is kept in the
/// share
template <class Scalar>
MarketShare<Scalar> read_market_share(const std::string& path, int part, int num_parts,
                                      std::size_t block_size = share_block_size);

/// The first error of the share, `all` being the facts of all shares' sections in ascending order. Where no
/// share has one, the values of an array are where they belong afterwards.
template <class Scalar>
std::optional<MarketError> check_market_share(MarketShare<Scalar>& share,
                                              std::span<const MarketSectionFacts> all);

/// Are the entries of all shares too few for the rows that the header announces? Memory is spent by the
/// length of the text, so that a size line makes nobody allocate. `num_entries` and `entry_bytes` are sums
/// over the shares. \pre check_market_share found no error in any share
template <class Scalar>
std::optional<MarketError> check_market_budget(const MarketShare<Scalar>& share,
                                               std::span<const MarketSectionFacts> all,
                                               std::int64_t num_entries, std::int64_t entry_bytes);

/// The rows [first_row, first_row + num_rows) from their entries in the order of the file, mirrored ones
/// included, which count rows from 0 in the whole matrix. Sorted, duplicates summed.
/// \throws InputError as read_matrix_market for a sum that is too large
template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> assemble_market_rows(const std::string& path,
                                                                            const MarketHeader& header,
                                                                            std::int64_t first_row,
                                                                            std::int64_t num_rows,
                                                                            MarketPieces<Scalar>&& entries);

}  // namespace prekond::impl
