// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GoogleTest on the ranks of an MPI job. Every rank runs every test, so that a test may communicate; rank 0
// reports. After each test the ranks agree on its result, so that a failure on one is a failure on all.
// Events that would make the others wait for ever end the job, after a message: an exception out of a test, a
// failure outside of tests, and a rank that left a test by a failure while the others still communicate in
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#ifdef PREKOND_TEST_PETSC
#include <petscsys.h>
#include <Kokkos_Core.hpp>
#else
#include <Tpetra_Core.hpp>
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

/// How long a rank that failed waits for the others at a test's end. Long enough for a loaded machine with
/// more ranks than cores; ctest's own limit is 300 s.
constexpr std::chrono::seconds patience{30};

/// The running test's name, empty outside of tests. GoogleTest must not be asked for it while it reports a
/// failure: it holds its lock then.
std::string current_test;

/// In one write, so that the lines of two ranks do not mix.
void print(int rank, const std::string& message) {
  const std::string where = current_test.empty() ? "outside of tests" : current_test;
  const std::string line = "rank " + std::to_string(rank) + ": " + where + ": " + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

[[noreturn]] void abort_job(int rank, const std::string& message) {
  std::fflush(stdout);
  print(rank, message);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::terminate();
}

/// Prints the failures of ranks other than 0, and lets the ranks agree on the result of each test.
class Agreement : public ::testing::EmptyTestEventListener {
 public:
  explicit Agreement(MPI_Comm comm) : m_comm(comm) {
    MPI_Comm_rank(comm, &m_rank);
    MPI_Comm_size(comm, &m_size);
  }

  void OnTestStart(const ::testing::TestInfo& test) override {
    current_test = std::string(test.test_suite_name()) + "." + test.name();
  }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed() || m_agreeing) return;
    const std::string message = std::string(result.file_name() ? result.file_name() : "unknown file") + ":" +
                                std::to_string(result.line_number()) + ": " + result.message();
    // GoogleTest then leaves out tests, only on this rank.
    if (current_test.empty() && m_size > 1) abort_job(m_rank, message);
    if (m_rank != 0) print(m_rank, message);
  }

  // Called before the printer's: what is added here is still part of the test.
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const std::vector<int> results = gather(test.result()->Failed()    ? failed
                                            : test.result()->Skipped() ? skipped
                                                                       : passed);
    std::string ranks;
    bool differ = false;
    for (int rank = 0; rank < m_size; ++rank) {
      if (results[rank] == failed) ranks += " " + std::to_string(rank);
      differ = differ || results[rank] != results[0];
    }
    m_agreeing = true;
    if (!ranks.empty() && results[m_rank] != failed) ADD_FAILURE() << "failed on rank" << ranks;
    if (ranks.empty() && differ) ADD_FAILURE() << "skipped on some ranks only";
    m_agreeing = false;
    current_test.clear();
  }

 private:
  enum Result : int { passed, skipped, failed };

  std::vector<int> gather(int mine) const {
    std::vector<int> all(m_size);
    MPI_Request request;
    MPI_Iallgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, m_comm, &request);
    const auto start = std::chrono::steady_clock::now();
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) {
      if (mine == failed && std::chrono::steady_clock::now() - start > patience)
        abort_job(m_rank,
                  "failed, and the other ranks do not come to the end of the test: the job ends here");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return all;
  }

  MPI_Comm m_comm;
  int m_rank = 0;
  int m_size = 1;
  bool m_agreeing = false;
};

/// The flags that decide which tests run, and in what order, are rank 0's.
void share_flags(MPI_Comm comm) {
  std::string filter = GTEST_FLAG_GET(filter);
  std::int32_t numbers[] = {GTEST_FLAG_GET(repeat),      GTEST_FLAG_GET(shuffle),
                            GTEST_FLAG_GET(random_seed), GTEST_FLAG_GET(also_run_disabled_tests),
                            GTEST_FLAG_GET(fail_fast),   static_cast<std::int32_t>(filter.size())};
  // Without a seed each rank would take one from its own clock.
  if (numbers[1] && numbers[2] == 0)
    numbers[2] = static_cast<std::int32_t>(
        std::chrono::steady_clock::now().time_since_epoch().count() / 1000 % 99999 + 1);
  MPI_Bcast(numbers, std::size(numbers), MPI_INT32_T, 0, comm);
  filter.resize(numbers[5]);
  MPI_Bcast(filter.data(), numbers[5], MPI_CHAR, 0, comm);
  GTEST_FLAG_SET(repeat, numbers[0]);
  GTEST_FLAG_SET(shuffle, numbers[1] != 0);
  GTEST_FLAG_SET(random_seed, numbers[2]);
  GTEST_FLAG_SET(also_run_disabled_tests, numbers[3] != 0);
  GTEST_FLAG_SET(fail_fast, numbers[4] != 0);
  GTEST_FLAG_SET(filter, filter);
}

int run_tests(MPI_Comm comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  share_flags(comm);
  // Caught by GoogleTest, an exception would end the test only on this rank.
  if (size > 1) GTEST_FLAG_SET(catch_exceptions, false);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    GTEST_FLAG_SET(output, "");
    if (GTEST_FLAG_GET(list_tests)) return 0;
  }
  listeners.Append(new Agreement(comm));
  int mine = 1, worst = 1;
  try {
    mine = RUN_ALL_TESTS();
  } catch (const std::exception& error) {
    abort_job(rank, std::string("exception: ") + error.what());
  } catch (...) {
    abort_job(rank, "exception of unknown type");
  }
  if (GTEST_FLAG_GET(list_tests)) return mine;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm);
  return worst;
}

#ifdef PREKOND_TEST_PETSC
/// PETSc, and Kokkos within it.
class Libraries {
 public:
  Libraries(int* argc, char*** argv) {
    PetscCallAbort(PETSC_COMM_WORLD, PetscInitializeNoArguments());  // the program's are not PETSc's
    Kokkos::initialize(*argc, *argv);
  }
  ~Libraries() {
    Kokkos::finalize();
    PetscCallAbort(PETSC_COMM_WORLD, PetscFinalize());
  }
};
#else
using Libraries = Tpetra::ScopeGuard;
#endif

}  // namespace

int main(int argc, char** argv) {
  const Libraries libraries(&argc, &argv);
  ::testing::InitGoogleMock(&argc, argv);
  // A communicator of its own: what a test sends cannot be taken for the agreement.
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int result = run_tests(comm);
  MPI_Comm_free(&comm);
  return result;
}
