// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Algorithm 1 of Bernaschi et al. (2019) for one row, over a level: everything the row needs lies in a workspace of a
/// few kilobytes, in scratch where it fits.
#include <prekond/core/levels.hpp>
#include <prekond/dense/inverse_factor.hpp>
#include <prekond/pattern/column_set.hpp>

#include <cstdint>

namespace prekond::impl::adaptive_fsai {

/// What became of a row.
enum class RowStatus : unsigned char {
  done,
  pivot,      ///< growth ended at a pivot under the floor
  diagonal,   ///< psi was not positive: 1/sqrt(a_ii) instead
  overflow,   ///< the workspace was too small: the row is to be done again in a larger one
};

/// The matrix, as the kernel reads it: `values` in the setup's precision, times one power of two for the whole matrix.
template <class Scalar, class Real>
struct Matrix {
  const std::size_t* row_ptrs;
  const int* col_idxs;
  const Real* values;
  const Scalar* original;
  const Real* diagonal;  ///< in the units of `values`
  std::int64_t num_rows;
};

struct Parameters {
  int max_members;  ///< off-diagonal entries a row may get
  int max_steps;
  int step_size;
  double tolerance;
  double step_tolerance;
  double candidate_floor;
  double pivot_floor;
};

/// Sizes of a row's workspace and where its arrays begin, in bytes, largest alignment first.
template <class Real, class Slot, class Set>
struct Layout {
  int max_members;  ///< off-diagonal entries there is room for
  int capacity;     ///< columns it can meet
  int pool;         ///< entries of A's rows it can remember

  std::size_t row_begin, gradient, factor, a, l, step, g, y, cols, member_cols, member_slots, buckets,
      num_buckets, row_length, row_slots, slots, count, bytes;

  Layout() = default;
  Layout(int members, int columns, int entries) : max_members(members), capacity(columns), pool((entries + 1) / 2 * 2) {
    std::size_t end = 0;
    const auto place = [&end](std::size_t n, std::size_t size) {
      const std::size_t begin = (end + size - 1) / size * size;
      end = begin + n * size;
      return begin;
    };
    const std::size_t m = static_cast<std::size_t>(members);
    row_begin = place(m + 1, sizeof(std::size_t));
    a = place(m + 1, sizeof(Real));
    l = place(m, sizeof(Real));
    step = place(m, sizeof(Real));
    g = place(m, sizeof(Real));
    y = place(m, sizeof(Real));
    gradient = place(static_cast<std::size_t>(capacity) + 1, sizeof(Real));
    factor = place(InverseFactor<Real>::size(m), sizeof(Real));
    cols = place(capacity, sizeof(int));
    member_cols = place(m, sizeof(int));
    member_slots = place(m, sizeof(int));
    row_length = place(m + 1, sizeof(int));
    row_slots = place(m + 1, sizeof(int));
    count = place(1, sizeof(int));
    num_buckets = 0;
    buckets = end;
    if constexpr (Set::shared_insertion) {
      num_buckets = Set::num_buckets(capacity);
      buckets = place(num_buckets * sizeof(typename Set::bucket_type) / sizeof(unsigned), sizeof(unsigned));
    }
    slots = place((static_cast<std::size_t>(pool) * sizeof(Slot) + 3) / 4, sizeof(unsigned));
    bytes = (end + 15) / 16 * 16;
  }
};

/// 2^-k with x 2^-k in [1, 2): scaling by it is exact.
KOKKOS_INLINE_FUNCTION float inverse_power_of_two(float x) {
  unsigned exponent = (Kokkos::bit_cast<unsigned>(x) >> 23) & 0xffu;
  exponent = exponent < 1 ? 1 : (exponent > 253 ? 253 : exponent);
  return Kokkos::bit_cast<float>((254u - exponent) << 23);
}
KOKKOS_INLINE_FUNCTION double inverse_power_of_two(double x) {
  std::uint64_t exponent = (Kokkos::bit_cast<std::uint64_t>(x) >> 52) & 0x7ffu;
  exponent = exponent < 1 ? 1 : (exponent > 2045 ? 2045 : exponent);
  return Kokkos::bit_cast<double>((2046ull - exponent) << 52);
}

/// The magnitude of x as an integer of the same order.
KOKKOS_FORCEINLINE_FUNCTION unsigned magnitude(float x) { return Kokkos::bit_cast<unsigned>(x) & 0x7fffffffu; }
KOKKOS_FORCEINLINE_FUNCTION unsigned long long magnitude(double x) {
  return Kokkos::bit_cast<unsigned long long>(x) & 0x7fffffffffffffffull;
}

/// One row's growth. `Set` finds columns, `Slot` is how slots are remembered.
template <class Scalar, class Real, class Set, class Slot, class Level>
class Row {
 public:
  using RowLayout = Layout<Real, Slot, Set>;
  static constexpr int width = Level::width;
  static constexpr Slot missing = static_cast<Slot>(~Slot(0));

