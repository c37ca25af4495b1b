// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/factors.hpp"
#include "testing/reference_spgemm.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/kokkoskernels_spgemm.hpp>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

TEST(KokkosKernelsSpgemm, IsTheTextbooks) {
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    const auto left = to_device<Space>(a), right = to_device<Space>(b);
    const auto c = kokkoskernels::spgemm<double, Space>(Space(), left, right);
    expect_near(to_host(c), reference_spgemm(a, b), 1e-12);
  }
}

}  // namespace
}  // namespace prekond::testing
