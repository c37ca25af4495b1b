// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processes.hpp"

#include <cstdlib>
#ifdef PREKOND_DRIVER_HAS_MPI
#include <mpi.h>
#endif

namespace prekond::driver {
namespace {

#ifdef PREKOND_DRIVER_HAS_MPI
template <class T>
T all_reduced(T value, MPI_Datatype type, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, operation, MPI_COMM_WORLD);
  return value;
}
#endif

/// Code `done` where the work has succeeded.
Failure failure_in(const std::function<void()>& work) {
  try {
    work();
    return {done, ""};
  } catch (...) {
    return failure_of(std::current_exception());
  }
}

}  // namespace

#ifdef PREKOND_DRIVER_HAS_MPI
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
  return is_serial() ? value : all_reduced(value, MPI_DOUBLE, MPI_MAX);
}
std::int64_t Processes::min(std::int64_t value) const {
  return is_serial() ? value : all_reduced(value, MPI_INT64_T, MPI_MIN);
}
std::int64_t Processes::sum(std::int64_t value) const {
  return is_serial() ? value : all_reduced(value, MPI_INT64_T, MPI_SUM);
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
#else
Processes::Processes() = default;
Processes::~Processes() = default;
void Processes::abort(ExitCode code) const {
  std::exit(code);
}
#endif

void Processes::collective(const std::function<void()>& work) const {
  if (is_serial()) return work();
  agree(failure_in(work), true);
}

void Processes::on_root(const std::function<void()>& work) const {
  if (is_serial()) return work();
  agree(is_root() ? failure_in(work) : Failure(done, ""), false);
}

std::string Processes::text_of_least(std::int64_t key, const std::string& text) const {
  const std::int64_t least = min(key);
  if (least == no_key) return "";
  std::string result = text;
  broadcast(result, static_cast<int>(min(key == least ? m_rank : m_size)));
  return result;
}

void Processes::agree(const Failure& own, bool name_the_rank) const {
  const int failed = static_cast<int>(min(own.code() != done ? m_rank : m_size));
  if (failed == m_size) return;
  std::string text = own.what();
  broadcast(text, failed);
  const auto code =
      static_cast<ExitCode>(min(m_rank == failed ? own.code() : std::numeric_limits<int>::max()));
  const bool is_alike = min(own.code() == code && own.what() == text ? 1 : 0) == 1;
  throw Failure(code, name_the_rank && !is_alike ? name_of(failed) + ": " + text : text);
}

}  // namespace prekond::driver
