// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "testing/matrices.hpp"
#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Complex = Kokkos::complex<double>;
template <class Scalar>
using Matrix = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

/// Row by row, (column, value), both from 0.
template <class Scalar>
using Rows = std::vector<std::vector<std::pair<int, Scalar>>>;

template <class Scalar>
Rows<Scalar> rows_of(const Matrix<Scalar>& a) {
  EXPECT_EQ(a.row_ptrs.extent(0), static_cast<std::size_t>(a.num_rows) + 1);
  EXPECT_EQ(a.row_ptrs(0), 0u);
  EXPECT_EQ(a.row_ptrs(a.num_rows), a.col_idxs.extent(0));
  EXPECT_EQ(a.values.extent(0), a.col_idxs.extent(0));
  Rows<Scalar> rows(static_cast<std::size_t>(a.num_rows));
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      rows[static_cast<std::size_t>(i)].emplace_back(a.col_idxs(k), a.values(k));
    }
  }
  return rows;
}

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";

class MatrixMarket : public ::testing::Test {
 protected:
  template <class Scalar = double>
  Matrix<Scalar> read(const std::string& content, MatrixMarketInfo* info = nullptr) {
    return read_matrix_market<Scalar>(m_folder.write("a.mtx", content), info);
  }
  template <class Scalar = double>
  Rows<Scalar> rows(const std::string& content) {
    return rows_of(read<Scalar>(content));
  }
  template <class Scalar = double>
  std::vector<Scalar> vector(const std::string& content, std::int64_t expected_length = -1) {
    const auto x = read_vector_market<Scalar>(m_folder.write("x.mtx", content), expected_length);
    return {x.data(), x.data() + x.extent(0)};
  }

  /// The message after "PATH" of the error that `read` throws.
  template <class Read>
  std::string message(const std::string& path, const Read& read) {
    try {
      read(path);
    } catch (const InputError& e) {
      const std::string what = e.what();
      EXPECT_THAT(what, StartsWith(path + ":"));
      EXPECT_THAT(what, Not(HasSubstr("\n")));
      return what.substr(path.size());
    }
    ADD_FAILURE() << "no error";
    return {};
  }
  /// With any block size it must be the same message.
  template <class Scalar = double>
  std::string error(const std::string& content, const std::string& name = "bad.mtx") {
    const std::string path = m_folder.write(name, content);
    const std::string result = message(path, [](const auto& p) { read_matrix_market<Scalar>(p); });
    for (const std::size_t block : {1, 7, 64, 1000}) {
      if (content.size() > 1000 * block) continue;
      const auto again = [&](const auto& p) { MatrixMarketFile(p, block).read<Scalar>(); };
      EXPECT_EQ(result, message(path, again)) << "block size " << block;
    }
    return result;
  }
  std::string vector_error(const std::string& content, std::int64_t expected_length = -1) {
    return message(m_folder.write("bad_x.mtx", content),
                   [=](const auto& p) { read_vector_market<double>(p, expected_length); });
  }

  TemporaryFolder m_folder{"matrix_market"};
};

// -------------------------------------------------------------------------------------- formats, fields,
// symmetries

TEST_F(MatrixMarket, ReadsCoordinateRealGeneral) {
  MatrixMarketInfo info;
  const std::string text = general + "2 3 3\n2 1 -4e-1\n1 3 2.5\n1 1 1\n";
  const auto a = read(text, &info);
  EXPECT_EQ(rows_of(a), (Rows<double>{{{0, 1.0}, {2, 2.5}}, {{0, -0.4}}}));
  EXPECT_EQ(a.num_cols, 3);
  EXPECT_EQ(info.format, "coordinate");
  EXPECT_EQ(info.field, "real");
  EXPECT_EQ(info.symmetry, "general");
  EXPECT_EQ(info.entries_in_file, 3);
  EXPECT_EQ(info.duplicates, 0);
  EXPECT_EQ(info.inflated_bytes, static_cast<std::int64_t>(text.size()));
}

/// One file of each field in coordinate format; `values` are those of the entries (1,1) = 0, (2,1), (3,2).
struct FieldCase {
  std::string field;
  std::vector<std::string> texts;
  std::vector<Complex> values;
};
const std::vector<FieldCase> field_cases = {
    {"real", {"0", "1.5", "-2e1"}, {0.0, 1.5, -20.0}},
    {"double", {"0.0", ".5", "1d2"}, {0.0, 0.5, 100.0}},
    {"integer", {"0", "+7", "-3"}, {0.0, 7.0, -3.0}},
    {"pattern", {"", "", ""}, {1.0, 1.0, 1.0}},
    {"complex", {"0 0", "1 2", "-3 0.25"}, {0.0, Complex(1, 2), Complex(-3, 0.25)}},
};

Complex mirrored(const Complex& x, const std::string& symmetry) {
  return symmetry == "hermitian" ? Kokkos::conj(x) : symmetry == "skew-symmetric" ? -x : x;
}

TEST_F(MatrixMarket, ReadsEachCoordinateFieldWithEachSymmetry) {
  for (const auto& [field, texts, values] : field_cases) {
    for (const std::string symmetry : {"general", "symmetric", "skew-symmetric", "hermitian"}) {
      SCOPED_TRACE(field + " " + symmetry);
      const std::string text = "%%MatrixMarket matrix coordinate " + field + " " + symmetry +
                               "\n3 3 3\n1 1 " + texts[0] + "\n2 1 " + texts[1] + "\n3 2 " + texts[2] + "\n";
      if (symmetry == "hermitian" && field != "complex") {
        const std::string only =
            field == "pattern" ? "a pattern cannot be hermitian" : "only complex matrices are hermitian";
        EXPECT_THAT(error<Complex>(text), HasSubstr(only));
        continue;
      }
      if (symmetry == "skew-symmetric" && field == "pattern") {
        EXPECT_THAT(error<Complex>(text), HasSubstr("a pattern cannot be skew-symmetric"));
        continue;
      }
      Rows<Complex> expected = {{{0, values[0]}}, {{0, values[1]}}, {{1, values[2]}}};
      if (symmetry != "general") {
        expected[0].emplace_back(1, mirrored(values[1], symmetry));
        expected[1].emplace_back(2, mirrored(values[2], symmetry));
      }
      EXPECT_EQ(rows<Complex>(text), expected);
      if (field == "complex") continue;
      const auto real = rows<double>(text);
      const auto single = rows<float>(text);
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(real[i].size(), expected[i].size());
        ASSERT_EQ(single[i].size(), expected[i].size());
        for (std::size_t k = 0; k < real[i].size(); ++k) {
          EXPECT_EQ(real[i][k].second, expected[i][k].second.real());
          EXPECT_EQ(single[i][k].second, static_cast<float>(expected[i][k].second.real()));
        }
      }
    }
  }
}

