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

constexpr std::size_t share_block_size = std::size_t(4) << 20;

/// The share of one of `num_parts` processes. In a plain file it is a range of bytes, with the lines that
/// begin in it. A gzip file is inflated by each process, since all would wait for a single one as long; each
/// parses every num_parts-th block of lines, and counts the lines of the others.
template <class Scalar>
struct MarketShare {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

  std::string path;
  MarketHeader header;
  std::vector<MarketSection<Scalar>> sections;  ///< ascending
  std::optional<MarketError> error;             ///< of the text: it is not read to its end

  /// \throws InputError for a file that cannot be opened or whose header is wrong; a later error is kept in
  /// the share
  static MarketShare read(const std::string& path, int part, int num_parts,
                          std::size_t block_size = share_block_size);
  static MarketShare read(MarketInput& input, int part, int num_parts);

  /// Those of the sections.
  std::vector<MarketSectionFacts> facts() const;
  /// Entries that are kept.
  std::int64_t num_entries() const;
  /// They, in the order of the file; none remain.
  std::vector<MarketEntries<Scalar>> take_entries();

  /// The first error of the share, `all` being the facts of all shares' sections in ascending order. Where no
  /// share has one, the values of an array are where they belong afterwards.
  std::optional<MarketError> check(std::span<const MarketSectionFacts> all);

  /// Are the entries of all shares too few for the rows that the header announces? Memory is spent by the
  /// length of the text, so that a size line makes nobody allocate. `num_entries`: the sum over the shares.
  /// \pre check found no error in any share
  std::optional<MarketError> check_budget(std::span<const MarketSectionFacts> all,
                                          std::int64_t num_entries) const;

  /// The rows [first_row, first_row + num_rows) from their entries in the order of the file, mirrored ones
  /// included, which count rows from 0 in the whole matrix. Sorted, duplicates summed.
  /// \throws InputError as read_matrix_market for a sum that is too large
  Matrix assemble_rows(std::int64_t first_row, std::int64_t num_rows,
                       std::vector<MarketEntries<Scalar>>&& entries) const;
};

}  // namespace prekond::impl