  KOKKOS_FUNCTION Row(const Level& level, const Matrix<Scalar, Real>& a, const Parameters& parameters,
                      const RowLayout& layout, const Set& set, char* base, int i)
      : m_level(level), m_a(a), m_p(parameters), m_layout(layout), m_set(set), m_i(i),
        m_row_begin(at<std::size_t>(base, layout.row_begin)), m_member_slots(at<int>(base, layout.member_slots)),
        m_row_length(at<int>(base, layout.row_length)), m_row_slots(at<int>(base, layout.row_slots)),
        m_slots(at<Slot>(base, layout.slots)), m_r(at<Real>(base, layout.gradient)),
        m_column(at<Real>(base, layout.a)), m_l(at<Real>(base, layout.l)), m_step(at<Real>(base, layout.step)),
        m_g(at<Real>(base, layout.g)), m_y(at<Real>(base, layout.y)), m_w{at<Real>(base, layout.factor)} {}

  KOKKOS_FUNCTION static impl::ColumnList columns(const RowLayout& layout, char* base) {
    return {at<int>(base, layout.cols), at<int>(base, layout.member_cols), at<int>(base, layout.count),
            layout.capacity};
  }

  /// Finds the pattern and solves on it.
  KOKKOS_FUNCTION RowStatus grow() {
    if (!begin()) return RowStatus::overflow;
    const Real psi_0 = m_psi;
    RowStatus status = RowStatus::done;
    for (int k = 0; k < m_p.max_steps; ++k) {
      const Real psi_before = m_psi;
      const int first = m_members;
      for (int t = 0; t < m_p.step_size && m_members < m_p.max_members; ++t) {
        const int slot = best_candidate();
        if (slot < 0) break;
        status = add_member(slot, first);
        if (status != RowStatus::done) return status;
      }
      if (m_members == first) break;
      if (m_psi <= Real(m_p.tolerance) * psi_0) break;
      if (m_p.step_tolerance > 0 && psi_before - m_psi <= Real(m_p.step_tolerance) * psi_before) break;
      if (k + 1 == m_p.max_steps || m_members == m_p.max_members) break;
      update_gradient();
    }
    return status;
  }

  /// Solves on a given pattern: `cols[0 .. n)`, ascending, all smaller than i. A column whose pivot is under the floor is
  /// left out.
  KOKKOS_FUNCTION RowStatus solve(const int* cols, int n) {
    m_set.clear(m_level);
    m_level.region([&](int lane) {
      for (int k = lane; k < n; k += width) insert(cols[k]);
    });
    m_kept = true;
    if (!begin_row()) return RowStatus::overflow;
    RowStatus status = RowStatus::done;
    for (int k = 0; k < n; ++k) {
      const int first = m_members;
      const RowStatus added = add_member(m_set.find(cols[k]).slot, first);
      if (added == RowStatus::overflow) return added;
      if (added == RowStatus::pivot) status = added;
      else if (k + 1 < n) update_gradient();
    }
    return status;
  }

