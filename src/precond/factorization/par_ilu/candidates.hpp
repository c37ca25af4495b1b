// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Patterns that grow by the entries of L U, and are cut again.
#include <prekond/pattern/fill.hpp>

#include <cstdint>

namespace prekond::impl::par_ilu {

/// A pattern, with the places of its entries in the pattern before.
template <class Space>
struct GrownPattern {
  FillPattern<Space> pattern;
  Vector<int, Space> lower_origin, upper_origin;  ///< in the row of the pattern before; -1: new
};

/// The pattern of (I + L)(I + U) and A, without the diagonal. Each row's columns are listed, once for each
/// product that gives them, sorted, and written once. `known` is A's own pattern. Memory: 4 bytes a listed
/// column. Fences. \throws InputError, before it is allocated, where the list or the result takes more than
/// `most_bytes`
template <class Space>
GrownPattern<Space> add_candidates(const Space& space, const CsrGraphView<Space>& a,
                                   const FillPattern<Space>& known, const FillPattern<Space>& s,
                                   std::int64_t most_bytes);

/// The entries of a triangle that are kept, with their places in A's rows and in the rows before. Fences.
template <class Space>
struct CutTriangle {
  CsrGraph<Space> graph;
  Vector<int, Space> source, origin;
};
template <class Space>
CutTriangle<Space> cut_triangle(const Space& space, const CsrGraph<Space>& triangle,
                                const Vector<int, Space>& source, const Vector<char, Space>& keep);

}  // namespace prekond::impl::par_ilu