TEST_F(MatrixMarket, ReadsEachArrayFieldWithEachSymmetry) {
  // 3 x 3 by columns; with symmetric storage the lower triangle, with skew-symmetric storage what is below
  // the diagonal.
  const std::map<std::string, std::vector<std::pair<int, int>>> places = {
      {"general", {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {2, 2}}},
      {"symmetric", {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {2, 2}}},
      {"hermitian", {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {2, 2}}},
      {"skew-symmetric", {{1, 0}, {2, 0}, {2, 1}}}};
  for (const std::string field : {"real", "double", "integer", "complex"}) {
    for (const auto& [symmetry, list] : places) {
      SCOPED_TRACE(field + " " + symmetry);
      if (symmetry == "hermitian" && field != "complex") continue;
      std::string text = "%%MatrixMarket matrix array " + field + " " + symmetry + "\n3 3\n";
      std::map<std::pair<int, int>, Complex> expected;
      int number = 0;
      for (const auto& [i, j] : list) {
        ++number;
        if (number == 2) {  // a zero, which is dropped
          text += field == "complex" ? "0 0\n" : "0\n";
          continue;
        }
        const Complex value(number, field == "complex" && i != j ? -number : 0);
        text += std::to_string(number) +
                (field == "complex" ? " " + std::to_string(i != j ? -number : 0) : "") + "\n";
        expected[{i, j}] = value;
        if (symmetry != "general" && i != j) expected[{j, i}] = mirrored(value, symmetry);
      }
      Rows<Complex> expected_rows(3);
      for (const auto& [place, value] : expected)
        expected_rows[static_cast<std::size_t>(place.first)].emplace_back(place.second, value);
      EXPECT_EQ(rows<Complex>(text), expected_rows);
      if (field != "complex") {
        EXPECT_EQ(rows<double>(text)[2].size(), expected_rows[2].size());
      }
      for (const std::size_t block : {1, 5, 30}) {
        const std::string path = m_folder.write("array.mtx", text);
        EXPECT_EQ(rows_of(MatrixMarketFile(path, block).read<Complex>()), expected_rows);
      }
    }
  }
}

TEST_F(MatrixMarket, AcceptsTheUpperTriangle) {
  EXPECT_EQ(rows(symmetric + "3 3 3\n1 1 1\n1 3 5\n2 3 6\n"),
            (Rows<double>{{{0, 1}, {2, 5}}, {{2, 6}}, {{0, 5}, {1, 6}}}));
  const std::string skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 2 5\n";
  EXPECT_EQ(rows(skew), (Rows<double>{{{1, 5}}, {{0, -5}}}));
}

TEST_F(MatrixMarket, ReadsEmptyMatrices) {
  EXPECT_EQ(read(general + "0 0 0\n").nnz(), 0);
  EXPECT_EQ(read(general + "5 7 0\n").num_cols, 7);
  EXPECT_EQ(rows("%%MatrixMarket matrix array real general\n2 0\n"), Rows<double>(2));
  EXPECT_EQ(rows("%%MatrixMarket matrix array real symmetric\n0 0\n"), Rows<double>());
  EXPECT_EQ(rows("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"), Rows<double>(1));
}

TEST_F(MatrixMarket, ToleratesLayout) {
  const Rows<double> expected = {{{0, 150.0}}, {{1, -2.0}}};
  EXPECT_EQ(rows("%%MATRIXMARKET Matrix COORDINATE Real General\r\n% c\r\n\r\n  % d\r\n 2\t2  2 \r\n\r\n"
                 "  1 1 +1.5D+02  \r\n%e\r\n\t2 2 -2\t\r\n \r\n%"),
            expected);
  EXPECT_EQ(rows(general + "2 2 2\n+1 +1 1.5d2\n2 2 -.2e+1"), expected) << "no line end at the end";
  EXPECT_EQ(rows("\n \r\n%% MatrixMarket matrix coordinate real general\n2 2 2\n1 1 150\n2 2 -2\n"),
            expected);
  EXPECT_EQ(rows("  %%MatrixMarket \t matrix  coordinate   real general  \n2 2 2\n1 1 150\n2 2 -2\n"),
            expected);
  EXPECT_EQ(rows("%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 7\n"),
            (Rows<double>{{{0, 7.0}}}));
  EXPECT_EQ(rows(general + "% long " + std::string(200000, 'x') + "\n2 2 2\n1 1 150\n%" +
                 std::string(300000, '%') + "\n2 2 -2\n"),
            expected);
}

TEST_F(MatrixMarket, FortranLeavesTheLetterOutOfLongExponents) {
  EXPECT_EQ(rows(general + "1 2 2\n1 1 -1.25+100\n1 2 .5-200\n"),
            (Rows<double>{{{0, -1.25e100}, {1, .5e-200}}}));
}

TEST_F(MatrixMarket, ReadsLinesThatEndInCrAndSkipsAByteOrderMark) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n% c\n\n2 2 2\n1 1 150\n2 2 -2\n";
  const Rows<double> expected = rows(text);
  std::string cr = text;
  std::replace(cr.begin(), cr.end(), '\n', '\r');
  for (const std::string& bytes : {cr, cr.substr(0, cr.size() - 1), "\xef\xbb\xbf" + text,
                                   "\xef\xbb\xbf" + cr, gzipped(cr), gzipped("\xef\xbb\xbf" + text)})
    EXPECT_EQ(rows(bytes), expected) << bytes;
  // A file of both, as editors of several systems leave it.
  EXPECT_EQ(rows("%%MatrixMarket matrix coordinate real general\r\n2 2 2\r1 1 150\n2 2 -2\r\n"), expected);
  const std::string bad = "\xef\xbb\xbf" + general + "2 2 2\n1 1 150\n2 2 x\n";
  EXPECT_EQ(error(bad), ":4: 'x' is not a number");
  std::string bad_cr = bad;
  std::replace(bad_cr.begin(), bad_cr.end(), '\n', '\r');
  EXPECT_EQ(error(bad_cr), ":4: 'x' is not a number");
}