  /// psi = g~ A g~^T in double, from the matrix's own values. Uses up the gradient.
  KOKKOS_FUNCTION double exact_psi() {
    const int used = slots_used();
    m_level.region([&](int lane) {
      for (int s = lane; s < used; s += width) m_r[s] = 0;
      if (lane == 0) m_r[trash()] = 0;
    });
    m_level.region([&](int lane) {
      for (int p = lane; p < m_members; p += width) m_r[m_member_slots[p]] = m_g[p];
    });
    const double sum = m_level.template sum<double>([&](int lane) {
      double total = 2 * row_product(own_row(), lane);
      for (int p = 0; p < m_members; ++p) total += double(m_g[p]) * row_product(p, lane);
      return total;
    });
    return sum + double(m_a.original[diagonal_entry()]);
  }

  KOKKOS_FUNCTION int members() const { return m_members; }
  KOKKOS_FUNCTION int member_column(int p) const { return m_set.member_cols[p]; }
  KOKKOS_FUNCTION Real value(int p) const { return m_g[p]; }
  KOKKOS_FUNCTION Real pivot() const { return m_pivot; }
  KOKKOS_FUNCTION int slots_used() const { return m_set.size() < m_layout.capacity ? m_set.size() : m_layout.capacity; }
  KOKKOS_FUNCTION int entries_used() const { return m_next; }
  /// Where a_ii stands: right behind the row's remembered prefix.
  KOKKOS_FUNCTION std::size_t diagonal_entry() const {
    return m_row_begin[own_row()] + static_cast<std::size_t>(m_row_length[own_row()]);
  }

 private:
  template <class T>
  KOKKOS_FUNCTION static T* at(char* base, std::size_t offset) {
    return reinterpret_cast<T*>(base + offset);
  }
  KOKKOS_FUNCTION int own_row() const { return m_layout.max_members; }
  KOKKOS_FUNCTION int trash() const { return m_layout.capacity; }

  KOKKOS_FUNCTION bool begin() {
    m_set.clear(m_level);
    return begin_row();
  }

  /// g~ = e_i: psi = a_ii and r = the row's own entries.
  KOKKOS_FUNCTION bool begin_row() {
    m_scale = inverse_power_of_two(m_a.diagonal[m_i]);
    m_psi = m_scale * m_a.diagonal[m_i];
    if (m_kept) zero_gradient();
    if (!remember_row(m_i, own_row())) return false;
    const std::size_t begin = m_row_begin[own_row()];
    const int length = m_row_length[own_row()];
    const Slot* slots = m_slots + m_row_slots[own_row()];
    m_level.region([&](int lane) {
      for (int e = lane; e < length; e += width)
        if (int(slots[e]) != trash()) m_r[slots[e]] = m_scale * m_a.values[begin + e];
    });
    return true;
  }

  KOKKOS_FUNCTION void zero_gradient() {
    const int used = slots_used();
    m_level.region([&](int lane) {
      for (int s = lane; s < used; s += width) m_r[s] = 0;
    });
  }

  /// Meets the entries of row j left of column i: looks their columns up, adds the new ones, and remembers every
  /// entry's slot at `position`. Entries in a member's column are A[P, j] and go to m_column.
  KOKKOS_FUNCTION bool remember_row(int j, int position) {
    const std::size_t begin = m_a.row_ptrs[j];
    const int full = static_cast<int>(m_a.row_ptrs[j + 1] - begin);
    Slot* slots = m_slots + m_next;
    const int room = m_layout.pool - m_next;
    const int length = m_level.template sum<int>([&](int lane) {
      int seen = 0;
      for (int e = lane; e < full; e += width) {
        const int col = m_a.col_idxs[begin + e];
        if (col >= m_i) break;
        const ColumnPlace place = m_set.find(col);
        if (place.position >= 0) m_column[place.position] = m_scale * m_a.values[begin + e];
        if (e < room) slots[e] = place.slot < 0 ? missing : static_cast<Slot>(place.slot);
        ++seen;
      }
      return seen;
    });
    if (length > room) return false;
    m_level.region([&](int lane) {
      for (int e = lane; e < length; e += width)
        if (slots[e] == missing) slots[e] = static_cast<Slot>(m_kept ? trash() : insert(m_a.col_idxs[begin + e]));
      if (lane == 0) {
        if (length % 2 != 0) slots[length] = static_cast<Slot>(trash());
        m_row_begin[position] = begin;
        m_row_length[position] = length;
        m_row_slots[position] = m_next;
      }
    });
    m_next += (length + 1) / 2 * 2;
    return !m_set.overflowed();
  }

  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = m_set.insert(col);
    if (slot >= 0) m_r[slot] = 0;
    return slot;
  }

