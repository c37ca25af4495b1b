// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sums that tell in one pass over the entries whether each one has its mirror image.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include "core/row_teams.hpp"
#include "matrix/counter_hash.hpp"

#include <cstdint>

namespace prekond::impl {

/// The number of an entry off the diagonal, mixed of its place and of `bits`, and below the diagonal the
/// negative of its mirror image's. The sum over pairs of equal bits is 0 modulo 2^64, and over others with a
/// probability of about 2^-64.
KOKKOS_INLINE_FUNCTION std::uint64_t pair_number(std::int64_t i, std::int64_t j, std::uint64_t bits) {
  const auto low = static_cast<std::uint64_t>(i < j ? i : j),
             high = static_cast<std::uint64_t>(i < j ? j : i);
  const std::uint64_t mixed = mix_bits((low << 32 | high) * 0xd1342543de82ef95u + bits);
  return i < j ? mixed : ~mixed + 1;
}

KOKKOS_INLINE_FUNCTION std::uint64_t bits_of(double value) {
  return Kokkos::bit_cast<std::uint64_t>(value + 0.0);  // the same for both zeros
}

/// The number of an entry with its value, which is conjugated below the diagonal. A real diagonal has 0.
template <class Number>
KOKKOS_INLINE_FUNCTION std::uint64_t entry_number(std::int64_t i, std::int64_t j, Number value) {
  if (i == j && imaginary_part(value) == 0) return 0;
  std::uint64_t bits = bits_of(real_part(value));
  if constexpr (is_complex<Number>)
    bits += mix_bits(bits_of(i < j ? imaginary_part(value) : -imaginary_part(value)));
  return pair_number(i, j, bits);
}

/// The sum of the numbers of a pattern's places.
template <class Space>
struct SumOfPairs {
  CsrGraphView<Space> pattern;

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team, std::uint64_t& sum) const {
    RowTeams<Space>{pattern.num_rows}.for_each_row(team, [&](std::int64_t i) {
      std::uint64_t of_row = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, pattern.row_ptrs(i), pattern.row_ptrs(i + 1)),
          [&](std::size_t k, std::uint64_t& mine) {
            const int j = pattern.col_idxs(k);
            if (j != i) mine += pair_number(i, j, 0);
          },
          of_row);
      Kokkos::single(Kokkos::PerThread(team), [&] { sum += of_row; });
    });
  }
};

}  // namespace prekond::impl
