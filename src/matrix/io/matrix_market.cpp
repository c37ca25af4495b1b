// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>

#include "matrix/io/matrix_market_entries.hpp"
#include "matrix/io/matrix_market_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace prekond {
namespace impl {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
template <class T>
using HostVector = Kokkos::View<T*, Kokkos::LayoutLeft, Kokkos::HostSpace>;

/// Makes the matrix of the entries of a file: counts the entries of each row, and lets each thread take those
/// of a range of rows, in the order of the file, so that neither threads nor chance decide the order of
/// duplicates.
template <class Scalar>
class CsrAssembly {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

  /// `first_row`: what the header's rows begin with in the file's matrix.
  CsrAssembly(const std::string& path, const MarketHeader& header, MarketEntries<Scalar>&& entries,
              std::int64_t first_row = 0)
      : m_path(path),
        m_header(header),
        m_first_row(first_row),
        m_entries(std::move(entries)),
        m_sign(header.is_skew() ? -1 : 1) {}

  Matrix operator()() {
    check_budget(1, m_header.is_general() ? m_entries.num_entries : 2 * m_entries.num_entries,
                 m_entries.bytes());
    count();
    choose_ranges();
    fill();
    m_entries.pieces = {};
    sort();
    sum_duplicates();
    return Matrix(m_header.num_rows, m_header.num_cols, m_row_ptrs, m_col_idxs, m_values);
  }

  /// Duplicates in the file, where each pair of mirrored entries is one.
  std::int64_t duplicates() const { return m_duplicates; }

 private:
  struct Item {
    int col;
    std::size_t position;  // in the row, in the order of the file
    Scalar value;
  };
  void check_budget(int copies, std::int64_t nnz, std::int64_t others) const;
  void count();
  void choose_ranges();
  void fill();
  void fill_range(std::int64_t begin, std::int64_t end, std::size_t* next);
  void sort();
  std::int64_t longest_unsorted(std::int64_t begin, std::int64_t end) const;
  void sort_range(std::int64_t begin, std::int64_t end, std::vector<Item>& items) const;
  void sum_duplicates();
  std::int64_t count_duplicates();
  void close_gaps(const HostVector<std::size_t>& ptrs);
  std::size_t sum_in_row(std::int64_t row) const;
  bool is_in_file(std::int64_t row, int col) const {
    return m_entries.triangle == Triangle::upper ? col >= row : m_header.is_general() || col <= row;
  }
  Scalar mirrored(const Scalar& x) const { return m_header.is_hermitian() ? conjugate(x) : m_sign * x; }
  std::size_t num_ranges() const { return m_ranges.size() - 1; }

