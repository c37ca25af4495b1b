// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "matrix_market_share.hpp"
#include "text_input.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace prekond {
namespace impl {

/// A file that is open, and whose header has been read.
struct MarketInput {
  MarketInput(const std::string& path, std::size_t block_size)
      : text(path, block_size), header(read_header(text)) {}
  TextInput text;
  MarketHeader header;
};

namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
template <class T>
using HostVector = Kokkos::View<T*, Kokkos::LayoutLeft, Kokkos::HostSpace>;
template <class Scalar>
using HostCsr = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

/// The error of a line, or with line 0 of the file as a whole.
template <class... Parts>
MarketError error_at(const std::string& path, std::int64_t line, const Parts&... parts) {
  return {line > 0 ? line : MarketError::of_count, text_in_file(path, line, joined(parts...))};
}

/// The line, from 0, of an entry of the section.
template <class Scalar>
std::int64_t line_of(const MarketSection<Scalar>& section, std::int64_t data_line) {
  std::int64_t line = data_line;
  for (const int without : section.lines_without_data) {
    if (without > line) break;
    ++line;
  }
  return line;
}

/// The fault of an entry of a section, and its number in it.
using EntryError = std::pair<std::string, std::int64_t>;

/// An entry among the first `left` in the other triangle than an earlier one: a file of both triangles would
/// be counted twice.
template <class Scalar>
EntryError triangle_error(const MarketHeader& header, const MarketSection<Scalar>& section,
                          MarketSectionFacts facts, std::int64_t left) {
  facts.append(section.facts);
  if (header.is_general() || facts.first_lower < 0 || facts.first_upper < 0) return {};
  const bool lower = facts.first_lower < facts.first_upper;
  const std::int64_t wrong = lower ? section.facts.first_upper : section.facts.first_lower;
  if (wrong < 0 || wrong >= left) return {};
  auto k = static_cast<std::size_t>(wrong);
  auto piece = section.pieces.begin();
  for (; k >= piece->size(); ++piece) k -= piece->size();
  const auto& entry = (*piece)[k];
  return {joined("entry (", entry.row + 1, ", ", entry.col + 1, ") lies ", lower ? "above" : "below",
                 " the diagonal and an earlier one ", lower ? "below" : "above", " it: a ", header.symmetry,
                 " file holds one triangle; leave the other out, or say 'general'"),
          wrong};
}

/// The place in an array of its value number k.
std::pair<std::int64_t, std::int64_t> place_in_array(const MarketHeader& header, std::int64_t k) {
  const std::int64_t rows = std::max<std::int64_t>(header.num_rows, 1);
  if (header.is_general()) return {k % rows, k / rows};
  const int below = header.is_skew() ? 1 : 0;
  std::int64_t col = 0;
  for (; col < rows && k >= rows - col - below; ++col) k -= rows - col - below;
  return {col + below + k, col};
}

/// Puts the first `left` values of an array where they belong, `first` being the number of values before: by
/// columns, with symmetric storage those of the lower triangle. Zeros are dropped.
template <class Scalar>
EntryError place_values(const MarketHeader& header, MarketSection<Scalar>& section, std::int64_t first,
                        std::int64_t left) {
  auto [row, col] = place_in_array(header, first);
  const int below = header.is_skew() ? 1 : 0;
  std::int64_t number = 0;
  for (auto& piece : section.pieces) {
    std::size_t kept = 0;
    for (const auto& entry : piece) {
      if (number == left) return {};
      if (row == col) {
        const std::string error = diagonal_error(header, row, entry.value);
        if (!error.empty()) return {error, number};
      }
      if (entry.value != Scalar(0))
        piece[kept++] = {static_cast<int>(row), static_cast<int>(col), entry.value};
      ++number;
      if (++row == header.num_rows) {
        ++col;
        row = header.is_general() ? 0 : col + below;
      }
    }
    piece.resize(kept);
  }
  return {};
}

/// The first error of a section.
template <class Scalar>
std::optional<MarketError> check_section(const std::string& path, const MarketHeader& header,
                                         MarketSection<Scalar>& section, const MarketSectionFacts& before) {
  const MarketSectionFacts& facts = section.facts;
  const auto at = [&](std::int64_t line, const auto&... parts) {
    return error_at(path, before.num_lines + line + 1, parts...);
  };
  const std::int64_t left = std::max<std::int64_t>(0, header.num_entries - before.num_data_lines);
  const auto [error, wrong] = header.coordinate ? triangle_error(header, section, before, left)
                                                : place_values(header, section, before.num_data_lines, left);
  if (!error.empty()) return at(line_of(section, wrong), error);
  if (facts.num_data_lines + (section.error_in_entry ? 1 : 0) > left)
    return at(line_of(section, left), "more entries than the ", header.num_entries, " that line ",
              header.lines.num_lines, " announces");
  if (!section.error.empty()) return at(facts.num_lines - 1, section.error);
  const std::string amount =
      amount_error(header, before.num_bytes + facts.num_bytes, before.num_data_lines + facts.num_data_lines);
  if (!amount.empty()) return at(facts.num_lines - 1, amount);
  return std::nullopt;
}

/// The error of a file that ends too early.
std::optional<MarketError> check_end(const std::string& path, const MarketHeader& header,
                                     const MarketSectionFacts& end) {
  if (end.num_data_lines >= header.num_entries) return std::nullopt;
  const std::string matrix = header.coordinate ? "" : " (" + header.size_text() + ")";
  return error_at(path, 0, "line ", header.lines.num_lines, " announces ", header.num_entries, " entries",
                  matrix, ", but the file holds only ", end.num_data_lines,
                  ": it is cut off, or that line is wrong");
}

/// Memory that the matrix in a text may take: 4 MB less than promised, for the rest of the reader.
std::int64_t memory_budget(std::int64_t text_bytes) {
  return 60'000'000 + 40 * text_bytes;
}

/// The error of a header that announces too many rows for memory by the length of the text.
template <class Scalar>
std::optional<MarketError> check_budget(const std::string& path, const MarketHeader& header,
                                        std::int64_t text_bytes, std::int64_t num_entries,
                                        std::int64_t entry_bytes) {
  const std::int64_t nnz = header.is_general() ? num_entries : 2 * num_entries;
  const std::int64_t per_entry = sizeof(int) + sizeof(Scalar), per_row = sizeof(std::size_t);
  const std::int64_t bytes = entry_bytes + nnz * per_entry + (header.num_rows + 1) * per_row;
  if (bytes <= memory_budget(text_bytes)) return std::nullopt;
  return error_at(path, header.lines.num_lines, "the header announces ", header.num_rows,
                  " rows while the file holds only ", header.num_entries,
                  " entries: no memory is spent on that many empty rows");
}

void end_at(const std::optional<MarketError>& error) {
  if (error) throw InputError(error->text);
}

template <class Scalar>
void check_field(const std::string& path, const MarketHeader& header) {
  if (header.numbers_of_value == 2 && !is_complex<Scalar>)
    fail_in_file(path, 1, "complex matrices are not supported here: a real one is wanted");
}

/// All entries of a file, read by one process. \throws InputError for the first error
template <class Scalar>
MarketPieces<Scalar> read_entries(MarketInput& input) {
  const std::string& path = input.text.path();
  const MarketHeader& header = input.header;
  check_field<Scalar>(path, header);
  MarketSectionFacts position = header.lines;
  MarketPieces<Scalar> pieces;
  for (std::string_view block; !(block = input.text.next()).empty();) {
    auto section = parse_section<Scalar>(block, header, 0);
    end_at(check_section(path, header, section, position));
    position.append(section.facts);
    std::move(section.pieces.begin(), section.pieces.end(), std::back_inserter(pieces));
  }
  end_at(check_end(path, header, position));
  return pieces;
}

/// The range of bytes that is a plain file's share.
void restrict_to_part(TextInput& text, std::int64_t first_byte, int part, int num_parts) {
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(text.path(), error));
  if (error) fail_in_file(text.path(), 0, "cannot be read in parts: ", error.message());
  const std::int64_t bytes = std::max<std::int64_t>(0, size - first_byte);
  const auto begin = [&](int p) {
    return first_byte + p * (bytes / num_parts) + std::min<std::int64_t>(p, bytes % num_parts);
  };
  text.restrict_to(begin(part), begin(part + 1));
}

