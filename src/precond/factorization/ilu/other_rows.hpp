// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Ways in which a row in work reads values of the rows that it needs: each lane reads a batch of its own at
/// a time.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <thread>

#include "core/concurrent_words.hpp"
#include "core/missing_value.hpp"
#include "core/packed.hpp"

namespace prekond::impl::ilu {

/// Values that are there when the kernel starts.
struct ReadyValues {
  static constexpr bool waits = false;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool has_stalled() { return false; }
  /// values[p] = *address(p), or 0 where that is null.
  template <int N, class Scalar, class Address>
  KOKKOS_FORCEINLINE_FUNCTION void begin(Scalar (&values)[N], const Address& address) const {
#pragma unroll
    for (int p = 0; p < N; ++p) {
      const Scalar* from = address(p);
      values[p] = from ? *from : Scalar(0);
    }
  }
  template <int N, class Scalar, class Address>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Scalar (&)[N], const Address&) const {}
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar read(const Scalar& from) const {
    return from;
  }
};

/// Values that other rows write while the kernel runs: `begin` reads them once, `finish` until they are
/// there. After `most_polls` polls it raises a flag and continues with 0, as do all others that still wait;
/// the results of the launch are then discarded.
struct AwaitedValues {
  static constexpr bool waits = true;
  static constexpr int looks_at_flag = 64;  ///< polls between two reads of the flag

  PackedVector<int> stalled;
  std::int64_t most_polls;

  template <int N, class Scalar, class Address>
  KOKKOS_FORCEINLINE_FUNCTION void begin(Scalar (&values)[N], const Address& address) const {
#pragma unroll
    for (int p = 0; p < N; ++p) {
      const Scalar* from = address(p);
      values[p] = from ? concurrent_load(*from) : Scalar(0);
    }
  }
  template <int N, class Scalar, class Address>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Scalar (&values)[N], const Address& address) const {
    for (std::int64_t polls = 0; !ask_again(values, address); polls += looks_at_flag) {
      if (!must_give_up(polls)) continue;
#pragma unroll
      for (int p = 0; p < N; ++p)
        if (is_missing(values[p])) values[p] = Scalar(0);
      return;
    }
  }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar read(const Scalar& from) const {
    Scalar value[1];
    const auto address = [&](int) { return &from; };
    begin(value, address);
    finish(value, address);
    return value[0];
  }
  KOKKOS_FORCEINLINE_FUNCTION bool has_stalled() const {
    return concurrent_load(stalled(0)) != 0;
  }

 private:
  /// Reads the missing values a few times. \returns whether all are there
  template <int N, class Scalar, class Address>
  KOKKOS_FORCEINLINE_FUNCTION static bool ask_again(Scalar (&values)[N], const Address& address) {
    for (int polls = 0; polls < looks_at_flag; ++polls) {
      bool all = true;
#pragma unroll
      for (int p = 0; p < N; ++p) all = all && !is_missing(values[p]);
      if (all) return true;
#pragma unroll
      for (int p = 0; p < N; ++p)
        if (is_missing(values[p])) values[p] = concurrent_load(*address(p));
    }
    return false;
  }
  KOKKOS_FUNCTION bool must_give_up(std::int64_t polls) const {
    if (polls >= most_polls) raise_flag(stalled(0), 1);
    KOKKOS_IF_ON_HOST((std::this_thread::yield();))  // the thread that it waits for may need this core
    return concurrent_load(stalled(0)) != 0;
  }
};

}  // namespace prekond::impl::ilu
