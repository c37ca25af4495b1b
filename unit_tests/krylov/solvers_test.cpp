// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The properties of every solver for general matrices.
#include "testing/krylov_solves.hpp"
#include "testing/matrices.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool is_gmres(const Variant& variant) {
  return variant.solver == "gmres" || variant.solver == "fgmres";
}

template <class Space>
class SolversTest : public ::testing::Test {};
TYPED_TEST_SUITE(SolversTest, TestSpaces, SpaceNames);

/// A monitor that lowers max_iters ends the solve there: the result is that of a solve with as many
/// iterations from the start, for the methods that make them one by one.
TYPED_TEST(SolversTest, AMonitorMayEndTheSolve) {
  using Space = TypeParam;
  const HostMatrix<double> system = problem("poisson2d:30");
  const auto a = operator_of<Space>(system);
  const auto b = to_device<Space>(random_vector(std::size_t(system.num_rows)));
  constexpr std::int64_t last = 7;
  std::vector<Variant> variants = general_variants();
  variants.push_back({"cg", {}});
  variants.push_back({"richardson", {}});
  for (const Variant& variant : variants) {
    SCOPED_TRACE(variant.name());
    const auto solver = create_solver<double, Space>(variant.solver, variant.options);
    const auto m = preconditioner_of<Space>("jacobi", system);
    const auto x = to_device<Space>(std::vector<double>(system.num_rows, 0.0));
    StoppingOptions stopping = stop_at(1e-12, 1000);
    const auto stop = [&](std::int64_t iteration, double) {
      if (iteration >= last) stopping.max_iters = std::min(stopping.max_iters, iteration);
    };
    const SolveResult ended = solver->solve(Space(), a, m.get(), b, x, stopping, stop);
    EXPECT_EQ(ended.reason, StopReason::max_iters) << to_string(ended.reason);
    EXPECT_FALSE(ended.converged);
    EXPECT_GE(ended.iterations, last);
    EXPECT_LT(ended.iterations, last + 5);  // a block of steps
    const double truth = residual_norm(system, to_vector(b), to_vector(x)) / norm(to_vector(b));
    EXPECT_NEAR(ended.true_relative_residual, truth, 1e-12);
    EXPECT_LE(truth, 1);
  }
}

TYPED_TEST(SolversTest, SolveTheirClassOfMatrices) {
  for (int n : {1, 2, 3, 5, 64, 257, 513, 1025}) {
    const HostMatrix<double> a = n < 600 ? uneven_matrix(n) : problem("tridiagonal:" + std::to_string(n));
    const HostMatrix<double> system = n < 600 ? a : shifted(a, -0.5);
    const std::vector<double> b = random_vector(n);
    const std::vector<double> exact = n < 600 ? general_solution(system, b) : std::vector<double>();
    for (const char* name : {"", "none", "jacobi"}) {
      const auto m = name[0] != 0 ? preconditioner_of<TypeParam>(name, system) : nullptr;
      for (const Variant& variant : general_variants()) {
        SCOPED_TRACE(variant.name() + ", " + name + ", size " + std::to_string(n));
        const auto solved =
            solve_with<double, TypeParam>(variant, operator_of<TypeParam>(system), m.get(), b, stop_at(1e-9));
        EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
        EXPECT_TRUE(solved.result.converged);
        const double truth = residual_norm(system, b, solved.x) / norm(b);
        EXPECT_LE(truth, 1.0001e-9);
        EXPECT_NEAR(solved.result.true_relative_residual, truth, 1e-14);
        EXPECT_LE(solved.result.true_relative_residual, 1e-9);
        for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(solved.x[i], exact[i], 1e-6);
        // The monitor sees every iteration, once, but for one from which the method goes on.
        ASSERT_GE(solved.seen.size(), std::size_t(solved.result.iterations) + 1);
        EXPECT_EQ(solved.seen.front(), 0);
        for (std::size_t k = 1; k < solved.seen.size(); ++k)
          ASSERT_LE(solved.seen[k] - solved.seen[k - 1], 1);
        EXPECT_NEAR(solved.history[0], norm(b), 1e-12 * norm(b));
        EXPECT_NEAR(solved.result.relative_residual, solved.history.back() / norm(b), 1e-15);
      }
    }
  }
}