template <class Scalar>
void read_sections(MarketShare<Scalar>& share, TextInput& text, int part, int num_parts) {
  const bool compressed = text.compressed();
  if (!compressed) restrict_to_part(text, share.header.lines.num_bytes, part, num_parts);
  MarketSectionFacts at = share.header.lines;
  std::int64_t number = compressed ? 0 : std::int64_t(part) << 32;
  for (std::string_view block; !(block = text.next()).empty(); ++number) {
    if (!compressed || number % num_parts == part) {
      share.sections.push_back(parse_section<Scalar>(block, share.header, number));
      if (!share.sections.back().error.empty()) return;
      at.append(share.sections.back().facts);
    } else {
      for (; !block.empty(); ++at.num_lines) at.num_data_lines += has_no_data(take_line(block)) ? 0 : 1;
    }
    if (!compressed) continue;
    // The whole text is counted, so that nobody inflates more than its entries justify.
    const std::string error = amount_error(share.header, text.offset(), at.num_data_lines);
    if (error.empty()) continue;
    share.error = error_at(share.path, at.num_lines, error);
    return;
  }
}

/// Ranges of rows, each for one thread: range r has the rows ranges[r] to ranges[r + 1] - 1.
using Ranges = std::vector<std::int64_t>;

template <class Function>
void for_each_range(const char* label, const Ranges& ranges, const Function& f) {
  parallel_each(label, ranges.size() - 1, [&](std::size_t r) { f(ranges[r], ranges[r + 1]); });
}

