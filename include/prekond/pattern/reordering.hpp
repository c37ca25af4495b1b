// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Orders of the rows of a square matrix, and what they do to its pattern: <prekond/pattern/permute.hpp>
/// applies them. They are made of the pattern of A + A^T without its diagonal; columns >= num_rows are
/// skipped.
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// A permutation P of rows: row i of P A P^T is row `permutation(i)` of A, and row `inverse(j)` of P A P^T is
/// row j of A. Two ints a row.
template <class Space>
struct Ordering {
  std::int64_t size() const { return static_cast<std::int64_t>(permutation.extent(0)); }

  Vector<int, Space> permutation;  ///< old row, by new
  Vector<int, Space> inverse;      ///< new row, by old
  double host_seconds = 0;         ///< of the work that one thread of the host did for it, with the copies
};

/// The order that `permutation` writes down, old rows by new: that of the colours of a Coloring, for one. One
/// kernel.
template <class Space>
Ordering<Space> make_ordering(const Space& space, const Vector<int, Space>& permutation);

/// Reverse Cuthill-McKee: the rows of each component by breadth-first search from a pseudo-peripheral one,
/// the neighbours of a row by ascending degree and then index; the whole order reversed. It makes the
/// bandwidth small, and neighbours in memory of rows that are coupled.
///
/// Components come by their first rows, which are where the search for a pseudo-peripheral row starts: again
/// and again that of the last level with the least degree (then index), as long as it has more levels.
///
/// Runs on `space`, a level of the search at a time; where the levels of a device's search are so narrow that
/// it would wait for launches (a long chain, many components), and on a host space, one host thread searches,
/// on a copy of the pattern where the device's memory is another. The order is the same, bit for bit.
/// Cost: symmetrize, a sort of the rows, and as many searches as levels are counted, usually 3 to 5.
/// Memory: the pattern of A + A^T and, while its rows are sorted, 5 ints a row.
///
/// Sources: Cuthill and McKee (1969); George and Liu, ACM Trans. Math. Softw. 5 (1979), for the start;
/// Karantasis et al., SC14, for the levels.
template <class Space>
Ordering<Space> reverse_cuthill_mckee(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a);

/// Approximate minimum degree, by AMD of SuiteSparse: little fill in a factorisation. Sequential, on the
/// host, on copies of the pattern of A + A^T with 64-bit indices (1.2 times its entries and 9 indices a row).
///
/// \throws OptionError where the library was built without AMD
/// Source: Amestoy, Davis and Duff, ACM Trans. Math. Softw. 30 (2004).
template <class Space>
Ordering<Space> minimum_degree(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a);

/// Nested dissection, by METIS_NodeND with its seed fixed: little fill, and a wide tree of eliminations.
/// Sequential, on the host, on a copy of the pattern of A + A^T.
///
/// \throws OptionError where the library was built without METIS
/// \throws InputError for a pattern of more entries than METIS's integers count
/// Source: Karypis and Kumar, SIAM J. Sci. Comput. 20 (1998).
template <class Space>
Ordering<Space> nested_dissection(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a);

/// Rows in the order of a hash of (seed, row): the same on every machine. A sort of a 64-bit key a row.
template <class Space>
Ordering<Space> random_order(const Space& space, std::int64_t num_rows, std::uint64_t seed = 1);

/// Was the library built with AMD, with METIS?
bool has_minimum_degree();
bool has_nested_dissection();

}  // namespace prekond
