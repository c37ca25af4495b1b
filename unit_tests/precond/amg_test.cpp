// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/amg_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/amg.hpp>

#include <cmath>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using namespace impl::amg;

template <class Space>
class AmgTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgTest, TestSpaces, SpaceNames);

template <class Space>
std::unique_ptr<MatrixPreconditioner<double, Space>> amg(const OptionMap& options = {}) {
  return create_preconditioner<double, Space>("amg", options);
}
OptionMap with(OptionMap options, const OptionMap& more) {
  for (const auto& [key, value] : more) options[key] = value;
  return options;
}

const OptionMap small = {{"coarse_size", OptionValue(std::int64_t(10))}};
const OptionMap three = {{"unknowns_per_node", OptionValue(std::int64_t(3))}};

TYPED_TEST(AmgTest, SymmetryIsThatOfTheProperties) {
  const HostMatrix<double> a = problem("elasticity3d:5");
  const auto x = random_vector(a.num_rows, 1), y = random_vector(a.num_rows, 2);
  for (const OptionMap& options :
       {OptionMap{}, OptionMap{{"cycle", std::string("w")}}, OptionMap{{"smoother", std::string("fsai")}},
        OptionMap{{"smoother", std::string("multicolor_gs")}}, OptionMap{{"pre_sweeps", std::int64_t(2)}},
        OptionMap{{"smoother", std::string("jacobi")}, {"smoother.type", std::string("l1")}}}) {
    const auto m = amg<TypeParam>(with(with(small, three), options));
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    const auto of_x = applied_to<TypeParam>(*m, x), of_y = applied_to<TypeParam>(*m, y);
    double one = 0, other = 0, definite = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      one += x[i] * of_y[i];
      other += of_x[i] * y[i];
      definite += of_x[i] * x[i];
    }
    EXPECT_GT(definite, 0);
    if (m->is_symmetric())
      EXPECT_NEAR(one, other, 1e-12 * definite);
    else
      EXPECT_GT(std::abs(one - other), 1e-6 * definite);
    EXPECT_EQ(m->is_symmetric(), options.count("pre_sweeps") == 0 &&
                                     (options.count("smoother") == 0 ||
                                      options.at("smoother") != OptionValue(std::string("multicolor_gs"))));
  }
}

// ------------------------------------------------------------------------------------------- what it is for

/// Iterations of CG, or of FGMRES where M is not symmetric.
template <class Space>
std::int64_t iterations_with(const MatrixPreconditioner<double, Space>& m, const HostMatrix<double>& a) {
  const auto solved =
      solve_with<double, Space>({m.is_nonsymmetric() ? "fgmres" : "cg", {}}, operator_of<Space>(a), &m,
                                multiply(a, std::vector<double>(a.num_rows, 1.0)), stop_at(1e-8, 300));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  return solved.result.iterations;
}
template <class Space>
std::int64_t iterations(const std::string& spec, const OptionMap& options = {}) {
  const HostMatrix<double> a = problem(spec);
  const auto m = amg<Space>(options);
  m->numeric(Space(), to_device<Space>(a));
  return iterations_with<Space>(*m, a);
}

TYPED_TEST(AmgTest, IterationsHardlyGrowWithTheProblem) {
  const auto few = iterations<TypeParam>("poisson2d:25"), many = iterations<TypeParam>("poisson2d:100");
  EXPECT_LE(few, 15);
  EXPECT_LE(many, 1.5 * few);
  EXPECT_LE(iterations<TypeParam>("poisson3d:24"), 15);
  EXPECT_LE(iterations<TypeParam>("anisotropic2d:60,epsilon=0.001"), 40);
}

TYPED_TEST(AmgTest, EveryPreconditionerIsASmoother) {
  for (const char* name : {"jacobi", "fsai", "adaptive_fsai", "chebyshev", "multicolor_ssor", "isai", "spai",
                           "block_jacobi", "ic0", "ls_polynomial"}) {
    SCOPED_TRACE(name);
    EXPECT_LE(iterations<TypeParam>("poisson2d:40", {{"smoother", std::string(name)}}), 40);
  }
}

