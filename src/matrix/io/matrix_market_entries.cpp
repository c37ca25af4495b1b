// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/matrix_market_entries.hpp"

#include <prekond/core/scalar.hpp>

#include <utility>

namespace prekond::impl {

template <class Scalar>
MarketReader<Scalar>::MarketReader(std::unique_ptr<MarketInput> input)
    : m_input(std::move(input)), m_header(m_input->header()), m_line(m_input->line()) {
  if (m_header.field == "complex" && !is_complex<Scalar>)
    fail(1, "complex matrices are not supported here: a real one is wanted");
}

template <class Scalar>
void MarketReader<Scalar>::fail(std::int64_t line, const std::string& message) const {
  fail_in_file(m_input->path(), line, message);
}

template <class Scalar>
MarketEntries<Scalar> MarketReader<Scalar>::read_entries() {
  if (m_header.is_skew() && !m_header.coordinate) m_array_row = 1;
  if (!m_header.coordinate && !m_header.is_general()) m_entries.triangle = Triangle::lower;
  for (std::string_view text; !(text = m_input->next()).empty();) {
    for (MarketPiece<Scalar>& piece : parse_block<Scalar>(text, m_header)) accept(piece);
    m_input->check_length(m_line, m_entries.num_lines);
  }
  if (m_entries.num_lines < m_header.num_entries) fail(0, fewer_entries_text(m_header, m_entries.num_lines));
  m_entries.inflated_bytes = m_input->bytes();
  return std::move(m_entries);
}

/// Takes the entries of a piece, or throws the first error in it.
template <class Scalar>
void MarketReader<Scalar>::accept(MarketPiece<Scalar>& piece) {
  const std::int64_t left = m_header.num_entries - m_entries.num_lines;
  if (m_header.coordinate && !m_header.is_general()) accept_triangle(piece);
  if (piece.num_data_lines + (piece.error_in_entry ? 1 : 0) > left)
    fail(m_line + piece.line_of(left) + 1, more_entries_text(m_header));
  if (!m_header.coordinate) {
    std::int64_t wrong = 0;
    const std::string error = place_array_values(m_header, piece.entries, m_array_row, m_array_col, wrong);
    if (!error.empty()) fail(m_line + piece.line_of(wrong) + 1, error);
  }
  if (!piece.error.empty()) fail(m_line + piece.error_line + 1, piece.error);
  m_line += piece.num_lines;
  m_entries.num_lines += piece.num_data_lines;
  auto& entries = piece.entries;
  m_entries.num_entries += static_cast<std::int64_t>(entries.size());
  if (entries.size() < entries.capacity() / 8 * 7) entries.shrink_to_fit();
  if (!entries.empty()) m_entries.pieces.push_back(std::move(entries));
}

/// A file that holds both triangles would be counted twice.
template <class Scalar>
void MarketReader<Scalar>::accept_triangle(const MarketPiece<Scalar>& piece) {
  const std::int64_t lower = piece.first_lower, upper = piece.first_upper;
  Triangle& triangle = m_entries.triangle;
  if (triangle == Triangle::unknown && (lower >= 0 || upper >= 0)) {
    triangle = upper < 0 || (lower >= 0 && lower < upper) ? Triangle::lower : Triangle::upper;
  }
  const std::int64_t wrong = triangle == Triangle::lower ? upper : triangle == Triangle::upper ? lower : -1;
  if (wrong < 0 || wrong >= m_header.num_entries - m_entries.num_lines) return;
  const auto& entry = piece.entries[static_cast<std::size_t>(wrong)];
  fail(m_line + piece.line_of(wrong) + 1, both_triangles_text(m_header, entry.row, entry.col));
}

template class MarketReader<double>;
template class MarketReader<float>;
template class MarketReader<Kokkos::complex<double>>;
template class MarketReader<Kokkos::complex<float>>;

}  // namespace prekond::impl
