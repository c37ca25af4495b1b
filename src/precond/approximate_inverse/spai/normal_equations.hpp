// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Long columns of the static SPAI by their normal equations: Cholesky takes n2^3 / 3 operations, where a QR
/// takes 2 n1 n2^2 - 2 n2^3 / 3.
#include "dense/panel_cholesky.hpp"
#include "matrix/find_entry.hpp"
#include "precond/approximate_inverse/fsai/columns.hpp"

#include "precond/approximate_inverse/spai/gram.hpp"
#include "precond/approximate_inverse/spai/kernels.hpp"

namespace prekond::impl::spai {

/// The workspace of a column with up to n1 rows and n2 entries.
struct NormalArrays {
  PanelCholesky<double> system;
  double* x;
  double* change;
  double* work;
  std::size_t* begins;
  int* lengths;
  int* cols;
  int* is_sound;
  FindArrays find;
  int* rows;         ///< I
  double* residual;  ///< in these
  std::size_t bytes;

  /// \pre the base is aligned to 16 bytes, or null
  KOKKOS_FUNCTION NormalArrays(char* base, int n1, int n2) : find(base, n1, n2) {
    const int order = PanelCholesky<double>::padded(n2);
    const auto n = static_cast<std::size_t>(order);
    bytes = find.bytes;
    system.order = order;
    system.entries = place_array<double>(base, bytes, PanelCholesky<double>::size(n2));
    system.reciprocals = place_array<double>(base, bytes, n);
    system.dropped = place_array<DroppedPivots<double>>(base, bytes, 1);
    x = place_array<double>(base, bytes, n);
    change = place_array<double>(base, bytes, n);
    work = place_array<double>(base, bytes, n);
    begins = place_array<std::size_t>(base, bytes, n);
    lengths = place_array<int>(base, bytes, n);
    cols = place_array<int>(base, bytes, n);
    is_sound = place_array<int>(base, bytes, 1);
    rows = place_array<int>(base, bytes, power_of_two_from(static_cast<std::size_t>(n1)));
    residual = place_array<double>(base, bytes, static_cast<std::size_t>(n1));
  }
};

/// One column by its normal equations. The solution is corrected once by the residual, which is formed with
/// the local matrix itself: an error of the size eps cond^2 becomes one of a QR's.
template <class Scalar, class Space, class LaneGroup>
class NormalColumn {
 public:
  KOKKOS_FUNCTION NormalColumn(const LaneGroup& lane_group, const CsrView<Scalar, Space>& b,
                               const CsrView<Scalar, Space>& transposed, const CsrView<double, Space>& gram,
                               const NormalArrays& arrays, int n1, int n2)
      : m_lane_group(lane_group),
        m_b(b),
        m_transposed(transposed),
        m_gram(gram),
        m_n1(n1),
        m_n2(n2),
        m_arrays(arrays) {}

  /// Solves min ||A(I, J) x - e_k(I)|| for J = cols[0 .. n2). \returns whether x is as good as that of a QR
  KOKKOS_FUNCTION bool solve(int k, const int* cols, std::int64_t limit) const {
    if (!factor(cols)) return false;
    find_rows(cols, limit);
    multiply_by_transpose(cols, m_arrays.x, [&](int row) { return row == k ? 1.0 : 0.0; });
    m_arrays.system.solve(m_lane_group, m_arrays.x, m_arrays.work);
    find_residual(k, cols);
    multiply_by_transpose(cols, m_arrays.change, [&](int row) {
      const int i = find_in(m_arrays.rows, m_n1, row);
      return i < 0 ? 0.0 : m_arrays.residual[i];
    });
    m_arrays.system.solve(m_lane_group, m_arrays.change, m_arrays.work);
    return correct();
  }

  /// Unknown c, of the scaled matrix.
  KOKKOS_FORCEINLINE_FUNCTION double operator[](int c) const { return m_arrays.x[c]; }

 private:
  /// The least part of a column's square that the columns before may leave: below it rounding takes more than
  /// a correction mends.
  static constexpr double pivot_floor = 0x1p-30;
  /// The largest correction relative to the solution.
  static constexpr double largest_change = 0x1p-20;

  KOKKOS_FUNCTION bool factor(const int* cols) const {
    const fsai::RowColumns<double, Space, LaneGroup> columns(m_lane_group, m_gram, m_n2, m_arrays.begins,
                                                             m_arrays.lengths, m_arrays.cols);
    columns.read(cols, [](int, int) {});
    m_arrays.system.clear(m_lane_group, m_n2);
    columns.gather([](int c) { return c + 1; },
                   [&](int c, int d, std::size_t entry) { m_arrays.system(c, d) = m_gram.values(entry); });
    m_arrays.system.factor(m_lane_group, pivot_floor);
    return m_arrays.system.dropped->count == 0;
  }

  KOKKOS_FUNCTION void find_rows(const int* cols, std::int64_t limit) const {
    const FindArrays& find = m_arrays.find;
    const ProblemColumns<Scalar, Space, LaneGroup> columns(m_lane_group, m_b, m_n2, find.begins,
                                                           find.lengths);
    columns.read(cols, [](int, int) {});
    const IndexTable table(find.table, find.table_size, find.count, m_arrays.rows);
    table.clear(m_lane_group);
    columns.for_entries(limit, [&](int, std::size_t, int index) { table.insert(m_lane_group, index); });
    sort_list(m_lane_group, m_arrays.rows, m_n1);
  }