TYPED_TEST(AmgTest, UnknownsOfANodeAreAggregatedTogether) {
  const auto together = iterations<TypeParam>("elasticity3d:8,contrast=1", three);
  EXPECT_LE(together, 40);
  EXPECT_LT(together,
            iterations<TypeParam>("elasticity3d:8,contrast=1", {{"unknowns_per_node", std::int64_t(1)}}));
}

TYPED_TEST(AmgTest, VectorsOfTheUserAreInTheRangeOfProlongators) {
  const HostMatrix<double> a = problem("poisson2d:30");
  const TypeParam space;
  const auto device = to_device<TypeParam>(a);
  MatrixSource<double, TypeParam> source(device);
  std::vector<double> ramp(a.num_rows);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 1 + 0.01 * double(i % 30);
  const auto vectors = to_columns<TypeParam>({std::vector<double>(a.num_rows, 1.0), ramp});
  source.set_near_null_space(vectors);
  AmgOptions options;
  options.prolongator = AmgProlongator::unsmoothed;
  options.coarse_size = 10;
  Report report;
  const Hierarchy<double, TypeParam> hierarchy(space, options, source, nullptr, report);
  ASSERT_GT(hierarchy.levels().size(), 2u);
  std::vector<std::vector<double>> coarse;
  DenseMatrix fine(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i) fine[i] = {1.0, ramp[i]};
  for (std::size_t l = 0; l + 1 < hierarchy.levels().size(); ++l) {
    const auto& transfer = hierarchy.levels()[l].transfer;
    const DenseMatrix p = dense(to_host(transfer.prolongator));
    const auto near = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, transfer.near_null_space);
    ASSERT_EQ(hierarchy.levels()[l + 1].unknowns, 2);
    for (int c = 0; c < 2; ++c) {
      std::vector<double> column(near.extent(0));
      for (std::size_t i = 0; i < column.size(); ++i) column[i] = near(i, c);
      const auto prolonged = times(p, column);
      for (std::size_t i = 0; i < fine.size(); ++i) ASSERT_NEAR(prolonged[i], fine[i][c], 1e-12);
    }
    fine.assign(near.extent(0), {});
    for (std::size_t i = 0; i < fine.size(); ++i) fine[i] = {near(i, 0), near(i, 1)};
  }
}

TYPED_TEST(AmgTest, NonsymmetricMatricesByUnsmoothedAggregation) {
  const HostMatrix<double> a = problem("convection_diffusion3d:12");
  const auto m = amg<TypeParam>(
      {{"prolongator", std::string("unsmoothed")}, {"smoother", std::string("multicolor_gs")}});
  EXPECT_FALSE(m->properties().needs_spd);
  m->numeric(TypeParam(), to_device<TypeParam>(a));
  const auto solved = solve_with<double, TypeParam>({"fgmres", {}}, operator_of<TypeParam>(a), m.get(),
                                                    random_vector(a.num_rows), stop_at(1e-8, 200));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  EXPECT_LE(solved.result.iterations, 40);
}

// ------------------------------------------------------------------------------------------------- phases

TYPED_TEST(AmgTest, NumericAgainKeepsAggregatesAndPatterns) {
  const TypeParam space;
  HostMatrix<double> a = problem("anisotropic2d:20,epsilon=0.1");
  const auto x = random_vector(a.num_rows);
  for (const char* reuse : {"pattern", "none"}) {
    const auto m = amg<TypeParam>(with(small, {{"reuse", std::string(reuse)}}));
    m->numeric(space, to_device<TypeParam>(a));
    EXPECT_FALSE(m->report().pattern_kept);
    HostMatrix<double> other = a;
    for (std::int64_t i = 0; i < a.num_rows; ++i)  // the same couplings by strength
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        other.values[k] *= 2 + 1e-3 * std::sin(double(i + a.col_idxs[k]));
    m->numeric(space, to_device<TypeParam>(other));
    EXPECT_EQ(m->report().pattern_kept, std::string(reuse) == "pattern");
    const auto anew = amg<TypeParam>(small);
    anew->numeric(space, to_device<TypeParam>(other));
    EXPECT_EQ(applied_to<TypeParam>(*m, x), applied_to<TypeParam>(*anew, x));
    EXPECT_EQ(m->report().levels.size(), anew->report().levels.size());
  }
}

