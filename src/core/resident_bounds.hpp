// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

namespace prekond::impl {

/// Multiprocessors of 2048 threads and 160 kB of fast memory and more.
#if defined(KOKKOS_ARCH_AMPERE80) || defined(KOKKOS_ARCH_HOPPER90) || defined(KOKKOS_ARCH_BLACKWELL100)
inline constexpr bool has_large_multiprocessors = true;
#else
inline constexpr bool has_large_multiprocessors = false;
#endif

/// Launch bounds for teams of up to `Team` threads with which a kernel's registers leave room for `Resident`
/// threads of a multiprocessor: where it is large (Kokkos refuses bounds that do not fit), and for scalars of
/// up to 8 bytes, because complex sums need the registers. Else for one team.
template <int Team, int Resident, class Scalar>
using ResidentBounds =
    Kokkos::LaunchBounds<unsigned(Team),
                         unsigned(has_large_multiprocessors && sizeof(Scalar) <= 8 ? Resident / Team : 1)>;

}  // namespace prekond::impl