TYPED_TEST(SolversTest, APreconditionerForGeneralMatricesHelps) {
  for (const char* spec : {"convection_diffusion3d:9", "convection_diffusion3d:8,peclet=1000"}) {
    const HostMatrix<double> a = problem(spec);
    const std::vector<double> b = random_vector(a.num_rows);
    const auto jacobi = preconditioner_of<TypeParam>("jacobi", a),
               fsai = preconditioner_of<TypeParam>("nonsymmetric_fsai", a);
    for (const Variant& variant : general_variants()) {
      SCOPED_TRACE(variant.name());
      const auto plain =
          solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b, stop_at(1e-8));
      const auto helped =
          solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), fsai.get(), b, stop_at(1e-8));
      EXPECT_TRUE(plain.result.converged && helped.result.converged);
      EXPECT_LT(helped.result.iterations, plain.result.iterations);
      EXPECT_LE(residual_norm(a, b, helped.x), 1.0001e-8 * norm(b));
      EXPECT_LE(helped.result.true_relative_residual, 1e-8);
    }
  }
}

TYPED_TEST(SolversTest, ConvergenceIsTheLargerOfRtolAndAtol) {
  const HostMatrix<double> a = problem("convection_diffusion3d:6");
  std::vector<double> b = random_vector(a.num_rows);
  for (double& value : b) value *= 100;
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    for (const auto& [rtol, atol, reason] :
         {std::tuple(1e-6, 1e-12, StopReason::rtol), std::tuple(1e-9, 1e-3, StopReason::atol),
          std::tuple(0.0, 1e-5, StopReason::atol)}) {
      const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                        stop_at(rtol, 1000, atol));
      EXPECT_EQ(solved.result.reason, reason)
          << rtol << ' ' << atol << ' ' << to_string(solved.result.reason);
      EXPECT_LE(solved.history.back(), std::max(rtol * norm(b), atol));
      EXPECT_GT(solved.history[solved.history.size() - 2], std::max(rtol * norm(b), atol));
    }
    // Two kernels sum up (b, b) and (r, r), and agree to rounding.
    const auto at_once = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                       stop_at(0, 1000, (1 + 1e-14) * norm(b)));
    EXPECT_EQ(at_once.result.iterations, 0);
    EXPECT_TRUE(at_once.result.converged);
  }
}

TYPED_TEST(SolversTest, ZeroExactAndGoodInitialVectors) {
  const HostMatrix<double> a = problem("convection_diffusion3d:5");
  std::vector<double> exact(a.num_rows);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = double(i % 7) - 3;
  const std::vector<double> b = multiply(a, exact), zero(a.num_rows, 0.0);
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto of_zero = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), zero,
                                                       stop_at(1e-8), random_vector(a.num_rows));
    EXPECT_EQ(of_zero.result.reason, StopReason::zero_rhs);
    EXPECT_EQ(of_zero.x, zero);
    const auto from_exact = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b,
                                                          stop_at(1e-8), exact);
    EXPECT_EQ(from_exact.result.iterations, 0);
    EXPECT_TRUE(from_exact.result.converged);
    EXPECT_EQ(from_exact.x, exact);
    const auto cold =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b, stop_at(1e-9));
    const auto rough =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b, stop_at(1e-6));
    const auto warm = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b,
                                                    stop_at(1e-9), rough.x);
    EXPECT_LT(warm.result.iterations, cold.result.iterations);
    EXPECT_TRUE(warm.result.converged);
  }
}

