// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/generate.hpp>

#include <cstdint>

namespace prekond::generators {

struct Stretched3dOptions {
  double ratio = 1.1;

  template <class V>
  void describe(V& visit) {
    visit("ratio", ratio, 1, 10, "of the width of a cell to that of the one before it, along each axis");
  }
};

/// -Laplace u by finite volumes on a stretched grid, as a boundary layer has it, u = 0 on the boundary:
/// size^3 cells, x fastest; along each axis cell k has the width h_k = ratio^k. Cells i and j that share a
/// face are coupled by its area over the distance of their centres,
///
///     a_ij = -h'_i h''_i / ((h_i + h_j) / 2),    h along the axis between them, h' and h'' along the others;
///
/// a face on the boundary adds h' h'' / (h / 2) to the diagonal, which is the sum over the six faces. A
/// symmetric M-matrix, positive definite; couplings of one row differ by up to ratio^(2 size - 2), and the
/// strong ones have another direction in another place. ratio = 1: poisson3d but for the boundary.
///
/// \throws OptionError where ratio^(size - 1) exceeds 1e100
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> stretched3d(const Space& space, std::int64_t size,
                                           const Stretched3dOptions& options = {});

}  // namespace prekond::generators