/// Ranges of rows with about the same number of entries. Each range looks at all entries of the file, hence
/// the limit: 32 looks cost no more than the scattered writes of one fill.
Ranges equal_ranges(const HostVector<std::size_t>& row_ptrs) {
  const std::size_t* const begin = row_ptrs.data();
  const std::size_t* const end = begin + row_ptrs.extent(0);
  const std::size_t nnz = *(end - 1);
  const auto wanted = nnz < 4096 ? 1 : static_cast<std::size_t>(std::min(Host().concurrency(), 32));
  Ranges ranges(1, 0);
  for (std::size_t r = 1; r < wanted; ++r)
    ranges.push_back(std::lower_bound(begin, end, nnz / wanted * r) - begin);
  ranges.push_back(end - begin - 1);
  return ranges;
}

/// The lengths of the rows, with duplicates, and from them where the rows begin.
template <class Scalar>
void count_entries(const HostCsr<Scalar>& a, const MarketPieces<Scalar>& pieces, bool both) {
  std::size_t* const ptrs = a.row_ptrs.data();
  parallel_each("prekond::matrix_market::count", pieces.size(), [&](std::size_t p) {
    for (const auto& entry : pieces[p]) {
      Kokkos::atomic_inc(&ptrs[entry.row + std::int64_t(1)]);
      if (both && entry.row != entry.col) Kokkos::atomic_inc(&ptrs[entry.col + std::int64_t(1)]);
    }
  });
  std::partial_sum(ptrs, ptrs + a.num_rows + 1, ptrs);
}

