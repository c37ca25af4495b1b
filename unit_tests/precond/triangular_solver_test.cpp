// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/one_thread.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/solve_row.hpp"
#include "testing/one_thread.hpp"
#include "testing/triangular_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <limits>

#include "precond/triangular/solve.hpp"

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TriangularMethod exact_methods[] = {TriangularMethod::automatic, TriangularMethod::levels,
                                              TriangularMethod::sync_free};
constexpr std::pair<Storage, double> storages[] = {{Storage::full, 1e-14},
                                                   {Storage::single_precision, 5e-7},
                                                   {Storage::half, 5e-3},
                                                   {Storage::bfloat16, 4e-2}};

template <class Space>
class TriangularSolverTest : public ::testing::Test {};
TYPED_TEST_SUITE(TriangularSolverTest, TestSpaces, SpaceNames);

/// Without scales one vector, with them three.
template <class Scalar, class Space>
void check_exact(const Case& test, Triangle which, const TriangularOptions& options, double tolerance) {
  SCOPED_TRACE(test.name + (which == Triangle::lower ? ", lower, " : ", upper, ") + word_of(options.method) +
               ", storage " + std::to_string(int(options.storage)));
  const auto n = convert<Scalar>(strict_triangle(test.matrix, which));
  Solver<Scalar, Space> solve(n, which, options);
  EXPECT_EQ(solve.report.breakdowns.count, 0);
  const auto b = right_sides<Scalar>(n.num_rows, 3);
  expect_solution(n, which, {}, b[0], solve(b[0]), tolerance);
  const auto s = scales_of<Scalar>(n.num_rows);
  solve.numeric(n, s);
  const auto y = solve(b);
  for (int v = 0; v < 3; ++v) {
    expect_solution(n, which, s, b[v], y[v], tolerance);
    if (is_host_space<Space>) {
      EXPECT_EQ(solve(b[v]), y[v]);
    }
  }
}

std::vector<Case> triangular_cases() {
  std::vector<Case> cases;
  for (const Case& test : awkward_patterns<double>())
    if (test.matrix.num_cols >= test.matrix.num_rows) cases.push_back(test);
  for (const int n : {2, 31, 32, 33, 257})
    cases.push_back({"random:" + std::to_string(n), random_general(n, 0.1, n)});
  for (const char* spec : {"poisson3d:17", "elasticity3d:6", "circuit:24"})
    cases.push_back({spec, generated(spec)});
  cases.push_back({"a rank's part", with_columns_of_other_ranks(generated("poisson3d:6"))});
  return cases;
}

TYPED_TEST(TriangularSolverTest, ExactMethodsEqualSubstitution) {
  for (const Case& test : triangular_cases())
    for (const Triangle which : triangles)
      for (const TriangularMethod method : exact_methods) {
        check_exact<double, TypeParam>(test, which, with(method), 1e-14);
        check_exact<float, TypeParam>(test, which, with(method), 5e-6);
      }
}

TYPED_TEST(TriangularSolverTest, StorageRoundsTheFactor) {
  for (const Case& test : triangular_cases())
    for (const TriangularMethod method : exact_methods)
      for (const auto& [storage, tolerance] : storages) {
        check_exact<double, TypeParam>(test, Triangle::lower, with(method, storage), tolerance);
        check_exact<float, TypeParam>(test, Triangle::upper, with(method, storage),
                                      std::max(5e-6, tolerance));
      }
  // It is stored in less, and what does not fit is counted.
  auto n = strict_triangle(generated("poisson2d:30"), Triangle::lower);
  const auto bytes = [&](TriangularMethod method, Storage storage) {
    return Solver<double, TypeParam>(n, Triangle::lower, with(method, storage)).solver.bytes();
  };
  for (const auto method : {TriangularMethod::levels, TriangularMethod::sync_free})
    EXPECT_EQ(bytes(method, Storage::full) - bytes(method, Storage::half),
              static_cast<std::int64_t>(6 * n.nnz()));
  n.values[5] = 1e9;
  n.values[7] = -1e-12;
  for (const auto method : {TriangularMethod::levels, TriangularMethod::sync_free}) {
    const Solver<double, TypeParam> solve(n, Triangle::lower, with(method, Storage::half));
    EXPECT_THAT(solve.report.notes,
                Contains(HasSubstr("1 entries beyond the range of the storage were cut")));
    EXPECT_THAT(solve.report.notes, Contains(HasSubstr("1 entries below the range of the storage became 0")));
  }
}

