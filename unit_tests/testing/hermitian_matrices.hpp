// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Hermitian positive definite matrices, and sequential references on them.
#include "testing/spd_matrices.hpp"

#include <prekond/core/scalar.hpp>

#include <complex>

namespace prekond::testing {

using Complex = Kokkos::complex<double>;
using LongComplex = std::complex<long double>;
using ComplexDense = std::vector<std::vector<LongComplex>>;

inline std::vector<Complex> random_phases(std::size_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<Complex> phases(n);
  for (Complex& phase : phases) {
    const double angle = 6.283185307179586 * (static_cast<double>(engine() >> 11) * 0x1p-53);
    phase = Complex(std::cos(angle), std::sin(angle));
  }
  return phases;
}

inline std::vector<Complex> random_complex(std::size_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1; };
  std::vector<Complex> x(n);
  for (Complex& value : x) {
    const double real = uniform();
    value = Complex(real, uniform());
  }
  return x;
}

/// D^H A D for a symmetric A and the unitary diagonal matrix D: Hermitian to the last bit. Everything that is
/// said only of magnitudes (|g_ij|, psi, the iterations of CG) is the same for both.
inline HostMatrix<Complex> rotated(const HostMatrix<double>& a, const std::vector<Complex>& d) {
  HostMatrix<Complex> h{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const std::int64_t j = a.col_idxs[k];
      if (j == i || j >= a.num_rows) {
        h.values.push_back(a.values[k]);
      } else if (j < i) {
        h.values.push_back(Kokkos::conj(d[i]) * d[j] * a.values[k]);
      } else {
        h.values.push_back(Kokkos::conj(Kokkos::conj(d[j]) * d[i] * a.values[k]));
      }
    }
  }
  return h;
}

/// A symmetric matrix whose entries off the diagonal get a phase each: no unitary similarity makes it
/// real. With a dominant diagonal it is positive definite.
inline HostMatrix<Complex> with_random_phases(const HostMatrix<double>& a, unsigned seed) {
  HostMatrix<Complex> h{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
  const std::vector<Complex> phases = random_phases(a.nnz(), seed);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const std::int64_t j = a.col_idxs[k];
      if (j >= i) continue;
      h.values[k] *= phases[k];
      for (std::size_t l = a.row_ptrs[j]; l < a.row_ptrs[j + 1]; ++l)
        if (a.col_idxs[l] == i) h.values[l] = Kokkos::conj(h.values[k]);
    }
  }
  return h;
}

inline HostMatrix<Complex> random_hermitian(int n, double density, unsigned seed, double spread = 1) {
  return with_random_phases(random_spd(n, density, seed, spread), seed + 1000);
}

/// [[Re A, -Im A], [Im A, Re A]]: A as a real matrix of the real parts of vectors, then the imaginary ones.
inline HostMatrix<double> as_real(const HostMatrix<Complex>& a) {
  HostMatrix<double> real;
  real.num_rows = 2 * a.num_rows;
  real.num_cols = 2 * a.num_cols;
  for (int half = 0; half < 2; ++half) {
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      for (int part = 0; part < 2; ++part) {
        for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
          real.col_idxs.push_back(a.col_idxs[k] + part * static_cast<int>(a.num_cols));
          const double imaginary = part == 0 ? a.values[k].imag() : -a.values[k].imag();
          real.values.push_back(half == part ? a.values[k].real() : imaginary);
        }
      }
      real.row_ptrs.push_back(real.nnz());
    }
  }
  return real;
}

inline std::vector<double> as_real(const std::vector<Complex>& x) {
  std::vector<double> real;
  for (const Complex& value : x) real.push_back(value.real());
  for (const Complex& value : x) real.push_back(value.imag());
  return real;
}

inline std::vector<Complex> multiply(const HostMatrix<Complex>& a, const std::vector<Complex>& x) {
  std::vector<Complex> y(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) y[i] += a.values[k] * x[a.col_idxs[k]];
  return y;
}

/// y = A^H x
inline std::vector<Complex> multiply_adjoint(const HostMatrix<Complex>& a, const std::vector<Complex>& x) {
  std::vector<Complex> y(a.num_cols);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      y[a.col_idxs[k]] += Kokkos::conj(a.values[k]) * x[i];
  return y;
}

inline ComplexDense to_dense(const HostMatrix<Complex>& a) {
  ComplexDense dense(a.num_rows, std::vector<LongComplex>(a.num_cols));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      dense[i][a.col_idxs[k]] = LongComplex(a.values[k].real(), a.values[k].imag());
  return dense;
}

