// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The functions that the phases of the adaptive FSAI call to find G. They are compiled in units of their
/// own, a few kernels each: these compile at the same time, and a process on a GPU loads those that it
/// launches.
#include <prekond/core/report.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/adaptive_fsai.hpp>

#include "precond/approximate_inverse/adaptive_fsai/layout.hpp"

#include <cstdint>

namespace prekond::impl::adaptive_fsai {

using Gradient = AdaptiveFsaiOptions::Gradient;

/// The patterns that rows begin with, and the working memory.
template <class Space>
struct Sources {
  bool kept;                  ///< the pattern is G's
  CsrGraphView<Space> start;  ///< G_0's
  Gradient gradient;
  std::int64_t workspace_budget;
  bool filtered;                                 ///< a postfilter follows: the result is not the final G
  VectorView<const int, Space> representatives;  ///< of the runs of equal rows
};

/// Grows G row by row, or solves on its pattern. The rows that broke down go to the report.
template <Gradient gradient, class Real, class Scalar, class Space>
void grow_rows(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz,
               const Parameters& parameters, const Sources<Space>& sources,
               CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report);

}  // namespace prekond::impl::adaptive_fsai
