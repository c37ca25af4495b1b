// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include "instantiate.hpp"
#include "precond/triangular/finite_factor.hpp"
#include "precond/triangular/solve.hpp"

#include <cmath>
#include <stdexcept>

namespace prekond {
namespace {

/// Levels of so many rows in the mean fill a device: launches cost them little.
constexpr std::int64_t rows_of_wide_levels = 65536;

std::string word_of(TriangularMethod method) {
  for (const auto& [word, value] : triangular_methods())
    if (value == method) return word;
  return {};
}

/// Why sweeps are of no use; empty where they are.
std::string divergence(const impl::triangular::Changes& changes) {
  if (std::isfinite(changes.first) && std::isfinite(changes.last) && changes.last <= changes.first) return {};
  return "jacobi was refused: its last sweep changed a vector " +
         to_string(OptionValue(changes.last / changes.first)) + " times as much as the first";
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
void TriangularSolver<Scalar, Space>::symbolic(const Space& space, const CsrGraph<Space>& n) {
  begin(space, n, nullptr);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::symbolic(const Space& space, const CsrGraph<Space>& n,
                                               const LevelSchedule<Space>& levels) {
  if (levels.num_rows() != n.num_rows)
    throw InputError(m_owner + ": the levels are of " + std::to_string(levels.num_rows()) +
                     " rows, the triangle has " + std::to_string(n.num_rows));
  begin(space, n, &levels);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::begin(const Space& space, const CsrGraph<Space>& n,
                                            const LevelSchedule<Space>* levels) {
  if (n.num_cols < n.num_rows)
    throw InputError(m_owner + ": the triangle is " + std::to_string(n.num_rows) + " x " +
                     std::to_string(n.num_cols) + "; it has to have a column for each row");
  std::shared_ptr<const LevelSchedule<Space>> schedule;
  std::shared_ptr<const Pattern> pattern;
  std::shared_ptr<Isai<Scalar, Space>> isai;
  if (n.num_rows > 0 && needs_levels()) {
    schedule = std::make_shared<const LevelSchedule<Space>>(
        levels != nullptr ? *levels : level_schedule<Space>(space, n, m_which));
    if (exact_method(*schedule) == TriangularMethod::levels)
      pattern = impl::triangular::make_level_pattern<Space>(space, n, *schedule);
  }
  if (n.num_rows > 0 && m_options.method == TriangularMethod::isai)
    isai = std::make_shared<Isai<Scalar, Space>>(isai_options(m_which, m_options));
  m_graph = n;
  m_has_graph = true;
  m_levels = schedule;
  m_pattern = pattern;
  m_isai = isai;
  m_solve = nullptr;
  m_method = m_options.method;
  m_note = {};
}

template <class Scalar, class Space>
TriangularMethod TriangularSolver<Scalar, Space>::exact_method(const LevelSchedule<Space>& levels) const {
  if (m_options.method == TriangularMethod::levels || m_options.method == TriangularMethod::sync_free)
    return m_options.method;
  const bool wide = levels.num_rows() >= rows_of_wide_levels * levels.num_levels();
  return is_host_space<Space> || wide ? TriangularMethod::levels : TriangularMethod::sync_free;
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::numeric(const Space& space, const Vector<Scalar, Space>& values,
                                              const Vector<Scalar, Space>& scale, Report& report) {
  if (!m_has_graph) throw std::logic_error(m_owner + ": numeric before symbolic");
  if (static_cast<std::int64_t>(values.extent(0)) != m_graph.nnz())
    throw InputError(m_owner + ": there are " + std::to_string(values.extent(0)) + " values for " +
                     std::to_string(m_graph.nnz()) + " entries");
  if (scale.extent(0) > 0 && static_cast<std::int64_t>(scale.extent(0)) != m_graph.num_rows)
    throw InputError(m_owner + ": there are " + std::to_string(scale.extent(0)) + " scales for " +
                     std::to_string(m_graph.num_rows) + " rows");
  if (m_graph.num_rows == 0) return;
  namespace solves = impl::triangular;
  const auto factor =
      solves::finite_factor<Scalar, Space>(space, {m_owner, m_which, m_graph, values, scale}, report);
  std::shared_ptr<const Solve> solve;
  std::string note;
  if (m_options.method == TriangularMethod::isai)
    solve = solves::make_isai_solve<Scalar, Space>(space, factor, m_isai, report);
  if (m_options.method == TriangularMethod::host)
    solve = solves::make_host_solve<Scalar, Space>(space, factor, m_options.storage, report);
  if (m_options.method == TriangularMethod::jacobi) {
    solves::Changes changes;
    solve = solves::make_jacobi_solve<Scalar, Space>(space, factor, m_options, changes);
    note = divergence(changes);
    if (!note.empty()) solve = nullptr;
  }
  const bool is_exact = solve == nullptr;
  auto levels = m_levels;
  auto pattern = m_pattern;
  if (is_exact && !levels)
    levels = std::make_shared<const LevelSchedule<Space>>(level_schedule<Space>(space, m_graph, m_which));
  const TriangularMethod method = is_exact ? exact_method(*levels) : m_options.method;
  if (method == TriangularMethod::levels) {
    if (!pattern) pattern = solves::make_level_pattern<Space>(space, m_graph, *levels);
    solve = solves::make_level_solve<Scalar, Space>(space, factor, pattern, m_options.storage, report.notes);
  }
  if (method == TriangularMethod::sync_free)
    solve = solves::make_sync_free_solve<Scalar, Space>(space, factor, levels, m_options, report.notes);
  space.fence("prekond::triangular::numeric");  // temporaries are freed
  m_levels = levels;
  m_pattern = pattern;
  m_solve = solve;
  m_method = method;
  m_note = note;
  report.notes.push_back(description());
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> TriangularSolver<Scalar, Space>::make_workspace(const Space& space,
                                                                           int num_vectors) const {
  if (m_graph.num_rows == 0) return std::make_unique<Workspace>();
  if (!m_solve) throw std::logic_error(m_owner + ": make_workspace before numeric");
  return m_solve->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void TriangularSolver<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                            MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (static_cast<std::int64_t>(x.extent(0)) != m_graph.num_rows || y.extent(0) != x.extent(0) ||
      x.extent(1) != y.extent(1))
    throw InputError(m_owner + ": x is " + std::to_string(x.extent(0)) + " x " + std::to_string(x.extent(1)) +
                     " and y " + std::to_string(y.extent(0)) + " x " + std::to_string(y.extent(1)) +
                     "; both have to have " + std::to_string(m_graph.num_rows) + " rows");
  if (x.size() == 0) return;
  if (!m_solve) throw std::logic_error(m_owner + ": apply before numeric");
  m_solve->apply(space, x, y, workspace);
}

template <class Scalar, class Space>
std::int64_t TriangularSolver<Scalar, Space>::bytes() const {
  std::int64_t schedule = 0;
  if (m_pattern)
    schedule = m_pattern->bytes();
  else if (m_levels)
    schedule = static_cast<std::int64_t>((m_levels->rows.span() + m_levels->level_ptrs.span()) * sizeof(int));
  return schedule + (m_solve ? m_solve->bytes() : 0);
}

template <class Scalar, class Space>
double TriangularSolver<Scalar, Space>::flops() const {
  return m_solve ? m_solve->flops() : 0;
}

template <class Scalar, class Space>
int TriangularSolver<Scalar, Space>::num_levels() const {
  return m_levels ? m_levels->num_levels() : 0;
}

template <class Scalar, class Space>
std::string TriangularSolver<Scalar, Space>::description() const {
  std::string text = m_owner + ": " + word_of(m_method);
  if (m_method == TriangularMethod::jacobi) text += ", " + std::to_string(m_options.sweeps) + " sweeps";
  if (m_method == TriangularMethod::isai) text += ", power " + std::to_string(m_options.isai_power);
  if (m_levels) {
    const std::int64_t levels = std::max(1, num_levels());
    text += ", " + std::to_string(levels) + (levels == 1 ? " level of " : " levels of ") +
            std::to_string(num_rows() / levels) + " rows in the mean";
  }
  if (m_solve && m_options.method != m_method)
    text += std::string("; by auto: ") +
            (is_host_space<Space> ? "on a host levels"
                                  : "on a device sync_free, levels from 65536 rows in the mean on");
  return m_note.empty() ? text : text + "; " + m_note;
}

#define PREKOND_TRIANGULAR_SOLVER(Scalar, Space) template class TriangularSolver<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_TRIANGULAR_SOLVER)

}  // namespace prekond
