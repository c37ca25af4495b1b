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
#include <Kokkos_Core.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prekond::impl {

class TextInput;

/// The facts of consecutive lines that the check of other lines depends on.
struct MarketSectionFacts {
  std::int64_t number = 0;     ///< ascends through the file, over all shares
  std::int64_t num_bytes = 0;  ///< the length of the text
  std::int64_t num_lines = 0;
  std::int64_t num_data_lines = 0;  ///< entries
  std::int64_t first_lower = -1;    ///< the first data line with an entry below the diagonal, from 0
  std::int64_t first_upper = -1;    ///< above it

  /// Adds the lines that follow.
  void append(const MarketSectionFacts& next);
};

/// The first lines of a file. Sizes are those that the file announces: nothing is allocated by them.
struct MarketHeader : MatrixMarketInfo {
  bool coordinate = true;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  MarketSectionFacts lines;  ///< up to the size line
  int numbers_of_value = 1;  ///< 0 of a pattern, 2 of a complex number

  bool is_general() const { return symmetry == "general"; }
  bool is_skew() const { return symmetry == "skew-symmetric"; }
  bool is_hermitian() const { return symmetry == "hermitian"; }
  std::string size_text() const { return std::to_string(num_rows) + " x " + std::to_string(num_cols); }
};

/// Reads the lines up to the size line. \throws InputError
MarketHeader read_header(TextInput& text);

/// The fault of a text of `bytes` bytes for `num_entries` entries, or with this many entries for the
/// matrix; empty: nothing. A small gzip file can inflate to any length of blanks and comments.
std::string amount_error(const MarketHeader& header, std::int64_t bytes, std::int64_t num_entries);

template <class Scalar>
struct MarketEntry {
  int row;  ///< from 0
  int col;
  Scalar value;
};

template <class Scalar>
using MarketEntries = std::vector<MarketEntry<Scalar>>;

/// The entry that a file with symmetric storage leaves out for this one.
template <class Scalar>
MarketEntry<Scalar> mirrored_entry(const MarketHeader& header, const MarketEntry<Scalar>& entry) {
  const Scalar value =
      header.is_hermitian() ? conjugate(entry.value) : Scalar(header.is_skew() ? -1 : 1) * entry.value;
  return {entry.col, entry.row, value};
}

/// Consecutive lines, parsed by one thread up to the first error.
template <class Scalar>
struct MarketPiece {
  MarketSectionFacts facts;
  MarketEntries<Scalar> entries;          ///< the values of an array have no place yet
  std::vector<std::pair<int, int>> gaps;  ///< entries after a line without one, and their lines; both from 0
  std::string error;                      ///< of the last line; empty: none
  bool error_in_entry = false;            ///< the line is no comment

  /// The line, from 0, of an entry, which may be the one with the error.
  std::int64_t line_of(std::int64_t entry) const {
    std::int64_t found = entry;
    for (const auto& [number, line] : gaps)
      if (number <= entry) found = line + entry - number;
    return found;
  }
};

/// A block of text, up to the first error.
template <class Scalar>
struct MarketSection {
  MarketSectionFacts facts;
  std::vector<MarketPiece<Scalar>> pieces;
};

/// Parses whole lines, in pieces of about 64 kB so that threads of different speed end together.
template <class Scalar>
MarketSection<Scalar> parse_section(std::string_view text, const MarketHeader& header, std::int64_t number);

/// The fault of an entry on the diagonal: a hermitian matrix has a real one, a skew-symmetric one
/// zeros. Empty: nothing.
template <class Scalar>
std::string diagonal_error(const MarketHeader& header, std::int64_t row, const Scalar& value) {
  const bool not_zero = header.is_skew() && value != Scalar(0);
  if (!not_zero && !(header.is_hermitian() && imaginary_part(value) != 0)) return "";
  const std::string number = std::to_string(row + 1);
  return "entry (" + number + ", " + number + ") of a " + header.symmetry + " matrix must be " +
         (not_zero ? "zero" : "real");
}

/// f(0), ..., f(n - 1) in parallel, each being much work; a single one without waking the other threads.
/// \throws one of the exceptions that f throws
template <class Function>
void parallel_each(const char* label, std::size_t n, const Function& f) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>, std::size_t>;
  if (n == 1) return f(0);
  std::vector<std::exception_ptr> errors(n);
  Kokkos::parallel_for(label, Policy(Host(), 0, n, Kokkos::ChunkSize(1)), [&](std::size_t k) {
    try {
      f(k);
    } catch (...) {
      errors[k] = std::current_exception();
    }
  });
  Host().fence();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

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

  /// The facts of the sections, in their order.
  std::vector<MarketSectionFacts> facts() const {
    std::vector<MarketSectionFacts> facts;
    for (const auto& section : sections) facts.push_back(section.facts);
    return facts;
  }
  /// Entries that are kept.
  std::int64_t num_entries() const {
    std::size_t sum = 0;
    for (const auto& section : sections)
      for (const auto& piece : section.pieces) sum += piece.entries.size();
    return static_cast<std::int64_t>(sum);
  }
  /// They, in the order of the file; none remain.
  std::vector<MarketEntries<Scalar>> take_entries() {
    std::vector<MarketEntries<Scalar>> lists;
    for (auto& section : sections)
      for (auto& piece : section.pieces) lists.push_back(std::move(piece.entries));
    return lists;
  }

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
