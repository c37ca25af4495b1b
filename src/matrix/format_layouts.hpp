// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The facts about a pattern that advice and makers of formats find.
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include "core/half.hpp"
#include "matrix/dia_matrix.hpp"

#include <optional>

namespace prekond::impl::formats {

/// 0, of a stored type too.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION Value zero_of() {
  if constexpr (std::is_constructible_v<Value, Kokkos::complex<float>>)
    return Value(Kokkos::complex<float>(0));
  else
    return Value(0.0f);
}

/// At most max_padding places for each entry and row? Advice does not choose a format that a maker refuses.
inline bool fits_padding(double places, std::int64_t nnz, std::int64_t num_rows, double max_padding) {
  return places <= max_padding * (double(nnz) + double(num_rows));
}

/// Which of the num_rows + num_cols diagonals that there could be have an entry.
template <class Space>
struct Diagonals {
  Vector<int, Space> marks;
  Vector<std::size_t, Space> places;
  std::size_t count = 0;
};

/// Fences.
template <class Space>
Diagonals<Space> mark_diagonals(const Space& space, const CsrGraphView<Space>& pattern);

/// The offsets of the marked ones. Fences. \throws InputError where they are too many, with values of
/// value_bytes
template <class Space>
Vector<int, Space> diagonal_offsets(const Space& space, const CsrGraphView<Space>& pattern,
                                    const Diagonals<Space>& diagonals, std::size_t value_bytes,
                                    const DiaOptions& options);

/// The rows of SELL's chunks, and how many chunk columns each chunk has.
template <class Space>
struct Chunks {
  Vector<int, Space> rows;  ///< by position; empty where that is the row
  Vector<std::size_t, Space> chunk_ptrs;
  std::size_t columns = 0;
  int sigma = 1;
  double places() const { return double(columns) * SellStructure<Space>::chunk_rows; }
};

/// By the sigma of the options, or the one that they leave open. Fences.
template <class Space>
Chunks<Space> choose_chunks(const Space& space, const CsrGraphView<Space>& pattern,
                            const SellOptions& options);

/// As prekond::make_sell_structure, which chooses the chunks first.
template <class Space>
SellStructure<Space> make_sell_structure(const Space& space, const CsrGraphView<Space>& pattern,
                                         const SellOptions& options, const Chunks<Space>& chunks);

/// The facts that advice has found about a pattern and its maker needs again; empty without advice.
template <class Space>
struct Found {
  std::optional<Diagonals<Space>> diagonals;
  std::optional<Chunks<Space>> chunks;
};

/// May a choice be BCSR?
enum class BlocksAre { allowed, refused };

/// prekond::advise_format, which leaves in `found` what the maker of the format goes on from.
template <class Space>
FormatAdvice advise_format(const Space& space, const CsrGraphView<Space>& pattern, std::size_t value_bytes,
                           Found<Space>& found, BlocksAre blocks);

/// Where a product runs. A host that is compiled for without fused operations has no wide vectors either (of
/// x86 neither is in the baseline), and adds diagonals slower than rows.
enum class ProductTarget { device, vector_host, plain_host };

template <class Space>
inline constexpr ProductTarget product_target = !is_host_space<Space>    ? ProductTarget::device
                                                : has_fused_multiply_add ? ProductTarget::vector_host
                                                                         : ProductTarget::plain_host;

/// The rule of advise_format, for bytes and counts that stand in the advice; which formats would be refused.
void choose_format(FormatAdvice& advice, ProductTarget target, bool sell_is_refused, bool dia_is_refused);
/// Then: blocks in place of that, where they pay. \pre they are full
void choose_blocks(FormatAdvice& advice);

/// prekond::make_sell and make_dia with their options' defaults, from what advice has found out, which is
/// released.
template <class Value, class Space>
SellMatrix<Value, Space> make_sell(const Space& space, const CsrView<Value, Space>& a, Found<Space>& found);
template <class Value, class Space>
DiaMatrix<Value, Space> make_dia(const Space& space, const CsrView<Value, Space>& a, Found<Space>& found);

/// Values into a layout that is there, of the same pattern. Do not fence.
template <class Value, class Space>
SellMatrix<Value, Space> fill_sell(const Space& space, const CsrView<Value, Space>& a,
                                   const SellStructure<Space>& structure);
template <class Value, class Space>
DiaMatrix<Value, Space> fill_dia(const Space& space, const CsrView<Value, Space>& a,
                                 const Vector<int, Space>& offsets);

template <class Space>
struct JaggedDiagonals {
  Vector<int, Space> rows;
  Vector<std::size_t, Space> diagonal_ptrs;
};

/// Rows by length, the longest first, equals in their order; where each diagonal begins. Fences.
template <class Space>
JaggedDiagonals<Space> jagged_diagonals(const Space& space, const CsrGraphView<Space>& pattern);

}  // namespace prekond::impl::formats
