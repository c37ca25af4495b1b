// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// ParILUT (Anzt, Chow, Dongarra 2018), one entry after the other.
#include "testing/reference_par_ilu.hpp"

#include <set>
#include <tuple>

namespace prekond::testing {

struct ReferenceParIlut {
  ReferenceIlu factors;
  ReferenceFill fill;
  double before = 0, after = 0;
};

/// The rows of (I + L)(I + U) and A off the diagonal.
inline ReferenceFill reference_candidates(const std::vector<std::map<int, long double>>& rows,
                                          const ReferenceFill& s) {
  ReferenceFill result{std::vector<std::vector<int>>(rows.size()),
                       std::vector<std::vector<int>>(rows.size())};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::set<int> cols(s.lower[i].begin(), s.lower[i].end());
    cols.insert(s.upper[i].begin(), s.upper[i].end());
    for (const auto& [j, value] : rows[i]) cols.insert(j);
    for (const int k : s.lower[i]) cols.insert(s.upper[k].begin(), s.upper[k].end());
    for (const int j : cols) {
      if (j < static_cast<int>(i)) result.lower[i].push_back(j);
      if (j > static_cast<int>(i)) result.upper[i].push_back(j);
    }
  }
  return result;
}

/// The pattern of the `count` largest, of equal ones the first.
inline std::vector<std::vector<int>> reference_largest(const std::vector<std::map<int, long double>>& rows,
                                                       std::size_t count) {
  std::vector<std::tuple<long double, std::size_t, int>> entries;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const auto& [j, value] : rows[i]) entries.emplace_back(-std::abs(value), i, j);
  std::sort(entries.begin(), entries.end());
  if (entries.size() > count) entries.resize(count);
  std::vector<std::vector<int>> result(rows.size());
  for (const auto& [size, i, j] : entries) result[i].push_back(j);
  for (auto& row : result) std::sort(row.begin(), row.end());
  return result;
}

inline std::size_t entries_of(const std::vector<std::vector<int>>& rows) {
  std::size_t sum = 0;
  for (const auto& row : rows) sum += row.size();
  return sum;
}

/// The values of `f` on another pattern; 0 where it has none.
inline std::vector<std::map<int, long double>> on_pattern(const std::vector<std::map<int, long double>>& f,
                                                          const std::vector<std::vector<int>>& pattern) {
  std::vector<std::map<int, long double>> result(f.size());
  for (std::size_t i = 0; i < f.size(); ++i)
    for (const int j : pattern[i]) result[i][j] = f[i].count(j) ? f[i].at(j) : 0.0L;
  return result;
}

template <class Scalar>
ReferenceParIlut reference_par_ilut(const HostMatrix<Scalar>& host, int steps, double fill_factor,
                                    double shift = 0) {
  const double epsilon = static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  LongVector row_scale;
  const auto rows = scaled_rows(host, row_scale);
  ReferenceParIlut result;
  const ReferenceFill of_a = reference_fill(host, 0);
  const auto begin = [&](const ReferenceFill& fill) {
    return ReferenceSweeps(rows, fill, false, shift, std::sqrt(epsilon));
  };
  ReferenceSweeps work = begin(of_a);
  result.fill = of_a;
  result.before = work.residual();
  for (int step = 0; step < steps; ++step) {
    const ReferenceFill candidates = reference_candidates(rows, result.fill);
    ReferenceSweeps grown = begin(candidates);
    SweptFactors f = work.f;
    f.lower = on_pattern(work.f.lower, candidates.lower);
    f.upper = on_pattern(work.f.upper, candidates.upper);
    grown.f = f;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const int j : candidates.lower[i])
        if (!work.f.lower[i].count(j)) grown.f.lower[i][j] = grown.lower(i, j, f);
      for (const int j : candidates.upper[i])
        if (!work.f.upper[i].count(j)) grown.f.upper[i][j] = grown.a(i, j) - grown.sum(i, j, f.lower[i], f);
    }
    grown.sweep();
    const auto kept = [&](const auto& values, const auto& triangle) {
      return reference_largest(values, static_cast<std::size_t>(fill_factor * double(entries_of(triangle))));
    };
    result.fill = {kept(grown.f.lower, of_a.lower), kept(grown.f.upper, of_a.upper)};
    work = begin(result.fill);
    work.f = grown.f;
    work.f.lower = on_pattern(grown.f.lower, result.fill.lower);
    work.f.upper = on_pattern(grown.f.upper, result.fill.upper);
    work.sweep();
  }
  result.after = work.residual();
  if (!(result.after <= std::max(result.before, 64 * epsilon))) {
    result.fill = of_a;
    work = begin(of_a);
  }
  result.factors = work.end(row_scale);
  return result;
}

}  // namespace prekond::testing
