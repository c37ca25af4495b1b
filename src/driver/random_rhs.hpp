// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "matrix/counter_hash.hpp"

#include <cstdint>

#include "session.hpp"

namespace prekond::driver {

/// Entry i of --rhs random: uniform in (-1, 1], a function of i alone; likewise its imaginary part.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar random_scalar(std::uint64_t i) {
  constexpr std::uint64_t seed = 1;
  const double real = 2 * impl::unit_interval(impl::counter_hash(seed, i)) - 1;
  if constexpr (is_complex<Scalar>)
    return Scalar(real, 2 * impl::unit_interval(impl::counter_hash(seed + 1, i)) - 1);
  else
    return real;
}

}  // namespace prekond::driver
