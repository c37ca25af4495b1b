// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace prekond {

/// How many unknowns each node of a system of equations seems to have, of 2 to 8: d where the rows d k .. d k
/// + d - 1 are alike, others are not, and the entries fill the blocks of d x d; else 1.
///
/// With s_i the number of columns that rows i - 1 and i both have, over those that either has, and m_r the
/// mean of s_i over the rows i with i modulo d = r: d has to divide the rows, of which there are more than d;
/// min_{r > 0} m_r >= 0.55; m_0 <= 0.6 min_{r > 0} m_r; and the aligned blocks of d x d that have entries are
/// full to 0.68 or more on the mean. Among several d the one with the least ratio of m_0 to min_{r > 0} m_r
/// wins, then the smallest. Unknowns that are not coupled with each other in a node do not show, and the
/// points of a grid that is few points wide (up to 3 with 9 or 27 points, 5 with 25) may look like unknowns.
///
/// Cost: a comparison of neighbouring rows, of 256 entries at most, for eight times 840 rows at most, which
/// are spread over the matrix; and a binary search in the rows of a node for each of their entries, where
/// rows are alike. Fences. \pre sorted rows
template <class Space>
int find_unknowns_per_node(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern);

/// The rows of a matrix of `num_rows` that are looked at, ascending.
std::vector<std::int64_t> rows_that_show_unknowns(std::int64_t num_rows);

}  // namespace prekond
