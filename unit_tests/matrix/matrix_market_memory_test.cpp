// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/io/matrix_market.hpp>

#include "testing/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace prekond::testing {
namespace {

/// The resident memory of this process: now, and its peak since the last call of `forget_peak`. In kilobytes,
/// 0 where the system does not tell.
class ResidentMemory {
 public:
  static std::int64_t now() { return status("VmRSS:"); }
  static std::int64_t peak() { return status("VmHWM:"); }
  static void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

 private:
  static std::int64_t status(const std::string& key) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
    }
    return 0;
  }
};

#ifdef __SANITIZE_ADDRESS__
constexpr bool memory_is_ours = false;
#else
constexpr bool memory_is_ours = true;
#endif

/// Texts with the most entries a byte, where the memory that is promised is least.
TEST(MatrixMarketMemory, DenseTextsStayWithinThePromisedMemory) {
  const TemporaryFolder folder("matrix_market_memory");
  const int n = 3000;
  std::string array = "%%MatrixMarket matrix array real symmetric\n3000 3000\n";
  for (int k = 0; k < n * (n + 1) / 2; ++k) array += "1\n";
  std::string pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n9 9 1500000\n";
  for (int k = 0; k < 1500000; ++k) pattern += "9 " + std::to_string(1 + k * 7 % 9) + "\n";
  const std::string blank =
      "%%MatrixMarket matrix coordinate real general\n1 1 0\n" + std::string(10000000, '\n');
  for (const std::string* text : std::initializer_list<const std::string*>{&array, &pattern, &blank}) {
    const std::string path = folder.write("dense.mtx", *text);
    ResidentMemory::forget_peak();
    const std::int64_t before = ResidentMemory::now();
    EXPECT_GT(read_matrix_market<Kokkos::complex<double>>(path).num_rows, 0);
    const auto allowed = 64000 + 40 * static_cast<std::int64_t>(text->size()) / 1000;
    EXPECT_TRUE(!memory_is_ours || ResidentMemory::peak() - before <= allowed);
  }
}

}  // namespace
}  // namespace prekond::testing
