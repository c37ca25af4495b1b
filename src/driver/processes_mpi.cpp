// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Processes of a build with MPI. Started without mpirun, the command is the one process of MPI_COMM_WORLD.
#include <mpi.h>

#include <cstdlib>

#include "processes.hpp"

namespace prekond::driver {

Processes::Processes() {
  int running = 0;
  MPI_Initialized(&running);
  m_started = running == 0;
  // Kokkos's threads and the progress line's never call MPI.
  int provided = 0;
  if (m_started) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &m_size);
}

Processes::~Processes() {
  if (m_started) MPI_Finalize();
}

double Processes::max(double value) const {
  if (!is_serial()) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

std::int64_t Processes::min(std::int64_t value) const {
  if (!is_serial()) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  return value;
}

std::int64_t Processes::sum(std::int64_t value) const {
  if (!is_serial()) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

void Processes::broadcast(std::string& text, int from) const {
  if (is_serial()) return;
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, from, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, from, MPI_COMM_WORLD);
}

void Processes::abort(ExitCode code) const {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();  // MPI_Abort does not return, but is not declared so
}

}  // namespace prekond::driver