  const std::string& m_path;
  const MarketHeader& m_header;
  std::int64_t m_first_row;
  MarketEntries<Scalar> m_entries;
  Scalar m_sign;
  HostVector<std::size_t> m_row_ptrs;
  HostVector<int> m_col_idxs;
  HostVector<Scalar> m_values;
  std::vector<std::int64_t> m_ranges;  // rows; range r has the rows m_ranges[r] to m_ranges[r + 1] - 1
  std::int64_t m_duplicates = 0;
};

/// Is there room for `copies` of a matrix of `nnz` entries besides `others` bytes? That depends on what was
/// read, so that a size line alone makes nobody allocate.
template <class Scalar>
void CsrAssembly<Scalar>::check_budget(int copies, std::int64_t nnz, std::int64_t others) const {
  const std::int64_t per_entry = sizeof(int) + sizeof(Scalar), per_row = sizeof(std::size_t);
  const std::int64_t bytes = others + copies * (nnz * per_entry + (m_header.num_rows + 1) * per_row);
  const std::string error = budget_error(m_header, m_entries.num_lines, m_entries.inflated_bytes, bytes);
  if (!error.empty()) fail_in_file(m_path, m_header.size_line, error);
}

/// Rows' lengths, with duplicates, and from them where the rows begin.
template <class Scalar>
void CsrAssembly<Scalar>::count() {
  const std::int64_t rows = m_header.num_rows;
  m_row_ptrs = allocate_zero<HostVector<std::size_t>>(Host(), "prekond::matrix_market::row_ptrs", rows + 1);
  const auto ptrs = m_row_ptrs;
  const bool both = !m_header.is_general();
  parallel_each("prekond::matrix_market::count", m_entries.pieces.size(), [&, both](std::size_t p) {
    for (const auto& entry : m_entries.pieces[p]) {
      Kokkos::atomic_inc(&ptrs(static_cast<std::size_t>(entry.row) + 1));
      if (both && entry.row != entry.col) Kokkos::atomic_inc(&ptrs(static_cast<std::size_t>(entry.col) + 1));
    }
  });
  std::partial_sum(ptrs.data(), ptrs.data() + rows + 1, ptrs.data());
}

/// Ranges of rows with about the same number of entries. Each of them looks at all entries of the file, hence
/// the limit: 32 looks cost no more than the scattered writes of one fill.
template <class Scalar>
void CsrAssembly<Scalar>::choose_ranges() {
  const std::size_t* const begin = m_row_ptrs.data();
  const std::size_t* const end = begin + m_row_ptrs.extent(0);
  const std::size_t nnz = *(end - 1);
  const auto wanted =
      nnz < 4096 ? std::size_t(1) : static_cast<std::size_t>(std::min(Host().concurrency(), 32));
  m_ranges.assign(1, 0);
  for (std::size_t r = 1; r < wanted; ++r) {
    const std::int64_t row = std::lower_bound(begin, end, nnz / wanted * r) - begin;
    m_ranges.push_back(std::clamp(row, m_ranges.back(), m_header.num_rows));
  }
  m_ranges.push_back(m_header.num_rows);
}

template <class Scalar>
void CsrAssembly<Scalar>::fill() {
  const std::size_t rows = m_row_ptrs.extent(0) - 1, nnz = m_row_ptrs(rows);
  m_col_idxs = allocate<HostVector<int>>(Host(), "prekond::matrix_market::col_idxs", nnz);
  m_values = allocate<HostVector<Scalar>>(Host(), "prekond::matrix_market::values", nnz);
  // The pointers count upwards while the rows are filled: afterwards each one is what the next one was.
  std::size_t* const next = m_row_ptrs.data();
  parallel_each("prekond::matrix_market::fill", num_ranges(),
                [&](std::size_t r) { fill_range(m_ranges[r], m_ranges[r + 1], next); });
  std::copy_backward(next, next + rows, next + rows + 1);
  next[0] = 0;
}

template <class Scalar>
void CsrAssembly<Scalar>::fill_range(std::int64_t begin, std::int64_t end, std::size_t* next) {
  const bool both = !m_header.is_general();
  const auto add = [&](int row, int col, const Scalar& value) {
    const std::size_t k = next[row]++;
    m_col_idxs(k) = col;
    m_values(k) = value;
  };
  for (const auto& piece : m_entries.pieces) {
    for (const auto& [row, col, value] : piece) {
      if (row >= begin && row < end) add(row, col, value);
      if (both && row != col && col >= begin && col < end) add(col, row, mirrored(value));
    }
  }
}

/// Most files list their entries by columns or by rows, and then hardly anything is left to sort.
template <class Scalar>
void CsrAssembly<Scalar>::sort() {
  // Scratch memory is asked for outside of the kernels, where an exception can be thrown. A range's longest
  // row is no longer than the range: all of it together has no more items than the matrix has entries.
  std::vector<std::int64_t> longest(num_ranges());
  parallel_each("prekond::matrix_market::longest_unsorted", num_ranges(),
                [&](std::size_t r) { longest[r] = longest_unsorted(m_ranges[r], m_ranges[r + 1]); });
  std::vector<std::vector<Item>> items(num_ranges());
  for (std::size_t r = 0; r < num_ranges(); ++r) items[r].resize(static_cast<std::size_t>(longest[r]));
  parallel_each("prekond::matrix_market::sort_rows", num_ranges(), [&](std::size_t r) {
    if (longest[r] > 0) sort_range(m_ranges[r], m_ranges[r + 1], items[r]);
  });
}

template <class Scalar>
std::int64_t CsrAssembly<Scalar>::longest_unsorted(std::int64_t begin, std::int64_t end) const {
  std::int64_t longest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const int* const cols = m_col_idxs.data();
    const std::size_t first = m_row_ptrs(i), last = m_row_ptrs(i + 1);
    if (!std::is_sorted(cols + first, cols + last)) {
      longest = std::max(longest, static_cast<std::int64_t>(last - first));
    }
  }
  return longest;
}

template <class Scalar>
void CsrAssembly<Scalar>::sort_range(std::int64_t begin, std::int64_t end, std::vector<Item>& items) const {
  int* const cols = m_col_idxs.data();
  for (std::int64_t i = begin; i < end; ++i) {
    const std::size_t first = m_row_ptrs(i), length = m_row_ptrs(i + 1) - first;
    if (std::is_sorted(cols + first, cols + first + length)) continue;
    for (std::size_t k = 0; k < length; ++k) items[k] = {cols[first + k], k, m_values(first + k)};
    const auto before = [](const Item& a, const Item& b) {
      return a.col != b.col ? a.col < b.col : a.position < b.position;
    };
    std::sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(length), before);
    for (std::size_t k = 0; k < length; ++k) {
      cols[first + k] = items[k].col;
      m_values(first + k) = items[k].value;
    }
  }
}

