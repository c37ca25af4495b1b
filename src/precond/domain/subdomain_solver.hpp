// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of a matrix in subdomains, and a local method for the blocks.
#include <prekond/core/error.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/precond/schwarz.hpp>

#include "precond/domain/local_method.hpp"
#include "precond/setup/host_text.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace prekond::impl::block {

template <class Scalar, class Space>
class SubdomainSolver {
 public:
  using matrix_source = MatrixSource<Scalar, Space>;
  using Listener = typename LocalMethod<Scalar, Space>::Listener;

  /// Makes the subdomains from the pattern. `given`: the user's partition; empty: by the options. Fences.
  SubdomainSolver(const Space& space, const matrix_source& source, const SchwarzOptions& options,
                  const Vector<int, Space>& given, const Listener& listener)
      : m_local(create_local_method<Scalar, Space>(options.local)) {
    m_local->set_listener(listener);
    const CsrGraphView<Space> pattern = source.csr();
    const bool by_graph = given.extent(0) == 0 && uses_graph(options.partition);
    CsrGraph<Space> graph;
    if (by_graph || options.overlap > 0) graph = symmetrize<Space>(space, pattern);
    m_partition = make_partition(space, source, graph, options, given);
    if (by_graph) m_edges = count_edges<Space>(space, graph, m_partition);
    m_by_graph = by_graph;
    const Subdomains<Space> subdomains =
        options.overlap > 0
            ? overlapping_subdomains<Space>(space, graph, m_partition, options.overlap, SchwarzOptions::name,
                                            growth_check(pattern, options, given.extent(0) > 0))
            : disjoint_subdomains<Space>(space, m_partition);
    tell_of_many_rows(subdomains, listener);
    m_blocks = extract_blocks<Space>(space, pattern, subdomains);
    if (pattern.num_rows > 0) m_local->symbolic(space, {m_blocks, source.csr().values});
  }

  void numeric(const Space& space, const CsrView<Scalar, Space>& a, Report& report) {
    if (a.nnz() != m_blocks.nnz_of_a)
      throw InputError("schwarz: numeric was given " + std::to_string(a.nnz()) + " entries, symbolic " +
                       std::to_string(m_blocks.nnz_of_a) + "; call symbolic again");
    m_local->numeric(space, {m_blocks, a.values}, report);
    report.bytes += bytes();
    report.host_seconds += m_partition.host_seconds;
    report.notes.push_back(description());
  }

  const LocalMethod<Scalar, Space>& local() const { return *m_local; }
  LocalMethod<Scalar, Space>& local() { return *m_local; }
  const Subdomains<Space>& subdomains() const { return m_blocks.subdomains; }
  const Partition<Space>& partition() const { return m_partition; }

  /// From rows to rows, each by its own part.
  Transfer<Space> to_rows() const {
    if (subdomains().is_identity) return {};
    return {subdomains().rows, subdomains().owned};
  }
  /// From rows to places.
  Transfer<Space> to_places() const { return {subdomains().rows, {}}; }

 private:
  static bool uses_graph(PartitionMethod method) {
    return method != PartitionMethod::rows && method != PartitionMethod::supervariables;
  }

  /// The local method looks at the subdomains while they grow.
  std::function<void(const GrownSubdomains&)> growth_check(const CsrGraphView<Space>& pattern,
                                                           const SchwarzOptions& options,
                                                           bool is_given) const {
    const WantedSubdomains wanted{pattern.num_rows, pattern.nnz(),
                                  is_given ? 0 : options.block_size.value_or(1), options.overlap};
    return
        [wanted, local = m_local.get()](const GrownSubdomains& grown) { local->check_growth(wanted, grown); };
  }

  static void tell_of_many_rows(const Subdomains<Space>& subdomains, const Listener& listener) {
    constexpr std::int64_t many = 16;  // times the matrix's rows
    if (listener && subdomains.num_places > many * subdomains.num_rows)
      listener("schwarz: the subdomains have more than " + std::to_string(many) +
               " times the matrix's rows together, as rows with many entries join them; less overlap takes "
               "less memory");
  }

  static Partition<Space> make_partition(const Space& space, const matrix_source& source,
                                         const CsrGraph<Space>& graph, const SchwarzOptions& options,
                                         const Vector<int, Space>& given) {
    const CsrGraphView<Space> pattern = source.csr();
    if (given.extent(0) > 0) {
      if (static_cast<std::int64_t>(given.extent(0)) != pattern.num_rows)
        throw InputError("schwarz: the partition given has " + std::to_string(given.extent(0)) +
                         " rows, the matrix " + std::to_string(pattern.num_rows));
      return partition_by_numbers<Space>(space, given);
    }
    const int size = options.block_size.value_or(1);
    if (options.partition == PartitionMethod::supervariables)
      return partition_supervariables<Space>(space, pattern, size, source.unknowns_per_node());
    const std::int64_t parts = (pattern.num_rows + size - 1) / size;
    const bool by_graph = uses_graph(options.partition);
    return partition_graph<Space>(space, by_graph ? CsrGraphView<Space>(graph) : pattern, parts,
                                  options.partition);
  }

  /// Bytes of the partition and the blocks, each array once: some of them are shared.
  std::int64_t bytes() const {
    std::vector<const void*> seen;
    std::int64_t sum = 0;
    const auto add = [&](const auto&... views) {
      (..., [&](const auto& view) {
        if (std::find(seen.begin(), seen.end(), view.data()) != seen.end()) return;
        seen.push_back(view.data());
        sum += static_cast<std::int64_t>(view.span() *
                                         sizeof(typename std::decay_t<decltype(view)>::value_type));
      }(views));
    };
    const Subdomains<Space>& s = subdomains();
    add(m_partition.ptrs, m_partition.rows, m_partition.part, s.ptrs, s.rows, s.subdomain, s.owned,
        s.copy_ptrs, s.copies, m_blocks.pattern.row_ptrs, m_blocks.pattern.col_idxs, m_blocks.source);
    return sum;
  }

  std::string description() const {
    char share[16];
    std::snprintf(
        share, sizeof(share), "%.3g %%",
        m_blocks.nnz_of_a > 0 ? 100.0 * double(m_blocks.pattern.nnz()) / double(m_blocks.nnz_of_a) : 100.0);
    std::string text = "schwarz: " + std::to_string(subdomains().count()) + " blocks of up to " +
                       std::to_string(subdomains().largest) + " rows, with " + share +
                       " of the matrix's entries";
    if (subdomains().num_places > subdomains().num_rows)
      text += "; each row in " +
              std::to_string(double(subdomains().num_places) / double(subdomains().num_rows)).substr(0, 4) +
              " of them";
    if (m_by_graph)
      text +=
          "; the partition cuts " + std::to_string(m_edges.cut) + " edges of " + std::to_string(m_edges.all);
    return text + host_text("made the partition", m_partition.host_seconds);
  }

  std::unique_ptr<LocalMethod<Scalar, Space>> m_local;
  Partition<Space> m_partition;
  DiagonalBlocks<Space> m_blocks;
  EdgeCount m_edges;
  bool m_by_graph = false;
};

}  // namespace prekond::impl::block
