// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/reference_coloring.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/kokkoskernels_coloring.hpp>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

TEST(KokkosKernelsColoring, NeighboursHaveDifferentColours) {
  const Space space;
  for (const auto& test : awkward_patterns<double>()) {
    if (test.matrix.num_cols < test.matrix.num_rows) continue;
    const auto device = to_device<Space>(test.matrix);
    for (const int distance : {1, 2}) {
      SCOPED_TRACE(test.name + ", distance " + std::to_string(distance));
      const auto result = kokkoskernels::color_graph<Space>(space, device, distance);
      const auto colors = to_vector(result.colors);
      const auto near = neighbours(pattern_of(test.matrix), distance);
      for (std::size_t i = 0; i < near.size(); ++i)
        for (const int j : near[i]) ASSERT_NE(colors[i], colors[j]) << i << " and " << j;
      for (const int color : colors) {
        EXPECT_GE(color, 0);
        EXPECT_LT(color, result.num_colors);
      }
    }
  }
}

TEST(KokkosKernelsColoring, AnotherDistanceIsRefused) {
  const auto device = to_device<Space>(random_entries<double>(9, 9, 0.3, 1));
  EXPECT_THAT(message_of<InputError>([&] { kokkoskernels::color_graph<Space>(Space(), device, 3); }),
              ::testing::HasSubstr("it has to be 1 or 2"));
}

}  // namespace
}  // namespace prekond::testing
