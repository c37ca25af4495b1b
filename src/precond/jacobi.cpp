// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/find_entry.hpp>
#include <prekond/precond/jacobi.hpp>

#include "instantiate.hpp"

#include <limits>

namespace prekond {
namespace {

/// inverse_i = 1 / a_ii, or 1 where one of the two is not finite; first is the smallest such row, count their
/// number. not_real: diagonal entries with an imaginary part.
template <class Scalar, class Space>
void invert_diagonal(const Space& space, const CsrView<Scalar, Space>& a, VectorView<Scalar, Space> inverse,
                     std::int64_t& first, std::int64_t& count, std::int64_t& not_real) {
  Kokkos::parallel_reduce(
      "prekond::jacobi::numeric", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
      KOKKOS_LAMBDA(int i, std::int64_t& first_row, std::int64_t& rows, std::int64_t& imaginary) {
        std::size_t place = 0;
        const Scalar diagonal = find_entry(a, i, i, place);
        const Scalar value = Scalar(1) / diagonal;
        const bool sound = is_finite(diagonal) && is_finite(value);
        if (imaginary_part(diagonal) != 0) ++imaginary;
        inverse(i) = sound ? value : Scalar(1);
        if (!sound) {
          ++rows;
          if (i < first_row) first_row = i;
        }
      },
      Kokkos::Min<std::int64_t>(first), Kokkos::Sum<std::int64_t>(count),
      Kokkos::Sum<std::int64_t>(not_real));
}

template <class Scalar, class Space>
void scale_rows(const Space& space, VectorView<const Scalar, Space> scale,
                MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for(
      "prekond::jacobi::apply", Kokkos::RangePolicy<Space>(space, 0, scale.extent(0)), KOKKOS_LAMBDA(int i) {
        for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = scale(i) * x(i, v);
      });
}

}  // namespace

template <class Scalar, class Space>
Jacobi<Scalar, Space>::~Jacobi() = default;

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  m_inverse = allocate<Vector<Scalar, Space>>(space, "prekond::jacobi::inverse", a.num_rows);
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  const matrix_view& a = source.csr();
  std::int64_t first = 0, not_real = 0;
  invert_diagonal<Scalar, Space>(space, a, m_inverse, first, report.breakdowns.count, not_real);
  m_hermitian = not_real == 0;
  if (report.breakdowns.count > 0) {
    report.breakdowns.first_row = first;
    report.breakdowns.action = "rows without a usable diagonal entry are not scaled";
  }
  report.nnz = a.num_rows;
  report.numeric_flops = report.apply_flops = flops_of_scalar<Scalar> * static_cast<double>(a.num_rows);
  report.bytes = static_cast<std::int64_t>(m_inverse.span() * sizeof(Scalar));
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                       MultiVectorView<Scalar, Space> y, Workspace&) const {
  scale_rows<Scalar, Space>(space, m_inverse, x, y);
}

#define PREKOND_JACOBI(Scalar, Space) template class Jacobi<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_JACOBI)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_JACOBI)

}  // namespace prekond
