// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/precond/block_triangular_solver.hpp>

#include "core/instantiate.hpp"
#include "precond/setup/longest_row.hpp"
#include "precond/triangular/blocks/diagonal_blocks.hpp"
#include "precond/triangular/blocks/solves.hpp"

#include <algorithm>
#include <stdexcept>

namespace prekond {
namespace {

using impl::block_triangular::diagonal_blocks;
using impl::block_triangular::SolveProgress;
using impl::block_triangular::SolveWorkspace;

std::string word_of(BlockTriangularMethod method) {
  for (const auto& [word, value] : block_triangular_methods())
    if (value == method) return word;
  return {};
}

}  // namespace

template <class Scalar, class Space>
BlockTriangularSolver<Scalar, Space>::BlockTriangularSolver(const std::string& owner, Triangle which,
                                                            const BlockTriangularOptions& options)
    : m_owner(owner + (which == Triangle::lower ? ", lower solve" : ", upper solve")),
      m_which(which),
      m_options(options),
      m_method(options.method) {
  OptionFields::of(m_options).check(m_owner);
}

template <class Scalar, class Space>
void BlockTriangularSolver<Scalar, Space>::symbolic(const Space& space, const CsrGraph<Space>& n,
                                                    int block_size, int padding) {
  begin(space, n, block_size, padding, nullptr);
}

template <class Scalar, class Space>
void BlockTriangularSolver<Scalar, Space>::symbolic(const Space& space, const CsrGraph<Space>& n,
                                                    int block_size, int padding,
                                                    const LevelSchedule<Space>& levels) {
  if (levels.num_rows() != n.num_rows)
    throw InputError(m_owner + ": the levels are of " + std::to_string(levels.num_rows()) +
                     " block rows, the triangle has " + std::to_string(n.num_rows));
  begin(space, n, block_size, padding, &levels);
}

template <class Scalar, class Space>
std::shared_ptr<const impl::RowSchedule<Space>> BlockTriangularSolver<Scalar, Space>::find_schedule(
    const Space& space, const Factor& factor, const LevelSchedule<Space>* levels) const {
  const CsrGraph<Space> graph{factor.n.num_block_rows, factor.n.num_block_rows, factor.n.row_ptrs,
                              factor.n.col_idxs};
  FactorSchedule how = FactorSchedule::automatic;
  if (m_options.method == BlockTriangularMethod::levels) how = FactorSchedule::levels;
  if (m_options.method == BlockTriangularMethod::sync_free) how = FactorSchedule::sync_free;
  auto schedule = impl::make_row_schedule<Space>(
      space, levels != nullptr ? *levels : level_schedule<Space>(space, graph, m_which), how,
      impl::block_rows::LaunchTuning::team_threads(false, factor.lanes));
  schedule.most_polls = m_options.max_polls;
  return std::make_shared<const Schedule>(std::move(schedule));
}

template <class Scalar, class Space>
void BlockTriangularSolver<Scalar, Space>::begin(const Space& space, const CsrGraph<Space>& n, int block_size,
                                                 int padding, const LevelSchedule<Space>* levels) {
  if (n.num_cols != n.num_rows)
    throw InputError(m_owner + ": the triangle has " + std::to_string(n.num_rows) + " x " +
                     std::to_string(n.num_cols) + " blocks; it has to be square");
  if (block_size < 1 || block_size > largest_block_size)
    throw InputError(m_owner + ": a block size of " + std::to_string(block_size) + "; it is from 1 to " +
                     std::to_string(largest_block_size));
  Factor factor;
  factor.n = typename Factor::Blocks(block_size, BlockOrder::by_columns, n.num_rows, n.num_rows, n.row_ptrs,
                                     n.col_idxs, {}, padding);
  factor.lanes = impl::block_triangular::lanes_of(n, block_size);
  if constexpr (is_host_space<Space>)
    if (impl::block_triangular::is_in_order<Space>(space, n, m_which)) {
      const bool is_chosen = m_options.method == BlockTriangularMethod::levels ||
                             m_options.method == BlockTriangularMethod::sync_free;
      factor.threads_in_order = is_chosen ? 1 : impl::block_triangular::SolveTuning::threads_in_order;
    }
  std::shared_ptr<const Schedule> schedule;
  if (n.num_rows > 0 && is_exact(m_options.method)) schedule = find_schedule(space, factor, levels);
  if (n.num_rows > 0 && !is_exact(m_options.method)) {
    factor.n.longest_row = impl::longest_row<Space>(space, n.row_ptrs).length;
    factor.scale = diagonal_blocks(space, factor.n);
  }
  m_factor = std::make_shared<const Factor>(factor);
  m_schedule = schedule;
  m_method = m_options.method;
  m_note = {};
}

template <class Scalar, class Space>
void BlockTriangularSolver<Scalar, Space>::numeric(const Space& space, const Vector<Scalar, Space>& values,
                                                   const Vector<Scalar, Space>& scale, Report& report) {
  if (!m_factor) throw std::logic_error(m_owner + ": numeric before symbolic");
  Factor factor = *m_factor;
  const std::size_t entries = static_cast<std::size_t>(factor.n.block_size) * factor.n.block_size;
  if (values.extent(0) != factor.n.col_idxs.extent(0) * entries)
    throw InputError(m_owner + ": there are " + std::to_string(values.extent(0)) + " values for " +
                     std::to_string(factor.n.col_idxs.extent(0)) + " blocks");
  if (scale.extent(0) > 0 && scale.extent(0) != static_cast<std::size_t>(factor.n.num_block_rows) * entries)
    throw InputError(m_owner + ": there are " + std::to_string(scale.extent(0)) + " scales for " +
                     std::to_string(factor.n.num_block_rows) + " block rows");
  factor.n.values = values;
  factor.scale_values = scale;
  if (factor.scale.num_block_rows > 0) factor.scale.values = scale;
  factor.has_values = true;
  factor.changes = {};
  auto schedule = m_schedule;
  BlockTriangularMethod method = m_options.method;
  std::string note;
  if (factor.n.num_block_rows > 0 && !is_exact(method)) {
    using Const = MultiVectorView<const Scalar, Space>;
    using Vectors = MultiVectorView<Scalar, Space>;
    const int most = static_cast<int>(std::min<std::int64_t>(m_options.sweeps, factor.n.num_block_rows));
    const auto scaled = allocate<MultiVector<Scalar, Space>>(space, "prekond::block_triangular::numeric::Sx",
                                                             factor.has_scale() ? num_rows() : 0, 1);
    factor.changes = impl::triangular::try_sweeps<Scalar, Space>(
        space, num_rows(), most, m_options.tolerance, 0,
        [&](const Vectors& x) {
          if (!factor.has_scale()) return;
          bcsr_recurrence<Scalar, Space>(space, {}, factor.scale, x, {}, scaled);
          Kokkos::deep_copy(space, x, scaled);
        },
        [&](const Const& source, const Const& from, const Vectors& to) {
          bcsr_recurrence<Scalar, Space>(space, {.product = -1, .source = 1}, factor.n, from, source, to);
        });
    note = impl::triangular::divergence(factor.changes);
    if (!note.empty()) method = BlockTriangularMethod::automatic;
  }
  if (factor.n.num_block_rows > 0 && is_exact(method)) {
    if (!schedule) schedule = find_schedule(space, factor, nullptr);
    method = schedule->how == FactorSchedule::levels ? BlockTriangularMethod::levels
                                                     : BlockTriangularMethod::sync_free;
  }
  space.fence("prekond::block_triangular::numeric");  // temporaries are freed
  m_factor = std::make_shared<const Factor>(factor);
  m_schedule = is_exact(method) ? schedule : nullptr;
  m_method = method;
  m_note = note;
  report.notes.push_back(description());
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> BlockTriangularSolver<Scalar, Space>::make_workspace(const Space& space,
                                                                                int num_vectors) const {
  if (!m_factor || !m_factor->has_values) throw std::logic_error(m_owner + ": make_workspace before numeric");
  using Owned = MultiVector<Scalar, Space>;
  auto workspace = std::make_unique<SolveWorkspace<Scalar, Space>>();
  const bool sweeps = !is_exact(m_method);
  workspace->source = allocate<Owned>(space, "prekond::block_triangular::apply::source",
                                      sweeps && m_factor->has_scale() ? num_rows() : 0, num_vectors);
  workspace->other =
      allocate<Owned>(space, "prekond::block_triangular::apply::other", sweeps ? num_rows() : 0, num_vectors);
  workspace->progress =
      allocate_zero<Vector<SolveProgress, Space>>(space, "prekond::block_triangular::apply::progress", 1);
  workspace->num_rows = num_rows();
  workspace->num_vectors = static_cast<std::size_t>(num_vectors);
  return workspace;
}

/// The last sweep writes y.
template <class Scalar, class Space>
void BlockTriangularSolver<Scalar, Space>::sweep(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                 MultiVectorView<Scalar, Space> y,
                                                 Workspace& workspace) const {
  using Vectors = MultiVectorView<Scalar, Space>;
  const auto& own = static_cast<const SolveWorkspace<Scalar, Space>&>(workspace);
  const Factor& factor = *m_factor;
  const int count = sweeps();
  const auto columns = [&](const MultiVector<Scalar, Space>& all) {
    return Vectors(all.data(), all.extent(0), x.extent(1));
  };
  MultiVectorView<const Scalar, Space> source = x;
  if (factor.has_scale()) {
    const Vectors scaled = count == 0 ? y : columns(own.source);
    bcsr_recurrence<Scalar, Space>(space, {}, factor.scale, x, {}, scaled);
    source = scaled;
  }
  if (count == 0) {
    if (!factor.has_scale()) Kokkos::deep_copy(space, y, x);
    return;
  }
  MultiVectorView<const Scalar, Space> from = source;
  for (int k = 1; k <= count; ++k) {
    const Vectors to = (count - k) % 2 == 0 ? y : columns(own.other);
    bcsr_recurrence<Scalar, Space>(space, {.product = -1, .source = 1}, factor.n, from, source, to);
    from = to;
  }
}

template <class Scalar, class Space>
void BlockTriangularSolver<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                 MultiVectorView<Scalar, Space> y,
                                                 Workspace& workspace) const {
  if (!m_factor || !m_factor->has_values) throw std::logic_error(m_owner + ": apply before numeric");
  if (static_cast<std::int64_t>(x.extent(0)) != num_rows() || y.extent(0) != x.extent(0) ||
      x.extent(1) != y.extent(1))
    throw InputError(m_owner + ": x is " + std::to_string(x.extent(0)) + " x " + std::to_string(x.extent(1)) +
                     " and y " + std::to_string(y.extent(0)) + " x " + std::to_string(y.extent(1)) +
                     "; both have to have " + std::to_string(num_rows()) + " rows");
  if (x.size() == 0) return;
  const auto& own = static_cast<const SolveWorkspace<Scalar, Space>&>(workspace);
  if (own.num_rows != num_rows() || own.num_vectors < x.extent(1))
    throw std::logic_error(m_owner + ": the workspace was made for " + std::to_string(own.num_vectors) +
                           " vectors of " + std::to_string(own.num_rows) + " rows; there are " +
                           std::to_string(x.extent(1)) + " of " + std::to_string(num_rows()));
  if (!is_exact(m_method)) return sweep(space, x, y, workspace);
  impl::block_triangular::solve_exactly<Scalar, Space>(space, *m_factor, m_which, *m_schedule, x, y,
                                                       own.progress);
}

template <class Scalar, class Space>
std::int64_t BlockTriangularSolver<Scalar, Space>::num_rows() const {
  return m_factor ? m_factor->n.num_rows() : 0;
}

template <class Scalar, class Space>
std::int64_t BlockTriangularSolver<Scalar, Space>::bytes() const {
  if (!m_factor) return 0;
  return (m_schedule ? m_schedule->bytes() : 0) +
         static_cast<std::int64_t>(m_factor->scale.row_ptrs.span() * sizeof(std::size_t) +
                                   m_factor->scale.col_idxs.span() * sizeof(int));
}

template <class Scalar, class Space>
double BlockTriangularSolver<Scalar, Space>::flops() const {
  if (!m_factor) return 0;
  const double entries = static_cast<double>(m_factor->n.block_size) * m_factor->n.block_size;
  const double product = 2 * entries * static_cast<double>(m_factor->n.num_blocks());
  const double scaling =
      m_factor->has_scale() ? 2 * entries * static_cast<double>(m_factor->n.num_block_rows) : 0;
  return (is_exact(m_method) ? 1 : sweeps()) * product + scaling;
}

template <class Scalar, class Space>
int BlockTriangularSolver<Scalar, Space>::num_levels() const {
  return m_schedule ? m_schedule->levels.num_levels() : 0;
}

template <class Scalar, class Space>
int BlockTriangularSolver<Scalar, Space>::sweeps() const {
  return m_factor && !is_exact(m_method) ? m_factor->changes.sweeps : 0;
}

template <class Scalar, class Space>
std::string BlockTriangularSolver<Scalar, Space>::description() const {
  std::string text = m_owner + ": " + word_of(m_method);
  if (!is_exact(m_method) && m_factor && m_factor->has_values)
    text += impl::triangular::describe_sweeps(m_factor->changes, m_options.tolerance);
  if (m_schedule) {
    const std::int64_t levels = std::max(1, num_levels());
    text += ", " + std::to_string(levels) + (levels == 1 ? " level of " : " levels of ") +
            std::to_string(m_schedule->levels.num_rows() / levels) + " block rows in the mean";
  }
  return m_note.empty() ? text : text + "; " + m_note;
}

#define PREKOND_BLOCK_TRIANGULAR_SOLVER(Scalar, Space) template class BlockTriangularSolver<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_BLOCK_TRIANGULAR_SOLVER)

}  // namespace prekond
