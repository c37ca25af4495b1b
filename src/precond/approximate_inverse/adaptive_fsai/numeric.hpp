// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of AdaptiveFsai: what surrounds the growth of the rows.
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include "core/geometric_mean.hpp"
#include "matrix/filter_entries.hpp"
#include "matrix/longest_row.hpp"
#include "pattern/equal_rows.hpp"
#include "pattern/fingerprint.hpp"
#include "pattern/power.hpp"
#include "sparse_product/wanted_rows.hpp"

#include "precond/approximate_inverse/adaptive_fsai/flops.hpp"
#include "precond/approximate_inverse/adaptive_fsai/grow.hpp"
#include "precond/approximate_inverse/fsai/scale.hpp"
#include "precond/scaling/diagonal.hpp"
#include "precond/scaling/equilibrate.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/setup/check_pattern.hpp"

#include <limits>

namespace prekond {
namespace impl::adaptive_fsai {

template <class To, class From, class Space>
struct ConvertEntry {
  VectorView<const From, Space> a;
  real_type_t<From> scale;
  VectorView<To, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count) const {
    const To value = static_cast<To>(a(k) * scale);
    values(k) = value;
    if (!is_finite(value)) ++count;
  }
};

/// values = a scale in another precision. \returns how many of them left its range
template <class To, class From, class Space>
std::int64_t convert(const Space& space, VectorView<const From, Space> a, real_type_t<From> scale,
                     VectorView<To, Space> values) {
  std::int64_t lost = 0;
  Kokkos::parallel_reduce("prekond::adaptive_fsai::numeric::convert",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.extent(0)),
                          ConvertEntry<To, From, Space>{a, scale, values}, lost);
  return lost;
}

template <class Real, class Space>
struct SquareRoot {
  VectorView<const Real, Space> diagonal;
  VectorView<Real, Space> root;
  KOKKOS_FUNCTION void operator()(int i) const { root(i) = Kokkos::sqrt(diagonal(i)); }
};

template <class Real, class Space>
Vector<Real, Space> square_roots(const Space& space, VectorView<const Real, Space> diagonal) {
  const auto root =
      allocate<Vector<Real, Space>>(space, "prekond::adaptive_fsai::numeric::root", diagonal.extent(0));
  Kokkos::parallel_for("prekond::adaptive_fsai::numeric::roots",
                       Kokkos::RangePolicy<Space>(space, 0, diagonal.extent(0)),
                       SquareRoot<Real, Space>{diagonal, root});
  return root;
}

/// Grows G, or solves on its pattern, in precision Real. \returns false where the matrix's range is too wide
/// for Real
template <class Real, class Scalar, class Space>
bool set_up(const Space& space, const CsrView<Scalar, Space>& a,
            VectorView<const real_type_t<Scalar>, Space> diagonal, const DiagonalRange<Scalar>& range,
            Parameters parameters, const Sources<Space>& sources,
            CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report) {
  using Number = in_precision_t<Scalar, Real>;
  VectorView<const Number, Space> values_of_real;
  VectorView<const Real, Space> diagonal_of_real;
  Vector<Number, Space> values;
  Vector<Real, Space> real_diagonal;
  if constexpr (std::is_same_v<Number, Scalar>) {
    values_of_real = a.values;
    diagonal_of_real = diagonal;
  } else {
    // The matrix is centred in Real's range by a power of two; each row then has its own.
    // (Rounded downwards, not towards 0: so the centre moves with the matrix.)
    const int centre = (std::ilogb(range.min) + std::ilogb(range.max)) >> 1;
    const int half_width = (std::ilogb(range.max) - std::ilogb(range.min)) / 2;
    // floor^2 a_jj / a_ii has to stay a normal number: 2^-126 for single precision and a floor of 1e-5.
    if (half_width > 46) return false;
    const real_type_t<Scalar> scale = std::ldexp(real_type_t<Scalar>(1), -centre);
    values = allocate<Vector<Number, Space>>(space, "prekond::adaptive_fsai::numeric::a_values",
                                             a.values.extent(0));
    real_diagonal =
        allocate<Vector<Real, Space>>(space, "prekond::adaptive_fsai::numeric::a_diagonal", a.num_rows);
    if (convert<Number, Scalar, Space>(space, a.values, scale, values) > 0) return false;
    convert<Real, real_type_t<Scalar>, Space>(space, diagonal, scale, real_diagonal);
    values_of_real = values;
    diagonal_of_real = real_diagonal;
  }
  const auto root = square_roots<Real, Space>(space, diagonal_of_real);
  const Real epsilon = std::numeric_limits<Real>::epsilon();
  parameters.candidate_floor = sizeof(Real) == 4 ? 1e-5 : 1e-12;
  parameters.pivot_floor = 16 * epsilon;
  const Matrix<Scalar, Real> matrix{
      a.row_ptrs.data(),       a.col_idxs.data(), values_of_real.data(),          a.values.data(),
      diagonal_of_real.data(), root.data(),       sources.representatives.data(), a.num_rows};
  const auto grow = sources.gradient == Gradient::list     ? grow_rows<Gradient::list, Real, Scalar, Space>
                    : sources.gradient == Gradient::marker ? grow_rows<Gradient::marker, Real, Scalar, Space>
                                                           : grow_rows<Gradient::merge, Real, Scalar, Space>;
  grow(space, matrix, a.nnz(), parameters, sources, g, report);
  return true;
}

