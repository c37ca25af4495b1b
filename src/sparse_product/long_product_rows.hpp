// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The columns of a sparse product's rows that are too long for scratch: a bit for each column of B, set by
/// all products at a time, whatever rows of A and B they are of.
#include <prekond/matrix/csr_graph.hpp>

#include "core/concurrent_words.hpp"
#include "sparse_product/listed_rows.hpp"

#include <cstdint>
#include <limits>

namespace prekond::impl::spgemm {

/// How many products entry t has a part in.
template <class Space>
struct ProductsOfEntry {
  EntriesOfRows<Space> entries;
  CsrGraphView<Space> b;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t t) const {
    const int k = entries.a.col_idxs(entries.place(entries.row_of(t), t));
    return b.row_ptrs(k + 1) - b.row_ptrs(k);
  }
};

/// Sets the bit of a product's column.
template <class Space>
struct MarkColumns {
  EntriesOfRows<Space> entries;
  CsrGraphView<Space> b;
  VectorView<const std::size_t, Space> begins;  ///< of the products, by entry
  std::int64_t words;                           ///< of a row
  VectorView<unsigned, Space> bits;
  KOKKOS_FUNCTION void operator()(std::int64_t product) const {
    const auto p = static_cast<std::size_t>(product);
    const std::int64_t t = segment_of<Space>(begins, p);
    const std::int64_t row = entries.row_of(t);
    const int k = entries.a.col_idxs(entries.place(row, t));
    const auto col = static_cast<unsigned>(b.col_idxs(b.row_ptrs(k) + (p - begins(t))));
    unsigned* const word = &bits(row * words + col / 32);
    const unsigned bit = 1u << col % 32;
    if ((concurrent_load(*word) & bit) == 0) Kokkos::atomic_fetch_or(word, bit);
  }
};

/// places(w) = bits that are set before word w.
template <class Space>
struct CountBits {
  VectorView<const unsigned, Space> bits;
  VectorView<int, Space> places;
  KOKKOS_FUNCTION void operator()(std::int64_t w, int& sum, bool final) const {
    if (final) places(w) = sum;
    if (w < static_cast<std::int64_t>(bits.extent(0))) sum += Kokkos::popcount(bits(w));
  }
};

template <class Space>
struct LengthsOfLongRows {
  VectorView<const int, Space> rows, places;
  std::int64_t words;
  VectorView<int, Space> length;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    length(rows(k)) = places((k + 1) * words) - places(k * words);
  }
};

template <class Space>
struct WriteLongRows {
  VectorView<const int, Space> rows, places;
  VectorView<const unsigned, Space> bits;
  std::int64_t words;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t w) const {
    const std::int64_t row = w / words;
    std::size_t to = row_ptrs(rows(row)) + (places(w) - places(row * words));
    for (unsigned left = bits(w); left != 0; left &= left - 1)
      col_idxs(to++) = static_cast<int>((w - row * words) * 32) + Kokkos::countr_zero(left);
  }
};

/// Words of a row's bits.
inline std::int64_t words_of_columns(std::int64_t num_cols) {
  return (num_cols + 31) / 32;
}

/// The lengths of these rows, and their columns, ascending, where there is room for them. `room`: bytes of
/// memory for the bits and for 8 bytes an entry of A, at least those of a row. Cost: a reading of B's row for
/// each entry, and a few readings of the bits, num_cols(B) a row. Fences.
template <class Space>
void find_long_rows(const Space& space, const CsrGraphView<Space>& a, const CsrGraphView<Space>& b,
                    const VectorView<const int, Space>& rows, std::int64_t room,
                    const VectorView<int, Space>& length,
                    const VectorView<const std::size_t, Space>& row_ptrs,
                    const VectorView<int, Space>& col_idxs) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const std::int64_t words = words_of_columns(b.num_cols);
  const std::int64_t bytes = words * static_cast<std::int64_t>(sizeof(unsigned) + sizeof(int));
  const std::int64_t countable = std::numeric_limits<int>::max() / b.num_cols;  // bits
  const auto count = static_cast<std::int64_t>(rows.extent(0));
  const auto begins_of_all =
      scan_row_lengths(space, "prekond::spgemm::long_entries", count, EntriesOfRows<Space>{a, rows, {}})
          .first;
  const Kokkos::View<std::size_t*, Kokkos::HostSpace> on_host(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::spgemm::long_entries_on_host"), count + 1);
  Kokkos::deep_copy(space, on_host, begins_of_all);
  space.fence("prekond::spgemm::long_entries");
  std::int64_t size = 0;
  for (std::int64_t first = 0; first < count; first += size) {
    const auto fits = [&](std::int64_t n) {
      const auto entries = static_cast<std::int64_t>(on_host(first + n) - on_host(first));
      return n <= countable && n * bytes + entries * static_cast<std::int64_t>(sizeof(std::size_t)) <= room;
    };
    size = 1;
    while (first + size < count && fits(size + 1)) ++size;
    const std::int64_t n = size, all = n * words;
    const auto bits = allocate_zero<Vector<unsigned, Space>>(space, "prekond::spgemm::bits", all);
    const auto places = allocate<Vector<int, Space>>(space, "prekond::spgemm::places", all + 1);
    const EntriesOfRows<Space> entries{
        a, VectorView<const int, Space>(rows.data() + first, static_cast<std::size_t>(n)),
        VectorView<const std::size_t, Space>(begins_of_all.data() + first, static_cast<std::size_t>(n) + 1),
        on_host(first)};
    const auto [begins, products] = scan_row_lengths(
        space, "prekond::spgemm::long_products",
        static_cast<std::int64_t>(on_host(first + n) - on_host(first)), ProductsOfEntry<Space>{entries, b});
    Kokkos::parallel_for("prekond::spgemm::mark_columns",
                         Policy(space, 0, static_cast<std::int64_t>(products)),
                         MarkColumns<Space>{entries, b, begins, words, bits});
    Kokkos::parallel_scan("prekond::spgemm::count_bits", Policy(space, 0, all + 1),
                          CountBits<Space>{bits, places});
    Kokkos::parallel_for("prekond::spgemm::long_lengths", Policy(space, 0, n),
                         LengthsOfLongRows<Space>{entries.rows, places, words, length});
    if (col_idxs.extent(0) > 0)
      Kokkos::parallel_for("prekond::spgemm::write_long_rows", Policy(space, 0, all),
                           WriteLongRows<Space>{entries.rows, places, bits, words, row_ptrs, col_idxs});
    space.fence("prekond::spgemm::find_long_rows");  // begins go away
  }
}

}  // namespace prekond::impl::spgemm
