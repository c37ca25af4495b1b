// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/ilut/numeric.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include "core/concurrency.hpp"
#include "sparse_product/transpose.hpp"

#include "core/instantiate.hpp"
#include "pattern/levels/schedule.hpp"
#include "precond/factorization/ilut/kernels.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace prekond::impl::ilut {
namespace {

/// A factorisation in progress: launches, and more room between two of them.
template <class Scalar, class Space, bool symmetric>
class Growth {
  static constexpr bool host = is_host_space<Space>;
  using Policy = Kokkos::TeamPolicy<Space>;
  using LaneGroup = NativeLaneGroup<Space, typename Policy::member_type, ThresholdTuning::lanes>;
  using Row = ThresholdRow<Scalar, Space, LaneGroup, symmetric>;
  using Kernel = ThresholdRowsDynamically<Row, Scalar, Space>;
  using Rows = GrowingRows<Scalar, Space>;
  static constexpr int lanes = host ? 1 : ThresholdTuning::lanes;
  static constexpr std::int64_t entry_bytes = sizeof(Scalar) + sizeof(int);

 public:
  Growth(const Space& space, const FillPattern<Space>& pattern, const Factors<Scalar, Space>& a,
         const ThresholdRules<Space>& rules)
      : m_space(space), m_rules(rules), m_pattern(pattern), m_a(a), m_num_rows(pattern.num_rows()) {
    m_done = allocate_zero<Vector<typename Rows::Word, Space>>(space, "prekond::ilut::done", m_num_rows);
    m_lower_length = allocate<Vector<int, Space>>(space, "prekond::ilut::lower_length", m_num_rows);
    m_upper_length = allocate<Vector<int, Space>>(space, "prekond::ilut::upper_length", m_num_rows);
    m_pivots = allocate<Vector<Scalar, Space>>(space, "prekond::ilut::pivots", m_num_rows);
    m_used = allocate_zero<Vector<typename Rows::Word, Space>>(space, "prekond::ilut::used", 1);
    m_signals = allocate_zero<Vector<int, Space>>(space, "prekond::ilut::signals", num_signals);
    m_next = allocate_zero<Vector<unsigned, Space>>(space, "prekond::ilut::next", 1);
    m_cut_rows = allocate_zero<Vector<long long, Space>>(space, "prekond::ilut::cut_rows", 1);
    m_outcome = make_breakdown_counter(space, "prekond::ilut::breakdowns");
    m_groups = std::min<std::int64_t>(m_num_rows, std::max(1, concurrency(space) / lanes));
    // More threads than rows of a level would wait for each other, and hold the cores that others need.
    if constexpr (host)
      if (m_groups > 1)
        m_groups = std::clamp<std::int64_t>(
            m_num_rows / levels::levels_by_rows<Space>(pattern.lower, Triangle::lower).num_levels, 1,
            m_groups);
    m_order = rules.order;
    const std::int64_t most_bytes = std::min(ThresholdTuning::slab_bytes, rules.memory_budget / 4);
    m_by_column =
        host && rules.by_column && m_groups * bytes(0, Kernel::slab_length(m_num_rows)) <= most_bytes;
    if (m_by_column) allocate_slabs(m_num_rows);
    const std::int64_t most_of_row =
        std::min<std::int64_t>((symmetric ? 1 : 2) * std::int64_t(rules.p), ThresholdTuning::entries_per_row);
    allow_entries(rules.first_entries >= 0 ? rules.first_entries : m_num_rows * most_of_row);
  }

  /// All rows. Fences.
  void run() {
    while (true) {
      launch();
      ++m_launches;
      std::array<int, num_signals> signals{};
      Kokkos::deep_copy(m_space, Kokkos::View<int*, Kokkos::HostSpace>(signals.data(), num_signals),
                        m_signals);
      m_space.fence("prekond::ilut::signals");
      if (signals[ended] == 0) return;
      if (signals[stalled] != 0) {
        m_stalled = true;
        m_groups = 1;
        m_order = {};
      }
      if (signals[wanted_slots] > 0) allow_slots(signals[wanted_slots]);
      if (signals[out_of_room] != 0) {
        const auto room = static_cast<std::int64_t>(m_cols.extent(0));
        allow_entries(std::max<std::int64_t>(2 * room, 2 * m_num_rows));
        // Rows that are done lie below the old end; nothing was written after it.
        Kokkos::deep_copy(m_space, m_used, static_cast<typename Rows::Word>(room));
      }
      set_zero(m_space, m_signals);
      Kokkos::deep_copy(m_space, m_next, 0u);
    }
  }

