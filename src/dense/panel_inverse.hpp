// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/version.hpp>
#include "core/lane_group.hpp"
#include "dense/panel_cholesky.hpp"
#include "dense/pivot_search.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prekond {

/// The end of an elimination at a pivot that is too small.
enum class Singular { stop, replace };

/// The inverse of a dense matrix B of order m in its own place, by a lane group: Gauss-Jordan elimination in
/// panels of `Panel` columns.
///
/// A panel's columns are eliminated among themselves first. They then are the columns T of the transformation
/// that its pivots are, and all other columns v become T v[J] + v, with v[J] = 0 in the second term for the
/// panel's rows J, a product of 2 m^2 Panel operations.
///
/// Pivoting::rows: the largest entry of a column in the rows that had no pivot; the first wins a tie. The
/// exchanges are undone in the end. Pivoting::none is for symmetric positive definite B: its pivots
/// are the squares of Cholesky's, and a pivot that is not positive says that B is not.
///
/// A pivot is too small where it is not above `floor` times the largest entry of its column of B
/// (Pivoting::none: times its diagonal entry), or its reciprocal is not finite. The elimination ends there,
/// or (Singular::replace) goes on with that entry for a pivot, if the rest of the column is as small: the
/// result is the inverse of B + sum_k delta_k e_rk e_jk^T, a term for each singular direction, which is
/// positive definite where B is semidefinite. A pivot of Pivoting::none that is negative, but above
/// -sqrt(eps) of its diagonal entry, is such a one, too: no pivot of a definite matrix is negative.
/// This depends on the scales of B's rows, not on those of its columns: rows of very different scales count
/// as singular. `equilibrate` before `invert`, and `undo_scales` after it, make it depend on neither.
///
/// Storage: column-major, leading dimension m; then m + 33 numbers, Panel m numbers, 3 m + 32 + 4 ints.
/// Cost: 2 m^3 operations, 3 barriers a column and 2 a panel.
///
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 14.4; for small blocks
/// Anzt, Dongarra, Flegar, Quintana-Orti, Parallel Comput. 81 (2019). The scales are by Curtis, Reid, J.
/// Inst. Math. Appl. 10 (1972).
template <class Real, int Panel>
class PanelInverse {
 public:
  /// Bytes of all arrays, a multiple of 16.
  KOKKOS_FUNCTION static std::size_t bytes(int m) { return PanelInverse(nullptr, m).m_bytes; }

  /// \pre `base` is aligned to 16 bytes
  KOKKOS_FUNCTION PanelInverse(char* base, int m) : m_order(m) {
    const auto order = static_cast<std::size_t>(m);
    std::size_t end = 0;
    m_entries = impl::place_array<Real>(base, end, order * order);
    m_rows = impl::place_array<Real>(base, end, Panel * order);
    m_largest = impl::place_array<Real>(base, end, order);
    m_search = impl::PivotSearch<Real>(base, end);
    m_exchanges = impl::place_array<int>(base, end, order);
    m_row_scale = impl::place_array<int>(base, end, order);
    m_column_scale = impl::place_array<int>(base, end, order);
    m_state = impl::place_array<int>(base, end, 4);
    m_bad_pivot = impl::place_array<Real>(base, end, 1);
    m_bytes = end;
  }

  KOKKOS_FORCEINLINE_FUNCTION int order() const { return m_order; }
  /// Entry (i, j) of B before `invert`, of B^-1 afterwards.
  KOKKOS_FORCEINLINE_FUNCTION Real& operator()(int i, int j) const { return column(j)[i]; }

  /// B = 0
  template <class LaneGroup>
  KOKKOS_FUNCTION void clear(const LaneGroup& lane_group) const {
    const std::size_t n = static_cast<std::size_t>(m_order) * m_order;
    lane_group.region([&](int lane) {
      for (std::size_t k = lane; k < n; k += lane_group.size()) m_entries[k] = 0;
    });
  }

