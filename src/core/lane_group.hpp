// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The one file for kernels with backend code. A *lane group* is a group of `width` lanes that work on one
/// thing, such as a matrix row. A row algorithm is written once over a lane group, as a sequence of
/// collective steps:
///
/// - region([&](int lane) { ... }): all lanes run it; a barrier of the lanes follows.
/// - sum<T>([&](int lane) -> T { ... }): the sum over the lanes in a fixed order, known to all; barrier.
/// - max(...), min(...): likewise, for int, unsigned and unsigned long long.
/// - once([&] { ... }): one lane runs it; barrier.
/// - size(): the number of lanes.
///
/// A group that is one vector of lanes also has sums<T, N>(sums, [&](int lane, T* mine) { ... }), N sums at a
/// time. Code that gives whole vectors different work (dense columns, for example) takes a group as
/// `num_groups()` vectors: `group()` is the number of this thread's vector, `vector()` is that vector as a
/// lane group, `join()` is the barrier of all of them. A vector is one group.
///
/// A lane keeps nothing from one step to the next except what it wrote to memory. `NativeLaneGroup` is
/// lane-strided code with an explicit vector barrier (CUDA; on the host, one lane and no barrier).
/// `PortableLaneGroup` does the same by ThreadVectorRange and serves every other backend; it costs about 30 %
/// on an H200. `TeamLaneGroup` takes all threads of a team, with their vector lanes, as lanes; it has
/// `region` and `once` only, and its `width` is 0, which says that the number of lanes is known at run time.
/// `RegisterTeamLaneGroup` is one whose lanes keep registers, where a backend has that.
///
/// Where `keeps_registers` holds, a lane may also run on through barriers, for the few loops where that pays:
/// `lane()`, `barrier()`, `vote(bool)` (the lanes that say yes, as bits), `broadcast(value, lane)` and
/// `pause()` (of a vector), `atomic_compare_exchange`.
#include <Kokkos_Core.hpp>
#include <type_traits>

namespace prekond {

/// Sum and extremum reducers of the portable form.
namespace impl {
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T larger(T a, T b) {
  return a < b ? b : a;
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T smaller(T a, T b) {
  return b < a ? b : a;
}
}  // namespace impl

/// Lanes by ThreadVectorRange, for every backend; on the host they run one after the other.
template <class Member, int Width>
class PortableLaneGroup {
 public:
  static constexpr int width = Width;
  static constexpr bool keeps_registers = false;
  KOKKOS_FUNCTION explicit PortableLaneGroup(const Member& member) : m_member(member) {}
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int size() { return width; }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(m_member, Width), f);
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(const F& f) const {
    Kokkos::single(Kokkos::PerThread(m_member), f);
    region([](int) {});
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
    T total = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(m_member, Width), [&](int lane, T& t) { t += f(lane); }, total);
    return total;
  }
  template <class T, int N, class F>
  KOKKOS_FORCEINLINE_FUNCTION void sums(T (&result)[N], const F& f) const {
    for (int k = 0; k < N; ++k)
      result[k] = sum<T>([&](int lane) {
        T mine[N];
        f(lane, mine);
        return mine[k];
      });
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T max(const F& f) const {
    T total;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(m_member, Width), [&](int lane, T& t) { t = impl::larger<T>(t, f(lane)); },
        Kokkos::Max<T>(total));
    return total;
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T min(const F& f) const {
    T total;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(m_member, Width), [&](int lane, T& t) { t = impl::smaller<T>(t, f(lane)); },
        Kokkos::Min<T>(total));
    return total;
  }

  KOKKOS_FORCEINLINE_FUNCTION static constexpr int num_groups() { return 1; }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int group() { return 0; }
  KOKKOS_FORCEINLINE_FUNCTION const PortableLaneGroup& vector() const { return *this; }
  KOKKOS_FORCEINLINE_FUNCTION void join() const {}

 private:
  const Member& m_member;
};