/// A later numeric phase keeps no values of the user's, nor a pattern that may be gone.
template <class Scalar, class Space>
void check_own_values(const OptionMap& options, const std::string& matrix, const std::string& later) {
  const Space space;
  const auto first = generate<Scalar>(space, matrix);
  const auto m = create_preconditioner<Scalar, Space>("amg", options),
             anew = create_preconditioner<Scalar, Space>("amg", options);
  m->numeric(space, first);
  auto second = generate<Scalar>(space, later);
  m->numeric(space, second);
  EXPECT_TRUE(m->report().pattern_kept);
  anew->numeric(space, generate<Scalar>(space, later));
  Kokkos::deep_copy(second.values, Scalar(7));
  Kokkos::deep_copy(second.col_idxs, 0);
  Kokkos::deep_copy(first.values, Scalar(7));
  const auto product = [&](const MatrixPreconditioner<Scalar, Space>& of) {
    const std::int64_t n = first.num_rows;
    const MultiVector<Scalar, Space> x("x", n, 1), y("y", n, 1);
    Kokkos::deep_copy(Kokkos::subview(x, std::make_pair(10, 200), Kokkos::ALL), Scalar(1));
    of.apply(space, x, y, *of.make_workspace(space, 1));
    space.fence();
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
    return std::vector<Scalar>(host.data(), host.data() + n);
  };
  EXPECT_EQ(product(*m), product(*anew));
}

TYPED_TEST(AmgTest, LaterValuesAreItsOwn) {
  for (const char* storage : {"full", "single", "half"})
    for (const char* format : {"auto", "csr", "sell", "dia", "jad"}) {
      SCOPED_TRACE(std::string(storage) + ", " + format);
      const OptionMap options =
          with(small, {{"storage", std::string(storage)}, {"storage_format", std::string(format)}});
      // Values so near that no coupling of a coarse level is strong by one of them and weak by the other:
      // those near the limit are others on a device, whose aggregates are found in rounds.
      const std::string scalar[] = {"anisotropic2d:20,epsilon=0.1", "anisotropic2d:20,epsilon=0.1001"},
                        system[] = {"elasticity3d:5,contrast=2", "elasticity3d:5,contrast=2.1"};
      check_own_values<double, TypeParam>(options, scalar[0], scalar[1]);
      check_own_values<float, TypeParam>(options, scalar[0], scalar[1]);
      const OptionMap by_nodes = with(options, {{"unknowns_per_node", std::int64_t(3)}});
      check_own_values<double, TypeParam>(by_nodes, system[0], system[1]);
    }
}

TYPED_TEST(AmgTest, AnotherPatternIsFoundAnew) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:20");
  HostMatrix<double> fewer = a;  // as many rows, another pattern: without the couplings of one row
  fewer.row_ptrs = {0};
  fewer.col_idxs.clear();
  fewer.values.clear();
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      if (a.col_idxs[k] != i && (i == 37 || a.col_idxs[k] == 37)) continue;
      fewer.col_idxs.push_back(a.col_idxs[k]);
      fewer.values.push_back(a.values[k]);
    }
    fewer.row_ptrs.push_back(fewer.nnz());
  }
  const auto m = amg<TypeParam>(small), anew = amg<TypeParam>(small);
  m->numeric(space, to_device<TypeParam>(a));
  m->numeric(space, to_device<TypeParam>(fewer));
  EXPECT_FALSE(m->report().pattern_kept);
  ASSERT_FALSE(m->report().notes.empty());
  EXPECT_THAT(m->report().notes[0], HasSubstr("another pattern"));
  anew->numeric(space, to_device<TypeParam>(fewer));
  const auto x = random_vector(a.num_rows);
  EXPECT_EQ(applied_to<TypeParam>(*m, x), applied_to<TypeParam>(*anew, x));
}

