// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

namespace prekond::impl {

/// Bytes that a setup's views hold at the moment, and the most that they held.
class MemoryMeter {
 public:
  /// Counts some bytes while it lives. It must not outlive its meter.
  class Holding {
   public:
    Holding() = default;
    Holding(MemoryMeter& meter, std::int64_t bytes) : m_meter(&meter), m_bytes(bytes) {
      meter.m_now += bytes;
      meter.m_peak = std::max(meter.m_peak, meter.m_now);
    }
    Holding(Holding&& other) noexcept
        : m_meter(std::exchange(other.m_meter, nullptr)), m_bytes(other.m_bytes) {}
    Holding& operator=(Holding&& other) noexcept {
      std::swap(m_meter, other.m_meter);
      std::swap(m_bytes, other.m_bytes);
      return *this;
    }
    ~Holding() {
      if (m_meter) m_meter->m_now -= m_bytes;
    }

   private:
    MemoryMeter* m_meter = nullptr;
    std::int64_t m_bytes = 0;
  };

  template <class... Views>
  [[nodiscard]] Holding hold(const Views&... views) {
    return {*this, (std::int64_t(0) + ... + bytes_of(views))};
  }
  [[nodiscard]] Holding hold_bytes(std::int64_t bytes) { return {*this, bytes}; }

  /// Something was held for a moment beside the rest.
  void pass(std::int64_t bytes) { m_peak = std::max(m_peak, m_now + bytes); }

  std::int64_t peak() const { return m_peak; }

  template <class View>
  static std::int64_t bytes_of(const View& view) {
    return static_cast<std::int64_t>(view.span() * sizeof(typename View::value_type));
  }

 private:
  std::int64_t m_now = 0;
  std::int64_t m_peak = 0;
};

}  // namespace prekond::impl
