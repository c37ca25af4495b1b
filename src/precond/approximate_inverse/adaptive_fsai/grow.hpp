// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the phases of the adaptive FSAI call to find G. It is compiled in units of its own, a few kernels
/// each: they compile beside each other, and a process on a GPU loads those that it launches.
#include <prekond/core/report.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/supernodes.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/impl/memory_meter.hpp>

#include "precond/approximate_inverse/adaptive_fsai/layout.hpp"

#include <cstdint>

namespace prekond::impl::adaptive_fsai {

using Gradient = AdaptiveFsaiOptions::Gradient;

/// What rows begin with, and the working memory.
template <class Space>
struct Sources {
  bool kept;                  ///< the pattern is G's
  CsrGraphView<Space> start;  ///< G_0's
  Gradient gradient;
  std::int64_t slab_bytes;
  bool filtered;                                 ///< what is grown is not the final G yet
  Supernodes<Space> supernodes;                  ///< blocks that grow together; none: rows alone
  VectorView<const int, Space> representatives;  ///< of the runs of equal rows
};

/// Grows G row by row, or solves on its pattern. What broke down goes to the report, the working memory to
/// the meter.
template <Gradient gradient, class Real, class Scalar, class Space>
void grow_rows(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz,
               const Parameters& parameters, const Sources<Space>& sources,
               CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report,
               MemoryMeter& meter);

/// Grows G in the sources' supernodes. For real matrices.
template <class Real, class Scalar, class Space>
void grow_blocks(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz,
                 const Parameters& parameters, const Sources<Space>& sources,
                 CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report,
                 MemoryMeter& meter);

}  // namespace prekond::impl::adaptive_fsai
