// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/batch_cases.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/io/matrix_market.hpp>

#include <filesystem>
#include <optional>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// Iterations of BiCGSTAB to ||b - A x|| <= 1e-10, b = 1, by the slides of Aggarwal, Nayak, Kashi and Anzt
/// (test cases); empty: it does not converge.
struct SlideRow {
  const char* file;
  std::optional<int> none, jacobi, ilu0, par_ilu;
};
const std::vector<SlideRow> slides = {
    {"spd/LFAT5.mtx", 80, 33, 7, 8},         {"spd/bcsstm02.mtx", 11, 1, 1, 1},
    {"spd/LF10.mtx", 351, {}, 38, 34},       {"spd/Trefethen_20.mtx", 19, 8, 5, 5},
    {"general/pivtol.mtx", 16, 13, 2, 2},    {"symmetric/bfwb62.mtx", 30, 15, 6, 6},
    {"general/olm100.mtx", {}, {}, 36, 98},  {"spd/bcsstk22.mtx", 493, 229, 43, 42},
    {"general/ck104.mtx", 112, 118, 13, 15}, {"spd/494_bus.mtx", {}, {}, 81, 81},
    {"spd/mesh3em5.mtx", 14, 13, 1, 1},      {"spd/mhdb416.mtx", {}, 37, 2, 2},
    {"spd/bcsstk05.mtx", 325, 124, 32, 32},  {"general/steam1.mtx", {}, {}, 3, 3},
};

/// Iterations of the file's matrix; empty where it does not converge within 500.
std::optional<int> iterations_of(const HostMatrix<double>& a, BatchedInverse inverse) {
  BatchedOptions options = options_of(BatchedMethod::bicgstab, inverse, 0, 500);
  options.stopping.atol = 1e-10;
  const DeviceBatch<double, Space> batch({a});
  const auto solved = solve_batch<double>(batch.matrix, {std::vector<double>(a.num_rows, 1.0)}, options);
  if (!converged(solved.reasons[0])) return {};
  return solved.iterations[0];
}

TEST(BatchedRealMatrices, IterationsOfTheSlides) {
  const std::filesystem::path folder = PREKOND_MATRICES;
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no matrices at " << PREKOND_MATRICES;
  int compared = 0;
  const auto word = [](const std::optional<int>& count) { return count ? std::to_string(*count) : "-"; };
  for (const auto& row : slides) {
    const auto file = folder / row.file;
    if (!std::filesystem::exists(file)) continue;
    const auto a = to_host(read_matrix_market<double>(file.string()));
    std::string line = row.file;
    for (const auto& [inverse, expected] :
         {std::pair{BatchedInverse::none, row.none}, std::pair{BatchedInverse::jacobi, row.jacobi},
          std::pair{BatchedInverse::ilu0, row.ilu0}, std::pair{BatchedInverse::par_ilu, row.par_ilu}}) {
      const auto found = iterations_of(a, inverse);
      line += "  " + word(found) + " (" + word(expected) + ")";
    }
    std::cout << line << std::endl;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace prekond::testing
