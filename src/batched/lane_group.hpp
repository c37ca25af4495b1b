// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The lane groups that work on a system, a vector of lanes (core/lane_group.hpp) or a team with sums, and
/// the operations of methods on vectors of n elements, in which element i always belongs to the same lane.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"

#include <type_traits>

/// A device function that is compiled once for all its callers. It takes its lane group by value, so that the
/// caller's stays in registers, and ends its sums with a barrier, because the caller's next sum may use the
/// same places.
#define PREKOND_OUT_OF_LINE KOKKOS_FUNCTION __attribute__((noinline))

namespace prekond::impl::batched {

struct LaneGroupTuning {
  static constexpr int team_lanes = 32;       // lanes of a vector of a team
  static constexpr int most_threads = 256;    // lanes of a team for one system
  static constexpr int shared_threads = 128;  // lanes of a team whose vectors have a system each
  static constexpr int rows_of_few = 16;      // most rows of a system for 8 lanes
  static constexpr int rows_of_vector = 256;  // and for 32 lanes
  static constexpr int level_of_few = 5;      // with factors: most rows of a level on average for 8 lanes
  static constexpr int level_of_vector = 64;  // and for 32 lanes
  static constexpr int most_sums = 4;         // sums at a time
};

template <class Space, class Member>
using TeamBase = std::conditional_t<has_register_levels<Space>,
                                    RegisterTeamLaneGroup<Space, Member, LaneGroupTuning::team_lanes>,
                                    TeamLaneGroup<Member, LaneGroupTuning::team_lanes>>;

/// All lanes of a team, with sums: each vector adds its own lanes, then every lane adds the vectors' sums in
/// their order. A sum has one barrier, because two sets of places alternate.
template <class Space, class Member>
class SystemTeamLaneGroup : public TeamBase<Space, Member> {
  static constexpr int lanes = LaneGroupTuning::team_lanes;
  static constexpr int most_vectors = LaneGroupTuning::most_threads / lanes;
  static constexpr bool by_vectors = has_register_levels<Space>;

 public:
  /// Bytes of scratch memory of level 0
  static constexpr int bytes = by_vectors ? 2 * most_vectors * LaneGroupTuning::most_sums * 16 : 0;

  KOKKOS_FUNCTION SystemTeamLaneGroup(const Member& member, void* places)
      : TeamBase<Space, Member>(member), m_places(static_cast<char*>(places)) {}

  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
    if constexpr (by_vectors) {
      T sums[1];
      const int first = this->group() * lanes;
      sums[0] = this->vector().template sum<T>([&](int lane) { return f(first + lane); });
      join_vectors<T, 1>(sums);
      return sums[0];
    } else {
      T total = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamVectorRange(this->m_member, this->size()), [&](int lane, T& t) { t += f(lane); },
          total);
      this->m_member.team_barrier();
      return total;
    }
  }

  /// \pre can_fuse
  template <class T, int N, class F>
  KOKKOS_FORCEINLINE_FUNCTION void sums(T (&result)[N], const F& f) const {
    const int first = this->group() * lanes;
    this->vector().template sums<T, N>(result, [&](int lane, T* mine) { f(first + lane, mine); });
    join_vectors<T, N>(result);
  }

 private:
  template <class T, int N>
  KOKKOS_FORCEINLINE_FUNCTION void join_vectors(T (&sums)[N]) const {
    static_assert(N <= LaneGroupTuning::most_sums && sizeof(T) <= 16);
    T* places = reinterpret_cast<T*>(m_places + m_turn * (bytes / 2));
    m_turn = 1 - m_turn;
    if (this->lane() % lanes == 0)
      for (int k = 0; k < N; ++k) places[N * this->group() + k] = sums[k];
    this->barrier();
    for (int k = 0; k < N; ++k) {
      sums[k] = places[k];
      for (int g = 1; g < this->num_groups(); ++g) sums[k] += places[N * g + k];
    }
  }

  char* m_places;
  mutable int m_turn = 0;
};

