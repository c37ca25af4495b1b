// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Views as bare pointers, for kernels with many of them: Kokkos hands functors of more than 512 bytes to
/// CUDA through constant memory, which it waits for (H200: 13 us a launch more,
/// perf_tests/results/h200/toolbox/results.md).
#include <cstdint>

#include <Kokkos_Core.hpp>

namespace prekond::impl {

template <class T>
struct PackedVector {
  T* pointer = nullptr;

  PackedVector() = default;
  template <class View>
  PackedVector(const View& view) : pointer(view.extent(0) > 0 ? view.data() : nullptr) {}

  KOKKOS_FORCEINLINE_FUNCTION T& operator()(std::int64_t i) const { return pointer[i]; }
  KOKKOS_FORCEINLINE_FUNCTION T* data() const { return pointer; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_empty() const { return pointer == nullptr; }
};

template <class T>
struct PackedColumns {
  T* pointer = nullptr;
  std::int64_t stride = 0;

  PackedColumns() = default;
  template <class View>
  PackedColumns(const View& view) : pointer(view.data()), stride(static_cast<std::int64_t>(view.stride(1))) {}

  KOKKOS_FORCEINLINE_FUNCTION T& operator()(std::int64_t i, int v) const { return pointer[v * stride + i]; }
  KOKKOS_FORCEINLINE_FUNCTION T* column(int v) const { return pointer + v * stride; }
};

}  // namespace prekond::impl
