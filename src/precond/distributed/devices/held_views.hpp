// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace prekond::impl::devices {

/// The memory that a device has allocated in a phase, held until all devices have ended it. Where Kokkos
/// takes memory from CUDA's pools (Kokkos_ENABLE_IMPL_CUDA_MALLOC_ASYNC), freeing it waits for the kernels of
/// all devices: without this a device that frees a temporary would wait for the others.
class HeldViews {
 public:
  /// From now on temporaries of more than `bytes` in all are given up during the phase, for the price of the
  /// wait.
  void set_limit(std::size_t bytes) { m_limit = bytes; }

  /// Views that were added before belong to another phase, for `peak()`.
  void begin_phase();
  void add(std::unique_ptr<HeldView> view);
  /// Gives up what nobody else uses.
  void release();

  /// The bytes of all views that are held, in use elsewhere or not.
  std::size_t bytes() const { return sum(&Held::is_any); }
  /// The largest sum of what was added in this phase and still held.
  std::size_t peak() const { return m_peak; }

 private:
  struct Held {
    std::unique_ptr<HeldView> view;
    bool is_new;
    bool is_any() const { return true; }
    bool is_of_phase() const { return is_new; }
    bool is_unused() const { return view->is_last_user(); }
  };
  std::size_t sum(bool (Held::*counts)() const) const;

  std::vector<Held> m_views;
  std::size_t m_limit = ~std::size_t(0);
  std::size_t m_peak = 0;
};

}  // namespace prekond::impl::devices
