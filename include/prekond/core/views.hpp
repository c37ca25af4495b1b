// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/device_speed.hpp>
#include <prekond/core/impl/small_views.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

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

template <class Space>
inline constexpr bool is_host_space = Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible;

namespace impl {

/// A view, whatever its type is.
class HeldView {
 public:
  virtual ~HeldView() = default;
  virtual bool is_last_user() const = 0;  ///< no other view has its memory
  virtual std::size_t bytes() const = 0;
};

template <class ViewType>
class HeldViewOf : public HeldView {
 public:
  explicit HeldViewOf(ViewType view) : m_view(std::move(view)) {}
  bool is_last_user() const override { return m_view.use_count() == 1; }
  std::size_t bytes() const override {
    return m_view.span() * sizeof(typename ViewType::non_const_value_type);
  }

 private:
  ViewType m_view;
};

/// Is told of a thread's allocations by the functions below.
class AllocationWatch {
 public:
  virtual ~AllocationWatch() = default;
  /// Kokkos may wait for a device in an allocation, and calls its tools only afterwards.
  virtual void before_allocation() = 0;
  virtual void allocated(std::unique_ptr<HeldView> view) = 0;
};
/// That of the calling thread; null: nobody is told.
void set_allocation_watch(AllocationWatch* watch);
AllocationWatch* allocation_watch();

/// A view of these sizes (of a vector: `rows`), of zeros where `zero`. In a device's setup a small one is
/// part of a larger one, whose label it has. Compiled in the core library for the usual types of elements,
/// see the end of this file.
template <class ViewType, bool zero, class Space>
ViewType make_view(const Space& space, const std::string& label, std::size_t rows, std::size_t cols) {
  AllocationWatch* const watch = allocation_watch();
  if constexpr (ViewType::rank() == 1 && !is_host_space<Space>) {
    using T = typename ViewType::non_const_value_type;
    SmallViews* const small = watch == nullptr && rows * sizeof(T) <= SmallViews::most_bytes
                                  ? small_views(number_of_device(space))
                                  : nullptr;
    if (small != nullptr) {
      const auto view = small->take<ViewType>(space, rows);
      if constexpr (zero) Kokkos::deep_copy(space, view, T{});
      return view;
    }
  }
  if (watch != nullptr) watch->before_allocation();
  const auto make = [&](const auto& properties) {
    ViewType view;
    if constexpr (ViewType::rank() == 1)
      view = ViewType(properties, rows);
    else
      view = ViewType(properties, rows, cols);
    if (watch != nullptr) watch->allocated(std::make_unique<HeldViewOf<ViewType>>(view));
    return view;
  };
  if constexpr (zero)
    return make(Kokkos::view_alloc(space, label));
  else
    return make(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, label));
}

}  // namespace impl

/// An uninitialised vector, or multivector: the caller writes every element before it reads one.
template <class ViewType, class Space, class Rows, class Cols = int>
ViewType allocate(const Space& space, const std::string& label, Rows rows, Cols cols = 1) {
  return impl::make_view<ViewType, false>(space, label, static_cast<std::size_t>(rows),
                                          static_cast<std::size_t>(cols));
}

/// One of zeros, filled on `space`.
template <class ViewType, class Space, class Rows, class Cols = int>
ViewType allocate_zero(const Space& space, const std::string& label, Rows rows, Cols cols = 1) {
  return impl::make_view<ViewType, true>(space, label, static_cast<std::size_t>(rows),
                                         static_cast<std::size_t>(cols));
}

/// x = 0, on `space`.
template <class ViewType, class Space>
void set_zero(const Space& space, const ViewType& x) {
  Kokkos::deep_copy(space, x, typename ViewType::non_const_value_type(0));
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

// Nearly every unit allocates some of these: compiled once they save what each would take, 0.2 s a type.
#define PREKOND_VIEWS_OF(PREFIX, T, Space)                                                                   \
  PREFIX template Vector<T, Space> impl::make_view<Vector<T, Space>, false>(                                 \
      const Space&, const std::string&, std::size_t, std::size_t);                                           \
  PREFIX template Vector<T, Space> impl::make_view<Vector<T, Space>, true>(const Space&, const std::string&, \
                                                                           std::size_t, std::size_t);
#define PREKOND_MULTIVECTORS_OF(PREFIX, T, Space)                                      \
  PREKOND_VIEWS_OF(PREFIX, T, Space)                                                   \
  PREFIX template MultiVector<T, Space> impl::make_view<MultiVector<T, Space>, false>( \
      const Space&, const std::string&, std::size_t, std::size_t);                     \
  PREFIX template MultiVector<T, Space> impl::make_view<MultiVector<T, Space>, true>(  \
      const Space&, const std::string&, std::size_t, std::size_t);
#define PREKOND_USUAL_VIEWS(PREFIX, Space)                                    \
  PREKOND_VIEWS_OF(PREFIX, char, Space)                                       \
  PREKOND_VIEWS_OF(PREFIX, unsigned char, Space)                              \
  PREKOND_VIEWS_OF(PREFIX, int, Space)                                        \
  PREKOND_VIEWS_OF(PREFIX, unsigned, Space)                                   \
  PREKOND_VIEWS_OF(PREFIX, std::size_t, Space)                                \
  PREFIX template void set_zero(const Space&, const Vector<int, Space>&);     \
  PREFIX template void set_zero(const Space&, const VectorView<int, Space>&); \
  PREKOND_MULTIVECTORS_OF(PREFIX, double, Space)                              \
  PREKOND_MULTIVECTORS_OF(PREFIX, Kokkos::complex<double>, Space)
PREKOND_USUAL_VIEWS(extern, Kokkos::DefaultExecutionSpace)
PREKOND_USUAL_VIEWS(extern, Kokkos::DefaultHostExecutionSpace)

}  // namespace prekond
