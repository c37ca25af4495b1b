// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two setups and solves at the same time in one process, each by a thread of the host with an execution space
// instance of its own: the bits are those of one after the other.
#include "testing/krylov_problems.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include <array>
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "testing/instances.hpp"

namespace prekond::testing {
namespace {

/// Two instances; of OpenMP one with all threads and one with one.
template <class Space>
std::vector<Space> two_instances() {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) return {Space(Space().concurrency()), Space(1)};
#endif
#ifdef KOKKOS_ENABLE_SERIAL
  if constexpr (std::is_same_v<Space, Kokkos::Serial>)
    return {Space(Kokkos::NewInstance{}), Space(Kokkos::NewInstance{})};
#endif
  return instances<Space>(2);
}

template <class Space>
class TwoThreads : public ::testing::Test {
 public:
  using Matrix = GeneratedMatrix<double, Space>;
  static constexpr int repetitions = 3;

  struct Side {
    explicit Side(const std::string& problem)
        : a(generate<double, Space>(Space(), problem)), b("b", a.num_rows), x("x", a.num_rows) {
      Kokkos::deep_copy(b, 1.0);
    }
    Matrix a;
    Vector<double, Space> b, x;
    std::vector<double> history;
    std::exception_ptr error;
  };

  /// Sets up and solves, all by `space`.
  static void solve(const Space& space, const std::string& precond, const std::string& solver, Side& side) {
    side.history.clear();
    Kokkos::deep_copy(space, side.x, 0.0);
    const auto m = create_preconditioner<double, Space>(precond);
    m->symbolic(space, side.a);
    m->numeric(space, side.a);
    const auto method = create_solver<double, Space>(solver);
    method->solve(space, CsrOperator<double, Space>(side.a), m.get(), side.b, side.x, stop_at(1e-8, 20),
                  [&](std::int64_t, double norm) { side.history.push_back(norm); });
    space.fence();
  }
  /// The same for the thread of a side, which begins when the other one is there too.
  static void take_part(const Space& space, const std::string& precond, const std::string& solver, Side& side,
                        std::atomic<int>& ready) {
    ++ready;
    while (ready < 2) std::this_thread::yield();
    try {
      for (int k = 0; k < repetitions; ++k) solve(space, precond, solver, side);
    } catch (...) {
      side.error = std::current_exception();
    }
  }
  static std::vector<double> bits(const Side& side) {
    std::vector<double> all = to_vector(side.x);
    all.insert(all.end(), side.history.begin(), side.history.end());
    return all;
  }

  void check(const std::string& precond, const std::string& solver, std::array<Side, 2>& sides) const {
    SCOPED_TRACE(solver + " with " + precond);
    std::array<std::vector<double>, 2> expected;
    for (std::size_t k = 0; k < 2; ++k) {
      solve(m_spaces[k], precond, solver, sides[k]);
      expected[k] = bits(sides[k]);
    }
    std::atomic<int> ready{0};
    std::thread other([&] { take_part(m_spaces[1], precond, solver, sides[1], ready); });
    take_part(m_spaces[0], precond, solver, sides[0], ready);
    other.join();
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_FALSE(sides[k].error) << "side " << k;
      EXPECT_EQ(bits(sides[k]), expected[k]) << "side " << k;
    }
  }

 private:
  std::vector<Space> m_spaces = two_instances<Space>();
};
TYPED_TEST_SUITE(TwoThreads, TestSpaces, SpaceNames);

TYPED_TEST(TwoThreads, EveryPreconditioner) {
  using Side = typename TestFixture::Side;
  std::array<Side, 2> spd = {Side("elasticity3d:5"), Side("poisson3d:11")};
  std::array<Side, 2> general = {Side("convection_diffusion3d:10"), Side("elasticity3d:5")};
  for (const auto& entry : preconditioner_registry<double, TypeParam>())
    this->check(entry.name, "fgmres", entry.properties.needs_spd ? spd : general);
}

TYPED_TEST(TwoThreads, EverySolver) {
  using Side = typename TestFixture::Side;
  std::array<Side, 2> sides = {Side("elasticity3d:5"), Side("poisson3d:11")};
  for (const auto& entry : solver_registry<double, TypeParam>()) this->check("jacobi", entry.name, sides);
}

}  // namespace
}  // namespace prekond::testing
