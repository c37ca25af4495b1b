// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/permute.hpp>

#include "core/instantiate.hpp"

namespace prekond {
namespace {

template <class Space>
using Elements = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Scalar, class Space>
struct GatherValues {
  VectorView<const std::int64_t, Space> source;
  VectorView<const Scalar, Space> values;
  VectorView<Scalar, Space> result;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const { result(k) = values(source(k)); }
};

/// y_i = x_{from(i)}, all columns.
template <class Scalar, class Space>
struct GatherRows {
  VectorView<const int, Space> from;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int row = from(i);
    for (std::size_t v = 0; v < y.extent(1); ++v) y(i, v) = x(row, v);
  }
};

}  // namespace

template <class Scalar, class Space>
void permute_values(const Space& space, const VectorView<const std::int64_t, Space>& source,
                    const VectorView<const Scalar, Space>& values, const VectorView<Scalar, Space>& result) {
  Kokkos::parallel_for("prekond::permute::values", Elements<Space>(space, 0, result.extent(0)),
                       GatherValues<Scalar, Space>{source, values, result});
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> permute_symmetric(
    const Space& space, const CsrView<Scalar, Space>& a, const Ordering<Space>& ordering) {
  const PermutedPattern<Space> pattern = permute_pattern<Space>(space, a, ordering);
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::permute::values", pattern.graph.nnz());
  permute_values<Scalar, Space>(space, pattern.source, a.values, values);
  space.fence("prekond::permute::end");  // before the source map goes away
  return {a.num_rows, a.num_cols, pattern.graph.row_ptrs, pattern.graph.col_idxs, values};
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> permute_rows(
    const Space& space, const CsrView<Scalar, Space>& a, const Vector<int, Space>& rows) {
  const Ordering<Space> columns = natural_ordering<Space>(space, static_cast<std::int64_t>(rows.extent(0)));
  return permute_symmetric<Scalar, Space>(space, a, {rows, columns.inverse});
}

template <class Scalar, class Space>
void permute_vector(const Space& space, const Ordering<Space>& ordering,
                    const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y) {
  Kokkos::parallel_for("prekond::permute::vector", Elements<Space>(space, 0, ordering.size()),
                       GatherRows<Scalar, Space>{ordering.permutation, x, y});
}

template <class Scalar, class Space>
void restore_vector(const Space& space, const Ordering<Space>& ordering,
                    const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y) {
  Kokkos::parallel_for("prekond::permute::restore", Elements<Space>(space, 0, ordering.size()),
                       GatherRows<Scalar, Space>{ordering.inverse, x, y});
}

#define PREKOND_PERMUTE(Scalar, Space)                                                                    \
  template void permute_values<Scalar, Space>(const Space&, const VectorView<const std::int64_t, Space>&, \
                                              const VectorView<const Scalar, Space>&,                     \
                                              const VectorView<Scalar, Space>&);                          \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> permute_symmetric<Scalar, Space>(     \
      const Space&, const CsrView<Scalar, Space>&, const Ordering<Space>&);                               \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> permute_rows<Scalar, Space>(          \
      const Space&, const CsrView<Scalar, Space>&, const Vector<int, Space>&);                            \
  template void permute_vector<Scalar, Space>(const Space&, const Ordering<Space>&,                       \
                                              const MultiVectorView<const Scalar, Space>&,                \
                                              const MultiVectorView<Scalar, Space>&);                     \
  template void restore_vector<Scalar, Space>(const Space&, const Ordering<Space>&,                       \
                                              const MultiVectorView<const Scalar, Space>&,                \
                                              const MultiVectorView<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_PERMUTE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_PERMUTE)

}  // namespace prekond