/// set_up in the precision that the options ask for, or in double where single has too narrow a range.
template <class Scalar, class Space>
void set_up_in(Precision precision, const Space& space, const CsrView<Scalar, Space>& a,
               VectorView<const real_type_t<Scalar>, Space> diagonal, const DiagonalRange<Scalar>& range,
               const Parameters& parameters, const Sources<Space>& sources,
               CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report) {
  if (precision == Precision::single_precision) {
    if (set_up<float, Scalar, Space>(space, a, diagonal, range, parameters, sources, g, report)) return;
    report.notes.push_back("the matrix's range is too wide for single precision: the setup ran in double");
  }
  set_up<double, Scalar, Space>(space, a, diagonal, range, parameters, sources, g, report);
}

/// The range of the scaled diagonal. A rank's part that is scaled by one power of two takes the scaled range
/// of the whole matrix, `whole`, of which the part's least entry was `own_least`.
template <class Scalar, class Space>
DiagonalRange<Scalar> scaled_range(const Space& space, const Equilibrated<Scalar, Space>& scaled,
                                   const VectorView<real_type_t<Scalar>, Space>& diagonal,
                                   const DiagonalRange<Scalar>& whole, real_type_t<Scalar> own_least) {
  if (!scaled.is_scaled()) return whole;
  auto range = extract_diagonal<Scalar, Space>(space, scaled.matrix(), diagonal);
  if (scaled.is_graded()) return range;
  const auto scale = range.min / own_least;
  range.min = whole.min * scale;
  range.max = whole.max * scale;
  return range;
}

/// |a_ij| > tau sqrt(a_ii a_jj), and the diagonal; columns of other ranks are left out.
template <class Scalar, class Space>
struct KeepStrong {
  CsrView<Scalar, Space> a;
  VectorView<const real_type_t<Scalar>, Space> diagonal;
  double tau;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    const int col = a.col_idxs(k);
    if (col == row || col >= a.num_rows) return col == row;
    return Kokkos::abs(to_double(a.values(k))) >
           tau * geometric_mean(double(diagonal(row)), double(diagonal(col)));
  }
};