TYPED_TEST(SolversTest, StopAfterMaxIters) {
  const HostMatrix<double> a = problem("convection_diffusion3d:7");
  const std::vector<double> b = random_vector(a.num_rows), guess = random_vector(a.num_rows, 3);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto none = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                    stop_at(1e-12, 0), guess);
    EXPECT_EQ(none.result.reason, StopReason::max_iters);
    EXPECT_EQ(none.x, guess);
    const auto five =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-12, 5));
    EXPECT_EQ(five.result.reason, StopReason::max_iters);
    EXPECT_FALSE(five.result.converged);
    EXPECT_EQ(five.result.iterations, 5);
    EXPECT_NEAR(five.result.true_relative_residual, residual_norm(a, b, five.x) / norm(b), 1e-13);
    EXPECT_NEAR(five.result.true_relative_residual, five.result.relative_residual, 1e-12);
  }
}

TYPED_TEST(SolversTest, NonFiniteValuesEndAsNan) {
  const HostMatrix<double> a = problem("convection_diffusion3d:5");
  const std::vector<double> b = random_vector(a.num_rows), guess = random_vector(a.num_rows, 2);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      std::vector<double> bad_b = b, bad_guess = guess;
      bad_b[77] = bad;
      bad_guess[3] = bad;
      HostMatrix<double> bad_a = a;
      bad_a.values[100] = bad;
      const auto from_b = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, bad_b,
                                                        stop_at(1e-8), guess);
      EXPECT_EQ(from_b.result.reason, StopReason::nan);
      EXPECT_EQ(from_b.x, guess);
      const auto from_x = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                        stop_at(1e-8), bad_guess);
      EXPECT_EQ(from_x.result.reason, StopReason::nan);
      const auto from_a = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(bad_a), nullptr, b,
                                                        stop_at(1e-8), guess);
      EXPECT_EQ(from_a.result.reason, StopReason::nan);
      EXPECT_EQ(from_a.x, guess);
      for (int late : {1, 2, 3, 7}) {
        const auto from_product = solve_with<double, TypeParam>(variant, Late<TypeParam>(a, late, bad),
                                                                nullptr, b, stop_at(1e-8), guess);
        EXPECT_EQ(from_product.result.reason, StopReason::nan) << late;
        EXPECT_TRUE(all_finite(from_product.x)) << late;
      }
      for (int late : {0, 1, 4}) {
        const Scale<double, TypeParam> m(a.num_rows, 1, late, bad);
        const auto from_m =
            solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), &m, b, stop_at(1e-8), guess);
        EXPECT_EQ(from_m.result.reason, StopReason::nan) << late;
        EXPECT_FALSE(from_m.result.converged);
      }
    }
  }
}

TYPED_TEST(SolversTest, RestartWhereTheTrueResidualContradictsTheRecursiveOne) {
  const HostMatrix<double> a = problem("convection_diffusion3d:5");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const char* name : {"bicgstab", "gmres", "fgmres", "idr"}) {
    SCOPED_TRACE(name);
    Variant variant{name, {}};
    if (is_gmres(variant)) variant.options["restart"] = std::int64_t(100);
    const auto lied =
        solve_with<double, TypeParam>(variant, Liar<TypeParam>(a, 0.5), nullptr, b, stop_at(1e-8));
    EXPECT_EQ(lied.result.reason, StopReason::stagnation) << to_string(lied.result.reason);
    EXPECT_FALSE(lied.result.converged);
    EXPECT_LE(lied.result.relative_residual, 1e-8);
    EXPECT_NEAR(lied.result.true_relative_residual, 1, 1e-6);  // r = -b, and b after another start
    // Half the residual is left each time.
    const auto falling =
        solve_with<double, TypeParam>(variant, Liar<TypeParam>(a, 2), nullptr, b, stop_at(1e-8, 20000));
    EXPECT_EQ(falling.result.reason, StopReason::rtol) << to_string(falling.result.reason);
    EXPECT_LE(residual_norm(a, b, falling.x), 1e-8 * norm(b));
    const auto repented =
        solve_with<double, TypeParam>(variant, Liar<TypeParam>(a, 2, 2), nullptr, b, stop_at(1e-8));
    EXPECT_EQ(repented.result.reason, StopReason::rtol);
    EXPECT_LE(residual_norm(a, b, repented.x), 1e-8 * norm(b));
  }
}

