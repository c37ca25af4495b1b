// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The problems of the tests of solvers, operators and preconditioners that misbehave, and reducers that
/// count.
#include "testing/host_matrix.hpp"
#include "testing/reference_adaptive_fsai.hpp"

#include <gtest/gtest.h>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace prekond::testing {

inline HostMatrix<double> problem(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

inline HostMatrix<double> diagonal_matrix(const std::vector<double>& entries) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = static_cast<std::int64_t>(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    a.col_idxs.push_back(static_cast<int>(i));
    a.values.push_back(entries[i]);
    a.row_ptrs.push_back(i + 1);
  }
  return a;
}

/// A - sigma I
inline HostMatrix<double> shifted(HostMatrix<double> a, double sigma) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] -= sigma;
  return a;
}

inline std::vector<double> random_vector(std::size_t n, unsigned seed = 17) {
  std::mt19937 random(seed);
  std::vector<double> x(n);
  for (double& value : x) value = double(random()) / 0x1p31 - 1;
  return x;
}

inline std::vector<double> dense_solution(const HostMatrix<double>& a, const std::vector<double>& b) {
  std::vector<std::vector<long double>> dense(a.num_rows, std::vector<long double>(a.num_rows, 0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][a.col_idxs[k]] = a.values[k];
  return dense_solve(dense, {b.begin(), b.end()});
}

inline StoppingOptions stop_at(double rtol, std::int64_t max_iters = 1000, double atol = 0) {
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.atol = atol;
  stopping.max_iters = max_iters;
  return stopping;
}

template <class Scalar = double>
struct Solved {
  SolveResult result;
  std::vector<Scalar> x;
  std::vector<std::int64_t> seen;  ///< iterations that the monitor was called with
  std::vector<double> history;
};

template <class Space>
CsrOperator<double, Space> operator_of(const HostMatrix<double>& a) {
  return CsrOperator<double, Space>(to_device<Space>(a));
}

template <class Space>
std::unique_ptr<MatrixPreconditioner<double, Space>> preconditioner_of(const std::string& name,
                                                                       const HostMatrix<double>& a) {
  auto m = create_preconditioner<double, Space>(name);
  const auto device = to_device<Space>(a);
  m->symbolic(Space(), device);
  m->numeric(Space(), device);
  return m;
}

inline bool all_finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

/// y = alpha A x + beta y for the tridiagonal matrix (-1, 2 + shift, -1) that nobody stores.
template <class Scalar, class Space>
struct StencilKernel {
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  Scalar alpha, beta, diagonal;
  KOKKOS_FUNCTION void operator()(int i) const {
    const int n = int(y.extent(0));
    for (int v = 0; v < int(y.extent(1)); ++v) {
      Scalar sum = diagonal * x(i, v);
      if (i > 0) sum -= x(i - 1, v);
      if (i + 1 < n) sum -= x(i + 1, v);
      y(i, v) = beta == Scalar(0) ? alpha * sum : alpha * sum + beta * y(i, v);
    }
  }
};

template <class Scalar, class Space>
class StencilOperator : public Operator<Scalar, Space> {
 public:
  StencilOperator(std::int64_t n, Scalar diagonal) : m_n(n), m_diagonal(diagonal) {}
  std::int64_t num_rows() const override { return m_n; }
  std::int64_t num_cols() const override { return m_n; }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha, Scalar beta) const override {
    Kokkos::parallel_for("prekond::testing::stencil", Kokkos::RangePolicy<Space>(space, 0, int(m_n)),
                         StencilKernel<Scalar, Space>{x, y, alpha, beta, m_diagonal});
  }

 private:
  std::int64_t m_n;
  Scalar m_diagonal;
};

template <class Scalar, class Space>
struct ScaleKernel {
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  Scalar factor;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int v = 0; v < int(y.extent(1)); ++v) y(i, v) = factor * x(i, v);
  }
};

struct ScaleWorkspace : Workspace {
  int vectors = 0;
};

