// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

#include <prekond/core/scalar.hpp>
#include "core/instantiate.hpp"
#include "matrix/counter_hash.hpp"

#include <cmath>
#include <vector>

namespace prekond::generators {
namespace {

/// The nodes of a box, x fastest. A node has an entry for itself and each neighbour along the axes; the
/// neighbours outside of the box are eliminated.
struct Box {
  std::int64_t extent[3];

  struct Node {
    std::int64_t x[3];
  };
  KOKKOS_FUNCTION std::int64_t num_rows() const { return extent[0] * extent[1] * extent[2]; }
  KOKKOS_FUNCTION Node node(std::int64_t row) const {
    return {{row % extent[0], row / extent[0] % extent[1], row / (extent[0] * extent[1])}};
  }
  /// From a node's number to that of the next one along axis d.
  KOKKOS_FUNCTION std::int64_t distance(int d) const {
    return d == 0 ? 1 : (d == 1 ? extent[0] : extent[0] * extent[1]);
  }
  /// Entries of a row.
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    const Node at = node(row);
    std::size_t length = 1;
    for (int d = 0; d < 3; ++d) length += (at.x[d] > 0) + (at.x[d] + 1 < extent[d]);
    return length;
  }
};

/// `coefficients`: diagonal(node), and (row, node, d, step) of the next node (step = 1) or the one before
/// (step = -1) along axis d.
template <class Scalar, class Space, class Coefficients>
struct FillBox {
  Box box;
  Coefficients coefficients;
  std::int64_t first;  ///< row of the matrix that is row 0 here
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = first + i;
    const Box::Node at = box.node(row);
    std::size_t place = row_ptrs(i);
    const auto put = [&](std::int64_t col, const auto& value) {
      col_idxs(place) = static_cast<int>(col);
      values(place++) = static_cast<Scalar>(value);
    };
    for (int d = 2; d >= 0; --d)
      if (at.x[d] > 0) put(row - box.distance(d), coefficients(row, at, d, -1));
    put(row, coefficients.diagonal(at));
    for (int d = 0; d < 3; ++d)
      if (at.x[d] + 1 < box.extent[d]) put(row + box.distance(d), coefficients(row, at, d, 1));
  }
};

template <class Scalar, class Space, class Coefficients>
GeneratedMatrix<Scalar, Space> fill(const Space& space, const std::string& name, const Box& box,
                                    const Coefficients& coefficients, const ChooseRows& choose) {
  const std::string label = "prekond::generate::" + name;
  const RowRange rows = chosen_rows(choose, box.num_rows());
  const auto a = make_rows<Scalar>(space, label, rows, box.num_rows(), box);
  Kokkos::parallel_for(
      label + "::fill", RowPolicy<Space>(space, 0, a.num_rows),
      FillBox<Scalar, Space, Coefficients>{box, coefficients, rows.begin, a.row_ptrs, a.col_idxs, a.values});
  return a;
}

/// Constant differences.
struct Stencil {
  double own;
  double before[3];
  double after[3];

  KOKKOS_FUNCTION double diagonal(const Box::Node&) const { return own; }
  KOKKOS_FUNCTION double operator()(std::int64_t, const Box::Node&, int d, int step) const {
    return step < 0 ? before[d] : after[d];
  }
};

template <class Scalar>
struct MagneticField {
  using Real = real_type_t<Scalar>;
  Box box;
  double inverse_phase;
  std::uint64_t seed;

  KOKKOS_FUNCTION Scalar diagonal(const Box::Node&) const { return Scalar(6); }
  KOKKOS_FUNCTION Scalar operator()(std::int64_t row, const Box::Node&, int d, int step) const {
    return step < 0 ? conjugate(link(row - box.distance(d), d)) : link(row, d);
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
};

/// Every coefficient is a quotient, and no sum has a product in it that a compiler could fuse: the same bits
/// everywhere.
template <class Space>
struct StretchedGrid {
  VectorView<const double, Space> widths;  ///< of the cells along each axis