/// Each CR, and each LF after one, on the border of two blocks.
TEST_F(MatrixMarket, LinesThatEndInCrMayEndOnTheBorderOfABlock) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\r\n9 9 9\r";
  std::string text = head;
  for (int i = 1; i <= 9; ++i)
    text += std::to_string(i) + " " + std::to_string(i) + " 0." + std::string(i, '5') +
            (i % 2 == 0 ? "\r\n" : "\r");
  const auto whole = rows(text);
  const std::string path = m_folder.write("a.mtx", text);
  for (std::size_t block = 1; block <= text.size() + 1; ++block)
    EXPECT_EQ(rows_of(MatrixMarketFile(path, block).read<double>()), whole) << block;
}

TEST_F(MatrixMarket, ComplexVectorsForRealMatricesAreExplained) {
  const std::string text = "%%MatrixMarket matrix array complex general\n2 1\n1 1\n2 0\n";
  EXPECT_THAT(
      message(m_folder.write("x.mtx", text), [](const auto& path) { read_vector_market<double>(path); }),
      StartsWith(":1: the vector is complex, and a real one is wanted"));
  EXPECT_EQ(vector<Complex>(text), (std::vector<Complex>{{1, 1}, {2, 0}}));
}

struct ForeignFile {
  std::string name, bytes, kind, advice;
};

TEST_F(MatrixMarket, OtherFilesAreNamedAndTheLineThatConvertsThem) {
  using namespace std::string_literals;
  const std::string tar = "a/a.mtx" + std::string(250, '\0') + "ustar\0"s + std::string(300, '\0');
  const std::string utf16 = "\xff\xfe%\0%\0M\0\n\0"s;
  const std::string boeing =
      "title                                                                   key\n"
      "             5             1             1             3             0\n"
      "rua                        3             3             4             0\n";
  const std::vector<ForeignFile> files = {
      {"a.npz", "PK\x03\x04\x14\0\0\0\0\0xxxxxxxxxxxxxxxxxxxxindices.npy\x93NUMPY"s, "a NumPy archive",
       "load_npz('"},
      {"a.zip", "PK\x03\x04\x14\0\0\0\0\0xxxxxxxxxxxxxxxxxxxxa.mtx"s, "a zip archive", "unzip "},
      {"a.npy", "\x93NUMPY\x01\0v\0{'descr'"s, "a NumPy array", "numpy.load('"},
      {"a.mat", "MATLAB 5.0 MAT-file, Platform: GLNXA64", "a MATLAB file", "scipy.io.loadmat('"},
      {"b.mat", "MATLAB 7.3 MAT-file, Platform: GLNXA64", "an HDF5 file", "h5py"},
      {"a.h5", "\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file", "h5py"},
      {"a.tar", tar, "a tar archive", "tar -xf "},
      {"a.tar.gz", gzipped(tar), "a compressed tar archive", "tar -xzf "},
      {"a.mtx.gz.gz", gzipped(gzipped(general + "0 0 0\n")), "compressed twice", "gunzip "},
      {"a.tar.bz2", "BZh91AY&SY\x01\x02"s, "a tar archive", "tar -xf "},
      {"a.mtx.bz2", "BZh91AY&SY\x01\x02"s, "a bzip2 file", "bunzip2 "},
      {"a.mtx.xz", "\xfd\x37zXZ\0\0\x04"s, "an xz file", "unxz "},
      {"a.mtx.zst", "\x28\xb5\x2f\xfd\x04\x58"s, "a zstd file", "unzstd "},
      {"a.petsc", "\x00\x12\x7b\x50\0\0\0\x03"s, "a binary file of PETSc", "readBinaryFile('"},
      {"b.dat", "\x00\x12\x7b\x4e\0\0\0\x03"s, "a binary file of PETSc", "readBinaryFile('"},
      {"a.rb", "any text\n", "a Harwell-Boeing or Rutherford-Boeing file", "hb_read('"},
      {"boeing", boeing, "a Harwell-Boeing or Rutherford-Boeing file", "hb_read('"},
      {"a.csv", "x,y\n1,2\n", "a table of comma-separated values", "loadtxt('"},
      {"table.txt", "1.0,2,3e-4\n4,5,6\n", "a table of comma-separated values", "loadtxt('"},
      {"a.pkl", "\x80\x04\x95\x10\0"s, "a Python pickle", "mmwrite('"},
      {"utf16.mtx", utf16, "UTF-16 text", "iconv -f UTF-16 "},
      {"utf16le.mtx", utf16.substr(2), "UTF-16 text", "iconv -f UTF-16LE "},
      {"page.mtx", "\n<!DOCTYPE html>\n<html>", "a web page", "fetch"},
      {"lfs.mtx", "version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "git lfs pull"},
      {"program",
       "\x7f"
       "ELF\x01\x01\0\0"s,
       "a binary file of an unknown kind", "mmwrite('"},
  };
  for (const auto& [name, bytes, kind, advice] : files) {
    const std::string path = m_folder.write(name, bytes);
    for (const bool is_vector : {false, true}) {
      const std::string found = message(path, [&](const auto& from) {
        if (is_vector)
          read_vector_market<double>(from);
        else
          read_matrix_market<double>(from);
      });
      EXPECT_THAT(found, StartsWith(": is " + kind + ", not a Matrix Market file; ")) << name;
      EXPECT_THAT(found, HasSubstr(advice)) << name;
      EXPECT_THAT(found, Not(HasSubstr("\\x"))) << name;
      EXPECT_THAT(found, Not(HasSubstr("FILE"))) << name;
      EXPECT_TRUE(advice.back() != '\'' || advice.find("mmwrite") == 0 ||
                  found.find(advice + path) != found.npos)
          << name << found;
    }
  }
  EXPECT_EQ(rows_of(read_matrix_market<double>(m_folder.write("odd.csv", general + "0 0 0\n"))),
            Rows<double>())
      << "what is in the file counts, not its name";
}

TEST_F(MatrixMarket, DoesNotDependOnTheLocale) {
  const std::string old = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) std::setlocale(LC_ALL, name);
  EXPECT_EQ(rows(general + "1 1 1\n1 1 1.5\n"), (Rows<double>{{{0, 1.5}}}));
  std::setlocale(LC_ALL, old.c_str());
}

