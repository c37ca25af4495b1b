// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include "matrix/find_entry.hpp"

#include "matrix/io/text_input.hpp"

#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace prekond::impl {
namespace {

/// A text file, gzip when its name ends in ".gz".
class TextOutput {
 public:
  explicit TextOutput(const std::string& path) : m_path(path) {
    errno = 0;
    m_file = gzopen(path.c_str(), path.ends_with(".gz") ? "wbe" : "wbTe");  // T: as it is, without gzip
    if (m_file == nullptr) fail("cannot be written: ");
    m_buffer.reserve(flush_size + 4096);
  }
  TextOutput(const TextOutput&) = delete;
  ~TextOutput() {
    if (m_file != nullptr) gzclose_w(m_file);
  }

  TextOutput& operator<<(std::string_view text) {
    m_buffer += text;
    if (m_buffer.size() >= flush_size) flush();
    return *this;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> TextOutput& operator<<(Number number) {
    char text[64];
    return *this << std::string_view(text, std::to_chars(text, text + sizeof text, number).ptr);
  }
  template <class Real>
  TextOutput& operator<<(const Kokkos::complex<Real>& number) {
    return *this << number.real() << " " << number.imag();
  }

  /// Hands everything to the system. \throws InputError
  void close() {
    flush();
    errno = 0;
    if (gzclose_w(std::exchange(m_file, nullptr)) != Z_OK) fail("cannot be written to its end: ");
  }

 private:
  static constexpr std::size_t flush_size = std::size_t(1) << 20;

  void flush() {
    errno = 0;
    if (!m_buffer.empty() && gzwrite(m_file, m_buffer.data(), static_cast<unsigned>(m_buffer.size())) <= 0)
      fail("cannot be written to its end: ");
    m_buffer.clear();
  }
  [[noreturn]] void fail(const char* what) const {
    fail_in_file(m_path, 0, what, errno != 0 ? std::strerror(errno) : "zlib failed");
  }

  std::string m_path;
  gzFile m_file = nullptr;
  std::string m_buffer;
};

template <class Scalar>
void write_head(TextOutput& out, const char* format, const char* symmetry, std::string_view comment) {
  out << "%%MatrixMarket matrix " << format << (is_complex<Scalar> ? " complex " : " real ") << symmetry
      << "\n";
  while (!comment.empty()) out << "% " << take_line(comment) << "\n";
}

/// \throws InputError that names the first entry without an equal mirror image, conjugated for `hermitian`
template <class Scalar>
void check_symmetric(const std::string& path, const CsrView<Scalar, Kokkos::HostSpace>& a, bool hermitian) {
  const std::string word = hermitian ? "hermitian" : "symmetric";
  if (hermitian && !is_complex<Scalar>)
    fail_in_file(path, 0, "hermitian storage is for complex matrices: say 'symmetric'");
  if (a.num_rows != a.num_cols) fail_in_file(path, 0, word, " storage is for square matrices");
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      const int j = a.col_idxs(k);
      std::size_t place = 0;
      const Scalar mirror = find_entry(a, j, i, place);
      if (place < a.row_ptrs(j + 1) && (hermitian ? conjugate(mirror) : mirror) == a.values(k)) continue;
      fail_in_file(path, 0, word, " storage is for ", word, " matrices: entries (", i + 1, ", ", j + 1,
                   ") and (", j + 1, ", ", i + 1, ") differ");
    }
  }
}

}  // namespace

template <class Scalar>
void write_matrix_market(const std::string& path, const CsrView<Scalar, Kokkos::HostSpace>& a,
                         const MatrixMarketWriteOptions& options) {
  const bool triangle = options.symmetric || options.hermitian;
  if (triangle) check_symmetric<Scalar>(path, a, options.hermitian);
  const auto for_each_entry = [&](const auto& visit) {
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
        if (!triangle || a.col_idxs(k) <= i) visit(i, k);
  };
  std::int64_t entries = 0;
  for_each_entry([&](std::int64_t, std::size_t) { ++entries; });
  TextOutput out(path);
  const char* symmetry = options.hermitian ? "hermitian" : triangle ? "symmetric" : "general";
  write_head<Scalar>(out, "coordinate", symmetry, options.comment);
  out << a.num_rows << " " << a.num_cols << " " << entries << "\n";
  for_each_entry([&](std::int64_t i, std::size_t k) {
    out << i + 1 << " " << a.col_idxs(k) + 1 << " " << a.values(k) << "\n";
  });
  out.close();
}

template <class Scalar>
void write_vectors_market(const std::string& path, const MultiVectorView<const Scalar, Kokkos::HostSpace>& x,
                          const std::string& comment) {
  TextOutput out(path);
  write_head<Scalar>(out, "array", "general", comment);
  out << x.extent(0) << " " << x.extent(1) << "\n";
  for (std::size_t k = 0; k < x.extent(1); ++k)
    for (std::size_t i = 0; i < x.extent(0); ++i) out << x(i, k) << "\n";
  out.close();
}

#define PREKOND_MARKET_WRITER(Scalar)                                                                      \
  template void write_matrix_market<Scalar>(const std::string&, const CsrView<Scalar, Kokkos::HostSpace>&, \
                                            const MatrixMarketWriteOptions&);                              \
  template void write_vectors_market<Scalar>(                                                              \
      const std::string&, const MultiVectorView<const Scalar, Kokkos::HostSpace>&, const std::string&);
PREKOND_MARKET_WRITER(double)
PREKOND_MARKET_WRITER(float)
PREKOND_MARKET_WRITER(Kokkos::complex<double>)
PREKOND_MARKET_WRITER(Kokkos::complex<float>)

}  // namespace prekond::impl
