// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// A number of 64 bits that tells two patterns apart: the sum, modulo 2^64, of mixes of (k, j_k) over the
/// entries, of (i, row_ptrs(i)) over the rows, and of the sizes. Equal patterns have equal ones; two others
/// do with a probability of about 2^-64.
///
/// Cost: one reading of the pattern. Fences.
template <class Space>
std::uint64_t fingerprint(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern);

/// Whether two patterns have the same size and the same rows. Cost: one reading of both where they have as
/// many entries. Fences.
template <class Space>
bool equal_patterns(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                    const std::type_identity_t<CsrGraphView<Space>>& b);

/// Whether a square pattern has (j, i) for each (i, j): the sum, modulo 2^64, of mixes of {i, j} over the
/// entries above the diagonal is that over those below it. One that is not symmetric is taken for one that is
/// with a probability of about 2^-64.
///
/// Cost: one reading of the pattern. Fences. \pre num_rows = num_cols
template <class Space>
bool is_symmetric(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern);

}  // namespace prekond
