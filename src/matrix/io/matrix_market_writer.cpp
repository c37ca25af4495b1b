// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include "matrix/io/text_input.hpp"

#include <zlib.h>

#include <algorithm>
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
  TextOutput& operator=(const TextOutput&) = delete;
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
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    return *this << std::string_view(text, static_cast<std::size_t>(end - text));
  }
  template <class Real>
  TextOutput& operator<<(const Kokkos::complex<Real>& number) {
    return *this << number.real() << " " << number.imag();
  }

  /// Everything is on its way to the disk, or this throws.
  void close() {
    flush();
    errno = 0;
    if (gzclose_w(std::exchange(m_file, nullptr)) != Z_OK) fail("cannot be written to its end: ");
  }

 private:
  static constexpr std::size_t flush_size = std::size_t(1) << 20;

  void flush() {
    errno = 0;
    if (!m_buffer.empty() && gzwrite(m_file, m_buffer.data(), static_cast<unsigned>(m_buffer.size())) <= 0) {
      fail("cannot be written to its end: ");
    }
    m_buffer.clear();
  }
  [[noreturn]] void fail(const std::string& what) const {
    fail_in_file(m_path, 0, what + (errno != 0 ? std::strerror(errno) : "zlib failed"));
  }

  std::string m_path;
  gzFile m_file = nullptr;
  std::string m_buffer;
};

template <class Scalar>
constexpr std::string_view field = "real";
template <class Real>
constexpr std::string_view field<Kokkos::complex<Real>> = "complex";

void write_comment(TextOutput& out, std::string_view comment) {
  while (!comment.empty()) out << "% " << take_line(comment) << "\n";
}

/// \throws InputError that names the first entry without an equal mirror image, conjugated where that is
/// meant
template <class Scalar>
void check_symmetric(const std::string& path, const CsrView<Scalar, Kokkos::HostSpace>& a, bool conjugated) {
  const std::string word = conjugated ? "hermitian" : "symmetric";
  if (a.num_rows != a.num_cols) fail_in_file(path, 0, word + " storage is for square matrices");
  const int* const cols = a.col_idxs.data();
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      const int j = cols[k];
      const int *begin = cols + a.row_ptrs(j), *end = cols + a.row_ptrs(j + 1);
      const int* found = std::lower_bound(begin, end, static_cast<int>(i));
      const bool stored = found != end && *found == i;
      const Scalar mirror = stored ? a.values(static_cast<std::size_t>(found - cols)) : Scalar(0);
      if (!stored || (conjugated ? conjugate(mirror) : mirror) != a.values(k)) {
        fail_in_file(path, 0,
                     word + " storage is for " + word + " matrices: entries (" + std::to_string(i + 1) +
                         ", " + std::to_string(j + 1) + ") and (" + std::to_string(j + 1) + ", " +
                         std::to_string(i + 1) + ") differ");
      }
    }
  }
}

}  // namespace

template <class Scalar>
void write_matrix_market(const std::string& path, const CsrView<Scalar, Kokkos::HostSpace>& a,
                         const MatrixMarketWriteOptions& options) {
  const bool triangle = options.symmetric || options.hermitian;
  if (options.hermitian && !is_complex<Scalar>)
    fail_in_file(path, 0, "hermitian storage is for complex matrices: say 'symmetric'");
  if (triangle) check_symmetric<Scalar>(path, a, options.hermitian);
  const auto is_written = [&](std::int64_t i, std::size_t k) { return !triangle || a.col_idxs(k) <= i; };
  std::int64_t entries = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) entries += is_written(i, k);
  }
  TextOutput out(path);
  out << "%%MatrixMarket matrix coordinate "
      << field<Scalar> << (options.hermitian ? " hermitian\n" : triangle ? " symmetric\n" : " general\n");
  write_comment(out, options.comment);
  out << a.num_rows << " " << a.num_cols << " " << entries << "\n";
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      if (is_written(i, k)) out << i + 1 << " " << a.col_idxs(k) + 1 << " " << a.values(k) << "\n";
    }
  }
  out.close();
}

template <class Scalar>
void write_vector_market(const std::string& path, const VectorView<const Scalar, Kokkos::HostSpace>& x,
                         const std::string& comment) {
  TextOutput out(path);
  out << "%%MatrixMarket matrix array " << field<Scalar> << " general\n";
  write_comment(out, comment);
  out << x.extent(0) << " 1\n";
  for (std::size_t i = 0; i < x.extent(0); ++i) out << x(i) << "\n";
  out.close();
}

template <class Scalar>
using HostMatrix = CsrView<Scalar, Kokkos::HostSpace>;
template <class Scalar>
using HostVector = VectorView<const Scalar, Kokkos::HostSpace>;
using Complex = Kokkos::complex<double>;
using SingleComplex = Kokkos::complex<float>;

template void write_matrix_market<double>(const std::string&, const HostMatrix<double>&,
                                          const MatrixMarketWriteOptions&);
template void write_matrix_market<float>(const std::string&, const HostMatrix<float>&,
                                         const MatrixMarketWriteOptions&);
template void write_matrix_market<Complex>(const std::string&, const HostMatrix<Complex>&,
                                           const MatrixMarketWriteOptions&);
template void write_matrix_market<SingleComplex>(const std::string&, const HostMatrix<SingleComplex>&,
                                                 const MatrixMarketWriteOptions&);
template void write_vector_market<double>(const std::string&, const HostVector<double>&, const std::string&);
template void write_vector_market<float>(const std::string&, const HostVector<float>&, const std::string&);
template void write_vector_market<Complex>(const std::string&, const HostVector<Complex>&,
                                           const std::string&);
template void write_vector_market<SingleComplex>(const std::string&, const HostVector<SingleComplex>&,
                                                 const std::string&);

}  // namespace prekond::impl
