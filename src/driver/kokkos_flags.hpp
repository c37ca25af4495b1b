// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Kokkos's flags and the environment that it and OpenMP read, checked before Kokkos sees them: Kokkos 4.6 to
/// 5 ends the process on a wrong one, or ignores it with a warning. All checks throw an OptionError that says
/// what to write.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace prekond::driver {

/// The size of the array in which Kokkos's OpenMP backend keeps its threads; with more it would write beyond
/// its end.
inline constexpr int max_threads = 512;

/// Does the argument begin with "--kokkos" or "-kokkos"? All of those are meant for Kokkos.
bool is_kokkos_flag(const std::string& argument);

/// Unknown flags, with the nearest one; values of a wrong form; flags that contradict each other.
void check_kokkos_flags(const std::vector<std::string>& flags);

/// KOKKOS_*, the local rank that an mpirun sets and, in builds with OpenMP, OpenMP's variables.
void check_kokkos_environment();

/// Has the machine what the checked flags and variables ask for? The device, of the `devices` that Kokkos can
/// choose from (-1 on the host), the library of a tool, and all the threads, which are started here once,
/// because OpenMP would end the process where the system refuses one.
void check_resources(const std::vector<std::string>& flags, int devices);

/// Can Kokkos load the first of the libraries ("a.so;b.so"), and is it a tool?
void check_tool_library(const std::string& libraries);

/// The devices of this machine that Kokkos may compute on; -1 where it computes on the host or only Kokkos
/// can count them.
int number_of_devices();

/// The bytes of a value of OMP_STACKSIZE such as "8M" (B, K, M or G; K without a unit); nothing where OpenMP
/// would not take it.
std::optional<std::size_t> stack_bytes(const std::string& text);

/// The number of threads that checked flags and variables ask for: the first of the flag, KOKKOS_NUM_THREADS
/// and, with OpenMP, OMP_NUM_THREADS and the number of processors; 1 without OpenMP.
int number_of_threads(const std::vector<std::string>& flags);

/// The arguments for Kokkos::initialize: `flags`, and one that turns its warnings off unless a flag or
/// KOKKOS_DISABLE_WARNINGS says otherwise.
std::vector<std::string> kokkos_arguments(const std::vector<std::string>& flags);

}  // namespace prekond::driver
