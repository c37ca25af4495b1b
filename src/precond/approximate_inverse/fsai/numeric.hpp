// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of Fsai.
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/fsai.hpp>
#include "pattern/block_rows.hpp"
#include "pattern/power.hpp"
#include "sparse_product/wanted_rows.hpp"

#include "precond/approximate_inverse/fsai/flops.hpp"
#include "precond/approximate_inverse/fsai/setup.hpp"
#include "precond/approximate_inverse/fsai/supernodes.hpp"
#include "precond/scaling/diagonal.hpp"
#include "precond/scaling/equilibrate.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/setup/source_blocks.hpp"

namespace prekond {

// Compiled in blocks.cpp.
#define PREKOND_EXTERN(Scalar, Space) \
  extern template class impl::fsai::Setup<Scalar, Space, impl::BlockEntries<Scalar, Space>>;
PREKOND_EXTERN(double, Kokkos::DefaultExecutionSpace)
PREKOND_EXTERN(float, Kokkos::DefaultExecutionSpace)
PREKOND_EXTERN(double, Kokkos::DefaultHostExecutionSpace)
PREKOND_EXTERN(float, Kokkos::DefaultHostExecutionSpace)
#undef PREKOND_EXTERN

/// The size of the source's blocks where they are read as they are; else 0.
template <class Scalar, class Space>
int Fsai<Scalar, Space>::block_rows(const matrix_source& source) const {
  const auto* blocks = source.blocks();
  if (is_complex<Scalar> || blocks == nullptr || blocks->padding > 0 || blocks->block_size < 2 ||
      source.num_rows() == 0 || m_options.prefilter > 0 || this->has_user_pattern())
    return 0;
  const int b = blocks->block_size, asked = block_size_for(source);
  const bool are_nodes = asked == 0 && source.unknowns_per_node() == b && b <= impl::SupernodeTuning::largest;
  return asked == b || are_nodes ? b : 0;
}

template <class Scalar, class Space>
CsrGraph<Space> Fsai<Scalar, Space>::row_pattern(const Space& space, const matrix_view& a) const {
  if (this->has_user_pattern()) return this->user_pattern(a);
  // Without a threshold the pattern is A's own, whose columns of other ranks the power skips.
  if (m_options.prefilter == 0)
    return lower_power<Space>(space, a, m_options.power, m_options.memory_budget, m_options.workspace_budget);
  return lower_power<Space>(space, threshold<Scalar, Space>(space, a, m_options.prefilter), m_options.power,
                            m_options.memory_budget, m_options.workspace_budget);
}

/// The pattern that row_pattern and merge_supernodes would give.
template <class Scalar, class Space>
CsrGraph<Space> Fsai<Scalar, Space>::block_pattern(const Space& space, const matrix_source& source) const {
  const auto& blocks = *source.blocks();
  const auto lower = lower_power<Space>(space, impl::graph_of<Space>(blocks), m_options.power,
                                        m_options.memory_budget, m_options.workspace_budget);
  return lower_rows_of_blocks<Space>(space, lower, blocks.block_size, m_options.memory_budget);
}

template <class Scalar, class Space>
CsrGraph<Space> Fsai<Scalar, Space>::make_pattern(const Space& space, const matrix_source& source) {
  const int b = block_rows(source);
  FsaiOptions options = m_options;
  options.block_size = block_size_for(source);
  CsrGraph<Space> pattern =
      b > 0 ? block_pattern(space, source)
            : keep_wanted_rows<Space>(space, row_pattern(space, source.csr()), source.wanted_rows());
  const auto supernodes = impl::choose_supernodes<Space>(space, source, options);
  std::string note;
  if (options.block_size != 1) {
    // Single rows have all places of a block, but for a diagonal.
    const auto alone = static_cast<double>(b > 0 && options.power == 0 ? pattern.num_rows : pattern.nnz());
    if (supernodes.count() > 0 && b == 0)
      pattern = merge_supernodes<Space>(space, pattern, supernodes, m_options.memory_budget);
    note = impl::supernodes_note(supernodes, static_cast<double>(pattern.nnz()) / alone);
  }
  m_supernodes = supernodes;  // not before what may throw: an old factor needs its own
  m_block_rows = b;
  m_supernodes_note = note;
  return pattern;
}

template <class Scalar, class Space>
void Fsai<Scalar, Space>::find_inverse(const Space& space, const matrix_source& source, Report& report) {
  if constexpr (!is_complex<Scalar>) {
    // A postfilter leaves a block's rows different columns. Without a prefilter there is a pattern already.
    const bool rows_alone = this->keeps_pattern() && m_options.postfilter > 0;
    if (m_block_rows > 0 && m_block_rows == block_rows(source) && !rows_alone)
      return find_factor(space, source, impl::BlockEntries<Scalar, Space>(*source.blocks()), report);
  }
  find_factor(space, source, source.csr(), report);
}

template <class Scalar, class Space>
template <class Matrix>
void Fsai<Scalar, Space>::find_factor(const Space& space, const matrix_source& source, const Matrix& a,
                                      Report& report) {
  namespace inner = impl::fsai;
  const bool kept = this->keeps_pattern();
  const auto diagonal =
      allocate<Vector<real_type_t<Scalar>, Space>>(space, "prekond::fsai::numeric::diagonal", a.num_rows);
  auto range = impl::extract_diagonal<Scalar, Space>(space, a, diagonal);
  impl::check_diagonal(range, name());
  impl::widen(range, source);
  // In exact arithmetic the factor does not depend on the rows' scales.
  const impl::Equilibrated<Scalar, Space, Matrix> scaled(space, a, diagonal, range.min, range.max);
  if (scaled.is_scaled()) impl::extract_diagonal<Scalar, Space>(space, scaled.matrix(), diagonal);
  const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
  matrix_type g(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs,
                allocate<Vector<Scalar, Space>>(space, "prekond::fsai::g_values", pattern.nnz()));
  // Where a filter follows, this is not the final G.
  const bool filtered = !kept && m_options.postfilter > 0;
  inner::Setup<Scalar, Space, Matrix> setup(space, scaled.matrix(), diagonal, m_options.workspace_limits(),
                                            name());
  // A postfilter leaves a block's rows different columns.
  const bool rows_alone = kept && m_options.postfilter > 0;
  const Supernodes<Space> supernodes = rows_alone ? Supernodes<Space>{} : m_supernodes;
  const impl::LongestRow longest = setup.check_rows(pattern);
  report.numeric_flops =
      flops_of_scalar<Scalar> *
      inner::count_flops<Space>(space, "prekond::fsai::numeric::count_flops", pattern, supernodes);
  const auto length = static_cast<double>(longest.length);
  const double of_longest = flops_of_scalar<Scalar> * length * length * length / 3;
  this->tell(impl::cost_note(space, name(), report.numeric_flops, of_longest, longest), report);
  setup.solve(g, g.values, m_options.setup_scalar == Precision::single_precision, supernodes);
  if (!m_supernodes_note.empty()) report.notes.push_back(m_supernodes_note);
  if (filtered) g = impl::postfilter<Scalar, Space>(space, g, diagonal, m_options.postfilter, report);
  setup.scale(g, g.values, !filtered);
  scaled.undo(space, g, g.values);
  const impl::BreakdownCounter outcome = setup.outcome();
  report.breakdowns = impl::breakdowns_of(outcome, "fewer columns, without those of bad pivots");
  this->store_factor(space, g, {m_options.storage, m_options.storage_format}, report);
}

}  // namespace prekond
