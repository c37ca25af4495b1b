// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of AdaptiveFsai: what surrounds the growth of the rows.
#include <prekond/core/error.hpp>
#include <prekond/matrix/find_entry.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/transpose.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/impl/adaptive_fsai_setup.hpp>

#include <limits>
#include <stdexcept>

namespace prekond {
namespace impl::adaptive_fsai {

/// Extremes of the diagonal; `bad_row` is the first row without a positive entry.
template <class Scalar>
struct DiagonalRange {
  Scalar min;
  Scalar max;
  std::int64_t bad_row;
};

template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const CsrView<Scalar, Space>& a, VectorView<Scalar, Space> diagonal) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  DiagonalRange<Scalar> range{};
  Kokkos::parallel_reduce(
      "prekond::adaptive_fsai::numeric::diagonal", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
      KOKKOS_LAMBDA(int i, Scalar& min, Scalar& max, std::int64_t& bad) {
        std::size_t place = 0;
        const Scalar value = find_entry(a, i, i, place);
        diagonal(i) = value;
        if (!(value > 0) || !Kokkos::isfinite(value)) {
          if (i < bad) bad = i;
        } else {
          if (value < min) min = value;
          if (value > max) max = value;
        }
      },
      Kokkos::Min<Scalar>(range.min), Kokkos::Max<Scalar>(range.max), Kokkos::Min<std::int64_t>(range.bad_row));
  if (range.bad_row == none) range.bad_row = -1;
  return range;
}

/// values = a scale in another precision. \returns how many of them left its range
template <class Real, class Scalar, class Space>
std::int64_t convert(const Space& space, VectorView<const Scalar, Space> a, Scalar scale, VectorView<Real, Space> values) {
  std::int64_t lost = 0;
  Kokkos::parallel_reduce(
      "prekond::adaptive_fsai::numeric::convert",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& count) {
        const Real value = static_cast<Real>(a(k) * scale);
        values(k) = value;
        if (!Kokkos::isfinite(value)) ++count;
      },
      lost);
  return lost;
}

/// Grows G, or solves on its pattern, in precision Real. \returns false where the matrix's range is too wide for Real
template <class Real, class Scalar, class Space>
bool set_up(const Space& space, const CsrView<Scalar, Space>& a, VectorView<const Scalar, Space> diagonal,
            const DiagonalRange<Scalar>& range, Parameters parameters, std::int64_t slab_bytes, bool kept,
            CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report) {
  VectorView<const Real, Space> values_of_real;
  VectorView<const Real, Space> diagonal_of_real;
  Vector<Real, Space> values;
  Vector<Real, Space> real_diagonal;
  if constexpr (std::is_same_v<Real, Scalar>) {
    values_of_real = a.values;
    diagonal_of_real = diagonal;
  } else {
    // The matrix is centred in Real's range by a power of two; each row then has its own.
    const int centre = (std::ilogb(range.min) + std::ilogb(range.max)) / 2;
    const int half_width = (std::ilogb(range.max) - std::ilogb(range.min)) / 2;
    // floor^2 a_jj / a_ii has to stay a normal number: 2^-126 for single precision and a floor of 1e-5.
    if (half_width > 46) return false;
    const Scalar scale = std::ldexp(Scalar(1), -centre);
    values = allocate<Vector<Real, Space>>(space, "prekond::adaptive_fsai::numeric::a_values", a.values.extent(0));
    real_diagonal = allocate<Vector<Real, Space>>(space, "prekond::adaptive_fsai::numeric::a_diagonal", a.num_rows);
    ++report.fences;
    if (convert<Real, Scalar, Space>(space, a.values, scale, values) > 0) return false;
    convert<Real, Scalar, Space>(space, diagonal, scale, real_diagonal);
    values_of_real = values;
    diagonal_of_real = real_diagonal;
  }
  const Real epsilon = std::numeric_limits<Real>::epsilon();
  if (parameters.candidate_floor < 0) parameters.candidate_floor = sizeof(Real) == 4 ? 1e-5 : 1e-12;
  parameters.pivot_floor = 16 * epsilon;
  const Matrix<Scalar, Real> matrix{a.row_ptrs.data(), a.col_idxs.data(),       values_of_real.data(),
                                    a.values.data(),   diagonal_of_real.data(), a.num_rows};
  Setup<Scalar, Real, Space> setup(space, matrix, a.nnz(), parameters, slab_bytes);
  if (kept) setup.solve(g);
  else g = setup.grow();

  const Outcome outcome = setup.outcome();
  report.fences += setup.fences() + 1;
  report.breakdowns = {};
  report.breakdowns.count = outcome.pivots + outcome.diagonals;
  if (report.breakdowns.count > 0) {
    report.breakdowns.first_row = static_cast<std::int64_t>(outcome.first >> 32);
    report.breakdowns.first_pivot = Kokkos::bit_cast<float>(static_cast<unsigned>(outcome.first));
    report.breakdowns.action = std::to_string(outcome.pivots) + " rows kept what they had before the pivot, " +
                               std::to_string(outcome.diagonals) + " fell back to the diagonal";
  }
  return true;
}

