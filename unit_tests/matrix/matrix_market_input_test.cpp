// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The wrappings of a Matrix Market file: gzip members and the bytes after them, text without end, pipes.
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <stdexcept>
#include <thread>

namespace prekond::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string whole = general + "% a comment\n3 3 4\n1 1 2\n2 2 -3.5\n3 3 4\n3 1 1\n";

std::int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// A gzip file of `head`, `count` times `filling`, and `tail`, which is never held as a whole.
void write_inflating(const std::string& path, const std::string& head, const std::string& filling, int count,
                     const std::string& tail) {
  gzFile file = gzopen(path.c_str(), "wb1");
  ASSERT_NE(file, nullptr);
  gzwrite(file, head.data(), static_cast<unsigned>(head.size()));
  for (int k = 0; k < count; ++k) gzwrite(file, filling.data(), static_cast<unsigned>(filling.size()));
  gzwrite(file, tail.data(), static_cast<unsigned>(tail.size()));
  ASSERT_EQ(gzclose_w(file), Z_OK);
}

class MatrixMarketInput : public ::testing::Test {
 protected:
  std::vector<double> values(const std::string& bytes) {
    const auto a = read_matrix_market<double>(m_folder.write("a.mtx.gz", bytes));
    return {a.values.data(), a.values.data() + a.values.extent(0)};
  }
  std::string error_of(const std::string& path) {
    try {
      read_matrix_market<double>(path);
    } catch (const InputError& e) {
      return std::string(e.what()).substr(path.size());
    }
    return "";
  }
  std::string error(const std::string& bytes) { return error_of(m_folder.write("bad.mtx.gz", bytes)); }

  TemporaryFolder m_folder{"matrix_market_input"};
};

