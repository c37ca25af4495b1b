// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/geometric_mean.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/filter_entries.hpp>
#include <prekond/pattern/strength.hpp>
#include <prekond/pattern/symmetrize.hpp>

#include "instantiate.hpp"
#include "pattern/row_scales.hpp"

#include <string>

namespace prekond {
namespace impl::strength {

/// The strong entries of a matrix, or of a matrix of norms; the scale is not negative, so that zeros are not.
template <class Scalar, class Space>
struct IsStrong {
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> scale;
  double theta;

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    if (j == i || j >= a.num_rows) return false;
    return Kokkos::abs(to_double(a.values(k))) > theta * geometric_mean(scale(i), scale(j));
  }
};

/// ||A_IJ||_F of every block, by a thread each: the order of the sum, and with it its bits, are the same on
/// every backend.
template <class Scalar, class Space>
struct NormsOfBlocks {
  BcsrView<Scalar, Space> blocks;
  int places;  ///< of a block
  VectorView<double, Space> norms;

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::size_t begin = static_cast<std::size_t>(block) * places;
    double largest = 0;
    for (int p = 0; p < places; ++p)
      largest = Kokkos::fmax(largest, Kokkos::abs(to_double(blocks.values(begin + p))));
    // Squares of ordinary numbers need no scaling.
    const double unit = largest == 0 || (largest > 0x1p-400 && largest < 0x1p400) ? 1 : largest;
    double sum = 0;
    for (int p = 0; p < places; ++p) {
      const double x = to_double(blocks.values(begin + p)) / unit;
      sum = Kokkos::fma(x, x, sum);
    }
    norms(block) = Kokkos::sqrt(sum) * unit;
  }
};

template <class Scalar, class Space>
CsrGraph<Space> strong_entries(const Space& space, const CsrView<Scalar, Space>& a, double theta) {
  const auto scale = allocate<Vector<double, Space>>(space, "prekond::strong_connections::scale", a.num_rows);
  Kokkos::parallel_for("prekond::strong_connections::scale_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                       ScaleRows<Scalar, Space>{a, false, scale});
  CsrGraph<Space> strong = filter_pattern<Scalar, Space>(space, a, IsStrong<Scalar, Space>{a, scale, theta});
  strong.num_cols = a.num_rows;
  const CsrGraph<Space> result = symmetrize<Space>(space, strong);
  space.fence("prekond::strong_connections");  // the strong entries are freed
  return result;
}

/// The norms of A's blocks, as a matrix.
template <class Scalar, class Space>
CsrMatrix<double, int, std::size_t, typename Space::memory_space> norms_of_blocks(const Space& space,
                                                                                  CsrView<Scalar, Space> a,
                                                                                  int block_size) {
  a.num_cols = (a.num_cols + block_size - 1) / block_size * block_size;  // to_bcsr pads square matrices alone
  const auto blocks = to_bcsr<Scalar, Space>(space, a, block_size);
  const auto norms =
      allocate<Vector<double, Space>>(space, "prekond::strong_connections::norms", blocks.num_blocks());
  Kokkos::parallel_for(
      "prekond::strong_connections::norms_of_blocks",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, blocks.num_blocks()),
      NormsOfBlocks<Scalar, Space>{blocks, block_size * block_size, norms});
  return {blocks.num_block_rows, blocks.num_block_cols, blocks.row_ptrs, blocks.col_idxs, norms};
}

}  // namespace impl::strength

namespace {

void check(std::int64_t num_rows, int unknowns_per_node, double theta) {
  if (!(theta >= 0))
    throw InputError("strong_connections: theta is " + std::to_string(theta) + "; it must be 0 or larger");
  if (unknowns_per_node < 1 || unknowns_per_node > largest_block_size)
    throw InputError("strong_connections: there are " + std::to_string(unknowns_per_node) +
                     " unknowns per node; it must be from 1 to " + std::to_string(largest_block_size));
  if (num_rows % unknowns_per_node != 0)
    throw InputError("strong_connections: " + std::to_string(num_rows) + " rows are not nodes of " +
                     std::to_string(unknowns_per_node) + " unknowns; their number must divide the rows");
}

}  // namespace

template <class Scalar, class Space>
NodeConnections<Space> node_connections(const Space& space, const CsrView<Scalar, Space>& a,
                                        int unknowns_per_node, double theta) {
  check(a.num_rows, unknowns_per_node, theta);
  const auto norms = impl::strength::norms_of_blocks<Scalar, Space>(space, a, unknowns_per_node);
  return {{norms.num_rows, norms.num_cols, norms.row_ptrs, norms.col_idxs},
          impl::strength::strong_entries<double, Space>(space, norms, theta)};
}

template <class Scalar, class Space>
CsrGraph<Space> strong_connections(const Space& space, const CsrView<Scalar, Space>& a, int unknowns_per_node,
                                   double theta) {
  check(a.num_rows, unknowns_per_node, theta);
  if (unknowns_per_node == 1) return impl::strength::strong_entries<Scalar, Space>(space, a, theta);
  return node_connections<Scalar, Space>(space, a, unknowns_per_node, theta).strong;
}

#define PREKOND_STRONG_CONNECTIONS(Scalar, Space)                                                         \
  template CsrGraph<Space> strong_connections<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                             int, double);                                \
  template NodeConnections<Space> node_connections<Scalar, Space>(                                        \
      const Space&, const CsrView<Scalar, Space>&, int, double);
PREKOND_INSTANTIATE(PREKOND_STRONG_CONNECTIONS)

}  // namespace prekond