TEST_F(MatrixMarket, RoundsNumbersThatAreTooSmallToZero) {
  EXPECT_EQ(rows(general + "1 4 4\n1 1 1e-400\n1 2 -1e-99999999999999999999\n1 3 4.9e-324\n1 4 0e999999\n"),
            (Rows<double>{{{0, 0.0}, {1, -0.0}, {2, std::numeric_limits<double>::denorm_min()}, {3, 0.0}}}));
  EXPECT_EQ(rows<float>(general + "1 1 1\n1 1 1e-60\n"), (Rows<float>{{{0, 0.0f}}}));
  EXPECT_EQ(rows(general + "1 1 1\n1 1 0." + std::string(500, '0') + "1\n"), (Rows<double>{{{0, 0.0}}}));
  EXPECT_EQ(rows(general + "1 1 1\n1 1 0." + std::string(500, '0') + "1e501\n"), (Rows<double>{{{0, 1.0}}}));
}

TEST_F(MatrixMarket, SumsDuplicatesInTheOrderOfTheFile) {
  MatrixMarketInfo info;
  // 1e16 + 1 - 1e16 depends on the order: forward 0.
  const auto a = read(general + "2 2 6\n2 2 3\n1 2 1e16\n2 1 1\n1 2 1\n2 2 4\n1 2 -1e16\n", &info);
  EXPECT_EQ(rows_of(a), (Rows<double>{{{1, 0.0}}, {{0, 1.0}, {1, 7.0}}}));
  EXPECT_EQ(info.duplicates, 3);
  EXPECT_EQ(info.entries_in_file, 6);
  const auto b = read(symmetric + "2 2 4\n2 1 1\n1 1 1\n2 1 2\n1 1 5\n", &info);
  EXPECT_EQ(rows_of(b), (Rows<double>{{{0, 6.0}, {1, 3.0}}, {{0, 3.0}}}));
  EXPECT_EQ(info.duplicates, 2);
  read(symmetric + "2 2 3\n1 2 1\n2 2 5\n1 2 5\n", &info);
  EXPECT_EQ(info.duplicates, 1);
}

// --------------------------------------------------------------------------------------------------------
// large files

/// Entries in random order, some of them twice, with comments and blank lines among them.
std::string shuffled_text(int n, int entries, const std::string& symmetry,
                          std::map<std::pair<int, int>, double>& sums) {
  std::mt19937 random(11);
  std::string text = "%%MatrixMarket matrix coordinate real " + symmetry + "\n% shuffled\n" +
                     std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(entries) + "\n";
  for (int k = 0; k < entries; ++k) {
    int i = 1 + static_cast<int>(random() % n),
        j = random() % 50 == 0 ? 3 : 1 + static_cast<int>(random() % n);
    if (symmetry == "symmetric" && i < j) std::swap(i, j);
    const double value = static_cast<double>(random()) / 1024;
    text += std::to_string(i) + " " + std::to_string(j) + " " + std::to_string(value) + "\n";
    sums[{i - 1, j - 1}] += std::stod(std::to_string(value));
    if (k % 97 == 0) text += "\n% comment\n";
  }
  return text;
}

TEST_F(MatrixMarket, ReadsTheSameWhateverTheBlockSize) {
  for (const std::string symmetry : {"general", "symmetric"}) {
    std::map<std::pair<int, int>, double> sums;
    const std::string text = shuffled_text(331, 12000, symmetry, sums);
    Rows<double> expected(331);
    std::map<std::pair<int, int>, double> full = sums;
    if (symmetry == "symmetric")
      for (const auto& [place, value] : sums) full[{place.second, place.first}] = value;
    for (const auto& [place, value] : full)
      expected[static_cast<std::size_t>(place.first)].emplace_back(place.second, value);
    const std::string plain = m_folder.write("s.mtx", text), gz = m_folder.write("s.mtx.gz", gzipped(text));
    MatrixMarketInfo info;
    EXPECT_EQ(rows_of(read_matrix_market<double>(plain, &info)), expected);
    EXPECT_EQ(info.duplicates, 12000 - static_cast<std::int64_t>(sums.size()));
    for (const std::size_t block : {301, 4000, 65536, 150000}) {
      EXPECT_EQ(rows_of(MatrixMarketFile(plain, block).read<double>(&info)), expected);
      EXPECT_EQ(rows_of(MatrixMarketFile(gz, block).read<double>(&info)), expected);
      EXPECT_EQ(info.inflated_bytes, static_cast<std::int64_t>(text.size()));
    }
  }
}

TEST_F(MatrixMarket, NumbersLinesAcrossBlocksAndPieces) {
  std::map<std::pair<int, int>, double> sums;
  std::string text = shuffled_text(400, 30000, "general", sums);
  const auto at = text.find('\n', text.size() / 2) + 1;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  text.insert(at, "1 2 oops\n");
  EXPECT_EQ(error(text), ":" + std::to_string(line) + ": 'oops' is not a number");
  EXPECT_EQ(error(gzipped(text)), ":" + std::to_string(line) + ": 'oops' is not a number");
}

// -------------------------------------------------------------------------------------------------------------
// errors

TEST_F(MatrixMarket, ExplainsFilesThatCannotBeRead) {
  const auto read = [](const std::string& path) { read_matrix_market<double>(path); };
  const auto read_x = [](const std::string& path) { read_vector_market<double>(path); };
  EXPECT_EQ(message(m_folder / "none.mtx", read), ": cannot be opened: No such file or directory");
  EXPECT_EQ(message(m_folder / "none.mtx", read_x), ": cannot be opened: No such file or directory");
  EXPECT_EQ(message(std::filesystem::temp_directory_path().string(), read), ": is a directory, not a file");
  EXPECT_EQ(error(""), ": the file is empty");
  EXPECT_EQ(error(gzipped("")), ": the file is empty");
  EXPECT_EQ(error(general + "% nothing more\n"), ": the file ends before its size line");
}

