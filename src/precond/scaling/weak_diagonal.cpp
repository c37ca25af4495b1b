// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/scaling/weak_diagonal.hpp"

#include "core/instantiate.hpp"

namespace prekond::impl {
namespace {

/// The bits of a row's state.
enum State : unsigned {
  suspect = 1,
  weak_in_row = 2,
  weak_in_column = 4,
  rounded_in_row = 8,
  rounded_in_column = 16,
  has_own_scale = 32
};

KOKKOS_FORCEINLINE_FUNCTION bool is_weak(unsigned state) {
  constexpr unsigned both = weak_in_row | weak_in_column, rounded = rounded_in_row | rounded_in_column;
  return ((state & both) == both && (state & has_own_scale) == 0) || (state & rounded) == rounded;
}

/// The data of all steps.
template <class Scalar, class Space, class Matrix>
struct WeakRows {
  using Real = real_type_t<Scalar>;
  using Member = typename RowTeams<Space>::Member;
  static constexpr int parts = parts_of_row<Space>;
  Matrix a;
  int block_size;  ///< of the rows that are inverted together, consecutive ones
  WeakRule<Real> rule;
  VectorView<Real, Space> diagonal;  ///< |a_ii|, 0 where it is missing or not finite
  VectorView<Real, Space> pivot;     ///< p_i
  VectorView<unsigned, Space> state;

  KOKKOS_FORCEINLINE_FUNCTION static Real size_of(const Scalar& value) {
    return is_finite(value) ? Real(Kokkos::abs(value)) : Real(0);
  }
  KOKKOS_FORCEINLINE_FUNCTION bool in_one_block(std::int64_t i, std::int64_t j) const {
    return i / block_size == j / block_size;
  }
  /// Calls body(j, |a_ij|) for the entries of a part of row i off the diagonal, but for those in other ranks'
  /// columns.
  template <class Body>
  KOKKOS_FUNCTION void for_each_other(std::int64_t i, int part, const Body& body) const {
    for (RowCursor<Matrix> entry(a, i, part, parts); !entry.is_done(); entry.advance()) {
      const int j = entry.col();
      if (j == i || j >= a.num_rows) continue;
      const Real size = size_of(entry.value());
      if (size > 0) body(j, size);
    }
  }
};

/// Rows that are tiny compared with their largest entry are suspect. Counts them, and stores what it finds
/// where there is room.
template <class Scalar, class Space, class Matrix>
struct FindSuspects {
  using Rows = WeakRows<Scalar, Space, Matrix>;
  Rows rows;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team, std::int64_t& count) const {
    RowTeams<Space>{rows.a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const auto sizes = measure_row<Scalar>(team, rows.a, i, rows.a.num_rows);
      const typename Rows::Real own = rows.size_of(sizes.diagonal);
      const bool is_suspect = own > 0 && own <= rows.rule.theta * sizes.largest;  // theta < 1
      Kokkos::single(Kokkos::PerThread(team), [&] {
        count += is_suspect;
        if (rows.state.extent(0) == 0) return;
        rows.diagonal(i) = rows.pivot(i) = own;
        rows.state(i) = is_suspect ? suspect : 0u;
      });
    });
  }
};

/// p_i of suspect rows.
template <class Scalar, class Space, class Matrix>
struct FindPivots {
  using Rows = WeakRows<Scalar, Space, Matrix>;
  using Real = real_type_t<Scalar>;
  Rows rows;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    RowTeams<Space>{rows.a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      if (rows.state(i) == 0) return;
      Real most = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, Rows::parts),
          [&](int part, Real& mine) {
            rows.for_each_other(i, part, [&](int k, Real size) {
              if (rows.in_one_block(i, k) && size > mine) mine = size;
            });
          },
          Kokkos::Max<Real>(most));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        if (most > rows.pivot(i)) rows.pivot(i) = most;
      });
    });
  }
};