TYPED_TEST(SolversTest, ZeroAndSingularSystemsEndWithAReason) {
  const HostMatrix<double> zero = sparse<double>({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}});
  const HostMatrix<double> singular =
      sparse<double>({{1, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 0}});  // an empty column
  const Scale<double, TypeParam> vanishing(4, 0);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    for (const auto& [a, b] : {std::pair(zero, std::vector<double>{1, 2, 3}),
                               std::pair(singular, std::vector<double>{1, 1, 1, 1})}) {
      const auto solved =
          solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8, 200));
      EXPECT_FALSE(solved.result.converged);
      EXPECT_TRUE(all_finite(solved.x)) << to_string(solved.result.reason);
      if (a.nnz() == 0) {
        EXPECT_THAT(to_string(solved.result.reason), StartsWith("breakdown_"));
        EXPECT_EQ(solved.x, std::vector<double>(3, 0.0));
      }
    }
    const std::vector<double> fitting = {1, 1, 1, 0};
    const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(singular), nullptr,
                                                      fitting, stop_at(1e-8, 200));
    EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
    const auto by_zero = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(singular), &vanishing,
                                                       fitting, stop_at(1e-8, 200));
    EXPECT_FALSE(by_zero.result.converged);
    EXPECT_TRUE(all_finite(by_zero.x));
  }
}

TYPED_TEST(SolversTest, SumsOverManyRanksGiveTheSameIteration) {
  const HostMatrix<double> a = problem("convection_diffusion3d:6");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto m = preconditioner_of<TypeParam>("jacobi", a);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto run = [&](double ranks) {
      return solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8), {},
                                           CountingReducer<TypeParam>(ranks));
    };
    const auto one = run(1), four = run(4);
    EXPECT_TRUE(one.result.converged);
    EXPECT_EQ(one.x, four.x) << "a sum escaped the reducer";
    EXPECT_EQ(one.result.iterations, four.result.iterations);
    EXPECT_EQ(one.result.true_relative_residual, four.result.true_relative_residual);
  }
}

TYPED_TEST(SolversTest, ARankWithoutRowsMakesTheSameMessages) {
  for (const HostMatrix<double>& a : {problem("convection_diffusion3d:5"), uneven_matrix(40)}) {
    const std::vector<double> b = random_vector(a.num_rows);
    for (const Variant& variant : general_variants()) {
      SCOPED_TRACE(variant.name());
      Tape<TypeParam> tape;
      const auto others = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                        stop_at(1e-9, 60), {}, tape);
      tape.replay();
      const auto empty = solve_with<double, TypeParam>(variant, StencilOperator<double, TypeParam>(0, 2),
                                                       nullptr, {}, stop_at(1e-9, 60), {}, tape);
      EXPECT_EQ(empty.result.reason, others.result.reason);
      EXPECT_EQ(empty.result.iterations, others.result.iterations);
      EXPECT_EQ(empty.history, others.history);
      EXPECT_EQ(tape.next(), tape.filed.size()) << "the ranks wait for each other forever";
    }
  }
}

