// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The fault of a matrix that should be symmetric positive definite, in words. Rows and columns are
/// given from 0, and counted from 1 in the texts.
#include <prekond/core/scalar.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace prekond::impl {

/// The shorter of two texts that read back as the same number.
inline std::string real_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  double back = 0;
  char shorter[32];
  std::snprintf(shorter, sizeof shorter, "%.6g", x);
  return std::sscanf(shorter, "%lf", &back) == 1 && back == x ? shorter : text;
}

/// "2", or "2 - 3i"
template <class Scalar>
std::string number_text(double real, double imaginary) {
  if (!is_complex<Scalar>) return real_text(real);
  return real_text(real) + (imaginary < 0 ? " - " : " + ") + real_text(std::abs(imaginary)) + "i";
}

inline std::string entry_text(std::int64_t row, std::int64_t col) {
  return "(" + std::to_string(row + 1) + ", " + std::to_string(col + 1) + ")";
}

/// `value`: of the diagonal entry, as text, or "missing".
template <class Scalar>
std::string bad_diagonal_text(std::int64_t row, const std::string& value) {
  return "the diagonal entry of row " + std::to_string(row + 1) + " is " + value +
         (is_complex<Scalar> ? "; a Hermitian positive definite matrix has a real, positive diagonal"
                             : "; a symmetric positive definite matrix has a positive diagonal");
}

inline constexpr const char* advice_of_asymmetry =
    "; use a solver for general matrices, such as bicgstab or gmres, and a preconditioner for them";

/// `mirror`: of entry (col, row), as text, or "missing (0)".
template <class Scalar>
std::string asymmetry_text(std::int64_t row, std::int64_t col, const std::string& value,
                           const std::string& mirror) {
  return std::string("the matrix is not ") + (is_complex<Scalar> ? "Hermitian" : "symmetric") + ": entry " +
         entry_text(row, col) + " is " + value + ", entry " + entry_text(col, row) + " is " + mirror +
         advice_of_asymmetry;
}

}  // namespace prekond::impl
