// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Several ranks in one process, so that what is distributed can be tested without MPI.
#include <any>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace prekond::testing {

/// The state that the ranks of a job share. Each rank is a thread; one runs at a time, until it waits for the
/// others in a collective call, and then the next: a test does the same every time.
class RankThreads {
 public:
  explicit RankThreads(int size) : m_ended(size, false), m_slots(size) {}

  int size() const { return static_cast<int>(m_slots.size()); }

  /// Every rank's value, on every rank. \throws std::logic_error where a rank is in another call, or ended
  template <class T>
  std::vector<T> all_gather(int rank, const std::string& call, const T& mine) {
    m_slots[rank] = {call, mine};
    pass(rank);  // when the turn comes back, all have given their values
    std::vector<T> all;
    for (int other = 0; other < size(); ++other) {
      if (m_ended[other])
        throw std::logic_error(call + " of rank " + std::to_string(rank) + " waits for rank " +
                               std::to_string(other) + ", which has ended");
      if (m_slots[other].call != call)
        throw std::logic_error("rank " + std::to_string(rank) + " calls " + call + ", rank " +
                               std::to_string(other) + " calls " + m_slots[other].call);
      all.push_back(std::any_cast<T>(m_slots[other].value));
    }
    pass(rank);  // and now all have read them
    return all;
  }

  /// Runs `work` on every rank. \throws what the rank that failed first has thrown
  void run(const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back([&, rank] {
        wait_for_turn(rank);
        try {
          work(rank);
        } catch (...) {
          if (!m_first_error) m_first_error = std::current_exception();
        }
        m_ended[rank] = true;
        give_turn_behind(rank);
      });
    for (auto& thread : threads) thread.join();
    if (m_first_error) std::rethrow_exception(m_first_error);
  }

 private:
  struct Slot {
    std::string call;
    std::any value;
  };

  void pass(int rank) {
    give_turn_behind(rank);
    wait_for_turn(rank);
  }
  void give_turn_behind(int rank) {
    const std::lock_guard lock(m_mutex);
    for (int k = 1; k <= size(); ++k) {
      m_turn = (rank + k) % size();
      if (!m_ended[m_turn]) break;
    }
    m_turn_changed.notify_all();
  }
  void wait_for_turn(int rank) {
    std::unique_lock lock(m_mutex);
    m_turn_changed.wait(lock, [&] { return m_turn == rank; });
  }

  std::mutex m_mutex;
  std::condition_variable m_turn_changed;
  int m_turn = 0;
  // Touched by the thread whose turn it is.
  std::vector<bool> m_ended;
  std::vector<Slot> m_slots;
  std::exception_ptr m_first_error;
};

/// A rank of a job.
struct Rank {
  RankThreads& job;
  int rank;

  int size() const { return job.size(); }
  template <class T>
  std::vector<T> all_gather(const std::string& call, const T& mine) const {
    return job.all_gather(rank, call, mine);
  }
};

/// Runs `work` on every rank of a job.
inline void run_ranks(int size, const std::function<void(const Rank&)>& work) {
  RankThreads job(size);
  job.run([&](int rank) { work({job, rank}); });
}

}  // namespace prekond::testing
