// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The state that a growing row has with each kind of gradient.
#include <prekond/core/scalar.hpp>
#include "dense/inverse_factor.hpp"

#include "precond/approximate_inverse/adaptive_fsai/lanes.hpp"
#include "precond/approximate_inverse/adaptive_fsai/layout.hpp"
#include "precond/scaling/power_of_two.hpp"

#include <type_traits>

namespace prekond::impl::adaptive_fsai {

template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* at(char* base, std::size_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

/// Borders W = L^-1, A[P, P] = L L^H with m columns, by a column j of which l = W A[P, j] is known: lambda^2
/// = a_jj - l^H l. \returns 1 / lambda; 0 where lambda^2 is not above `floor` a_jj: then W is as it was, and
/// `pivot` is lambda^2 / a_jj
template <class LaneGroup, class Number, class Real>
KOKKOS_FORCEINLINE_FUNCTION Real border(const LaneGroup& lane_group, const InverseFactor<Number>& w, int m,
                                        const Number* l, Real square, Real a_jj, Real floor, Real& pivot) {
  const Real lambda_2 = a_jj - square;
  if (!(lambda_2 > floor * a_jj)) {
    pivot = lambda_2 / a_jj;
    return 0;
  }
  const Real scale = Real(1) / Kokkos::sqrt(lambda_2);
  w.append(lane_group, m, l, scale);
  return scale;
}

/// Row i of G~ on its pattern P, whose columns are the members p = 0, 1, ... in the order in which they came;
/// W = L^-1 for A[P, P].
///
/// In complex numbers, psi = g~ A g~^H, r = g~ A (a row: it is made of A's rows as they are), A[P, P] = L L^H
/// with W = L^-1, and a step's direction is a row of W.
template <class Scalar, class Real, class LaneGroup>
class RowState {
 public:
  using Number = in_precision_t<Scalar, Real>;
  static constexpr int width = LaneGroup::width;

  KOKKOS_FUNCTION int members() const { return m_members; }
  KOKKOS_FUNCTION int growth_limit() const { return m_p.limit_of(m_i); }
  KOKKOS_FUNCTION Real psi() const { return m_psi; }
  KOKKOS_FUNCTION Number value(int p) const { return m_g[p]; }
  KOKKOS_FUNCTION Real pivot() const { return m_pivot; }
  /// After an overflow: what there was too little of.
  KOKKOS_FUNCTION Shortage shortage() const { return m_shortage; }

 protected:
  template <class RowLayout>
  KOKKOS_FUNCTION RowState(const LaneGroup& lane_group, const Matrix<Scalar, Real>& a,
                           const Parameters& parameters, const RowLayout& layout, char* base, int i)
      : m_lane_group(lane_group),
        m_a(a),
        m_p(parameters),
        m_i(i),
        m_column(at<Number>(base, layout.column)),
        m_l(at<Number>(base, layout.l)),
        m_g(at<Number>(base, layout.g)),
        m_y(at<Number>(base, layout.y)),
        m_w{at<Number>(base, layout.factor)} {}

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(int n, const F& f) const {
    adaptive_fsai::for_each(m_lane_group, n, f);
  }

  /// g~ = e_i and psi = a_ii, in units of the row's own.
  KOKKOS_FORCEINLINE_FUNCTION void begin_at_diagonal() {
    m_scale = inverse_power_of_two(m_a.diagonal[m_i]);
    m_psi = m_scale * m_a.diagonal[m_i];
    m_floor = Real(m_p.candidate_floor) * m_a.root[m_i] * m_scale;
  }

  /// |r_j| > floor sqrt(a_ii a_jj)
  KOKKOS_FORCEINLINE_FUNCTION bool above_floor(const Number& r_j, int j) const {
    return Kokkos::abs(r_j) > m_floor * m_a.root[j];
  }

  /// Borders W by column j, whose A[P, j] is in m_column. \returns 1 / lambda; 0 where the pivot is under the
  /// floor
  KOKKOS_FORCEINLINE_FUNCTION Real border(int j) {
    const Real a_jj = m_scale * m_a.diagonal[j];
    const Real square = m_w.multiply(m_lane_group, m_members, m_column, m_l);
    return adaptive_fsai::border(m_lane_group, m_w, m_members, m_l, square, a_jj, Real(m_p.pivot_floor),
                                 m_pivot);
  }

  /// How far g~ goes along the new row of W, with that row's scale 1 / lambda. r_j knows of the members
  /// before `first`; those since have changed it by their y l.
  KOKKOS_FORCEINLINE_FUNCTION Number step_length(Number r_j, int first, Real scale) const {
    for (int p = first; p < m_members; ++p) r_j += m_y[p - first] * m_l[p];
    return -r_j * scale;
  }

  LaneGroup m_lane_group;
  const Matrix<Scalar, Real>& m_a;
  const Parameters& m_p;
  int m_i;
  Number* m_column;  ///< A[P, j], of the column j that is added
  Number* m_l;       ///< W A[P, j]
  Number* m_g;
  Number* m_y;  ///< of the members that the gradient does not know of
  InverseFactor<Number> m_w;

  int m_members = 0;
  Shortage m_shortage = Shortage::members;
  Real m_scale = 1;
  Real m_floor = 0;
  Real m_psi = 0;
  Real m_pivot = 0;
};

}  // namespace prekond::impl::adaptive_fsai