/// Whether the lane group's `sums` runs its function once, so that it may have effects.
template <class LaneGroup, class T>
inline constexpr bool can_fuse = LaneGroup::width == 1 || (LaneGroup::keeps_registers && !is_complex<T>);

/// f(i) for all i < n
template <class LaneGroup, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_elements(const LaneGroup& lane_group, int n, const F& f) {
  lane_group.region([&](int lane) {
    for (int i = lane; i < n; i += lane_group.size()) f(i);
  });
}

/// use(i, load(i)) for the elements of a lane. A device loads several elements before it uses one, so that it
/// waits for memory once; `load` must not read the results of `use`.
template <bool Several, class Load, class Use>
KOKKOS_FORCEINLINE_FUNCTION void use_loaded(int lane, int stride, int n, const Load& load, const Use& use) {
  if constexpr (Several) {
    constexpr int count = 8;
    for (int first = lane; first < n; first += count * stride) {
      std::decay_t<decltype(load(0))> loaded[count]{};
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const int i = first + k * stride;
        if (i < n) loaded[k] = load(i);
      }
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const int i = first + k * stride;
        if (i < n) use(i, loaded[k]);
      }
    }
  } else {
    for (int i = lane; i < n; i += stride) use(i, load(i));
  }
}

/// `use_loaded` for all lanes.
template <class LaneGroup, class Load, class Use>
KOKKOS_FORCEINLINE_FUNCTION void for_loaded(const LaneGroup& lane_group, int n, const Load& load,
                                            const Use& use) {
  lane_group.region(
      [&](int lane) { use_loaded<LaneGroup::width != 1>(lane, lane_group.size(), n, load, use); });
}

/// The sum of f(i), i < n, which may have effects.
template <class T, class LaneGroup, class F>
KOKKOS_FORCEINLINE_FUNCTION T sum_elements(const LaneGroup& lane_group, int n, const F& f) {
  return lane_group.template sum<T>([&](int lane) {
    T sum = 0;
    for (int i = lane; i < n; i += lane_group.size()) sum += f(i);
    return sum;
  });
}

/// The sums of what add(i, sums) adds to N of them, which has no effects.
template <class T, int N, class LaneGroup, class Add>
KOKKOS_FORCEINLINE_FUNCTION void several_sums(const LaneGroup& lane_group, int n, T (&result)[N],
                                              const Add& add) {
  if constexpr (can_fuse<LaneGroup, T>) {
    lane_group.template sums<T, N>(result, [&](int lane, T* mine) {
      for (int k = 0; k < N; ++k) mine[k] = T(0);
      for (int i = lane; i < n; i += lane_group.size()) add(i, mine);
    });
  } else {
    for (int k = 0; k < N; ++k)
      result[k] = sum_elements<T>(lane_group, n, [&](int i) {
        T all[N] = {};
        add(i, all);
        return all[k];
      });
  }
}

/// update(i), and the two sums of what add(i, sums) adds, which has no effects.
template <class T, class LaneGroup, class Update, class Add>
KOKKOS_FORCEINLINE_FUNCTION void update_and_sum(const LaneGroup& lane_group, int n, T (&result)[2],
                                                const Update& update, const Add& add) {
  if constexpr (can_fuse<LaneGroup, T>) {
    lane_group.template sums<T, 2>(result, [&](int lane, T* mine) {
      mine[0] = mine[1] = T(0);
      for (int i = lane; i < n; i += lane_group.size()) {
        update(i);
        add(i, mine);
      }
    });
  } else {
    for_elements(lane_group, n, update);
    for (int k = 0; k < 2; ++k)
      result[k] = sum_elements<T>(lane_group, n, [&](int i) {
        T both[2] = {T(0), T(0)};
        add(i, both);
        return both[k];
      });
  }
}

