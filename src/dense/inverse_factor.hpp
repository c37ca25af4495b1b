// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>

namespace prekond {

/// W = L^-1 for the Cholesky factor L of a small SPD matrix that grows by bordering: lower triangular, row p
/// packed at p (p + 1) / 2. Bordering the matrix by (a, alpha) borders L by (l^T, lambda), l = W a, lambda =
/// sqrt(alpha - l.l), and W by (-W^T l / lambda, 1 / lambda): two products with W and no triangular solve.
/// Where `Scalar` is complex the matrix is Hermitian, a the new column, and L is bordered by (l^H, lambda).
/// On 32 banks the packed rows are free of conflicts, since the first 32 triangular numbers differ modulo 32.
template <class Scalar>
struct InverseFactor {
  using Real = real_type_t<Scalar>;
  Scalar* w = nullptr;

  KOKKOS_FORCEINLINE_FUNCTION static int row(int p) { return p * (p + 1) / 2; }
  static constexpr std::size_t size(std::size_t m) { return m * (m + 1) / 2; }

  /// l = W a, for the leading m rows. \returns l^H l
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION Real multiply(const LaneGroup& lane_group, int m, const Scalar* a,
                                            Scalar* l) const {
    return lane_group.template sum<Real>([&](int lane) {
      Real square = 0;
      if constexpr (LaneGroup::width == 1) {
        for (int p = 0; p < m; ++p) {
          l[p] = dot(w + row(p), a, p + 1);
          square += abs2(l[p]);
        }
      } else {
        // Lanes stay together, four columns at a time, to the end of the last lane's row.
        for (int first = 0; first < m; first += LaneGroup::width) {
          const int p = first + lane;
          const int last = first + LaneGroup::width < m ? first + LaneGroup::width : m;
          const int end = p < m ? p : -1;
          const Scalar* in = w + row(p);
          Scalar sum = 0;
#pragma unroll 1
          for (int q = 0; q < last; q += 4) {
#pragma unroll
            for (int u = 0; u < 4; ++u)
              if (q + u <= end) sum += in[q + u] * a[q + u];
          }
          if (p < m) l[p] = sum;
          square += abs2(sum);
        }
      }
      return square;
    });
  }

  /// Row m of W = (-scale W^T l, scale), with scale = 1 / lambda.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void append(const LaneGroup& lane_group, int m, const Scalar* l,
                                          Real scale) const {
    Scalar* out = w + row(m);
    if constexpr (LaneGroup::width == 1) {
      for (int q = 0; q <= m; ++q) out[q] = 0;
      int p = 0;
      for (; p < m - 3; p += 4) add_four(l, -scale, p, out);
      for (; p < m; ++p) {
        const Scalar* in = w + row(p);
        const Scalar lp = -scale * conjugate(l[p]);
        for (int q = 0; q <= p; ++q) out[q] += lp * in[q];
      }
      out[m] = scale;
    } else {
      lane_group.region([&](int lane) {
        for (int first = 0; first < m; first += LaneGroup::width) {
          const int q = first + lane;
          const unsigned height = q < m ? unsigned(m - q) : 0u;
          int place = row(first) + q;
          Scalar sum = 0;
#pragma unroll 1
          for (int p = first; p < m; p += 4) {  // all lanes walk the rows together
#pragma unroll
            for (int u = 0; u < 4; ++u) {
              if (unsigned(p + u - q) < height) sum += w[place] * conjugate(l[p + u]);
              place += p + u + 1;
            }
          }
          if (q < m) out[q] = -scale * sum;
        }
        if (lane == 0) out[m] = scale;
      });
    }
  }

 private:
  // Rows p to p + 3 at once: `out` is read and written a quarter as often.
  KOKKOS_FORCEINLINE_FUNCTION void add_four(const Scalar* l, Real scale, int p, Scalar* out) const {
    const Scalar* in[4];
    Scalar factor[4];
    for (int u = 0; u < 4; ++u) {
      in[u] = w + row(p + u);
      factor[u] = scale * conjugate(l[p + u]);
    }
    for (int q = 0; q <= p; ++q)
      out[q] += (factor[0] * in[0][q] + factor[1] * in[1][q]) + (factor[2] * in[2][q] + factor[3] * in[3][q]);
    for (int u = 1; u < 4; ++u)
      for (int v = u; v < 4; ++v) out[p + u] += factor[v] * in[v][p + u];
  }

  // On the host in eight partial sums, which the compiler keeps in vector registers.
  KOKKOS_FORCEINLINE_FUNCTION static Scalar dot(const Scalar* x, const Scalar* y, int n) {
    Scalar part[8] = {};
    int k = 0;
    for (; k + 8 <= n; k += 8)
      for (int u = 0; u < 8; ++u) part[u] += x[k + u] * y[k + u];
    for (; k < n; ++k) part[k % 8] += x[k] * y[k];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
  }
};

}  // namespace prekond
