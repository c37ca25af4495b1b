// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/amg.hpp>

#include "precond/multigrid/interpolation.hpp"

#include <cstdint>

namespace prekond::impl::amg {

/// A level's step to the next coarser one by classical coarsening, with the parts that a later numeric
/// phase keeps: patterns, no values.
template <class Space>
struct ClassicalTransfer {
  Vector<int, Space> unknown_of;  ///< of each row; empty where there is one unknown
  CsrGraph<Space> strong;
  CoarseFine<Space> points;  ///< of the coarser level
  CoarseFine<Space> first;   ///< of aggressive coarsening: what `points` are among; else empty
  InterpolationPatterns<Space> to_first, to_points;
  CsrGraph<Space> product, cut;  ///< of both steps of interpolation

  std::int64_t count() const { return points.count; }
  bool is_aggressive() const { return first.number.extent(0) > 0; }
  std::int64_t bytes() const;
};

/// Strong influences and PMIS; with `aggressive` PMIS twice.
template <class Scalar, class Space>
ClassicalTransfer<Space> find_classical(const Space& space, const CsrView<Scalar, Space>& a,
                                        const Vector<int, Space>& unknown_of, const AmgOptions& options,
                                        bool aggressive);

/// P of the coarsening that was found: `interpolation`. An aggressive one has P_1 P_2, cut as the factors
/// are: P_1 interpolates from `first`, and P_2, which has only the rows of `first`, from `points`.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> classical_prolongator(
    const Space& space, const CsrView<Scalar, Space>& a, const AmgOptions& options,
    ClassicalTransfer<Space>& transfer);

/// The unknown of each of a finest level's rows, row i the unknown i modulo `unknowns`; empty for one.
template <class Space>
Vector<int, Space> unknowns_of_rows(const Space& space, std::int64_t num_rows, int unknowns);

/// That of the coarser level's rows.
template <class Space>
Vector<int, Space> coarse_unknowns(const Space& space, const ClassicalTransfer<Space>& transfer);

}  // namespace prekond::impl::amg
