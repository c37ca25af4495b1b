// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/small_views.hpp>

namespace prekond::testing {

/// While it lives, the thread's setups on devices have no small views: each view has an allocation of its
/// own, and no fence or byte belongs to an array of small views.
class NoSmallViews {
 public:
  NoSmallViews() { impl::begin_small_views(this, no_device); }
  ~NoSmallViews() { impl::end_small_views(this); }
  NoSmallViews(const NoSmallViews&) = delete;
  NoSmallViews& operator=(const NoSmallViews&) = delete;

 private:
  static constexpr int no_device = -2;
};

}  // namespace prekond::testing
