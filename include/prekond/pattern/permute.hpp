// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/reordering.hpp>

namespace prekond {

/// P = I: `permute_pattern` then sorts the rows. One kernel.
template <class Space>
Ordering<Space> natural_ordering(const Space& space, std::int64_t num_rows);

/// The pattern of P A P^T, sorted, and where its entries come from: entry k is entry `source(k)` of A.
template <class Space>
struct PermutedPattern {
  CsrGraph<Space> graph;
  Vector<std::int64_t, Space> source;
};

/// Permutes a pattern, on `space`. Columns >= num_rows, which are other ranks', keep their numbers. One
/// reading of the pattern by rows, and sort_rows. Memory: the result, 12 bytes an entry. Fences once, inside
/// the scan.
///
/// \pre the ordering has a row for each of A's, whose columns may be in any order. \throws InputError where
/// it has another number
template <class Space>
PermutedPattern<Space> permute_pattern(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                       const Ordering<Space>& ordering);

/// result(k) = values(source(k)): the values of P A P^T once more, for a numeric phase on a pattern that was
/// permuted before. Each entry is read once, with 8 bytes of `source`. Allocates nothing, does not fence.
template <class Scalar, class Space>
void permute_values(const Space& space, const VectorView<const std::int64_t, Space>& source,
                    const VectorView<const Scalar, Space>& values, const VectorView<Scalar, Space>& result);

/// P A P^T, with sorted rows: permute_pattern and permute_values. Memory besides the result: 8 bytes an
/// entry. Fences twice, in permute_pattern and at the end.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> permute_symmetric(
    const Space& space, const CsrView<Scalar, Space>& a, const Ordering<Space>& ordering);

/// Q A: row i is row `rows(i)` of A, columns stay where they are. Cost and memory as of permute_symmetric.
///
/// \pre `rows` is a permutation; the rows of A are sorted \throws InputError where it has another number of
/// rows
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> permute_rows(
    const Space& space, const CsrView<Scalar, Space>& a, const Vector<int, Space>& rows);

/// y = P x: y_i is entry `permutation(i)` of x. x and y may not overlap. x and y are read and written once,
/// and 4 bytes a row; no fence.
template <class Scalar, class Space>
void permute_vector(const Space& space, const Ordering<Space>& ordering,
                    const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y);

/// y = P^T x, which undoes permute_vector, at the same cost.
template <class Scalar, class Space>
void restore_vector(const Space& space, const Ordering<Space>& ordering,
                    const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y);

}  // namespace prekond
