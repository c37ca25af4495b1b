// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Batches for tests: systems of one pattern with values of their own, and solves of them.
#include "testing/general_matrices.hpp"
#include "testing/krylov_solves.hpp"

#include <prekond/batched/convert.hpp>
#include <prekond/batched/solver.hpp>
#include "matrix/counter_hash.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace prekond::testing {

/// The matrices with the model's pattern: entries times 1 + spread u, u in (-1, 1), the first as it is.
inline std::vector<HostMatrix<double>> perturbed(const HostMatrix<double>& model, int count, double spread,
                                                 bool symmetric = false) {
  std::vector<HostMatrix<double>> systems(count, model);
  for (int s = 1; s < count; ++s)
    for (std::int64_t i = 0; i < model.num_rows; ++i)
      for (std::size_t k = model.row_ptrs[i]; k < model.row_ptrs[i + 1]; ++k) {
        const std::int64_t j = model.col_idxs[k];
        const std::int64_t a = symmetric ? std::min(i, j) : i, b = symmetric ? std::max(i, j) : j;
        const auto hash = impl::counter_hash(9, std::uint64_t(s), std::uint64_t(a * 4096 + b));
        systems[s].values[k] *= 1 + spread * (2 * impl::unit_interval(hash) - 1);
      }
  return systems;
}

template <class Scalar>
HostMatrix<Scalar> in_scalar(const HostMatrix<double>& a, double imaginary = 0) {
  HostMatrix<Scalar> result{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    if constexpr (is_complex<Scalar>)
      result.values.push_back(Scalar(a.values[k], imaginary * a.values[k] * double(k % 7)));
    else
      result.values.push_back(static_cast<Scalar>(a.values[k]));
  }
  return result;
}

/// A batch on the device, whose systems are farther apart than their values.
template <class Scalar, class Space>
struct DeviceBatch {
  explicit DeviceBatch(const std::vector<HostMatrix<Scalar>>& systems) {
    const auto& model = systems.front();
    row_ptrs = to_device<Space>(model.row_ptrs);
    col_idxs = to_device<Space>(model.col_idxs);
    values = MultiVector<Scalar, Space>("prekond::testing::values", model.nnz() + 3, systems.size());
    const auto host = Kokkos::create_mirror_view(values);
    Kokkos::deep_copy(host, Scalar(1e30));
    for (std::size_t s = 0; s < systems.size(); ++s)
      for (std::size_t k = 0; k < model.nnz(); ++k) host(k, s) = systems[s].values[k];
    Kokkos::deep_copy(values, host);
    matrix = {model.num_rows, row_ptrs, col_idxs, values};
  }
  BatchedCsr<Scalar, Space> matrix;
  Vector<std::size_t, Space> row_ptrs;
  Vector<int, Space> col_idxs;
  MultiVector<Scalar, Space> values;
};

template <class Scalar>
struct SolvedBatch {
  std::vector<std::vector<Scalar>> x;
  std::vector<int> iterations, replaced, unsettled;
  std::vector<double> relative;
  std::vector<StopReason> reasons;
  std::vector<std::vector<double>> history;
  BatchedReport report;

  /// Are the results of system s those of another solve's system t, to the bit?
  bool same(int s, const SolvedBatch& other, int t) const {
    return iterations[s] == other.iterations[t] && reasons[s] == other.reasons[t] &&
           relative[s] == other.relative[t] && replaced[s] == other.replaced[t] &&
           unsettled[s] == other.unsettled[t] &&
           std::memcmp(x[s].data(), other.x[t].data(), x[s].size() * sizeof(Scalar)) == 0;
  }
};

template <class Scalar, class Space>
MultiVector<Scalar, Space> device_columns(const std::vector<std::vector<Scalar>>& columns, std::size_t rows) {
  MultiVector<Scalar, Space> result("prekond::testing::columns", rows + 1, columns.size());
  const auto host = Kokkos::create_mirror_view(result);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < rows; ++i) host(i, c) = columns[c][i];
  Kokkos::deep_copy(result, host);
  return result;
}

/// b and x of other strides than rows.
template <class Scalar, class Matrix>
SolvedBatch<Scalar> solve_batch(const Matrix& a, const std::vector<std::vector<Scalar>>& b,
                                const BatchedOptions& options, std::vector<std::vector<Scalar>> x0 = {},
                                const BatchedTolerances<typename Matrix::execution_space>& tolerances = {}) {
  using Space = typename Matrix::execution_space;
  const Space space;
  const auto n = static_cast<std::size_t>(a.num_rows);
  if (x0.empty()) x0.assign(b.size(), std::vector<Scalar>(n, Scalar(0)));
  const auto rows = Kokkos::make_pair(std::size_t(0), n);
  const auto b_all = device_columns<Scalar, Space>(b, n), x_all = device_columns<Scalar, Space>(x0, n);
  const MultiVectorView<const Scalar, Space> b_view = Kokkos::subview(b_all, rows, Kokkos::ALL);
  const MultiVectorView<Scalar, Space> x_view = Kokkos::subview(x_all, rows, Kokkos::ALL);
  BatchedResult<Space> result;
  BatchedSolver<Scalar, Matrix> solver(options);
  solver.symbolic(space, a);
  solver.numeric(space, a);
  solver.solve(space, a, b_view, x_view, result, tolerances);
  SolvedBatch<Scalar> solved;
  solved.report = summarize(space, result);
  const auto x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x_all);
  const auto norms = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, result.history);
  solved.iterations = to_vector(result.iterations);
  solved.relative = to_vector(result.relative_residual);
  solved.reasons = to_vector(result.reasons);
  solved.replaced = to_vector(result.replaced_pivots);
  solved.unsettled = to_vector(result.unsettled_factors);
  for (std::size_t s = 0; s < b.size(); ++s) {
    solved.x.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) solved.x[s][i] = x_host(i, s);
    solved.history.emplace_back();
    for (std::size_t k = 0; k < norms.extent(0); ++k) solved.history[s].push_back(norms(k, s));
  }
  return solved;
}

inline std::vector<std::vector<double>> random_columns(std::size_t rows, std::size_t count) {
  std::vector<std::vector<double>> columns;
  for (std::size_t c = 0; c < count; ++c) columns.push_back(random_vector(rows, 3 + unsigned(c)));
  return columns;
}

inline BatchedOptions options_of(BatchedMethod method, BatchedPreconditioner inverse, double rtol = 1e-10,
                                 int max_iters = 500) {
  BatchedOptions options;
  options.solver = method;
  options.precond = inverse;
  options.stopping = {rtol, 0, max_iters};
  return options;
}

}  // namespace prekond::testing