TYPED_TEST(SolversTest, MessagesFencesAndAllocationsOfAnIteration) {
  const HostMatrix<double> a = problem("convection_diffusion3d:12");
  const TypeParam space;
  const auto b_host = random_vector(a.num_rows);
  const auto b = to_device<TypeParam>(b_host);
  const auto op = operator_of<TypeParam>(a);
  const auto m = preconditioner_of<TypeParam>("jacobi", a);
  const auto messages_of_ten = [](const Variant& variant) {
    if (variant.solver == "bicgstab") return 30;
    if (variant.options.count("step_size") != 0) return 4;  // two blocks of five
    const auto form = variant.options.find("orthogonalization");
    return form != variant.options.end() && to_string(form->second) == "dcgs2" ? 10 : 20;
  };
  for (const Variant& variant : general_variants()) {
    if (variant.options.count("restart") != 0) continue;  // the iterations below are of one cycle
    SCOPED_TRACE(variant.name());
    struct Counts {
      int messages = 0;
      std::size_t fences = 0, allocations = 0;
    };
    const auto solver = create_solver<double, TypeParam>(variant.solver, variant.options);
    const auto run = [&](std::int64_t iterations) {
      const Vector<double, TypeParam> x("x", a.num_rows);
      const CountingReducer<TypeParam> reducer(1);
      space.fence();
      Counts counts;
      const ToolEvents events;
      const auto result = solver->solve(space, op, m.get(), b, x, stop_at(1e-30, iterations), {}, reducer);
      EXPECT_EQ(result.iterations, iterations);
      EXPECT_GE(result.matrix_products, iterations);
      counts = {reducer.calls, events.fences().size(), events.allocations().size()};
      for (const auto& label : events.kernels())
        EXPECT_THAT(label, AnyOf(StartsWith("prekond::"), StartsWith("Kokkos::")));
      for (const auto& label : events.allocations())
        EXPECT_THAT(label, AnyOf(StartsWith("prekond::"), StartsWith("Kokkos::")));
      return counts;
    };
    const Counts few = run(10), many = run(20);
    EXPECT_EQ(many.messages - few.messages, messages_of_ten(variant));
    EXPECT_LE(many.fences - few.fences, 10u);
    EXPECT_EQ(many.allocations, few.allocations);
    EXPECT_GT(few.allocations, 0u) << "nothing was recorded";
  }
}

TYPED_TEST(SolversTest, SameBitsTwice) {
  const HostMatrix<double> a = problem("convection_diffusion3d:12");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto m = preconditioner_of<TypeParam>("nonsymmetric_fsai", a);
  for (const Variant& variant : general_variants()) {
    const auto first =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8));
    const auto second =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8));
    EXPECT_TRUE(first.result.converged);
    EXPECT_EQ(first.x, second.x) << variant.name();
    EXPECT_EQ(first.history, second.history) << variant.name();
  }
}

TYPED_TEST(SolversTest, SinglePrecision) {
  const std::int64_t n = 333;
  const StencilOperator<float, TypeParam> a(n, 2.2f);
  const auto b_double = random_vector(n);
  const std::vector<float> b(b_double.begin(), b_double.end());
  const Scale<float, TypeParam> m(n, 0.4f);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto solved = solve_with<float, TypeParam>(variant, a, &m, b, stop_at(1e-5));
    EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
    EXPECT_LE(solved.result.true_relative_residual, 1e-4);
    const auto too_much = solve_with<float, TypeParam>(variant, a, &m, b, stop_at(1e-14, 3000));
    EXPECT_FALSE(too_much.result.converged);
    for (float value : too_much.x) ASSERT_TRUE(std::isfinite(value));
  }
}

TYPED_TEST(SolversTest, SizesThatDoNotFitAreRefused) {
  const TypeParam space;
  const auto op = operator_of<TypeParam>(problem("poisson2d:3"));
  const MultiVector<double, TypeParam> two("two", 9, 2), three("three", 9, 3);
  const Vector<double, TypeParam> nine("nine", 9), eight("eight", 8);
  for (const auto& line : solver_registry<double, TypeParam>()) {
    const auto solver = create_solver<double, TypeParam>(line.name);
    EXPECT_EQ(solver->name(), line.name);
    EXPECT_THAT(message_of<InputError>([&] { solver->solve(space, op, nullptr, eight, nine, {}); }),
                HasSubstr(line.name + ": A has 9 rows, b 8 entries, x 9"));
    EXPECT_THAT(message_of<InputError>([&] { solver->solve(space, op, nullptr, two, three, {}); }),
                HasSubstr(line.name + ": B has 2 columns, X 3"));
    const MultiVector<double, TypeParam> none("none", 9, 0);
    EXPECT_TRUE(solver->solve(space, op, nullptr, none, none, {}).empty());
  }
}

