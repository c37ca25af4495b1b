// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/impl/threads.hpp>
#include "core/concurrency.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace prekond {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Teams = Kokkos::TeamPolicy<Host, Kokkos::Schedule<Kokkos::Static>>;

/// Marks the teams that ran. Teams of one thread, statically scheduled, and none waits for another: where
/// threads are missing, so are marks, and nothing hangs.
struct MarkTeam {
  char* ran;
  void operator()(const Teams::member_type& team) const { ran[team.league_rank()] = 1; }
};

/// How many of `threads` teams run, one for each thread of the space.
int threads_that_run(const Host& space, int threads) {
  std::vector<char> ran(static_cast<std::size_t>(threads), 0);
  Teams policy(space, threads, 1);
  policy.set_chunk_size(1);
  Kokkos::parallel_for("prekond::check_threads", policy, MarkTeam{ran.data()});
  space.fence("prekond::check_threads");
  return static_cast<int>(std::count(ran.begin(), ran.end(), 1));
}

/// Does OpenMP choose the number of threads of each parallel region anew?
bool number_varies() {
#ifdef _OPENMP
  return omp_get_dynamic() != 0 && Host::name() == std::string("OpenMP");
#else
  return false;
#endif
}

/// The variables by which OpenMP's runtimes take threads away, as far as they are set, with their values.
std::string variables_at_fault() {
  std::string found;
  for (const char* name : {"OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS",
                           "KMP_DEVICE_THREAD_LIMIT", "KMP_ALL_THREADS", "KMP_TEAMS_THREAD_LIMIT"}) {
    if (const char* value = std::getenv(name))
      found += (found.empty() ? "" : " and ") + std::string(name) + " (it is '" + value + "')";
  }
  return found;
}

}  // namespace

void check_threads(const Host& space) {
  if (number_varies())
    throw OptionError(
        "OpenMP may start fewer threads than Kokkos counts on: unset OMP_DYNAMIC, or call "
        "omp_set_dynamic(0)");
  const int threads = concurrency(space);
  // OpenMP's settings belong to the thread that opens a parallel region.
  thread_local int checked = 1;
  if (threads <= checked) return;
  const int running = threads_that_run(space, threads);
  if (running < threads) {
    const std::string variables = variables_at_fault();
    throw OptionError("only " + std::to_string(running) + " of the " + std::to_string(threads) +
                      " threads that Kokkos counts on run: " +
                      (variables.empty() ? "find out what limits OpenMP's threads" : "unset " + variables) +
                      ", or start with --kokkos-num-threads=" + std::to_string(std::max(running, 1)));
  }
  checked = threads;
}

}  // namespace prekond