/// One lane: a host thread. `width == 1` tells dense kernels to offer inner loops that the compiler can
/// vectorise.
template <class Member>
class HostLaneGroup {
 public:
  static constexpr int width = 1;
  static constexpr bool keeps_registers = false;
  KOKKOS_FUNCTION explicit HostLaneGroup(const Member&) {}
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int size() { return width; }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
    f(0);
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(const F& f) const {
    f();
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
    return f(0);
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T max(const F& f) const {
    return f(0);
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T min(const F& f) const {
    return f(0);
  }
  template <class T, int N, class F>
  KOKKOS_FORCEINLINE_FUNCTION void sums(T (&result)[N], const F& f) const {
    f(0, result);
  }

  KOKKOS_FORCEINLINE_FUNCTION static constexpr int num_groups() { return 1; }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int group() { return 0; }
  KOKKOS_FORCEINLINE_FUNCTION const HostLaneGroup& vector() const { return *this; }
  KOKKOS_FORCEINLINE_FUNCTION void join() const {}
};

#ifdef KOKKOS_ENABLE_CUDA
/// Lanes of a CUDA warp: `Width` is a power of two up to 32, and the vector length of the team policy.
template <class Member, int Width>
class CudaLaneGroup {
 public:
  static constexpr int width = Width;
  static constexpr bool keeps_registers = true;
  KOKKOS_FUNCTION explicit CudaLaneGroup(const Member&) {}
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int size() { return width; }

  KOKKOS_FORCEINLINE_FUNCTION static int lane() {
    int result = 0;
    KOKKOS_IF_ON_DEVICE((result = int(threadIdx.x);))
    return result;
  }
  /// A lane by itself waits for no other: its mask would make a warp run through the barrier lane by lane.
  KOKKOS_FORCEINLINE_FUNCTION static void barrier() {
    if constexpr (Width > 1) KOKKOS_IF_ON_DEVICE((__syncwarp(mask());))
  }
  /// Bit k: the k-th lane of the warp said yes. For a level of a whole warp.
  KOKKOS_FORCEINLINE_FUNCTION static unsigned vote(bool yes) {
    static_assert(Width == 32);
    unsigned result = yes;
    KOKKOS_IF_ON_DEVICE((result = __ballot_sync(0xffffffffu, yes);))
    return result;
  }
  /// The value of a lane, which may be another one for each.
  KOKKOS_FORCEINLINE_FUNCTION static int broadcast(int value, int lane) { return from_lane(value, lane); }
  /// For a vector that waits for another one: it leaves the multiprocessor to those that work.
  KOKKOS_FORCEINLINE_FUNCTION static void pause() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    KOKKOS_IF_ON_DEVICE((__nanosleep(100);))
#endif
  }
  /// Kokkos's own reaches scratch by generic addresses, which costs twice the time.
  KOKKOS_FORCEINLINE_FUNCTION static unsigned atomic_compare_exchange(unsigned* word, unsigned expected,
                                                                      unsigned desired) {
    unsigned before = expected;
    KOKKOS_IF_ON_DEVICE((before = atomicCAS(word, expected, desired);))
    (void)word;
    (void)desired;
    return before;
  }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
    KOKKOS_IF_ON_DEVICE((f(int(threadIdx.x)); barrier();))
    KOKKOS_IF_ON_HOST(((void)f;))
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(const F& f) const {
    KOKKOS_IF_ON_DEVICE((if (threadIdx.x == 0) f(); barrier();))
    KOKKOS_IF_ON_HOST(((void)f;))
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
    T result{};
    KOKKOS_IF_ON_DEVICE((
        const T mine = f(int(threadIdx.x)); barrier(); if constexpr (hardware_reduces<T>) {
          result = __reduce_add_sync(mask(), mine);
        } else { result = exchange(mine, [](T a, T b) { return a + b; }); }))
    return result;
  }
  /// Lanes exchange halves of what they have, so that N sums cost about 2 N exchanges.
  template <class T, int N, class F>
  KOKKOS_FORCEINLINE_FUNCTION void sums(T (&result)[N], const F& f) const {
    static_assert((N & (N - 1)) == 0, "a power of two");
    KOKKOS_IF_ON_DEVICE(
        (f(int(threadIdx.x), result); barrier(); halve<N / 2, Width / 2>(result); gather<N>(result);))
    KOKKOS_IF_ON_HOST(((void)result; (void)f;))
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T max(const F& f) const {
    T result{};
    KOKKOS_IF_ON_DEVICE((
        const T mine = f(int(threadIdx.x)); barrier(); if constexpr (hardware_reduces<T>) {
          result = __reduce_max_sync(mask(), mine);
        } else if constexpr (is_key<T>) { result = max_of_key(mine); } else {
          result = exchange(mine, [](T a, T b) { return impl::larger<T>(a, b); });
        }))
    return result;
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T min(const F& f) const {
    T result{};
    KOKKOS_IF_ON_DEVICE((
        const T mine = f(int(threadIdx.x)); barrier(); if constexpr (hardware_reduces<T>) {
          result = __reduce_min_sync(mask(), mine);
        } else { result = exchange(mine, [](T a, T b) { return impl::smaller<T>(a, b); }); }))
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION static constexpr int num_groups() {
    return 1;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int group() {
    return 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION const CudaLaneGroup& vector() const {
    return *this;
  }
  KOKKOS_FORCEINLINE_FUNCTION void join() const {}

 private:
  // A lane keeps the upper ones of 2 Half values where its bit `Step` is set, and adds its partner's.
  template <int Half, int Step, class T>
  KOKKOS_FORCEINLINE_FUNCTION static void halve(T* values) {
    if constexpr (Step > 0 && Half > 0) {
      const bool upper = (lane() & Step) != 0;
#pragma unroll
      for (int k = 0; k < Half; ++k) {
        const T given = upper ? values[k] : values[k + Half];
        const T kept = upper ? values[k + Half] : values[k];
        values[k] = kept + from_lane_xor(given, Step);
      }
    } else if constexpr (Step > 0) {
      values[0] += from_lane_xor(values[0], Step);
    }
    if constexpr (Step > 1) halve<Half / 2, Step / 2>(values);
  }
  // Value k ended in the lane whose upper bits are k's.
  template <int N, class T>
  KOKKOS_FORCEINLINE_FUNCTION static void gather(T* values) {
    constexpr int in_lane = N > Width ? N / Width : 1, stride = N > Width ? 1 : Width / N;
    T mine[in_lane];
#pragma unroll
    for (int k = 0; k < in_lane; ++k) mine[k] = values[k];
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = from_lane(mine[k % in_lane], k / in_lane * stride);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T from_lane(const T& value, int source) {
    T result{};
    KOKKOS_IF_ON_DEVICE((result = __shfl_sync(mask(), value, source, Width);))
    (void)value;
    (void)source;
    return result;
  }

  // A whole warp reduces 32-bit integers in one instruction, and a 64-bit key by its halves.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  static constexpr bool has_reduce = false;
#else
  static constexpr bool has_reduce = Width == 32;
#endif
  template <class T>
  static constexpr bool hardware_reduces = has_reduce &&
                                           (std::is_same_v<T, unsigned> || std::is_same_v<T, int>);
  template <class T>
  static constexpr bool is_key = has_reduce&& std::is_same_v<T, unsigned long long>;

  KOKKOS_FORCEINLINE_FUNCTION static unsigned long long max_of_key(unsigned long long key) {
    unsigned long long result = 0;
    KOKKOS_IF_ON_DEVICE((const unsigned high = unsigned(key >> 32);
                         const unsigned top = __reduce_max_sync(mask(), high);
                         const unsigned low = __reduce_max_sync(mask(), high == top ? unsigned(key) : 0u);
                         result = (unsigned long long)(top) << 32 | low;))
    (void)key;
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION static unsigned mask() {
    unsigned lanes = 0xffffffffu;
    if constexpr (Width < 32) {
      KOKKOS_IF_ON_DEVICE(
          (lanes = ((1u << Width) - 1u)
                   << ((((threadIdx.y + threadIdx.z * blockDim.y) * blockDim.x) % 32u) / Width * Width);))
    }
    return lanes;
  }
  // The exchange is symmetric, so every lane ends with the same bits.
  template <class T, class Join>
  KOKKOS_FORCEINLINE_FUNCTION static T exchange(T value, const Join& join) {
    KOKKOS_IF_ON_DEVICE((
        for (int step = Width / 2; step > 0; step /= 2) { value = join(value, from_lane_xor(value, step)); }))
    (void)join;
    return value;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T from_lane_xor(const T& value, int step) {
    T result{};
    KOKKOS_IF_ON_DEVICE((result = __shfl_xor_sync(mask(), value, step, Width);))
    (void)value;
    (void)step;
    return result;
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Kokkos::complex<Real> from_lane_xor(const Kokkos::complex<Real>& value,
                                                                         int step) {
    return Kokkos::complex<Real>(from_lane_xor(value.real(), step), from_lane_xor(value.imag(), step));
  }
};
#endif

namespace impl {
template <class Space, class Member, int Width>
struct vector_level {
  using type = PortableLaneGroup<Member, Width>;
};
template <class Space, class Member, int Width>
requires(bool(Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible)) struct vector_level<
    Space, Member, Width> {
  using type = HostLaneGroup<Member>;
};
#ifdef KOKKOS_ENABLE_CUDA
template <class Member, int Width>
struct vector_level<Kokkos::Cuda, Member, Width> {
  using type = CudaLaneGroup<Member, Width>;
};
#endif
}  // namespace impl

/// The best level of `Width` lanes that a backend has (one lane on the host).
template <class Space, class Member, int Width>
using NativeLaneGroup = typename impl::vector_level<Space, Member, Width>::type;

/// All threads of a team of `VectorLength` lanes each, for rows too long for one vector.
template <class Member, int VectorLength>
class TeamLaneGroup {
 public:
  static constexpr int width = 0;
  static constexpr bool keeps_registers = false;
  KOKKOS_FUNCTION explicit TeamLaneGroup(const Member& member) : m_member(member) {}
  KOKKOS_FORCEINLINE_FUNCTION int size() const { return m_member.team_size() * VectorLength; }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(m_member, size()), f);
    m_member.team_barrier();
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(const F& f) const {
    Kokkos::single(Kokkos::PerTeam(m_member), f);
    m_member.team_barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION int num_groups() const { return m_member.team_size(); }
  KOKKOS_FORCEINLINE_FUNCTION int group() const { return m_member.team_rank(); }
  KOKKOS_FORCEINLINE_FUNCTION auto vector() const {
    return NativeLaneGroup<typename Member::execution_space, Member, VectorLength>(m_member);
  }
  KOKKOS_FORCEINLINE_FUNCTION void join() const { m_member.team_barrier(); }

 protected:
  const Member& m_member;
};

#ifdef KOKKOS_ENABLE_CUDA
/// A CUDA block of warps, each of which is a vector of the team: a lane runs on through the block's barriers.
template <class Member, int VectorLength>
class CudaTeamLaneGroup : public TeamLaneGroup<Member, VectorLength> {
 public:
  static constexpr bool keeps_registers = true;
  using TeamLaneGroup<Member, VectorLength>::TeamLaneGroup;

  KOKKOS_FORCEINLINE_FUNCTION int lane() const {
    return this->m_member.team_rank() * VectorLength + CudaLaneGroup<Member, VectorLength>::lane();
  }
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const { this->m_member.team_barrier(); }
  KOKKOS_FORCEINLINE_FUNCTION static unsigned atomic_compare_exchange(unsigned* word, unsigned expected,
                                                                      unsigned desired) {
    return CudaLaneGroup<Member, VectorLength>::atomic_compare_exchange(word, expected, desired);
  }
};
#endif

namespace impl {
template <class Space, class Member, int VectorLength>
struct register_team_level {
  using type = void;
};
#ifdef KOKKOS_ENABLE_CUDA
template <class Member, int VectorLength>
struct register_team_level<Kokkos::Cuda, Member, VectorLength> {
  using type = CudaTeamLaneGroup<Member, VectorLength>;
};
#endif
}  // namespace impl

/// A team level that keeps registers; void where a backend has none.
template <class Space, class Member, int VectorLength>
using RegisterTeamLaneGroup = typename impl::register_team_level<Space, Member, VectorLength>::type;

/// Whether vectors and teams of a backend can keep registers.
template <class Space>
inline constexpr bool has_register_levels =
    !std::is_void_v<RegisterTeamLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, 32>>;

}  // namespace prekond
