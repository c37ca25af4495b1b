// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every method, solver and format, when memory runs out in the middle of its work: each allocation fails
// once.
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

/// Fails the allocation of a given number, and knows the bytes that are in use. One at a time.
class FailingAllocations {
 public:
  struct Failure : std::bad_alloc {};

  FailingAllocations() {
    state() = {};
    namespace Tools = Kokkos::Tools::Experimental;
    Tools::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle space, const char* label, const void* at, std::uint64_t bytes) {
          if (std::strncmp(label, "Kokkos::", 8) == 0) return;  // its own, of an instance
          if (state().count++ == state().failing) {
            give_back<Kokkos::HostSpace, Kokkos::DefaultExecutionSpace::memory_space>(space, at, bytes);
            throw Failure();
          }
          state().in_use[at] = bytes;
        });
    Tools::set_deallocate_data_callback([](Kokkos_Profiling_SpaceHandle, const char*, const void* at,
                                           std::uint64_t) { state().in_use.erase(at); });
  }
  ~FailingAllocations() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// The allocation after the next `number` ones fails; -1: none.
  void fail(std::int64_t number) { state().failing = number < 0 ? -1 : state().count + number; }
  std::int64_t count() const { return state().count; }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [at, bytes] : state().in_use) sum += bytes;
    return sum;
  }

 private:
  /// Kokkos tells of memory that it has already, and keeps no record of it where this throws.
  template <class... MemorySpaces>
  static void give_back(const Kokkos_Profiling_SpaceHandle& space, const void* at, std::uint64_t bytes) {
    const auto frees = [&](const auto& memory) {
      const bool is_there = std::strcmp(space.name, memory.name()) == 0;
      if (is_there) memory.deallocate(const_cast<void*>(at), bytes);
      return is_there;
    };
    (frees(MemorySpaces()) || ...);
  }

  struct State {
    std::int64_t count = 0, failing = -1;
    std::map<const void*, std::uint64_t> in_use;
  };
  static State& state() {
    static State own;
    return own;
  }
};

template <class Space>
class FailedAllocations : public ::testing::Test {
 public:
  using Matrix = GeneratedMatrix<double, Space>;
  using Vectors = MultiVector<double, Space>;
  using Method = MatrixPreconditioner<double, Space>;
  static constexpr std::int64_t most_failures = 100;  ///< of a method

  static void set_up(Method& method, const Matrix& a) {
    method.symbolic(Space(), a);
    method.numeric(Space(), a);
    Space().fence();
  }
  std::vector<double> applied(const Method& method, std::int64_t n) const {
    const Vectors x("x", n, 1), y("y", n, 1);
    Kokkos::deep_copy(x, 1.0);
    const auto workspace = method.make_workspace(Space(), 1);
    method.apply(Space(), x, y, *workspace);
    const auto on_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
    return {on_host.data(), on_host.data() + n};
  }
};
TYPED_TEST_SUITE(FailedAllocations, TestSpaces, SpaceNames);

TYPED_TEST(FailedAllocations, LeaveAMethodThatCanBeSetUpAgainAndNoMemoryBehind) {
  using Space = TypeParam;
  const auto spd = generate<double, Space>(Space(), "elasticity3d:3");
  const auto general = generate<double, Space>(Space(), "convection_diffusion3d:5");
  for (const auto& entry : preconditioner_registry<double, Space>()) {
    SCOPED_TRACE(entry.name);
    const auto& a = entry.properties.needs_spd ? spd : general;
    const auto create = [&] {
      const auto configurator = entry.configure();
      if (entry.name == "amg") configurator->fields().set({{"coarse_size", std::int64_t(8)}}, entry.name);
      return configurator->build();
    };
    const auto sound = create();
    this->set_up(*sound, a);
    const auto expected = this->applied(*sound, a.num_rows);
    FailingAllocations allocations;
    this->set_up(*create(), a);
    const std::int64_t total = allocations.count();
    EXPECT_TRUE(total > 0 || entry.name == "none");
    const std::uint64_t before = allocations.bytes();
    const std::int64_t step = 1 + total / this->most_failures;
    for (std::int64_t k = 0; k < total; k += step) {
      SCOPED_TRACE("allocation " + std::to_string(k) + " of " + std::to_string(total));
      const auto method = create();
      allocations.fail(k);
      EXPECT_THROW(this->set_up(*method, a), std::exception);
      allocations.fail(-1);
      this->set_up(*method, a);
      EXPECT_EQ(this->applied(*method, a.num_rows), expected);
      if (this->HasFailure()) break;
    }
    EXPECT_EQ(allocations.bytes(), before) << "bytes that are still in use";
  }
}

