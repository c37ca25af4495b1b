// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/multicolor.hpp>

#include "core/instantiate.hpp"
#include "precond/relaxation/block_gs_sweeps.hpp"
#include "precond/setup/longest_row.hpp"

#include <string>

namespace prekond {

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
std::shared_ptr<const typename MulticolorBlockGs<Scalar, Space>::Pattern>
MulticolorBlockGs<Scalar, Space>::find_pattern(const Space& space, const matrix_source& source,
                                               Coloring<Space>& coloring) const {
  if (source.num_rows() == 0) return nullptr;
  namespace block_gs = impl::block_gs;
  const int b = impl::block_size_of(space, source, m_options.block_size);
  const auto a = impl::blocks_of(space, source, b);
  const auto graph = impl::graph_of<Space>(a);
  coloring = color_graph<Space>(space, graph);
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
  return found;
}

template <class Scalar, class Space>
void MulticolorBlockGs<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  Coloring<Space> coloring;
  m_pattern = find_pattern(space, source, coloring);
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
  impl::Launcher<block_gs::InvertDiagonal<Scalar, Space>, Space>(space, invert)
      .range("prekond::block_gs::numeric::invert", {}, 0, a.num_block_rows);
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
  report.foreign_entries = impl::foreign_entries<Scalar, Space>(space, source);
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
