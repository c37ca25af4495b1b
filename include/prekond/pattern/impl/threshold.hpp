// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <type_traits>

namespace prekond {

/// The pattern of the entries of A that are large in relation to the diagonal: j == i or
/// |a_ij| > tau sqrt(|a_ii a_jj|), for columns j < num_rows; num_rows x num_rows, sorted.
///
/// With tau = 0 every stored entry of those columns is kept, stored zeros too. The diagonal is there whether
/// it is stored or not; one that is not stored counts as 0. The test is done in double, and is the same for
/// (i, j) and (j, i): the pattern of a symmetric matrix is symmetric.
///
/// Cost: two readings of A. Memory: the result, one double (not with tau = 0) and one int a row. Fences once,
/// inside the scan.
///
/// \pre sorted rows \throws InputError for tau < 0 or NaN
///
/// It is the prefiltration of static FSAI: Bernaschi et al. (2019), section 4.1.
template <class Scalar, class Space>
CsrGraph<Space> threshold(const Space& space, const CsrView<Scalar, Space>& a, double tau,
                          bool unit_diagonal = false);

/// The lower triangle of a pattern: the columns j < i of row i and, whether it is there or not, i itself as
/// the last; num_rows x num_rows, sorted.
///
/// Cost: a binary search in each row and one reading of the lower triangle. Memory: the result. Fences once,
/// inside the scan.
///
/// \pre sorted rows
template <class Space>
CsrGraph<Space> lower_triangle(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s);

/// The upper triangle of a pattern: i, whether it is there or not, as the first column of row i, and the
/// columns i < j < num_rows; num_rows x num_rows, sorted. Cost and memory as of the lower triangle.
///
/// \pre sorted rows
template <class Space>
CsrGraph<Space> upper_triangle(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s);

/// S with its diagonal: row i has the columns of S below num_rows, and i; num_rows x num_rows, sorted.
///
/// Cost: two readings of S with a binary search a row. Memory: the result. Fences once, inside the scan.
///
/// \pre sorted rows
template <class Space>
CsrGraph<Space> with_diagonal(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s);

}  // namespace prekond
