// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_operator.hpp>
#include <prekond/precond/block_triangular_solver.hpp>
#include <prekond/precond/multicolor_block_gs.hpp>

#include "core/row_teams.hpp"
#include "instantiate.hpp"
#include "matrix/block_sizes.hpp"
#include "precond/block_ilu/invert_block.hpp"
#include "precond/block_triangular/diagonal_blocks.hpp"
#include "precond/block_triangular/row_launches.hpp"
#include "precond/common/breakdown_counter.hpp"
#include "precond/common/longest_row.hpp"
#include "precond/common/source_blocks.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace prekond {
namespace impl::block_gs {

/// L and U by the colours, and where in A their blocks come from.
template <class Space>
struct Pattern {
  int block_size, padding;
  std::int64_t num_blocks;   ///< of A
  std::int64_t longest_row;  ///< blocks of A
  CsrGraph<Space> lower, upper;
  Vector<std::size_t, Space> lower_source, upper_source;
  LevelSchedule<Space> forward, backward;

  std::int64_t bytes() const {
    return lower.bytes() + upper.bytes() +
           static_cast<std::int64_t>((lower_source.span() + upper_source.span()) * sizeof(std::size_t));
  }
};

/// The blocks of a row in columns of earlier colours, or of later ones.
template <class Space>
struct SplitRow {
  CsrGraphView<Space> a;
  VectorView<const int, Space> colors;
  bool earlier;

  KOKKOS_FORCEINLINE_FUNCTION bool has(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    if (j >= a.num_rows) return false;
    return earlier ? colors(j) < colors(i) : colors(j) > colors(i);
  }
  KOKKOS_FUNCTION int operator()(std::int64_t i) const {
    int count = 0;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) count += has(i, k) ? 1 : 0;
    return count;
  }
};

template <class Space>
struct FillSplit {
  SplitRow<Space> split;
  CsrGraph<Space> graph;
  Vector<std::size_t, Space> source;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t at = graph.row_ptrs(i);
    for (std::size_t k = split.a.row_ptrs(i); k < split.a.row_ptrs(i + 1); ++k)
      if (split.has(i, k)) {
        graph.col_idxs(at) = split.a.col_idxs(k);
        source(at++) = k;
      }
  }
};

template <class Space>
void split(const Space& space, const SplitRow<Space>& rows, CsrGraph<Space>& graph,
           Vector<std::size_t, Space>& source) {
  const std::int64_t n = rows.a.num_rows;
  const auto [row_ptrs, nnz] = scan_row_lengths(space, "prekond::block_gs", n, rows);
  graph = {n, n, row_ptrs, allocate<Vector<int, Space>>(space, "prekond::block_gs::cols", nnz)};
  source = allocate<Vector<std::size_t, Space>>(space, "prekond::block_gs::source", nnz);
  Kokkos::parallel_for("prekond::block_gs::symbolic::split",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                       FillSplit<Space>{rows, graph, source});
}

/// D^-1, a vector of lanes a block.
template <class Scalar, class Space>
struct InvertDiagonal {
  static constexpr bool host = is_host_space<Space>;
  static constexpr int lanes = host ? 1 : 32;
  using Level = NativeVectorLevel<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>;
  using Inverse = block_ilu::BlockInverse<Scalar, 0>;

  int block_size;
  int scratch_bytes;
  blocks::BlockStrides strides;
  std::int64_t num_rows;  ///< of single rows
  CsrGraphView<Space> a;
  VectorView<const Scalar, Space> values;
  Vector<Scalar, Space> inverse;
  Vector<BreakdownCounter, Space> outcome;

  template <class Blocks>
  InvertDiagonal(const Blocks& blocks, const Vector<Scalar, Space>& to,
                 const Vector<BreakdownCounter, Space>& counter)
      : block_size(blocks.block_size),
        scratch_bytes(static_cast<int>(Inverse::bytes(block_size) +
                                       (block_size * block_size * sizeof(Scalar) + 15) / 16 * 16)),
        strides(blocks),
        num_rows(blocks.num_rows()),
        a(graph_of<Space>(blocks)),
        values(blocks.values),
        inverse(to),
        outcome(counter) {}