  ThresholdFactors<Scalar, Space> result(ilu::Outcome& outcome) const {
    ThresholdFactors<Scalar, Space> result;
    std::tie(result.pattern.upper, result.factors.upper) = sorted(true);
    if (symmetric) {
      const auto& u = result.pattern.upper;
      const auto l = transpose<Scalar, Space>(
          m_space,
          CsrView<Scalar, Space>(m_num_rows, m_num_rows, u.row_ptrs, u.col_idxs, result.factors.upper));
      result.pattern.lower = {m_num_rows, m_num_rows, l.row_ptrs, l.col_idxs};
      result.factors.lower = l.values;
    } else {
      std::tie(result.pattern.lower, result.factors.lower) = sorted(false);
    }
    result.pattern.is_symmetric = symmetric;
    result.pattern.foreign = m_pattern.foreign;
    result.factors.row_scale = m_a.row_scale;
    result.factors.pivots = m_pivots;
    long long cut_rows = 0;
    Kokkos::deep_copy(m_space, Kokkos::View<long long, Kokkos::HostSpace>(&cut_rows),
                      Kokkos::subview(m_cut_rows, 0));
    outcome.breakdowns = fetch(m_space, m_outcome);
    result.cut_rows = cut_rows;
    result.launches = m_launches;
    result.stalled = m_stalled;
    return result;
  }

 private:
  Rows rows() const {
    return {m_done,   m_lower_length, m_upper_length, m_pivots,   m_cols,
            m_values, m_used,         m_signals,      m_cut_rows, m_outcome};
  }

