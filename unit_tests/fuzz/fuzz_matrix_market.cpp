// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The bytes are a Matrix Market file. It is read or refused, in the same way from blocks of any size, from
/// gzip and in shares; a matrix that is read is a valid one, and is the same after it is written and read.
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/validate.hpp>

#include <sys/resource.h>

#include <sstream>

#include "fuzz/fuzz_input.hpp"
#include "testing/market_shares.hpp"
#include "testing/temporary_folder.hpp"

namespace prekond::fuzz {
namespace {

using testing::HostMatrix;

/// A matrix, or the text of the refusal.
template <class Scalar>
struct Result {
  HostMatrix<Scalar> matrix;
  std::string error;
};

template <class Scalar, class Read>
Result<Scalar> result_of(const std::string& name, const Read& read) {
  try {
    return {read(), ""};
  } catch (const InputError& error) {
    check_refusal(error, name.size() + 400);
    const std::string what = error.what();
    check(what.starts_with(name + ":") && what.find('\n') == what.npos, "no place, or no line: " + what);
    return {{}, what};
  }
}

template <class Scalar>
Result<Scalar> read(const std::string& name, std::size_t block_size) {
  return result_of<Scalar>(name, [&] { return MatrixMarketFile(name, block_size).read<Scalar>(); });
}

/// The same text, but for a file of another kind: that is guessed from the first block.
bool is_same_error(const std::string& one, const std::string& other) {
  const auto is_foreign = [](const std::string& error) {
    return error.find("not a Matrix Market file") != error.npos;
  };
  return one == other || (!one.empty() && !other.empty() && (is_foreign(one) || is_foreign(other)));
}

template <class Scalar>
void check_same(const Result<Scalar>& one, const Result<Scalar>& other, const std::string& how) {
  check(is_same_error(one.error, other.error), how + ": '" + other.error + "', not '" + one.error + "'");
  const std::string where = testing::difference<Scalar>({other.matrix}, one.matrix);
  check(!one.error.empty() || where.empty(), how + ": another matrix, " + where);
}

/// As processes read it.
template <class Scalar>
void check_shares(const std::string& name, const Result<Scalar>& whole, int parts, std::size_t block_size) {
  std::vector<HostMatrix<Scalar>> rows;
  const auto shares = result_of<Scalar>(name, [&] {
    rows = testing::SharedReading<Scalar>(name, parts, block_size).rows;
    return HostMatrix<Scalar>();
  });
  check(is_same_error(whole.error, shares.error),
        "in shares: '" + shares.error + "', not '" + whole.error + "'");
  const std::string where = whole.error.empty() ? testing::difference(rows, whole.matrix) : "";
  check(where.empty(), "in shares: another matrix, " + where);
}

template <class Scalar>
void check_text(const std::string& text) {
  static MemoryFile file, copy;
  const std::size_t some = std::hash<std::string>()(text);
  const std::string& name = file.write(text);
  const auto whole = read<Scalar>(name, std::size_t(1) << 16);
  count(whole.error.empty() ? "read" : "refused");
  check_same(whole, read<Scalar>(name, 20 + some % 200), "in small blocks");
  check_shares<Scalar>(name, whole, 1 + static_cast<int>(some % 5), 20 + some % 97);
  if (some % 4 == 0) {
    file.write(testing::gzipped(text));
    check_same(whole, read<Scalar>(name, 20 + some % 300), "compressed");
  }
  if (!whole.error.empty()) return;
  validate<Scalar, Kokkos::DefaultHostExecutionSpace>({}, whole.matrix);
  copy.write("");
  write_matrix_market(copy.name(), whole.matrix);
  check_same(whole, read<Scalar>(copy.name(), 1000), "after it is written");
}

/// The text with the number of entries that it has: without that, most mutations end at the size line.
std::string with_right_size(const std::string& text) {
  const auto format = text.find("coordinate");
  const auto begin = text.find_first_of("0123456789", format == text.npos ? text.size() : format);
  const auto end = text.find('\n', begin);
  if (begin == text.npos || end == text.npos) return text;
  const auto size = text.find_last_of(' ', end);
  if (size <= begin || size == text.npos) return text;
  int lines = 0;
  std::istringstream rest(text.substr(end + 1));
  for (std::string line; std::getline(rest, line);) {
    const auto first = line.find_first_not_of(" \t\r");
    lines += first != line.npos && line[first] != '%';
  }
  return text.substr(0, size) + " " + std::to_string(lines) + text.substr(end);
}

/// The most memory that this process ever had, in kilobytes.
std::int64_t peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace
}  // namespace prekond::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prekond::fuzz;
  const std::int64_t before = peak();
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& variant : {text, with_right_size(text)}) {
    if (text.find("complex") != text.npos)
      check_text<Kokkos::complex<double>>(variant);
    else
      check_text<double>(variant);
  }
  // The reader's promise is 64 MB and 40 bytes a byte of text, and there are up to three matrices at a time;
  // sanitizers take more.
  check(PREKOND_FUZZ_SANITIZED || peak() - before <= 3 * (64000 + static_cast<std::int64_t>(size) / 25 + 1),
        "too much memory");
  return 0;
}
