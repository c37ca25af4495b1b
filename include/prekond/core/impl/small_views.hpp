// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <any>
#include <cstddef>
#include <map>
#include <numeric>
#include <typeindex>
#include <utility>

namespace prekond::impl {

/// Small vectors as parts of larger ones. A part is a view like any other, and the whole lives until its last
/// part is gone. No place is given out twice, so that it does not matter which kernels are still at work.
///
/// To allocate an array and to free it takes 12 to 15 us on an H200, and a setup of multigrid has some 600
/// (perf_tests/results/h200/amg/results.md).
class SmallViews {
 public:
  /// The larger arrays have this label.
  static constexpr char label[] = "prekond::small_views";
  /// A larger vector has memory of its own.
  static constexpr std::size_t most_bytes = 1 << 18;

  /// An uninitialised vector.
  template <class ViewType, class Space>
  ViewType take(const Space& space, std::size_t rows) {
    constexpr std::size_t size = sizeof(typename ViewType::non_const_value_type);
    constexpr std::size_t step = alignment / std::gcd(alignment, size);
    const std::size_t taken = (std::max<std::size_t>(rows, 1) + step - 1) / step * step;
    Whole& whole = m_wholes[typeid(ViewType)];
    if (whole.rows - whole.used < taken) {
      const std::size_t more =
          std::max(taken, std::clamp(2 * whole.rows * size, first_bytes, last_bytes) / size);
      whole = {ViewType(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, label), more), more};
    }
    const std::size_t begin = std::exchange(whole.used, whole.used + taken);
    return Kokkos::subview(std::any_cast<const ViewType&>(whole.view), Kokkos::pair(begin, begin + rows));
  }

 private:
  static constexpr std::size_t alignment = 128, first_bytes = 1 << 17, last_bytes = 1 << 22;

  struct Whole {
    std::any view;
    std::size_t rows = 0, used = 0;
  };
  std::map<std::type_index, Whole> m_wholes;  ///< the last one of each type of vectors
};

/// The small views of the calling thread's setup on a device; null: it has none. A setup on another device
/// within it has none.
SmallViews* small_views(int device);
/// A setup begins, and further ones within it have its small views; `setup` is its address.
void begin_small_views(const void* setup, int device);
void end_small_views(const void* setup);

}  // namespace prekond::impl