  KOKKOS_FUNCTION bool has_stalled() const { return false; }

  template <class AnyLevel>
  KOKKOS_FUNCTION void operator()(const AnyLevel& level, int i, char* memory) const {
    const int b = block_size, n = b * b;
    Scalar* const block = reinterpret_cast<Scalar*>(memory + Inverse::bytes(b));
    const std::size_t k = a.first_from(i, i);
    const bool found = k < a.row_ptrs(i + 1) && a.col_idxs(k) == i;
    level.region([&](int lane) {
      for (int e = lane; e < n; e += level.size()) {
        const int p = e % b, q = e / b;
        const bool padding = std::int64_t(i) * b + p >= num_rows;
        block[e] = padding ? Scalar(p == q) : (found ? values(k * n + strides.place(p, q)) : Scalar(0));
      }
    });
    Inverse own(memory, b);
    const bool regular = own.invert(level, block, 16 * Kokkos::Experimental::epsilon_v<Scalar>);
    const bool sound = level.template max<int>([&](int lane) {
      int bad = regular ? 0 : 1;
      for (int e = lane; regular && e < n; e += level.size())
        if (!is_finite(own.result()[e])) bad = 1;
      return bad;
    }) == 0;
    level.region([&](int lane) {
      for (int e = lane; e < n; e += level.size()) {
        const Scalar fallback = sound || e % b != e / b ? Scalar(0) : point(i, e % b, block[e]);
        inverse(std::size_t(i) * n + e) = sound ? own.result()[e] : fallback;
      }
      if (lane == 0 && !sound)
        BreakdownCounter::count(outcome(0), i * b + (regular ? 0 : own.failed_column()), true,
                                regular ? 1.0f : own.bad_pivot());
    });
  }

 private:
  /// 1 / entry; where that is not finite, of the largest entry of its row; 1 where that is not finite either.
  KOKKOS_FUNCTION Scalar point(int i, int p, Scalar entry) const {
    const Scalar direct = Scalar(1) / entry;
    if (is_finite(entry) && is_finite(direct)) return direct;
    Scalar most = 0;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      for (int q = 0; a.col_idxs(k) < a.num_rows && q < block_size; ++q) {
        const Scalar size = Kokkos::abs(values(k * block_size * block_size + strides.place(p, q)));
        if (is_finite(size) && size > most) most = size;
      }
    const Scalar value = Scalar(1) / most;
    return is_finite(value) ? value : Scalar(1);
  }
};

/// n_ij = D_i^-1 a_ij; 0 where that is not finite.
template <class Scalar, class Space>
struct ScaleBlocks {
  using Rows = RowTeams<Space>;
  int block_size;
  blocks::BlockStrides strides;
  CsrGraphView<Space> n;
  VectorView<const std::size_t, Space> source;
  VectorView<const Scalar, Space> inverse, a;
  Vector<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const int b = block_size, entries = b * b;
    Rows{n.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = n.row_ptrs(i);
      const std::int64_t count = static_cast<std::int64_t>(n.row_ptrs(i + 1) - first) * entries;
      const std::size_t own = static_cast<std::size_t>(i) * entries;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count), [&](std::int64_t e) {
        const std::size_t block = first + e / entries, from = source(block) * entries;
        const int within = static_cast<int>(e % entries), p = within % b, q = within / b;
        Scalar sum = 0;
        for (int r = 0; r < b; ++r) sum += inverse(own + r * b + p) * a(from + strides.place(r, q));
        values(first * entries + e) = is_finite(sum) ? sum : Scalar(0);
      });
    });
  }
};