template <class Scalar>
void CsrAssembly<Scalar>::sum_duplicates() {
  const std::int64_t merged = count_duplicates();
  if (merged == 0) return;
  const std::int64_t rows = m_header.num_rows;
  check_budget(2, static_cast<std::int64_t>(m_col_idxs.extent(0)), 0);
  const auto ptrs =
      allocate_zero<HostVector<std::size_t>>(Host(), "prekond::matrix_market::row_ptrs", rows + 1);
  std::vector<std::int64_t> bad_row(num_ranges(), rows);
  parallel_each("prekond::matrix_market::sum_duplicates", num_ranges(), [&](std::size_t r) {
    for (std::int64_t i = m_ranges[r]; i < m_ranges[r + 1]; ++i) {
      const std::size_t first = m_row_ptrs(i), length = sum_in_row(i);
      ptrs(i + 1) = length;
      const Scalar* const values = m_values.data() + first;
      if (!std::all_of(values, values + length, [](const Scalar& x) { return is_finite(x); })) {
        bad_row[r] = std::min(bad_row[r], i);
      }
    }
  });
  const std::int64_t bad = *std::min_element(bad_row.begin(), bad_row.end());
  if (bad < rows) {
    fail_in_file(m_path, 0,
                 "entries of row " + std::to_string(m_first_row + bad + 1) +
                     " stand in the file more than once, and their sum is too large for a number");
  }
  std::partial_sum(ptrs.data(), ptrs.data() + rows + 1, ptrs.data());
  close_gaps(ptrs);
}

/// How many entries of the matrix repeat the one before; sets m_duplicates.
template <class Scalar>
std::int64_t CsrAssembly<Scalar>::count_duplicates() {
  std::vector<std::int64_t> merged(num_ranges()), in_file(num_ranges());
  parallel_each("prekond::matrix_market::count_duplicates", num_ranges(), [&](std::size_t r) {
    std::int64_t all = 0, stored = 0;  // not counted in the vectors, whose elements share a cache line
    for (std::int64_t i = m_ranges[r]; i < m_ranges[r + 1]; ++i) {
      for (std::size_t k = m_row_ptrs(i) + 1; k < m_row_ptrs(i + 1); ++k) {
        if (m_col_idxs(k) != m_col_idxs(k - 1)) continue;
        ++all;
        if (is_in_file(i, m_col_idxs(k))) ++stored;
      }
    }
    merged[r] = all;
    in_file[r] = stored;
  });
  m_duplicates = std::accumulate(in_file.begin(), in_file.end(), std::int64_t(0));
  return std::accumulate(merged.begin(), merged.end(), std::int64_t(0));
}

/// Moves the sums of all rows together; `ptrs` says where the rows begin then.
template <class Scalar>
void CsrAssembly<Scalar>::close_gaps(const HostVector<std::size_t>& ptrs) {
  const std::size_t nnz = ptrs(ptrs.extent(0) - 1);
  const auto cols = allocate<HostVector<int>>(Host(), "prekond::matrix_market::col_idxs", nnz);
  const auto values = allocate<HostVector<Scalar>>(Host(), "prekond::matrix_market::values", nnz);
  parallel_each("prekond::matrix_market::close_gaps", num_ranges(), [&](std::size_t r) {
    for (std::int64_t i = m_ranges[r]; i < m_ranges[r + 1]; ++i) {
      const std::size_t length = ptrs(i + 1) - ptrs(i);
      std::copy_n(m_col_idxs.data() + m_row_ptrs(i), length, cols.data() + ptrs(i));
      std::copy_n(m_values.data() + m_row_ptrs(i), length, values.data() + ptrs(i));
    }
  });
  m_row_ptrs = ptrs;
  m_col_idxs = cols;
  m_values = values;
}

/// Moves the sums to the front of the row; returns their number.
template <class Scalar>
std::size_t CsrAssembly<Scalar>::sum_in_row(std::int64_t row) const {
  const std::size_t first = m_row_ptrs(row), last = m_row_ptrs(row + 1);
  std::size_t end = first;
  for (std::size_t k = first; k < last; ++k) {
    if (end > first && m_col_idxs(end - 1) == m_col_idxs(k)) {
      m_values(end - 1) += m_values(k);
    } else {
      m_col_idxs(end) = m_col_idxs(k);
      m_values(end) = m_values(k);
      ++end;
    }
  }
  return end - first;
}

