// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "precond/multigrid/over_ranks/aggregate.hpp"
#include "precond/multigrid/tentative.hpp"

namespace prekond::impl::amg {

/// A rank's part of the tentative prolongator.
template <class Scalar, class Space>
struct TentativeOverRanks {
  MultiVector<Scalar, Space> q;  ///< of the rank's own rows: the entries in the columns of their aggregates
  MultiVector<Scalar, Space> near;  ///< of the coarse rows of the rank's own aggregates
};

/// Collective. tentative_prolongator over ranks: the rank that has an aggregate's root makes its columns of
/// Q. It is given the members that other ranks have, imports their rows of the near null space, and sends
/// their rows of Q back. `near`: of the rank's own rows.
template <class Scalar, class Space>
TentativeOverRanks<Scalar, Space> tentative_over_ranks(
    const Space& space, const DistributedMatrix<Scalar, Space>& a,
    const distributed::Overlap<Scalar, Space>& overlap, const RankNodes<Scalar, Space>& nodes,
    const AggregatesOverRanks<Space>& aggregates,
    const std::type_identity_t<MultiVectorView<const Scalar, Space>>& near);

}  // namespace prekond::impl::amg