template <class Scalar>
void fill_rows(const HostCsr<Scalar>& a, const Ranges& ranges, const MarketHeader& header,
               const MarketPieces<Scalar>& pieces) {
  const bool both = !header.is_general();
  // The pointers count upwards while the rows are filled: afterwards each one is what the next one was.
  std::size_t* const next = a.row_ptrs.data();
  const auto add = [&](const MarketEntry<Scalar>& entry) {
    const std::size_t k = next[entry.row]++;
    a.col_idxs(k) = entry.col;
    a.values(k) = entry.value;
  };
  for_each_range("prekond::matrix_market::fill", ranges, [&](std::int64_t begin, std::int64_t end) {
    for (const auto& piece : pieces) {
      for (const auto& entry : piece) {
        if (entry.row >= begin && entry.row < end) add(entry);
        if (both && entry.row != entry.col && entry.col >= begin && entry.col < end)
          add(mirrored_entry(header, entry));
      }
    }
  });
  std::copy_backward(next, next + a.num_rows, next + a.num_rows + 1);
  next[0] = 0;
}

/// Sorts the rows by column. Most files list their entries by columns or by rows, and then hardly anything is
/// left to sort. \returns the number of duplicates in the file; where it has one triangle, the lower triangle
/// of the matrix has as many
template <class Scalar>
std::int64_t sort_rows(const HostCsr<Scalar>& a, const Ranges& ranges, bool both) {
  std::int64_t duplicates = 0;
  for_each_range("prekond::matrix_market::sort_rows", ranges, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::pair<int, Scalar>> items;
    std::int64_t sum = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t first = a.row_ptrs(i), last = a.row_ptrs(i + 1);
      if (!std::is_sorted(a.col_idxs.data() + first, a.col_idxs.data() + last)) {
        items.clear();
        for (std::size_t k = first; k < last; ++k) items.emplace_back(a.col_idxs(k), a.values(k));
        const auto before = [](const auto& x, const auto& y) { return x.first < y.first; };
        std::stable_sort(items.begin(), items.end(), before);
        for (std::size_t k = first; k < last; ++k) std::tie(a.col_idxs(k), a.values(k)) = items[k - first];
      }
      for (std::size_t k = first + 1; k < last; ++k)
        if (a.col_idxs(k) == a.col_idxs(k - 1) && (!both || a.col_idxs(k) <= i)) ++sum;
    }
    Kokkos::atomic_add(&duplicates, sum);
  });
  return duplicates;
}

/// Adds the duplicates of sorted rows up. \returns the first row, from 0, with a sum that is not finite; -1:
/// none
template <class Scalar>
std::int64_t sum_duplicates(HostCsr<Scalar>& a) {
  std::size_t end = 0, k = 0;  // entries that are kept, and those that were read
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    const std::size_t begin = end;
    for (; k < a.row_ptrs(i + 1); ++k) {
      if (end == begin || a.col_idxs(end - 1) != a.col_idxs(k)) {
        a.col_idxs(end) = a.col_idxs(k);
        a.values(end++) = a.values(k);
      } else if (!is_finite(a.values(end - 1) += a.values(k))) {
        return i;
      }
    }
    a.row_ptrs(i + 1) = end;
  }
  const auto shorten = [&](auto& list) {
    const auto kept = allocate<std::decay_t<decltype(list)>>(Host(), list.label(), end);
    std::copy_n(list.data(), end, kept.data());
    list = kept;
  };
  shorten(a.col_idxs);
  shorten(a.values);
  return -1;
}

