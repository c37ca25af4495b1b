// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/precond/impl/multicolor.hpp>

#include "core/instantiate.hpp"
#include "precond/setup/mirrored_matrix.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/stored_values.hpp"

#include <string>

namespace prekond {
namespace {

/// Do its parts go together, by their sizes?
template <class Space>
bool is_whole(const Coloring<Space>& coloring) {
  return static_cast<std::int64_t>(coloring.permutation.extent(0)) == coloring.num_rows() &&
         static_cast<int>(coloring.color_ptrs.size()) == coloring.num_colors + 1 &&
         coloring.color_ptrs.back() == coloring.num_rows();
}

}  // namespace

template <class Scalar, class Space>
struct Multicolor<Scalar, Space>::Colored {
  Coloring<Space> coloring;
  int num_colors_before = 0;
  std::shared_ptr<const Pattern> pattern;
};

template <class Scalar, class Space>
Multicolor<Scalar, Space>::~Multicolor() = default;

template <class Scalar, class Space>
std::int64_t Multicolor<Scalar, Space>::entries_within_colors() const {
  return m_pattern ? m_pattern->within_groups : 0;
}

template <class Scalar, class Space>
typename Multicolor<Scalar, Space>::Colored Multicolor<Scalar, Space>::color(
    const Space& space, const matrix_view& a, const Coloring<Space>& user) const {
  const ColoringOptions coloring{.order = m_options.order};
  Colored result;
  if (user.num_colors > 0) {
    result.coloring = user;
    result.num_colors_before = user.num_colors;
  } else if (m_options.sparsify > 0) {
    const auto sparsified = color_sparsified<Scalar, Space>(space, a, {m_options.sparsify}, coloring);
    result.coloring = sparsified.dropped_edges > 0 ? renumber_by_degree<Space>(space, sparsified.coloring, a)
                                                   : sparsified.coloring;
    result.num_colors_before = sparsified.num_colors_before;
  } else {
    result.coloring = color_graph<Space>(space, a, coloring);
    result.num_colors_before = result.coloring.num_colors;
  }
  auto pattern = impl::sweeps::make_grouped_triangles<Space>(space, a, result.coloring);
  const std::string method = needs_symmetric_pattern();
  if (!method.empty()) {
    const auto mirrored = symmetrize<Space>(space, a);
    if (mirrored.nnz() + pattern.foreign != a.nnz()) {
      impl::mirrored_matrix<Scalar, Space>(space, a, mirrored, method);
      const std::int64_t foreign = pattern.foreign;
      pattern = impl::sweeps::make_grouped_triangles<Space>(space, mirrored, result.coloring);
      pattern.mirrored = mirrored;
      pattern.foreign = foreign;
      pattern.nnz_of_a = a.nnz();
    }
  }
  result.pattern = std::make_shared<const Pattern>(pattern);
  return result;
}

template <class Scalar, class Space>
void Multicolor<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  const Coloring<Space> user = m_given;
  if (user.num_colors > 0 && user.num_rows() != a.num_rows)
    throw InputError(this->name() + ": the colouring has " + std::to_string(user.num_rows()) +
                     " rows, the matrix " + std::to_string(a.num_rows));
  if (user.num_colors > 0 && !is_whole(user))
    throw InputError(this->name() + ": the colouring's permutation or color_ptrs do not fit its colours; " +
                     "make it by coloring_of");
  const bool needs_values = user.num_colors == 0 && m_options.sparsify > 0;
  Colored colored;
  if (!needs_values && a.num_rows > 0) colored = color(space, a, user);
  m_user = user;
  m_coloring = colored.coloring;
  m_num_colors_before = colored.num_colors_before;
  m_pattern = colored.pattern;
  m_sweeps = nullptr;
}

template <class Scalar, class Space>
void Multicolor<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                             Report& report) {
  matrix_view a = source.csr();
  const bool finds = !m_pattern;
  if (!finds && a.nnz() != m_pattern->nnz_of_a)
    throw InputError(this->name() + ": numeric was given " + std::to_string(a.nnz()) + " entries, symbolic " +
                     std::to_string(m_pattern->nnz_of_a) + "; call symbolic again");
  const Colored colored =
      finds ? color(space, a, m_user) : Colored{m_coloring, m_num_colors_before, m_pattern};
  const Pattern& pattern = *colored.pattern;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> mirrored;
  if (pattern.mirrored.num_rows > 0)
    a = mirrored =
        impl::mirrored_matrix<Scalar, Space>(space, a, pattern.mirrored, needs_symmetric_pattern());
  const Factors factors = find_factors(space, a, pattern, report);
  const auto sweeps = impl::sweeps::make_grouped_sweeps<Scalar, Space>(
      space, this->name(), colored.pattern, factors, half_sweeps(), m_options.storage);
  report.nnz = pattern.lower.nnz() + pattern.upper.nnz() + a.num_rows;
  report.bytes = pattern.bytes() + sweeps->bytes();
  report.apply_flops = sweeps->flops();
  report.foreign_entries = pattern.foreign;
  report.pattern_kept = m_sweeps != nullptr;
  if (m_options.storage != Storage::full)
    report.setup_bytes =
        static_cast<std::int64_t>((factors.lower.span() + factors.upper.span()) * sizeof(Scalar));
  std::string note = std::to_string(pattern.num_groups) + (pattern.num_groups == 1 ? " colour" : " colours");
  if (colored.num_colors_before != pattern.num_groups)
    note += ", " + std::to_string(colored.num_colors_before) + " without sparsification";
  if (pattern.within_groups > 0)
    note += "; " + std::to_string(pattern.within_groups) + " entries between rows of one colour are left out";
  report.notes.push_back(note);
  impl::sweeps::note_lost(this->name(), {sweeps->cut(), sweeps->vanished()}, report.notes);
  if (sweeps->bytes() > 0) space.fence("prekond::relaxation::numeric");  // temporaries are freed
  m_coloring = colored.coloring;
  m_num_colors_before = colored.num_colors_before;
  m_pattern = colored.pattern;
  m_sweeps = sweeps;
}

template <class Scalar, class Space>
void Multicolor<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report& report) {
  const bool kept = m_pattern != nullptr;
  report.pattern_kept = kept;
  if (!kept) m_pattern = std::make_shared<const Pattern>();
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Multicolor<Scalar, Space>::make_workspace(const Space& space,
                                                                     int num_vectors) const {
  if (!m_sweeps) return Method::make_workspace(space, num_vectors);
  return m_sweeps->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void Multicolor<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                           MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  m_sweeps->apply(space, x, y, workspace);
}

#define PREKOND_MULTICOLOR(Scalar, Space) template class Multicolor<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_MULTICOLOR)

}  // namespace prekond