TEST_F(MatrixMarket, ExplainsBadBanners) {
  EXPECT_EQ(error("hello\n"),
            ":1: not a Matrix Market file: it begins with 'hello' instead of '%%MatrixMarket'");
  EXPECT_EQ(error("\n% comment\n" + general),
            ":2: not a Matrix Market file: it begins with '% comment' instead of '%%MatrixMarket'");
  EXPECT_THAT(error("3 3 2\n1 1 1.5\n"), AllOf(HasSubstr(":1: not a Matrix Market file"),
                                               HasSubstr("put the line '%%MatrixMarket matrix")));
  EXPECT_THAT(error(std::string(100000, 'x')), HasSubstr(":1: the line has more than 65536 bytes"));
  EXPECT_THAT(error("%%MatrixMarket vector array real general\n"),
              HasSubstr(":1: holds the object 'vector'"));
  EXPECT_THAT(error("%%MatrixMarket matrix sparse real general\n"), HasSubstr(":1: unknown format 'sparse'"));
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate quaternion general\n"),
              HasSubstr(":1: unknown field 'quaternion'"));
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate real diagonal\n"),
              HasSubstr(":1: unknown symmetry 'diagonal'"));
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate real\n"), HasSubstr(":1: unknown symmetry ''"));
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate real general 7\n"),
              HasSubstr(":1: unexpected '7' at the end"));
  EXPECT_THAT(error("%%MatrixMarket matrix array pattern general\n"), HasSubstr(":1: an array has values"));
  const std::string complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n";
  EXPECT_THAT(error<double>(complex), HasSubstr(":1: complex matrices are not supported here"));
  EXPECT_THAT(error<float>(complex), HasSubstr(":1: complex matrices are not supported here"));
}

TEST_F(MatrixMarket, ExplainsBadSizes) {
  EXPECT_EQ(error(general + "%\n2 2\n"), ":3: bad size line '2 2': it has to be 'ROWS COLUMNS ENTRIES'");
  EXPECT_THAT(error(general + "2 2 1 1\n"), HasSubstr(":2: bad size line '2 2 1 1'"));
  EXPECT_THAT(error(general + "2 2.5 1\n"), HasSubstr(":2: bad size line '2 2.5 1'"));
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n2 2 4\n"),
            ":2: bad size line '2 2 4': it has to be 'ROWS COLUMNS'");
  EXPECT_THAT(error(general + "-2 2 1\n"), HasSubstr(":2: negative number in the size line '-2 2 1'"));
  EXPECT_THAT(error(general + "2 2 -1\n"), HasSubstr(":2: negative number"));
  EXPECT_THAT(error(general + "2147483648 2 1\n1 1 1\n"),
              HasSubstr(":2: a matrix of 2147483648 x 2 is too large: at most 2147483647 rows and columns"));
  EXPECT_THAT(error(general + "2 99999999999999999999 1\n1 1 1\n"), HasSubstr("is too large"));
  EXPECT_THAT(error(symmetric + "2 3 1\n1 1 1\n"),
              HasSubstr(":2: a symmetric matrix must be square, this one is 2 x 3"));
  EXPECT_THAT(error("%%MatrixMarket matrix array real skew-symmetric\n2 3\n1\n"),
              HasSubstr(":2: a skew-symmetric matrix must be square"));
  EXPECT_THAT(error<Complex>("%%MatrixMarket matrix coordinate complex hermitian\n2 3 0\n"),
              HasSubstr(":2: a hermitian matrix must be square"));
}

TEST_F(MatrixMarket, ExplainsBadEntries) {
  const std::string head = general + "4 4 3\n1 1 1\n";
  EXPECT_EQ(error(head + "2 2\n"), ":4: too few numbers for an entry: a line holds row, column, value");
  EXPECT_THAT(error(head + "2\n"), HasSubstr(":4: too few numbers"));
  EXPECT_EQ(error(head + "\n%\n2 2 1 7\n"),
            ":6: unexpected '7' after the entry: a line holds row, column, value");
  EXPECT_EQ(error(head + "2 2 1x\n"), ":4: '1x' is not a number");
  for (const std::string bad : {"--1", "+-1", "++1", "1e", "1d", "1e5d6", "1d5d6", "0x10", "e5", "d5", "+",
                                "-", ".", "1-100", "1.5-10", "1.5e1-100"}) {
    EXPECT_EQ(error(head + "2 2 " + bad + "\n"), ":4: '" + bad + "' is not a number");
  }
  EXPECT_THAT(error(head + "2 2 1,5\n"), StartsWith(":4: '1,5' is not a number: one has a decimal point"));
  EXPECT_EQ(error(head + "2.0 2 1\n"), ":4: '2.0' is not a whole number (a row is wanted)");
  EXPECT_EQ(error(head + "2 x 1\n"), ":4: 'x' is not a whole number (a column is wanted)");
  EXPECT_EQ(error(head + "5 2 1\n"),
            ":4: entry (5, 2) lies outside of the 4 x 4 matrix: rows are 1 to 4, columns 1 to 4");
  EXPECT_THAT(error(head + "2 0 1\n"), HasSubstr(":4: entry (2, 0) lies outside"));
  EXPECT_THAT(error(head + "2 -1 1\n"), HasSubstr(":4: entry (2, -1) lies outside"));
  EXPECT_THAT(error(head + "2 99999999999999999999999 1\n"), HasSubstr(":4: entry (2, "));
  for (const std::string bad : {"nan", "NaN", "-nan", "inf", "+Inf", "-infinity"}) {
    EXPECT_EQ(error(head + "2 2 " + bad + "\n"), ":4: the value '" + bad + "' is not finite");
  }
  EXPECT_EQ(error(head + "2 2 1e309\n"), ":4: the number '1e309' is too large for double precision");
  EXPECT_EQ(error(head + "2 2 -1D99999999999999999999\n"),
            ":4: the number '-1D99999999999999999999' is too large for double precision");
  EXPECT_EQ(error<float>(head + "2 2 1e39\n"), ":4: the number '1e39' is too large for single precision");
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n"),
              HasSubstr(":3: '1.5' is not a whole number, but the field of the file is 'integer'"));
  EXPECT_THAT(
      error<Complex>("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.5\n"),
      HasSubstr(":3: too few numbers for an entry: a line holds row, column, real part, imaginary part"));
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n"),
              HasSubstr(":3: unexpected '1' after the entry: a line holds row, column"));
  EXPECT_THAT(error("%%MatrixMarket matrix array real general\n2 1\n1 2\n"),
              HasSubstr(":3: unexpected '2' after the entry: a line holds value"));
}

