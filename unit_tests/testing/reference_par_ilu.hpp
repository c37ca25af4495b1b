// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Factors by sweeps over their entries (Chow, Patel 2015), one entry after the other, in two copies.
#include "testing/reference_ilu.hpp"

namespace prekond::testing {

/// L without its diagonal of 1, U without its diagonal; of kind `ic` C without its diagonal, in `lower`.
struct SweptFactors {
  std::vector<std::map<int, long double>> lower, upper;
  LongVector diagonal;  ///< U's, or the squares of C's
  LongVector found;     ///< what the last sweep found for it
};

class ReferenceSweeps {
 public:
  using Rows = std::vector<std::map<int, long double>>;

  /// `rows`: A, scaled; `shift` is added to its diagonal.
  ReferenceSweeps(Rows rows, ReferenceFill fill, bool symmetric, long double shift, long double floor)
      : m_rows(std::move(rows)), m_fill(std::move(fill)), m_symmetric(symmetric), m_floor(floor) {
    for (std::size_t i = 0; i < m_rows.size(); ++i) m_rows[i][static_cast<int>(i)] += shift;
    start();
  }

  void start() {
    const std::size_t n = m_rows.size();
    f = {Rows(n), Rows(n), LongVector(n), LongVector(n)};
    for (std::size_t i = 0; i < n; ++i) {
      f.diagonal[i] = f.found[i] = a(i, i);
      for (const int j : m_fill.lower[i])
        f.lower[i][j] = a(i, j) / (m_symmetric ? std::sqrt(a(j, j)) : a(j, j));
      if (m_symmetric) continue;
      for (const int j : m_fill.upper[i]) f.upper[i][j] = a(i, j);
    }
  }

  void sweep() {
    const SweptFactors old = f;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
      for (const int j : m_fill.lower[i]) set(f.lower[i][j], lower(i, j, old));
      if (!m_symmetric)
        for (const int j : m_fill.upper[i]) set(f.upper[i][j], a(i, j) - sum(i, j, f.lower[i], old));
      f.found[i] = a(i, i) - sum(i, i, f.lower[i], old);
      if (is_sound(f.found[i])) f.diagonal[i] = f.found[i];
    }
  }

  /// ||(A - L U)_S||_F / ||A_S||_F
  double residual() const {
    long double rest = 0, size = 0;
    const auto add = [&](long double r, long double of_a, int times) {
      rest += times * r * r;
      size += times * of_a * of_a;
    };
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
      for (const int j : m_fill.lower[i])
        add((lower(i, j, f) - f.lower[i].at(j)) * own(j, f), a(i, j), m_symmetric ? 2 : 1);
      if (!m_symmetric)
        for (const int j : m_fill.upper[i])
          add(a(i, j) - sum(i, j, f.lower[i], f) - f.upper[i].at(j), a(i, j), 1);
      add(a(i, i) - sum(i, i, f.lower[i], f) - f.diagonal[i], a(i, i), 1);
    }
    return static_cast<double>(std::sqrt(rest / size));
  }

  /// As they are kept.
  ReferenceIlu end(const LongVector& row_scale) const {
    const std::size_t n = m_rows.size();
    ReferenceIlu result;
    result.row_scale = row_scale;
    result.lower = f.lower;
    result.upper = f.upper;
    result.pivots = f.diagonal;
    for (std::size_t i = 0; i < n; ++i) {
      if (m_symmetric)
        for (auto& [j, value] : result.lower[i]) value /= own(j, f);
      for (auto& [j, value] : result.upper[i]) value /= f.diagonal[i];
    }
    for (std::size_t i = 0; i < n; ++i)
      if (!is_sound(f.found[i])) end_row(result, static_cast<int>(i), f.found[i], m_symmetric, m_floor);
    if (m_symmetric) mirror_lower(result);
    return result;
  }

  SweptFactors f;

  long double a(std::size_t i, int j) const { return m_rows[i].count(j) ? m_rows[i].at(j) : 0.0L; }
  bool is_sound(long double pivot) const {
    return std::isfinite(pivot) && (m_symmetric ? pivot : std::abs(pivot)) > m_floor;
  }
  static void set(long double& to, long double value) {
    if (std::isfinite(value)) to = value;
  }
  long double own(int j, const SweptFactors& of) const {
    return m_symmetric ? std::sqrt(of.diagonal[j]) : of.diagonal[j];
  }
  /// Over the k < min(i, j) of row i of L.
  long double sum(std::size_t i, int j, const std::map<int, long double>& row, const SweptFactors& of) const {
    long double result = 0;
    for (const auto& [k, l] : row) {
      if (k >= j) break;
      if (!m_symmetric)
        result += of.upper[k].count(j) ? l * of.upper[k].at(j) : 0;
      else if (static_cast<int>(i) == j)
        result += l * l;
      else
        result += of.lower[j].count(k) ? l * of.lower[j].at(k) : 0;
    }
    return result;
  }
  long double lower(std::size_t i, int j, const SweptFactors& of) const {
    return (a(i, j) - sum(i, j, of.lower[i], of)) / own(j, of);
  }

 private:
  Rows m_rows;
  ReferenceFill m_fill;
  bool m_symmetric;
  long double m_floor;
};

struct ReferenceParIlu {
  ReferenceIlu factors;
  double before = 0, after = 0;  ///< the residuals
};

template <class Scalar>
ReferenceParIlu reference_par_ilu(const HostMatrix<Scalar>& host, int level, ReferenceKind kind, int sweeps,
                                  double shift = 0) {
  const double epsilon = static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  LongVector row_scale;
  const auto rows = scaled_rows(host, row_scale);
  ReferenceSweeps work(rows, reference_fill(host, level), kind == ReferenceKind::ic, shift,
                       std::sqrt(epsilon));
  ReferenceParIlu result;
  result.before = work.residual();
  for (int k = 0; k < sweeps; ++k) work.sweep();
  result.after = work.residual();
  if (!(result.after <= std::max(result.before, 64 * epsilon))) work.start();
  result.factors = work.end(row_scale);
  return result;
}

}  // namespace prekond::testing
