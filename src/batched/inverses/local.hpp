// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/csr.hpp>

#include "batched/inverses/factors.hpp"
#include "batched/inverses/local_solve.hpp"

namespace prekond::impl::batched {

/// M = A^-1 on a given pattern, row by row: with J the columns of row i,
/// ```
/// m_i(J) A(J, J) = e_i(J)
/// ```
/// by Gaussian elimination with row exchanges, a row by a vector of lanes. Where A(J, J) is singular or
/// something is not finite, the row keeps the reciprocal of its diagonal entry alone, 1 where there is none.
/// An application is a product with M.
///
/// The patterns: isai, that of |A|^power; block_jacobi, blocks of `block_size` rows, for which it is the
/// inverse of the block.
///
/// Source: Anzt, Huckle, Braeckle, Dongarra, Parallel Computing 71 (2018), 1-22.
template <class Scalar, BatchedInverse Kind>
struct LocalInverse {
  static constexpr BatchedInverse kind = Kind;
  static constexpr bool symmetric = Kind == BatchedInverse::block_jacobi, is_identity = false,
                        is_pointwise = false;
  static constexpr unsigned parts = Kind == BatchedInverse::block_jacobi ? local_blocks : local_power;

  int num_rows, longest;
  const std::size_t* row_ptrs;
  const int* col_idxs;
  std::int64_t num_entries;

  template <class Space>
  static LocalInverse make(const Analysis<Space>& analysis, const BatchedOptions&) {
    return {static_cast<int>(analysis.num_rows), analysis.longest_local_row, analysis.local.row_ptrs.data(),
            analysis.local.col_idxs.data(), static_cast<std::int64_t>(analysis.local.col_idxs.extent(0))};
  }
  std::int64_t values_length() const { return num_entries; }
  std::int64_t work_length(int groups) const { return groups * LocalSystem<Scalar>::length(longest); }

  template <class Level, class System>
  KOKKOS_FUNCTION int generate(const Level& level, const System& a, Scalar* values, Scalar* work) const {
    const auto& vector = level.vector();
    Scalar* own = work + level.group() * LocalSystem<Scalar>::length(longest);
    int mine = 0;
    for (int i = level.group(); i < num_rows; i += level.num_groups())
      mine += solve_row(vector, a, values, own, i);
    level.join();
    const int share = level.size() / level.num_groups();
    return level.template sum<int>([&](int lane) { return lane % share == 0 ? mine : 0; });
  }

  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const Level& level, int, const Scalar* values, const Scalar* from,
                                         Scalar* to) const {
    for_elements(level, num_rows, [&](int i) {
      Scalar sum = 0;
      for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) sum += values[k] * from[col_idxs[k]];
      to[i] = sum;
    });
  }

 private:
  /// Returns 1 where the row fell back.
  template <class Vector, class System>
  KOKKOS_FUNCTION int solve_row(const Vector& vector, const System& a, Scalar* values, Scalar* work,
                                int i) const {
    const std::size_t first = row_ptrs[i];
    const int count = static_cast<int>(row_ptrs[i + 1] - first);
    const int* cols = col_idxs + first;
    const LocalSystem<Scalar> local{work, count};
    // Column q is row J(q) of A, on J.
    vector.region([&](int lane) {
      for (int q = lane; q < count; q += vector.size()) {
        Scalar* column = local.column(q);
        for (int p = 0; p < count; ++p) column[p] = Scalar(0);
        local.solution()[q] = Scalar(cols[q] == i ? 1 : 0);
        int p = 0;
        a.for_each_entry(cols[q], [&](std::size_t, int col, const auto& value) {
          while (p < count && cols[p] < col) ++p;
          if (p < count && cols[p] == col) column[p] = static_cast<Scalar>(value);
        });
      }
    });
    const bool sound = local.solve(vector);
    vector.region([&](int lane) {
      for (int q = lane; q < count; q += vector.size()) {
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
    Scalar diagonal = 0;
    a.for_each_entry(i, [&](std::size_t, int col, const auto& value) {
      if (col == i) diagonal = static_cast<Scalar>(value);
    });
    return reciprocal(diagonal, diagonal, false);
  }
};

template <class Scalar>
using IsaiInverse = LocalInverse<Scalar, BatchedInverse::isai>;
template <class Scalar>
using BlockJacobiInverse = LocalInverse<Scalar, BatchedInverse::block_jacobi>;

}  // namespace prekond::impl::batched