TYPED_TEST(TriangularSolverTest, ByLevelsThatAreGiven) {
  const HostMatrix<double> a = generated("poisson2d:19");
  const HostMatrix<double> lower = strict_triangle(a, Triangle::lower),
                           upper = strict_triangle(a, Triangle::upper);
  const TypeParam space;
  const auto levels = level_schedule<TypeParam>(space, graph_of<TypeParam>(lower), Triangle::lower);
  for (const TriangularMethod method : {TriangularMethod::levels, TriangularMethod::sync_free}) {
    TriangularOptions options;
    options.method = method;
    for (const Triangle which : {Triangle::lower, Triangle::upper}) {
      const HostMatrix<double>& n = which == Triangle::lower ? lower : upper;
      Solver<double, TypeParam> own(n, which, options), given(n, which, options);
      given.solver.symbolic(space, graph_of<TypeParam>(n),
                            which == Triangle::lower ? levels : reversed_levels<TypeParam>(space, levels));
      given.numeric(n);
      EXPECT_EQ(given.solver.num_levels(), levels.num_levels());
      EXPECT_EQ(given(waves_of(n.num_rows, 1)), own(waves_of(n.num_rows, 1)));
    }
  }
  TriangularSolver<double, TypeParam> solver("test", Triangle::lower);
  EXPECT_THAT(
      message_of<InputError>([&] {
        solver.symbolic(space, graph_of<TypeParam>(HostMatrix<double>{2, 2, {0, 0, 1}, {0}, {1}}), levels);
      }),
      ::testing::HasSubstr("the levels are of 361 rows, the triangle has 2"));
}

TYPED_TEST(TriangularSolverTest, NumericAgain) {
  for (const auto& [word, method] : triangular_methods()) {
    SCOPED_TRACE(word);
    auto n = strict_triangle(generated("convection_diffusion3d:6"), Triangle::upper);
    const auto first = n;
    const auto b = waves_of(n.num_rows);
    TriangularOptions options = with(method);
    options.sweeps = 100;
    options.isai_power = 20;
    Solver<double, TypeParam> solve(n, Triangle::upper, options);
    const auto before = solve(b);
    expect_solution(n, Triangle::upper, {}, b, before, 1e-14);
    const auto s = scales_of<double>(n.num_rows);
    for (std::size_t k = 0; k < n.nnz(); ++k) n.values[k] *= std::cos(double(k));
    solve.numeric(n, s);
    expect_solution(n, Triangle::upper, s, b, solve(b), 1e-14);
    EXPECT_NE(solve(b), before);
    solve.numeric(first);
    EXPECT_EQ(solve(b), before);
  }
}

TYPED_TEST(TriangularSolverTest, TheSameBitsOfAnyNumberOfThreads) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a device's threads are what they are";
  const auto n = strict_triangle(generated("circuit:40"), Triangle::lower);
  const auto b = right_sides<double>(n.num_rows, 2);
  const auto s = scales_of<double>(n.num_rows);
  for (const auto& [word, method] : triangular_methods())
    for (const Storage storage : {Storage::full, Storage::half}) {
      const Solver<double, TypeParam> all(n, Triangle::lower, with(method, storage), s);
      const Solver<double, TypeParam> one(n, Triangle::lower, with(method, storage), s,
                                          of_one_thread<TypeParam>());
      EXPECT_EQ(all(b), one(b)) << word;
    }
}