/// M^-1 = factor I, with a workspace of its own; `late_factor` from application `late` on.
template <class Scalar, class Space>
class Scale : public Preconditioner<Scalar, Space> {
 public:
  Scale(std::int64_t n, Scalar factor, int late = 1 << 30, Scalar late_factor = 0)
      : m_n(n), m_factor(factor), m_late(late), m_late_factor(late_factor) {}
  std::string name() const override { return "scale"; }
  std::int64_t num_rows() const override { return m_n; }
  std::unique_ptr<Workspace> make_workspace(const Space&, int num_vectors) const override {
    auto workspace = std::make_unique<ScaleWorkspace>();
    workspace->vectors = num_vectors;
    return workspace;
  }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    EXPECT_GE(dynamic_cast<ScaleWorkspace&>(workspace).vectors, int(x.extent(1)));
    const Scalar factor = m_calls++ < m_late ? m_factor : m_late_factor;
    Kokkos::parallel_for("prekond::testing::scale", Kokkos::RangePolicy<Space>(space, 0, int(m_n)),
                         ScaleKernel<Scalar, Space>{x, y, factor});
  }

 private:
  std::int64_t m_n;
  Scalar m_factor;
  int m_late;
  Scalar m_late_factor;
  mutable int m_calls = 0;
};

/// Says `factor` A instead of A, but never where the solver looks at its true residual (beta = 1), which is
/// counted; from the residual number `honest_from` on it says A always.
template <class Space>
class Liar : public Operator<double, Space> {
 public:
  Liar(const HostMatrix<double>& a, double factor, int honest_from = 1 << 30)
      : m_inner(operator_of<Space>(a)), m_factor(factor), m_honest_from(honest_from) {}
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  std::int64_t num_cols() const override { return m_inner.num_cols(); }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    if (beta != 0) ++residuals;
    const bool honest = beta != 0 || residuals >= m_honest_from;
    m_inner.apply(space, x, y, honest ? alpha : m_factor * alpha, beta);
  }
  mutable int residuals = 0;

 private:
  CsrOperator<double, Space> m_inner;
  double m_factor;
  int m_honest_from;
};

/// A, until product number `late`, which it multiplies by `factor`.
template <class Space>
class Late : public Operator<double, Space> {
 public:
  Late(const HostMatrix<double>& a, int late, double factor)
      : m_inner(operator_of<Space>(a)), m_late(late), m_factor(factor) {}
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  std::int64_t num_cols() const override { return m_inner.num_cols(); }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    m_inner.apply(space, x, y, m_calls++ < m_late ? alpha : m_factor * alpha, beta);
  }

 private:
  CsrOperator<double, Space> m_inner;
  int m_late;
  double m_factor;
  mutable int m_calls = 0;
};

template <class Space>
struct MultiplyKernel {
  VectorView<double, Space> values;
  double factor;
  KOKKOS_FUNCTION void operator()(int k) const { values(k) *= factor; }
};

/// As if `ranks` processes had the same vectors; counts its calls and the values in them.
template <class Space>
class CountingReducer : public Reducer<double, Space> {
 public:
  explicit CountingReducer(double ranks) : m_ranks(ranks) {}
  void sum(const Space& space, VectorView<double, Space> values) const override {
    ++calls;
    all_values += values.extent(0);
    most_values = std::max(most_values, values.extent(0));
    Kokkos::parallel_for("prekond::testing::ranks",
                         Kokkos::RangePolicy<Space>(space, 0, int(values.extent(0))),
                         MultiplyKernel<Space>{values, m_ranks});
  }
  mutable int calls = 0;
  mutable std::size_t most_values = 0, all_values = 0;

 private:
  double m_ranks;
};

/// Files all sums, or says what another run has filed.
template <class Space>
class Tape : public Reducer<double, Space> {
 public:
  void sum(const Space& space, VectorView<double, Space> values) const override {
    if (!m_replaying) {
      filed.push_back(to_vector(values));
      return;
    }
    ASSERT_LT(m_next, filed.size());
    ASSERT_EQ(filed[m_next].size(), values.extent(0));
    Kokkos::deep_copy(space, values, to_device<Space>(filed[m_next++]));
    space.fence();
  }
  void replay() { m_replaying = true; }
  std::size_t next() const { return m_next; }
  mutable std::vector<std::vector<double>> filed;

 private:
  bool m_replaying = false;
  mutable std::size_t m_next = 0;
};

}  // namespace prekond::testing