TYPED_TEST(AmgTest, StateAfterAFailedPhase) {
  const TypeParam space;
  HostMatrix<double> a = problem("poisson2d:20");
  const auto m = amg<TypeParam>(with(small, {{"smoother", std::string("fsai")}}));
  m->numeric(space, to_device<TypeParam>(a));
  const auto x = random_vector(a.num_rows);
  const auto before = applied_to<TypeParam>(*m, x);
  EXPECT_THROW(m->numeric(space, to_device<TypeParam>(problem("poisson2d:19"))), InputError);
  EXPECT_EQ(applied_to<TypeParam>(*m, x), before) << "other rows are refused before anything is changed";
  HostMatrix<double> bad = a;
  bad.values[bad.row_ptrs[7]] = std::nan("");
  EXPECT_THROW(m->numeric(space, to_device<TypeParam>(bad)), InputError);
  EXPECT_THROW(applied_to<TypeParam>(*m, x), std::logic_error) << "its smoothers have been set up again";
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(applied_to<TypeParam>(*m, x), before);
}

TYPED_TEST(AmgTest, TheReportDescribesTheHierarchy) {
  const HostMatrix<double> a = problem("poisson2d:50");
  const auto m = amg<TypeParam>();
  m->numeric(TypeParam(), to_device<TypeParam>(a));
  const Report& report = m->report();
  ASSERT_GE(report.levels.size(), 2u);
  EXPECT_EQ(report.levels[0].num_rows, a.num_rows);
  EXPECT_EQ(report.levels[0].nnz, std::int64_t(a.nnz()));
  EXPECT_EQ(report.levels[0].method, "chebyshev");
  EXPECT_EQ(report.levels.back().method, "dense");
  EXPECT_LE(report.levels.back().num_rows, 256);
  std::int64_t entries = 0;
  for (const LevelReport& level : report.levels) {
    entries += level.nnz;
    EXPECT_GT(level.damping, 0);
    EXPECT_GT(level.setup_seconds, 0);
  }
  EXPECT_LE(double(entries), 2.0 * double(a.nnz()));  // the operator complexity
  EXPECT_GE(report.nnz, entries);
  EXPECT_GT(report.apply_flops, 0);
}

// ---------------------------------------------------------------------------------------------- awkward
// input

TYPED_TEST(AmgTest, SmallAndDiagonalMatricesAreSolved) {
  for (const HostMatrix<double>& a :
       {problem("tridiagonal:1"), problem("tridiagonal:2"), problem("tridiagonal:200"),
        diagonal_matrix(std::vector<double>(1000, 3.0)), diagonal_matrix({2.0})}) {
    SCOPED_TRACE(a.num_rows);
    const auto m = amg<TypeParam>();
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    EXPECT_LE(iterations_with<TypeParam>(*m, a), 2);
  }
}

TYPED_TEST(AmgTest, StoppedCoarseningIsNoted) {
  const auto m = amg<TypeParam>();
  m->numeric(TypeParam(), to_device<TypeParam>(diagonal_matrix(std::vector<double>(1000, 3.0))));
  ASSERT_EQ(m->report().levels.size(), 1u);
  ASSERT_EQ(m->report().notes.size(), 1u);
  EXPECT_THAT(m->report().notes[0], HasSubstr("the coarsest level has 1000 rows"));
}

TYPED_TEST(AmgTest, ASingularSystemWithASolution) {
  // The Laplacian of a ring: its null space are the constants.
  HostMatrix<double> a;
  const int n = 900;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row = {{(i + n - 1) % n, -1}, {i, 2}, {(i + 1) % n, -1}};
    std::sort(row.begin(), row.end());
    for (const auto& [col, value] : row) {
      a.col_idxs.push_back(col);
      a.values.push_back(value);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  const auto m = amg<TypeParam>();
  m->numeric(TypeParam(), to_device<TypeParam>(a));
  std::vector<double> b(n, 0.0);
  b[3] = 1;
  b[700] = -1;
  const auto solved =
      solve_with<double, TypeParam>({"cg", {}}, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8, 300));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
}