/// y = (I + N)^-1 S x by one thread in the rows' order, or by levels.
template <class Space>
std::vector<double> by_levels(const Space& space, const HostMatrix<double>& n, Triangle which, bool in_order,
                              Storage storage) {
  namespace solves = impl::triangular;
  const CsrGraph<Space> graph = graph_of<Space>(n);
  const auto levels = level_schedule<Space>(space, graph, which);
  auto order = solves::make_level_order<Space>(space, graph, levels, which, TriangularMethod::levels,
                                               in_order ? 1 : 3);
  EXPECT_GT(order.threads_in_order, 0);
  if (!in_order) {
    order.threads_in_order = 0;
    order.pattern = std::make_shared<const impl::sweeps::GroupedTriangles<Space>>(
        impl::sweeps::make_level_triangle<Space>(space, graph, levels));
  }
  const solves::Factor<double, Space> factor{
      "test", which, graph, {}, to_device<Space>(n.values), to_device<Space>(scales_of<double>(n.num_rows))};
  std::vector<std::string> notes;
  const auto solve = solves::make_level_solve<double, Space>(
      space, factor, std::make_shared<const solves::LevelOrder<Space>>(order), storage, notes);
  const auto workspace = solve->make_workspace(space, 2);
  const MultiVector<double, Space> x("x", n.num_rows, 2), y("y", n.num_rows, 2);
  const auto b = right_sides<double>(n.num_rows, 2);
  for (int v = 0; v < 2; ++v)
    for (std::int64_t i = 0; i < n.num_rows; ++i) x(i, v) = b[v][i];
  solve->apply(space, x, y, *workspace);
  EXPECT_THROW(solve->apply(space, x, y, *std::make_unique<Workspace>()), std::logic_error);
  space.fence();
  return std::vector<double>(y.data(), y.data() + y.size());
}

// The levels of the last two have work for more than one thread.
TYPED_TEST(TriangularSolverTest, OneThreadInOrderGivesTheBitsOfLevels) {
  if constexpr (is_host_space<TypeParam>) {
    const TypeParam space;
    std::vector<Case> cases = triangular_cases();
    for (const char* spec : {"poisson3d:64", "elasticity3d:24"}) cases.push_back({spec, generated(spec)});
    for (const Case& test : cases)
      for (const Triangle which : triangles)
        for (const Storage storage : {Storage::full, Storage::single_precision}) {
          SCOPED_TRACE(test.name);
          const HostMatrix<double> n = strict_triangle(test.matrix, which);
          const bool is_own =
              std::none_of(n.col_idxs.begin(), n.col_idxs.end(), [&](int col) { return col >= n.num_rows; });
          if (n.num_rows > 0 && is_own) {
            EXPECT_EQ(by_levels(space, n, which, true, storage), by_levels(space, n, which, false, storage));
          }
        }
  }
}

TYPED_TEST(TriangularSolverTest, OnlyTrianglesWithLittleWorkALevelAreInOrder) {
  if constexpr (is_host_space<TypeParam>) {
    const TypeParam space;
    const auto threads = [&](const HostMatrix<double>& n, Triangle which, Triangle levels_of) {
      const CsrGraph<TypeParam> graph = graph_of<TypeParam>(n);
      return impl::triangular::make_level_order<TypeParam>(space, graph,
                                                           level_schedule<TypeParam>(space, graph, levels_of),
                                                           which, TriangularMethod::levels, 1)
          .threads_in_order;
    };
    const auto upper = strict_triangle(generated("poisson2d:9"), Triangle::upper);
    EXPECT_EQ(threads(upper, Triangle::upper, Triangle::upper), std::numeric_limits<int>::max());
    // The rows of a triangle by colours depend on later ones too.
    EXPECT_EQ(threads(upper, Triangle::lower, Triangle::upper), 0);
    EXPECT_EQ(threads(strict_triangle(generated("poisson3d:64"), Triangle::lower), Triangle::lower,
                      Triangle::lower),
              impl::sweeps::SweepTuning::threads_in_order);
    HostMatrix<double> empty{2000000, 2000000, std::vector<std::size_t>(2000001, 0), {}, {}};
    EXPECT_EQ(threads(empty, Triangle::lower, Triangle::lower), 0) << "one level, for all threads";
  }
}

// ------------------------------------------------------------------------------------------------ sync_free

/// Did a row give up?
template <class Space>
bool gave_up(const Solver<double, Space>& solve, const std::vector<double>& x) {
  const auto workspace = solve.solver.make_workspace(solve.space, 1);
  const Vector<double, Space> y("y", x.size());
  solve.solver.apply(solve.space, as_multivector(VectorView<const double, Space>(to_device<Space>(x))),
                     as_multivector(y), *workspace);
  using Own = impl::triangular::SyncFreeWorkspace<double, Space>;
  const auto progress =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), static_cast<const Own&>(*workspace).progress);
  return progress(0).gave_up != 0;
}

