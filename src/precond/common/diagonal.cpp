// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/common/diagonal.hpp"

#include <prekond/matrix/find_entry.hpp>
#include <prekond/matrix/validate.hpp>

#include "instantiate.hpp"

#include <limits>

namespace prekond::impl {

template <class Scalar, class Space>
struct ExtractDiagonal {
  using Real = real_type_t<Scalar>;
  CsrView<Scalar, Space> a;
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

template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const CsrView<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal) {
  using Real = real_type_t<Scalar>;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  DiagonalRange<Scalar> range{};
  Kokkos::parallel_reduce("prekond::extract_diagonal", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                          ExtractDiagonal<Scalar, Space>{a, diagonal}, Kokkos::Min<Real>(range.min),
                          Kokkos::Max<Real>(range.max), Kokkos::Min<std::int64_t>(range.bad_row));
  if (range.bad_row == none) range.bad_row = -1;
  return range;
}

#define PREKOND_EXTRACT_DIAGONAL(Scalar, Space)                   \
  template DiagonalRange<Scalar> extract_diagonal<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&, VectorView<real_type_t<Scalar>, Space>);
PREKOND_INSTANTIATE(PREKOND_EXTRACT_DIAGONAL)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_EXTRACT_DIAGONAL)

}  // namespace prekond::impl
