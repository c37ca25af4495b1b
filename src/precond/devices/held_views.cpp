// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/devices/held_views.hpp"

#include <utility>

namespace prekond::impl::devices {

void HeldViews::add(std::unique_ptr<HeldView> view) {
  m_unchecked += view->bytes();
  m_views.push_back(std::move(view));
  if (m_unchecked <= m_limit) return;
  m_unchecked = 0;
  for (const auto& held : m_views)
    if (held->is_last_user()) m_unchecked += held->bytes();
  if (m_unchecked > m_limit) release();
}

void HeldViews::release() {
  std::erase_if(m_views, [](const auto& held) { return held->is_last_user(); });
  m_unchecked = 0;
}

std::size_t HeldViews::bytes() const {
  std::size_t sum = 0;
  for (const auto& held : m_views) sum += held->bytes();
  return sum;
}

}  // namespace prekond::impl::devices