TYPED_TEST(TriangularSolverTest, LaunchesOfLittleWorkAreLeftToTheCallingThread) {
  using namespace impl;
  constexpr int most = int(sweeps::SweepTuning::narrow_on_host), rows = 1000;
  sweeps::GroupedTriangles<TypeParam> pattern;
  pattern.permutation = Vector<int, TypeParam>("permutation", rows);
  pattern.lower.col_idxs = Vector<int, TypeParam>("lower", most - rows);
  EXPECT_EQ(sweeps::is_narrow(pattern, 1), is_host_space<TypeParam>);
  pattern.upper.col_idxs = Vector<int, TypeParam>("upper", 1);
  EXPECT_FALSE(sweeps::is_narrow(pattern, 1));
  EXPECT_EQ(sweeps::is_narrow(pattern, 2), is_host_space<TypeParam>);
  const TypeParam space;
  const int expected = std::string(space.name()) == "OpenMP" ? 1 : concurrency(space);
  EXPECT_EQ(concurrency(by_calling_thread(space)), expected);
}

TYPED_TEST(TriangularSolverTest, OneTeamSolvesWhatOthersGaveUp) {
  for (const Case& test : triangular_cases())
    for (const Triangle which : triangles) {
      SCOPED_TRACE(test.name);
      const auto n = strict_triangle(test.matrix, which);
      if (n.num_rows == 0) continue;
      const auto b = right_sides<double>(n.num_rows, 2);
      const auto s = scales_of<double>(n.num_rows);
      TriangularOptions options = with(TriangularMethod::sync_free);
      const Solver<double, TypeParam> patient(n, which, options, s);
      EXPECT_FALSE(gave_up(patient, b[0]));
      options.max_polls = 0;
      const Solver<double, TypeParam> impatient(n, which, options, s);
      EXPECT_EQ(gave_up(impatient, b[0]), impatient.solver.num_levels() > 1);
      EXPECT_EQ(impatient(b), patient(b));
      for (int v = 0; v < 2; ++v) expect_solution(n, which, s, b[v], impatient(b)[v], 1e-14);
    }
}

