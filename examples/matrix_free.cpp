// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An operator without a matrix and a preconditioner of one's own: what the solvers need is two small classes.
#include <prekond/krylov/cg.hpp>

#include <cstdio>

using Space = Kokkos::DefaultExecutionSpace;
using ConstVectors = prekond::MultiVectorView<const double, Space>;
using Vectors = prekond::MultiVectorView<double, Space>;

// -u'' + c u on n points, h = 1: y_i = (2 + c) x_i - x_{i-1} - x_{i+1}.
class Stencil : public prekond::Operator<double, Space> {
 public:
  Stencil(int n, double c) : m_n(n), m_diagonal(2 + c) {}
  std::int64_t num_rows() const override { return m_n; }
  std::int64_t num_cols() const override { return m_n; }
  double diagonal() const { return m_diagonal; }

  // y = alpha A x + beta y for each vector. y must not be read where beta = 0: it may hold NaN.
  void apply(const Space& space, ConstVectors x, Vectors y, double alpha = 1,
             double beta = 0) const override {
    const int n = m_n;
    const double diagonal = m_diagonal;
    Kokkos::parallel_for(
        "stencil::apply", Kokkos::RangePolicy<Space>(space, 0, n), KOKKOS_LAMBDA(int i) {
          for (std::size_t v = 0; v < x.extent(1); ++v) {
            const double left = i > 0 ? x(i - 1, v) : 0, right = i + 1 < n ? x(i + 1, v) : 0;
            const double product = alpha * (diagonal * x(i, v) - left - right);
            y(i, v) = beta == 0 ? product : product + beta * y(i, v);
          }
        });
  }

 private:
  int m_n;
  double m_diagonal;
};

// Two damped Jacobi sweeps, z = w r + w (r - A w r) with w = omega / diagonal: symmetric, and positive
// definite for omega < 1, since no eigenvalue of A exceeds twice the diagonal.
class Sweeps : public prekond::Preconditioner<double, Space> {
 public:
  explicit Sweeps(const Stencil& a, double omega = 0.7) : m_a(a), m_weight(omega / a.diagonal()) {}
  std::string name() const override { return "sweeps"; }
  std::int64_t num_rows() const override { return m_a.num_rows(); }

  // The memory that `apply` works in is made once a solve, so that an iteration allocates nothing.
  struct Memory : prekond::Workspace {
    prekond::MultiVector<double, Space> product;
  };
  std::unique_ptr<prekond::Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto memory = std::make_unique<Memory>();
    memory->product = prekond::allocate<prekond::MultiVector<double, Space>>(space, "sweeps::product",
                                                                             m_a.num_rows(), num_vectors);
    return memory;
  }

  void apply(const Space& space, ConstVectors r, Vectors z, prekond::Workspace& workspace) const override {
    const Vectors product = static_cast<Memory&>(workspace).product;
    const double weight = m_weight;
    m_a.apply(space, r, product);
    Kokkos::parallel_for(
        "sweeps::apply", Kokkos::RangePolicy<Space>(space, 0, int(num_rows())), KOKKOS_LAMBDA(int i) {
          for (std::size_t v = 0; v < r.extent(1); ++v)
            z(i, v) = weight * (2 * r(i, v) - weight * product(i, v));
        });
  }

 private:
  const Stencil& m_a;
  double m_weight;
};

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  const Space space;
  const int n = 20000;
  const Stencil a(n, 1e-3);
  const Sweeps preconditioner(a);

  const prekond::Vector<double, Space> b("b", n), x("x", n);
  Kokkos::deep_copy(b, 1.0);
  prekond::StoppingOptions stopping;
  stopping.rtol = 1e-8;
  // The monitor sees every iteration.
  const auto monitor = [](std::int64_t iteration, double norm) {
    if (iteration % 50 == 0) std::printf("%6lld  ||r|| = %.3e\n", static_cast<long long>(iteration), norm);
  };
  const auto result = prekond::Cg<double, Space>().solve(space, a, &preconditioner, b, x, stopping, monitor);
  std::printf("%s after %lld iterations, ||b - A x|| / ||b|| = %.2e\n",
              prekond::to_string(result.reason).c_str(), static_cast<long long>(result.iterations),
              result.true_relative_residual);
  return result.converged ? 0 : 1;
}
