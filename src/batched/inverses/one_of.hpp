// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Lists of preconditioners, and one of a list that is chosen when a kernel is launched.
#include <prekond/batched/options.hpp>

#include "batched/lane_group.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>

namespace prekond::impl::batched {

/// One of several preconditioners: a kernel is compiled once for all of them, and calls theirs out of line.
/// They are copied as bytes.
template <class... Inverses>
class OneOf {
  static_assert((std::is_trivially_copyable_v<Inverses> && ...));

 public:
  static constexpr bool is_identity = false, is_pointwise = false;

  template <class Inverse>
  explicit OneOf(const Inverse& inverse) : m_kind(Inverse::kind) {
    static_assert((std::is_same_v<Inverse, Inverses> || ...));
    new (m_bytes) Inverse(inverse);
  }

  template <class LaneGroup, class System, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar* work) const {
    int replaced = 0;
    ((m_kind == Inverses::kind ? void(replaced = generate_by(as<Inverses>(), lane_group, a, values, work))
                               : void()),
     ...);
    return replaced;
  }

  template <class LaneGroup, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int n, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar* work) const {
    ((m_kind == Inverses::kind ? apply_by(as<Inverses>(), lane_group, n, values, from, to, work) : void()),
     ...);
  }

 private:
  template <class Inverse, class LaneGroup, class System, class Scalar>
  PREKOND_OUT_OF_LINE static int generate_by(const Inverse& inverse, const LaneGroup lane_group,
                                             const System a, Scalar* values, Scalar* work) {
    const int replaced = inverse.generate(lane_group, a, values, work);
    lane_group.join();
    return replaced;
  }
  template <class Inverse, class LaneGroup, class Scalar>
  PREKOND_OUT_OF_LINE static void apply_by(const Inverse& inverse, const LaneGroup lane_group, int n,
                                           const Scalar* values, const Scalar* from, Scalar* to,
                                           Scalar* work) {
    inverse.apply(lane_group, n, values, from, to, work);
  }

  template <class Inverse>
  KOKKOS_FORCEINLINE_FUNCTION const Inverse& as() const {
    return *reinterpret_cast<const Inverse*>(m_bytes);
  }

  alignas(Inverses...) unsigned char m_bytes[std::max({std::size_t(1), sizeof(Inverses)...})];
  BatchedInverse m_kind;
};

/// OneOf those of a list of which nothing can be fused with a method, and that are symmetric where
/// `Symmetric`.
template <bool Symmetric, class Found, class... Rest>
struct OneOfRest {
  using type = Found;
};
template <bool Symmetric, class... Found, class First, class... Rest>
struct OneOfRest<Symmetric, OneOf<Found...>, First, Rest...> {
  static constexpr bool is_one = !First::is_pointwise && (First::symmetric || !Symmetric);
  using type =
      typename OneOfRest<Symmetric, std::conditional_t<is_one, OneOf<Found..., First>, OneOf<Found...>>,
                         Rest...>::type;
};

template <class... Inverses>
struct InverseList {
  template <class F>
  static void visit(BatchedInverse kind, const F& f) {
    ((kind == Inverses::kind ? f.template operator()<Inverses>() : void()), ...);
  }

  /// What a kernel of a solve is compiled for: a pointwise preconditioner by itself, which a method fuses
  /// with its own loops, the others together.
  template <class Inverse, bool Symmetric>
  using of_kernel = std::conditional_t<Inverse::is_pointwise, Inverse,
                                       typename OneOfRest<Symmetric, OneOf<>, Inverses...>::type>;
};

}  // namespace prekond::impl::batched
