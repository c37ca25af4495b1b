// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/factors.hpp"
#include "testing/reference_spgemm.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/kokkoskernels_spgemm.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/precond/amg.hpp>
#include <prekond/precond/registry.hpp>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;
const SpgemmOptions of_kokkos_kernels{.library = SpgemmLibrary::kokkos_kernels};

TEST(KokkosKernelsSpgemm, IsTheTextbooks) {
  kokkoskernels::register_spgemm<double, Space>();
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    const auto left = to_device<Space>(a), right = to_device<Space>(b);
    const auto c = spgemm<double, Space>(Space(), left, right, of_kokkos_kernels);
    expect_near(to_host(c), reference_spgemm(a, b), 1e-12);
  }
  register_spgemm<double, Space>(nullptr);
}

TEST(KokkosKernelsSpgemm, MultigridMayHaveIt) {
  const auto a = generate<double, Space>(Space(), "poisson2d:40");
  const OptionMap options = {{"spgemm", std::string("kokkos_kernels")}};
  EXPECT_THAT(message_of<OptionError>(
                  [&] { create_preconditioner<double, Space>("amg", options)->symbolic(Space(), a); }),
              ::testing::HasSubstr("take spgemm = own"));
  kokkoskernels::register_spgemm<double, Space>();
  for (const std::string coarsening : {"aggregation", "classical"}) {
    OptionMap own = {{"coarsening", coarsening}}, theirs = options;
    theirs["coarsening"] = coarsening;
    const auto expected = create_preconditioner<double, Space>("amg", own),
               found = create_preconditioner<double, Space>("amg", theirs);
    expected->numeric(Space(), a);
    for (int phase = 0; phase < 2; ++phase) {
      found->numeric(Space(), a);
      ASSERT_EQ(found->report().levels.size(), expected->report().levels.size());
      for (std::size_t l = 0; l < expected->report().levels.size(); ++l)
        EXPECT_EQ(found->report().levels[l].nnz, expected->report().levels[l].nnz) << l;
    }
  }
  register_spgemm<double, Space>(nullptr);
}

}  // namespace
}  // namespace prekond::testing
