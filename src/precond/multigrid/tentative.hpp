// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "precond/multigrid/aggregation/aggregate.hpp"

#include <type_traits>

namespace prekond::impl::amg {

template <class Scalar, class Space>
using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

/// A prolongator, and the near null space of the level that it comes from.
template <class Scalar, class Space>
struct Tentative {
  Matrix<Scalar, Space> q;                     ///< n x m count
  MultiVector<Scalar, Space> near_null_space;  ///< m count x m
};

/// Q and R of the near null space B (n x m) on each aggregate g of nodes with d = `unknowns` rows each:
/// B_g = Q_g R_g, Q_g orthonormal by Gram-Schmidt's method, done twice. Q has Q_g in the columns m g .. m g +
/// m - 1 of the aggregate's rows, and no entries in rows of nodes that are in none; the coarse near null
/// space has R_g in its rows m g .. m g + m - 1, so that Q R = B on aggregated rows. A column that the ones
/// before it leave less than 1e-10 (1e-4 in single precision) of is zero in Q, and its row in R.
///
/// Cost: 4 n m^2 operations. Fences.
template <class Scalar, class Space>
Tentative<Scalar, Space> tentative_prolongator(
    const Space& space, const Aggregates<Space>& aggregates,
    const std::type_identity_t<CsrGraphView<Space>>& membership, int unknowns,
    const std::type_identity_t<MultiVectorView<const Scalar, Space>>& near_null_space);

/// B(i, c) = 1 where row i is unknown c of its node: the constants. `numbers`: of the rows, over ranks.
/// Fences with them.
template <class Scalar, class Space>
MultiVector<Scalar, Space> constant_vectors(const Space& space, std::int64_t num_rows, int unknowns,
                                            const Vector<const std::int64_t, Space>& numbers = {});

}  // namespace prekond::impl::amg