/// The lower triangular L with S = L L^H, by the textbook.
inline ComplexDense cholesky_factor(ComplexDense s) {
  const std::size_t n = s.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < k; ++j) s[k][k] -= s[k][j] * std::conj(s[k][j]);
    s[k][k] = std::sqrt(s[k][k].real());
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) s[i][k] -= s[i][j] * std::conj(s[k][j]);
      s[i][k] /= s[k][k];
      s[k][i] = 0;
    }
  }
  return s;
}

/// Solves the Hermitian positive definite system S x = b.
inline std::vector<LongComplex> dense_solve(const ComplexDense& s, std::vector<LongComplex> b) {
  const std::size_t n = b.size();
  const ComplexDense l = cholesky_factor(s);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= l[i][j] * b[j];
    b[i] /= l[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= std::conj(l[j][i]) * b[j];
    b[i] /= l[i][i];
  }
  return b;
}

/// g A g^H of a row of G, in long double; its imaginary part is rounding.
inline LongComplex hermitian_form(const ComplexDense& a, const HostMatrix<Complex>& g, std::int64_t i) {
  LongComplex sum = 0;
  for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k)
    for (std::size_t l = g.row_ptrs[i]; l < g.row_ptrs[i + 1]; ++l)
      sum += LongComplex(g.values[k].real(), g.values[k].imag()) * a[g.col_idxs[k]][g.col_idxs[l]] *
             LongComplex(g.values[l].real(), -g.values[l].imag());
  return sum;
}

/// The minimiser of psi = g~ A g~^H on a pattern: g A[P, P] = -A[i, P], which is A[P, P] g^H = -A[P, i].
struct HermitianRow {
  std::vector<int> pattern;
  std::vector<LongComplex> g;
  double psi = 0;
};

inline HermitianRow solve_row(const ComplexDense& a, int i, std::vector<int> pattern) {
  const std::size_t m = pattern.size();
  ComplexDense s(m, std::vector<LongComplex>(m));
  std::vector<LongComplex> b(m);
  for (std::size_t p = 0; p < m; ++p) {
    for (std::size_t q = 0; q < m; ++q) s[p][q] = a[pattern[p]][pattern[q]];
    b[p] = -a[pattern[p]][i];
  }
  HermitianRow row;
  row.g = dense_solve(s, b);
  LongComplex psi = a[i][i];
  for (std::size_t p = 0; p < m; ++p) {
    row.g[p] = std::conj(row.g[p]);
    psi += row.g[p] * a[pattern[p]][i];  // of g_P A[P, P] = -A[i, P]
  }
  row.psi = static_cast<double>(psi.real());
  row.pattern = std::move(pattern);
  return row;
}

/// Sorted rows that end with a real, positive diagonal, and diag(G A G^H) = 1.
inline void expect_sound(const HostMatrix<Complex>& a, const HostMatrix<Complex>& g, double tolerance) {
  const ComplexDense dense = to_dense(a);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    ASSERT_GT(g.row_ptrs[i + 1], g.row_ptrs[i]);
    for (std::size_t k = g.row_ptrs[i] + 1; k < g.row_ptrs[i + 1]; ++k)
      ASSERT_LT(g.col_idxs[k - 1], g.col_idxs[k]);
    const std::size_t last = g.row_ptrs[i + 1] - 1;
    ASSERT_EQ(g.col_idxs[last], i) << "the diagonal is last";
    ASSERT_GT(g.values[last].real(), 0);
    ASSERT_EQ(g.values[last].imag(), 0);
    const LongComplex one = hermitian_form(dense, g, i);
    ASSERT_NEAR(static_cast<double>(one.real()), 1, tolerance) << "row " << i;
    ASSERT_NEAR(static_cast<double>(one.imag()), 0, tolerance) << "row " << i;
  }
}

/// psi of the row before it was scaled.
inline double psi_of(const HostMatrix<Complex>& g, std::int64_t i) {
  return std::pow(g.values[g.row_ptrs[i + 1] - 1].real(), -2);
}

/// The same entries in single precision.
inline HostMatrix<Kokkos::complex<float>> to_single(const HostMatrix<Complex>& a) {
  return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
}
inline HostMatrix<Complex> to_double(const HostMatrix<Kokkos::complex<float>>& a) {
  return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
}

}  // namespace prekond::testing
