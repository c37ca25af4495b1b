// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include "matrix/counter_hash.hpp"

#include "common.hpp"

#include "core/instantiate.hpp"

namespace prekond::generators {
namespace {

/// Rows of the 7-point stencil on size^3 nodes, the neighbours outside of the box eliminated.
struct Box {
  std::int64_t size;

  KOKKOS_FUNCTION std::int64_t coordinate(std::int64_t row, int axis) const {
    return axis == 0 ? row % size : (axis == 1 ? row / size % size : row / (size * size));
  }
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    std::size_t length = 1;
    for (int d = 0; d < 3; ++d) length += (coordinate(row, d) > 0) + (coordinate(row, d) + 1 < size);
    return length;
  }
};

template <class Scalar, class Space>
struct FillMagnetic {
  using Real = real_type_t<Scalar>;
  Box box;
  double inverse_phase;
  std::uint64_t seed;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t distance[3] = {1, box.size, box.size * box.size};
    std::size_t place = row_ptrs(row);
    for (int d = 2; d >= 0; --d)
      if (box.coordinate(row, d) > 0) put(place++, row - distance[d], conjugate(link(row - distance[d], d)));
    put(place++, row, Scalar(6));
    for (int d = 0; d < 3; ++d)
      if (box.coordinate(row, d) + 1 < box.size) put(place++, row + distance[d], link(row, d));
  }

  /// -exp(i theta) from a node to the next one along the axis: a rational function of t = tan(theta / 2), in
  /// which no product is there for a compiler to fuse with a sum.
  KOKKOS_FUNCTION Scalar link(std::int64_t node, int axis) const {
    const double u =
        2 * impl::unit_interval(impl::counter_hash(seed, static_cast<std::uint64_t>(3 * node + axis))) - 1;
    const double t = u / inverse_phase;
    const double norm = Kokkos::fma(t, t, 1.0);
    const double cosine = (1 - t) * (1 + t) / norm, sine = (t + t) / norm;
    return Scalar(static_cast<Real>(-cosine), static_cast<Real>(-sine));
  }

  KOKKOS_FUNCTION void put(std::size_t place, std::int64_t col, const Scalar& value) const {
    col_idxs(place) = static_cast<int>(col);
    values(place) = value;
  }
};

double cube(double n) {
  return n * n * n;
}

}  // namespace

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> magnetic3d(const Space& space, std::int64_t size,
                                          const Magnetic3dOptions& options) {
  check_size("magnetic3d", size, 1, cube);
  const Box box{size};
  const std::int64_t num_rows = size * size * size;
  const auto a =
      make_rows<Scalar>(space, "prekond::generate::magnetic3d", RowRange{0, num_rows}, num_rows, box);
  Kokkos::parallel_for(
      "prekond::generate::magnetic3d::fill", RowPolicy<Space>(space, 0, a.num_rows),
      FillMagnetic<Scalar, Space>{box, 1 / options.phase, static_cast<std::uint64_t>(options.seed),
                                  a.row_ptrs, a.col_idxs, a.values});
  return a;
}

#define PREKOND_MAGNETIC3D(Scalar, Space)                                                       \
  template GeneratedMatrix<Scalar, Space> magnetic3d<Scalar, Space>(const Space&, std::int64_t, \
                                                                    const Magnetic3dOptions&);
PREKOND_INSTANTIATE_COMPLEX(PREKOND_MAGNETIC3D)

}  // namespace prekond::generators
