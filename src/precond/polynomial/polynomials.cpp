// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/polynomial/polynomials.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace prekond {

double Polynomial::operator()(double t) const {
  if (steps.empty()) return constant;
  double before = 1, now = steps[0].product * t + steps[0].direct;
  for (std::size_t j = 1; j < steps.size(); ++j) {
    const Step& step = steps[j];
    const double next =
        (step.product * t + step.direct) * now + (j > 1 ? step.previous * before : 0) + step.source;
    before = now;
    now = next;
  }
  return now;
}

namespace impl::polynomial {
namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;

/// The angle theta_i of the i-th of n Chebyshev points cos(theta_i).
long double angle(int i, int n) {
  return pi * (2 * i + 1) / (2 * n);
}

}  // namespace

Polynomial from_recurrence(double first, std::vector<Polynomial::Step> steps) {
  Polynomial result;
  result.constant = first;
  if (!steps.empty()) {
    steps[0] = {first * steps[0].product, first * steps[0].direct + steps[0].source, 0, 0};
    if (steps.size() > 1) {
      steps[1].source += first * steps[1].previous;
      steps[1].previous = 0;
    }
  }
  result.steps = std::move(steps);
  return result;
}

Polynomial chebyshev_series(double l, double u, const std::vector<long double>& c) {
  const int degree = static_cast<int>(c.size()) - 1;
  const long double width = static_cast<long double>(u) - l;
  const double slope = static_cast<double>(2 / width),
               shift = static_cast<double>(-(static_cast<long double>(u) + l) / width);
  std::vector<Polynomial::Step> steps;
  for (int j = degree - 1; j >= 0; --j) {
    const double factor = j > 0 ? 2 : 1;  // the last one is c_0 + x y_1 - y_2
    steps.push_back({factor * slope, factor * shift, -1, static_cast<double>(c[j])});
  }
  return from_recurrence(static_cast<double>(c[degree]), std::move(steps));
}

Polynomial interpolated(double l, double u, int degree, const std::function<long double(long double)>& f) {
  const int n = degree + 1;
  const long double center = (static_cast<long double>(u) + l) / 2,
                    half = (static_cast<long double>(u) - l) / 2;
  std::vector<long double> c(n, 0);
  for (int i = 0; i < n; ++i) {
    const long double value = f(center + half * std::cos(angle(i, n)));
    for (int j = 0; j < n; ++j) c[j] += value * std::cos(j * angle(i, n));
  }
  for (int j = 0; j < n; ++j) c[j] *= (j == 0 ? 1.0L : 2.0L) / n;
  return chebyshev_series(l, u, c);
}

/// With sigma = (u + l) / (u - l) and x = (u + l - 2 t) / (u - l), the Stieltjes procedure's result in this
/// inner product is 1 - t s(t) = sum_n w_n T_n(sigma) T_n(x) / S, S = sum_n w_n T_n(sigma)^2, w_0 = 1, w_n =
/// 2: the kernel polynomial. By
///   (T_n(sigma) - T_n(x)) / (sigma - x) = sum_(j < n) w_j U_(n-1-j)(sigma) T_j(x)
/// s has the coefficients c_j = 2 w_j / ((u - l) S) sum_(n > j) w_n T_n(sigma) U_(n-1-j)(sigma), sums of
/// positive terms: each is exact to rounding, however small. The procedure itself, in floating point, has the
/// small ones to the rounding of the largest; for t < l, where T_j(x) grows, they would be noise.
Polynomial least_squares(double l, double u, int degree) {
  const int n = degree + 1;
  const long double width = static_cast<long double>(u) - l,
                    sigma = (static_cast<long double>(u) + l) / width;
  // T_j and U_j of sigma over growth^j, which their ratios tend to: they have room for any interval.
  const long double growth = sigma + std::sqrt((sigma - 1) * (sigma + 1));
  std::vector<long double> first(n + 1), second(n + 1);
  first[0] = second[0] = 1;
  first[1] = sigma / growth;
  second[1] = 2 * sigma / growth;
  for (int j = 2; j <= n; ++j) {
    first[j] = (2 * sigma * first[j - 1] - first[j - 2] / growth) / growth;
    second[j] = (2 * sigma * second[j - 1] - second[j - 2] / growth) / growth;
  }
  // S and the sums, over growth^(2 n).
  long double square = 0;
  for (int j = 0; j <= n; ++j)
    square += (j > 0 ? 2 : 1) * first[j] * first[j] * std::pow(growth, 2.0L * (j - n));
  std::vector<long double> c(n);
  for (int j = 0; j < n; ++j) {
    long double sum = 0;
    for (int i = j + 1; i <= n; ++i)
      sum += 2 * first[i] * second[i - 1 - j] * std::pow(growth, 2.0L * (i - n) - 1 - j);
    c[j] = (j > 0 ? 4 : 2) * (j % 2 == 1 ? -sum : sum) / (width * square);
  }
  return chebyshev_series(l, u, c);
}

Polynomial chebyshev_first(double l, double u, int degree) {
  const long double center = (static_cast<long double>(u) + l) / 2,
                    half = (static_cast<long double>(u) - l) / 2;
  const long double sigma = center / half;
  long double rho = 1 / sigma;
  std::vector<Polynomial::Step> steps;
  for (int j = 0; j < degree; ++j) {
    const long double next = 1 / (2 * sigma - rho);
    const auto product = static_cast<double>(2 * next / half);
    steps.push_back(
        {-product, static_cast<double>(2 * next * sigma), static_cast<double>(-next * rho), product});
    rho = next;
  }
  return from_recurrence(static_cast<double>(1 / center), std::move(steps));
}

Polynomial chebyshev_fourth(double u, int degree) {
  std::vector<Polynomial::Step> steps;
  for (int j = 1; j <= degree; ++j) {
    const double factor = 2.0 * (2 * j + 1) / (2 * j + 3);
    steps.push_back({-2 * factor / u, factor, -(2.0 * j - 1) / (2 * j + 3), 2 * factor / u});
  }
  return from_recurrence(4 / (3 * u), std::move(steps));
}

Polynomial chebyshev_fourth_optimized(double u, const std::vector<double>& beta) {
  const int degree = static_cast<int>(beta.size()) - 1;
  // s = sum of beta_i (s_i - s_(i-1)), with the plain method's s_i, s_0 = 0.
  const auto s = [&](long double t) {
    long double before = 0, now = 4 / (3 * static_cast<long double>(u)), sum = beta[0] * now;
    for (int j = 1; j <= degree; ++j) {
      const long double factor = 2.0L * (2 * j + 1) / (2 * j + 3);
      const long double next = factor * ((1 - 2 * t / u) * now + 2 / static_cast<long double>(u)) -
                               (2.0L * j - 1) / (2 * j + 3) * before;
      sum += beta[j] * (next - now);
      before = now;
      now = next;
    }
    return sum;
  };
  return interpolated(0, u, degree, s);
}

Polynomial neumann(double omega, int degree) {
  std::vector<Polynomial::Step> steps(degree, {-omega, 1, 0, omega});
  return from_recurrence(omega, std::move(steps));
}

}  // namespace impl::polynomial
}  // namespace prekond
