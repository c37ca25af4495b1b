// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace prekond::driver {

/// Kokkos cannot have more threads: its OpenMP backend keeps them in an array of this size, and would write
/// beyond its end.
inline constexpr int max_threads = 512;

/// Is the argument meant for Kokkos, well written or not? Whatever begins with "--kokkos" or "-kokkos" is.
bool is_kokkos_flag(const std::string& argument);

/// What Kokkos 4.6 to 5 does not take, it ends the process on, or ignores with a warning; so its flags are
/// checked before it sees them.
///
/// \throws OptionError that says what to write: for an unknown flag the nearest one, for a value its form
void check_kokkos_flags(const std::vector<std::string>& flags);

/// The same for what Kokkos and OpenMP read from the environment: KOKKOS_NUM_THREADS and the others, the
/// local rank that an mpirun sets; in builds with OpenMP, OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_DYNAMIC,
/// OMP_MAX_ACTIVE_LEVELS, OMP_STACKSIZE.
///
/// \throws OptionError that names the variable
void check_kokkos_environment();

/// Is there what checked flags and environment ask for? The device, of the `devices` that Kokkos has to
/// choose from (-1: it computes on the host); a tool's library; and as many threads as Kokkos will start,
/// which are started here once: OpenMP would end the process where the system refuses one.
///
/// \throws OptionError
void check_resources(const std::vector<std::string>& flags, int devices);

/// The number of threads that checked flags and environment ask for: of the flag, of KOKKOS_NUM_THREADS, of
/// OMP_NUM_THREADS, of the processor, the first that is there; without OpenMP, of the first two, else 1.
int number_of_threads(const std::vector<std::string>& flags);

/// The arguments for Kokkos::initialize: `flags`, and one by which its warnings are off, unless a flag or
/// KOKKOS_DISABLE_WARNINGS says otherwise.
std::vector<std::string> kokkos_arguments(const std::vector<std::string>& flags);

}  // namespace prekond::driver
