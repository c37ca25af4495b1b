// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The one file with backend code. A *vector level* is a group of `width` lanes that work on one thing, a matrix row
/// say. Row algorithms are written once over it, as a sequence of collective steps:
///
///   level.region([&](int lane) { ... });          all lanes run it; a barrier of the lanes follows
///   level.sum<T>([&](int lane) -> T { ... });     sum over lanes in a fixed order, known to all lanes; barrier
///   level.max(...), level.min(...)                likewise, for int, unsigned and unsigned long long
///   level.once([&] { ... });                      one lane runs it; barrier
///
/// Nothing of a lane lives from one step to the next but what it wrote to memory. `NativeVectorLevel` is lane-strided
/// code with an explicit vector barrier (CUDA; on the host, one lane and no barrier). `PortableVectorLevel` says the
/// same by ThreadVectorRange and serves every other backend; it costs about 30 % on an H200.
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

template <class Member, int Width>
class PortableVectorLevel {
 public:
  static constexpr int width = Width;
  KOKKOS_FUNCTION explicit PortableVectorLevel(const Member& member) : m_member(member) {}

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
    Kokkos::parallel_reduce(Kokkos::ThreadVectorRange(m_member, Width), [&](int lane, T& t) { t += f(lane); }, total);
    return total;
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

 private:
  const Member& m_member;
};

/// One lane: a host thread. `width == 1` tells dense kernels to offer inner loops that the compiler can vectorise.
template <class Member>
class HostVectorLevel {
 public:
  static constexpr int width = 1;
  KOKKOS_FUNCTION explicit HostVectorLevel(const Member&) {}

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
};

#ifdef KOKKOS_ENABLE_CUDA
/// Lanes of a CUDA warp: `Width` is a power of two up to 32, and the vector length of the team policy.
template <class Member, int Width>
class CudaVectorLevel {
 public:
  static constexpr int width = Width;
  KOKKOS_FUNCTION explicit CudaVectorLevel(const Member&) {}

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
    KOKKOS_IF_ON_DEVICE((f(int(threadIdx.x)); __syncwarp(mask());))
    KOKKOS_IF_ON_HOST(((void)f;))
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(const F& f) const {
    KOKKOS_IF_ON_DEVICE((if (threadIdx.x == 0) f(); __syncwarp(mask());))
    KOKKOS_IF_ON_HOST(((void)f;))
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
    return reduce<T>(f, [](T a, T b) { return a + b; });
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T max(const F& f) const {
    if constexpr (std::is_same_v<T, unsigned> && Width == 32) {
      unsigned result = 0;
      KOKKOS_IF_ON_DEVICE((const unsigned mine = f(int(threadIdx.x)); __syncwarp(mask());
                           result = __reduce_max_sync(mask(), mine);))
      return result;
    } else {
      return reduce<T>(f, [](T a, T b) { return impl::larger<T>(a, b); });
    }
  }
  template <class T, class F>
  KOKKOS_FORCEINLINE_FUNCTION T min(const F& f) const {
    if constexpr (std::is_same_v<T, unsigned> && Width == 32) {
      unsigned result = 0;
      KOKKOS_IF_ON_DEVICE((const unsigned mine = f(int(threadIdx.x)); __syncwarp(mask());
                           result = __reduce_min_sync(mask(), mine);))
      return result;
    } else {
      return reduce<T>(f, [](T a, T b) { return impl::smaller<T>(a, b); });
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static unsigned mask() {
    unsigned lanes = 0xffffffffu;
    if constexpr (Width < 32) {
      KOKKOS_IF_ON_DEVICE((lanes = ((1u << Width) - 1u)
                                   << ((((threadIdx.y + threadIdx.z * blockDim.y) * blockDim.x) % 32u) / Width * Width);))
    }
    return lanes;
  }
  // The exchange is symmetric, so every lane ends with the same bits.
  template <class T, class F, class Join>
  KOKKOS_FORCEINLINE_FUNCTION T reduce(const F& f, const Join& join) const {
    T value{};
    KOKKOS_IF_ON_DEVICE((value = f(int(threadIdx.x)); __syncwarp(mask());
                         for (int step = Width / 2; step > 0; step /= 2) {
                           value = join(value, __shfl_xor_sync(mask(), value, step, Width));
                         }))
    return value;
  }
};
#endif

namespace impl {
template <class Space, class Member, int Width>
struct vector_level {
  using type = PortableVectorLevel<Member, Width>;
};
template <class Space, class Member, int Width>
  requires(bool(Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible))
struct vector_level<Space, Member, Width> {
  using type = HostVectorLevel<Member>;
};
#ifdef KOKKOS_ENABLE_CUDA
template <class Member, int Width>
struct vector_level<Kokkos::Cuda, Member, Width> {
  using type = CudaVectorLevel<Member, Width>;
};
#endif
}  // namespace impl

/// The best level of `Width` lanes that a backend has (one lane on the host).
template <class Space, class Member, int Width>
using NativeVectorLevel = typename impl::vector_level<Space, Member, Width>::type;

}  // namespace prekond
