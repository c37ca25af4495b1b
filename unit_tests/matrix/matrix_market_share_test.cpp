// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A Matrix Market file read in shares: the same rows, and the same error with the same line, as in one piece.
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "testing/market_shares.hpp"
#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string banner = "%%MatrixMarket matrix coordinate real ";

/// A matrix of `rows` rows whose entries are in no order, some of them twice, with comments and blank lines.
std::string scattered(int rows, int entries, const std::string& symmetry) {
  std::string text, lines;
  std::uint32_t random = 12345;
  const auto pick = [&random](int n) {
    random = random * 1664525u + 1013904223u;
    return static_cast<int>(random >> 8) % n;
  };
  for (int k = 0; k < entries; ++k) {
    int i = pick(rows), j = pick(rows);
    if (symmetry != "general" && i < j) std::swap(i, j);
    if (symmetry == "skew-symmetric" && i == j) i = (j = 0, rows - 1);
    lines +=
        std::to_string(i + 1) + " " + std::to_string(j + 1) + " " + std::to_string(pick(1000000)) + "e-3\n";
    if (k % 37 == 5) lines += k % 2 == 0 ? "\n" : "% a comment\n";
  }
  return banner + symmetry + "\n% head\n" + std::to_string(rows) + " " + std::to_string(rows) + " " +
         std::to_string(entries) + "\n" + lines;
}

class MatrixMarketShare : public ::testing::Test {
 protected:
  /// Compares with one reader, plain and gzip, on several numbers of shares.
  void expect_like_one_reader(const std::string& text) {
    for (const bool compressed : {false, true}) {
      const std::string path = m_folder.write("a.mtx", compressed ? gzipped(text) : text);
      std::string error;
      HostMatrix<double> whole;
      try {
        whole = read_matrix_market<double>(path);
      } catch (const InputError& e) {
        error = e.what();
      }
      for (const int parts : {1, 2, 3, 7})
        for (const std::size_t block : {300, 100000}) {
          SCOPED_TRACE(std::to_string(parts) + " shares, blocks of " + std::to_string(block) +
                       (compressed ? ", gzip" : ""));
          EXPECT_EQ(error_of(path, parts, block), error);
          if (!error.empty()) continue;
          EXPECT_EQ(difference(SharedReading<double>(path, parts, block).rows, whole), "");
        }
    }
  }

