// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

#include "core/instantiate.hpp"

#include <cmath>

namespace prekond::generators {
namespace {

/// Constant differences on a box of nodes: `before[d]` and `after[d]` are the coefficients of the neighbours
/// along axis d; the neighbours outside of the box are eliminated.
struct Stencil {
  std::int64_t extent[3];
  double diagonal;
  double before[3];
  double after[3];

  KOKKOS_FUNCTION std::int64_t num_rows() const { return extent[0] * extent[1] * extent[2]; }

  struct Node {
    std::int64_t x[3];
  };
  KOKKOS_FUNCTION Node node(std::int64_t row) const {
    return {{row % extent[0], row / extent[0] % extent[1], row / (extent[0] * extent[1])}};
  }

  /// Entries of a row.
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    const Node at = node(row);
    std::size_t length = 1;
    for (int d = 0; d < 3; ++d) length += (at.x[d] > 0) + (at.x[d] + 1 < extent[d]);
    return length;
  }
};

template <class Scalar, class Space>
struct FillStencil {
  Stencil stencil;
  std::int64_t first;  ///< row of the matrix that is row 0 here
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = first + i;
    const std::int64_t distance[3] = {1, stencil.extent[0], stencil.extent[0] * stencil.extent[1]};
    const Stencil::Node at = stencil.node(row);
    std::size_t place = row_ptrs(i);
    for (int d = 2; d >= 0; --d)
      if (at.x[d] > 0) put(place++, row - distance[d], stencil.before[d]);
    put(place++, row, stencil.diagonal);
    for (int d = 0; d < 3; ++d)
      if (at.x[d] + 1 < stencil.extent[d]) put(place++, row + distance[d], stencil.after[d]);
  }

  KOKKOS_FUNCTION void put(std::size_t place, std::int64_t col, double value) const {
    col_idxs(place) = static_cast<int>(col);
    values(place) = static_cast<Scalar>(value);
  }
};

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> fill(const Space& space, const std::string& name, const Stencil& stencil,
                                    const ChooseRows& choose) {
  const std::string label = "prekond::generate::" + name;
  const RowRange rows = chosen_rows(choose, stencil.num_rows());
  const auto a = make_rows<Scalar>(space, label, rows, stencil.num_rows(), stencil);
  Kokkos::parallel_for(label + "::fill", RowPolicy<Space>(space, 0, a.num_rows),
                       FillStencil<Scalar, Space>{stencil, rows.begin, a.row_ptrs, a.col_idxs, a.values});
  return a;
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
  return fill<Scalar>(space, "tridiagonal", Stencil{{size, 1, 1}, 2, {-1, 0, 0}, {-1, 0, 0}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> poisson2d(const Space& space, std::int64_t size, const NoOptions&,
                                         const ChooseRows& choose) {
  check_size("poisson2d", size, 1, square);
  return fill<Scalar>(space, "poisson2d", Stencil{{size, size, 1}, 4, {-1, -1, 0}, {-1, -1, 0}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> poisson3d(const Space& space, std::int64_t size, const NoOptions&,
                                         const ChooseRows& choose) {
  check_size("poisson3d", size, 1, cube);
  return fill<Scalar>(space, "poisson3d", Stencil{{size, size, size}, 6, {-1, -1, -1}, {-1, -1, -1}}, choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> anisotropic2d(const Space& space, std::int64_t size,
                                             const Anisotropic2dOptions& options, const ChooseRows& choose) {
  check_size("anisotropic2d", size, 1, square);
  const double e = options.epsilon;
  return fill<Scalar>(space, "anisotropic2d", Stencil{{size, size, 1}, 2 + 2 * e, {-1, -e, 0}, {-1, -e, 0}},
                      choose);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> convection_diffusion3d(const Space& space, std::int64_t size,
                                                      const ConvectionDiffusion3dOptions& options,
                                                      const ChooseRows& choose) {
  check_size("convection_diffusion3d", size, 1, cube);
  // A quotient, so that no compiler can fuse it with the additions below.
  const double c = options.peclet / (static_cast<double>(size + 1) * std::sqrt(3.0));
  return fill<Scalar>(
      space, "convection_diffusion3d",
      Stencil{{size, size, size}, std::fma(3.0, c, 6.0), {-1 - c, -1 - c, -1 - c}, {-1, -1, -1}}, choose);
}

#define PREKOND_STENCILS(Scalar, Space)                                                                    \
  template GeneratedMatrix<Scalar, Space> tridiagonal<Scalar, Space>(const Space&, std::int64_t,           \
                                                                     const NoOptions&, const ChooseRows&); \
  template GeneratedMatrix<Scalar, Space> poisson2d<Scalar, Space>(const Space&, std::int64_t,             \
                                                                   const NoOptions&, const ChooseRows&);   \
  template GeneratedMatrix<Scalar, Space> poisson3d<Scalar, Space>(const Space&, std::int64_t,             \
                                                                   const NoOptions&, const ChooseRows&);   \
  template GeneratedMatrix<Scalar, Space> anisotropic2d<Scalar, Space>(                                    \
      const Space&, std::int64_t, const Anisotropic2dOptions&, const ChooseRows&);                         \
  template GeneratedMatrix<Scalar, Space> convection_diffusion3d<Scalar, Space>(                           \
      const Space&, std::int64_t, const ConvectionDiffusion3dOptions&, const ChooseRows&);
PREKOND_INSTANTIATE(PREKOND_STENCILS)

}  // namespace prekond::generators
