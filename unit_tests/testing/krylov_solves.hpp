// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Solvers by name and options, as the registry builds them.
#include "testing/krylov_problems.hpp"
#include "testing/reference_cg.hpp"
#include "testing/reference_lu.hpp"

#include <cstring>
#include <functional>

namespace prekond::testing {

struct Variant {
  std::string solver;
  OptionMap options;
  std::string name() const {
    std::string text = solver;
    for (const auto& [key, value] : options) text += " " + key + "=" + to_string(value);
    return text;
  }
};

/// Every solver for general matrices, with every value of its options that changes the algorithm.
inline std::vector<Variant> general_variants() {
  const auto text = [](const char* word) { return OptionValue(std::string(word)); };
  const auto number = [](int value) { return OptionValue(std::int64_t(value)); };
  return {{"bicgstab", {}},
          {"bicgstab", {{"side", text("left")}}},
          {"gmres", {}},
          {"gmres", {{"restart", number(60)}}},
          {"gmres", {{"side", text("left")}}},
          {"gmres", {{"orthogonalization", text("dcgs2")}}},
          {"gmres", {{"orthogonalization", text("dcgs2")}, {"side", text("left")}, {"restart", number(9)}}},
          {"gmres", {{"step_size", number(5)}}},
          {"gmres", {{"step_size", number(4)}, {"side", text("left")}, {"restart", number(9)}}},
          {"fgmres", {}},
          {"fgmres", {{"orthogonalization", text("dcgs2")}}},
          {"fgmres", {{"orthogonalization", text("dcgs2")}, {"restart", number(7)}}},
          {"idr", {}},
          {"idr", {{"s", number(1)}}},
          {"idr", {{"s", number(7)}, {"kappa", OptionValue(0.0)}}},
          {"idr", {{"side", text("left")}}}};
}

/// As if the monitor, b and x did not belong to the caller: b must not change.
template <class Scalar, class Space>
Solved<Scalar> solve_with(const Variant& variant, const Operator<Scalar, Space>& a,
                          const Preconditioner<Scalar, Space>* m, const std::vector<Scalar>& b,
                          const StoppingOptions& stopping, std::vector<Scalar> x0 = {},
                          const Reducer<Scalar, Space>& reducer = {}) {
  const Space space;
  if (x0.empty()) x0.assign(b.size(), 0);
  const auto x = to_device<Space>(x0);
  const auto b_device = to_device<Space>(b);
  Solved<Scalar> solved;
  const auto solver = create_solver<Scalar, Space>(variant.solver, variant.options);
  solved.result = solver->solve(
      space, a, m, b_device, x, stopping,
      [&](std::int64_t iteration, double norm_r) {
        solved.seen.push_back(iteration);
        solved.history.push_back(norm_r);
      },
      reducer);
  space.fence();
  solved.x = to_vector(x);
  const auto b_after = to_vector(b_device);
  EXPECT_TRUE(b.empty() || std::memcmp(b_after.data(), b.data(), b.size() * sizeof(Scalar)) == 0)
      << "b changed";
  return solved;
}

inline std::vector<double> general_solution(const HostMatrix<double>& a, const std::vector<double>& b) {
  LongMatrix dense(a.num_rows, std::vector<long double>(a.num_rows, 0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][a.col_idxs[k]] = a.values[k];
  const auto x = general_solve(dense, {b.begin(), b.end()});
  return {x.begin(), x.end()};
}

/// A nonsymmetric matrix of uneven size: diag + upwind-like neighbours + far entries, diagonally dominant.
inline HostMatrix<double> uneven_matrix(int n, unsigned seed = 5) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return double(random()) / 0x1p31 - 1; };
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i) {
    if (i > 0) dense[i][i - 1] = -1.5 + 0.2 * uniform();
    if (i + 1 < n) dense[i][i + 1] = -0.5 + 0.2 * uniform();
    if (n > 3) dense[i][int(random() % unsigned(n))] += 0.3 * uniform();
    dense[i][i] = 2.5 + 0.5 * uniform();
  }
  return sparse(dense);
}

/// Applied one entry after the other: the identity, or the inverse of the diagonal.
inline std::function<std::vector<double>(const std::vector<double>&)> sequential_jacobi(
    const HostMatrix<double>& a, bool scaled) {
  return [scaled, &a](std::vector<double> r) {
    for (std::size_t i = 0; scaled && i < r.size(); ++i) r[i] /= a(std::int64_t(i), std::int64_t(i));
    return r;
  };
}

/// Columns as one multivector.
template <class Space>
MultiVector<double, Space> to_columns(const std::vector<std::vector<double>>& columns) {
  MultiVector<double, Space> result("prekond::testing::columns", columns.front().size(), columns.size());
  const auto host = Kokkos::create_mirror_view(result);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < columns[c].size(); ++i) host(i, c) = columns[c][i];
  Kokkos::deep_copy(result, host);
  return result;
}
template <class View>
std::vector<double> column_of(const View& x, int c) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  std::vector<double> result(host.extent(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = host(i, c);
  return result;
}

}  // namespace prekond::testing
