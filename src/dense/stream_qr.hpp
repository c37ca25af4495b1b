// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <cstddef>

namespace prekond {

/// The data that StreamQr's lanes share, and its memory.
template <class Real, int Rows>
struct StreamLayout {
  static constexpr int in_pack = 16 / int(sizeof(Real));
  static_assert(Rows % in_pack == 0);
  struct alignas(16) Pack {
    Real entries[in_pack];
  };
  /// The column that is eliminated. Two of them take turns, so that one barrier is enough.
  struct Shown {
    Pack column[Rows / in_pack];
    Real square;    ///< the square of the column's norm
    Real diagonal;  ///< R_jj
    Pack unused;    ///< the two lie in other banks
  };

  /// Bytes of the shared data and of R; multiples of 16.
  static constexpr std::size_t shown_bytes = 2 * sizeof(Shown);
  KOKKOS_FUNCTION static std::size_t r_bytes(int n2) {
    const auto n = static_cast<std::size_t>(n2);
    return (n * (n + 3) / 2 * sizeof(Real) + 15) / 16 * 16;
  }
};

/// Householder QR of a dense n1 x n2 matrix B with an appended right-hand side c, whose rows come in blocks:
/// the least-squares problem min ||B x - c||_2 of full rank, for any n1, in memory that does not depend on
/// n1.
///
/// R of the rows so far lies in memory, with Q^T c as its last column; a block of `Rows` rows lies in the
/// registers of the lanes, column c in lane c mod size. Appending the block makes [R; block] upper triangular
/// again: reflector j has R_jj and column j of the block, v = (R_jj - beta, x), so that it changes row j of R
/// and nothing else but the block. A lane needs no sums from others: the owner of column j shows it to all of
/// them, and each has the product with its own column, and the update of it, in its registers.
///
/// Two barriers a column and block; lanes are idle for columns that are done with, half of the time. Cost: 2
/// n1 n2^2 operations, those of a block without the columns before its first entry. Memory: n2 (n2 + 3) / 2
/// numbers, and some rows in scratch. With `Far` R is read a step ahead, for memory that answers late. Golub,
/// Van Loan, Matrix Computations, sections 5.1 and 6.5.3 (appending rows); Demmel, Grigori, Hoemmen, Langou,
/// SIAM J. Sci. Comput. 34 (2012), of which it is the sequential TSQR with the blocks' order as the tree.
///
/// `LaneGroup` keeps registers (core/lane_group.hpp), and has at least (n2 + 1) / Sets lanes.
template <class Real, int Rows, int Sets, class LaneGroup, bool Far = false>
class StreamQr {
 public:
  static_assert(LaneGroup::keeps_registers);
  static constexpr int rows = Rows, sets = Sets;
  /// A smaller norm's reciprocal, or what rounding does to it, is out of range: such a column is as good as
  /// zero.
  static constexpr Real tiny = sizeof(Real) == 4 ? Real(0x1p-60f) : Real(0x1p-500);

  /// Rows of B and c: entries[s][r] is that of column lane + s * size, which is c for n2. Columns after
  /// c are not read.
  struct Block {
    Real entries[Sets][Rows];
  };

  using Layout = StreamLayout<Real, Rows>;

  /// \pre the bases are aligned to 16 bytes
  KOKKOS_FUNCTION StreamQr(const LaneGroup& lane_group, char* shown, char* r, int n2)
      : m_lane_group(lane_group),
        m_n2(n2),
        m_shown(reinterpret_cast<typename Layout::Shown*>(shown)),
        m_r(reinterpret_cast<Real*>(r)) {}

  /// R = 0 and Q^T c = 0.
  KOKKOS_FUNCTION void clear() const {
    const std::size_t n = static_cast<std::size_t>(m_n2) * (m_n2 + 3) / 2;
    for (std::size_t k = m_lane_group.lane(); k < n; k += m_lane_group.size()) m_r[k] = 0;
    m_lane_group.barrier();
  }

  /// Appends the block, of which the columns before `first` are zero. The block is destroyed.
  KOKKOS_FUNCTION void append(Block& block, int first) const {
    show(block, first);
    Real* const row = m_r + row_begin(first);
    Real tops[Sets] = {};
    if constexpr (Far) read_row(row, first, tops);
    m_lane_group.barrier();
    eliminate_from<0>(block, first, row, tops);
  }

  /// Entry (j, c), j <= c, of R; of Q^T c where c is n2.
  KOKKOS_FORCEINLINE_FUNCTION Real& operator()(int j, int c) const { return m_r[row_begin(j) + c]; }

  /// R x = Q^T c: x[s] is the unknown lane + s * size, or 0 after the last one. \pre no R_jj is zero
  KOKKOS_FUNCTION void solve(Real (&x)[Sets]) const {
    Real rest[Sets], reciprocals[Sets];
#pragma unroll
    for (int s = 0; s < Sets; ++s) {
      const int c = column(s);
      rest[s] = c < m_n2 ? (*this)(c, m_n2) : Real(0);
      reciprocals[s] = c < m_n2 ? 1 / (*this)(c, c) : Real(0);
      x[s] = 0;
    }
    for (int j = m_n2; j-- > 0;) {
      Real* const shown = &m_shown[j & 1].square;
#pragma unroll
      for (int s = 0; s < Sets; ++s)
        if (column(s) == j) *shown = x[s] = rest[s] * reciprocals[s];
      m_lane_group.barrier();
      const Real known = *shown;
#pragma unroll
      for (int s = 0; s < Sets; ++s)
        if (column(s) < j) rest[s] -= (*this)(column(s), j) * known;
    }
    m_lane_group.barrier();
  }