  /// Whether |b_ij - b_ji| <= tolerance sqrt|b_ii b_jj| for all entries.
  template <class LaneGroup>
  KOKKOS_FUNCTION bool is_symmetric(const LaneGroup& lane_group, Real tolerance) const {
    lane_group.once([&] { m_state[0] = 0; });
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size())
        if (!symmetric_column(j, tolerance)) Kokkos::atomic_inc(m_state);
    });
    const bool result = m_state[0] == 0;
    lane_group.region([](int) {});
    return result;
  }

  /// B becomes diag(2^r) B diag(2^c), with integers r and c by which the logarithms of a row's, and of a
  /// column's, nonzero entries have the mean 0, rounded down: sweeps over rows and columns in turn, as many
  /// as bring any scales close to it. 2^k B gets the same entries. Exact, but for what is 2^-1000 of its row
  /// and its column. Cost: 2 `sweeps` m^2 operations, 2 `sweeps` barriers.
  template <class LaneGroup>
  KOKKOS_FUNCTION void equilibrate(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size()) m_row_scale[j] = m_column_scale[j] = 0;
    });
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      lane_group.region([&](int lane) {
        for (int i = lane; i < m_order; i += lane_group.size())
          m_row_scale[i] = -mean_exponent([&](int j) { return (*this)(i, j); }, m_column_scale);
      });
      lane_group.region([&](int lane) {
        for (int j = lane; j < m_order; j += lane_group.size())
          m_column_scale[j] = -mean_exponent([&](int i) { return (*this)(i, j); }, m_row_scale);
      });
    }
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size())
        for (int i = 0; i < m_order; ++i)
          (*this)(i, j) = scaled((*this)(i, j), m_row_scale[i] + m_column_scale[j]);
    });
  }

  /// B^-1 of the B before `equilibrate`. \pre `invert` returned -1
  template <class LaneGroup>
  KOKKOS_FUNCTION void undo_scales(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size())
        for (int i = 0; i < m_order; ++i)
          (*this)(i, j) = scaled((*this)(i, j), m_column_scale[i] + m_row_scale[j]);
    });
  }

  /// Exponents r and c, by which the largest entry of each row and column of diag(2^r) B diag(2^c) is about
  /// 1, none of them 4 or more: of a symmetric B r = c - e for one integer e, by the diagonal where that
  /// bounds the rows, as that of a definite matrix does, else in sweeps that halve the rows' exponents (Ruiz,
  /// Report RAL-TR-2001-034); of others rows first, then columns. 2^k B has the same c. Zero rows and columns
  /// have what they had. \returns floor(log2) of the largest entry. Cost: 2 m^2 operations, up to 12 m^2 of a
  /// symmetric indefinite B. \pre entries are finite; `largest` is what `largest()` returned
  template <class LaneGroup>
  KOKKOS_FUNCTION int find_scales(const LaneGroup& lane_group, Real largest, bool symmetric) const {
    const int top = exponent_of(largest);
    if (symmetric)
      find_symmetric_scales(lane_group, top);
    else
      find_general_scales(lane_group, top);
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size()) {
        m_exchanges[i] = most_exponent([&](int j) { return (*this)(i, j); }, m_column_scale, lowest);
        if (m_exchanges[i] > lowest) m_exchanges[i] += m_row_scale[i];
      }
    });
    int most = lowest;
    for (int i = 0; i < m_order; ++i)
      if (m_exchanges[i] > most) most = m_exchanges[i];
    lane_group.region([](int) {});
    return most > lowest ? most : 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION int row_scale(int i) const { return m_row_scale[i]; }
  KOKKOS_FORCEINLINE_FUNCTION int column_scale(int j) const { return m_column_scale[j]; }

  /// The exponents of normal numbers.
  static constexpr int largest_exponent = sizeof(Real) == 4 ? 127 : 1023;
  static constexpr int least_exponent = 1 - largest_exponent;

  /// 2^k, for k of normal numbers.
  KOKKOS_FORCEINLINE_FUNCTION static Real power_of_two(int k) {
    using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    return Kokkos::bit_cast<Real>(static_cast<Bits>(k + bias) << mantissa);
  }
  /// x 2^k in steps that all are on the way to the result.
  KOKKOS_FUNCTION static Real scaled(Real x, int k) {
    constexpr int most = bias - 1;
    for (; k > most && x != 0 && Kokkos::isfinite(x); k -= most) x *= power_of_two(most);
    for (; k < -most && x != 0 && Kokkos::isfinite(x); k += most) x *= power_of_two(-most);
    return k > most || k < -most ? x : x * power_of_two(k);
  }

  /// \returns -1, or the index whose pivot was too small, where B is lost; see `pivot()`
  template <class LaneGroup>
  KOKKOS_FUNCTION int invert(const LaneGroup& lane_group, Real floor, Pivoting pivoting,
                             Singular singular = Singular::stop) const {
    measure_columns(lane_group, pivoting);
    for (int j0 = 0; j0 < m_order; j0 += Panel) {
      const int columns = m_order - j0 < Panel ? m_order - j0 : Panel;
      for (int c = 0; c < columns; ++c) {
        take_pivot(lane_group, j0, columns, j0 + c, floor, pivoting, singular);
        if (m_state[0] >= 0) return m_state[0];
        eliminate(lane_group, j0, columns, j0 + c);
      }
      if (columns == m_order) break;
      exchange_rows(lane_group, j0, columns);
      update_rest(lane_group, j0, columns);
    }
    if (pivoting == Pivoting::rows) exchange_columns(lane_group);
    return -1;
  }

  /// Where `invert` gave up, or replaced a pivot first, that pivot relative to what it was compared with.
  KOKKOS_FORCEINLINE_FUNCTION float pivot() const { return static_cast<float>(*m_bad_pivot); }
  /// Pivots that the last `invert` replaced, and the first of them.
  KOKKOS_FORCEINLINE_FUNCTION int num_replaced() const { return m_state[2]; }
  KOKKOS_FORCEINLINE_FUNCTION int first_replaced() const { return m_state[3]; }

  /// Rows whose diagonal entries are doubled before `invert`. They are forgotten by `equilibrate`.
  template <class LaneGroup>
  KOKKOS_FUNCTION void clear_marks(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size()) m_row_scale[i] = 0;
    });
  }
  template <class LaneGroup>
  KOKKOS_FUNCTION void mark(const LaneGroup& lane_group, int row) const {
    lane_group.region([](int) {});
    lane_group.once([&] { m_row_scale[row] += 1; });
  }
  KOKKOS_FUNCTION int num_marks(int& first) const {
    int count = 0;
    for (int i = m_order - 1; i >= 0; --i) {
      if (m_row_scale[i] == 0) continue;
      first = i;
      ++count;
    }
    return count;
  }
  template <class LaneGroup>
  KOKKOS_FUNCTION void double_marked(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size())
        if (m_row_scale[i] > 0) (*this)(i, i) *= Real(1 + m_row_scale[i]);
    });
  }

  /// The row i with the largest (B^-1)_ii b_ii, 1 over the pivot that b_ii has where it comes last, where
  /// that is above 1 / floor; else -1. \pre `invert` with Pivoting::none was sound
  KOKKOS_FUNCTION int singular_row(Real floor) const {
    int row = -1;
    Real most = 1 / floor;
    for (int i = 0; i < m_order; ++i) {
      const Real size = (*this)(i, i) * m_largest[i];
      if (!(size > most)) continue;
      most = size;
      row = i;
    }
    return row;
  }

  /// (B + B^T) / 2
  template <class LaneGroup>
  KOKKOS_FUNCTION void symmetrize(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size())
        for (int i = j + 1; i < m_order; ++i)
          (*this)(i, j) = (*this)(j, i) = ((*this)(i, j) + (*this)(j, i)) / 2;
    });
  }

  /// The largest magnitude of all entries; not finite where one of them is not. The same for all lanes.
  template <class LaneGroup>
  KOKKOS_FUNCTION Real largest(const LaneGroup& lane_group) const {
    const std::size_t n = static_cast<std::size_t>(m_order) * m_order;
    const int searchers = m_search.num_searchers(lane_group);
    lane_group.region([&](int lane) {
      if (lane >= searchers) return;
      Real most = 0;
      for (std::size_t k = lane; k < n; k += searchers) {
        const Real size = Kokkos::abs(m_entries[k]);
        if (size > most || !Kokkos::isfinite(size)) most = size;
        if (!Kokkos::isfinite(most)) break;
      }
      m_search.sizes()[lane] = most;
    });
    Real most = 0;
    for (int k = 0; k < searchers; ++k)
      if (m_search.sizes()[k] > most || !Kokkos::isfinite(m_search.sizes()[k])) {
        most = m_search.sizes()[k];
        if (!Kokkos::isfinite(most)) break;
      }
    lane_group.region([](int) {});
    return most;
  }

 private:
  /// The first one balances full matrices; the others are for patterns whose rows have few columns in common.
  static constexpr int sweeps = 8;
  static constexpr int symmetric_sweeps = 12;  // each halves exponents: of up to 2^11
  static constexpr int lowest = -(1 << 20);
  static constexpr int bias = sizeof(Real) == 4 ? 127 : 1023;
  static constexpr int mantissa = sizeof(Real) == 4 ? 23 : 52;

  /// The mean of floor(log2 |entry(k)|) + scale[k] over the finite nonzero entries; 0 where there are none.
  template <class Entry>
  KOKKOS_FUNCTION int mean_exponent(const Entry& entry, const int* scale) const {
    long long sum = 0;
    int count = 0;
    for (int k = 0; k < m_order; ++k) {
      const Real value = entry(k);
      if (value == 0 || !Kokkos::isfinite(value)) continue;
      sum += exponent_of(value) + scale[k];
      ++count;
    }
    return count > 0 ? floor_of(sum, count) : 0;
  }

  /// floor(log2 |x|); subnormal numbers have that of the least normal one.
  KOKKOS_FORCEINLINE_FUNCTION static int exponent_of(float x) {
    const int exponent = static_cast<int>((Kokkos::bit_cast<unsigned>(x) >> 23) & 0xffu);
    return (exponent < 1 ? 1 : exponent) - bias;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int exponent_of(double x) {
    const int exponent = static_cast<int>((Kokkos::bit_cast<std::uint64_t>(x) >> 52) & 0x7ffu);
    return (exponent < 1 ? 1 : exponent) - bias;
  }
  /// floor(k / n) for n > 0.
  KOKKOS_FORCEINLINE_FUNCTION static int floor_of(long long k, int n) {
    return static_cast<int>(k >= 0 ? k / n : -((n - 1 - k) / n));
  }

  /// The largest floor(log2 |entry(k)|) + scale[k] of the nonzero entries; `none` where there are none.
  template <class Entry>
  KOKKOS_FUNCTION int most_exponent(const Entry& entry, const int* scale, int none) const {
    int most = lowest;
    for (int k = 0; k < m_order; ++k) {
      const Real value = entry(k);
      if (value == 0) continue;
      const int exponent = exponent_of(value) + scale[k];
      if (exponent > most) most = exponent;
    }
    return most > lowest ? most : none;
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void find_general_scales(const LaneGroup& lane_group, int top) const {
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size()) m_column_scale[j] = 0;
    });
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size())
        m_row_scale[i] = -most_exponent([&](int j) { return (*this)(i, j); }, m_column_scale, top);
    });
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size())
        m_column_scale[j] = -most_exponent([&](int i) { return (*this)(i, j); }, m_row_scale, 0);
    });
  }

  /// The scales of 2^-top B, the same for rows and columns; `top` goes into the rows' in the end.
  template <class LaneGroup>
  KOKKOS_FUNCTION void find_symmetric_scales(const LaneGroup& lane_group, int top) const {
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size()) {
        const Real diagonal = (*this)(i, i);
        m_column_scale[i] = diagonal == 0 ? 0 : -floor_of(exponent_of(diagonal) - top, 2);
      }
    });
    for (int sweep = 0; sweep < symmetric_sweeps; ++sweep) {
      lane_group.once([&] { m_state[1] = 0; });
      lane_group.region([&](int lane) {
        for (int i = lane; i < m_order; i += lane_group.size()) {
          const int own = m_column_scale[i];
          const int most =
              most_exponent([&](int j) { return (*this)(i, j); }, m_column_scale, top - own) - top + own;
          m_row_scale[i] = own - floor_of(most, 2);
          if (m_row_scale[i] != own) m_state[1] = 1;
        }
      });
      const bool changes = m_state[1] != 0;
      lane_group.region([&](int lane) {
        for (int i = lane; i < m_order; i += lane_group.size()) m_column_scale[i] = m_row_scale[i];
      });
      if (!changes) break;
    }
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size()) m_row_scale[i] -= top;
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION Real* column(int j) const {
    return m_entries + static_cast<std::size_t>(j) * m_order;
  }

  KOKKOS_FUNCTION bool symmetric_column(int j, Real tolerance) const {
    const Real diagonal = (*this)(j, j);
    for (int i = j + 1; i < m_order; ++i) {
      const Real lower = (*this)(i, j), upper = (*this)(j, i);
      if (lower == upper) continue;
      if (!(Kokkos::abs(lower - upper) <=
            tolerance * Kokkos::sqrt(Kokkos::abs(diagonal)) * Kokkos::sqrt(Kokkos::abs((*this)(i, i)))))
        return false;
    }
    return true;
  }

  /// Finds the numbers that pivots are compared with.
  template <class LaneGroup>
  KOKKOS_FUNCTION void measure_columns(const LaneGroup& lane_group, Pivoting pivoting) const {
    lane_group.region([&](int lane) {
      if (lane == 0) {
        m_state[0] = m_state[3] = -1;
        m_state[2] = 0;
        *m_bad_pivot = 0;
      }
      for (int j = lane; j < m_order; j += lane_group.size()) {
        Real most = 0;
        for (int i = 0; i < m_order; ++i) most = Kokkos::fmax(most, Kokkos::abs(column(j)[i]));
        m_largest[j] = pivoting == Pivoting::none ? Kokkos::abs(column(j)[j]) : most;
      }
    });
  }

  /// Finds the pivot of column j and brings it to the diagonal, within the panel.
  template <class LaneGroup>
  KOKKOS_FUNCTION void take_pivot(const LaneGroup& lane_group, int j0, int columns, int j, Real floor,
                                  Pivoting pivoting, Singular singular) const {
    const bool searches = pivoting == Pivoting::rows;
    if (searches) m_search.search(lane_group, column(j), j, m_order);
    lane_group.once([&] {
      const int row = searches ? m_search.best(lane_group, j, m_order) : j;
      const Real pivot = column(j)[row], size = searches ? Kokkos::abs(pivot) : pivot;
      m_exchanges[j] = row;
      // Not a number is not above the floor either.
      if (!(size > floor * m_largest[j]) || !Kokkos::isfinite(pivot) || !Kokkos::isfinite(1 / pivot)) {
        if (m_state[3] < 0) *m_bad_pivot = m_largest[j] > 0 ? pivot / m_largest[j] : Real(0);
        if (singular == Singular::stop || !is_singular_column(j, pivot, floor, pivoting)) {
          m_state[0] = j;
          return;
        }
        column(j)[row] = m_largest[j] > 0 ? m_largest[j] : Real(1);
        if (m_state[2]++ == 0) m_state[3] = j;
      }
      if (row == j) return;
      for (int k = j0; k < j0 + columns; ++k) impl::exchange(column(k)[row], column(k)[j]);
    });
  }

  /// Is what is left of column j rounding errors? \pre its pivot is too small
  KOKKOS_FUNCTION bool is_singular_column(int j, Real pivot, Real floor, Pivoting pivoting) const {
    const Real own = m_largest[j];
    if (pivoting == Pivoting::rows)
      return Kokkos::abs(pivot) <= floor * own && (own == 0 || Kokkos::isfinite(1 / own));
    const Real root = Kokkos::sqrt(Kokkos::Experimental::epsilon_v<Real>);
    if (!(own > 0) || !Kokkos::isfinite(1 / own) || !(Kokkos::abs(pivot) <= root * own)) return false;
    // In a semidefinite matrix |s_ij|^2 <= s_ii s_jj.
    const Real relative = Kokkos::abs(pivot) / own;
    const Real most = 2 * Kokkos::sqrt(relative > floor ? relative : floor) * Kokkos::sqrt(own);
    for (int i = j + 1; i < m_order; ++i)
      if (!(Kokkos::abs(column(j)[i]) <= most * Kokkos::sqrt(m_largest[i]))) return false;
    return true;
  }

  /// The pivot's step in the panel's columns: first the others, then its own, which they read.
  template <class LaneGroup>
  KOKKOS_FUNCTION void eliminate(const LaneGroup& lane_group, int j0, int columns, int j) const {
    Real* const own = column(j);
    const Real reciprocal = 1 / own[j];
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size()) {
        if (i == j) continue;
        const Real multiplier = own[i] * reciprocal;
        for (int k = j0; k < j0 + columns; ++k)
          if (k != j) column(k)[i] -= multiplier * column(k)[j];
      }
    });
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size())
        own[i] = i == j ? reciprocal : -own[i] * reciprocal;
      for (int k = j0 + lane; k < j0 + columns; k += lane_group.size())
        if (k != j) column(k)[j] *= reciprocal;
    });
  }

  /// The panel's exchanges in the other columns, and a copy of the panel's rows, which the update overwrites.
  template <class LaneGroup>
  KOKKOS_FUNCTION void exchange_rows(const LaneGroup& lane_group, int j0, int columns) const {
    lane_group.region([&](int lane) {
      for (int k = lane; k < m_order; k += lane_group.size()) {
        if (k >= j0 && k < j0 + columns) continue;
        Real* const entries = column(k);
        for (int j = j0; j < j0 + columns; ++j) impl::exchange(entries[m_exchanges[j]], entries[j]);
        for (int c = 0; c < columns; ++c) {
          m_rows[static_cast<std::size_t>(k) * Panel + c] = entries[j0 + c];
          entries[j0 + c] = 0;
        }
        for (int c = columns; c < Panel; ++c) m_rows[static_cast<std::size_t>(k) * Panel + c] = 0;
      }
    });
  }

  /// Columns that a lane updates with a row of T in its registers.
  static constexpr int columns_at_once = 8;

  /// B[:, k] += T B[J, k] for the columns k outside the panel.
  template <class LaneGroup>
  KOKKOS_FUNCTION void update_rest(const LaneGroup& lane_group, int j0, int columns) const {
    if constexpr (LaneGroup::width == 1) {
      for (int k = 0; k < m_order; ++k)
        if (k < j0 || k >= j0 + columns) update_column(j0, columns, k);
    } else {
      const int groups = (m_order + columns_at_once - 1) / columns_at_once;
      lane_group.region([&](int lane) {
        for (int t = lane; t < groups * m_order; t += lane_group.size())
          update_row(j0, columns, t % m_order, t / m_order * columns_at_once);
      });
    }
  }

  KOKKOS_FUNCTION void update_column(int j0, int columns, int k) const {
    Real* const to = column(k);
    const Real* const row = m_rows + static_cast<std::size_t>(k) * Panel;
    if (columns == Panel) {
      const Real* const from = column(j0);
      const std::size_t ld = static_cast<std::size_t>(m_order);
      for (int i = 0; i < m_order; ++i) {
        Real sum = to[i];
#pragma unroll
        for (int c = 0; c < Panel; ++c) sum += from[c * ld + i] * row[c];
        to[i] = sum;
      }
    } else {
      for (int c = 0; c < columns; ++c)
        for (int i = 0; i < m_order; ++i) to[i] += column(j0 + c)[i] * row[c];
    }
  }

  KOKKOS_FUNCTION void update_row(int j0, int columns, int i, int first) const {
    Real factor[Panel];
#pragma unroll
    for (int c = 0; c < Panel; ++c) factor[c] = c < columns ? column(j0 + c)[i] : Real(0);
    const int end = first + columns_at_once < m_order ? first + columns_at_once : m_order;
    for (int k = first; k < end; ++k) {
      if (k >= j0 && k < j0 + columns) continue;
      const Real* const row = m_rows + static_cast<std::size_t>(k) * Panel;
      Real sum = column(k)[i];
#pragma unroll
      for (int c = 0; c < Panel; ++c) sum += factor[c] * row[c];
      column(k)[i] = sum;
    }
  }

  /// B^-1 = X P for the X that the elimination ends with.
  template <class LaneGroup>
  KOKKOS_FUNCTION void exchange_columns(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int i = lane; i < m_order; i += lane_group.size())
        for (int j = m_order - 1; j >= 0; --j) {
          const int other = m_exchanges[j];
          if (other != j) impl::exchange(column(j)[i], column(other)[i]);
        }
    });
  }

  int m_order;
  std::size_t m_bytes;
  Real* m_entries;
  Real* m_rows;     ///< a panel's rows, one after another by columns
  Real* m_largest;  ///< of each column of B
  impl::PivotSearch<Real> m_search;
  int* m_exchanges;
  int* m_row_scale;  ///< exponents
  int* m_column_scale;
  int* m_state;       ///< the failed index, a flag, the pivots that were replaced, the first of them
  Real* m_bad_pivot;  ///< see pivot()
};

}  // namespace prekond
