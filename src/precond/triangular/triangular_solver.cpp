// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include "core/concurrency.hpp"
#include "core/instantiate.hpp"
#include "precond/triangular/block_isai.hpp"
#include "precond/triangular/finite_factor.hpp"
#include "precond/triangular/solve.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace prekond {
namespace {

/// Levels of this many rows in the mean fill a device, and their launches cost little.
constexpr std::int64_t rows_of_wide_levels = 65536;

std::string word_of(TriangularMethod method) {
  for (const auto& [word, value] : triangular_methods())
    if (value == method) return word;
  return {};
}

IsaiOptions isai_options(Triangle which, const TriangularOptions& options) {
  IsaiOptions result;
  result.kind = which == Triangle::lower ? IsaiKind::lower : IsaiKind::upper;
  result.unit_diagonal = true;
  result.power = options.isai_power;
  result.storage = options.storage;
  result.storage_format = MatrixFormat::automatic;
  return result;
}

}  // namespace

template <class Scalar, class Space>
TriangularSolver<Scalar, Space>::TriangularSolver(const std::string& owner, Triangle which,
                                                  const TriangularOptions& options)
    : m_owner(owner + (which == Triangle::lower ? ", lower solve" : ", upper solve")),
      m_which(which),
      m_options(options),
      m_method(options.method) {
  OptionFields::of(m_options).check(m_owner);
  if (is_host_space<Space> && options.method == TriangularMethod::host)
    m_options.method = m_method = TriangularMethod::levels;
}

