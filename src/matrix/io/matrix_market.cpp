// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "matrix_market_share.hpp"
#include "text_input.hpp"

#include <algorithm>
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
template <class Scalar>
using EntryLists = std::vector<MarketEntries<Scalar>>;

/// The error of a line, or with line 0 of the file as a whole.
template <class... Parts>
MarketError error_at(const std::string& path, std::int64_t line, const Parts&... parts) {
  return {line > 0 ? line : MarketError::of_count, text_in_file(path, line, joined(parts...))};
}

/// The fault of an entry of a piece, and its number in it.
using EntryError = std::pair<std::string, std::int64_t>;

/// An entry in the other triangle than an earlier one: a file of both triangles would be counted twice.
template <class Scalar>
EntryError triangle_error(const MarketHeader& header, const MarketPiece<Scalar>& piece,
                          MarketSectionFacts facts) {
  facts.append(piece.facts);
  if (header.is_general() || facts.first_lower < 0 || facts.first_upper < 0) return {};
  const bool lower = facts.first_lower < facts.first_upper;
  const std::int64_t wrong = lower ? piece.facts.first_upper : piece.facts.first_lower;
  if (wrong < 0 || wrong >= static_cast<std::int64_t>(piece.entries.size())) return {};
  const auto& entry = piece.entries[static_cast<std::size_t>(wrong)];
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

/// Puts the values of an array where they belong, `first` being the number of values before: by columns, with
/// symmetric storage those of the lower triangle. Zeros are dropped.
template <class Scalar>
EntryError place_values(const MarketHeader& header, MarketEntries<Scalar>& entries, std::int64_t first) {
  auto [row, col] = place_in_array(header, first);
  const int below = header.is_skew() ? 1 : 0;
  std::int64_t number = 0;
  std::size_t kept = 0;
  for (const auto& entry : entries) {
    if (row == col) {
      const std::string error = diagonal_error(header, row, entry.value);
      if (!error.empty()) return {error, number};
    }
    if (entry.value != Scalar(0))
      entries[kept++] = {static_cast<int>(row), static_cast<int>(col), entry.value};
    ++number;
    if (++row == header.num_rows) {
      ++col;
      row = header.is_general() ? 0 : col + below;
    }
  }
  entries.resize(kept);
  return {};
}

/// The first error of a piece.
template <class Scalar>
std::optional<MarketError> check_piece(const std::string& path, const MarketHeader& header,
                                       MarketPiece<Scalar>& piece, const MarketSectionFacts& before) {
  const auto at = [&](std::int64_t line, const auto&... parts) {
    return error_at(path, before.num_lines + line + 1, parts...);
  };
  const std::int64_t left = std::max<std::int64_t>(0, header.entries_in_file - before.num_data_lines);
  std::optional<MarketError> error;
  if (piece.facts.num_data_lines + (piece.error_in_entry ? 1 : 0) > left)
    error = at(piece.line_of(left), "more entries than the ", header.entries_in_file, " that line ",
               header.lines.num_lines, " announces");
  else if (!piece.error.empty())
    error = at(piece.facts.num_lines - 1, piece.error);
  if (piece.facts.num_data_lines > left) piece.entries.resize(static_cast<std::size_t>(left));
  const auto [text, wrong] = header.coordinate ? triangle_error(header, piece, before)
                                               : place_values(header, piece.entries, before.num_data_lines);
  return text.empty() ? error : at(piece.line_of(wrong), text);
}

/// The first error of a section, `position` being the lines before.
template <class Scalar>
std::optional<MarketError> check_section(const std::string& path, const MarketHeader& header,
                                         MarketSection<Scalar>& section, MarketSectionFacts position) {
  for (auto& piece : section.pieces) {
    if (auto error = check_piece(path, header, piece, position)) return error;
    position.append(piece.facts);
  }
  const std::string amount = amount_error(header, position.num_bytes, position.num_data_lines);
  if (amount.empty()) return std::nullopt;
  return error_at(path, position.num_lines, amount);
}

/// Memory that the matrix in a text may take: 4 MB less than promised, for the rest of the reader.
std::int64_t memory_budget(std::int64_t text_bytes) {
  return 60'000'000 + 40 * text_bytes;
}

void end_at(const std::optional<MarketError>& error) {
  if (error) throw InputError(error->text);
}

template <class Scalar>
void read_sections(MarketShare<Scalar>& share, TextInput& text, int part, int num_parts) {
  const bool in_range = num_parts > 1 && !text.compressed();
  if (in_range) text.restrict_to(part, num_parts);
  MarketSectionFacts at = share.header.lines;
  std::int64_t number = in_range ? std::int64_t(part) << 32 : 0;
  for (std::string_view block; !(block = text.next()).empty(); ++number) {
    if (in_range || number % num_parts == part) {
      share.sections.push_back(parse_section<Scalar>(block, share.header, number));
      if (!share.sections.back().pieces.back().error.empty()) return;
      at.append(share.sections.back().facts);
    } else {
      for (; !block.empty(); ++at.num_lines) at.num_data_lines += has_no_data(take_line(block)) ? 0 : 1;
    }
    if (in_range) continue;
    if (at.num_data_lines > share.header.entries_in_file) return;  // too many: `check` says where
    // The whole text is counted, so that nobody inflates more than its entries justify.
    const std::string error = amount_error(share.header, text.offset(), at.num_data_lines);
    if (error.empty()) continue;
    share.error = error_at(share.path, at.num_lines, error);
    return;
  }
}

/// All of a file, by one process. \throws InputError for the first error
template <class Scalar>
MarketShare<Scalar> read_whole(MarketInput& input) {
  auto share = MarketShare<Scalar>::read(input, 0, 1);
  end_at(share.check(share.facts()));
  return share;
}

/// Makes the rows of a matrix of the entries of a file. Each thread takes those of a range of rows, in the
/// order of the file, so that the order of duplicates does not depend on threads.
template <class Scalar>
class Assembly {
 public:
  /// `both`: with the mirrored entries
  Assembly(const MarketHeader& header, std::int64_t num_rows, bool both)
      : m_header(header), m_both(both), m_a(num_rows, header.num_cols, {}, {}, {}) {}

  /// `first_row`: the number of row 0 in the file's matrix. \throws InputError where a sum is too large
  HostCsr<Scalar> operator()(const std::string& path, std::int64_t first_row, EntryLists<Scalar>&& lists,
                             std::int64_t& duplicates) {
    count(lists);
    split();
    fill(lists);
    lists = {};
    duplicates = sort();
    const std::int64_t bad = duplicates > 0 ? sum_duplicates() : -1;
    if (bad < 0) return m_a;
    fail_in_file(path, 0, "entries of row ", first_row + bad + 1,
                 " stand in the file more than once, and their sum is too large for a number");
  }

 private:
  /// The lengths of the rows, with duplicates, and from them where the rows begin.
  void count(const EntryLists<Scalar>& lists) {
    const std::string label = "prekond::matrix_market";
    m_a.row_ptrs = allocate_zero<HostVector<std::size_t>>(Host(), label + "::row_ptrs", m_a.num_rows + 1);
    std::size_t* const ptrs = m_a.row_ptrs.data();
    parallel_each("prekond::matrix_market::count", lists.size(), [&](std::size_t p) {
      for (const auto& entry : lists[p]) {
        Kokkos::atomic_inc(&ptrs[entry.row + std::int64_t(1)]);
        if (m_both && entry.row != entry.col) Kokkos::atomic_inc(&ptrs[entry.col + std::int64_t(1)]);
      }
    });
    std::partial_sum(ptrs, ptrs + m_a.num_rows + 1, ptrs);
    m_a.col_idxs = allocate<HostVector<int>>(Host(), label + "::col_idxs", ptrs[m_a.num_rows]);
    m_a.values = allocate<HostVector<Scalar>>(Host(), label + "::values", ptrs[m_a.num_rows]);
  }

  /// Ranges of rows with about the same number of entries. Each range looks at all entries of the file, hence
  /// the limit: 32 looks cost no more than the scattered writes of one fill.
  void split() {
    const std::size_t* const begin = m_a.row_ptrs.data();
    const std::size_t* const end = begin + m_a.num_rows + 1;
    const std::size_t nnz = *(end - 1);
    const auto wanted = nnz < 4096 ? 1 : static_cast<std::size_t>(std::min(Host().concurrency(), 32));
    for (std::size_t r = 1; r < wanted; ++r)
      m_ranges.push_back(std::lower_bound(begin, end, nnz / wanted * r) - begin);
    m_ranges.push_back(m_a.num_rows);
  }

  template <class Function>
  void for_each_range(const char* label, const Function& f) {
    parallel_each(label, m_ranges.size() - 1, [&](std::size_t r) { f(m_ranges[r], m_ranges[r + 1]); });
  }

  void fill(const EntryLists<Scalar>& lists) {
    // The pointers count upwards while the rows are filled: afterwards each one is what the next one was.
    std::size_t* const next = m_a.row_ptrs.data();
    const auto add = [&](const MarketEntry<Scalar>& entry) {
      const std::size_t k = next[entry.row]++;
      m_a.col_idxs(k) = entry.col;
      m_a.values(k) = entry.value;
    };
    for_each_range("prekond::matrix_market::fill", [&](std::int64_t begin, std::int64_t end) {
      for (const auto& list : lists) {
        for (const auto& entry : list) {
          if (entry.row >= begin && entry.row < end) add(entry);
          if (m_both && entry.row != entry.col && entry.col >= begin && entry.col < end)
            add(mirrored_entry(m_header, entry));
        }
      }
    });
    std::copy_backward(next, next + m_a.num_rows, next + m_a.num_rows + 1);
    next[0] = 0;
  }

  /// Sorts the rows by column. Most files list their entries by columns or by rows, and then hardly anything
  /// is left to sort. \returns the number of duplicates in the file; where it has one triangle, the lower
  /// triangle of the matrix has as many
  std::int64_t sort() {
    std::int64_t duplicates = 0;
    for_each_range("prekond::matrix_market::sort_rows", [&](std::int64_t begin, std::int64_t end) {
      std::int64_t sum = 0;
      std::vector<std::pair<int, Scalar>> items;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::size_t first = m_a.row_ptrs(i), last = m_a.row_ptrs(i + 1);
        sort_row(first, last, items);
        for (std::size_t k = first + 1; k < last; ++k)
          if (m_a.col_idxs(k) == m_a.col_idxs(k - 1) && (!m_both || m_a.col_idxs(k) <= i)) ++sum;
      }
      Kokkos::atomic_add(&duplicates, sum);
    });
    return duplicates;
  }

  void sort_row(std::size_t first, std::size_t last, std::vector<std::pair<int, Scalar>>& items) {
    if (std::is_sorted(m_a.col_idxs.data() + first, m_a.col_idxs.data() + last)) return;
    items.clear();
    for (std::size_t k = first; k < last; ++k) items.emplace_back(m_a.col_idxs(k), m_a.values(k));
    std::stable_sort(items.begin(), items.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    for (std::size_t k = first; k < last; ++k) std::tie(m_a.col_idxs(k), m_a.values(k)) = items[k - first];
  }

  /// Adds the duplicates of sorted rows up. \returns the first row, from 0, with a sum that is not finite;
  /// -1: none
  std::int64_t sum_duplicates() {
    std::size_t end = 0, k = 0;  // entries that are kept, and those that were read
    for (std::int64_t i = 0; i < m_a.num_rows; ++i) {
      const std::size_t begin = end;
      for (; k < m_a.row_ptrs(i + 1); ++k) {
        if (end == begin || m_a.col_idxs(end - 1) != m_a.col_idxs(k)) {
          m_a.col_idxs(end) = m_a.col_idxs(k);
          m_a.values(end++) = m_a.values(k);
        } else if (!is_finite(m_a.values(end - 1) += m_a.values(k))) {
          return i;
        }
      }
      m_a.row_ptrs(i + 1) = end;
    }
    Kokkos::resize(m_a.col_idxs, end);
    Kokkos::resize(m_a.values, end);
    return -1;
  }

  const MarketHeader& m_header;
  bool m_both;
  HostCsr<Scalar> m_a;
  std::vector<std::int64_t> m_ranges{0};  ///< range r has the rows m_ranges[r] to m_ranges[r + 1] - 1
};

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
MarketShare<Scalar> MarketShare<Scalar>::read(MarketInput& input, int part, int num_parts) {
  MarketShare share{input.text.path(), input.header, {}, {}};
  if (share.header.numbers_of_value == 2 && !is_complex<Scalar>)
    fail_in_file(share.path, 1, "complex matrices are not supported here: a real one is wanted");
  try {
    read_sections(share, input.text, part, num_parts);
  } catch (const InputError& error) {
    share.error = MarketError{MarketError::of_text, error.what()};
  }
  return share;
}

template <class Scalar>
MarketShare<Scalar> MarketShare<Scalar>::read(const std::string& path, int part, int num_parts,
                                              std::size_t block_size) {
  MarketInput input(path, block_size);
  return read(input, part, num_parts);
}

template <class Scalar>
std::optional<MarketError> MarketShare<Scalar>::check(std::span<const MarketSectionFacts> all) {
  MarketSectionFacts position = header.lines;
  auto own = sections.begin();
  for (const auto& facts : all) {
    if (own != sections.end() && own->facts.number == facts.number) {
      if (auto found = check_section(path, header, *own, position)) return found;
      ++own;
    }
    position.append(facts);
  }
  if (error || position.num_data_lines >= header.entries_in_file) return error;
  const std::string matrix = header.coordinate ? "" : " (" + header.size_text() + ")";
  return error_at(path, 0, "line ", header.lines.num_lines, " announces ", header.entries_in_file, " entries",
                  matrix, ", but the file holds only ", position.num_data_lines,
                  ": it is cut off, or that line is wrong");
}

template <class Scalar>
std::optional<MarketError> MarketShare<Scalar>::check_budget(std::span<const MarketSectionFacts> all,
                                                             std::int64_t num_entries) const {
  MarketSectionFacts end = header.lines;
  for (const auto& facts : all) end.append(facts);
  const std::int64_t nnz = header.is_general() ? num_entries : 2 * num_entries;
  const std::int64_t per_entry = sizeof(int) + sizeof(Scalar), per_row = sizeof(std::size_t);
  const std::int64_t bytes = num_entries * std::int64_t(sizeof(MarketEntry<Scalar>)) + nnz * per_entry +
                             (header.num_rows + 1) * per_row;
  if (bytes <= memory_budget(end.num_bytes)) return std::nullopt;
  return error_at(path, header.lines.num_lines, "the header announces ", header.num_rows,
                  " rows while the file holds only ", header.entries_in_file,
                  " entries: no memory is spent on that many empty rows");
}

template <class Scalar>
HostCsr<Scalar> MarketShare<Scalar>::assemble_rows(std::int64_t first_row, std::int64_t num_rows,
                                                   EntryLists<Scalar>&& entries) const {
  for (auto& list : entries)
    for (auto& entry : list) entry.row -= static_cast<int>(first_row);
  std::int64_t duplicates = 0;
  return Assembly<Scalar>(header, num_rows, false)(path, first_row, std::move(entries), duplicates);
}

}  // namespace impl