/// Operations of Algorithm 1 for G's row lengths, with m members in a row and a the mean row length of A: step k updates
/// the gradient by k rows of A and borders the inverse factor, so a row costs about 2 (a m (m + 1) / 2 + m^3 / 3); on a
/// kept pattern only the factor's part. The rows' own lengths in A would cost 2 % of the setup to read.
template <class Scalar, class Space>
double estimate_flops(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& g, bool kept) {
  std::int64_t updates = 0, cubes = 0;  // whole numbers: the same sums in any order
  Kokkos::parallel_reduce(
      "prekond::adaptive_fsai::numeric::estimate_flops", Kokkos::RangePolicy<Space>(space, 0, g.num_rows),
      KOKKOS_LAMBDA(int i, std::int64_t& rows_of_a, std::int64_t& third_powers) {
        const auto m = static_cast<std::int64_t>(g.row_ptrs(i + 1) - g.row_ptrs(i)) - 1;
        rows_of_a += m * (m + 1);
        third_powers += m * m * m;
      },
      updates, cubes);
  const double mean_row = static_cast<double>(a.nnz()) / static_cast<double>(a.num_rows);
  return (kept ? 0 : mean_row * static_cast<double>(updates)) + 2 * static_cast<double>(cubes) / 3;
}

}  // namespace impl::adaptive_fsai

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::symbolic(const Space&, const matrix_view& a) {
  if (a.num_cols < a.num_rows)
    throw InputError("adaptive_fsai: the matrix has " + std::to_string(a.num_rows) + " rows but only " +
                     std::to_string(a.num_cols) + " columns");
  this->m_num_rows = a.num_rows;
  this->m_report = {};
  m_symbolic_done = true;
  m_g = {};
  m_gt = {};
}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::numeric(const Space& space, const matrix_view& a) {
  namespace inner = impl::adaptive_fsai;
  if (!m_symbolic_done) symbolic(space, a);
  if (a.num_rows != this->m_num_rows)
    throw InputError("adaptive_fsai: numeric was given " + std::to_string(a.num_rows) + " rows, symbolic " +
                     std::to_string(this->m_num_rows) + "; call symbolic again");
  Kokkos::Timer timer;
  Report report;
  report.symbolic_seconds = this->m_report.symbolic_seconds;
  auto diagonal = allocate<Vector<Scalar, Space>>(space, "prekond::adaptive_fsai::numeric::diagonal", a.num_rows);
  const auto range = inner::extract_diagonal<Scalar, Space>(space, a, diagonal);
  ++report.fences;
  const bool kept = m_options.reuse == Reuse::pattern && m_g.row_ptrs.extent(0) > 0;
  report.pattern_kept = kept;
  if (a.num_rows == 0) {
    const auto row_ptrs = allocate_zero<Vector<std::size_t, Space>>(space, "prekond::adaptive_fsai::g_row_ptrs", 1);
    m_g = m_gt = matrix_type(0, 0, row_ptrs, {}, {});
    this->m_report = report;
    return;
  }
  if (range.bad_row >= 0)
    throw InputError("adaptive_fsai: the diagonal entry of row " + std::to_string(range.bad_row + 1) +
                     " is missing or not positive; the matrix has to be symmetric positive definite",
                     range.bad_row);

  const std::int64_t most = std::int64_t(m_options.max_steps) * m_options.step_size;
  inner::Parameters parameters{};
  constexpr std::int64_t packed_limit = 46340;  // members whose packed factor 31 bits can index
  if (std::min(most, a.num_rows - 1) > packed_limit)
    report.notes.push_back("a row gets 46340 off-diagonal entries at most");
  parameters.max_members = static_cast<int>(std::min({most, a.num_rows - 1, packed_limit}));
  parameters.max_steps = m_options.max_steps;
  parameters.step_size = m_options.step_size;
  parameters.tolerance = m_options.tolerance;
  parameters.step_tolerance = m_options.step_tolerance;
  parameters.candidate_floor = m_options.candidate_floor;

  matrix_type g = m_g;
  if (kept) g.values = allocate<Vector<Scalar, Space>>(space, "prekond::adaptive_fsai::g_values", m_g.nnz());
  bool done = false;
  if (m_options.setup_scalar == Precision::single_precision) {
    done = inner::set_up<float, Scalar, Space>(space, a, diagonal, range, parameters, m_options.slab_bytes, kept, g, report);
    if (!done) report.notes.push_back("the matrix's range is too wide for single precision: the setup ran in double");
  }
  if (!done) inner::set_up<double, Scalar, Space>(space, a, diagonal, range, parameters, m_options.slab_bytes, kept, g, report);
  const auto gt = transpose<Scalar, Space>(space, g);
  space.fence("prekond::adaptive_fsai::numeric::end");
  m_g = g;
  m_gt = gt;
  report.fences += 3;
  report.nnz = m_g.nnz();
  report.apply_flops = 4.0 * static_cast<double>(m_g.nnz());
  report.numeric_flops = inner::estimate_flops<Scalar, Space>(space, a, m_g, kept);
  report.bytes = m_g.bytes() + m_gt.bytes();
  report.numeric_seconds = timer.seconds();
  this->m_report = report;
}