template <class Scalar, class Space>
bool TriangularSolver<Scalar, Space>::needs_levels() const {
  return m_options.method != TriangularMethod::jacobi && m_options.method != TriangularMethod::isai &&
         m_options.method != TriangularMethod::host;
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::symbolic(const Space& space, const CsrGraph<Space>& n,
                                               const BlockShape& blocks) {
  begin(space, n, blocks, nullptr);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::symbolic(const Space& space, const CsrGraph<Space>& n,
                                               const LevelSchedule<Space>& levels, const BlockShape& blocks) {
  if (levels.num_rows() != n.num_rows)
    throw InputError(m_owner + ": the levels are of " + std::to_string(levels.num_rows()) +
                     " rows, the triangle has " + std::to_string(n.num_rows));
  begin(space, n, blocks, &levels);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::check_shape(const CsrGraph<Space>& n, const BlockShape& blocks) const {
  if (n.num_cols < n.num_rows)
    throw InputError(m_owner + ": the triangle is " + std::to_string(n.num_rows) + " x " +
                     std::to_string(n.num_cols) + "; it has to have a column for each row");
  if (blocks.size == 0) return;
  if (n.num_cols != n.num_rows)
    throw InputError(m_owner + ": the triangle has " + std::to_string(n.num_rows) + " x " +
                     std::to_string(n.num_cols) + " blocks; it has to be square");
  if (blocks.size < 0 || blocks.size > largest_block_size)
    throw InputError(m_owner + ": a block size of " + std::to_string(blocks.size) + "; it is from 1 to " +
                     std::to_string(largest_block_size));
  const bool is_isai = m_options.method == TriangularMethod::isai;
  if ((is_isai && m_options.isai_power > 1) || m_options.method == TriangularMethod::host ||
      m_options.storage != Storage::full)
    throw OptionError(m_owner + ": the methods host and isai of a power above 1, and other storages than " +
                      "full, are for triangles of single rows; this one is of blocks");
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::begin(const Space& space, const CsrGraph<Space>& n,
                                            const BlockShape& blocks, const LevelSchedule<Space>* levels) {
  check_shape(n, blocks);
  std::shared_ptr<const Order> order;
  std::shared_ptr<Isai<Scalar, Space>> isai;
  if (n.num_rows > 0 && needs_levels()) order = find_order(space, n, blocks, levels);
  if (n.num_rows > 0 && blocks.size == 0 && m_options.method == TriangularMethod::isai)
    isai = std::make_shared<Isai<Scalar, Space>>(isai_options(m_which, m_options));
  m_graph = n;
  m_blocks = blocks;
  m_has_graph = true;
  m_order = order;
  m_isai = isai;
  m_inverse_patterns = isai ? std::make_shared<impl::triangular::InversePatterns<Space>>() : nullptr;
  m_solve = nullptr;
  m_method = m_options.method;
  m_note = {};
}

template <class Scalar, class Space>
std::shared_ptr<const impl::triangular::LevelOrder<Space>> TriangularSolver<Scalar, Space>::find_order(
    const Space& space, const CsrGraph<Space>& n, const BlockShape& blocks,
    const LevelSchedule<Space>* known) const {
  const bool by_auto =
      m_options.method != TriangularMethod::levels && m_options.method != TriangularMethod::sync_free;
  const auto levels = known != nullptr ? *known : level_schedule<Space>(space, n, m_which);
  Order order = blocks.size > 0 ? impl::triangular::make_block_order<Space>(
                                      space, n, blocks.size, levels, m_which,
                                      by_auto ? TriangularMethod::automatic : m_options.method)
                                : impl::triangular::make_level_order<Space>(
                                      space, n, levels, m_which, exact_method(levels), concurrency(space));
  order.schedule.most_polls = m_options.max_polls;
  return std::make_shared<const Order>(std::move(order));
}

template <class Scalar, class Space>
TriangularMethod TriangularSolver<Scalar, Space>::exact_method(const LevelSchedule<Space>& levels) const {
  if (m_options.method == TriangularMethod::levels || m_options.method == TriangularMethod::sync_free)
    return m_options.method;
  const bool wide = levels.num_rows() >= rows_of_wide_levels * levels.num_levels();
  return is_host_space<Space> || wide ? TriangularMethod::levels : TriangularMethod::sync_free;
}

template <class Scalar, class Space>
impl::triangular::Factor<Scalar, Space> TriangularSolver<Scalar, Space>::checked_factor(
    const Space& space, const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale,
    Report& report) const {
  if (!m_has_graph) throw std::logic_error(m_owner + ": numeric before symbolic");
  if (static_cast<std::int64_t>(values.extent(0)) != m_graph.nnz() * m_blocks.entries())
    throw InputError(m_owner + ": there are " + std::to_string(values.extent(0)) + " values for " +
                     std::to_string(m_graph.nnz()) + (m_blocks.size > 0 ? " blocks" : " entries"));
  if (scale.extent(0) > 0 &&
      static_cast<std::int64_t>(scale.extent(0)) != m_graph.num_rows * m_blocks.entries())
    throw InputError(m_owner + ": there are " + std::to_string(scale.extent(0)) + " scales for " +
                     std::to_string(m_graph.num_rows) + (m_blocks.size > 0 ? " block rows" : " rows"));
  const Factor factor{m_owner, m_which, m_graph, m_blocks, values, scale};
  if (m_graph.num_rows == 0 || m_blocks.size > 0) return factor;
  return impl::triangular::finite_factor<Scalar, Space>(space, factor, report);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::set_solve(const std::shared_ptr<const Solve>& solve,
                                                TriangularMethod method,
                                                const std::shared_ptr<const Order>& order,
                                                const std::string& note, Report& report) {
  m_order = order;
  m_solve = solve;
  m_method = method;
  m_note = note;
  report.notes.push_back(description());
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::numeric(const Space& space, const Vector<Scalar, Space>& values,
                                              const Vector<Scalar, Space>& scale, Report& report) {
  namespace solves = impl::triangular;
  const Factor factor = checked_factor(space, values, scale, report);
  if (m_graph.num_rows == 0) return;
  std::shared_ptr<const Solve> solve;
  std::string note;
  if (m_isai) solve = solves::make_isai_solve<Scalar, Space>(space, factor, m_isai, report);
  if (m_options.method == TriangularMethod::host)
    solve = solves::make_host_solve<Scalar, Space>(space, factor, m_options.storage, report);
  if (m_options.method == TriangularMethod::jacobi)
    solve = solves::make_jacobi_solve<Scalar, Space>(space, factor, m_options, note);
  if (m_blocks.size > 0 && m_options.method == TriangularMethod::isai)
    solve = solves::make_block_isai_solve<Scalar, Space>(space, factor, note);
  std::shared_ptr<const Order> order;
  TriangularMethod method = m_options.method;
  if (!solve) {
    order = m_order ? m_order : find_order(space, m_graph, m_blocks, nullptr);
    method = order->schedule.how == FactorSchedule::levels ? TriangularMethod::levels
                                                           : TriangularMethod::sync_free;
    solve = exact_solve(space, factor, order, report);
  }
  space.fence("prekond::triangular::numeric");  // temporaries are freed
  set_solve(solve, method, order, note, report);
}

template <class Scalar, class Space>
std::shared_ptr<const impl::triangular::Solve<Scalar, Space>> TriangularSolver<Scalar, Space>::exact_solve(
    const Space& space, const Factor& factor, const std::shared_ptr<const Order>& order,
    Report& report) const {
  namespace solves = impl::triangular;
  const Storage storage = m_options.storage;
  if (m_blocks.size > 0) return solves::make_block_row_solve<Scalar, Space>(space, factor, order);
  if (order->schedule.how == FactorSchedule::levels)
    return solves::make_level_solve<Scalar, Space>(space, factor, order, storage, report.notes);
  return solves::make_sync_free_solve<Scalar, Space>(space, factor, order, storage, report.notes);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::numeric_with_transpose(
    const Space& space, const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale,
    TriangularSolver& other, const Vector<Scalar, Space>& other_values,
    const Vector<Scalar, Space>& other_scale, Report& report) {
  if (m_options.method != TriangularMethod::isai || m_blocks.size > 0)
    throw std::logic_error(m_owner + ": the transpose of an inverse is of method isai, by single rows");
  const Factor factor = checked_factor(space, values, scale, report);
  const Factor transposed = other.checked_factor(space, other_values, other_scale, report);
  if (m_graph.num_rows == 0) return;
  const auto [solve, of_transpose] = impl::triangular::make_isai_pair<Scalar, Space>(
      space, factor, transposed.scale, isai_options(m_which, m_options), *m_inverse_patterns, report);
  set_solve(solve, TriangularMethod::isai, nullptr, {}, report);
  other.set_solve(of_transpose, TriangularMethod::isai, nullptr, "the transpose of the other's", report);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> TriangularSolver<Scalar, Space>::make_workspace(const Space& space,
                                                                           int num_vectors) const {
  if (m_has_graph && m_graph.num_rows == 0) return std::make_unique<Workspace>();
  if (!m_solve) throw std::logic_error(m_owner + ": make_workspace before numeric");
  return m_solve->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                            MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (static_cast<std::int64_t>(x.extent(0)) != num_rows() || y.extent(0) != x.extent(0) ||
      x.extent(1) != y.extent(1))
    throw InputError(m_owner + ": x is " + std::to_string(x.extent(0)) + " x " + std::to_string(x.extent(1)) +
                     " and y " + std::to_string(y.extent(0)) + " x " + std::to_string(y.extent(1)) +
                     "; both have to have " + std::to_string(num_rows()) + " rows");
  if (x.size() == 0) return;
  if (!m_solve) throw std::logic_error(m_owner + ": apply before numeric");
  m_solve->apply(space, x, y, workspace);
}

template <class Scalar, class Space>
std::int64_t TriangularSolver<Scalar, Space>::bytes() const {
  return (m_order ? m_order->bytes() : 0) + (m_solve ? m_solve->bytes() : 0);
}

template <class Scalar, class Space>
double TriangularSolver<Scalar, Space>::flops() const {
  return m_solve ? m_solve->flops() : 0;
}

template <class Scalar, class Space>
int TriangularSolver<Scalar, Space>::num_levels() const {
  return m_order ? m_order->schedule.levels.num_levels() : 0;
}

template <class Scalar, class Space>
int TriangularSolver<Scalar, Space>::sweeps() const {
  if (!m_solve || m_method != TriangularMethod::jacobi) return 0;
  return impl::triangular::sweeps_of(m_options, m_graph.num_rows);
}

template <class Scalar, class Space>
std::string TriangularSolver<Scalar, Space>::description() const {
  std::string text = m_owner + ": " + word_of(m_method);
  if (m_method == TriangularMethod::jacobi) {
    const int count = m_solve ? sweeps() : m_options.sweeps;
    text += (m_solve ? ", " : ", up to ") + std::to_string(count) + (count == 1 ? " sweep" : " sweeps");
  }
  if (m_method == TriangularMethod::isai) text += ", power " + std::to_string(m_options.isai_power);
  if (m_order) {
    const std::int64_t levels = std::max(1, num_levels());
    text += ", " + std::to_string(levels) + (levels == 1 ? " level of " : " levels of ") +
            std::to_string(m_graph.num_rows / levels) +
            (m_blocks.size > 0 ? " block rows in the mean" : " rows in the mean");
  }
  if (m_solve && m_options.method != m_method)
    text += std::string("; by auto: ") +
            (is_host_space<Space> ? "on a host levels" : "on a device sync_free") +
            (is_host_space<Space> || m_blocks.size > 0 ? "" : ", levels from 65536 rows in the mean on");
  if (!is_host_space<Space> && num_levels() >= impl::ScheduleTuning::many_levels)
    text += "; a level takes a device about a microsecond: '--order auto' may find fewer";
  return m_note.empty() ? text : text + "; " + m_note;
}

#define PREKOND_TRIANGULAR_SOLVER(Scalar, Space) template class TriangularSolver<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_TRIANGULAR_SOLVER)

}  // namespace prekond