TEST_F(MatrixMarket, ExplainsBadSymmetricEntries) {
  EXPECT_EQ(error(symmetric + "3 3 3\n1 1 1\n2 1 1\n2 3 1\n"),
            ":5: entry (2, 3) lies above the diagonal and an earlier one below it: a symmetric file holds "
            "one triangle; "
            "leave the other out, or say 'general'");
  EXPECT_THAT(error(symmetric + "3 3 3\n1 2 1\n2 2 1\n2 1 1\n"),
              HasSubstr(":5: entry (2, 1) lies below the diagonal and an earlier one above it"));
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n"),
            ":3: entry (2, 2) of a skew-symmetric matrix must be zero");
  EXPECT_EQ(error<Complex>("%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 1e-9\n"),
            ":3: entry (2, 2) of a hermitian matrix must be real");
  EXPECT_EQ(error<Complex>("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n\n2 1\n3 3\n"),
            ":6: entry (2, 2) of a hermitian matrix must be real");
}

TEST_F(MatrixMarket, ExplainsWrongNumbersOfEntries) {
  EXPECT_EQ(error(general + "2 2 3\n1 1 1\n2 2 2\n"),
            ": line 2 announces 3 entries, but the file holds only 2: it is cut off, or that line is wrong");
  EXPECT_EQ(error(general + "2 2 1\n1 1 1\n%\n2 2 2\n"), ":5: more entries than the 1 that line 2 announces");
  EXPECT_EQ(error(general + "2 2 1\n1 1 1\nthe end\n"), ":4: more entries than the 1 that line 2 announces");
  EXPECT_EQ(error(general + "2 2 0\n1 1 1\n"), ":3: more entries than the 0 that line 2 announces");
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n"),
            ": line 2 announces 4 entries (2 x 2), but the file holds only 3: it is cut off, or that line is "
            "wrong");
  EXPECT_EQ(error("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n4\n"),
            ":6: more entries than the 3 that line 2 announces");
}

TEST_F(MatrixMarket, ExplainsDamagedFiles) {
  std::map<std::pair<int, int>, double> sums;
  const std::string text = shuffled_text(50, 5000, "general", sums), gz = gzipped(text);
  for (const std::size_t size :
       {gz.size() - 1, gz.size() - 8, gz.size() / 2, std::size_t(20), std::size_t(5)}) {
    EXPECT_THAT(error(gz.substr(0, size), "bad.mtx.gz"), HasSubstr(": the gzip file is truncated")) << size;
  }
  std::string damaged = gz;
  damaged[gz.size() - 6] = static_cast<char>(damaged[gz.size() - 6] ^ 1);  // in the check sum
  EXPECT_THAT(error(damaged, "bad.mtx.gz"), HasSubstr(": the gzip file is corrupt"));
  EXPECT_EQ(error(general + "2 2 2\n1 1 1\n2 2 " + std::string(1, '\0') + "1\n"),
            ":4: a NUL byte: this is not a text file, or it is damaged");
  EXPECT_THAT(error(general + "2 2 1\n1 1 1\n" + std::string(300, '\0')), HasSubstr(":4: a NUL byte"));
  EXPECT_THAT(error(general + "2 2 1\n1 1 1\n% " + std::string(100000, 'x') + std::string(1, '\0') + "x\n"),
              HasSubstr(":4: a NUL byte"));
  const std::string zeros(70000, '0');
  EXPECT_EQ(error(general + "2 2 2\n1 1 1\n2 2 " + zeros + "\n"), ":4: the line has more than 65536 bytes");
  EXPECT_EQ(error(general + "2 2 2\n1 1 1\n" + std::string(70000, ' ') + "%\n"),
            ":4: the line has more than 65536 bytes");
  EXPECT_EQ(error(general + std::string(9000000, '7')), ":2: the line has more than 65536 bytes");
}

TEST_F(MatrixMarket, RefusesDuplicatesWhoseSumOverflows) {
  EXPECT_THAT(error(general + "2 2 2\n2 2 1e308\n2 2 1e308\n"),
              HasSubstr(": entries of row 2 stand in the file more"));
  EXPECT_THAT(vector_error(general + "2 1 2\n2 1 1e308\n2 1 1e308\n"),
              HasSubstr(": entry 2 stands in the file more"));
}

// -------------------------------------------------------------------------------------------------------------
// memory

std::int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(MatrixMarket, AllocatesNothingOnTheWordOfTheHeader) {
  const std::int64_t before = peak_kilobytes();
  EXPECT_EQ(error(general + "2000000000 2 1\n1 1 1\n"),
            ":2: the header announces 2000000000 rows while the file holds only 1 entries: no memory is "
            "spent on that many "
            "empty rows");
  EXPECT_THAT(error(general + "2 2 9000000000000000000\n1 1 1\n"),
              HasSubstr("announces 9000000000000000000 entries"));
  EXPECT_THAT(error("%%MatrixMarket matrix array real general\n2000000000 2000000000\n1\n"),
              HasSubstr("announces 4000000000000000000 entries"));
  EXPECT_THAT(error("%%MatrixMarket matrix array real general\n2000000000 0\n"),
              HasSubstr(":2: the header announces"));
  EXPECT_THAT(
      vector_error(general + "2000000000 1 1\n1 1 1\n"),
      HasSubstr(
          ":2: the header announces a vector of length 2000000000 while the file holds only 1 entries"));
  EXPECT_EQ(rows(general + "2 2147483647 1\n1 2147483647 1\n"), (Rows<double>{{{2147483646, 1.0}}, {}}));
  EXPECT_LE(peak_kilobytes() - before, 64000);
}

// ------------------------------------------------------------------------------------------------------------
// vectors