namespace impl::adaptive_fsai {
template <class Scalar, class Space>
struct ApplyWorkspace : Workspace {
  MultiVector<Scalar, Space> gx;
};
}  // namespace impl::adaptive_fsai

template <class Scalar, class Space>
std::unique_ptr<Workspace> AdaptiveFsai<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  auto workspace = std::make_unique<impl::adaptive_fsai::ApplyWorkspace<Scalar, Space>>();
  workspace->gx = allocate<MultiVector<Scalar, Space>>(space, "prekond::adaptive_fsai::apply::gx", this->m_num_rows, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void AdaptiveFsai<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  const auto& gx = static_cast<impl::adaptive_fsai::ApplyWorkspace<Scalar, Space>&>(workspace).gx;
  if (m_gt.num_rows != this->m_num_rows) throw std::logic_error("adaptive_fsai: apply before numeric");
  if (x.extent(1) > gx.extent(1)) throw std::logic_error("adaptive_fsai: the workspace was made for fewer vectors");
  const MultiVectorView<Scalar, Space> z(gx.data(), gx.extent(0), x.extent(1));
  spmv<Scalar, Space>(space, Scalar(1), m_g, x, Scalar(0), z);
  spmv<Scalar, Space>(space, Scalar(1), m_gt, z, Scalar(0), y);
}

}  // namespace prekond