  /// The slot with the largest |r_j| among the columns outside the pattern that are above the floor; ties go to the
  /// smaller column. -1 where there is none.
  KOKKOS_FUNCTION int best_candidate() const {
    const int col = arg_max([](int) { return true; });
    if (col < 0) return -1;
    const int slot = m_set.find(col).slot;
    if (above_floor(m_r[slot], col)) return slot;
    const int next = arg_max([this](int s) { return m_set.cols[s] >= 0 && above_floor(m_r[s], m_set.cols[s]); });
    return next < 0 ? -1 : m_set.find(next).slot;
  }

  // Single precision packs magnitude and column into one key; double needs two sweeps.
  template <class Filter>
  KOKKOS_FORCEINLINE_FUNCTION int arg_max(const Filter& filter) const {
    using Bits = unsigned long long;
    const int used = slots_used();
    if constexpr (sizeof(Real) == 4) {
      const Bits best = m_level.template max<Bits>([&](int lane) {
        Bits mine = 0;
        for (int s = lane; s < used; s += width) {
          const Bits key = Bits(magnitude(m_r[s])) << 32 | (0xffffffffu - unsigned(m_set.cols[s]));
          if (key > mine && filter(s)) mine = key;
        }
        return mine;
      });
      return (best >> 32) == 0 ? -1 : int(0xffffffffu - unsigned(best));
    } else {
      const Bits best = m_level.template max<Bits>([&](int lane) {
        Bits mine = 0;
        for (int s = lane; s < used; s += width)
          if (magnitude(m_r[s]) > mine && filter(s)) mine = magnitude(m_r[s]);
        return mine;
      });
      if (best == 0) return -1;
      return int(m_level.template min<unsigned>([&](int lane) {
        unsigned mine = ~0u;
        for (int s = lane; s < used; s += width)
          if (magnitude(m_r[s]) == best && unsigned(m_set.cols[s]) < mine && filter(s)) mine = unsigned(m_set.cols[s]);
        return mine;
      }));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION bool above_floor(Real r, int col) const {
    const Real floor = Real(m_p.candidate_floor);
    return r * r > floor * floor * (m_scale * m_a.diagonal[m_i]) * (m_scale * m_a.diagonal[col]);
  }

  /// Borders W by the column of the candidate in `slot` and moves g~ to the new minimum. `first` is the number of
  /// members before this step: what they changed is in r already.
  KOKKOS_FUNCTION RowStatus add_member(int slot, int first) {
    const int m = m_members;
    if (m == m_layout.max_members) return RowStatus::overflow;
    const int j = m_set.cols[slot];
    Real r_j = m_r[slot];
    m_level.region([&](int lane) {
      for (int p = lane; p < m; p += width) m_column[p] = 0;
    });
    m_level.once([&] { m_set.make_member(slot, m); });
    if (!remember_row(j, m)) return RowStatus::overflow;
    m_w.multiply(m_level, m, m_column, m_l);
    const Real a_jj = m_scale * m_a.diagonal[j];
    const Real square = m_level.template sum<Real>([&](int lane) { return lane_square(lane, m); });
    const Real lambda_2 = a_jj - square;
    if (!(lambda_2 > Real(m_p.pivot_floor) * a_jj)) {
      m_pivot = lambda_2 / a_jj;
      m_level.once([&] { m_set.undo_member(slot, m); });
      return RowStatus::pivot;
    }
    const Real scale = Real(1) / Kokkos::sqrt(lambda_2);
    m_w.append(m_level, m, m_l, scale);
    for (int p = first; p < m; ++p) r_j += m_y[p] * m_l[p];
    const Real y = -r_j * scale;
    const Real* w = m_w.w + m_w.row(m);
    m_level.region([&](int lane) {
      for (int p = lane; p <= m; p += width) {
        const Real d = y * w[p];
        m_step[p] = m == first || p == m ? d : m_step[p] + d;
        m_g[p] = p == m ? d : m_g[p] + d;
      }
      if (lane == 0) {
        m_y[m] = y;
        m_r[slot] = 0;
        m_member_slots[m] = slot;
      }
    });
    m_psi -= y * y;
    ++m_members;
    return RowStatus::done;
  }

  KOKKOS_FORCEINLINE_FUNCTION Real lane_square(int lane, int m) const {
    Real sum = 0;
    for (int p = lane; p < m; p += width) sum += m_l[p] * m_l[p];
    return sum;
  }

  /// r += A[:, P] d for the step's direction d: one matrix row after another, lanes over its remembered entries, two
  /// at a time. No two lanes meet in a slot, and every slot's sum has one order.
  KOKKOS_FUNCTION void update_gradient() {
    for (int p = 0; p < m_members; ++p) {
      const Real d = m_step[p] * m_scale;
      const int length = m_row_length[p];
      const Real* values = m_a.values + m_row_begin[p];
      const Slot* slots = m_slots + m_row_slots[p];
      if constexpr (width == 1) {
        for (int e = 0; e < length; ++e) m_r[slots[e]] += d * values[e];
      } else if (m_kept) {
        m_level.region([&](int lane) {  // entries outside the pattern share one slot, which nobody reads
          for (int e = lane; e < length; e += width)
            if (int(slots[e]) != trash()) m_r[slots[e]] += d * values[e];
        });
      } else {
        m_level.region([&](int lane) {
          for (int e = 2 * lane; e < length; e += 2 * width) {
            const Slot s0 = slots[e];
            const Slot s1 = slots[e + 1];
            const Real v0 = values[e];
            const Real v1 = values[e + 1];
            m_r[s0] += d * v0;
            m_r[s1] += d * v1;
          }
        });
      }
    }
    m_level.region([&](int lane) {
      for (int p = lane; p < m_members; p += width) m_r[m_member_slots[p]] = 0;
    });
  }

  /// One lane's part of sum_e a_e g(slot of e) over a remembered row.
  KOKKOS_FORCEINLINE_FUNCTION double row_product(int position, int lane) const {
    const Slot* slots = m_slots + m_row_slots[position];
    const Scalar* values = m_a.original + m_row_begin[position];
    double sum = 0;
    for (int e = lane; e < m_row_length[position]; e += width) sum += double(values[e]) * double(m_r[slots[e]]);
    return sum;
  }

  Level m_level;
  const Matrix<Scalar, Real>& m_a;
  const Parameters& m_p;
  const RowLayout& m_layout;
  Set m_set;
  int m_i;
  std::size_t* m_row_begin;
  int* m_member_slots;
  int* m_row_length;
  int* m_row_slots;
  Slot* m_slots;
  Real* m_r;
  Real* m_column;
  Real* m_l;
  Real* m_step;
  Real* m_g;
  Real* m_y;
  InverseFactor<Real> m_w;

  int m_members = 0;
  int m_next = 0;
  Real m_scale = 1;
  Real m_psi = 0;
  Real m_pivot = 0;
  bool m_kept = false;
};

}  // namespace prekond::impl::adaptive_fsai