  std::string error_of(const std::string& path, int parts, std::size_t block) {
    try {
      SharedReading<double>(path, parts, block);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder m_folder{"matrix_market_share"};
};

TEST_F(MatrixMarketShare, RowsAreThoseOfOneReaderToTheLastBit) {
  for (const char* symmetry : {"general", "symmetric", "skew-symmetric"})
    expect_like_one_reader(scattered(40, 700, symmetry));
  expect_like_one_reader(banner + "general\n3 3 0\n");
  expect_like_one_reader(banner + "general\n0 0 0\n\n\n");
  expect_like_one_reader(banner + "symmetric\n2 2 2\n1 1 4\n2 1 -1");  // no end of the last line
  expect_like_one_reader("%%MatrixMarket matrix coordinate pattern general\n2 5 3\n1 5\n2 1\n1 1\n");
}

TEST_F(MatrixMarketShare, LinesMayEndInCr) {
  const std::vector<std::string> ends = {"\r", "\n", "\r\n", "\r\r"};
  const std::string text = scattered(40, 700, "general");
  std::string old, mixed;
  for (const char c : text) {
    old += c == '\n' ? '\r' : c;
    mixed += c == '\n' ? ends[mixed.size() % 4] : std::string(1, c);
  }
  expect_like_one_reader(old);
  expect_like_one_reader(mixed);
}

TEST_F(MatrixMarketShare, ArraysArePlacedByTheValuesBefore) {
  const std::string array = "%%MatrixMarket matrix array real ";
  std::string values, fewer;
  for (int k = 1; k <= 20; ++k) {
    values += std::to_string(k % 5) + "\n" + (k % 7 == 0 ? "%\n" : "");
    if (k <= 10) fewer += std::to_string(k % 4) + "\n";
  }
  expect_like_one_reader(array + "general\n4 5\n" + values);
  expect_like_one_reader(array + "symmetric\n4 4\n" + fewer);
  expect_like_one_reader(array + "skew-symmetric\n5 5\n" + fewer);
  expect_like_one_reader(array + "general\n4 5\n" + values + "3\n");
  expect_like_one_reader(array + "general\n4 5\n" + fewer);
}

/// The error is the first of the file, whoever reads it, and has its line.
TEST_F(MatrixMarketShare, ErrorsAreThoseOfOneReader) {
  const std::string good = scattered(40, 300, "general"), lower = scattered(40, 300, "symmetric");
  const auto with = [](std::string text, std::size_t line, const std::string& instead) {
    std::size_t begin = 0;
    for (; line > 0; --line) begin = text.find('\n', begin) + 1;
    return text.replace(begin, text.find('\n', begin) - begin, instead);
  };
  for (const std::size_t line : {3, 50, 170, 302}) {
    expect_like_one_reader(with(good, line, "1 1 nan"));
    expect_like_one_reader(with(good, line, "41 1 1"));
    expect_like_one_reader(with(good, line, "1 1 1 1"));
    expect_like_one_reader(with(good, line, std::string("1 1 \0 1", 7)));
    expect_like_one_reader(with(lower, line, "3 39 1"));
    expect_like_one_reader(with(good, line, std::string(70000, '1')));
  }
  expect_like_one_reader(with(good, 150, "% long " + std::string(2000000, 'x')));
  expect_like_one_reader(with(with(good, 200, "1 x 1"), 100, "1 1 1e999"));
  expect_like_one_reader(good + "1 1 1\n");
  expect_like_one_reader(good + "%\n\n1 x 1\n");
  expect_like_one_reader(lower + "3 39 1\n");
  expect_like_one_reader(with(good, 100, "%"));
  expect_like_one_reader(with(with(good, 100, "%"), 300, "1 x"));
  expect_like_one_reader(banner + "general\n2147483647 2147483647 1\n1 1 1\n");
  expect_like_one_reader(banner + "general\n3 3 4\n1 1 1\n3 3 1e308\n2 2 2\n3 3 1e308\n");
}

TEST_F(MatrixMarketShare, ErrorsHaveTheirLine) {
  std::string text = banner + "general\n2 2 200\n";
  for (int k = 0; k < 199; ++k) text += "1 1 1\n";
  const std::string path = m_folder.write("a.mtx", text + "2 2 NaN\n");
  EXPECT_EQ(error_of(path, 4, 100), path + ":202: the value 'NaN' is not finite");
}

TEST_F(MatrixMarketShare, WhatIsWrongWithTheWholeFile) {
  const std::string text = scattered(40, 300, "general");
  const std::string bytes = gzipped(text);
  const std::string cut = m_folder.write("cut.mtx", bytes.substr(0, bytes.size() - 9));
  EXPECT_THAT(error_of(cut, 3, 300), HasSubstr("the gzip file is truncated"));
  EXPECT_THAT(
      error_of(m_folder.write("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n"), 3,
               300),
      HasSubstr(":1: complex matrices are not supported"));
  EXPECT_THAT(error_of(m_folder.write("empty.mtx", ""), 3, 300), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of("/nowhere/a.mtx", 3, 300), HasSubstr("cannot be opened"));
  // Blank text: 80 MB of it for one entry.
  const std::string blank = banner + "general\n1 1 1\n1 1 1\n" + std::string(80 << 20, '\n');
  for (const bool compressed : {false, true}) {
    const std::string path = m_folder.write("blank.mtx", compressed ? gzipped(blank) : blank);
    EXPECT_THAT(error_of(path, 3, impl::share_block_size), HasSubstr("nearly all is blank or comment"));
    // Who inflates stops where one reader does.
    if (compressed)
      for (const int part : {0, 2}) {
        const auto share = impl::MarketShare<double>::read(path, part, 3);
        ASSERT_TRUE(share.error);
        EXPECT_EQ(share.error->text, error_of(path, 1, impl::share_block_size));
      }
  }
}

/// No share is more than its part of the entries, so that many can read what one could not hold.
TEST_F(MatrixMarketShare, SharesAreEqual) {
  const std::string text = scattered(400, 20000, "general");
  for (const bool compressed : {false, true}) {
    const std::string path = m_folder.write("a.mtx", compressed ? gzipped(text) : text);
    for (int part = 0; part < 4; ++part) {
      const auto share = impl::MarketShare<double>::read(path, part, 4, 4096);
      EXPECT_NEAR(static_cast<double>(share.num_entries()), 5000, 500) << part;
    }
  }
}

}  // namespace
}  // namespace prekond::testing
