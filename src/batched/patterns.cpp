// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/banded.hpp>
#include <prekond/batched/dense.hpp>
#include <prekond/batched/ell.hpp>

#include "core/instantiate.hpp"

namespace prekond {
namespace {

/// Counts the entries of each row of system 0, whose values are not read.
template <class System, class Space>
struct CountEntries {
  System system;
  VectorView<int, Space> lengths;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    int count = 0;
    system.for_each_col(static_cast<int>(i), [&](int) { ++count; });
    lengths(i) = count;
  }
};

template <class System, class Space>
struct FillCols {
  System system;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = row_ptrs(i);
    system.for_each_col(static_cast<int>(i), [&](int col) { col_idxs(place++) = col; });
  }
};

template <class Space, class Matrix>
CsrGraph<Space> pattern_of(const Space& space, const Matrix& a) {
  using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const auto system = a.systems().system(0);
  using System = std::remove_const_t<decltype(system)>;
  const auto lengths = allocate<Vector<int, Space>>(space, "prekond::batched::row_lengths", a.num_rows);
  Kokkos::parallel_for("prekond::batched::count_entries", Rows(space, 0, a.num_rows),
                       CountEntries<System, Space>{system, lengths});
  CsrGraph<Space> pattern;
  pattern.num_rows = pattern.num_cols = a.num_rows;
  std::size_t nnz = 0;
  std::tie(pattern.row_ptrs, nnz) = impl::scan_row_lengths<Space, VectorView<const int, Space>>(
      space, "prekond::batched::pattern", a.num_rows, lengths);
  pattern.col_idxs = allocate<Vector<int, Space>>(space, "prekond::batched::pattern::col_idxs", nnz);
  Kokkos::parallel_for("prekond::batched::fill_cols", Rows(space, 0, a.num_rows),
                       FillCols<System, Space>{system, pattern.row_ptrs, pattern.col_idxs});
  space.fence("prekond::batched::pattern");
  return pattern;
}

}  // namespace

template <class Value, class Space>
CsrGraph<Space> csr_pattern(const Space& space, const BatchedEll<Value, Space>& a) {
  return pattern_of(space, a);
}
template <class Value, class Space>
CsrGraph<Space> csr_pattern(const Space& space, const BatchedDense<Value, Space>& a) {
  return pattern_of(space, a);
}
template <class Value, class Space>
CsrGraph<Space> csr_pattern(const Space& space, const BatchedBanded<Value, Space>& a) {
  return pattern_of(space, a);
}

#define PREKOND_BATCHED_PATTERNS(Value, Space)                                           \
  template CsrGraph<Space> csr_pattern(const Space&, const BatchedEll<Value, Space>&);   \
  template CsrGraph<Space> csr_pattern(const Space&, const BatchedDense<Value, Space>&); \
  template CsrGraph<Space> csr_pattern(const Space&, const BatchedBanded<Value, Space>&);
PREKOND_INSTANTIATE(PREKOND_BATCHED_PATTERNS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_BATCHED_PATTERNS)

}  // namespace prekond