/// Makes the matrix of the entries of a file. Each thread takes those of a range of rows, in the order of the
/// file, so that the order of duplicates does not depend on threads.
/// `first_row`: the number of the header's first row in the file's matrix
template <class Scalar>
HostCsr<Scalar> assemble(const std::string& path, const MarketHeader& header, std::int64_t first_row,
                         MarketPieces<Scalar>&& pieces, std::int64_t& duplicates) {
  const std::string label = "prekond::matrix_market";
  const bool both = !header.is_general();
  HostCsr<Scalar> a;
  a.num_rows = header.num_rows;
  a.num_cols = header.num_cols;
  a.row_ptrs = allocate_zero<HostVector<std::size_t>>(Host(), label + "::row_ptrs", a.num_rows + 1);
  count_entries(a, pieces, both);
  const std::size_t nnz = a.row_ptrs(a.num_rows);
  a.col_idxs = allocate<HostVector<int>>(Host(), label + "::col_idxs", nnz);
  a.values = allocate<HostVector<Scalar>>(Host(), label + "::values", nnz);
  const Ranges ranges = equal_ranges(a.row_ptrs);
  fill_rows(a, ranges, header, pieces);
  pieces = {};
  duplicates = sort_rows(a, ranges, both);
  const std::int64_t bad = duplicates > 0 ? sum_duplicates(a) : -1;
  if (bad < 0) return a;
  fail_in_file(path, 0, "entries of row ", first_row + bad + 1,
               " stand in the file more than once, and their sum is too large for a number");
}

void check_vector_header(const std::string& path, const MarketHeader& header, std::int64_t expected_length) {
  const bool is_vector = header.num_cols == 1 || header.num_rows == 1, any = expected_length < 0;
  const std::int64_t length = header.num_rows * header.num_cols;
  if (is_vector && (any || length == expected_length)) return;
  const std::string found =
      is_vector ? joined("a vector of length ", length) : header.size_text() + " numbers";
  const std::string wanted = any ? "" : joined(" of length ", expected_length);
  fail_in_file(path, header.lines.num_lines, "holds ", found, ", but a vector", wanted, " is wanted");
}

}  // namespace

template <class Scalar>
MarketShare<Scalar> read_market_share(const std::string& path, int part, int num_parts,
                                      std::size_t block_size) {
  MarketInput input(path, block_size);
  check_field<Scalar>(path, input.header);
  MarketShare<Scalar> share{path, input.header, {}, {}};
  try {
    read_sections(share, input.text, part, num_parts);
  } catch (const InputError& error) {
    share.error = MarketError{MarketError::of_text, error.what()};
  }
  return share;
}

template <class Scalar>
std::optional<MarketError> check_market_share(MarketShare<Scalar>& share,
                                              std::span<const MarketSectionFacts> all) {
  MarketSectionFacts position = share.header.lines;
  auto own = share.sections.begin();
  for (const auto& facts : all) {
    if (own != share.sections.end() && own->facts.number == facts.number) {
      if (auto error = check_section(share.path, share.header, *own, position)) return error;
      ++own;
    }
    position.append(facts);
  }
  return share.error ? share.error : check_end(share.path, share.header, position);
}

template <class Scalar>
std::optional<MarketError> check_market_budget(const MarketShare<Scalar>& share,
                                               std::span<const MarketSectionFacts> all,
                                               std::int64_t num_entries, std::int64_t entry_bytes) {
  MarketSectionFacts end = share.header.lines;
  for (const auto& facts : all) end.append(facts);
  return check_budget<Scalar>(share.path, share.header, end.num_bytes, num_entries, entry_bytes);
}

template <class Scalar>
HostCsr<Scalar> assemble_market_rows(const std::string& path, const MarketHeader& header,
                                     std::int64_t first_row, std::int64_t num_rows,
                                     MarketPieces<Scalar>&& entries) {
  MarketHeader rows = header;
  rows.symmetry = "general";  // both triangles are there
  rows.num_rows = num_rows;
  for (auto& piece : entries)
    for (auto& entry : piece) entry.row -= static_cast<int>(first_row);
  std::int64_t duplicates = 0;
  return assemble(path, rows, first_row, std::move(entries), duplicates);
}

}  // namespace impl

MatrixMarketFile::MatrixMarketFile(const std::string& path, std::size_t block_size)
    : m_input(std::make_unique<impl::MarketInput>(path, block_size)) {
  const impl::MarketHeader& header = m_input->header;
  m_info.format = header.coordinate ? "coordinate" : "array";
  m_info.field = header.field;
  m_info.symmetry = header.symmetry;
  m_info.entries_in_file = header.num_entries;
}
MatrixMarketFile::~MatrixMarketFile() = default;
MatrixMarketFile::MatrixMarketFile(MatrixMarketFile&&) noexcept = default;
MatrixMarketFile& MatrixMarketFile::operator=(MatrixMarketFile&&) noexcept = default;

