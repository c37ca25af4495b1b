// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/amg.hpp>
#include "pattern/fingerprint.hpp"

#include "core/instantiate.hpp"
#include "precond/multigrid/hierarchy.hpp"

#include <stdexcept>
#include <utility>

namespace prekond {

template <class Scalar, class Space>
Amg<Scalar, Space>::Amg(const AmgOptions& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
Amg<Scalar, Space>::~Amg() = default;

template <class Scalar, class Space>
std::unique_ptr<Workspace> Amg<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  if (!m_hierarchy) return std::make_unique<Workspace>();
  return m_hierarchy->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::symbolic_step(const Space&, const matrix_source& source) {
  const int unknowns = m_options.unknowns_per_node;
  if (unknowns > 0 && source.num_rows() % unknowns != 0)
    throw InputError("amg: " + std::to_string(source.num_rows()) + " rows are not nodes of " +
                     std::to_string(unknowns) + " unknowns each (unknowns_per_node)");
  m_hierarchy = nullptr;
  m_was_empty = false;
}

template <class Scalar, class Space>
void Amg<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report& report) {
  report.pattern_kept = m_was_empty && m_options.reuse == Reuse::pattern;
  m_was_empty = true;
}

/// The smoothers of a hierarchy before are set up again, so that it is gone where this fails.
template <class Scalar, class Space>
void Amg<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
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

#define PREKOND_AMG(Scalar, Space) template class Amg<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG)

}  // namespace prekond
