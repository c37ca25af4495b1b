// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --profile: the seconds of kernels by their labels, and the memory of the steps of a solve.
#include "text.hpp"

namespace prekond::driver {

/// Takes the place of a Kokkos tool while it lives, one at a time. Kokkos fences before and after each kernel
/// then, so that the times of a solve are longer.
class Profile {
 public:
  /// Within a KokkosSession. \throws OptionError where Kokkos has a tool
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The report's `profile`, of this process: `kernels`, the longest first, and `memory`, the most bytes of
  /// Views in each step that allocated some.
  Json json() const;
};

/// Prints the report's `profile`, if it has one: the ten longest kernels, and the memory.
void print_profile(const Json& report);

}  // namespace prekond::driver