template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> MatrixMarketFile::read(MatrixMarketInfo* info) {
  if (!m_input) throw std::logic_error("a MatrixMarketFile is read once");
  auto input = std::move(m_input);
  auto pieces = impl::read_entries<Scalar>(*input);
  MatrixMarketInfo found = m_info;
  found.inflated_bytes = input->text.offset();
  const std::string path = input->text.path();
  const impl::MarketHeader header = input->header;
  input.reset();  // frees its buffers
  const std::int64_t num_entries = impl::num_entries_of(pieces), entry_size = sizeof(pieces[0][0]);
  impl::end_at(
      impl::check_budget<Scalar>(path, header, found.inflated_bytes, num_entries, num_entries * entry_size));
  const auto matrix = impl::assemble(path, header, 0, std::move(pieces), found.duplicates);
  if (info != nullptr) *info = found;
  return matrix;
}

template <class Scalar>
Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::HostSpace> read_vector_market(
    const std::string& path, std::int64_t expected_length) {
  impl::MarketInput input(path, impl::share_block_size);
  const impl::MarketHeader& header = input.header;
  impl::check_field<Scalar>(path, header);
  impl::check_vector_header(path, header, expected_length);
  const auto pieces = impl::read_entries<Scalar>(input);
  const std::int64_t length = header.num_rows * header.num_cols;
  const std::int64_t entry_size = sizeof(impl::MarketEntry<Scalar>), size = sizeof(Scalar);
  if (impl::num_entries_of(pieces) * entry_size + length * size > impl::memory_budget(input.text.offset()))
    impl::fail_in_file(path, header.lines.num_lines, "the header announces a vector of length ", length,
                       " while the file holds only ", header.num_entries,
                       " entries: no memory is spent on that many zeros");
  const auto x =
      allocate_zero<impl::HostVector<Scalar>>(impl::Host(), "prekond::matrix_market::vector", length);
  for (const auto& piece : pieces) {
    for (const auto& entry : piece) {
      const auto k = static_cast<std::size_t>(entry.row) + static_cast<std::size_t>(entry.col);
      if (!is_finite(x(k) += entry.value))
        impl::fail_in_file(path, 0, "entry ", k + 1,
                           " stands in the file more than once, and the sum is too large for a number");
    }
  }
  return x;
}

#define PREKOND_MATRIX_MARKET(Scalar)                                                                        \
  template impl::HostCsr<Scalar> MatrixMarketFile::read<Scalar>(MatrixMarketInfo*);                          \
  template impl::HostVector<Scalar> read_vector_market<Scalar>(const std::string&, std::int64_t);            \
  namespace impl {                                                                                           \
  using Facts = std::span<const MarketSectionFacts>;                                                         \
  template struct MarketShare<Scalar>;                                                                       \
  template MarketShare<Scalar> read_market_share<Scalar>(const std::string&, int, int, std::size_t);         \
  template std::optional<MarketError> check_market_share<Scalar>(MarketShare<Scalar>&, Facts);               \
  template std::optional<MarketError> check_market_budget<Scalar>(const MarketShare<Scalar>&, Facts,         \
                                                                  std::int64_t, std::int64_t);               \
  template HostCsr<Scalar> assemble_market_rows<Scalar>(const std::string&, const MarketHeader&,             \
                                                        std::int64_t, std::int64_t, MarketPieces<Scalar>&&); \
  }
PREKOND_MATRIX_MARKET(double)
PREKOND_MATRIX_MARKET(float)
PREKOND_MATRIX_MARKET(Kokkos::complex<double>)
PREKOND_MATRIX_MARKET(Kokkos::complex<float>)

}  // namespace prekond