void check_vector_header(const std::string& path, const MarketHeader& header, std::int64_t expected_length) {
  const std::int64_t length = header.num_cols == 1 ? header.num_rows : header.num_cols;
  const bool is_vector = header.num_cols == 1 || header.num_rows == 1;
  const bool any = expected_length < 0;
  if (is_vector && (any || length == expected_length)) return;
  const std::string wanted = any ? "a vector" : "a vector of length " + std::to_string(expected_length);
  fail_in_file(path, header.size_line,
               (is_vector ? "holds a vector of length " + std::to_string(length)
                          : "holds " + header.size_text() + " numbers") +
                   ", but " + wanted + " is wanted");
}

template <class Scalar>
using HostCsr = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

MatrixMarketInfo info_of(const MarketHeader& header) {
  return {
      header.coordinate ? "coordinate" : "array", header.field, header.symmetry, header.num_entries, 0, 0};
}

template <class Scalar>
HostCsr<Scalar> read_matrix(std::unique_ptr<MarketInput> input, MatrixMarketInfo* info) {
  const std::string path = input->path();
  MarketHeader header;
  MarketEntries<Scalar> entries;
  {
    MarketReader<Scalar> reader(std::move(input));
    entries = reader.read_entries();
    header = reader.header();
  }  // frees the reader's buffers
  MatrixMarketInfo found = info_of(header);
  found.entries_in_file = entries.num_lines;
  found.inflated_bytes = entries.inflated_bytes;
  CsrAssembly<Scalar> assembly(path, header, std::move(entries));
  const auto matrix = assembly();
  found.duplicates = assembly.duplicates();
  if (info != nullptr) *info = found;
  return matrix;
}

}  // namespace

template <class Scalar>
HostCsr<Scalar> assemble_market_rows(const std::string& path, const MarketHeader& header,
                                     std::int64_t first_row, std::int64_t num_rows,
                                     std::vector<std::vector<MarketEntry<Scalar>>>&& entries) {
  MarketHeader rows = header;
  rows.symmetry = "general";  // both triangles are there
  rows.num_rows = num_rows;
  MarketEntries<Scalar> own;
  own.pieces = std::move(entries);
  own.inflated_bytes = std::numeric_limits<std::int64_t>::max() / 64;  // the whole was checked
  for (auto& piece : own.pieces) {
    own.num_entries += static_cast<std::int64_t>(piece.size());
    for (auto& entry : piece) entry.row -= static_cast<int>(first_row);
  }
  return CsrAssembly<Scalar>(path, rows, std::move(own), first_row)();
}

template <class Scalar>
HostCsr<Scalar> read_matrix_market_by_blocks(const std::string& path, std::size_t block_size,
                                             MatrixMarketInfo* info) {
  return read_matrix<Scalar>(std::make_unique<MarketInput>(path, block_size), info);
}

}  // namespace impl

MatrixMarketFile::MatrixMarketFile(const std::string& path)
    : m_input(std::make_unique<impl::MarketInput>(path, impl::MarketInput::default_block_size)),
      m_info(impl::info_of(m_input->header())) {}
MatrixMarketFile::~MatrixMarketFile() = default;
MatrixMarketFile::MatrixMarketFile(MatrixMarketFile&&) noexcept = default;
MatrixMarketFile& MatrixMarketFile::operator=(MatrixMarketFile&&) noexcept = default;

template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> MatrixMarketFile::read(MatrixMarketInfo* info) {
  if (!m_input) throw std::logic_error("a MatrixMarketFile is read once");
  return impl::read_matrix<Scalar>(std::move(m_input), info);
}

template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> read_matrix_market(const std::string& path,
                                                                          MatrixMarketInfo* info) {
  return MatrixMarketFile(path).read<Scalar>(info);
}

MatrixMarketInfo read_matrix_market_info(const std::string& path) {
  constexpr std::size_t block_size = 65536;
  return impl::info_of(impl::MarketInput(path, block_size).header());
}

