// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The doors of the library look whether the threads that Kokkos counts on run (core/threads.hpp).
#include <prekond/core/error.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/registry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "testing/krylov_problems.hpp"
#include "testing/spaces.hpp"

#ifdef _OPENMP
#include <omp.h>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

/// On a thread of its own, whose OpenMP may choose the number of threads.
std::string refusal_of(const std::function<void()>& work) {
  std::string message;
  std::thread([&] {
    omp_set_dynamic(1);
    message = message_of<OptionError>(work);
  }).join();
  return message;
}

template <class Space>
class ThreadDoorsTest : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadDoorsTest, TestSpaces, SpaceNames);

TYPED_TEST(ThreadDoorsTest, EveryPhase) {
  if (Kokkos::DefaultHostExecutionSpace::name() != std::string("OpenMP")) GTEST_SKIP() << "no OpenMP";
  const auto a = to_device<TypeParam>(problem("poisson2d:5"));
  for (const auto& entry : preconditioner_registry<double, TypeParam>()) {
    const auto preconditioner = create_preconditioner<double, TypeParam>(entry.name);
    EXPECT_THAT(refusal_of([&] { preconditioner->symbolic(TypeParam(), a); }), HasSubstr("OMP_DYNAMIC"))
        << entry.name;
    EXPECT_NO_THROW(preconditioner->symbolic(TypeParam(), a)) << entry.name;
    EXPECT_THAT(refusal_of([&] { preconditioner->numeric(TypeParam(), a); }), HasSubstr("OMP_DYNAMIC"))
        << entry.name;
    EXPECT_NO_THROW(preconditioner->numeric(TypeParam(), a)) << entry.name;
  }
}

TYPED_TEST(ThreadDoorsTest, EverySolve) {
  if (Kokkos::DefaultHostExecutionSpace::name() != std::string("OpenMP")) GTEST_SKIP() << "no OpenMP";
  const auto a = operator_of<TypeParam>(problem("poisson2d:5"));
  const auto b = to_device<TypeParam>(std::vector<double>(25, 1.0));
  const auto x = to_device<TypeParam>(std::vector<double>(25, 0.0));
  const auto solver = create_solver<double, TypeParam>("cg");
  const auto solve = [&] { return solver->solve(TypeParam(), a, nullptr, b, x, StoppingOptions()); };
  EXPECT_THAT(refusal_of([&] { solve(); }), HasSubstr("OMP_DYNAMIC"));
  EXPECT_TRUE(solve().converged);
}

}  // namespace
}  // namespace prekond::testing
#endif
