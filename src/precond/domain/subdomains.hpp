// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Subdomains of a matrix's rows, laid out one after the other, and the entries of the matrix in them.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/partition.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace prekond::impl::block {

/// Sets of rows S_d, which may overlap: place k of the layout, ptrs(d) <= k < ptrs(d + 1), is row rows(k) of
/// A, ascending in each set.
template <class Space>
struct Subdomains {
  std::int64_t count() const {
    return ptrs.extent(0) > 0 ? static_cast<std::int64_t>(ptrs.extent(0)) - 1 : 0;
  }

  std::int64_t num_rows = 0;    ///< of A
  std::int64_t num_places = 0;  ///< of the layout
  int largest = 0;              ///< rows of the largest set
  int uniform = 0;              ///< rows of every set but the last, where they follow each other; else 0
  bool is_identity = true;      ///< rows(k) = k
  Vector<int, Space> ptrs;      ///< count() + 1
  Vector<int, Space> rows;
  Vector<int, Space> subdomain;  ///< of each place
  /// rows(k) where the row's own part, without overlap, is this subdomain's, else -1. Without overlap: rows.
  Vector<int, Space> owned;
  Vector<int, Space> copy_ptrs;  ///< of each row its places, ascending; empty without overlap
  Vector<int, Space> copies;
};

/// The subdomains as they grow.
struct GrownSubdomains {
  double rows = 0, entries = 0;  ///< of all together; of the entries at most
  double squares = 0;            ///< the sum of the squares of their numbers of rows
  std::size_t largest = 0;       ///< rows
};

/// The parts of a partition.
template <class Space>
Subdomains<Space> disjoint_subdomains(const Space& space, const Partition<Space>& partition);

/// The parts, each with its neighbours in the graph, `levels` times: patterns of products S (I + G), where
/// row d of S has the rows of subdomain d. Calls check(grown) before each level with the sizes that the sets
/// will have at least, and after it with those that they have. The bits do not depend on the threads.
///
/// Cost: a reading of G's rows for each row of a subdomain, a level, see product_pattern; a sort of the
/// places. Memory: the result, a copy of G, and 8 bytes a place. Fences a few times. \throws InputError for
/// subdomains of 2^31 rows and more together
template <class Space>
Subdomains<Space> overlapping_subdomains(const Space& space, const CsrGraphView<Space>& graph,
                                         const Partition<Space>& partition, int levels,
                                         const std::string& name,
                                         const std::function<void(const GrownSubdomains&)>& check);

/// The block-diagonal matrix of the A[S_d, S_d], num_places x num_places, and where A has its entries.
template <class Space>
struct DiagonalBlocks {
  Subdomains<Space> subdomains;
  CsrGraph<Space> pattern;
  Vector<std::size_t, Space> source;  ///< of entry k, its place in A's values
  std::int64_t nnz_of_a = 0;          ///< what A has to have in a numeric phase
};

/// Cost: a binary search an entry of A's rows, twice. Memory: the result and an int a place. Fences.
template <class Space>
DiagonalBlocks<Space> extract_blocks(const Space& space, const CsrGraphView<Space>& a,
                                     const Subdomains<Space>& subdomains);

/// values(k) = a(source(k)) for all k of `source`
template <class Scalar, class Space>
void copy_values(const Space& space, VectorView<const std::size_t, Space> source,
                 VectorView<const Scalar, Space> a, VectorView<Scalar, Space> values);

/// Where an application takes places from and puts them: x(from(k)) and y(to(k)), nothing where to(k) < 0; an
/// empty list is the identity.
template <class Space>
struct Transfer {
  VectorView<const int, Space> from;
  VectorView<const int, Space> to;
  KOKKOS_FORCEINLINE_FUNCTION int source(int k) const { return from.extent(0) > 0 ? from(k) : k; }
  KOKKOS_FORCEINLINE_FUNCTION int target(int k) const { return to.extent(0) > 0 ? to(k) : k; }
};

}  // namespace prekond::impl::block
