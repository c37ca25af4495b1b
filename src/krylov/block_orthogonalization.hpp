// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Block classical Gram-Schmidt with a Cholesky QR by Pythagoras: all inner products of a pass in one sum.
///
/// Source: Carson, Lund, Rozloznik, Thomas, Linear Algebra Appl. 638 (2022), 150.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "basis.hpp"
#include "device_scalars.hpp"
#include "s_step.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace prekond::krylov {

/// With P = V^H W and G = W^H W: G - P^H P = R^H R by Cholesky, T = R^-1 and C = P T. W T - V C is then
/// orthonormal and orthogonal to V. R and T are 0 from the first column whose pivot is not above `floor`
/// times its (w, w). One team; all matrices by columns.
template <class Scalar, class Space>
struct FactorBlock {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Real = real_type_t<Scalar>;
  static constexpr int threads = 128;
  /// The least part of ||w||^2 that orthogonalising may leave; the second pass repairs the rounding errors.
  static constexpr Real floor = 10000 * std::numeric_limits<Real>::epsilon();
  int columns, block;
  const Scalar* projections;  ///< column c: P, then G
  Scalar *r, *t, *c;

  KOKKOS_FUNCTION const Scalar* p(int column) const {
    return projections + std::size_t(column) * (columns + block);
  }
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, block * block), [&](int k) {
      const int row = k % block, column = k / block;
      Scalar sum = 0;
      for (int q = 0; q < columns; ++q) sum += conjugate(p(row)[q]) * p(column)[q];
      r[k] = row <= column ? p(column)[columns + row] - sum : Scalar(0);
      t[k] = 0;
    });
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] { factor(); });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns * block), [&](int k) {
      const int q = k % columns, column = k / columns;
      Scalar sum = 0;
      for (int l = 0; l <= column; ++l) sum += p(l)[q] * t[column * block + l];
      c[k] = sum;
    });
  }

  KOKKOS_FUNCTION void factor() const {
    int column = 0;
    for (; column < block; ++column) {
      Scalar* mine = r + column * block;
      Real squares = 0;
      for (int row = 0; row < column; ++row) {
        Scalar value = mine[row];
        for (int l = 0; l < row; ++l) value -= conjugate(r[row * block + l]) * mine[l];
        mine[row] = value / r[row * block + row];
        squares += abs2(mine[row]);
      }
      const Real pivot = real_part(mine[column]) - squares;
      if (!(pivot > floor * real_part(p(column)[columns + column])) || !is_finite(pivot)) break;
      mine[column] = Kokkos::sqrt(pivot);
      invert(column);
    }
    for (int k = column * block; k < block * block; ++k) r[k] = 0;
  }
  /// Column `column` of T from R T = I.
  KOKKOS_FUNCTION void invert(int column) const {
    Scalar* mine = t + column * block;
    mine[column] = Scalar(1) / r[column * block + column];
    for (int row = column - 1; row >= 0; --row) {
      Scalar sum = 0;
      for (int l = row + 1; l <= column; ++l) sum += r[l * block + row] * mine[l];
      mine[row] = -sum / r[row * block + row];
    }
  }
};

/// Makes blocks W of vectors orthonormal, and orthogonal to the V before them, in two passes, for the columns
/// of a solve: W = V P_1 + W_1 R_1 and W_1 = V P_2 + W_2 R_2.
template <class Scalar, class Space>
class BlockOrthogonalization {
 public:
  using Number = in_precision_t<Scalar, double>;

  /// \param most_vectors limit for the columns of V and W together
  BlockOrthogonalization(const Space& space, int most_vectors, int most_size, int columns)
      : m_most_projections(most_vectors * most_size),
        m_most_factor(most_size * most_size),
        m_scalars(space, "prekond::gmres::block_scalars", 2 * (m_most_projections + m_most_factor), columns),
        m_factors(allocate<Vector<Scalar, Space>>(space, "prekond::gmres::block_factors",
                                                  std::size_t(most_size) * (most_size + most_vectors))) {}

  /// Pass 0 or 1 on the `size` vectors after the first `before` of each running column's basis(c);
  /// sum(message) adds over processes.
  template <class BasisOf, class Sum>
  void pass(const Space& space, int number, const BasisKernels<Scalar, Space>& kernels,
            const std::vector<int>& running, int before, int size, const BasisOf& basis, const Sum& sum) {
    const Group products = projections(number, before, size);
    for (int c : running)
      kernels.project_block(space, "prekond::gmres::project_block", basis(c), before + size, before, size,
                            m_scalars.now(products, c));
    sum(m_scalars.message(products));
    Scalar *t = m_factors.data(), *coefficients = t + size * size;
    for (int c : running) {
      launch_factor(
          space, FactorBlock<Scalar, Space>{before, size, m_scalars.now(products, c).data(),
                                            m_scalars.now(factor(number, size), c).data(), t, coefficients});
      kernels.update_block(space, "prekond::gmres::update_block", basis(c), before, size, t, coefficients);
    }
  }
  /// Sends the scalars of both passes to the host. \see DeviceScalars
  void send(const Space& space, const char* label) { m_scalars.send(space, label); }
  void await(const Space& space, const char* label) const { m_scalars.await(space, label); }

  // The host calls these after `await`.

  /// The number of vectors of column c before the first one without a pivot.
  int independent_vectors(int c, int size) const {
    for (int i = 0; i < size; ++i)
      for (int number = 0; number < 2; ++number)
        if (!(m_scalars.real_now(factor(number, size), c, i * size + i) > 0)) return i;
    return size;
  }
  /// The first `independent` vectors w of column c as combinations of V and W_2: P_1 + P_2 R_1 above R_2 R_1.
  BlockColumns<Number> represent(int c, int before, int size, int independent) const {
    const Group p1 = projections(0, before, size), p2 = projections(1, before, size), r1 = factor(0, size),
                r2 = factor(1, size);
    BlockColumns<Number> result(before - 1, independent);
    for (int i = 0; i < independent; ++i) {
      for (int q = 0; q < before; ++q) {
        Number sum = entry(p1, c, i * (before + size) + q);
        for (int l = 0; l <= i; ++l)
          sum += entry(p2, c, l * (before + size) + q) * entry(r1, c, i * size + l);
        result.c(q, i + 1) = sum;
      }
      for (int row = 0; row <= i; ++row) {
        Number sum = 0;
        for (int l = row; l <= i; ++l) sum += entry(r2, c, l * size + row) * entry(r1, c, i * size + l);
        result.c(before + row, i + 1) = sum;
      }
    }
    return result;
  }

 private:
  Group projections(int number, int before, int size) const {
    return {number * m_most_projections, size * (before + size)};
  }
  Group factor(int number, int size) const {
    return {2 * m_most_projections + number * m_most_factor, size * size};
  }
  Number entry(Group group, int c, int k) const { return to_double(m_scalars.host_now(group, c, k)); }

  static void launch_factor(const Space& space, const FactorBlock<Scalar, Space>& factor) {
    constexpr int threads = is_host_space<Space> ? 1 : FactorBlock<Scalar, Space>::threads;
    Kokkos::parallel_for("prekond::gmres::factor_block", Kokkos::TeamPolicy<Space>(space, 1, threads),
                         factor);
  }

  int m_most_projections, m_most_factor;
  DeviceScalars<Scalar, Space> m_scalars;
  Vector<Scalar, Space> m_factors;  ///< T and C
};

}  // namespace prekond::krylov