template <class Scalar, class Space>
struct SweepWorkspace : Workspace {
  MultiVector<Scalar, Space> source, rest, other;
  std::unique_ptr<Workspace> forward, backward;
};

/// The sweeps, as half sweeps in turn: x <- (I + D^-1 L)^-1 (D^-1 b - D^-1 U x), or with L and U exchanged.
template <class Scalar, class Space>
class Sweeps {
 public:
  using Blocks = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;

  Sweeps(const Space& space, const std::string& owner, const Pattern<Space>& pattern,
         const MulticolorBlockGsOptions& options, const Vector<Scalar, Space>& inverse,
         const Vector<Scalar, Space>& lower, const Vector<Scalar, Space>& upper)
      : m_forward(owner, Triangle::lower, by_levels()), m_backward(owner, Triangle::upper, by_levels()) {
    const int b = pattern.block_size;
    const auto blocks = [&](const CsrGraph<Space>& graph, const Vector<Scalar, Space>& values) {
      Blocks result(b, BlockOrder::by_columns, graph.num_rows, graph.num_rows, graph.row_ptrs, graph.col_idxs,
                    values, pattern.padding);
      result.longest_row = pattern.longest_row;
      return result;
    };
    m_lower = blocks(pattern.lower, lower);
    m_upper = blocks(pattern.upper, upper);
    m_scale = block_triangular::diagonal_blocks(space, m_lower);
    m_scale.values = inverse;
    Report unused;
    m_forward.symbolic(space, pattern.lower, b, pattern.padding, pattern.forward);
    m_forward.numeric(space, lower, {}, unused);
    m_backward.symbolic(space, pattern.upper, b, pattern.padding, pattern.backward);
    m_backward.numeric(space, upper, {}, unused);
    for (int sweep = 0; sweep < options.sweeps; ++sweep) {
      if (options.direction != SweepDirection::backward) m_halves.push_back(true);
      if (options.direction != SweepDirection::forward) m_halves.push_back(false);
    }
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const {
    using Owned = MultiVector<Scalar, Space>;
    const std::int64_t n = m_lower.num_rows();
    auto workspace = std::make_unique<SweepWorkspace<Scalar, Space>>();
    const bool further = m_halves.size() > 1;
    workspace->source = allocate<Owned>(space, "prekond::block_gs::apply::source", n, num_vectors);
    workspace->rest = allocate<Owned>(space, "prekond::block_gs::apply::rest", further ? n : 0, num_vectors);
    workspace->other =
        allocate<Owned>(space, "prekond::block_gs::apply::other", further ? n : 0, num_vectors);
    workspace->forward = m_forward.make_workspace(space, num_vectors);
    workspace->backward = m_backward.make_workspace(space, num_vectors);
    return workspace;
  }

  void apply(const Space& space, Const x, Vectors y, Workspace& workspace) const {
    auto& own = static_cast<SweepWorkspace<Scalar, Space>&>(workspace);
    if (own.source.extent(0) != x.extent(0) || own.source.extent(1) < x.extent(1))
      throw std::logic_error("multicolor_block_gs: the workspace was made for " +
                             std::to_string(own.source.extent(1)) + " vectors of " +
                             std::to_string(own.source.extent(0)) + " rows; there are " +
                             std::to_string(x.extent(1)) + " of " + std::to_string(x.extent(0)));
    const auto columns = [&](const MultiVector<Scalar, Space>& all) {
      return Vectors(all.data(), all.extent(0), x.extent(1));
    };
    const Vectors source = columns(own.source);
    bcsr_recurrence<Scalar, Space>(space, {}, m_scale, x, {}, source);
    Const last{};
    const int halves = static_cast<int>(m_halves.size());
    for (int k = 0; k < halves; ++k) {
      const bool is_forward = m_halves[k];
      const Vectors to = (halves - 1 - k) % 2 == 0 ? y : columns(own.other);
      Const from = source;
      if (k > 0) {
        const Vectors rest = columns(own.rest);
        bcsr_recurrence<Scalar, Space>(space, {.product = -1, .source = 1}, is_forward ? m_upper : m_lower,
                                       last, source, rest);
        from = rest;
      }
      if (is_forward)
        m_forward.apply(space, from, to, *own.forward);
      else
        m_backward.apply(space, from, to, *own.backward);
      last = to;
    }
  }

  std::int64_t bytes() const {
    return static_cast<std::int64_t>((m_lower.values.span() + m_upper.values.span()) * sizeof(Scalar)) +
           m_scale.bytes() + m_forward.bytes() + m_backward.bytes();
  }
  double flops() const {
    double sum = 2.0 * static_cast<double>(m_scale.values.extent(0));
    for (std::size_t k = 0; k < m_halves.size(); ++k)
      sum += m_halves[k] ? m_forward.flops() + (k > 0 ? m_backward.flops() : 0)
                         : m_backward.flops() + (k > 0 ? m_forward.flops() : 0);
    return sum;
  }

 private:
  static BlockTriangularOptions by_levels() { return {.method = BlockTriangularMethod::levels}; }

  Blocks m_lower, m_upper, m_scale;
  BlockTriangularSolver<Scalar, Space> m_forward, m_backward;
  std::vector<bool> m_halves;  ///< forward?
};

/// The rows by colour.
template <class Space>
LevelSchedule<Space> schedule_of(const Space& space, const Coloring<Space>& coloring) {
  LevelSchedule<Space> schedule;
  schedule.rows = coloring.permutation;
  schedule.host_level_ptrs = coloring.color_ptrs;
  schedule.level_ptrs =
      allocate<Vector<int, Space>>(space, "prekond::block_gs::color_ptrs", coloring.color_ptrs.size());
  Kokkos::deep_copy(space, schedule.level_ptrs,
                    Kokkos::View<const int*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        coloring.color_ptrs.data(), coloring.color_ptrs.size()));
  space.fence("prekond::block_gs::symbolic::color_ptrs");
  return schedule;
}

}  // namespace impl::block_gs

