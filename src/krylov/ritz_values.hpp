// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The Ritz values of a Hessenberg matrix and their order as shifts of a Newton basis, on the host.
#include <prekond/core/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace prekond::krylov {

using ComplexMatrix = std::vector<std::vector<std::complex<double>>>;

/// A step of the QR method with shift mu on rows and columns first .. last: H - mu I = Q R, H = R Q + mu I.
inline void qr_step(ComplexMatrix& h, int first, int last, std::complex<double> mu) {
  struct Rotation {
    double cosine;
    std::complex<double> sine;
  };
  std::vector<Rotation> rotations(last - first);
  for (int i = first; i <= last; ++i) h[i][i] -= mu;
  for (int k = first; k < last; ++k) {
    const std::complex<double> a = h[k][k], b = h[k + 1][k];
    const double size = std::abs(a), hypotenuse = std::hypot(size, std::abs(b));
    Rotation& g = rotations[k - first];
    g.cosine = hypotenuse > 0 ? size / hypotenuse : 1;
    g.sine = hypotenuse > 0 ? (size > 0 ? a / size : 1) * std::conj(b) / hypotenuse : 0;
    for (int j = k; j <= last; ++j) {
      const std::complex<double> upper = h[k][j], lower = h[k + 1][j];
      h[k][j] = g.cosine * upper + g.sine * lower;
      h[k + 1][j] = g.cosine * lower - std::conj(g.sine) * upper;
    }
  }
  for (int k = first; k < last; ++k) {
    const Rotation& g = rotations[k - first];
    for (int i = first; i <= std::min(k + 1, last); ++i) {
      const std::complex<double> left = h[i][k], right = h[i][k + 1];
      h[i][k] = g.cosine * left + std::conj(g.sine) * right;
      h[i][k + 1] = g.cosine * right - g.sine * left;
    }
  }
  for (int i = first; i <= last; ++i) h[i][i] += mu;
}

/// Wilkinson's shift: the eigenvalue of the last 2 x 2 block that is nearer to its last entry.
inline std::complex<double> wilkinson_shift(const ComplexMatrix& h, int last) {
  const std::complex<double> a = h[last - 1][last - 1], d = h[last][last],
                             bc = h[last - 1][last] * h[last][last - 1], half = (a - d) / 2.0,
                             root = std::sqrt(half * half + bc);
  const std::complex<double> one = d + half + root, other = d + half - root;
  return std::abs(one - d) < std::abs(other - d) ? one : other;
}

/// The eigenvalues of an upper Hessenberg matrix, by the QR method with Wilkinson's shifts. Empty where the
/// method does not converge, or an entry is not finite.
///
/// Cost: about 10 n^3 operations.
inline std::vector<std::complex<double>> hessenberg_eigenvalues(ComplexMatrix h) {
  const int n = static_cast<int>(h.size());
  for (const auto& row : h)
    for (const auto& entry : row)
      if (!std::isfinite(entry.real()) || !std::isfinite(entry.imag())) return {};
  constexpr int most_steps = 40;  // an eigenvalue takes 2 or 3
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  std::vector<std::complex<double>> values;
  int steps = 0;
  for (int last = n - 1; last >= 0;) {
    int first = last;
    for (; first > 0; --first) {
      const double beside = std::abs(h[first - 1][first - 1]) + std::abs(h[first][first]);
      if (std::abs(h[first][first - 1]) <= epsilon * beside) break;
    }
    if (first == last) {
      values.push_back(h[last][last]);
      --last;
      steps = 0;
      continue;
    }
    if (++steps > most_steps) return {};
    // Every tenth shift is an exceptional one, for matrices that the usual shifts do not change.
    const bool usual = steps % 10 != 0;
    qr_step(h, first, last, usual ? wilkinson_shift(h, last) : h[last][last] + std::abs(h[last][last - 1]));
  }
  return values;
}

/// Leja's order: first the largest in absolute value, then always the value with the largest product of
/// distances to those before it. With `pairs` a value with an imaginary part is followed by its conjugate; a
/// value whose conjugate was lost to rounding errors gets it or is dropped, so the number of values may
/// change.
///
/// Source: Bai, Hu, Reichel, IMA J. Numer. Anal. 14 (1994), section 2.
inline std::vector<std::complex<double>> leja_order(std::vector<std::complex<double>> values, bool pairs) {
  if (pairs) {  // keeps one value of each pair; a value that equals its conjugate but for rounding is real
    for (auto& value : values)
      if (std::abs(value.imag()) <= 1e-8 * std::abs(value)) value = value.real();
    std::erase_if(values, [](const auto& value) { return value.imag() < 0; });
  }
  // Values are scaled by a power of two, so that a matrix times a power of two has the same order.
  double largest_value = 0;
  for (const auto& value : values) largest_value = std::max(largest_value, std::abs(value));
  const double unit = largest_value > 0 ? std::ldexp(1.0, std::ilogb(largest_value)) : 1;
  for (auto& value : values) value /= unit;
  std::vector<std::complex<double>> ordered;
  while (!values.empty()) {
    std::size_t best = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < values.size(); ++k) {
      double distances = ordered.empty() ? std::log(std::abs(values[k])) : 0;
      for (const auto& other : ordered) distances += std::log(std::abs(values[k] - other));
      if (distances > largest) {
        largest = distances;
        best = k;
      }
    }
    ordered.push_back(values[best]);
    if (pairs && values[best].imag() > 0) ordered.push_back(std::conj(values[best]));
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(best));
  }
  for (auto& value : ordered) value *= unit;
  return ordered;
}

}  // namespace prekond::krylov
