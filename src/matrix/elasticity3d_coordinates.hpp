// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond {

/// The coordinates of the free nodes that the rows of the generated matrix elasticity3d are of: n / 3 x 3,
/// the nodes of a grid by layers, those with z = 0, which are held, left out.
///
/// \pre num_rows is 3 size^2 (size - 1)
template <class Space>
MultiVector<double, Space> elasticity3d_coordinates(const Space& space, std::int64_t num_rows);

}  // namespace prekond
