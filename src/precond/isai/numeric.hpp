// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of Isai.
#include <prekond/core/error.hpp>
#include <prekond/matrix/filter_entries.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/power.hpp>
#include <prekond/pattern/threshold.hpp>
#include <prekond/precond/isai.hpp>

#include "precond/common/breakdown_counter.hpp"
#include "precond/fsai/numeric.hpp"
#include "precond/isai/setup.hpp"

#include <stdexcept>

namespace prekond {
namespace impl::isai {

/// The static FSAI by the ISAI's name, in its messages.
template <class Scalar, class Space>
class FactoredIsai : public Fsai<Scalar, Space> {
 public:
  using Fsai<Scalar, Space>::Fsai;
  std::string name() const override { return IsaiOptions::name; }
};

inline FsaiOptions factored_options(const IsaiOptions& options) {
  FsaiOptions result;
  result.power = options.power;
  result.prefilter = options.prefilter;
  result.setup_scalar = options.setup_scalar;
  result.storage = options.storage;
  result.reuse = options.reuse;
  result.pattern_bytes = options.pattern_bytes;
  result.slab_bytes = options.slab_bytes;
  return result;
}

/// Of a row's entries, those that the relaxation multiplies by: of a unit diagonal's triangle those beside
/// it.
template <class Scalar, class Space>
struct KeepPart {
  CsrView<Scalar, Space> a;
  IsaiKind kind;
  bool unit_diagonal;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    const int col = a.col_idxs(k);
    if (col >= a.num_rows || (unit_diagonal && col == row)) return false;
    return (kind != IsaiKind::lower || col <= row) && (kind != IsaiKind::upper || col >= row);
  }
};

template <class Scalar, class Space>
struct RelaxationWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> residual;
  MultiVector<Scalar, Space> correction;
};

/// residual = x, or x - y.
template <class Scalar, class Space>
struct BeginResidual {
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<const Scalar, Space> y;
  MultiVectorView<Scalar, Space> residual;
  bool unit_diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < x.extent(1); ++k)
      residual(i, k) = unit_diagonal ? x(i, k) - y(i, k) : x(i, k);
  }
};

template <class Scalar, class Space>
struct AddCorrection {
  MultiVectorView<const Scalar, Space> correction;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < y.extent(1); ++k) y(i, k) += correction(i, k);
  }
};

}  // namespace impl::isai

