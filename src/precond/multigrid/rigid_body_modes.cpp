// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/amg.hpp>

#include "core/instantiate.hpp"

#include <string>

namespace prekond {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// The middle of the nodes' box, and the largest half of its sides: extremes do not depend on an order.
struct Box {
  double centre[3] = {0, 0, 0};
  double size = 0;
};

template <class Scalar, class Space>
Box box_of(const Space& space, const MultiVectorView<const Scalar, Space>& coordinates) {
  Box box;
  for (std::size_t c = 0; c < coordinates.extent(1); ++c) {
    Kokkos::MinMaxScalar<double> ends;
    const auto x = coordinates;
    Kokkos::parallel_reduce(
        "prekond::rigid_body_modes::box",
        Rows<Space>(space, 0, static_cast<std::int64_t>(coordinates.extent(0))),
        KOKKOS_LAMBDA(std::int64_t i, Kokkos::MinMaxScalar<double> & found) {
          const double value = x(i, c);
          if (value < found.min_val) found.min_val = value;
          if (value > found.max_val) found.max_val = value;
        },
        Kokkos::MinMax<double>(ends));
    box.centre[c] = ends.min_val / 2 + ends.max_val / 2;
    box.size = Kokkos::max(box.size, ends.max_val / 2 - ends.min_val / 2);
  }
  return box;
}

template <class Scalar, class Space>
struct SetModes {
  MultiVectorView<const Scalar, Space> coordinates;
  Box box;
  MultiVector<Scalar, Space> modes;

  KOKKOS_FUNCTION void operator()(std::int64_t node) const {
    const int d = static_cast<int>(coordinates.extent(1));
    Scalar x[3] = {0, 0, 0};
    for (int c = 0; c < d && box.size > 0; ++c)
      x[c] = Scalar((double(coordinates(node, c)) - box.centre[c]) / box.size);
    const std::int64_t row = node * d;
    for (int c = 0; c < d; ++c)
      for (std::size_t mode = 0; mode < modes.extent(1); ++mode)
        modes(row + c, mode) = static_cast<int>(mode) == c ? Scalar(1) : Scalar(0);
    // About the axis normal to the plane of components a and b.
    int mode = d;
    for (int a = 0; a < d; ++a)
      for (int b = a + 1; b < d; ++b, ++mode) {
        modes(row + a, mode) = -x[b];
        modes(row + b, mode) = x[a];
      }
  }
};

}  // namespace

template <class Scalar, class Space>
MultiVector<Scalar, Space> rigid_body_modes(
    const Space& space, const std::type_identity_t<MultiVectorView<const Scalar, Space>>& coordinates) {
  const std::size_t n = coordinates.extent(0), d = coordinates.extent(1);
  if (d != 2 && d != 3)
    throw InputError("rigid_body_modes: coordinates of " + std::to_string(d) +
                     " dimensions; there are rigid body modes of nodes in 2 and 3");
  const auto modes = allocate<MultiVector<Scalar, Space>>(space, "prekond::rigid_body_modes", d * n,
                                                          static_cast<int>(d == 2 ? 3 : 6));
  if (n == 0) return modes;
  const Box box = box_of<Scalar, Space>(space, coordinates);
  Kokkos::parallel_for("prekond::rigid_body_modes", Rows<Space>(space, 0, static_cast<std::int64_t>(n)),
                       SetModes<Scalar, Space>{coordinates, box, modes});
  return modes;
}

#define PREKOND_RIGID_BODY_MODES(Scalar, Space)                        \
  template MultiVector<Scalar, Space> rigid_body_modes<Scalar, Space>( \
      const Space&, const MultiVectorView<const Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_RIGID_BODY_MODES)

}  // namespace prekond
