// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "testing/market_shares.hpp"
#include "testing/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <vector>

namespace prekond::testing {
namespace {

const std::vector<std::string> seeds = {
    "%%MatrixMarket matrix coordinate real general\n% a comment\n4 5 6\n1 1 1.5\n2 2 -2e3\n3 3 3\n4 4 "
    "4.25\n1 5 1e-7\n4 1 7\n",
    "%%MatrixMarket matrix coordinate real symmetric\n4 4 5\n1 1 4\n2 1 -1\n2 2 4\n4 3 -1\n4 4 4\n",
    "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 2 -6.5\n",
    "%%MatrixMarket matrix coordinate double general\r\n3 3 3\r\n1 1 1.0D+00\r\n2 2 2.5D-01\r\n3 3 1d300\r\n",
    "%%MatrixMarket matrix coordinate integer general\n\n3 2 3\n1 1 +10\n\n3 2 -20\n2 1 0\n",
    "%%MatrixMarket matrix coordinate integer symmetric\n12 12 3\n1 10 1\n 2 11 2\n3 12 3\n",
    "%%MatrixMarket matrix coordinate pattern general\n10 10 6\n1 1\n2 3\n10 10\n2 3\n7 8\n8 7\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 4\n1 1\n2 1\n3 1\n5 4",
    "%%MatrixMarket matrix coordinate complex general\n2 2 3\n1 1 1 0\n1 2 0.5 -0.5\n2 1 1e10 2\n",
    "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 0.5 -0.5\n2 2 3 0\n",
    "%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4.5\n-5\n6e0\n",
    "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
    "%%MatrixMarket matrix array complex skew-symmetric\n3 3\n1 2\n3 4\n5 6\n",
};

class Mutator {
 public:
  std::string operator()(std::string text) {
    for (int steps = std::max(1, pick(7) - 2); steps > 0; --steps) mutate(text);
    if (pick(2) == 0) announce_what_is_there(text);
    return text;
  }
  int pick(std::size_t n) { return static_cast<int>(m_random() % n); }

 private:
  void mutate(std::string& text) {
    static const std::vector<std::string> bits = {
        "0",          "-",          "+",  "1e400", "nan",       "inf",     "99999999999999999999",
        "2147483647", "2147483648", "\n", "\r\n",  " ",         "%",       "\n%",
        "1.5",        "1d5",        "e",  ".",     "\n1 1 1\n", "\n2 1 3", "symmetric",
        "array"};
    if (text.empty()) text = "1";
    const auto at = static_cast<std::size_t>(pick(text.size()));
    const auto length = static_cast<std::size_t>(1 + pick(12));
    switch (pick(9)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << pick(8)));
        break;
      case 1:
        text[at] = static_cast<char>(pick(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(static_cast<std::size_t>(pick(text.size())), 2 * length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, bits[static_cast<std::size_t>(pick(bits.size()))]);
        break;
      case 6:
        grow_number(text, at);
        break;
      case 7:
        repeat_line(text, at);
        break;
      default:
        text[at] = static_cast<char>('0' + pick(10));
        break;
    }
  }
  /// Most mutations change the number of lines; with a size line that agrees, the file gets further.
  static void announce_what_is_there(std::string& text) {
    const auto coordinate = text.find("coordinate");
    const auto begin = text.find_first_of("0123456789", coordinate == text.npos ? text.size() : coordinate);
    const auto end = text.find('\n', begin);
    if (begin == text.npos || end == text.npos) return;
    const auto count = text.find_last_of(' ', end);
    if (count <= begin || count == text.npos) return;
    int lines = 0;
    std::string line;
    for (std::istringstream rest(text.substr(end + 1)); std::getline(rest, line);) {
      const auto first = line.find_first_not_of(" \t\r");
      lines += first != line.npos && line[first] != '%';
    }
    text.replace(count, end - count, " " + std::to_string(lines));
  }
  void grow_number(std::string& text, std::size_t at) {
    const auto digit = text.find_first_of("0123456789", at);
    if (digit != text.npos) text.insert(digit, std::to_string(m_random() >> pick(32)));
  }
  void repeat_line(std::string& text, std::size_t at) {
    const auto begin = text.rfind('\n', at), end = text.find('\n', at + 1);
    if (begin == text.npos || end == text.npos) return;
    const std::string line = text.substr(begin, end - begin);
    for (int k = pick(40); k >= 0; --k) text.insert(end, line);
  }