template <class Scalar>
Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::HostSpace> read_vector_market(
    const std::string& path, std::int64_t expected_length) {
  impl::MarketReader<Scalar> reader(
      std::make_unique<impl::MarketInput>(path, impl::MarketInput::default_block_size));
  const impl::MarketHeader& header = reader.header();
  impl::check_vector_header(path, header, expected_length);
  const auto entries = reader.read_entries();
  const std::int64_t length = header.num_rows * header.num_cols;
  if (entries.bytes() + length * static_cast<std::int64_t>(sizeof(Scalar)) >
      impl::memory_budget(entries.inflated_bytes)) {
    impl::fail_in_file(path, header.size_line,
                       "the header announces a vector of length " + std::to_string(length) +
                           " while the file holds only " + std::to_string(entries.num_lines) +
                           " entries: no memory is spent on so many zeros");
  }
  const auto x =
      allocate_zero<impl::HostVector<Scalar>>(impl::Host(), "prekond::matrix_market::vector", length);
  for (const auto& piece : entries.pieces) {
    for (const auto& entry : piece) {
      Scalar& sum = x(static_cast<std::size_t>(entry.row) + static_cast<std::size_t>(entry.col));
      sum += entry.value;
      if (!is_finite(sum)) {
        impl::fail_in_file(path, 0,
                           "entry " + std::to_string(entry.row + entry.col + 1) +
                               " stands in the file more than once, and the sum is too large for a number");
      }
    }
  }
  return x;
}

#define PREKOND_MATRIX_MARKET_FILE(Scalar)                                                        \
  template CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> MatrixMarketFile::read<Scalar>( \
      MatrixMarketInfo*);
PREKOND_MATRIX_MARKET_FILE(double)
PREKOND_MATRIX_MARKET_FILE(float)
PREKOND_MATRIX_MARKET_FILE(Kokkos::complex<double>)
PREKOND_MATRIX_MARKET_FILE(Kokkos::complex<float>)

template impl::HostCsr<double> impl::assemble_market_rows<double>(
    const std::string&, const MarketHeader&, std::int64_t, std::int64_t,
    std::vector<std::vector<MarketEntry<double>>>&&);
template impl::HostCsr<Kokkos::complex<double>> impl::assemble_market_rows<Kokkos::complex<double>>(
    const std::string&, const MarketHeader&, std::int64_t, std::int64_t,
    std::vector<std::vector<MarketEntry<Kokkos::complex<double>>>>&&);

template CsrMatrix<double, int, std::size_t, Kokkos::HostSpace> impl::read_matrix_market_by_blocks<double>(
    const std::string&, std::size_t, MatrixMarketInfo*);
template CsrMatrix<float, int, std::size_t, Kokkos::HostSpace> impl::read_matrix_market_by_blocks<float>(
    const std::string&, std::size_t, MatrixMarketInfo*);
template CsrMatrix<Kokkos::complex<double>, int, std::size_t, Kokkos::HostSpace>
impl::read_matrix_market_by_blocks<Kokkos::complex<double>>(const std::string&, std::size_t,
                                                            MatrixMarketInfo*);
template CsrMatrix<Kokkos::complex<float>, int, std::size_t, Kokkos::HostSpace>
impl::read_matrix_market_by_blocks<Kokkos::complex<float>>(const std::string&, std::size_t,
                                                           MatrixMarketInfo*);

template CsrMatrix<double, int, std::size_t, Kokkos::HostSpace> read_matrix_market<double>(const std::string&,
                                                                                           MatrixMarketInfo*);
template CsrMatrix<float, int, std::size_t, Kokkos::HostSpace> read_matrix_market<float>(const std::string&,
                                                                                         MatrixMarketInfo*);
template CsrMatrix<Kokkos::complex<double>, int, std::size_t, Kokkos::HostSpace>
read_matrix_market<Kokkos::complex<double>>(const std::string&, MatrixMarketInfo*);
template CsrMatrix<Kokkos::complex<float>, int, std::size_t, Kokkos::HostSpace>
read_matrix_market<Kokkos::complex<float>>(const std::string&, MatrixMarketInfo*);

template Kokkos::View<double*, Kokkos::LayoutLeft, Kokkos::HostSpace> read_vector_market<double>(
    const std::string&, std::int64_t);
template Kokkos::View<float*, Kokkos::LayoutLeft, Kokkos::HostSpace> read_vector_market<float>(
    const std::string&, std::int64_t);
template Kokkos::View<Kokkos::complex<double>*, Kokkos::LayoutLeft, Kokkos::HostSpace>
read_vector_market<Kokkos::complex<double>>(const std::string&, std::int64_t);
template Kokkos::View<Kokkos::complex<float>*, Kokkos::LayoutLeft, Kokkos::HostSpace>
read_vector_market<Kokkos::complex<float>>(const std::string&, std::int64_t);

}  // namespace prekond
