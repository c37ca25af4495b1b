// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/amg.hpp>
#include "pattern/fingerprint.hpp"

#include "core/instantiate.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/over_ranks/level.hpp"

#include <stdexcept>
#include <utility>

namespace prekond {

template <class Scalar, class Space>
Amg<Scalar, Space>::Amg(const AmgOptions& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
Amg<Scalar, Space>::~Amg() = default;

template <class Scalar, class Space>
std::unique_ptr<Workspace> Amg<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  if (m_over_ranks) return m_over_ranks->make_workspace(space, num_vectors);
  if (!m_hierarchy) return std::make_unique<Workspace>();
  return m_hierarchy->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::symbolic_step(const Space&, const matrix_source& source) {
  const int unknowns = m_all_rows ? 0 : m_options.unknowns_per_node;  // over ranks nodes may be parted
  if (unknowns > 0 && source.num_rows() % unknowns != 0)
    throw InputError("amg: " + std::to_string(source.num_rows()) + " rows are not nodes of " +
                     std::to_string(unknowns) + " unknowns each (unknowns_per_node)");
  m_hierarchy = nullptr;
  m_over_ranks = nullptr;
  m_was_empty = false;
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source&, Report& report) {
  if (m_all_rows) return numeric_of_all(space, report);
  report.pattern_kept = m_was_empty && m_options.reuse == Reuse::pattern;
  m_was_empty = true;
}

/// The smoothers of a hierarchy before are set up again, so that it is gone where this fails.
template <class Scalar, class Space>
void Amg<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  if (m_all_rows) return numeric_of_all(space, report);
  const auto before = std::move(m_hierarchy);
  m_hierarchy = nullptr;
  const std::uint64_t pattern = fingerprint<Space>(space, source.csr());
  const bool wanted = before && m_options.reuse == Reuse::pattern;
  const bool keep = wanted && pattern == m_pattern;
  if (wanted && !keep)
    report.notes.push_back(
        "numeric was given another pattern than before: aggregates and patterns were found anew");
  auto hierarchy = std::make_unique<impl::amg::Hierarchy<Scalar, Space>>(
      space, m_options, source, keep ? before.get() : nullptr, report);
  hierarchy->release();
  m_hierarchy = std::move(hierarchy);
  m_pattern = pattern;
  report.pattern_kept = keep;
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                    MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (!m_hierarchy) throw std::logic_error("amg: apply after a numeric phase that failed");
  auto* own = dynamic_cast<impl::amg::CycleWorkspace<Scalar, Space>*>(&workspace);
  if (!own || own->num_vectors < static_cast<int>(x.extent(1)) || !m_hierarchy->fits(*own))
    throw std::logic_error("amg: the workspace was made for fewer vectors, or for another hierarchy");
  m_hierarchy->apply(space, x, y, *own);
}

template <class Scalar, class Space>
bool Amg<Scalar, Space>::is_exact() const {
  return m_hierarchy && m_hierarchy->levels().front().is_exact;
}

template <class Scalar, class Space>
bool Amg<Scalar, Space>::is_possible_over_ranks(const Space& space, const Distributed& a) const {
  return most_gathered_rows(true) > 0 && m_options.has_distributed_levels() && a.redistributes() &&
         impl::distributed::numbers_from_zero<Scalar, Space>(space, a);
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::symbolic_over_ranks(const Space& space, const Distributed& a) {
  a.together([&] { in_phase_of(a, [&] { this->symbolic(space, a.own_rows()); }); });
}

/// All ranks end together where the frame would refuse this rank's rows.
template <class Scalar, class Space>
void Amg<Scalar, Space>::numeric_over_ranks(const Space& space, const Distributed& a) {
  a.together([&] {
    check_threads(space);
    if (a.num_rows() != this->num_rows())
      throw InputError("amg: the matrix has " + std::to_string(a.num_rows()) +
                       " rows on this rank, and had " + std::to_string(this->num_rows()) +
                       "; call symbolic for another pattern");
  });
  in_phase_of(a, [&] { this->numeric(space, a.own_rows()); });
}

template <class Scalar, class Space>
template <class Phase>
void Amg<Scalar, Space>::in_phase_of(const Distributed& a, const Phase& phase) {
  m_all_rows = &a;
  try {
    phase();
  } catch (...) {
    m_all_rows = nullptr;
    throw;
  }
  m_all_rows = nullptr;
}

/// Collective. As numeric_step.
template <class Scalar, class Space>
void Amg<Scalar, Space>::numeric_of_all(const Space& space, Report& report) {
  using Level = impl::amg::LevelOverRanks<Scalar, Space>;
  auto level = std::move(m_over_ranks);
  m_over_ranks = nullptr;
  const Distributed& a = *m_all_rows;
  std::uint64_t pattern = 0;
  a.together([&] { pattern = a.num_rows() > 0 ? fingerprint<Space>(space, a.own_rows()) : 0; });
  const bool wanted = level && m_options.reuse == Reuse::pattern;
  const bool keep = wanted && a.largest(pattern == m_pattern ? 0 : 1) == 0;
  if (keep)
    level->numeric(space, a, report);
  else
    level = std::make_unique<Level>(space, m_options, a, m_near, report);
  if (wanted && !keep)
    report.notes.push_back(
        "numeric was given another pattern than before: aggregates and patterns were found anew");
  m_over_ranks = std::move(level);
  m_pattern = pattern;
  report.pattern_kept = keep;
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::apply_over_ranks(const Space& space, MultiVectorView<const Scalar, Space> x,
                                          MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (!m_over_ranks) throw std::logic_error("amg: apply after a numeric phase that failed");
  auto* own = dynamic_cast<impl::amg::LevelWorkspace<Scalar, Space>*>(&workspace);
  if (!own || own->num_vectors < static_cast<int>(x.extent(1)) || !m_over_ranks->fits(*own))
    throw std::logic_error("amg: the workspace was made for fewer vectors, or for another hierarchy");
  m_over_ranks->apply(space, x, y, *own);
}

#define PREKOND_AMG(Scalar, Space) template class Amg<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG)

}  // namespace prekond
