// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/csr.hpp>

#include "batched/preconditioners/factors.hpp"
#include "batched/preconditioners/local_solve.hpp"

namespace prekond::impl::batched {

/// M = A^-1 on a given pattern, row by row: with J the columns of row i,
/// ```
/// m_i(J) A(J, J) = e_i(J)
/// ```
/// by Gaussian elimination with row exchanges, a row by a vector of lanes. The pattern of isai is that of
/// |A|^power; that of block_jacobi has blocks of `block_size` rows, whose inverses M consists of.
///
/// Cost of an application: a product with M.
///
/// Breakdown: where A(J, J) is singular or a number is not finite, the row keeps only the reciprocal of its
/// diagonal entry, or 1.
///
/// Source: Anzt, Huckle, Braeckle, Dongarra, Parallel Computing 71 (2018), 1-22.
template <class Scalar, BatchedPreconditioner Kind>
struct LocalPreconditioner {
  static constexpr BatchedPreconditioner kind = Kind;
  static constexpr bool symmetric = Kind == BatchedPreconditioner::block_jacobi, is_identity = false,
                        is_pointwise = false;
  static constexpr unsigned parts = Kind == BatchedPreconditioner::block_jacobi ? local_blocks : local_power;

  LocalRows<Scalar> rows;

  template <class Space>
  static LocalPreconditioner make(const Analysis<Space>& analysis, const BatchedOptions&) {
    return {{RowPattern::of(analysis.local), analysis.longest_local_row}};
  }
  std::int64_t values_length() const { return rows.pattern.num_entries; }
  std::int64_t work_length(int groups) const { return rows.work_length(groups); }

  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar* work) const {
    return rows.count(lane_group, a, work, [&](const auto& vector, int i, const LocalSystem<Scalar>& local) {
      return solve_row(vector, a, values, local, i);
    });
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar*) const {
    rows.pattern.multiply(lane_group, values, from, to);
  }

 private:
  /// Returns 1 where the row keeps only its diagonal entry.
  template <class Vector, class System>
  KOKKOS_FUNCTION int solve_row(const Vector& vector, const System& a, Scalar* values,
                                const LocalSystem<Scalar>& local, int i) const {
    const std::size_t first = rows.pattern.row_ptrs[i];
    const int* cols = rows.pattern.col_idxs + first;
    const bool sound = local.solve(vector);
    vector.region([&](int lane) {
      for (int q = lane; q < local.k; q += vector.size()) {
        if (sound)
          values[first + q] = local.solution()[q];
        else
          values[first + q] = cols[q] == i ? reciprocal_diagonal(a, i) : Scalar(0);
      }
    });
    return sound ? 0 : 1;
  }

  template <class System>
  KOKKOS_FORCEINLINE_FUNCTION static Scalar reciprocal_diagonal(const System& a, int i) {
    const Scalar diagonal = diagonal_entry<Scalar>(a, i);
    return reciprocal(diagonal, diagonal, false);
  }
};

template <class Scalar>
using IsaiPreconditioner = LocalPreconditioner<Scalar, BatchedPreconditioner::isai>;
template <class Scalar>
using BlockJacobiPreconditioner = LocalPreconditioner<Scalar, BatchedPreconditioner::block_jacobi>;

}  // namespace prekond::impl::batched
