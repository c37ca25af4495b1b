// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <string>
#include <type_traits>

namespace prekond::testing {

/// The execution spaces that the library is compiled for: the default one and, where it is another, the
/// host's.
using TestSpaces =
    std::conditional_t<std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>,
                       ::testing::Types<Kokkos::DefaultExecutionSpace>,
                       ::testing::Types<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>>;

/// Names typed tests by their space: the third argument of TYPED_TEST_SUITE.
struct SpaceNames {
  template <class Space>
  static std::string GetName(int) {
    return Space::name();
  }
};

/// The text of the exception that `action` throws; fails the test where it throws nothing or another type.
template <class Exception, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace prekond::testing