  std::mt19937 m_random{20240229};
};

bool is_finite(double x) {
  return std::isfinite(x);
}
bool is_finite(const Kokkos::complex<double>& x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

template <class Matrix>
bool is_consistent(const Matrix& a) {
  if (a.row_ptrs.extent(0) != static_cast<std::size_t>(a.num_rows) + 1 || a.row_ptrs(0) != 0) return false;
  if (a.row_ptrs(a.num_rows) != a.col_idxs.extent(0) || a.col_idxs.extent(0) != a.values.extent(0))
    return false;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    if (a.row_ptrs(i) > a.row_ptrs(i + 1)) return false;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      const bool ascending = k == a.row_ptrs(i) || a.col_idxs(k - 1) < a.col_idxs(k);
      if (!ascending || a.col_idxs(k) < 0 || a.col_idxs(k) >= a.num_cols || !is_finite(a.values(k)))
        return false;
    }
  }
  return true;
}

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

/// Reads the file; true when it holds a matrix. Anything but a good matrix or an InputError fails the test.
template <class Scalar>
bool read_or_explain(const std::string& path, std::size_t block_size) {
  try {
    const auto a = MatrixMarketFile(path, block_size).read<Scalar>();
    EXPECT_TRUE(is_consistent(a));
    return true;
  } catch (const InputError& e) {
    const std::string what = e.what();
    EXPECT_TRUE(what.starts_with(path + ":")) << what;
    EXPECT_EQ(what.find('\n'), what.npos) << what;
    EXPECT_LT(what.size(), path.size() + 400) << what;
    return false;
  }
}

TEST(MatrixMarketFuzz, MutatedFilesAreReadOrExplained) {
  const TemporaryFolder folder("matrix_market_fuzz");
  Mutator mutate;
  int good = 0;
  for (int k = 0; k < 10000; ++k) {
    const std::string& seed = seeds[static_cast<std::size_t>(k) % seeds.size()];
    std::string bytes, text;
    // A quarter is gzip: either a mutated text, or a text whose compressed bytes are mutated.
    if (k % 4 != 3) {
      bytes = text = mutate(seed);
    } else {
      text = k % 8 == 3 ? mutate(seed) : seed;
      bytes = k % 8 == 3 ? gzipped(text) : mutate(gzipped(seed));
    }
    const std::string path = folder.write("fuzz.mtx", bytes);
    const std::size_t block_size =
        k % 3 == 0 ? std::size_t(4) << 20 : static_cast<std::size_t>(20 + mutate.pick(200));
    ResidentMemory::forget_peak();
    const std::int64_t before = ResidentMemory::now();
    const bool is_matrix = seed.find("complex") != seed.npos || k % 16 == 0
                               ? read_or_explain<Kokkos::complex<double>>(path, block_size)
                               : read_or_explain<double>(path, block_size);
    good += is_matrix;
    const auto allowed = 64000 + 40 * static_cast<std::int64_t>(text.size()) / 1000 + 1;
    EXPECT_TRUE(!memory_is_ours || ResidentMemory::peak() - before <= allowed);
    if (::testing::Test::HasFailure()) {
      FAIL() << "file " << k << ", block size " << block_size << ":\n" << text;
    }
  }
  // Most mutations do harm, but not all: both outcomes are tested.
  EXPECT_GT(good, 1000);
  EXPECT_LT(good, 9000);
}

/// In shares: the same matrix, or the same error.
template <class Scalar>
void expect_shares_alike(const std::string& path, int parts, std::size_t block_size) {
  HostMatrix<Scalar> whole;
  std::string error, error_of_shares;
  std::vector<HostMatrix<Scalar>> rows;
  try {
    whole = MatrixMarketFile(path, block_size).read<Scalar>();
  } catch (const InputError& e) {
    error = e.what();
  }
  try {
    rows = SharedReading<Scalar>(path, parts, block_size).rows;
  } catch (const InputError& e) {
    error_of_shares = e.what();
  }
  EXPECT_EQ(error_of_shares, error);
  if (!error.empty() || !error_of_shares.empty()) return;
  EXPECT_EQ(difference(rows, whole), "");
}

TEST(MatrixMarketFuzz, SharesOfMutatedFilesAreTheWhole) {
  const TemporaryFolder folder("matrix_market_fuzz_shares");
  Mutator mutate;
  for (int k = 0; k < 2000; ++k) {
    const std::string& seed = seeds[static_cast<std::size_t>(k) % seeds.size()];
    const std::string text = mutate(seed);
    const std::string path = folder.write("fuzz.mtx", k % 3 == 0 ? gzipped(text) : text);
    const int parts = 1 + mutate.pick(5);
    const auto block_size = static_cast<std::size_t>(20 + mutate.pick(200));
    if (seed.find("complex") != seed.npos)
      expect_shares_alike<Kokkos::complex<double>>(path, parts, block_size);
    else
      expect_shares_alike<double>(path, parts, block_size);
    if (::testing::Test::HasFailure()) FAIL() << "file " << k << " in " << parts << " shares:\n" << text;
  }
}

TEST(MatrixMarketFuzz, UnmutatedSeedsAreMatrices) {
  const TemporaryFolder folder("matrix_market_seeds");
  for (const std::string& seed : seeds) {
    EXPECT_TRUE(read_or_explain<Kokkos::complex<double>>(folder.write("seed.mtx", seed), 64)) << seed;
  }
}

/// Texts with the most entries a byte, where the memory that is promised is least.
TEST(MatrixMarketFuzz, DenseTextsStayWithinThePromisedMemory) {
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
    EXPECT_TRUE(read_or_explain<Kokkos::complex<double>>(path, std::size_t(4) << 20));
    const auto allowed = 64000 + 40 * static_cast<std::int64_t>(text->size()) / 1000;
    EXPECT_TRUE(!memory_is_ours || ResidentMemory::peak() - before <= allowed);
  }
}

}  // namespace
}  // namespace prekond::testing