/// Does the work again and again, another allocation failing each time, and whole after each failure: `bits`
/// are always those at first, and no memory stays.
template <class Work, class Bits>
void expect_each_failure_to_pass(const Work& work, const Bits& bits) {
  work();
  const auto expected = bits();
  FailingAllocations allocations;
  work();
  const std::int64_t total = allocations.count();
  const std::uint64_t before = allocations.bytes();
  EXPECT_GT(total, 0);
  for (std::int64_t k = 0; k < total; ++k) {
    SCOPED_TRACE("allocation " + std::to_string(k) + " of " + std::to_string(total));
    allocations.fail(k);
    EXPECT_THROW(work(), std::exception);
    allocations.fail(-1);
    EXPECT_EQ(allocations.bytes(), before) << "bytes that are still in use";
    work();
    ASSERT_EQ(bits(), expected);
  }
}

TYPED_TEST(FailedAllocations, OfSolversLeaveThemUsable) {
  using Space = TypeParam;
  const auto a = generate<double, Space>(Space(), "elasticity3d:3");
  const CsrOperator<double, Space> op(a);
  const auto m = create_preconditioner<double, Space>("jacobi");
  this->set_up(*m, a);
  const Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
  const auto host = Kokkos::create_mirror_view(x);
  Kokkos::deep_copy(b, 1.0);
  for (const auto& entry : solver_registry<double, Space>()) {
    SCOPED_TRACE(entry.name);
    const auto solver = entry.configure()->build();
    const auto solve = [&] {
      Kokkos::deep_copy(x, 0.0);
      solver->solve(Space(), op, m.get(), b, x, {.rtol = 1e-6, .atol = 0, .max_iters = 40});
    };
    const auto bits = [&] {
      Kokkos::deep_copy(host, x);
      return std::vector<double>(host.data(), host.data() + host.extent(0));
    };
    expect_each_failure_to_pass(solve, bits);
  }
}

TYPED_TEST(FailedAllocations, OfFormats) {
  using Space = TypeParam;
  const auto a = generate<double, Space>(Space(), "elasticity3d:3");
  for (const MatrixFormat format : {MatrixFormat::automatic, MatrixFormat::sell, MatrixFormat::dia,
                                    MatrixFormat::jad, MatrixFormat::bcsr}) {
    SCOPED_TRACE(to_string(format));
    const auto make = [&] { return make_operator<double, Space>(Space(), a, format); };
    expect_each_failure_to_pass([&] { make(); }, [&] { return make()->num_rows(); });
  }
}

/// Which exception missing memory is depends on the space.
template <class Action>
std::string text_of_any(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// More bytes than any host or device has: the error has the label, and the same objects work afterwards.
TYPED_TEST(FailedAllocations, OfMoreThanAnyMemory) {
  using Space = TypeParam;
  using ::testing::HasSubstr;
  const auto too_large = [] {
    allocate<Vector<char, Space>>(Space(), "prekond::testing::too_large", std::size_t(1) << 50);
  };
  EXPECT_THAT(text_of_any(too_large), HasSubstr("prekond::testing::too_large"));
  const auto a = generate<double, Space>(Space(), "tridiagonal:50");
  const auto m = create_preconditioner<double, Space>("ilu0");
  this->set_up(*m, a);
  EXPECT_EQ(this->applied(*m, a.num_rows).size(), 50u);
}

/// A basis of 1.6 TB. A host may give more memory than it has.
TYPED_TEST(FailedAllocations, OfALargeBasis) {
  using Space = TypeParam;
  if (is_host_space<Space>) GTEST_SKIP() << "for devices";
  constexpr std::int64_t restart = 10000;
  const auto a = generate<double, Space>(Space(), "tridiagonal:20000000");
  const CsrOperator<double, Space> op(a);
  const Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
  Kokkos::deep_copy(b, 1.0);
  const auto gmres = create_solver<double, Space>("gmres", {{"restart", restart}});
  const auto solve = [&](std::int64_t max_iters) {
    return gmres->solve(Space(), op, nullptr, b, x, {.rtol = 1e-6, .atol = 0, .max_iters = max_iters});
  };
  EXPECT_THAT(text_of_any([&] { solve(restart); }), ::testing::HasSubstr("prekond::gmres::basis"));
  EXPECT_EQ(solve(2).iterations, 2);
}

}  // namespace
}  // namespace prekond::testing
