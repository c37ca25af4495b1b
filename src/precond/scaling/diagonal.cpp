// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/scaling/diagonal.hpp"

#include <prekond/matrix/validate.hpp>
#include "matrix/find_entry.hpp"

#include "core/instantiate.hpp"
#include "precond/scaling/matrix_rows.hpp"

#include <limits>

namespace prekond::impl {

template <class Scalar, class Space, class Matrix>
struct ExtractDiagonal {
  using Real = real_type_t<Scalar>;
  Matrix a;
  VectorView<Real, Space> diagonal;
  KOKKOS_FUNCTION void operator()(int i, Real& min, Real& max, std::int64_t& bad) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, i, i, place);
    const Real value = real_part(entry);
    diagonal(i) = value;
    if (!(value > 0) || !Kokkos::isfinite(value) ||
        !(Kokkos::abs(imaginary_part(entry)) <= Real(symmetry_tolerance<Scalar>) * value)) {
      if (i < bad) bad = i;
    } else {
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
};

template <class Scalar, class Space, class Matrix>
DiagonalRange<Scalar> extract(const Space& space, const Matrix& a,
                              VectorView<real_type_t<Scalar>, Space> diagonal) {
  using Real = real_type_t<Scalar>;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  DiagonalRange<Scalar> range{};
  Kokkos::parallel_reduce("prekond::extract_diagonal", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                          ExtractDiagonal<Scalar, Space, Matrix>{a, diagonal}, Kokkos::Min<Real>(range.min),
                          Kokkos::Max<Real>(range.max), Kokkos::Min<std::int64_t>(range.bad_row));
  if (range.bad_row == none) range.bad_row = -1;
  return range;
}

template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const CsrView<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal) {
  return extract<Scalar, Space>(space, a, diagonal);
}

template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const BlockEntries<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal) {
  return extract<Scalar, Space>(space, a, diagonal);
}

#define PREKOND_EXTRACT_DIAGONAL(Scalar, Space)                   \
  template DiagonalRange<Scalar> extract_diagonal<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&, VectorView<real_type_t<Scalar>, Space>);
#define PREKOND_EXTRACT_DIAGONAL_OF_BLOCKS(Scalar, Space)         \
  template DiagonalRange<Scalar> extract_diagonal<Scalar, Space>( \
      const Space&, const BlockEntries<Scalar, Space>&, VectorView<real_type_t<Scalar>, Space>);
PREKOND_INSTANTIATE(PREKOND_EXTRACT_DIAGONAL)
PREKOND_INSTANTIATE(PREKOND_EXTRACT_DIAGONAL_OF_BLOCKS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_EXTRACT_DIAGONAL)

}  // namespace prekond::impl
