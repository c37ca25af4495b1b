// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/held_views.hpp"

#include <algorithm>
#include <utility>

namespace prekond::impl::devices {

void HeldViews::begin_phase() {
  for (Held& held : m_views) held.is_new = false;
  m_peak = 0;
}

void HeldViews::add(std::unique_ptr<HeldView> view) {
  m_views.push_back({std::move(view), true});
  m_peak = std::max(m_peak, sum(&Held::is_of_phase));
  if (sum(&Held::is_unused) > m_limit) release();
}

void HeldViews::release() {
  std::erase_if(m_views, [](const Held& held) { return held.is_unused(); });
}

std::size_t HeldViews::sum(bool (Held::*counts)() const) const {
  std::size_t result = 0;
  for (const Held& held : m_views)
    if ((held.*counts)()) result += held.view->bytes();
  return result;
}

}  // namespace prekond::impl::devices
