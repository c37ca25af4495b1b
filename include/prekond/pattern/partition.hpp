// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace prekond {

/// How rows are put into parts.
enum class PartitionMethod {
  automatic,      ///< multilevel on a device; on a host METIS where the build has it, else bisection
  metis,          ///< METIS's k-way partition
  bisection,      ///< recursive bisection by breadth-first search
  multilevel,     ///< bisection of coarser graphs first, on the execution space
  rows,           ///< consecutive rows, as many in each part
  supervariables  ///< consecutive rows with the same pattern
};

inline std::vector<std::pair<std::string, PartitionMethod>> partition_choices() {
  return {{"auto", PartitionMethod::automatic},      {"metis", PartitionMethod::metis},
          {"bisection", PartitionMethod::bisection}, {"multilevel", PartitionMethod::multilevel},
          {"rows", PartitionMethod::rows},           {"supervariables", PartitionMethod::supervariables}};
}

/// Rows in parts, none of them empty: part p has the rows `rows(k)`, ptrs(p) <= k < ptrs(p + 1), ascending.
template <class Space>
struct Partition {
  std::int64_t count() const {
    return ptrs.extent(0) > 0 ? static_cast<std::int64_t>(ptrs.extent(0)) - 1 : 0;
  }

  std::int64_t num_rows = 0;
  int largest = 0;  ///< rows of the largest part
  /// Do the parts follow each other, rows(k) = k?
  bool is_consecutive = true;
  Vector<int, Space> ptrs;  ///< count() + 1
  Vector<int, Space> rows;  ///< num_rows, a permutation
  Vector<int, Space> part;  ///< of each row
  double host_seconds = 0;  ///< of the work that one thread of the host did for it, with the copies
};

/// Was the library built with METIS?
bool has_metis();

/// `num_parts` parts of a graph with few edges between them. Parts that a method leaves empty are dropped.
///
/// - `metis`: METIS's k-way partition with a fixed seed, 3 % of imbalance; of up to 8 parts its recursive
///   bisection, which is better there. More than 256 parts in steps, groups of parts first: METIS's time
///   grows with the parts that it makes at a time.
/// - `bisection`: a part's vertices are ordered by a breadth-first search from a pseudo-peripheral vertex
///   (two searches; each connected component in turn) and cut where both sides have their share; a pass over
///   the part then moves vertices that have more neighbours on the other side, within 3 % of the share. Equal
///   vertices go by their numbers.
/// - `multilevel`: the same for all parts at once, on coarser graphs first. A vertex of a coarser graph is a
///   vertex that has the largest hash among its neighbours, and those that lead to it from one such neighbour
///   to the next. A piece is cut in a coarser graph where that gives both halves their shares of the rows to
///   6 %, and pieces have 32 vertices in the mean; further cuts follow in the next finer graph. After a cut,
///   8 rounds move vertices to a neighbouring piece in which they have more neighbours, within 6 % of the
///   shares. A part has at most 6 % more rows than the mean and one more. On the execution space.
/// - `rows`: consecutive rows, sizes that differ by one at most. On the execution space.
///
/// The first two work on the host, by one thread: the graph is copied there once. The result has the same
/// bits each time, for any number of threads, and from any thread. METIS takes its random numbers from
/// rand(): calls wait for each other, seed it anew, and leave it where METIS ended.
///
/// Cost of the bisection: (n + nnz) log2(num_parts) operations of the host, and 3 n ints. Cost of multilevel:
/// log2(num_parts) times two searches, each with as many readings of a graph as its pieces are wide, two
/// sorts of its vertices and 8 readings for the moves; memory: twice the graph, and 60 bytes a row. A few
/// waits for the device a search.
///
/// Source of multilevel: Karypis, Kumar, SIAM J. Sci. Comput. 20 (1998); pointers to the largest neighbour:
/// Gilbert, Acer, Boman, Madduri, Rajamanickam, IPDPS 2021.
///
/// \pre sorted rows, a symmetric pattern (`symmetrize`); diagonal entries are left out; num_parts >= 1
///
/// \throws InputError for `metis` in a build without it, and for a graph of 2^31 edges or more where METIS
/// counts in 32 bits \throws std::logic_error for `supervariables`, which has a function of its own
template <class Space>
Partition<Space> partition_graph(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& graph,
                                 std::int64_t num_parts, PartitionMethod method = PartitionMethod::automatic);

/// Blocks of a point-block method: runs of consecutive rows with the same pattern (supervariables, which the
/// unknowns of a node are), cut to `most` rows, and then put together one after the other as long as a block
/// has no more than `most`. `unknowns` > 1 says where nodes begin: every block then has whole nodes, where a
/// node has no more than `most` rows.
///
/// Cost: find_supernodes, and for n supervariables log2(n) passes over them; on a host one.
///
/// \pre sorted rows, most >= 1
///
/// Source: Anzt, Dongarra, Flegar, Quintana-Orti, Parallel Comput. 81 (2019), section 3.1.
template <class Space>
Partition<Space> partition_supervariables(const Space& space,
                                          const std::type_identity_t<CsrGraphView<Space>>& pattern, int most,
                                          int unknowns = 1);

/// The user's: row i is in part `part(i)`. Parts without rows are dropped. By a sort.
///
/// \throws InputError for a negative number
template <class Space>
Partition<Space> partition_by_numbers(const Space& space,
                                      const std::type_identity_t<VectorView<const int, Space>>& part);

/// Edges {i, j} of a graph, i < j, each counted once.
struct EdgeCount {
  std::int64_t all = 0;
  std::int64_t cut = 0;  ///< between rows of different parts
};

/// Fences.
///
/// \pre a symmetric pattern
template <class Space>
EdgeCount count_edges(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& graph,
                      const Partition<Space>& partition);

}  // namespace prekond
