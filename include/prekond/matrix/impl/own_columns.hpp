// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A rank's own columns, followed by those of other ranks.
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond::impl {

/// For filter_entries.
template <class Scalar, class Space>
struct IsOwnColumn {
  CsrView<Scalar, Space> a;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::size_t k) const { return a.col_idxs(k) < a.num_rows; }
};

template <class Space>
struct IsForeign {
  VectorView<const int, Space> col_idxs;
  std::int64_t num_rows;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count) const {
    count += col_idxs(k) >= num_rows;
  }
};

/// Entries in columns of other ranks. Cost: one pass over the columns. Fences.
template <class Scalar, class Space>
std::int64_t count_foreign_entries(const Space& space, const CsrView<Scalar, Space>& a) {
  std::int64_t foreign = 0;
  Kokkos::parallel_reduce("prekond::count_foreign_entries",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz()),
                          IsForeign<Space>{a.col_idxs, a.num_rows}, foreign);
  return foreign;
}

}  // namespace prekond::impl