TYPED_TEST(AmgTest, SinglePrecisionAndLowerStorage) {
  const HostMatrix<double> a = problem("poisson2d:60");
  const auto full = iterations<TypeParam>("poisson2d:60");
  for (const char* storage : {"single", "half", "bfloat16"})
    EXPECT_LE(iterations<TypeParam>("poisson2d:60", {{"storage", std::string(storage)}}), full + 8)
        << storage;
  const auto m = create_preconditioner<float, TypeParam>("amg", {});
  HostMatrix<float> single;
  single.num_rows = single.num_cols = a.num_rows;
  single.row_ptrs = a.row_ptrs;
  single.col_idxs = a.col_idxs;
  single.values.assign(a.values.begin(), a.values.end());
  m->numeric(TypeParam(), to_device<TypeParam>(single));
  const std::vector<float> b(a.num_rows, 1.0f);
  const auto solved =
      solve_with<float, TypeParam>({"cg", {}}, CsrOperator<float, TypeParam>(to_device<TypeParam>(single)),
                                   m.get(), b, stop_at(1e-4, 100));
  EXPECT_EQ(solved.result.reason, StopReason::rtol);
  EXPECT_LE(solved.result.iterations, full);
}

/// S A S for s_i alternating, at random, between 1 / most and most.
HostMatrix<double> scaled_problem(const std::string& spec, double most) {
  HostMatrix<double> a = problem(spec);
  const auto random = random_vector(a.num_rows, 3);
  const auto s = [&](std::int64_t i) { return random[i] > 0 ? most : 1 / most; };
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (auto k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) a.values[k] *= s(i) * s(a.col_idxs[k]);
  return a;
}

