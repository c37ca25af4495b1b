// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The choice of a polynomial by the options and the spectrum: the interval, then p.
#include <prekond/core/error.hpp>
#include <prekond/precond/polynomial.hpp>

#include "precond/polynomial/polynomials.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace prekond {

OptionMap PolynomialOptions::chebyshev_preset() {
  return {{"kind", std::string("first")}, {"degree", std::int64_t(3)}};
}

OptionMap PolynomialOptions::neumann_preset() {
  return {{"kind", std::string("neumann")}, {"degree", std::int64_t(2)}};
}

PolynomialOptions PolynomialOptions::with(const OptionMap& preset) {
  PolynomialOptions options;
  OptionFields::of(options).set(preset, name);
  return options;
}

const char* PolynomialOptions::name_of_kind() const {
  if (is_chebyshev()) return "chebyshev";
  return kind == PolynomialKind::neumann ? "neumann" : "ls_polynomial";
}

void PolynomialOptions::resolve() const {
  const bool is_first = kind == PolynomialKind::first;
  const bool is_least_squares = kind == PolynomialKind::least_squares;
  const std::string method = name_of_kind();
  const auto refuse = [&](bool is_set, const char* option, const char* why) {
    if (is_set) throw OptionError(method + ": " + option + " is for " + why + "; leave it out");
  };
  refuse(lambda_min > 0 && !is_first && !is_least_squares, "lambda_min",
         "kind = least_squares and kind = first; the other kinds have no lower end");
  refuse(eigenvalue_ratio != default_ratio && !is_first, "eigenvalue_ratio",
         "kind = first; the other kinds have no lower end, or another");
  if (degree == 0 && is_least_squares)
    throw OptionError(method +
                      ": degree = 0 is for the other kinds; a least-squares polynomial has 1 or more");
  if (lambda_min > 0 && lambda_max > 0 && lambda_min >= lambda_max)
    throw OptionError(method + ": lambda_min = " + to_string(OptionValue(lambda_min)) +
                      " is not below lambda_max = " + to_string(OptionValue(lambda_max)));
}

namespace impl::polynomial {
namespace {

/// The least length of an interval, as a part of its upper end. A shorter one is extended to it, which costs
/// nothing and keeps the map to [-1, 1] of ordinary size.
constexpr double least_length = 0.1;
/// The lower end of least squares is at most this part of u / (k + 1)^2: a polynomial resolves nothing below.
constexpr double lower_fraction = 0.5;

struct Interval {
  double l, u;
};

std::string interval_note(const std::string& name, const Interval& interval, const Spectrum& spectrum) {
  char text[128];
  std::snprintf(text, sizeof(text), ": the interval is [%.4g, %.4g], by ", spectrum.as_given(interval.l),
                spectrum.as_given(interval.u));
  return name + text + spectrum.source;
}

/// Whether a lower bound was given and is below u.
bool has_lower_bound(const std::string& name, const Spectrum& spectrum, double u,
                     std::vector<std::string>& notes) {
  if (!spectrum.min_given || spectrum.min < u) return spectrum.min_given;
  notes.push_back(name + ": lambda_min is not below the spectrum's upper end, and is not used");
  return false;
}

/// The lower end l of an interval of at least the least length.
double shortened(double l, double u) {
  return std::min(l, (1 - least_length) * u);
}

Interval least_squares_interval(const PolynomialOptions& options, const Spectrum& spectrum,
                                std::vector<std::string>& notes) {
  const double u = spectrum.max + spectrum.max_bound;
  const double unresolved = lower_fraction / ((options.degree + 1.0) * (options.degree + 1.0)) * u;
  if (has_lower_bound(options.name_of_kind(), spectrum, u, notes)) return {shortened(spectrum.min, u), u};
  constexpr double known = 0.1;
  const bool found = !spectrum.min_given && spectrum.min > 0 && spectrum.min_bound <= known * spectrum.min;
  if (found) return {shortened(spectrum.min - spectrum.min_bound, u), u};
  const double ritz =
      !spectrum.min_given && spectrum.min > 0 ? std::min(spectrum.min, unresolved) : unresolved;
  return {shortened(ritz, u), u};
}

Polynomial choose_chebyshev(const PolynomialOptions& options, const std::vector<double>& weights,
                            const Spectrum& spectrum, std::vector<std::string>& notes) {
  const std::string name = options.name_of_kind();
  const double u = spectrum.max + spectrum.max_bound;
  if (options.kind != PolynomialKind::first) {
    notes.push_back(interval_note(name, {0, u}, spectrum));
    if (options.kind == PolynomialKind::fourth) return chebyshev_fourth(u, options.degree);
    if (!weights.empty()) return chebyshev_fourth_optimized(u, weights);
    notes.push_back(name + ": the optimal weights of degree " + std::to_string(options.degree) +
                    " were not found; the polynomial is the plain one, kind = fourth");
    return chebyshev_fourth(u, options.degree);
  }
  const bool given = has_lower_bound(name, spectrum, u, notes);
  const double l = given ? spectrum.min : spectrum.max / options.eigenvalue_ratio;
  const Interval interval{shortened(l, u), u};
  notes.push_back(interval_note(name, interval, spectrum));
  return chebyshev_first(interval.l, interval.u, options.degree);
}

Polynomial choose_neumann(const PolynomialOptions& options, const Spectrum& spectrum,
                          std::vector<std::string>& notes) {
  const double u = spectrum.max + spectrum.max_bound;
  const double omega = 1.5 / u;
  char text[96];
  std::snprintf(text, sizeof(text), ": omega is %.4g, by ", std::ldexp(omega, spectrum.exponent));
  notes.push_back(options.name_of_kind() + (text + spectrum.source));
  return neumann(omega, options.degree);
}

}  // namespace

Polynomial choose_polynomial(const PolynomialOptions& options, const std::vector<double>& weights,
                             const Spectrum& spectrum, std::vector<std::string>& notes) {
  if (options.is_chebyshev()) return choose_chebyshev(options, weights, spectrum, notes);
  if (options.kind == PolynomialKind::neumann) return choose_neumann(options, spectrum, notes);
  const Interval interval = least_squares_interval(options, spectrum, notes);
  notes.push_back(interval_note(options.name_of_kind(), interval, spectrum));
  return least_squares(interval.l, interval.u, options.degree);
}

}  // namespace impl::polynomial
}  // namespace prekond