/// The parameters of the kernels, for starts of up to `longest_start` entries besides the diagonal.
inline Parameters parameters_of(const AdaptiveFsaiOptions& options, std::int64_t longest_start,
                                std::int64_t num_rows, bool kept, Report& report) {
  constexpr std::int64_t packed_limit = 46340;  // members whose packed factor 31 bits can index
  const std::int64_t most = (kept ? 0 : std::int64_t(options.max_steps) * options.step_size) + longest_start;
  if (std::min(most, num_rows - 1) > packed_limit)
    report.notes.push_back("a row gets 46340 off-diagonal entries at most");
  Parameters parameters{};
  parameters.max_members = static_cast<int>(std::min({most, num_rows - 1, packed_limit}));
  parameters.max_steps = options.max_steps;
  parameters.step_size = options.step_size;
  parameters.most_at_once = kept || longest_start > 0 ? parameters.max_members
                                                      : std::min(options.step_size, parameters.max_members);
  parameters.tolerance = *options.tolerance;
  parameters.step_tolerance = *options.step_tolerance;
  return parameters;
}

/// diag(G A G^T) = 1 once more, after a filter. Rows for which that fails are added to the report.
template <class Scalar, class Space>
void scale_again(const Space& space, const CsrView<Scalar, Space>& a,
                 VectorView<const real_type_t<Scalar>, Space> diagonal,
                 const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report) {
  const auto outcome = make_breakdown_counter(space, "prekond::adaptive_fsai::numeric::outcome");
  scale_rows<Scalar, Space>(space, a, diagonal, g, g.values, outcome, psi_floor<real_type_t<Scalar>>());
  const Breakdowns more = breakdowns_of(fetch(space, outcome), "nothing");
  if (more.count == 0) return;
  report.notes.push_back(std::to_string(more.count) + " rows fell back to the diagonal after the filters");
  if (report.breakdowns.count == 0)
    report.breakdowns = more;
  else
    report.breakdowns.count += more.count;
}

}  // namespace impl::adaptive_fsai

template <class Scalar, class Space>
AdaptiveFsai<Scalar, Space>::AdaptiveFsai(const AdaptiveFsaiOptions& options)
    : m_options(resolved(options)) {}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::set_initial_pattern(const Space& space,
                                                      const CsrGraphView<Space>& pattern) {
  impl::check_graph(space, pattern, name());
  m_initial_pattern = lower_triangle<Space>(space, pattern);
}

template <class Scalar, class Space>
std::int64_t AdaptiveFsai<Scalar, Space>::PatternWork::bytes() const {
  return start.bytes() + static_cast<std::int64_t>(representatives.span() * sizeof(int));
}

template <class Scalar, class Space>
auto AdaptiveFsai<Scalar, Space>::work_on(const Space& space, const matrix_source& source, bool kept) const
    -> PatternWork {
  const matrix_view& a = source.csr();
  PatternWork work;
  if (a.num_rows == 0) return work;
  work.fingerprint = fingerprint<Space>(space, a);
  if (grows_on_all()) work.representatives = equal_row_representatives<Space>(space, a.row_ptrs, a.col_idxs);
  if (kept) return work;
  if (grows_on_all() && m_initial_pattern.row_ptrs.extent(0) == 0 && m_options.initial_power > 0)
    work.start = keep_wanted_rows<Space>(space, power(space, a), source.wanted_rows());
  return work;
}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::check_pattern_work(const Space& space, const matrix_source& source,
                                                     Report& report) {
  if (fingerprint<Space>(space, source.csr()) == m_work.fingerprint) return;
  m_work = work_on(space, source, keeps_pattern());
  report.notes.push_back(
      "numeric was given another pattern than symbolic: what symbolic finds in it was found anew");
}

template <class Scalar, class Space>
CsrGraph<Space> AdaptiveFsai<Scalar, Space>::power(const Space& space, const matrix_view& a) const {
  return lower_power<Space>(space, a, m_options.initial_power, std::numeric_limits<std::int64_t>::max(),
                            m_options.workspace_budget);
}