template <class Scalar, class Space>
Isai<Scalar, Space>::Isai(const IsaiOptions& options)
    : Base(IsaiOptions::name, options.reuse, options.prefilter > 0), m_options(resolved(options)) {
  if (options.kind == IsaiKind::spd)
    m_factored =
        std::make_unique<impl::isai::FactoredIsai<Scalar, Space>>(impl::isai::factored_options(options));
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::set_pattern(const Space& space, const CsrGraphView<Space>& pattern) {
  if (m_factored) return m_factored->set_pattern(space, pattern);
  Base::set_pattern(space, pattern);
}

template <class Scalar, class Space>
CsrGraph<Space> Isai<Scalar, Space>::make_pattern(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  const IsaiKind kind = m_options.kind;
  if (this->has_user_pattern()) {
    const CsrGraph<Space> pattern = this->user_pattern(a);
    if (kind == IsaiKind::general) return pattern;
    return kind == IsaiKind::lower ? lower_triangle<Space>(space, pattern)
                                   : upper_triangle<Space>(space, pattern);
  }
  CsrGraph<Space> filtered;
  if (m_options.prefilter > 0)
    filtered = threshold<Scalar, Space>(space, a, m_options.prefilter, m_options.unit_diagonal);
  const CsrGraphView<Space> s =
      m_options.prefilter > 0 ? CsrGraphView<Space>(filtered) : CsrGraphView<Space>(a);
  const auto power_of = [&](const CsrGraphView<Space>& graph) {
    return power<Space>(space, graph, m_options.power, m_options.pattern_bytes, m_options.slab_bytes);
  };
  if (kind == IsaiKind::general) return power_of(s);
  if (kind == IsaiKind::upper) return power_of(upper_triangle<Space>(space, s));
  // The powers 0 and 1 are the same of all of A, whose triangle need not be made then.
  const auto lower_power_of = [&](const CsrGraphView<Space>& graph) {
    return lower_power<Space>(space, graph, m_options.power, m_options.pattern_bytes, m_options.slab_bytes);
  };
  return m_options.power <= 1 ? lower_power_of(s) : lower_power_of(lower_triangle<Space>(space, s));
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  if (m_factored)
    m_factored->symbolic(space, source);
  else
    Base::symbolic_step(space, source);
  m_a = {};
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::set_listener(const typename Base::Listener& listener) {
  Base::set_listener(listener);
  if (m_factored) m_factored->set_listener(listener);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source& source,
                                               Report& report) {
  if (m_factored)
    find_factored(space, source, report);
  else
    Base::numeric_without_rows(space, source, report);
  m_a = {};
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::find_inverse(const Space& space, const matrix_source& source, Report& report) {
  const matrix_view& a = source.csr();
  const matrix_type copy = copy_for_relaxation(space, a);
  if (m_factored)
    find_factored(space, source, report);
  else
    find_explicit(space, source, report);
  take_copy(copy, report);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::find_factored(const Space& space, const matrix_source& source, Report& report) {
  m_factored->numeric(space, source);
  report = m_factored->report();
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::find_explicit(const Space& space, const matrix_source& source, Report& report) {
  const matrix_view& a = source.csr();
  impl::MemoryMeter meter;
  const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
  const matrix_type m(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs,
                      allocate<Vector<Scalar, Space>>(space, "prekond::isai::values", pattern.nnz()));
  {
    impl::isai::Setup<Scalar, Space> setup(space, a, m_options.slab_bytes, name(), meter);
    const bool general = m_options.kind == IsaiKind::general;
    const impl::LongestRow longest = setup.check_rows(pattern, general);
    if (general) {
      report.numeric_flops = 2 * impl::fsai::count_flops<Space>(space, pattern, {});
      const auto length = static_cast<double>(longest.length);
      this->tell(
          impl::cost_note(space, name(), report.numeric_flops, 2 * length * length * length / 3, longest),
          report);
      setup.solve_general(m, m.values, m_options.setup_scalar == Precision::single_precision);
    } else {
      setup.solve_triangular(m, m.values, {m_options.kind == IsaiKind::upper, m_options.unit_diagonal});
      // Of A's mean row; those of the other triangle count too.
      report.numeric_flops = 2.0 * double(m.nnz()) * double(a.nnz()) / double(a.num_rows);
    }
    report.breakdowns = impl::breakdowns_of(setup.outcome(), "fewer columns, without those of bad pivots");
  }
  this->take_inverse(space, m, m_options.storage, report, meter);
}

/// What the relaxation multiplies by; nothing where there is none.
template <class Scalar, class Space>
typename Isai<Scalar, Space>::matrix_type Isai<Scalar, Space>::copy_for_relaxation(
    const Space& space, const matrix_view& a) const {
  if (m_options.relaxation_steps == 0 || a.num_rows == 0) return {};
  const impl::isai::KeepPart<Scalar, Space> keep{a, m_options.kind, m_options.unit_diagonal};
  const matrix_type part = filter_entries<Scalar, Space>(space, a, keep);
  return matrix_type(a.num_rows, a.num_rows, part.row_ptrs, part.col_idxs, part.values);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::take_copy(const matrix_type& copy, Report& report) {
  m_a = copy;
  const double steps = m_options.relaxation_steps;
  if (steps == 0) return;
  report.bytes += copy.bytes();
  report.apply_flops = (steps + 1) * report.apply_flops + steps * double(2 * copy.nnz() + copy.num_rows);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Isai<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  auto inner =
      m_factored ? m_factored->make_workspace(space, num_vectors) : Base::make_workspace(space, num_vectors);
  if (m_options.relaxation_steps == 0) return inner;
  using Vectors = MultiVector<Scalar, Space>;
  auto workspace = std::make_unique<impl::isai::RelaxationWorkspace<Scalar, Space>>();
  workspace->inner = std::move(inner);
  workspace->residual =
      allocate<Vectors>(space, "prekond::isai::apply::residual", this->num_rows(), num_vectors);
  workspace->correction = allocate<Vectors>(space, "prekond::isai::apply::correction",
                                            m_factored ? this->num_rows() : 0, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::apply_once(const Space& space, MultiVectorView<const Scalar, Space> x,
                                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (m_factored)
    m_factored->apply(space, x, y, workspace);
  else
    Base::apply_step(space, x, y, workspace);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  namespace inner = impl::isai;
  if (m_options.relaxation_steps == 0) return apply_once(space, x, y, workspace);
  const auto& own = static_cast<inner::RelaxationWorkspace<Scalar, Space>&>(workspace);
  if (x.extent(1) > own.residual.extent(1))
    throw std::logic_error(name() + ": the workspace was made for fewer vectors");
  const MultiVectorView<Scalar, Space> residual(own.residual.data(), own.residual.extent(0), x.extent(1));
  const MultiVectorView<Scalar, Space> correction(own.correction.data(), own.correction.extent(0),
                                                  x.extent(1));
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, this->num_rows());
  apply_once(space, x, y, *own.inner);
  for (int step = 0; step < m_options.relaxation_steps; ++step) {
    Kokkos::parallel_for("prekond::isai::apply::begin_residual", rows,
                         inner::BeginResidual<Scalar, Space>{x, y, residual, m_options.unit_diagonal});
    spmv<Scalar, Space>(space, Scalar(-1), m_a, y, Scalar(1), residual);
    if (!m_factored) {
      this->stored().add_product(space, residual, y);
      continue;
    }
    m_factored->apply(space, residual, correction, *own.inner);
    Kokkos::parallel_for("prekond::isai::apply::add_correction", rows,
                         inner::AddCorrection<Scalar, Space>{correction, y});
  }
}

}  // namespace prekond
