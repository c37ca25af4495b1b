// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/preconditioners/ilu0.hpp"
#include "batched/preconditioners/local_solve.hpp"

namespace prekond::impl::batched {

/// M^-1 = M_U M_L, incomplete sparse approximate inverses of the factors of ILU(0), on the patterns of
/// |L|^power and |U|^power, row by row: with J the columns of row i
/// ```
/// m_i(J) L(J, J) = e_i(J)
/// ```
/// and likewise for U, by substitution in the entries of the row, without a dense matrix, so that a row may
/// have any length. A vector of lanes makes a row, one entry a step.
///
/// Cost of an application: two products, without the levels of triangular solves.
///
/// Breakdown: a row with a number that is not finite keeps only its diagonal entry.
///
/// Source: Anzt, Huckle, Braeckle, Dongarra, Parallel Computing 71 (2018), 1-22.
template <class Scalar>
struct IluIsaiPreconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::ilu_isai;
  static constexpr bool symmetric = false, is_identity = false, is_pointwise = false;
  static constexpr unsigned parts = Ilu0Preconditioner<Scalar>::parts | local_triangles;

  Ilu0Preconditioner<Scalar> ilu0;
  RowPattern lower, upper;

  template <class Space>
  static IluIsaiPreconditioner make(const Analysis<Space>& analysis, const BatchedOptions& options) {
    return {Ilu0Preconditioner<Scalar>::make(analysis, options), RowPattern::of(analysis.local),
            RowPattern::of(analysis.local_upper)};
  }
  std::int64_t values_length() const { return lower.num_entries + upper.num_entries; }
  std::int64_t work_length(int) const { return ilu0.values_length(); }
  std::int64_t apply_length() const { return lower.num_rows; }

  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar* work) const {
    const int replaced = ilu0.generate(lane_group, a, work, nullptr);
    return replaced + count_independent_rows(lane_group, lower.num_rows, [&](const auto& vector, int i) {
             const bool sound = lower_row(vector, work, values, i);
             return upper_row(vector, work, values + lower.num_entries, i) && sound ? 0 : 1;
           });
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar* work) const {
    lower.multiply(lane_group, values, from, work);
    upper.multiply(lane_group, values + lower.num_entries, work, to);
  }

 private:
  /// Computes a row of M_L. L has ones on its diagonal: an entry is final once those to its right are.
  template <class Vector>
  KOKKOS_FUNCTION bool lower_row(const Vector& vector, const Scalar* factors, Scalar* values, int i) const {
    const std::size_t first = lower.row_ptrs[i];
    const int count = lower.length(i);
    const int* cols = lower.col_idxs + first;
    Scalar* row = values + first;
    begin_row(vector, cols, count, i, row);
    for (int p = count - 1; p > 0; --p) {
      const int j = cols[p];
      const int begin = ilu0.pattern.begin(j), end = ilu0.pattern.middle[j];
      if (begin < end) subtract(vector, factors, begin, end, row[p], cols, p, row);
    }
    return end_row(vector, cols, count, i, Scalar(1), row);
  }

  /// Computes a row of M_U from the left; the divisions by U's diagonal come last, because no step reads
  /// their results.
  template <class Vector>
  KOKKOS_FUNCTION bool upper_row(const Vector& vector, const Scalar* factors, Scalar* values, int i) const {
    const Scalar* pivots = factors + ilu0.pattern.num_entries;
    const std::size_t first = upper.row_ptrs[i];
    const int count = upper.length(i);
    const int* cols = upper.col_idxs + first;
    Scalar* row = values + first;
    begin_row(vector, cols, count, i, row);
    for (int p = 0; p + 1 < count; ++p) {
      const int j = cols[p];
      const int begin = ilu0.pattern.after_diagonal(j), end = ilu0.pattern.end(j);
      // Without entries there is no barrier, and another lane may still write row[p].
      if (begin < end) subtract(vector, factors, begin, end, row[p] * pivots[j], cols, count, row);
    }
    vector.region([&](int lane) {
      for (int q = lane; q < count; q += vector.size()) row[q] *= pivots[cols[q]];
    });
    return end_row(vector, cols, count, i, pivots[i], row);
  }

  template <class Vector>
  KOKKOS_FORCEINLINE_FUNCTION static void begin_row(const Vector& vector, const int* cols, int count, int i,
                                                    Scalar* row) {
    vector.region([&](int lane) {
      for (int q = lane; q < count; q += vector.size()) row[q] = Scalar(cols[q] == i ? 1 : 0);
    });
  }

  /// row -= multiplier times the factors' entries begin .. end - 1, in the first `count` columns of the row.
  template <class Vector>
  KOKKOS_FORCEINLINE_FUNCTION void subtract(const Vector& vector, const Scalar* factors, int begin, int end,
                                            const Scalar multiplier, const int* cols, int count,
                                            Scalar* row) const {
    vector.region([&](int lane) {
      for (int k = begin + lane; k < end; k += vector.size()) {
        const int q = place_among(cols, count, ilu0.pattern.col_idxs[k]);
        if (q >= 0) row[q] -= multiplier * factors[k];
      }
    });
  }

  /// Returns false where the row keeps only its diagonal entry.
  template <class Vector>
  KOKKOS_FORCEINLINE_FUNCTION static bool end_row(const Vector& vector, const int* cols, int count, int i,
                                                  const Scalar diagonal, Scalar* row) {
    const int bad = vector.template sum<int>([&](int lane) {
      int mine = 0;
      for (int q = lane; q < count; q += vector.size()) mine += !is_finite(row[q]);
      return mine;
    });
    if (bad == 0) return true;
    vector.region([&](int lane) {
      for (int q = lane; q < count; q += vector.size()) row[q] = cols[q] == i ? diagonal : Scalar(0);
    });
    return false;
  }
};

}  // namespace prekond::impl::batched