template <class Scalar, class Space>
MulticolorBlockGs<Scalar, Space>::MulticolorBlockGs(const MulticolorBlockGsOptions& options)
    : m_options(resolved(options)) {}

template <class Scalar, class Space>
MulticolorBlockGs<Scalar, Space>::~MulticolorBlockGs() = default;

template <class Scalar, class Space>
int MulticolorBlockGs<Scalar, Space>::block_size() const {
  return m_pattern ? m_pattern->block_size : 0;
}

template <class Scalar, class Space>
void MulticolorBlockGs<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  std::shared_ptr<const Pattern> pattern;
  Coloring<Space> coloring;
  if (source.csr().num_rows > 0) {
    namespace block_gs = impl::block_gs;
    const int b = impl::block_size_of(space, source, m_options.block_size);
    const auto a = impl::blocks_of(space, source, b);
    const auto graph = impl::graph_of<Space>(a);
    ColoringOptions options;
    options.order = m_options.order;
    options.two_colors = m_options.two_colors;
    coloring = color_graph<Space>(space, graph, options);
    auto found = std::make_shared<Pattern>();
    found->block_size = b;
    found->padding = a.padding;
    found->num_blocks = a.num_blocks();
    found->longest_row = impl::longest_row<Space>(space, graph.row_ptrs).length;
    block_gs::split<Space>(space, {graph, coloring.colors, true}, found->lower, found->lower_source);
    block_gs::split<Space>(space, {graph, coloring.colors, false}, found->upper, found->upper_source);
    found->forward = block_gs::schedule_of(space, coloring);
    found->backward = reversed_levels<Space>(space, found->forward);
    space.fence("prekond::block_gs::symbolic");  // what was converted is freed
    pattern = found;
  }
  m_pattern = pattern;
  m_coloring = coloring;
  m_sweeps = nullptr;
  m_has_values = false;
}