/// A chain of random conductances in [1, 2) with fixed ends: the condition number is of the order of n^2.
HostMatrix<double> chain(int n) {
  const auto random = random_vector(n + 1, 5);
  const auto conductance = [&](int k) { return 1.5 + 0.5 * random[k]; };
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    const double left = conductance(i), right = conductance(i + 1);
    for (const auto& [col, value] :
         {std::pair(i - 1, -left), std::pair(i, left + right), std::pair(i + 1, -right)}) {
      if (col < 0 || col >= n) continue;
      a.col_idxs.push_back(col);
      a.values.push_back(value);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

TYPED_TEST(AmgTest, AVCycleInSingleHasTheIterationsOfDouble) {
  const OptionMap full = {{"storage", std::string("full")}}, single = {{"storage", std::string("single")}};
  const auto of = [](const HostMatrix<double>& a, const OptionMap& options) {
    const auto m = amg<TypeParam>(options);
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    EXPECT_THAT(m->report().notes, ::testing::IsEmpty());
    return std::pair(iterations_with<TypeParam>(*m, a), m->report().bytes);
  };
  const HostMatrix<double> elastic = problem("elasticity3d:8,contrast=1e6");
  for (const auto& [a, options] : {std::pair(chain(100000), OptionMap()), std::pair(elastic, three)}) {
    const auto in_full = of(a, with(options, full)), in_single = of(a, with(options, single));
    EXPECT_NEAR(double(in_single.first), double(in_full.first), 1);
    EXPECT_LT(in_single.second, in_full.second);
  }
}

TYPED_TEST(AmgTest, SingleIsTheDefaultOfVCyclesOnDevicesAndOfLargeLevels) {
  AmgOptions options;
  constexpr std::int64_t fewest = AmgOptions::fewest_in_single;
  EXPECT_EQ(options.storage_of_level(true, fewest - 1), Storage::full);
  EXPECT_EQ(options.storage_of_level(true, fewest), Storage::single_precision);
  EXPECT_EQ(options.storage_of_level(false, 1), Storage::single_precision);
  for (const AmgCycle cycle : {AmgCycle::w, AmgCycle::k}) {
    options.cycle = cycle;
    EXPECT_EQ(options.storage_of_level(false, fewest), Storage::full);
    EXPECT_EQ(options.storage_of_level(true, fewest), Storage::full);
  }
  const HostMatrix<double> large = problem("poisson2d:640");  // 2,045,440 entries, and 0.37 of them below
  const auto of_large = [&](const OptionMap& more) {
    const auto m = amg<TypeParam>(more);
    m->numeric(TypeParam(), to_device<TypeParam>(large));
    return applied_to<TypeParam>(*m, random_vector(large.num_rows, 1));
  };
  EXPECT_NE(of_large({}), of_large({{"storage", std::string("full")}}));
  const HostMatrix<double> a = chain(500);
  const auto x = random_vector(500, 1);
  const auto product = [&](const OptionMap& more) {
    const auto m = amg<TypeParam>(more);
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    return applied_to<TypeParam>(*m, x);
  };
  const auto full = product({{"storage", std::string("full")}}),
             single = product({{"storage", std::string("single")}});
  EXPECT_NE(full, single);
  EXPECT_EQ(product({}), is_host_space<TypeParam> ? full : single);
  for (const char* storage : {"half", "bfloat16"}) {
    const auto lower = product({{"storage", std::string(storage)}});
    EXPECT_NE(lower, full);
    EXPECT_NE(lower, single);
  }
}

TYPED_TEST(AmgTest, LevelsOutOfTheStoragesRangeAreKeptInFull) {
  const auto notes_and_product = [](const HostMatrix<double>& a, const char* storage) {
    const auto m = amg<TypeParam>({{"storage", std::string(storage)}});
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    return std::pair(m->report().notes, applied_to<TypeParam>(*m, random_vector(a.num_rows, 1)));
  };
  // A diagonal that is 2^-160 of its row's largest entry vanishes in single, one of 2^-40 in half.
  const HostMatrix<double> wild = scaled_problem("poisson2d:30", 0x1p80),
                           rough = scaled_problem("poisson2d:30", 0x1p20);
  for (const auto& [a, storage] :
       {std::pair(&wild, "single"), std::pair(&wild, "bfloat16"), std::pair(&rough, "half")}) {
    SCOPED_TRACE(storage);
    const auto [notes, product] = notes_and_product(*a, storage);
    ASSERT_FALSE(notes.empty());
    EXPECT_THAT(notes[0], HasSubstr("level 0: entries are so much larger than their row's diagonal"));
    EXPECT_EQ(product, notes_and_product(*a, "full").second);
  }
  EXPECT_THAT(notes_and_product(rough, "single").first, ::testing::IsEmpty());
}

TYPED_TEST(AmgTest, HostSecondsAreThoseOfItsMethods) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(problem("poisson2d:60"));
  const auto seconds_with = [&](const std::string& partition) {
    const auto m =
        amg<TypeParam>({{"smoother", std::string("block_jacobi")}, {"smoother.partition", partition}});
    m->numeric(space, a);
    return m->report().host_seconds;
  };
  EXPECT_GT(seconds_with("bisection"), 0);
  EXPECT_EQ(seconds_with("multilevel"), 0);
}

TYPED_TEST(AmgTest, InvalidOptionsAndInputsAreRefused) {
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const TypeParam space;
  const auto a = to_device<TypeParam>(problem("tridiagonal:10"));
  EXPECT_THAT(message([&] { amg<TypeParam>(three)->numeric(space, a); }),
              HasSubstr("10 rows are not nodes of 3 unknowns each"));
  EXPECT_THAT(message([&] {
                amg<TypeParam>({{"pre_sweeps", std::int64_t(0)}, {"post_sweeps", std::int64_t(0)}});
              }),
              HasSubstr("a cycle needs a sweep"));
  EXPECT_THAT(message([&] {
                amg<TypeParam>({{"smoother", std::string("jacoby")}});
              }),
              HasSubstr("did you mean 'jacobi'"));
  EXPECT_THAT(message([&] { amg<TypeParam>({{"smoother.degre", std::int64_t(2)}}); }), HasSubstr("degree"));
  const auto m = amg<TypeParam>();
  m->numeric(space, a);
  const auto workspace = m->make_workspace(space, 1);
  const MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2);
  EXPECT_THAT(message([&] { m->apply(space, x, y, *workspace); }), HasSubstr("fewer vectors"));
}

}  // namespace
}  // namespace prekond::testing