TYPED_TEST(TriangularSolverTest, NanInTheRightHandSideIsPropagated) {
  const auto n = strict_triangle(generated("poisson2d:12"), Triangle::lower);
  const auto b = waves_of(n.num_rows);
  const Solver<double, TypeParam> solve(n, Triangle::lower, with(TriangularMethod::sync_free));
  const auto expected = solve(b);
  for (const std::uint64_t bits : {~std::uint64_t(0), std::uint64_t(0x7ff8000000000000)}) {
    auto x = b;
    x[77] = Kokkos::bit_cast<double>(bits);
    EXPECT_FALSE(gave_up(solve, x)) << "nobody waits for it";
    const auto y = solve(x);
    for (int i = 0; i < 144; ++i) {
      const bool depends = i / 12 >= 77 / 12 && i % 12 >= 77 % 12;
      EXPECT_EQ(std::isnan(y[i]), depends) << i;
      if (!depends) {
        EXPECT_EQ(y[i], expected[i]);
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------ jacobi,
// isai

TYPED_TEST(TriangularSolverTest, SweepsAreThoseOfJacobi) {
  for (const Case& test : triangular_cases())
    for (const Triangle which : triangles)
      for (const int sweeps : {0, 1, 2, 5}) {
        SCOPED_TRACE(test.name + ", " + std::to_string(sweeps) + " sweeps");
        const auto n = strict_triangle(test.matrix, which);
        const auto s = scales_of<double>(n.num_rows);
        const auto b = right_sides<double>(n.num_rows, 2);
        TriangularOptions options = with(TriangularMethod::jacobi);
        options.sweeps = sweeps;
        const Solver<double, TypeParam> plain(n, which, options), scaled(n, which, options, s);
        if (n.num_rows > 0) {
          EXPECT_EQ(plain.solver.method(), TriangularMethod::jacobi);
          EXPECT_EQ(plain.solver.num_levels(), 0);
        }
        const auto expected = [&](const std::vector<double>& x, bool scales) {
          std::vector<long double> source(x.begin(), x.end());
          for (std::size_t i = 0; i < x.size(); ++i) source[i] *= scales ? s[i] : 1;
          std::vector<long double> y = source;
          for (int k = 0; k < sweeps; ++k) {
            const auto from = y;
            for (std::int64_t i = 0; i < n.num_rows; ++i) {
              y[i] = source[i];
              for (std::size_t e = n.row_ptrs[i]; e < n.row_ptrs[i + 1]; ++e)
                if (n.col_idxs[e] < n.num_rows) y[i] -= n.values[e] * from[n.col_idxs[e]];
            }
          }
          return y;
        };
        for (int v = 0; v < 2; ++v) {
          EXPECT_LE(relative_difference(plain(b)[v], expected(b[v], false)), 1e-14);
          EXPECT_LE(relative_difference(scaled(b)[v], expected(b[v], true)), 1e-14);
        }
      }
}

TYPED_TEST(TriangularSolverTest, AsManySweepsAsLevelsAreExact) {
  for (const char* spec : {"poisson3d:7", "elasticity3d:4", "convection_diffusion3d:6,peclet=1000"})
    for (const Triangle which : triangles) {
      const auto n = strict_triangle(generated(spec), which);
      const auto b = waves_of(n.num_rows);
      const int levels =
          Solver<double, TypeParam>(n, which, with(TriangularMethod::levels)).solver.num_levels();
      TriangularOptions options = with(TriangularMethod::jacobi);
      options.sweeps = levels - 1;
      const Solver<double, TypeParam> solve(n, which, options);
      EXPECT_EQ(solve.solver.method(), TriangularMethod::jacobi);
      expect_solution(n, which, {}, b, solve(b), 1e-14);
    }
}

TYPED_TEST(TriangularSolverTest, DivergingSweepsGiveWayToAnExactSolve) {
  auto n = strict_triangle(generated("poisson2d:20"), Triangle::lower, 4);
  const auto b = waves_of(n.num_rows);
  TriangularOptions options = with(TriangularMethod::jacobi);
  options.sweeps = 6;
  Solver<double, TypeParam> solve(n, Triangle::lower, options);
  const auto exact = is_host_space<TypeParam> ? TriangularMethod::levels : TriangularMethod::sync_free;
  EXPECT_EQ(solve.solver.method(), exact);
  EXPECT_THAT(solve.report.notes, Contains(HasSubstr("jacobi was refused: its last sweep changed")));
  expect_solution(n, Triangle::lower, {}, b, solve(b), 1e-14);
  // Where the values are better, it sweeps.
  const auto tame = strict_triangle(n, Triangle::lower, 0.5);
  solve.numeric(tame);
  EXPECT_EQ(solve.solver.method(), TriangularMethod::jacobi);
  EXPECT_THAT(solve.report.notes, Not(Contains(HasSubstr("refused"))));
  // The size does not show that a value is not finite.
  for (double& value : n.values) value *= 1e200;
  solve.numeric(n);
  EXPECT_EQ(solve.solver.method(), exact);
}

TYPED_TEST(TriangularSolverTest, MethodIsaiEqualsIsai) {
  const TypeParam space;
  for (const int power : {1, 3})
    for (const Triangle which : triangles) {
      const auto n = strict_triangle(generated("elasticity3d:4"), which);
      const auto b = right_sides<double>(n.num_rows, 2);
      const auto s = scales_of<double>(n.num_rows);
      TriangularOptions options = with(TriangularMethod::isai);
      options.isai_power = power;
      IsaiOptions same;
      same.kind = which == Triangle::lower ? IsaiKind::lower : IsaiKind::upper;
      same.unit_diagonal = true;
      same.power = power;
      same.storage_format = MatrixFormat::automatic;
      Isai<double, TypeParam> isai(same);
      isai.numeric(space, to_device<TypeParam>(n));
      const Solver<double, TypeParam> plain(n, which, options), scaled(n, which, options, s);
      EXPECT_EQ(plain(b), (applied_to<double, TypeParam>(isai, b)));
      auto sb = b;
      for (auto& column : sb)
        for (std::size_t i = 0; i < s.size(); ++i) column[i] *= s[i];
      EXPECT_EQ(scaled(b), (applied_to<double, TypeParam>(isai, sb)));
      EXPECT_EQ(plain.solver.flops(), isai.report().apply_flops);
    }
}

// host

TYPED_TEST(TriangularSolverTest, HostSolvesAreThoseOfTheHost) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  const TypeParam space;
  for (const Triangle which : triangles)
    for (const Storage storage : {Storage::full, Storage::half}) {
      const auto n = strict_triangle(generated("elasticity3d:4"), which);
      const auto s = scales_of<double>(n.num_rows);
      const auto b = right_sides<double>(n.num_rows, 3);
      TriangularOptions levels = with(TriangularMethod::levels), host = with(TriangularMethod::host);
      levels.storage = host.storage = storage;
      const auto expected = Solver<double, Host>(n, which, levels, s)(b);
      const Solver<double, TypeParam> solver(n, which, host, s);
      EXPECT_EQ(solver(b), expected);
      // On a host the solver itself does without the copies.
      const bool on_host = std::is_same_v<TypeParam, Host>;
      EXPECT_EQ(solver.solver.method(), on_host ? TriangularMethod::levels : TriangularMethod::host);
      Report report;
      const auto solve = impl::triangular::make_host_solve<double, TypeParam>(space,
                                                                              {"test",
                                                                               which,
                                                                               graph_of<TypeParam>(n),
                                                                               {},
                                                                               to_device<TypeParam>(n.values),
                                                                               to_device<TypeParam>(s)},
                                                                              storage, report);
      EXPECT_FALSE(report.notes.empty());
      EXPECT_GT(solve->bytes(), static_cast<std::int64_t>(n.nnz() * sizeof(int)));
      // A column of each is a part of a longer one.
      const std::int64_t rows = n.num_rows;
      const Vector<double, TypeParam> from("from", 3 * (rows + 5)), to("to", 3 * (rows + 7));
      auto host_from = Kokkos::create_mirror_view(from);
      for (int v = 0; v < 3; ++v)
        for (std::int64_t i = 0; i < rows; ++i) host_from(v * (rows + 5) + i) = b[v][i];
      Kokkos::deep_copy(from, host_from);
      const Kokkos::View<double**, Kokkos::LayoutLeft, typename TypeParam::memory_space> all_from(
          from.data(), rows + 5, 3),
          all_to(to.data(), rows + 7, 3);
      const auto workspace = solve->make_workspace(space, 4);
      const std::pair<std::int64_t, std::int64_t> part(0, rows);
      solve->apply(space, Kokkos::subview(all_from, part, Kokkos::ALL),
                   Kokkos::subview(all_to, part, Kokkos::ALL), *workspace);
      space.fence();
      for (int v = 0; v < 3; ++v) {
        const auto column = to_vector(Kokkos::subview(all_to, part, v));
        EXPECT_EQ(column, expected[v]);
      }
      const auto small = solve->make_workspace(space, 2);
      EXPECT_THROW(solve->apply(space, Kokkos::subview(all_from, part, Kokkos::ALL),
                                Kokkos::subview(all_to, part, Kokkos::ALL), *small),
                   std::logic_error);
    }
}

// ------------------------------------------------------------------------------------------------ the frame

TYPED_TEST(TriangularSolverTest, NonfiniteEntriesAreLeftOutAndCounted) {
  for (const auto& [word, method] : triangular_methods()) {
    SCOPED_TRACE(word);
    auto n = strict_triangle(generated("poisson2d:9"), Triangle::lower);
    auto s = scales_of<double>(n.num_rows);
    const auto b = waves_of(n.num_rows);
    const auto row = [&](int i) { return n.row_ptrs[i]; };
    n.values[row(14)] = std::nan("");
    n.values[row(40)] = n.values[row(40) + 1] = std::numeric_limits<double>::infinity();
    s[14] = std::nan("");
    s[11] = -std::numeric_limits<double>::infinity();
    TriangularOptions options = with(method);
    options.sweeps = 30;
    options.isai_power = 30;
    const Solver<double, TypeParam> solve(n, Triangle::lower, options, s);
    EXPECT_EQ(solve.report.breakdowns.count, 3);
    EXPECT_EQ(solve.report.breakdowns.first_row, 11);
    EXPECT_THAT(solve.report.breakdowns.action,
                AllOf(HasSubstr("1 rows of the factor lost entries that are not finite"),
                      HasSubstr("2 have 1 for a scale that is not")));
    n.values[row(14)] = n.values[row(40)] = n.values[row(40) + 1] = 0;
    s[14] = s[11] = 1;
    expect_solution(n, Triangle::lower, s, b, solve(b), 1e-14);
  }
}

TYPED_TEST(TriangularSolverTest, BreakdownsAreAddedToThoseBefore) {
  const TypeParam space;
  auto n = strict_triangle(generated("poisson2d:9"), Triangle::lower);
  n.values[n.row_ptrs[14]] = std::nan("");
  TriangularSolver<double, TypeParam> solver("test", Triangle::lower);
  solver.symbolic(space, graph_of<TypeParam>(n));
  for (const int first : {3, 40}) {
    Report report;
    report.breakdowns = {2, first, 0.5, "before"};
    solver.numeric(space, to_device<TypeParam>(n.values), {}, report);
    EXPECT_EQ(report.breakdowns.count, 3);
    EXPECT_EQ(report.breakdowns.first_row, std::min(first, 14));
    EXPECT_EQ(report.breakdowns.first_pivot, first == 3 ? 0.5 : 1.0);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("before; test, lower solve: 1 rows of the factor lost"));
  }
}

TYPED_TEST(TriangularSolverTest, ColumnsOfOtherRanksAreSkipped) {
  auto n = strict_triangle(with_columns_of_other_ranks(generated("poisson2d:9")), Triangle::lower);
  const auto b = waves_of(n.num_rows);
  for (std::size_t k = 0; k < n.nnz(); ++k)
    if (n.col_idxs[k] >= n.num_rows) n.values[k] = std::nan("");
  for (const auto& [word, method] : triangular_methods()) {
    TriangularOptions options = with(method);
    options.sweeps = options.isai_power = 20;
    const Solver<double, TypeParam> solve(n, Triangle::lower, options);
    EXPECT_EQ(solve.report.breakdowns.count, 0) << word;
    expect_solution(n, Triangle::lower, {}, b, solve(b), 1e-14);
  }
}

TYPED_TEST(TriangularSolverTest, DescriptionNamesTheMethod) {
  const auto n = strict_triangle(generated("poisson2d:10"), Triangle::upper);
  const auto described = [&](TriangularMethod method) {
    const Solver<double, TypeParam> solve(n, Triangle::upper, with(method));
    EXPECT_THAT(solve.report.notes, Contains(solve.solver.description()));
    EXPECT_GT(solve.solver.bytes(), 0);
    return solve.solver.description();
  };
  EXPECT_EQ(described(TriangularMethod::levels),
            "test, upper solve: levels, 19 levels of 5 rows in the mean");
  EXPECT_EQ(described(TriangularMethod::sync_free),
            "test, upper solve: sync_free, 19 levels of 5 rows in the mean");
  EXPECT_EQ(described(TriangularMethod::jacobi), "test, upper solve: jacobi, 3 sweeps");
  EXPECT_EQ(described(TriangularMethod::isai), "test, upper solve: isai, power 1");
  EXPECT_THAT(described(TriangularMethod::automatic),
              HasSubstr(is_host_space<TypeParam> ? ": levels, 19 levels of 5 rows in the mean; by auto"
                                                 : ": sync_free, 19 levels of 5 rows in the mean; by auto"));
  const Solver<double, TypeParam> levels(n, Triangle::upper, with(TriangularMethod::levels));
  EXPECT_EQ(levels.solver.flops(), 2.0 * n.nnz() + 2.0 * n.num_rows);
  TriangularOptions options;
  OptionFields::of(options).set({{"method", "sync_free"}, {"sweeps", 7}, {"storage", "half"}}, "test");
  EXPECT_EQ(options.method, TriangularMethod::sync_free);
  EXPECT_EQ(options.sweeps, 7);
  EXPECT_EQ(options.storage, Storage::half);
}

TYPED_TEST(TriangularSolverTest, ADeviceTellsOfManyLevels) {
  for (const int size : {10000, 9999}) {  // a row a level
    const auto n = strict_triangle(generated("tridiagonal:" + std::to_string(size)), Triangle::lower);
    const Solver<double, TypeParam> solve(n, Triangle::lower, with(TriangularMethod::automatic));
    EXPECT_EQ(solve.solver.description().find("--order auto") != std::string::npos,
              !is_host_space<TypeParam> && size == 10000);
  }
}

TYPED_TEST(TriangularSolverTest, MatricesWithoutRows) {
  for (const auto& [word, method] : triangular_methods()) {
    const HostMatrix<double> empty;
    const Solver<double, TypeParam> solve(empty, Triangle::lower, with(method));
    EXPECT_EQ(solve(std::vector<double>()), std::vector<double>()) << word;
    EXPECT_EQ(solve.solver.bytes(), 0);
  }
}

TYPED_TEST(TriangularSolverTest, ApplyAllocatesNothingAndDoesNotFence) {
  const auto n = strict_triangle(generated("poisson3d:12"), Triangle::lower);
  const Vector<double, TypeParam> x("x", n.num_rows), y("y", n.num_rows);
  for (const auto& [word, method] : triangular_methods())
    for (const bool scales : {false, true}) {
      const Solver<double, TypeParam> solve(n, Triangle::lower, with(method),
                                            scales ? scales_of<double>(n.num_rows) : std::vector<double>());
      const auto workspace = solve.solver.make_workspace(solve.space, 1);
      const auto apply = [&] {
        solve.solver.apply(solve.space, as_multivector(VectorView<const double, TypeParam>(x)),
                           as_multivector(y), *workspace);
      };
      apply();
      const ToolEvents events;
      apply();
      EXPECT_THAT(events.allocations(), IsEmpty()) << word;
      // A system that the host solves goes there and back between two.
      const bool goes_to_host = solve.solver.method() == TriangularMethod::host;
      EXPECT_THAT(events.fences(), ::testing::SizeIs(goes_to_host ? 2 : 0)) << word;
      for (const auto& label : events.kernels()) EXPECT_THAT(label, ::testing::StartsWith("prekond::"));
    }
}

TYPED_TEST(TriangularSolverTest, InvalidOptionsAndSizesAreRefused) {
  const TypeParam space;
  using Solve = TriangularSolver<double, TypeParam>;
  TriangularOptions options;
  options.sweeps = -1;
  EXPECT_THAT(message_of<OptionError>([&] { Solve("test", Triangle::lower, options); }), HasSubstr("sweeps"));
  const auto n = strict_triangle(generated("poisson2d:5"), Triangle::lower);
  const auto graph = graph_of<TypeParam>(n);
  Solve solve("ilu0", Triangle::upper);
  Report report;
  const auto values = to_device<TypeParam>(n.values);
  const auto vector = [](std::size_t size) { return Vector<double, TypeParam>("vector", size); };
  EXPECT_THAT(message_of<std::logic_error>([&] { solve.numeric(space, values, {}, report); }),
              HasSubstr("ilu0, upper solve: numeric before symbolic"));
  EXPECT_THAT(message_of<InputError>([&] {
                solve.symbolic(space, CsrGraph<TypeParam>{25, 24, graph.row_ptrs, graph.col_idxs});
              }),
              HasSubstr("25 x 24"));
  for (const auto& [word, method] : triangular_methods()) {
    Solve lower("ilu0", Triangle::lower, with(method));
    lower.symbolic(space, graph);
    EXPECT_THAT(message_of<InputError>([&] { lower.numeric(space, vector(3), {}, report); }),
                HasSubstr("3 values for 40 entries"));
    EXPECT_THAT(message_of<InputError>([&] { lower.numeric(space, values, vector(24), report); }),
                HasSubstr("24 scales for 25 rows"));
    EXPECT_THAT(message_of<std::logic_error>([&] { lower.make_workspace(space, 1); }),
                HasSubstr("before numeric"));
    lower.numeric(space, values, vector(25), report);
    const MultiVector<double, TypeParam> x("x", 25, 2), y("y", 25, 2);
    const auto workspace = lower.make_workspace(space, 1);
    EXPECT_THAT(message_of<std::logic_error>([&] { lower.apply(space, x, y, *workspace); }),
                HasSubstr("workspace was made for fewer vectors"))
        << word;
    EXPECT_THAT(
        message_of<InputError>([&] { lower.apply(space, x, as_multivector(vector(25)), *workspace); }),
        HasSubstr("x is 25 x 2 and y 25 x 1"));
  }
}

}  // namespace
}  // namespace prekond::testing
