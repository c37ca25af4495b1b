// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Lists of preconditioners, and a preconditioner that is one of a list, chosen when a kernel is launched.
#include <prekond/batched/options.hpp>

#include "batched/lane_group.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>

namespace prekond::impl::batched {

/// One of several preconditioners: a kernel is compiled once for all of them, and calls their functions out
/// of line. They are copied as bytes.
template <class... Preconds>
class OneOf {
  static_assert((std::is_trivially_copyable_v<Preconds> && ...));

 public:
  static constexpr bool is_identity = false, is_pointwise = false;

  template <class Precond>
  explicit OneOf(const Precond& inverse) : m_kind(Precond::kind) {
    static_assert((std::is_same_v<Precond, Preconds> || ...));
    new (m_bytes) Precond(inverse);
  }

  template <class LaneGroup, class System, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar* work) const {
    int replaced = 0;
    ((m_kind == Preconds::kind ? void(replaced = generate_by(as<Preconds>(), lane_group, a, values, work))
                               : void()),
     ...);
    return replaced;
  }

  template <class LaneGroup, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int n, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar* work) const {
    ((m_kind == Preconds::kind ? apply_by(as<Preconds>(), lane_group, n, values, from, to, work) : void()),
     ...);
  }

 private:
  template <class Precond, class LaneGroup, class System, class Scalar>
  PREKOND_OUT_OF_LINE static int generate_by(const Precond& inverse, const LaneGroup lane_group,
                                             const System a, Scalar* values, Scalar* work) {
    const int replaced = inverse.generate(lane_group, a, values, work);
    lane_group.join();
    return replaced;
  }
  template <class Precond, class LaneGroup, class Scalar>
  PREKOND_OUT_OF_LINE static void apply_by(const Precond& inverse, const LaneGroup lane_group, int n,
                                           const Scalar* values, const Scalar* from, Scalar* to,
                                           Scalar* work) {
    inverse.apply(lane_group, n, values, from, to, work);
  }

  template <class Precond>
  KOKKOS_FORCEINLINE_FUNCTION const Precond& as() const {
    return *reinterpret_cast<const Precond*>(m_bytes);
  }

  alignas(Preconds...) unsigned char m_bytes[std::max({std::size_t(1), sizeof(Preconds)...})];
  BatchedPreconditioner m_kind;
};

/// OneOf the preconditioners of a list that are not pointwise, and that are symmetric where `Symmetric`.
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

template <class... Preconds>
struct PreconditionerList {
  template <class F>
  static void visit(BatchedPreconditioner kind, const F& f) {
    ((kind == Preconds::kind ? f.template operator()<Preconds>() : void()), ...);
  }

  /// The preconditioner that a kernel of a solve is compiled for: each pointwise one, which a method fuses
  /// with its loops, and OneOf for all others.
  template <class Precond, bool Symmetric>
  using of_kernel = std::conditional_t<Precond::is_pointwise, Precond,
                                       typename OneOfRest<Symmetric, OneOf<>, Preconds...>::type>;
};

}  // namespace prekond::impl::batched
