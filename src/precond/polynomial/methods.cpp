// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/chebyshev.hpp>
#include <prekond/precond/ls_polynomial.hpp>
#include <prekond/precond/neumann.hpp>

#include "core/instantiate.hpp"
#include "precond/polynomial/polynomials.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace prekond {
namespace {

/// An interval shorter than this part of its upper end is made this long: nothing is lost by it, and the map
/// to
/// [-1, 1] stays of ordinary size.
constexpr double least_length = 0.1;

struct Interval {
  double l, u;
};

std::string interval_note(const std::string& name, const Interval& interval, const Spectrum& spectrum) {
  char text[128];
  std::snprintf(text, sizeof(text), ": the interval is [%.4g, %.4g], by ", spectrum.as_given(interval.l),
                spectrum.as_given(interval.u));
  return name + text + spectrum.source;
}

/// Is there a lower bound that was given, and is one of the spectrum?
bool has_lower_bound(const std::string& name, const Spectrum& spectrum, double u,
                     std::vector<std::string>& notes) {
  if (!spectrum.min_given || spectrum.min < u) return spectrum.min_given;
  notes.push_back(name + ": lambda_min is not below the spectrum's upper end, and is not used");
  return false;
}

/// l, as the interval takes it.
double shortened(double l, double u) {
  return std::min(l, (1 - least_length) * u);
}

/// See LsPolynomial.
Interval least_squares_interval(const LsPolynomialOptions& options, const Spectrum& spectrum,
                                std::vector<std::string>& notes) {
  const double u = spectrum.max + spectrum.max_bound;
  const double unresolved = options.lower_fraction / ((options.degree + 1.0) * (options.degree + 1.0)) * u;
  if (has_lower_bound(options.name, spectrum, u, notes)) return {shortened(spectrum.min, u), u};
  constexpr double known = 0.1;
  const bool found = !spectrum.min_given && spectrum.min > 0 && spectrum.min_bound <= known * spectrum.min;
  if (found) return {shortened(spectrum.min - spectrum.min_bound, u), u};
  const double ritz =
      !spectrum.min_given && spectrum.min > 0 ? std::min(spectrum.min, unresolved) : unresolved;
  return {shortened(ritz, u), u};
}

/// The upper end of Chebyshev's interval.
double boosted(const ChebyshevOptions& options, const Spectrum& spectrum) {
  const bool estimated = !spectrum.max_given && options.bounds == SpectrumBounds::lanczos;
  return (estimated ? options.boost : 1) * spectrum.max;
}

}  // namespace

template <class Options, class Scalar, class Space>
PolynomialMethod<Options, Scalar, Space>::~PolynomialMethod() = default;
template <class Scalar, class Space>
LsPolynomial<Scalar, Space>::~LsPolynomial() = default;
template <class Scalar, class Space>
Chebyshev<Scalar, Space>::~Chebyshev() = default;
template <class Scalar, class Space>
Neumann<Scalar, Space>::~Neumann() = default;

template <class Scalar, class Space>
Polynomial LsPolynomial<Scalar, Space>::make_polynomial(const Spectrum& spectrum,
                                                        std::vector<std::string>& notes) const {
  const Interval interval = least_squares_interval(m_options, spectrum, notes);
  notes.push_back(interval_note(this->name(), interval, spectrum));
  return impl::polynomial::least_squares(interval.l, interval.u, m_options.degree);
}

template <class Scalar, class Space>
void Chebyshev<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  if (m_options.kind == ChebyshevKind::fourth_optimized && m_weights.empty())
    m_weights = impl::polynomial::optimal_weights(m_options.degree + 1);
  PolynomialPreconditioner<Scalar, Space>::symbolic_step(space, source);
}

template <class Scalar, class Space>
Polynomial Chebyshev<Scalar, Space>::make_polynomial(const Spectrum& spectrum,
                                                     std::vector<std::string>& notes) const {
  namespace polynomials = impl::polynomial;
  const double u = boosted(m_options, spectrum);
  if (m_options.kind != ChebyshevKind::first) {
    notes.push_back(interval_note(this->name(), {0, u}, spectrum));
    if (m_options.kind == ChebyshevKind::fourth) return polynomials::chebyshev_fourth(u, m_options.degree);
    if (!m_weights.empty()) return polynomials::chebyshev_fourth_optimized(u, m_weights);
    notes.push_back(this->name() + ": the optimal weights of degree " + std::to_string(m_options.degree) +
                    " were not found; the polynomial is the plain one, kind = fourth");
    return polynomials::chebyshev_fourth(u, m_options.degree);
  }
  const bool given = has_lower_bound(this->name(), spectrum, u, notes);
  const double l = given ? spectrum.min : spectrum.max / m_options.eigenvalue_ratio;
  const Interval interval{shortened(l, u), u};
  notes.push_back(interval_note(this->name(), interval, spectrum));
  return polynomials::chebyshev_first(interval.l, interval.u, m_options.degree);
}

template <class Scalar, class Space>
Polynomial Neumann<Scalar, Space>::make_polynomial(const Spectrum& spectrum,
                                                   std::vector<std::string>& notes) const {
  const double u = spectrum.max + spectrum.max_bound;
  const double omega = (m_options.omega > 0 ? 1 : 1.5) / u;
  char text[96];
  std::snprintf(text, sizeof(text), ": omega is %.4g, by ", std::ldexp(omega, spectrum.exponent));
  if (!(m_options.omega > 0)) notes.push_back(this->name() + text + spectrum.source);
  return impl::polynomial::neumann(omega, m_options.degree);
}

#define PREKOND_POLYNOMIALS(Scalar, Space)                             \
  template class PolynomialMethod<LsPolynomialOptions, Scalar, Space>; \
  template class PolynomialMethod<ChebyshevOptions, Scalar, Space>;    \
  template class PolynomialMethod<NeumannOptions, Scalar, Space>;      \
  template class LsPolynomial<Scalar, Space>;                          \
  template class Chebyshev<Scalar, Space>;                             \
  template class Neumann<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_POLYNOMIALS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_POLYNOMIALS)

}  // namespace prekond