 private:
  using Pack = typename Layout::Pack;
  using Shown = typename Layout::Shown;
  static constexpr int in_pack = Layout::in_pack;

  KOKKOS_FORCEINLINE_FUNCTION int column(int s) const {
    return m_lane_group.lane() + s * m_lane_group.size();
  }
  /// The place of row j less j, as its first entry is R_jj.
  KOKKOS_FORCEINLINE_FUNCTION std::size_t row_begin(int j) const {
    return static_cast<std::size_t>(j * (m_n2 + 1) - j * (j - 1) / 2 - j);
  }

  KOKKOS_FORCEINLINE_FUNCTION void show(const Block& block, int j) const {
#pragma unroll
    for (int s = 0; s < Sets; ++s) {
      if (column(s) != j) continue;
      Pack* const shown = m_shown[j & 1].column;
#pragma unroll
      for (int p = 0; p < Rows / in_pack; ++p) {
        Pack pack;
#pragma unroll
        for (int e = 0; e < in_pack; ++e) pack.entries[e] = block.entries[s][p * in_pack + e];
        shown[p] = pack;
      }
    }
  }

  /// The lane's entries of R's row j.
  KOKKOS_FORCEINLINE_FUNCTION void read_row(const Real* row, int j, Real (&tops)[Sets]) const {
#pragma unroll
    for (int s = 0; s < Sets; ++s) {
      const int c = column(s);
      tops[s] = c >= j && c <= m_n2 ? row[c] : Real(0);
    }
  }

  /// The columns from j on; those of the sets before `Set` are done with.
  template <int Set>
  KOKKOS_FORCEINLINE_FUNCTION void eliminate_from(Block& block, int j, Real* row, Real (&tops)[Sets]) const {
    const int next = (Set + 1) * m_lane_group.size(), end = next < m_n2 ? next : m_n2;
    for (; j < end; ++j) {
      eliminate<Set>(block, j, row, tops);
      row += m_n2 - j;
    }
    if constexpr (Set + 1 < Sets) eliminate_from<Set + 1>(block, j, row, tops);
  }

  template <int Set>
  KOKKOS_FORCEINLINE_FUNCTION void eliminate(Block& block, int j, Real* row, Real (&tops)[Sets]) const {
    Shown& shown = m_shown[j & 1];
    Real next[Sets] = {};
    if constexpr (Far) {
      if (j + 1 < m_n2) read_row(row + (m_n2 - j), j + 1, next);
    } else {
      read_row(row, j, tops);
    }
    Real dots[Sets];
    multiply<Set>(block, shown.column, dots);
    if (column(Set) == j) {
      shown.square = dots[Set];
      shown.diagonal = tops[Set];
    }
    m_lane_group.barrier();
    const Real square = shown.square, alpha = shown.diagonal;
    const Real whole = alpha * alpha + square;
    // Not a number goes on, and is found in R.
    if (square > 0 ? whole > tiny * tiny : square != 0) {
      const Real norm = whole * Kokkos::rsqrt(whole);
      const Real beta = alpha < 0 ? norm : -norm, head = alpha - beta;
      const Real tau = 1 / (whole + norm * Kokkos::abs(alpha));
      Real factors[Sets];  // tau v^T y
#pragma unroll
      for (int s = Set; s < Sets; ++s) {
        const int c = column(s);
        factors[s] = 0;
        if (c == j) row[j] = beta;
        if (c <= j || c > m_n2) continue;
        factors[s] = tau * (head * tops[s] + dots[s]);
        row[c] = tops[s] - factors[s] * head;
      }
      subtract<Set>(block, shown.column, factors);
    }
    if (j + 1 < m_n2) show(block, j + 1);
    if constexpr (Far) {
#pragma unroll
      for (int s = 0; s < Sets; ++s) tops[s] = next[s];
    }
    m_lane_group.barrier();
  }

  /// x^T y for the lane's columns y.
  template <int Set>
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(const Block& block, const Pack* x, Real (&dots)[Sets]) {
    Real sums[Sets][2] = {};
#pragma unroll
    for (int p = 0; p < Rows / in_pack; ++p) {
      const Pack pack = x[p];
#pragma unroll
      for (int s = Set; s < Sets; ++s)
#pragma unroll
        for (int e = 0; e < in_pack; ++e)
          sums[s][e % 2] += pack.entries[e] * block.entries[s][p * in_pack + e];
    }
#pragma unroll
    for (int s = Set; s < Sets; ++s) dots[s] = sums[s][0] + sums[s][1];
  }

  /// y := y - factor x
  template <int Set>
  KOKKOS_FORCEINLINE_FUNCTION static void subtract(Block& block, const Pack* x, const Real (&factors)[Sets]) {
#pragma unroll
    for (int p = 0; p < Rows / in_pack; ++p) {
      const Pack pack = x[p];
#pragma unroll
      for (int s = Set; s < Sets; ++s)
#pragma unroll
        for (int e = 0; e < in_pack; ++e) block.entries[s][p * in_pack + e] -= factors[s] * pack.entries[e];
    }
  }

  LaneGroup m_lane_group;
  int m_n2;
  Shown* m_shown;
  Real* m_r;
};

}  // namespace prekond