  /// y = A(:, J)^T v, a column by a vector of lanes, where `v(i)` is the entry of row i; zeros after it.
  template <class Entry>
  KOKKOS_FUNCTION void multiply_by_transpose(const int* cols, double* y, const Entry& v) const {
    for_each_by_vectors(m_lane_group, m_arrays.system.order, [&](const auto& vector, int c) {
      const double sum = c < m_n2 ? sum_of_row(vector, m_b, cols[c], v) : 0.0;
      vector.once([&] { y[c] = sum; });
    });
  }

  /// The residual e_k - A(I, J) x, a row by a vector of lanes.
  KOKKOS_FUNCTION void find_residual(int k, const int* cols) const {
    for_each_by_vectors(m_lane_group, m_n1, [&](const auto& vector, int i) {
      const int row = m_arrays.rows[i];
      const double sum = sum_of_row(vector, m_transposed, row, [&](int col) {
        const int c = find_in(cols, m_n2, col);
        return c < 0 ? 0.0 : m_arrays.x[c];
      });
      vector.once([&] { m_arrays.residual[i] = (row == k ? 1.0 : 0.0) - sum; });
    });
  }

  /// The sum of a row's entries times the factors of their columns.
  template <class Vector, class Factor>
  KOKKOS_FORCEINLINE_FUNCTION static double sum_of_row(const Vector& vector, const CsrView<Scalar, Space>& a,
                                                       int row, const Factor& factor) {
    return vector.template sum<double>([&](int lane) {
      double sum = 0;
      for (std::size_t p = a.row_ptrs(row) + static_cast<std::size_t>(lane); p < a.row_ptrs(row + 1);
           p += static_cast<std::size_t>(vector.size()))
        sum += double(a.values(p)) * factor(a.col_idxs(p));
      return sum;
    });
  }

  /// x += change. \returns whether x was close to the solution already, and is not zero
  KOKKOS_FUNCTION bool correct() const {
    if (m_lane_group.group() == 0) {
      const auto& vector = m_lane_group.vector();
      const double change = square_of(vector, m_arrays.change), whole = square_of(vector, m_arrays.x);
      // Not a number is not small either.
      const bool sound =
          whole > 0 && Kokkos::isfinite(whole) && change <= largest_change * largest_change * whole;
      vector.region([&](int lane) {
        for (int c = lane; c < m_n2; c += vector.size()) m_arrays.x[c] += m_arrays.change[c];
        if (lane == 0) *m_arrays.is_sound = sound;
      });
    }
    m_lane_group.join();
    return *m_arrays.is_sound != 0;
  }

  template <class Vector>
  KOKKOS_FUNCTION double square_of(const Vector& vector, const double* y) const {
    return vector.template sum<double>([&](int lane) {
      double sum = 0;
      for (int c = lane; c < m_n2; c += vector.size()) sum += y[c] * y[c];
      return sum;
    });
  }

  LaneGroup m_lane_group;
  const CsrView<Scalar, Space>& m_b;
  const CsrView<Scalar, Space>& m_transposed;
  const CsrView<double, Space>& m_gram;
  int m_n1;
  int m_n2;
  NormalArrays m_arrays;
};

/// Solves the columns of a bin by their normal equations, and leaves those where these are too inaccurate, or
/// whose solutions are zero or out of range, as they are.
template <class Scalar, class Space>
struct SolveNormalEquations : ColumnKernel<Space, Unit::slab> {
  using Base = ColumnKernel<Space, Unit::slab>;
  using typename Base::LaneGroup;
  // 128 registers a lane: a team of 512 lanes a processor, or two of 256.
  using Policy =
      std::conditional_t<Base::host, KernelPolicy<Space>, KernelPolicy<Space, Kokkos::LaunchBounds<512, 1>>>;
  using Member = typename Policy::member_type;
  static constexpr int longest_of_small_team = 1024;

  CsrView<Scalar, Space> b;
  CsrView<Scalar, Space> transposed;
  CsrView<double, Space> gram;
  VectorView<const double, Space> scale;
  CsrGraphView<Space> lists;
  VectorView<const int, Space> n1;
  VectorView<Scalar, Space> values;
  VectorView<unsigned char, Space> status;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char* far, int k) { do_column(LaneGroup(team), near, far, k); });
  }

  /// By the kernel's lane group, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_column(const AnyLaneGroup& lane_group, char* near, char*, int k) const {
    const std::size_t begin = lists.row_ptrs(k);
    const int n2 = static_cast<int>(lists.row_ptrs(k + 1) - begin);
    const int* const cols = lists.col_idxs.data() + begin;
    const NormalArrays arrays(near, n1(k), n2);
    const NormalColumn<Scalar, Space, AnyLaneGroup> column(lane_group, b, transposed, gram, arrays, n1(k),
                                                           n2);
    if (!column.solve(k, cols, lists.num_rows)) return;
    lane_group.once([&] { status(k) = Status::solved; });
    lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += lane_group.size()) {
        values(begin + c) = static_cast<Scalar>(column[c] * scale(cols[c]));
        if (!Kokkos::isfinite(values(begin + c))) status(k) = Status::again;
      }
    });
  }
};

}  // namespace prekond::impl::spai
