// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/row_numbers.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "matrix/counter_hash.hpp"

#include <cstdint>

namespace prekond::krylov {

template <class Scalar, class Space>
struct FillRandom {
  VectorView<Scalar, Space> v;
  RowNumbers<Space> rows;
  std::uint64_t seed;
  KOKKOS_FUNCTION static double symmetric(std::uint64_t hash) {
    return 2 * prekond::impl::unit_interval(hash) - 1;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    using Real = real_type_t<Scalar>;
    const std::uint64_t index = static_cast<std::uint64_t>(rows(i));
    const Real re = static_cast<Real>(symmetric(prekond::impl::counter_hash(seed, index, 0)));
    if constexpr (is_complex<Scalar>)
      v(i) = Scalar(re, static_cast<Real>(symmetric(prekond::impl::counter_hash(seed, index, 1))));
    else
      v(i) = re;
  }
};

/// Uniform numbers in (-1, 1], functions of the seed, the number of all rows and the row's global number. The
/// vector does not depend on the distribution of its rows. \pre v has as many rows as `rows` numbers
template <class Scalar, class Space>
void fill_random(const Space& space, VectorView<Scalar, Space> v, const RowNumbers<Space>& rows,
                 std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(v.extent(0));
  const auto all = static_cast<std::uint64_t>(rows.num_global_rows);
  Kokkos::parallel_for("prekond::krylov::random_vector",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                       FillRandom<Scalar, Space>{v, rows, prekond::impl::counter_hash(seed, all)});
}

}  // namespace prekond::krylov
