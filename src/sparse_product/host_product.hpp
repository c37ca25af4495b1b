// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The pattern of a sparse product on a host, where there is room to find each row once.
#include <prekond/core/error.hpp>

#include "sparse_product/host_rows.hpp"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace prekond::impl::spgemm {

/// \throws InputError for matrices that have no product
inline void check_fit(std::int64_t rows, std::int64_t inner, std::int64_t rows_b, std::int64_t cols) {
  if (inner != rows_b)
    throw InputError("spgemm: " + std::to_string(rows) + " x " + std::to_string(inner) + " times " +
                     std::to_string(rows_b) + " x " + std::to_string(cols));
}

/// \throws InputError for a product's pattern of more than max_bytes
inline void check_size(std::int64_t num_rows, std::size_t nnz, std::int64_t max_bytes) {
  const auto bytes = static_cast<std::int64_t>((num_rows + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  if (bytes <= max_bytes) return;
  throw InputError("spgemm: the product's pattern would have " + std::to_string(nnz) + " entries and take " +
                   std::to_string(bytes) + " bytes, more than the " + std::to_string(max_bytes) + " allowed");
}

struct HostProductTuning {
  static constexpr int most_by_insertion = 32;  ///< columns of a row that are sorted by insertion
};

inline void sort_host_row(int* cols, int length) {
  if (length > HostProductTuning::most_by_insertion) return std::sort(cols, cols + length);
  for (int p = 1; p < length; ++p) {
    const int col = cols[p];
    int place = p;
    for (; place > 0 && cols[place - 1] > col; --place) cols[place] = cols[place - 1];
    cols[place] = col;
  }
}

/// A row of A B. Each thread marks the columns of the row at hand by the row's number.
template <class Space>
struct FindHostRow {
  CsrGraphView<Space> a, b;
  Vector<int, Space> markers;  ///< b.num_cols a thread, zero

  int operator()(int thread, std::int64_t i, int* cols) const {
    int* const marker = markers.data() + static_cast<std::size_t>(thread) * b.num_cols;
    const std::size_t* const rows = b.row_ptrs.data();
    const int* const cols_of_b = b.col_idxs.data();
    const int mark = static_cast<int>(i) + 1;
    int count = 0;
    for (std::size_t e = a.row_ptrs(i), end = a.row_ptrs(i + 1); e < end; ++e) {
      const int k = a.col_idxs(e);
      for (std::size_t q = rows[k]; q < rows[k + 1]; ++q) {
        const int col = cols_of_b[q];
        cols[count] = col;  // without a branch that could not be foreseen
        count += marker[col] != mark;
        marker[col] = mark;
      }
    }
    sort_host_row(cols, count);
    return count;
  }
};

/// The columns in ascending order, the values along.
template <class Scalar>
void sort_host_row(int* cols, Scalar* values, int length) {
  if (length <= HostProductTuning::most_by_insertion) {
    for (int p = 1; p < length; ++p) {
      const int col = cols[p];
      const Scalar value = values[p];
      int place = p;
      for (; place > 0 && cols[place - 1] > col; --place) {
        cols[place] = cols[place - 1];
        values[place] = values[place - 1];
      }
      cols[place] = col;
      values[place] = value;
    }
    return;
  }
  std::vector<std::pair<int, Scalar>> row(static_cast<std::size_t>(length));
  for (int p = 0; p < length; ++p) row[p] = {cols[p], values[p]};
  std::sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  for (int p = 0; p < length; ++p) std::tie(cols[p], values[p]) = row[p];
}

/// A row of A B with its values, each the sum in the order of A's row. Each thread has the place of every
/// column in the row at hand: what is not more than the row's first place is of a row before. The value
/// after those found is 0, which a new column begins with: room for one more is needed.
template <class Scalar, class Space>
struct FindHostProductRow {
  CsrView<Scalar, Space> a, b;
  Vector<unsigned, Space> places;  ///< b.num_cols a thread, zero: one more than each place

  int operator()(int thread, std::int64_t i, std::size_t begin, int* cols, Scalar* values) const {
    unsigned* const place = places.data() + static_cast<std::size_t>(thread) * b.num_cols;
    const std::size_t* const rows = b.row_ptrs.data();
    const int* const cols_of_b = b.col_idxs.data();
    const Scalar* const values_of_b = b.values.data();
    const auto first = static_cast<unsigned>(begin) + 1;
    unsigned count = 0;
    values[0] = Scalar(0);
    for (std::size_t e = a.row_ptrs(i), end = a.row_ptrs(i + 1); e < end; ++e) {
      const int k = a.col_idxs(e);
      const Scalar a_ik = a.values(e);
      for (std::size_t q = rows[k]; q < rows[k + 1]; ++q) {
        const int col = cols_of_b[q];
        const unsigned known = place[col];
        const unsigned own = known < first ? count : known - first;  // no branch, which could not be foreseen
        place[col] = first + own;
        cols[own] = col;
        values[own] += a_ik * values_of_b[q];
        count += known < first;
        values[count] = Scalar(0);
      }
    }
    sort_host_row(cols, values, static_cast<int>(count));
    return static_cast<int>(count);
  }
};

/// The products that make the rows of each chunk, which have no more columns, and one; where the chunks'
/// begin.
template <class Space>
Vector<std::size_t, Space> count_products(const Space& space, const HostChunks<Space>& chunks,
                                          const CsrGraphView<Space>& a, const CsrGraphView<Space>& b) {
  const auto products =
      allocate<Vector<std::size_t, Space>>(space, "prekond::spgemm::products", chunks.count() + 1);
  for_chunks(space, "prekond::spgemm::count_products", chunks, [=](int, std::int64_t chunk) {
    std::size_t sum = 1;
    for (std::size_t e = a.row_ptrs(chunks.begin(chunk)); e < a.row_ptrs(chunks.end(chunk)); ++e)
      sum += b.row_ptrs(a.col_idxs(e) + 1) - b.row_ptrs(a.col_idxs(e));
    products(chunk) = sum;
  });
  begin_each<Space>(products, chunks.count());
  return products;
}

/// The pattern of A B; nothing where the products, of 4 bytes each, would not fit into `slab_bytes`.
/// `check(nnz)` throws where the result would be too large. \pre A has rows
template <class Space, class Check>
std::optional<CsrGraph<Space>> pattern_on_host(const Space& space, const CsrGraphView<Space>& a,
                                               const CsrGraphView<Space>& b, std::int64_t slab_bytes,
                                               const Check& check) {
  const HostChunks<Space> chunks{a.num_rows};
  const Vector<std::size_t, Space> products = count_products<Space>(space, chunks, a, b);
  if (products(chunks.count()) > static_cast<std::size_t>(slab_bytes) / sizeof(int)) return std::nullopt;
  const auto markers = allocate_zero<Vector<int, Space>>(
      space, "prekond::spgemm::markers", static_cast<std::size_t>(chunks.threads(space)) * b.num_cols);
  return collect_host_pattern<Space>(space, "prekond::spgemm", chunks, b.num_cols, products,
                                     FindHostRow<Space>{a, b, markers}, check);
}

/// A B, likewise; its products take the bytes of a value more.
template <class Scalar, class Space, class Check>
std::optional<CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>> product_on_host(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& b,
    std::int64_t slab_bytes, const Check& check) {
  const HostChunks<Space> chunks{a.num_rows};
  const Vector<std::size_t, Space> products = count_products<Space>(space, chunks, a, b);
  const std::size_t all = products(chunks.count());
  if (all > static_cast<std::size_t>(slab_bytes) / (sizeof(int) + sizeof(Scalar)) || all >= ~0u)
    return std::nullopt;
  const auto places = allocate_zero<Vector<unsigned, Space>>(
      space, "prekond::spgemm::places", static_cast<std::size_t>(chunks.threads(space)) * b.num_cols);
  return collect_host_rows<Scalar, Space>(space, "prekond::spgemm", chunks, b.num_cols, products,
                                          FindHostProductRow<Scalar, Space>{a, b, places}, check);
}

}  // namespace prekond::impl::spgemm