  void launch() const {
    const int threads =
        static_cast<int>(std::min<std::int64_t>(m_groups, host ? 1 : ThresholdTuning::team_threads / lanes));
    Row row{};
    row.lower = ilu::triangle_of<Scalar, Space>(m_pattern.lower, m_a.lower);
    row.upper = ilu::triangle_of<Scalar, Space>(m_pattern.upper, m_a.upper);
    row.rows = rows();
    row.most = m_rules.p;
    row.tau = static_cast<Scalar>(m_rules.tau);
    row.diagonal = static_cast<Scalar>(1 + m_rules.alpha);
    const Kernel kernel{row,
                        {m_done, m_signals, m_rules.most_polls},
                        m_next,
                        m_order,
                        m_rules.blocks.bounds,
                        static_cast<unsigned>(m_rules.blocks ? m_rules.blocks.count : m_num_rows),
                        m_rules.scratch_slots,
                        m_slab,
                        m_slots,
                        m_by_column};
    const std::size_t scratch = Kernel::scratch_bytes(m_rules.scratch_slots) * threads + 8;
    // There are at most as many lane groups as slabs.
    Kokkos::parallel_for("prekond::ilut::numeric::factor_rows",
                         Policy(m_space, static_cast<int>(m_groups / threads), threads, lanes)
                             .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch))),
                         kernel);
  }

  static std::int64_t bytes(std::size_t entries, std::size_t slab) {
    return static_cast<std::int64_t>(entries) * entry_bytes +
           static_cast<std::int64_t>(slab * sizeof(double));
  }
  void check_bytes(std::int64_t needed) {
    if (needed <= m_rules.memory_budget) return;
    std::ostringstream text;
    text << m_rules.owner << ": the factors and rows in work need " << needed << " bytes; memory_budget is "
         << m_rules.memory_budget << ". A larger tau, or a smaller p, drops more";
    throw InputError(text.str());
  }

  /// Makes room for rows that are done, and keeps those that are there.
  void allow_entries(std::int64_t entries) {
    const auto old = static_cast<std::int64_t>(m_cols.extent(0));
    if (m_by_column && bytes(entries + old, m_slab.extent(0)) > m_rules.memory_budget) {
      m_by_column = false;  // tables by hashes take less
      m_slab = {};
      m_slots = 0;
    }
    check_bytes(bytes(entries + old, m_slab.extent(0)));
    const auto cols = allocate<Vector<int, Space>>(m_space, "prekond::ilut::cols", entries);
    const auto values = allocate<Vector<Scalar, Space>>(m_space, "prekond::ilut::values", entries);
    const auto range = std::make_pair(std::int64_t(0), old);
    if (old > 0) {
      Kokkos::deep_copy(m_space, Kokkos::subview(cols, range), m_cols);
      Kokkos::deep_copy(m_space, Kokkos::subview(values, range), m_values);
      m_space.fence("prekond::ilut::more_entries");  // the old ones are freed
    }
    m_cols = cols;
    m_values = values;
  }

  /// Allocates slabs for rows of twice `wanted` entries, one for each lane group.
  void allow_slots(std::int64_t wanted) {
    std::int64_t slots = std::max(m_rules.least_slab_slots, m_slots);
    while (RowTable<Scalar>::most_of(slots) < std::min(2 * wanted, m_num_rows)) slots *= 2;
    if (slots > std::int64_t(1) << 30)
      throw InputError(m_rules.owner + ": a row in work has " + std::to_string(wanted) +
                       " entries, too many for a table; a larger tau, or a smaller p, drops more");
    const std::int64_t most =
        std::max<std::int64_t>(1, ThresholdTuning::slab_bytes / bytes(0, Kernel::slab_length(slots)));
    m_groups = std::min(m_groups, most);
    const int threads = host ? 1 : ThresholdTuning::team_threads / lanes;
    if (m_groups > threads) m_groups = m_groups / threads * threads;
    allocate_slabs(slots);
  }
  void allocate_slabs(std::int64_t slots) {
    const std::size_t length = m_groups * Kernel::slab_length(slots);
    m_slab = {};
    check_bytes(bytes(m_cols.extent(0), length));
    m_slab = allocate<Vector<double, Space>>(m_space, "prekond::ilut::slab", length);
    m_slots = static_cast<int>(slots);
  }

  std::pair<CsrGraph<Space>, Vector<Scalar, Space>> sorted(bool upper) const {
    CsrGraph<Space> graph{m_num_rows, m_num_rows, {}, {}};
    std::size_t nnz = 0;
    const VectorView<const int, Space> lengths = upper ? m_upper_length : m_lower_length;
    std::tie(graph.row_ptrs, nnz) = scan_row_lengths(
        m_space, upper ? "prekond::ilut::upper" : "prekond::ilut::lower", m_num_rows, lengths);
    graph.col_idxs = allocate<Vector<int, Space>>(m_space, "prekond::ilut::factor_cols", nnz);
    const auto values = allocate<Vector<Scalar, Space>>(m_space, "prekond::ilut::factor_values", nnz);
    Kokkos::parallel_for(
        "prekond::ilut::numeric::copy_rows",
        RowTeams<Space>::policy(m_space, m_num_rows, static_cast<std::int64_t>(nnz)),
        CopyRowsInto<Scalar, Space>{rows(), upper, graph.row_ptrs, graph.col_idxs, values, m_num_rows});
    sort_rows(m_space, CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>(
                           m_num_rows, m_num_rows, graph.row_ptrs, graph.col_idxs, values));
    return {graph, values};
  }

  Space m_space;
  const ThresholdRules<Space>& m_rules;
  const FillPattern<Space>& m_pattern;
  const Factors<Scalar, Space>& m_a;
  std::int64_t m_num_rows;
  Vector<typename Rows::Word, Space> m_done;
  Vector<int, Space> m_lower_length, m_upper_length, m_signals, m_order, m_cols;
  Vector<Scalar, Space> m_pivots, m_values;
  Vector<typename Rows::Word, Space> m_used;
  Vector<unsigned, Space> m_next;
  Vector<long long, Space> m_cut_rows;
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<double, Space> m_slab;
  int m_slots = 0;
  bool m_by_column = false;
  std::int64_t m_groups = 1;
  int m_launches = 0;
  bool m_stalled = false;
};

}  // namespace

template <class Scalar, class Space>
ThresholdFactors<Scalar, Space> factor(const Space& space, const FillPattern<Space>& pattern,
                                       const Factors<Scalar, Space>& a, const ThresholdRules<Space>& rules,
                                       ilu::Outcome& outcome) {
  const auto run = [&](auto growth) {
    growth.run();
    auto result = growth.result(outcome);
    space.fence("prekond::ilut::factor");  // the working memory is freed
    return result;
  };
  return rules.symmetric ? run(Growth<Scalar, Space, true>(space, pattern, a, rules))
                         : run(Growth<Scalar, Space, false>(space, pattern, a, rules));
}

#define PREKOND_ILUT_NUMERIC(Scalar, Space)                                                                 \
  template ThresholdFactors<Scalar, Space> factor<Scalar, Space>(                                           \
      const Space&, const FillPattern<Space>&, const Factors<Scalar, Space>&, const ThresholdRules<Space>&, \
      ilu::Outcome&);
PREKOND_INSTANTIATE(PREKOND_ILUT_NUMERIC)

}  // namespace prekond::impl::ilut