TEST_F(MatrixMarketInput, ReadsSeveralMembers) {
  const std::vector<double> expected = {2, -3.5, 1, 4};
  EXPECT_EQ(values(whole), expected);
  for (const std::size_t cut : {0, 1, 20, 60, 70}) {
    std::string bytes = gzipped(whole.substr(0, cut)) + gzipped("") + gzipped(whole.substr(cut));
    EXPECT_EQ(values(bytes), expected) << cut;
    bytes.append(1000, '\0');
    EXPECT_EQ(values(bytes), expected) << cut;
  }
  // Every member's end and beginning on the border of what is read at once.
  for (std::size_t length = 130700; length < 131200; length += 7) {
    std::string text = general + "% ";
    for (std::uint32_t k = 1; text.size() < length; k = k * 1664525u + 1013904223u)
      text += text.size() % 200 == 0 ? std::string("\n% ") : std::string(1, static_cast<char>('0' + k % 61));
    std::string first(length + 200, '\0');
    uLongf size = first.size();
    z_stream stream{};
    ASSERT_EQ(deflateInit2(&stream, 0, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
              Z_OK);  // stored, not deflated
    stream.next_in = reinterpret_cast<Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(first.data());
    stream.avail_out = static_cast<uInt>(size);
    ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    first.resize(stream.total_out);
    deflateEnd(&stream);
    EXPECT_EQ(values(first + gzipped("\n" + whole.substr(general.size()))), expected) << length;
  }
}

TEST_F(MatrixMarketInput, RefusesGarbageBehindTheLastMember) {
  const std::string gz = gzipped(whole), text = ": other bytes follow the end of the gzip stream";
  for (const std::string& garbage :
       {std::string("x"), std::string("\n"), std::string("% text\n"), std::string(300, '\0') + "x",
        std::string(2 << 20, '\0') + "x", std::string(300, '\0') + gz, whole}) {
    EXPECT_THAT(error(gz + garbage), HasSubstr(text)) << garbage.substr(0, 20);
  }
  // The beginning of another member that is cut off, or none.
  EXPECT_THAT(error(gz + "\x1f"), HasSubstr(": the gzip file is truncated"));
  EXPECT_THAT(error(gz + "\x1f\x8c\x08"), HasSubstr(": the gzip file is corrupt"));
  EXPECT_THAT(error(gz + gz.substr(0, 2)), HasSubstr(": the gzip file is truncated"));
  EXPECT_THAT(error(gz + gz.substr(0, gz.size() - 3)), HasSubstr(": the gzip file is truncated"));
  EXPECT_THAT(error(gz + "\x1f\x8b\x07" + std::string(20, 'x')), HasSubstr(": the gzip file is corrupt"));
}

TEST_F(MatrixMarketInput, RefusesTextThatNoEntryJustifies) {
  const std::string blanks(1 << 20, '\n'), spaces = std::string(60000, ' ') + "\n",
                                           comments = "%" + std::string(60000, 'x') + "\n";
  const std::string bomb = m_folder / "bomb.mtx.gz";
  [[maybe_unused]] const std::int64_t before = peak_kilobytes();
  write_inflating(bomb, general + "2 2 1\n1 1 1\n", blanks, 100, "");
  EXPECT_THAT(error_of(bomb), HasSubstr(" hold 1 entries: nearly all is blank or comment"));
  write_inflating(bomb, general + "2 2 1\n", spaces, 2000, "1 1 1\n");
  EXPECT_THAT(error_of(bomb), HasSubstr(" hold 0 entries: nearly all is blank or comment"));
  write_inflating(bomb, general, comments, 2000, "2 2 1\n1 1 1\n");
  EXPECT_THAT(error_of(bomb), HasSubstr(" hold 0 entries: nearly all is blank or comment"));
  write_inflating(bomb, general + "%", std::string(1 << 20, 'x'), 300, "\n2 2 1\n1 1 1\n");
  EXPECT_EQ(error_of(bomb), ":2: the comment has more than 1048576 bytes");
  write_inflating(bomb, general + "2 2 1\n1 1 1\n%", std::string(1 << 20, 'x'), 300, "");
  EXPECT_EQ(error_of(bomb), ":4: the comment has more than 1048576 bytes");
  write_inflating(bomb, "%", std::string(1 << 20, 'x'), 300, "");
  EXPECT_EQ(error_of(bomb), ":1: the comment has more than 1048576 bytes");
  write_inflating(bomb, general + "2 2 900000000000\n", "1 1 1\n", 5000000, "");
  EXPECT_THAT(error_of(bomb),
              HasSubstr(" entries up to here, more than 64 for each cell of the 2 x 2 matrix"));
#ifndef __SANITIZE_ADDRESS__  // which keeps up to 256 MB of freed memory from being used again
  EXPECT_LE(peak_kilobytes() - before, 250000);
#endif
}

TEST_F(MatrixMarketInput, ReadsMuchTextThatItsEntriesJustify) {
  // 1000 bytes an entry and some more are in order, as are many duplicates and a comment of nearly a
  // megabyte.
  const std::string path = m_folder / "wide.mtx.gz", blanks(950, ' ');
  write_inflating(path, general + "%" + std::string(1000000, 'x') + "\n1 1 100000\n", blanks + "1 1 1\n",
                  100000, "");
  EXPECT_EQ(read_matrix_market<double>(path).values(0), 100000);
  const int most = (1 << 22) + 127;
  write_inflating(path, general + "1 1 " + std::to_string(most) + "\n", "1 1 1\n", most, "");
  EXPECT_EQ(read_matrix_market<double>(path).values(0), most);
  write_inflating(path, general + "1 1 " + std::to_string(most + 1) + "\n", "1 1 1\n", most + 1, "");
  EXPECT_THAT(error_of(path), HasSubstr("more than 64 for each cell of the 1 x 1 matrix"));
}

TEST_F(MatrixMarketInput, ReadsAPipeOnceKnowingItsHeader) {
  const std::string text = "%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 1 2\n2 2 3 -4\n";
  for (const std::string& bytes :
       {text, gzipped(text), gzipped(text.substr(0, 30)) + gzipped(text.substr(30))}) {
    const std::string pipe = m_folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] {
      std::ofstream out(pipe, std::ios::binary);
      for (const char c : bytes) out << c << std::flush;  // one byte at a time
    });
    MatrixMarketFile file(pipe);
    EXPECT_EQ(file.info().field, "complex");
    EXPECT_EQ(file.info().entries_in_file, 2);
    MatrixMarketInfo info;
    const auto a = file.read<Kokkos::complex<double>>(&info);
    writer.join();
    EXPECT_EQ(a.values(1), Kokkos::complex<double>(3, -4));
    EXPECT_EQ(info.inflated_bytes, static_cast<std::int64_t>(text.size()));
    EXPECT_THROW(file.read<Kokkos::complex<double>>(), std::logic_error);
    std::filesystem::remove(pipe);
  }
  const std::string path = m_folder.write("complex.mtx", text);
  EXPECT_THAT(error_of(path), EndsWith(":1: complex matrices are not supported here: a real one is wanted"));
}

}  // namespace
}  // namespace prekond::testing
