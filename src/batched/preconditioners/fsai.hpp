// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/csr.hpp>

#include "batched/preconditioners/factors.hpp"
#include "batched/preconditioners/local_solve.hpp"

namespace prekond::impl::batched {

/// M^-1 = G^H G, G on the lower triangle of the pattern of |A|^power, row by row: with J the columns of row i
/// ```
/// y A(J, J) = e_i(J)     g_i(J) = y / sqrt(y_i)
/// ```
/// so that G A G^H has ones on its diagonal, by Gaussian elimination with row exchanges, a row by a vector of
/// lanes.
///
/// Cost of an application: a product with G, and one with G^H by its rows.
///
/// Breakdown: where y_i is not positive or a number is not finite, the row keeps only 1 / sqrt(a_ii), or 1
/// where a_ii is not positive.
///
/// Source: Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993), 45-58.
template <class Scalar>
struct FsaiPreconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::fsai;
  static constexpr bool symmetric = true, is_identity = false, is_pointwise = false;
  static constexpr unsigned parts = local_lower;
  using Real = real_type_t<Scalar>;

  LocalRows<Scalar> rows;
  RowPattern transposed;
  const int* places;  ///< the place in G of an entry of the transposed pattern

  template <class Space>
  static FsaiPreconditioner make(const Analysis<Space>& analysis, const BatchedOptions&) {
    return {{RowPattern::of(analysis.local), analysis.longest_local_row},
            RowPattern::of(analysis.transposed),
            analysis.places.data()};
  }
  std::int64_t values_length() const { return rows.pattern.num_entries; }
  std::int64_t work_length(int groups) const { return rows.work_length(groups); }
  std::int64_t apply_length() const { return rows.pattern.num_rows; }

  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar* work) const {
    return rows.count(lane_group, a, work, [&](const auto& vector, int i, const LocalSystem<Scalar>& local) {
      return solve_row(vector, a, values, local, i);
    });
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int n, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar* work) const {
    rows.pattern.multiply(lane_group, values, from, work);
    for_elements(lane_group, n, [&](int j) {
      Scalar sum = 0;
      for (std::size_t k = transposed.row_ptrs[j]; k < transposed.row_ptrs[j + 1]; ++k)
        sum += conjugate(values[places[k]]) * work[transposed.col_idxs[k]];
      to[j] = sum;
    });
  }

 private:
  /// Returns 1 where the row keeps only its diagonal entry.
  template <class Vector, class System>
  KOKKOS_FUNCTION int solve_row(const Vector& vector, const System& a, Scalar* values,
                                const LocalSystem<Scalar>& local, int i) const {
    const std::size_t first = rows.pattern.row_ptrs[i];
    const int* cols = rows.pattern.col_idxs + first;
    const bool solved = local.solve(vector);  // the diagonal is its last row
    const Real own = solved ? real_part(local.solution()[local.k - 1]) : Real(0);
    const Real scale = 1 / Kokkos::sqrt(own);
    const bool sound = own > Real(0) && Kokkos::isfinite(scale) && scale > Real(0);
    const Real diagonal = real_part(diagonal_entry<Scalar>(a, i));
    const Real alone = 1 / Kokkos::sqrt(diagonal);
    const bool usable = diagonal > Real(0) && Kokkos::isfinite(alone) && alone > Real(0);
    vector.region([&](int lane) {
      for (int q = lane; q < local.k; q += vector.size()) {
        if (sound)
          values[first + q] = scale * local.solution()[q];
        else
          values[first + q] = cols[q] == i ? Scalar(usable ? alone : Real(1)) : Scalar(0);
      }
    });
    return sound ? 0 : 1;
  }
};

}  // namespace prekond::impl::batched
