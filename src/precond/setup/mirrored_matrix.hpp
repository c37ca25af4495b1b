// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices for methods that need a symmetric pattern, whose zeros are stored in one triangle only.
#include <prekond/core/error.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/row_teams.hpp"
#include "matrix/find_entry.hpp"

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

namespace prekond::impl {

/// The values of A on the pattern of A + A^T, zero where A has none. `first`: the least i 2^32 + j of an
/// entry that is not zero and whose mirror is not stored.
template <class Scalar, class Space>
struct FillMirrored {
  using Rows = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  CsrGraphView<Space> graph;
  VectorView<Scalar, Space> values;
  VectorView<unsigned long long, Space> first;

  KOKKOS_FUNCTION bool is_stored(std::int64_t i, std::int64_t j, Scalar& value) const {
    std::size_t place = 0;
    value = find_entry(a, i, j, place);
    return place < a.row_ptrs(i + 1);
  }
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = graph.row_ptrs(i);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(graph.row_ptrs(i + 1) - begin)), [&](int k) {
            const int j = graph.col_idxs(begin + k);
            Scalar mirror;
            const bool stored = is_stored(i, j, values(begin + k));
            if (stored && values(begin + k) != Scalar(0) && !is_stored(j, i, mirror))
              Kokkos::atomic_min(
                  &first(0), static_cast<unsigned long long>(i) << 32 | static_cast<unsigned long long>(j));
          });
    });
  }
};

/// A with the pattern `graph`, that of A + A^T. `method` is what needs it. Fences. \throws InputError for an
/// entry that is not zero and whose mirror is not stored
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> mirrored_matrix(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrGraph<Space>& graph,
    const std::string& method) {
  constexpr auto none = std::numeric_limits<unsigned long long>::max();
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::mirrored::values", graph.nnz());
  const auto first = allocate<Vector<unsigned long long, Space>>(space, "prekond::mirrored::first", 1);
  Kokkos::deep_copy(space, first, none);
  Kokkos::parallel_for("prekond::mirrored::fill", RowTeams<Space>::policy(space, graph.num_rows, graph.nnz()),
                       FillMirrored<Scalar, Space>{a, graph, values, first});
  unsigned long long found = 0;
  Kokkos::deep_copy(space, found, Kokkos::subview(first, 0));
  space.fence("prekond::mirrored::first");
  if (found != none) {
    std::ostringstream text;
    text << method << " is for symmetric matrices, and the pattern is not symmetric: entry ("
         << (found >> 32) + 1 << ", " << (found & 0xffffffffu) + 1
         << ") is not zero, and its mirror is not stored; choose a method for general matrices, such as ilu0";
    throw InputError(text.str(), static_cast<std::int64_t>(found >> 32));
  }
  return {graph.num_rows, graph.num_rows, graph.row_ptrs, graph.col_idxs, values};
}

}  // namespace prekond::impl
