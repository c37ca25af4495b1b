// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/distributed/distributed_matrix.hpp>

#include <memory>

namespace prekond {

/// Collective. A^T for A's own_rows() as they are now, its rows distributed as A's, in the same order on each
/// rank; columns of other ranks follow the rank's own, ascending by their global numbers. The values
/// are copies. A has to outlive it: sums, imports and exchanges are A's.
///
/// The rank's rows are transposed, each row of the result that another rank has is sent to it, and what comes
/// is added to the rank's own; all of it where `space` computes.
///
/// Cost: transpose() of the rank's rows, two readings and a writing of the result, and one exchange of rows
/// with the neighbours that a product has. Memory: the result twice. Fences.
/// \throws InputError on all ranks where one has 2^31 columns or more
template <class Scalar, class Space>
std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed_transpose(
    const Space& space, const DistributedMatrix<Scalar, Space>& a);

}  // namespace prekond