TEST_F(MatrixMarket, ReadsVectors) {
  const std::string array = "%%MatrixMarket matrix array real general\n";
  EXPECT_EQ(vector(array + "3 1\n1\n0\n-2.5\n", 3), (std::vector<double>{1, 0, -2.5}));
  EXPECT_EQ(vector(array + "1 3\n1\n0\n-2.5\n"), (std::vector<double>{1, 0, -2.5}));
  EXPECT_EQ(vector(array + "0 1\n"), std::vector<double>{});
  EXPECT_EQ(vector(general + "4 1 3\n4 1 1\n2 1 5\n4 1 2\n", 4), (std::vector<double>{0, 5, 0, 3}));
  EXPECT_EQ(vector(general + "1 4 1\n1 3 5\n", 4), (std::vector<double>{0, 0, 5, 0}));
  EXPECT_EQ(vector<float>("%%MatrixMarket matrix array integer general\n2 1\n1\n2\n"),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(vector<Complex>("%%MatrixMarket matrix array complex general\n1 1\n1 2\n"),
            (std::vector<Complex>{Complex(1, 2)}));
}

TEST_F(MatrixMarket, ExplainsBadVectors) {
  const std::string array = "%%MatrixMarket matrix array real general\n";
  EXPECT_EQ(vector_error(array + "3 1\n1\n2\n3\n", 4),
            ":2: holds a vector of length 3, but a vector of length 4 is wanted");
  EXPECT_EQ(vector_error(array + "3 2\n1\n2\n3\n4\n5\n6\n", 3),
            ":2: holds 3 x 2 numbers, but a vector of length 3 is wanted");
  EXPECT_EQ(vector_error(array + "3 2\n"), ":2: holds 3 x 2 numbers, but a vector is wanted");
  EXPECT_EQ(vector_error(array + "2 1\n1\nx\n"), ":4: 'x' is not a number");
}

// -------------------------------------------------------------------------------------------------------------
// writing

/// Values of all magnitudes, from random bits.
template <class Real>
Real random_number(std::mt19937_64& random) {
  for (;;) {
    const std::uint64_t bits = random();
    const auto value = sizeof(Real) == 4 ? Real(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                         : Real(std::bit_cast<double>(bits));
    if (std::isfinite(value)) return value;
  }
}
template <class Scalar>
Scalar random_scalar(std::mt19937_64& random) {
  if constexpr (std::is_arithmetic_v<Scalar>) {
    return random_number<Scalar>(random);
  } else {
    using Real = typename Scalar::value_type;
    const Real real = random_number<Real>(random);
    return Scalar(real, random_number<Real>(random));
  }
}

/// A symmetric pentadiagonal matrix with an empty row and random numbers.
template <class Scalar>
Matrix<Scalar> random_matrix(int n) {
  std::mt19937_64 random(3);
  std::map<std::pair<int, int>, Scalar> entries;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 2); j <= i; ++j) {
      if (i != 2 && j != 2) entries[{i, j}] = entries[{j, i}] = random_scalar<Scalar>(random);
    }
  }
  Matrix<Scalar> a(n, n, decltype(a.row_ptrs)("ptrs", n + 1), decltype(a.col_idxs)("cols", entries.size()),
                   decltype(a.values)("values", entries.size()));
  std::size_t k = 0;
  for (const auto& [place, value] : entries) {
    a.col_idxs(k) = place.second;
    a.values(k) = value;
    a.row_ptrs(place.first + 1) = ++k;
  }
  for (int i = 0; i < n; ++i) a.row_ptrs(i + 1) = std::max(a.row_ptrs(i), a.row_ptrs(i + 1));
  return a;
}

template <class Scalar>
void expect_same_bits(const Matrix<Scalar>& a, const Matrix<Scalar>& b) {
  ASSERT_EQ(a.num_rows, b.num_rows);
  ASSERT_EQ(a.num_cols, b.num_cols);
  ASSERT_EQ(a.nnz(), b.nnz());
  const auto n = static_cast<std::size_t>(a.num_rows), nnz = static_cast<std::size_t>(a.nnz());
  EXPECT_EQ(std::memcmp(a.row_ptrs.data(), b.row_ptrs.data(), (n + 1) * sizeof(std::size_t)), 0);
  EXPECT_EQ(std::memcmp(a.col_idxs.data(), b.col_idxs.data(), nnz * sizeof(int)), 0);
  EXPECT_EQ(std::memcmp(a.values.data(), b.values.data(), nnz * sizeof(Scalar)), 0);
}

template <class Scalar>
void expect_round_trips(const TemporaryFolder& folder) {
  const auto a = random_matrix<Scalar>(1001);
  for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
    for (const bool half : {false, true}) {
      write_matrix_market(folder / name, a, {half, "two lines\nof comment"});
      MatrixMarketInfo info;
      expect_same_bits(read_matrix_market<Scalar>(folder / name, &info), a);
      EXPECT_EQ(info.symmetry, half ? "symmetric" : "general");
    }
    EXPECT_EQ(read_bytes(folder / name).starts_with("\x1f\x8b"), name == "a.mtx.gz");
    write_vector_market(folder / name, a.values, "values");
    const auto x = read_vector_market<Scalar>(folder / name, a.nnz());
    EXPECT_EQ(std::memcmp(x.data(), a.values.data(), x.extent(0) * sizeof(Scalar)), 0);
  }
}

TEST_F(MatrixMarket, RoundTripsDouble) {
  expect_round_trips<double>(m_folder);
}
TEST_F(MatrixMarket, RoundTripsFloat) {
  expect_round_trips<float>(m_folder);
}
TEST_F(MatrixMarket, RoundTripsComplex) {
  expect_round_trips<Complex>(m_folder);
}

TEST_F(MatrixMarket, RoundTripsSingleComplex) {
  expect_round_trips<Kokkos::complex<float>>(m_folder);
}