MatrixMarketFile::MatrixMarketFile(const std::string& path, std::size_t block_size)
    : m_input(std::make_unique<impl::MarketInput>(path, block_size)), m_info(m_input->header) {}
MatrixMarketFile::~MatrixMarketFile() = default;
MatrixMarketFile::MatrixMarketFile(MatrixMarketFile&&) noexcept = default;
MatrixMarketFile& MatrixMarketFile::operator=(MatrixMarketFile&&) noexcept = default;

template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> MatrixMarketFile::read(MatrixMarketInfo* info) {
  if (!m_input) throw std::logic_error("a MatrixMarketFile is read once");
  auto input = std::move(m_input);
  auto share = impl::read_whole<Scalar>(*input);
  MatrixMarketInfo found = m_info;
  found.inflated_bytes = input->text.offset();
  input.reset();  // frees its buffers
  impl::end_at(share.check_budget(share.facts(), share.num_entries()));
  impl::Assembly<Scalar> assemble(share.header, share.header.num_rows, !share.header.is_general());
  const auto matrix = assemble(share.path, 0, share.take_entries(), found.duplicates);
  if (info != nullptr) *info = found;
  return matrix;
}

template <class Scalar>
Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::HostSpace> read_vector_market(
    const std::string& path, std::int64_t expected_length) {
  impl::MarketInput input(path, impl::share_block_size);
  const impl::MarketHeader& header = input.header;
  impl::check_vector_header(path, header, expected_length);
  if (header.numbers_of_value == 2 && !is_complex<Scalar>)
    impl::fail_in_file(path, 1,
                       "the vector is complex, and a real one is wanted, as for a real matrix: give its "
                       "real part, or give the matrix the field 'complex' too");
  auto share = impl::read_whole<Scalar>(input);
  const std::int64_t length = header.num_rows * header.num_cols;
  const std::int64_t entry_size = sizeof(impl::MarketEntry<Scalar>), size = sizeof(Scalar);
  if (share.num_entries() * entry_size + length * size > impl::memory_budget(input.text.offset()))
    impl::fail_in_file(path, header.lines.num_lines, "the header announces a vector of length ", length,
                       " while the file holds only ", header.entries_in_file,
                       " entries: no memory is spent on that many zeros");
  const auto x =
      allocate_zero<impl::HostVector<Scalar>>(impl::Host(), "prekond::matrix_market::vector", length);
  for (const auto& list : share.take_entries()) {
    for (const auto& entry : list) {
      const auto k = static_cast<std::size_t>(entry.row) + static_cast<std::size_t>(entry.col);
      if (!is_finite(x(k) += entry.value))
        impl::fail_in_file(path, 0, "entry ", k + 1,
                           " stands in the file more than once, and the sum is too large for a number");
    }
  }
  return x;
}

#define PREKOND_MATRIX_MARKET(Scalar)                                                             \
  template impl::HostCsr<Scalar> MatrixMarketFile::read<Scalar>(MatrixMarketInfo*);               \
  template impl::HostVector<Scalar> read_vector_market<Scalar>(const std::string&, std::int64_t); \
  template struct impl::MarketShare<Scalar>;
PREKOND_MATRIX_MARKET(double)
PREKOND_MATRIX_MARKET(float)
PREKOND_MATRIX_MARKET(Kokkos::complex<double>)
PREKOND_MATRIX_MARKET(Kokkos::complex<float>)

}  // namespace prekond
