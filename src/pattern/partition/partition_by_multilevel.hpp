// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

namespace prekond::impl::partition {

/// The part of each row, below num_parts, on the execution space; see partition_graph.
///
/// \pre a symmetric pattern of the columns below num_rows, 1 < num_parts < num_rows
template <class Space>
Vector<int, Space> partition_by_multilevel(const Space& space, const CsrGraphView<Space>& graph,
                                           std::int64_t num_parts);

}  // namespace prekond::impl::partition