template <class Scalar, class Space>
CsrGraph<Space> AdaptiveFsai<Scalar, Space>::initial_pattern(
    const Space& space, const matrix_view& grown_on,
    const VectorView<const unsigned char, Space>& wanted) const {
  const std::int64_t n = grown_on.num_rows;
  if (extends()) return {n, n, this->factor().row_ptrs, this->factor().col_idxs};
  if (m_initial_pattern.row_ptrs.extent(0) > 0) {
    impl::check_pattern_rows(m_initial_pattern, n, name());
    return m_initial_pattern;
  }
  if (m_options.initial_power == 0) return {};
  if (m_work.start.row_ptrs.extent(0) > 0) return m_work.start;
  return keep_wanted_rows<Space>(space, power(space, grown_on), wanted);
}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  m_work = work_on(space, source, false);
  this->forget_inverse();
}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source& source,
                                                       Report& report) {
  report.pattern_kept = keeps_pattern();
  FactoredInverse<Scalar, Space>::numeric_without_rows(space, source, report);
}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                               Report& report) {
  const matrix_view& a = source.csr();
  namespace inner = impl::adaptive_fsai;
  auto diagonal = allocate<Vector<real_type_t<Scalar>, Space>>(
      space, "prekond::adaptive_fsai::numeric::diagonal", a.num_rows);
  auto range = impl::extract_diagonal<Scalar, Space>(space, a, diagonal);
  const bool kept = keeps_pattern();
  report.pattern_kept = kept;
  impl::check_diagonal(range, name());
  const auto own_least = range.min;
  impl::widen(range, source);
  const impl::Equilibrated<Scalar, Space> scaled(space, a, diagonal, range.min, range.max);
  range = inner::scaled_range<Scalar, Space>(space, scaled, diagonal, range, own_least);
  if (scaled.is_graded())
    report.notes.push_back("the matrix's range is too wide: rows were grown on D A D with a diagonal near 1");
  const matrix_view& b = scaled.matrix();

  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> filtered;
  if (m_options.prefilter > 0)
    filtered = filter_entries<Scalar, Space>(
        space, b, inner::KeepStrong<Scalar, Space>{b, diagonal, m_options.prefilter});
  const matrix_view grown_on = m_options.prefilter > 0 ? matrix_view(filtered) : b;
  check_pattern_work(space, source, report);
  Vector<int, Space> representatives = m_work.representatives;
  if (!grows_on_all())
    representatives = equal_row_representatives<Space>(space, grown_on.row_ptrs, grown_on.col_idxs);
  CsrGraph<Space> start;
  if (!kept) start = initial_pattern(space, grown_on, source.wanted_rows());
  if (extends()) report.notes.push_back("rows began with the pattern of the G before");
  matrix_type g = this->factor();
  // Nothing else is known of a kept pattern: it may have begun with some power.
  const VectorView<const std::size_t, Space> row_ptrs =
      (kept ? CsrGraphView<Space>(g) : CsrGraphView<Space>(start)).row_ptrs;
  const std::int64_t longest = impl::longest_row<Space>(space, row_ptrs).length;
  inner::Parameters parameters =
      inner::parameters_of(m_options, std::max<std::int64_t>(0, longest - 1), a.num_rows, kept, report);
  if (source.wanted_rows().extent(0) > 0) parameters.wanted = source.wanted_rows().data();
  const inner::Sources<Space> sources{kept,
                                      start,
                                      m_options.gradient,
                                      m_options.workspace_budget,
                                      !kept && m_options.postfilter > 0,
                                      representatives};

  if (kept)
    g.values = allocate<Vector<Scalar, Space>>(space, "prekond::adaptive_fsai::numeric::g_values", g.nnz());
  inner::set_up_in<Scalar, Space>(m_options.setup_scalar, space, grown_on, diagonal, range, parameters,
                                  sources, g, report);
  const double flops =
      flops_of_scalar<Scalar> * inner::estimate_flops<Scalar, Space>(space, grown_on, g, kept);
  if (sources.filtered) g = impl::postfilter<Scalar, Space>(space, g, diagonal, m_options.postfilter, report);
  if (m_options.prefilter > 0 || sources.filtered)
    inner::scale_again<Scalar, Space>(space, b, diagonal, g, report);
  scaled.undo(space, g, g.values);
  this->store_factor(space, g, {m_options.storage, m_options.storage_format}, report);
  if (m_options.reuse == Reuse::pattern) m_work.start = {};  // G has its pattern
  report.numeric_flops = flops;
}

}  // namespace prekond