/// update(i, load(i)), as `for_loaded`, and the two sums of what add(i, load(i), sums) adds, which has no
/// effects.
template <class T, class LaneGroup, class Load, class Update, class Add>
KOKKOS_FORCEINLINE_FUNCTION void load_and_sum(const LaneGroup& lane_group, int n, T (&result)[2],
                                              const Load& load, const Update& update, const Add& add) {
  if constexpr (can_fuse<LaneGroup, T>) {
    lane_group.template sums<T, 2>(result, [&](int lane, T* mine) {
      mine[0] = mine[1] = T(0);
      use_loaded<LaneGroup::width != 1>(lane, lane_group.size(), n, load, [&](int i, const auto& loaded) {
        update(i, loaded);
        add(i, loaded, mine);
      });
    });
  } else {
    for_loaded(lane_group, n, load, update);
    for (int k = 0; k < 2; ++k)
      result[k] = sum_elements<T>(lane_group, n, [&](int i) {
        T both[2] = {T(0), T(0)};
        add(i, load(i), both);
        return both[k];
      });
  }
}

/// y = A x. The caller puts a barrier before it where x needs one.
template <class Scalar, class LaneGroup, class System>
KOKKOS_FORCEINLINE_FUNCTION void multiply(const LaneGroup& lane_group, const System& a, const Scalar* x,
                                          Scalar* y) {
  if constexpr (requires { a.template row_product<Scalar>(lane_group.vector(), 0, x); }) {
    if (a.rows_are_long() && LaneGroup::width != 1) {
      const auto& vector = lane_group.vector();
      for (int i = lane_group.group(); i < a.num_rows; i += lane_group.num_groups()) {
        const Scalar product = a.template row_product<Scalar>(vector, i, x);
        vector.once([&] { y[i] = product; });
      }
      return lane_group.join();
    }
  }
  for_elements(lane_group, a.num_rows, [&](int i) { y[i] = a.template row_product<Scalar>(i, x); });
}

/// r = b - A x
template <class Scalar, class LaneGroup, class System>
PREKOND_OUT_OF_LINE void make_residual(const LaneGroup lane_group, const System a, const Scalar* b,
                                       const Scalar* x, Scalar* r) {
  multiply(lane_group, a, x, r);
  for_elements(lane_group, a.num_rows, [&](int i) { r[i] = b[i] - r[i]; });
}

/// y = A x and the sum of f(i, y(i)), which may have effects.
template <class T, class Scalar, class LaneGroup, class System, class F>
KOKKOS_FORCEINLINE_FUNCTION T multiply_and_sum(const LaneGroup& lane_group, const System& a, const Scalar* x,
                                               Scalar* y, const F& f) {
  if (a.rows_are_long()) {
    multiply(lane_group, a, x, y);
    return sum_elements<T>(lane_group, a.num_rows, [&](int i) { return f(i, y[i]); });
  }
  return sum_elements<T>(lane_group, a.num_rows, [&](int i) {
    const Scalar product = a.template row_product<Scalar>(i, x);
    y[i] = product;
    return f(i, product);
  });
}

/// |x|^2, in double precision: squares of residuals in single would be lost where they are small.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION double double_abs2(const T& x) {
  return abs2(static_cast<double>(x));
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION double double_abs2(const Kokkos::complex<T>& x) {
  return abs2(Kokkos::complex<double>(x.real(), x.imag()));
}

/// ||b - A x||, not finite where x is not; A x goes to `spare`.
template <class Scalar, class LaneGroup, class System>
PREKOND_OUT_OF_LINE double residual_norm(const LaneGroup lane_group, const System a, const Scalar* b,
                                         const Scalar* x, Scalar* spare) {
  const double square = multiply_and_sum<double>(lane_group, a, x, spare, [&](int i, const Scalar& product) {
    return is_finite(x[i]) ? double_abs2(b[i] - product) : Kokkos::Experimental::infinity_v<double>;
  });
  lane_group.join();
  return Kokkos::sqrt(square);
}

}  // namespace prekond::impl::batched
