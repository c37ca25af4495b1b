// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <type_traits>

namespace prekond {

/// How many unknowns each node of a system of equations seems to have, of 2 to 8: d where the rows d k .. d k
/// + d - 1 are alike and others are not; else 1.
///
/// With s_i the columns that rows i - 1 and i have both, over those that one of them has, and m_r the mean of
/// s_i over the rows i with i modulo d = r: d has to divide the rows, of which there are more
/// than d, min_{r > 0} m_r >= 1/2, and m_0 <= 0.6
/// min_{r > 0} m_r. Of several d the one with the least ratio of these, of equal ones the smallest. Unknowns
/// that are not coupled with each other in a node do not show.
///
/// Cost: a comparison of neighbouring rows, of 256 entries at most, for eight times 840 rows at most, which
/// are spread over the matrix. Fences. \pre sorted rows
template <class Space>
int find_unknowns_per_node(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern);

}  // namespace prekond
