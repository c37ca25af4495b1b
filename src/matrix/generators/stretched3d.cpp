// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

#include <vector>

#include "core/instantiate.hpp"

namespace prekond::generators {
namespace {

/// Every coefficient is a quotient, and no sum has a product in it that a compiler could fuse: the same bits
/// everywhere.
template <class Space>
struct StretchedGrid {
  std::int64_t size;
  VectorView<const double, Space> widths;  ///< of the cells along each axis

  struct Cell {
    std::int64_t x[3];
  };
  KOKKOS_FUNCTION Cell cell(std::int64_t row) const {
    return {{row % size, row / size % size, row / (size * size)}};
  }

  /// Area over distance of the face of `at` towards the next cell (step = 1) or the one before along axis d.
  KOKKOS_FUNCTION double coupling(const Cell& at, int d, int step) const {
    const double area = widths(at.x[(d + 1) % 3]) * widths(at.x[(d + 2) % 3]);
    const std::int64_t other = at.x[d] + step;
    const double mine = 0.5 * widths(at.x[d]);
    return area / (other < 0 || other >= size ? mine : mine + 0.5 * widths(other));
  }

  /// Entries of a row.
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    const Cell at = cell(row);
    std::size_t length = 1;
    for (int d = 0; d < 3; ++d) length += (at.x[d] > 0) + (at.x[d] + 1 < size);
    return length;
  }
};

template <class Scalar, class Space>
struct FillStretched {
  StretchedGrid<Space> grid;
  std::int64_t first;  ///< row of the matrix that is row 0 here
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = first + i, n = grid.size, distance[3] = {1, n, n * n};
    const auto at = grid.cell(row);
    double diagonal = 0;
    for (int d = 0; d < 3; ++d) diagonal += grid.coupling(at, d, -1) + grid.coupling(at, d, 1);
    std::size_t place = row_ptrs(i);
    for (int d = 2; d >= 0; --d)
      if (at.x[d] > 0) put(place++, row - distance[d], -grid.coupling(at, d, -1));
    put(place++, row, diagonal);
    for (int d = 0; d < 3; ++d)
      if (at.x[d] + 1 < n) put(place++, row + distance[d], -grid.coupling(at, d, 1));
  }

  KOKKOS_FUNCTION void put(std::size_t place, std::int64_t col, double value) const {
    col_idxs(place) = static_cast<int>(col);
    values(place) = static_cast<Scalar>(value);
  }
};

/// ratio^k, k < size.
std::vector<double> powers(double ratio, std::int64_t size) {
  std::vector<double> widths(size, 1.0);
  for (std::int64_t k = 1; k < size; ++k) widths[k] = ratio * widths[k - 1];
  if (widths.back() > 1e100)
    throw OptionError("generator 'stretched3d': ratio^(SIZE - 1) is " + std::to_string(ratio) + "^" +
                      std::to_string(size - 1) + ", more than 1e100: take a smaller ratio");
  return widths;
}

}  // namespace

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> stretched3d(const Space& space, std::int64_t size,
                                           const Stretched3dOptions& options, const ChooseRows& choose) {
  check_size("stretched3d", size, 1, [](double n) { return n * n * n; });
  const auto host = powers(options.ratio, size);
  const auto widths = allocate<Vector<double, Space>>(space, "prekond::generate::stretched3d::widths", size);
  Kokkos::deep_copy(space, widths,
                    Kokkos::View<const double*, Kokkos::LayoutLeft, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>(host.data(), host.size()));
  const StretchedGrid<Space> grid{size, widths};
  const RowRange rows = chosen_rows(choose, size * size * size);
  const auto a = make_rows<Scalar>(space, "prekond::generate::stretched3d", rows, size * size * size, grid);
  Kokkos::parallel_for("prekond::generate::stretched3d::fill", RowPolicy<Space>(space, 0, a.num_rows),
                       FillStretched<Scalar, Space>{grid, rows.begin, a.row_ptrs, a.col_idxs, a.values});
  space.fence("prekond::generate::stretched3d");  // the widths go away
  return a;
}

#define PREKOND_STRETCHED3D(Scalar, Space)                            \
  template GeneratedMatrix<Scalar, Space> stretched3d<Scalar, Space>( \
      const Space&, std::int64_t, const Stretched3dOptions&, const ChooseRows&);
PREKOND_INSTANTIATE(PREKOND_STRETCHED3D)

}  // namespace prekond::generators
