// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/elasticity3d_coordinates.hpp"

#include "core/instantiate.hpp"

namespace prekond {
namespace {

template <class Space>
struct WriteCoordinates {
  std::int64_t size;
  MultiVectorView<double, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    x(k, 0) = static_cast<double>(k % size);
    x(k, 1) = static_cast<double>(k / size % size);
    const std::int64_t layer = k / (size * size) + 1;  // the layer of fixed nodes is 0
    x(k, 2) = static_cast<double>(layer);
  }
};

}  // namespace

template <class Space>
MultiVector<double, Space> elasticity3d_coordinates(const Space& space, std::int64_t num_rows) {
  std::int64_t size = 2;
  while (3 * size * size * (size - 1) < num_rows) ++size;
  const auto x =
      allocate<MultiVector<double, Space>>(space, "prekond::elasticity3d_coordinates", num_rows / 3, 3);
  Kokkos::parallel_for("prekond::elasticity3d_coordinates",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, num_rows / 3),
                       WriteCoordinates<Space>{size, x});
  return x;
}

#define PREKOND_ELASTICITY3D_COORDINATES(Space) \
  template MultiVector<double, Space> elasticity3d_coordinates<Space>(const Space&, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_ELASTICITY3D_COORDINATES)

}  // namespace prekond
