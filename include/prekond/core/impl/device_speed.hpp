// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace prekond::impl {

/// The number that CUDA gives a space's device; -1 for other spaces.
template <class Space>
int number_of_device([[maybe_unused]] const Space& space) {
  if constexpr (requires { space.cuda_device(); })
    return space.cuda_device();
  else
    return -1;
}

/// The number of a device's multiprocessors times their clock in MHz, by which devices share work that is
/// bound by instructions. 0 where it is not known, and for -1.
std::int64_t speed_of_device(int device);

}  // namespace prekond::impl