/// Compares suspect rows with the entries of row k and column k.
template <class Scalar, class Space, class Matrix>
struct CompareEntries {
  using Rows = WeakRows<Scalar, Space, Matrix>;
  using Real = real_type_t<Scalar>;
  Rows rows;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    RowTeams<Space>{rows.a.num_rows}.for_each_row(team, [&](std::int64_t k) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, Rows::parts), [&](int part) { compare(k, part); });
    });
  }
  KOKKOS_FUNCTION void compare(std::int64_t k, int part) const {
    unsigned own = 0;
    const bool is_suspect = (rows.state(k) & suspect) != 0;
    rows.for_each_other(k, part, [&](int j, Real size) {
      const bool others_are = (rows.state(j) & suspect) != 0;
      if (!is_suspect && !others_are) return;
      if (is_suspect && rows.diagonal(j) > 0 &&
          rows.rule.is_of_own_scale(size, rows.diagonal(k), rows.diagonal(j)))
        own |= has_own_scale;
      if (rows.in_one_block(j, k)) return;
      if (is_suspect) own |= compared(k, j, size, weak_in_row, rounded_in_row);
      if (!others_are) return;
      const unsigned of_column = compared(j, k, size, weak_in_column, rounded_in_column);
      if (of_column != 0) Kokkos::atomic_or(&rows.state(j), of_column);
    });
    if (own != 0) Kokkos::atomic_or(&rows.state(k), own);
  }

  /// Row i with an entry of this size in its row or column, at `other`.
  KOKKOS_FUNCTION unsigned compared(std::int64_t i, std::int64_t other, Real size, unsigned weak,
                                    unsigned rounded) const {
    const Real pivot = rows.pivot(i), of_other = rows.diagonal(other);
    unsigned found = 0;
    if (pivot <= rows.rule.rounding * size && rows.rule.takes_away(pivot, size, of_other)) found |= rounded;
    if (!(of_other > 0)) return found;
    const Real mirror = weak == weak_in_row ? size_at(other, i) : size_at(i, other);
    const Real least = mirror < size ? mirror : size, mean = Kokkos::sqrt(size) * Kokkos::sqrt(mirror);
    if (pivot <= rows.rule.theta * least && rows.rule.takes_away(pivot, mean, of_other)) found |= weak;
    return found;
  }
  KOKKOS_FUNCTION Real size_at(std::int64_t i, std::int64_t j) const {
    std::size_t place = 0;
    return rows.size_of(find_entry(rows.a, i, j, place));
  }
};

template <class Scalar, class Space, class Matrix>
struct ZeroWeak {
  WeakRows<Scalar, Space, Matrix> rows;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    if (!is_weak(rows.state(i))) return;
    std::size_t at = 0;
    find_entry(rows.a, i, i, at);
    values(at) = Scalar(0);
    ++count;
  }
};

}  // namespace

template <class Scalar, class Space, class Matrix>
StrongDiagonal<Scalar, Space, Matrix> zero_weak_diagonal(const Space& space, const Matrix& a,
                                                         int block_size) {
  using Real = real_type_t<Scalar>;
  const auto by_lanes =
      RowTeams<Space>::policy(space, a.num_rows, static_cast<std::int64_t>(a.values.extent(0)));
  WeakRows<Scalar, Space, Matrix> rows{a, block_size, {}, {}, {}, {}};
  StrongDiagonal<Scalar, Space, Matrix> result{a, {}, 0};
  const auto find_suspects = [&] {
    std::int64_t suspects = 0;
    Kokkos::parallel_reduce("prekond::weak_diagonal::find_suspects", by_lanes,
                            FindSuspects<Scalar, Space, Matrix>{rows}, suspects);
    return suspects;
  };
  if (find_suspects() == 0) return result;
  const auto diagonal = allocate<Vector<Real, Space>>(space, "prekond::weak_diagonal::diagonal", a.num_rows);
  const auto pivot = allocate<Vector<Real, Space>>(space, "prekond::weak_diagonal::pivot", a.num_rows);
  const auto state = allocate<Vector<unsigned, Space>>(space, "prekond::weak_diagonal::state", a.num_rows);
  rows.diagonal = diagonal;
  rows.pivot = pivot;
  rows.state = state;
  find_suspects();
  Kokkos::parallel_for("prekond::weak_diagonal::find_pivots", by_lanes,
                       FindPivots<Scalar, Space, Matrix>{rows});
  Kokkos::parallel_for("prekond::weak_diagonal::compare_entries", by_lanes,
                       CompareEntries<Scalar, Space, Matrix>{rows});
  result.values =
      allocate<Vector<Scalar, Space>>(space, "prekond::weak_diagonal::values", a.values.extent(0));
  Kokkos::deep_copy(space, result.values, a.values);
  Kokkos::parallel_reduce("prekond::weak_diagonal::zero",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                          ZeroWeak<Scalar, Space, Matrix>{rows, result.values}, result.num_weak);
  if (result.num_weak > 0)
    result.matrix = with_values<Scalar, Space>(a, result.values);
  else
    result.values = {};
  return result;
}

#define PREKOND_WEAK_DIAGONAL(Scalar, Space)                                                        \
  template StrongDiagonal<Scalar, Space, CsrView<Scalar, Space>> zero_weak_diagonal<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&, int);
#define PREKOND_WEAK_DIAGONAL_OF_BLOCKS(Scalar, Space)                                                   \
  template StrongDiagonal<Scalar, Space, BlockEntries<Scalar, Space>> zero_weak_diagonal<Scalar, Space>( \
      const Space&, const BlockEntries<Scalar, Space>&, int);
PREKOND_INSTANTIATE(PREKOND_WEAK_DIAGONAL)
PREKOND_INSTANTIATE(PREKOND_WEAK_DIAGONAL_OF_BLOCKS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_WEAK_DIAGONAL)

}  // namespace prekond::impl