TEST_F(MatrixMarket, WritesHermitianMatricesByTheirLowerTriangle) {
  const std::string text =
      "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 2 0\n2 1 0.5 -1\n2 2 3 0\n";
  const auto a = read<Complex>(text);
  ASSERT_EQ(a.nnz(), 4);
  EXPECT_EQ(a.values(1), Complex(0.5, 1));
  MatrixMarketWriteOptions options;
  options.hermitian = true;
  write_matrix_market(m_folder / "h.mtx", a, options);
  EXPECT_EQ(read_bytes(m_folder / "h.mtx"), text);
  const auto refusal = [&](const auto& matrix) {
    return message(m_folder / "out.mtx", [&](const auto& p) { write_matrix_market(p, matrix, options); });
  };
  const std::string banner = "%%MatrixMarket matrix coordinate complex ";
  EXPECT_THAT(refusal(read<Complex>(banner + "symmetric\n2 2 3\n1 1 2 0\n2 1 0.5 -1\n2 2 3 0\n")),
              HasSubstr("hermitian storage is for hermitian matrices: entries (1, 2) and (2, 1) differ"));
  EXPECT_THAT(refusal(read<Complex>(banner + "general\n1 1 1\n1 1 2 1\n")),
              HasSubstr("entries (1, 1) and (1, 1) differ"));
  EXPECT_THAT(refusal(read(general + "1 1 1\n1 1 2\n")),
              HasSubstr("hermitian storage is for complex matrices"));
}

TEST_F(MatrixMarket, TellsWhatTheFirstLinesSay) {
  const auto info_of = [&](const std::string& text) {
    write_matrix_market(m_folder / "i.mtx", read<Complex>(text), {});
    return read_matrix_market_info(m_folder / "i.mtx");
  };
  const MatrixMarketInfo info =
      info_of("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 1 1\n");
  EXPECT_EQ(info.format, "coordinate");
  EXPECT_EQ(info.field, "complex");
  EXPECT_EQ(info.symmetry, "general");
  EXPECT_EQ(info.entries_in_file, 3);
  EXPECT_THAT(message(m_folder / "none.mtx", [](const auto& p) { read_matrix_market_info(p); }),
              HasSubstr("cannot be opened"));
}

TEST_F(MatrixMarket, WritesShortNumbersAndComments) {
  const auto a = read(symmetric + "2 2 2\n1 1 0.1\n2 1 1e100\n");
  write_matrix_market(m_folder / "b.mtx", a, {true, "first\n\nthird"});
  EXPECT_EQ(read_bytes(m_folder / "b.mtx"), symmetric + "% first\n% \n% third\n2 2 2\n1 1 0.1\n2 1 1e+100\n");
  write_matrix_market(m_folder / "b.mtx", CsrView<double, Kokkos::HostSpace>(a));
  EXPECT_EQ(read_bytes(m_folder / "b.mtx"), general + "2 2 3\n1 1 0.1\n1 2 1e+100\n2 1 1e+100\n");
  write_vector_market(m_folder / "x.mtx", a.values);
  EXPECT_EQ(read_bytes(m_folder / "x.mtx"),
            "%%MatrixMarket matrix array real general\n3 1\n0.1\n1e+100\n1e+100\n");
}

TEST_F(MatrixMarket, ExplainsWhatCannotBeWritten) {
  const auto write = [&](const Matrix<double>& a, bool half) {
    return message(m_folder / "out.mtx", [&](const auto& p) { write_matrix_market(p, a, {half, ""}); });
  };
  EXPECT_THAT(write(read(general + "2 2 1\n1 2 1\n"), true), HasSubstr("entries (1, 2) and (2, 1) differ"));
  EXPECT_THAT(write(read(general + "2 2 2\n1 2 1\n2 1 2\n"), true),
              HasSubstr("entries (1, 2) and (2, 1) differ"));
  EXPECT_THAT(write(read(general + "2 3 0\n"), true), HasSubstr("for square matrices"));
  EXPECT_FALSE(std::filesystem::exists(m_folder / "out.mtx"));
  const auto a = read(general + "1 1 1\n1 1 1\n");
  EXPECT_EQ(message(m_folder / "none/out.mtx", [&](const auto& p) { write_matrix_market(p, a); }),
            ": cannot be written: No such file or directory");
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_THAT(message("/dev/full", [&](const auto& p) { write_matrix_market(p, a); }),
                HasSubstr("cannot be written to its end: No space left"));
  }
}

/// The files of unit_tests/matrices, one of every format, field and symmetry.
TEST(TestMatrices, AreReadAsTheirHeadersSay) {
  struct File {
    std::string name, format, field, symmetry;
    std::int64_t num_rows, num_cols;
    std::size_t entries;
  };
  const std::vector<File> files = {
      {"spd/poisson2d_jumps.mtx", "coordinate", "real", "symmetric", 121, 121, 561},
      {"spd/graph_laplacian.mtx", "coordinate", "integer", "symmetric", 80, 80, 300},
      {"general/circuit.mtx", "coordinate", "real", "general", 222, 222, 1320},
      {"general/skew.mtx", "coordinate", "real", "skew-symmetric", 30, 30, 112},
      {"general/links.mtx", "coordinate", "pattern", "general", 40, 40, 149},
      {"general/dense.mtx", "array", "real", "general", 12, 12, 144},
      {"general/rectangular.mtx", "coordinate", "real", "general", 14, 9, 42},
      {"complex/magnetic.mtx", "coordinate", "complex", "hermitian", 36, 36, 156},
      {"complex/helmholtz.mtx", "coordinate", "complex", "symmetric", 49, 49, 217}};
  for (const File& file : files) {
    SCOPED_TRACE(file.name);
    MatrixMarketInfo info;
    const auto a = read_matrix_market<Complex>((own_matrices() / file.name).string(), &info);
    EXPECT_EQ(info.format, file.format);
    EXPECT_EQ(info.field, file.field);
    EXPECT_EQ(info.symmetry, file.symmetry);
    EXPECT_EQ(a.num_rows, file.num_rows);
    EXPECT_EQ(a.num_cols, file.num_cols);
    EXPECT_EQ(a.col_idxs.extent(0), file.entries);
    if (file.symmetry == "general") continue;
    std::map<std::pair<int, int>, Complex> entries;
    const auto rows = rows_of(a);
    for (int i = 0; i < a.num_rows; ++i)
      for (const auto& [j, value] : rows[i]) entries[{i, j}] = value;
    for (const auto& [place, value] : entries) {
      const Complex mirrored = entries.at({place.second, place.first});
      EXPECT_EQ(mirrored, file.symmetry == "hermitian"        ? Kokkos::conj(value)
                          : file.symmetry == "skew-symmetric" ? -value
                                                              : value);
    }
  }
}

}  // namespace
}  // namespace prekond::testing
