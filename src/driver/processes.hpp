// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "failure.hpp"

namespace prekond::driver {

/// The processes that run the command together: those that mpirun started, or only this one. The object
/// starts and ends MPI, where it is not running already; it is made before Kokkos starts and outlives it.
///
/// Members marked "Collective" are called by all processes, in the same order.
class Processes {
 public:
  Processes();
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return m_rank; }
  int size() const { return m_size; }
  bool is_root() const { return m_rank == 0; }
  bool is_serial() const { return m_size == 1; }
  std::string name() const { return name_of(m_rank); }  ///< "rank 1 of 4"

  /// Collective. Each does the work, in which it sends no message. Where it fails on any, all throw the same
  /// Failure: that of the lowest rank, whose message begins with "rank K of N: " unless all failed alike.
  void collective(const std::function<void()>& work) const;

  /// Collective. Rank 0 does the work; where it fails, all throw its Failure.
  void on_root(const std::function<void()>& work) const;

  /// Collective. The largest of the values, the smallest, their sum; all wait for all.
#ifdef PREKOND_DRIVER_HAS_MPI
  double max(double value) const;
  std::int64_t min(std::int64_t value) const;
  std::int64_t sum(std::int64_t value) const;
#else
  double max(double value) const {
    return value;
  }
  std::int64_t min(std::int64_t value) const {
    return value;
  }
  std::int64_t sum(std::int64_t value) const {
    return value;
  }
#endif

  /// Collective. The text of the process with the smallest key, on all of them; empty where all keys are
  /// `no_key`.
  std::string text_of_least(std::int64_t key, const std::string& text) const;
  static constexpr std::int64_t no_key = std::numeric_limits<std::int64_t>::max();

  /// Ends all processes, for an error that the others do not know of.
  [[noreturn]] void abort(ExitCode code) const;

 private:
  void agree(const Failure& own, bool name_the_rank) const;
  std::string name_of(int rank) const {
    return "rank " + std::to_string(rank) + " of " + std::to_string(m_size);
  }
#ifdef PREKOND_DRIVER_HAS_MPI
  void broadcast(std::string& text, int from) const;
#else
  static void broadcast(std::string& /*text*/, int /*from*/) {}
#endif

  int m_rank = 0;
  int m_size = 1;
  bool m_started = false;  ///< MPI, by this object
};

}  // namespace prekond::driver
