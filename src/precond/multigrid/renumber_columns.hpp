// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

namespace prekond::impl {

template <class Space>
struct RenumberColumns {
  VectorView<const int, Space> number;
  VectorView<int, Space> cols;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { cols(k) = number(cols(k)); }
};

/// Each column j becomes `number(j)`, of `count` columns.
template <class Space>
void renumber_columns(const Space& space, const VectorView<const int, Space>& number, std::int64_t count,
                      CsrGraph<Space>& graph) {
  Kokkos::parallel_for("prekond::renumber_columns",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, graph.nnz()),
                       RenumberColumns<Space>{number, graph.col_idxs});
  graph.num_cols = count;
}

}  // namespace prekond::impl
