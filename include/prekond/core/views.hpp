// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>
#include <type_traits>

namespace prekond {

template <class T, class Space>
using Vector = Kokkos::View<T*, Kokkos::LayoutLeft, typename Space::memory_space>;

/// A block of column vectors, column-major: what Tpetra and Kokkos Kernels call a multivector.
template <class T, class Space>
using MultiVector = Kokkos::View<T**, Kokkos::LayoutLeft, typename Space::memory_space>;

/// Argument types of the interfaces: they own nothing, and any managed view converts to them.
template <class T, class Space>
using VectorView = Kokkos::View<T*, Kokkos::LayoutLeft, typename Space::memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class T, class Space>
using MultiVectorView = Kokkos::View<T**, Kokkos::LayoutLeft, typename Space::memory_space,
                                     Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// An uninitialised view: the caller writes every element before it reads one.
template <class ViewType, class Space, class... Sizes>
ViewType allocate(const Space& space, const std::string& label, Sizes... sizes) {
  return ViewType(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, label), sizes...);
}

/// A view of zeros, filled on `space`.
template <class ViewType, class Space, class... Sizes>
ViewType allocate_zero(const Space& space, const std::string& label, Sizes... sizes) {
  return ViewType(Kokkos::view_alloc(space, label), sizes...);
}

/// The n x 1 multivector over a vector's own memory.
template <class ViewType>
auto as_multivector(const ViewType& x) {
  using T = typename ViewType::value_type;
  static_assert(ViewType::rank() == 1, "as_multivector takes a rank-1 view");
  return Kokkos::View<T**, Kokkos::LayoutLeft, typename ViewType::memory_space,
                      Kokkos::MemoryTraits<Kokkos::Unmanaged>>(x.data(), x.extent(0), 1);
}

/// Column k of a multivector.
template <class ViewType>
auto column(const ViewType& x, std::size_t k) {
  using T = typename ViewType::value_type;
  static_assert(ViewType::rank() == 2, "column takes a rank-2 view");
  static_assert(std::is_same_v<typename ViewType::array_layout, Kokkos::LayoutLeft>,
                "a column has to be contiguous");
  return Kokkos::View<T*, Kokkos::LayoutLeft, typename ViewType::memory_space,
                      Kokkos::MemoryTraits<Kokkos::Unmanaged>>(x.data() + k * x.stride(1), x.extent(0));
}

template <class Space>
inline constexpr bool is_host_space = Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible;

}  // namespace prekond