  KOKKOS_FUNCTION double diagonal(const Box::Node& at) const {
    double sum = 0;
    for (int d = 0; d < 3; ++d) sum += coupling(at, d, -1) + coupling(at, d, 1);
    return sum;
  }
  KOKKOS_FUNCTION double operator()(std::int64_t, const Box::Node& at, int d, int step) const {
    return -coupling(at, d, step);
  }
  /// Area over distance of the face of `at` towards the next cell (step = 1) or the one before along axis d.
  KOKKOS_FUNCTION double coupling(const Box::Node& at, int d, int step) const {
    const double area = widths(at.x[(d + 1) % 3]) * widths(at.x[(d + 2) % 3]);
    const std::int64_t other = at.x[d] + step, size = static_cast<std::int64_t>(widths.extent(0));
    const double mine = 0.5 * widths(at.x[d]);
    return area / (other < 0 || other >= size ? mine : mine + 0.5 * widths(other));
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

double line(double n) {
  return n;
}
double square(double n) {
  return n * n;
}
double cube(double n) {
  return n * n * n;
}

}  // namespace

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> tridiagonal(const Space& space, std::int64_t size, const NoOptions&,
                                           const ChooseRows& choose) {
  check_size("tridiagonal", size, 1, line);
  return fill<Scalar>(space, "tridiagonal", Box{{size, 1, 1}}, Stencil{2, {-1, 0, 0}, {-1, 0, 0}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> poisson2d(const Space& space, std::int64_t size, const NoOptions&,
                                         const ChooseRows& choose) {
  check_size("poisson2d", size, 1, square);
  return fill<Scalar>(space, "poisson2d", Box{{size, size, 1}}, Stencil{4, {-1, -1, 0}, {-1, -1, 0}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> poisson3d(const Space& space, std::int64_t size, const NoOptions&,
                                         const ChooseRows& choose) {
  check_size("poisson3d", size, 1, cube);
  return fill<Scalar>(space, "poisson3d", Box{{size, size, size}}, Stencil{6, {-1, -1, -1}, {-1, -1, -1}},
                      choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> anisotropic2d(const Space& space, std::int64_t size,
                                             const Anisotropic2dOptions& options, const ChooseRows& choose) {
  check_size("anisotropic2d", size, 1, square);
  const double e = options.epsilon;
  return fill<Scalar>(space, "anisotropic2d", Box{{size, size, 1}},
                      Stencil{2 + 2 * e, {-1, -e, 0}, {-1, -e, 0}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> convection_diffusion3d(const Space& space, std::int64_t size,
                                                      const ConvectionDiffusion3dOptions& options,
                                                      const ChooseRows& choose) {
  check_size("convection_diffusion3d", size, 1, cube);
  // A quotient, so that no compiler can fuse it with the additions below.
  const double c = options.peclet / (static_cast<double>(size + 1) * std::sqrt(3.0));
  return fill<Scalar>(space, "convection_diffusion3d", Box{{size, size, size}},
                      Stencil{std::fma(3.0, c, 6.0), {-1 - c, -1 - c, -1 - c}, {-1, -1, -1}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> magnetic3d(const Space& space, std::int64_t size,
                                          const Magnetic3dOptions& options) {
  check_size("magnetic3d", size, 1, cube);
  const Box box{{size, size, size}};
  return fill<Scalar>(space, "magnetic3d", box,
                      MagneticField<Scalar>{box, 1 / options.phase, static_cast<std::uint64_t>(options.seed)},
                      {});
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> stretched3d(const Space& space, std::int64_t size,
                                           const Stretched3dOptions& options, const ChooseRows& choose) {
  check_size("stretched3d", size, 1, cube);
  const auto host = powers(options.ratio, size);
  const auto widths = allocate<Vector<double, Space>>(space, "prekond::generate::stretched3d::widths", size);
  Kokkos::deep_copy(space, widths,
                    VectorView<const double, Kokkos::DefaultHostExecutionSpace>(host.data(), host.size()));
  const auto a =
      fill<Scalar>(space, "stretched3d", Box{{size, size, size}}, StretchedGrid<Space>{widths}, choose);
  space.fence("prekond::generate::stretched3d");  // the widths go away
  return a;
}

#define PREKOND_GENERATOR(name, Options, Scalar, Space)                                                   \
  template GeneratedMatrix<Scalar, Space> name<Scalar, Space>(const Space&, std::int64_t, const Options&, \
                                                              const ChooseRows&);
#define PREKOND_BOXES(Scalar, Space)                                                     \
  PREKOND_GENERATOR(tridiagonal, NoOptions, Scalar, Space)                               \
  PREKOND_GENERATOR(poisson2d, NoOptions, Scalar, Space)                                 \
  PREKOND_GENERATOR(poisson3d, NoOptions, Scalar, Space)                                 \
  PREKOND_GENERATOR(anisotropic2d, Anisotropic2dOptions, Scalar, Space)                  \
  PREKOND_GENERATOR(convection_diffusion3d, ConvectionDiffusion3dOptions, Scalar, Space) \
  PREKOND_GENERATOR(stretched3d, Stretched3dOptions, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_BOXES)

#define PREKOND_MAGNETIC3D(Scalar, Space)                                                       \
  template GeneratedMatrix<Scalar, Space> magnetic3d<Scalar, Space>(const Space&, std::int64_t, \
                                                                    const Magnetic3dOptions&);
PREKOND_INSTANTIATE_COMPLEX(PREKOND_MAGNETIC3D)

}  // namespace prekond::generators