template <class Scalar, class Space>
void MulticolorBlockGs<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                                    Report& report) {
  namespace block_gs = impl::block_gs;
  using Values = Vector<Scalar, Space>;
  const Pattern& pattern = *m_pattern;
  const int b = pattern.block_size;
  const std::size_t entries = static_cast<std::size_t>(b) * b;
  const auto a = impl::blocks_of(space, source, b);
  if (a.num_blocks() != pattern.num_blocks)
    throw InputError(this->name() + ": numeric was given " + std::to_string(a.num_blocks()) +
                     " blocks, symbolic " + std::to_string(pattern.num_blocks) + "; call symbolic again");
  const auto inverse = allocate<Values>(space, "prekond::block_gs::inverse", a.num_block_rows * entries);
  const auto counter = impl::make_breakdown_counter(space, "prekond::block_gs::breakdowns");
  const block_gs::InvertDiagonal<Scalar, Space> invert(a, inverse, counter);
  impl::block_rows::Launcher<block_gs::InvertDiagonal<Scalar, Space>, Space>(space, invert)
      .all("prekond::block_gs::numeric::invert", a.num_block_rows, false);
  const auto scaled = [&](const CsrGraph<Space>& graph, const Vector<std::size_t, Space>& from) {
    const auto values = allocate<Values>(space, "prekond::block_gs::values", graph.nnz() * entries);
    Kokkos::parallel_for("prekond::block_gs::numeric::scale",
                         impl::RowTeams<Space>::policy(space, graph.num_rows,
                                                       graph.nnz() * static_cast<std::int64_t>(entries)),
                         block_gs::ScaleBlocks<Scalar, Space>{b, impl::blocks::BlockStrides(a), graph, from,
                                                              inverse, a.values, values});
    return values;
  };
  const Values lower = scaled(pattern.lower, pattern.lower_source),
               upper = scaled(pattern.upper, pattern.upper_source);
  const auto sweeps =
      std::make_shared<const Sweeps>(space, this->name(), pattern, m_options, inverse, lower, upper);
  report.breakdowns = impl::breakdowns_of(impl::fetch(space, counter), "");
  if (report.breakdowns.count > 0)
    report.breakdowns.action =
        std::to_string(report.breakdowns.count) + " diagonal blocks fell back to their diagonal entries";
  report.nnz = static_cast<std::int64_t>(lower.extent(0) + upper.extent(0) + inverse.extent(0));
  report.bytes = pattern.bytes() + sweeps->bytes();
  report.apply_flops = sweeps->flops();
  report.numeric_flops = 2.0 * b * double(report.nnz);
  report.pattern_kept = m_has_values;
  report.foreign_entries = impl::foreign_entries<Scalar, Space>(space, source.csr());
  report.notes.push_back("blocks of " + std::to_string(b) + " x " + std::to_string(b));
  report.notes.push_back(std::to_string(m_coloring.num_colors) +
                         (m_coloring.num_colors == 1 ? " colour" : " colours"));
  space.fence("prekond::block_gs::numeric");  // temporaries are freed
  m_sweeps = sweeps;
  m_has_values = true;
}

template <class Scalar, class Space>
void MulticolorBlockGs<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&,
                                                            Report& report) {
  report.pattern_kept = m_has_values;
  m_has_values = true;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> MulticolorBlockGs<Scalar, Space>::make_workspace(const Space& space,
                                                                            int num_vectors) const {
  if (!m_sweeps) return Method::make_workspace(space, num_vectors);
  return m_sweeps->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void MulticolorBlockGs<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                  MultiVectorView<Scalar, Space> y,
                                                  Workspace& workspace) const {
  m_sweeps->apply(space, x, y, workspace);
}

#define PREKOND_MULTICOLOR_BLOCK_GS(Scalar, Space) template class MulticolorBlockGs<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_MULTICOLOR_BLOCK_GS)

}  // namespace prekond
