// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <type_traits>

namespace prekond {

/// The rigid body modes of nodes in d = 2 or 3 dimensions with d displacements each, the near null space of
/// elasticity (MatrixSource::set_near_null_space): d translations and d (d - 1) / 2 rotations about the
/// nodes' centre, as columns of d n x 3 or d n x 6, row d k + c for component c of node k. A rotation is
/// divided by the largest distance from the centre, so that all columns are of one size; where all nodes are
/// in one place rotations are zero.
///
/// `coordinates`: n x d. Cost: two passes over the coordinates. Fences. The same bits whatever the threads.
///
/// \throws InputError for other than 2 or 3 columns
template <class Scalar, class Space>
MultiVector<Scalar, Space> rigid_body_modes(
    const Space& space, const std::type_identity_t<MultiVectorView<const Scalar, Space>>& coordinates);

}  // namespace prekond