TYPED_TEST(SolversTest, StoppingOptionsOutOfTheirRangesAreRefused) {
  const HostMatrix<double> a = problem("tridiagonal:5");
  const auto refused = [&](const Variant& variant, double rtol, double atol, std::int64_t max_iters) {
    return message_of<OptionError>([&] {
      solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, random_vector(5),
                                    StoppingOptions{rtol, atol, max_iters});
    });
  };
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    EXPECT_THAT(refused(variant, -1e-6, 0, 10), AllOf(StartsWith(variant.solver), HasSubstr("rtol")));
    EXPECT_THAT(refused(variant, std::nan(""), 0, 10), HasSubstr("rtol"));
    EXPECT_THAT(refused(variant, 1e-6, -1, 10), HasSubstr("atol"));
    EXPECT_THAT(refused(variant, 1e-6, 0, -1), HasSubstr("max_iters"));
  }
}

TEST(SolversOnRealMatrices, EndWithTheSolutionOrANamedReason) {
  using Space = Kokkos::DefaultExecutionSpace;
  const Space space;
  int solves = 0, solved = 0;
  for (const auto& file : matrices_named(
           {"general/convection_diffusion2d.mtx", "general/convection.mtx", "general/circuit.mtx",
            "general/skewed_rows.mtx", "general/zero_diagonal.mtx", "general/dense.mtx", "general/links.mtx",
            "symmetric/saddle_point.mtx"},
           {"general/sherman3.mtx.gz", "general/sherman4.mtx.gz", "general/olm100.mtx",
            "general/cage8.mtx.gz", "general/orsirr_1.mtx.gz", "general/pde900.mtx.gz", "general/young3c.mtx",
            "general/west0067.mtx", "general/arc130.mtx", "general/steam1.mtx", "general/tols340.mtx",
            "general/impcol_a.mtx", "general/circuit204.mtx.gz", "general/add32.mtx.gz",
            "general/rajat05.mtx", "general/bfwa62.mtx"})) {
    HostMatrix<double> a;
    try {
      a = to_host(read_matrix_market<double>(file.string()));
    } catch (const InputError&) {
      continue;  // complex
    }
    if (a.num_rows != a.num_cols) continue;
    const std::vector<double> b = multiply(a, std::vector<double>(a.num_rows, 1.0));
    const auto m = preconditioner_of<Space>("nonsymmetric_fsai", a);
    for (const Variant& variant : general_variants()) {
      SCOPED_TRACE(file.filename().string() + ", " + variant.name());
      const auto result =
          solve_with<double, Space>(variant, operator_of<Space>(a), m.get(), b, stop_at(1e-6, 400));
      ++solves;
      const double truth = residual_norm(a, b, result.x) / norm(b);
      if (result.result.converged) {
        ++solved;
        EXPECT_LE(truth, 1.0001e-6);
      } else if (result.result.reason != StopReason::nan &&
                 result.result.reason != StopReason::out_of_range) {
        EXPECT_TRUE(all_finite(result.x)) << to_string(result.result.reason);
      }
    }
  }
  EXPECT_GE(solves, 100);
  EXPECT_GE(solved, solves / 2);
}

TEST(SolverRegistry, HasTheNamesOfTheCommand) {
  std::vector<std::string> names;
  for (const auto& line : solver_registry<double, Kokkos::DefaultExecutionSpace>()) {
    names.push_back(line.name);
    EXPECT_EQ(line.properties.needs_spd, line.name == "cg");
    EXPECT_FALSE(line.summary.empty() || line.paper.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cg", "bicgstab", "gmres", "fgmres", "idr", "richardson"}));
}

}  // namespace
}  // namespace prekond::testing
