// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/ilu/factor_solves.hpp"

#include "testing/ilu_cases.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/triangular_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/precond/ilut.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>
#include <prekond/precond/registry.hpp>
#include "matrix/counter_hash.hpp"

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Nearly solved factors of symmetric matrices: M has to stay symmetric.
template <class Space>
class FactorSolvesTest : public ::testing::Test {};
TYPED_TEST_SUITE(FactorSolvesTest, TestSpaces, SpaceNames);

constexpr const char* symmetric_kinds[] = {"ic0", "ick", "mic_gustafsson", "mic_robert", "ict", "par_ic"};

OptionMap by_isai(int power = 1) {
  return {{"solve.method", std::string("isai")}, {"solve.isai_power", std::int64_t(power)}};
}
template <class Options>
Options by_sweeps(int sweeps, Options options = {}) {
  options.solve.method = TriangularMethod::jacobi;
  options.solve.sweeps = sweeps;
  return options;
}

/// Poisson's equation with a diagonal that is not constant: C is not a multiple of I.
HostMatrix<double> uneven(const std::string& spec) {
  auto a = generated(spec);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] += 2.0 * double(i % 5);
  return a;
}

/// M^-1, by columns.
template <class Space>
std::vector<std::vector<double>> dense_inverse(const Preconditioner<double, Space>& m, std::size_t n) {
  std::vector<std::vector<double>> identity(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) identity[i][i] = 1;
  return applied_to<double, Space>(m, identity);
}

void expect_symmetric(const std::vector<std::vector<double>>& m, double tolerance) {
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      ASSERT_NEAR(m[i][j], m[j][i], tolerance * std::sqrt(m[i][i] * m[j][j])) << i << ", " << j;
}

template <class Space>
SolveResult solved_by_cg(const Preconditioner<double, Space>& m, const HostMatrix<double>& a) {
  const Vector<double, Space> b = to_device<Space>(random_vector(a.num_rows)), x("x", a.num_rows);
  const auto result = Cg<double, Space>().solve(Space(), operator_of<Space>(a), &m, b, x, stop_at(1e-8));
  EXPECT_TRUE(result.converged);
  return result;
}

TYPED_TEST(FactorSolvesTest, IsaiKeepsSymmetricKindsSymmetric) {
  for (const char* name : symmetric_kinds)
    for (const auto& host : {generated("poisson2d:9"), uneven("poisson2d:9"), generated("elasticity3d:3")})
      for (const char* storage : {"full", "half"}) {
        SCOPED_TRACE(std::string(name) + ", storage " + storage);
        auto options = by_isai();
        options["storage"] = std::string(storage);
        const auto m = create_preconditioner<double, TypeParam>(name, options);
        EXPECT_TRUE(m->is_symmetric());
        EXPECT_TRUE(m->properties().needs_spd);
        const auto device = to_device<TypeParam>(host);
        const auto n = static_cast<std::size_t>(host.num_rows);
        m->numeric(TypeParam(), device);
        const auto first = dense_inverse<TypeParam>(*m, n);
        expect_symmetric(first, 1e-14);
        m->numeric(TypeParam(), device);
        EXPECT_EQ(dense_inverse<TypeParam>(*m, n), first);
        EXPECT_THAT(m->report().notes,
                    Contains(HasSubstr("upper solve: isai, power 1; the transpose of the")));
      }
  EXPECT_TRUE((create_preconditioner<double, TypeParam>("ilu0", by_isai()))->is_nonsymmetric());
}

TYPED_TEST(FactorSolvesTest, IsaiOfIcIsTheProductOfItsPieces) {
  for (const int power : {1, 2})
    for (const auto& host : {generated("poisson2d:7"), uneven("poisson2d:7"), generated("elasticity3d:3")}) {
      IcOptions options;
      options.solve.method = TriangularMethod::isai;
      options.solve.isai_power = power;
      Ic<double, TypeParam> m(options);
      const auto f = factored(m, host);
      IsaiOptions of_lower;
      of_lower.kind = IsaiKind::lower;
      of_lower.unit_diagonal = true;
      of_lower.power = power;
      Isai<double, TypeParam> isai(of_lower);
      isai.numeric(TypeParam(), m.factor_lower());
      const auto inverse = rows_of(isai.inverse());
      const auto n = static_cast<std::size_t>(host.num_rows);
      const auto found = dense_inverse<TypeParam>(m, n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          long double expected = 0;
          for (std::size_t k = 0; k < n; ++k)
            if (inverse[k].count(int(i)) && inverse[k].count(int(j)))
              expected +=
                  static_cast<long double>(inverse[k].at(int(i))) * f.pivots[k] * inverse[k].at(int(j));
          expected *= f.row_scale[i] * f.row_scale[j];
          ASSERT_NEAR(found[j][i], double(expected), 1e-14 * std::sqrt(found[i][i] * found[j][j]));
        }
    }
}

TYPED_TEST(FactorSolvesTest, CgTakesIsaiOfSymmetricKinds) {
  const auto a = generated("poisson2d:24");
  const auto device = to_device<TypeParam>(a);
  const auto jacobi = create_preconditioner<double, TypeParam>("jacobi");
  jacobi->numeric(TypeParam(), device);
  const auto most = solved_by_cg<TypeParam>(*jacobi, a).iterations;
  for (const char* name : symmetric_kinds) {
    const auto m = create_preconditioner<double, TypeParam>(name, by_isai());
    m->numeric(TypeParam(), device);
    const auto found = solved_by_cg<TypeParam>(*m, a).iterations;
    // Gustafsson's row sums need its exact solves.
    EXPECT_LT(found, std::string(name) == "mic_gustafsson" ? 2 * most : most) << name;
  }
}

TYPED_TEST(FactorSolvesTest, SweepsKeepThePreconditionerSymmetric) {
  std::int64_t taken = 0;
  for (const IncompleteKind kind :
       {IncompleteKind::ic, IncompleteKind::mic_gustafsson, IncompleteKind::mic_robert})
    for (const auto& host : {generated("poisson2d:9"), uneven("poisson2d:9"), generated("elasticity3d:3")})
      for (const int sweeps : {1, 2, 5}) {
        SCOPED_TRACE((kind == IncompleteKind::ic ? "ic, " : "mic, ") + std::to_string(sweeps) + " sweeps");
        auto options = by_sweeps<IcOptions>(sweeps);
        options.kind = kind;
        Ic<double, TypeParam> own(options);
        EXPECT_TRUE(own.is_symmetric());
        factored(own, host);
        const auto by_sweeps_of = [&](const std::string& solve) {
          const std::string text = solve + " solve: jacobi, " + std::to_string(sweeps) + " sweep";
          return std::count_if(own.report().notes.begin(), own.report().notes.end(),
                               [&](const std::string& note) { return note.find(text) != std::string::npos; });
        };
        EXPECT_EQ(by_sweeps_of("lower"), by_sweeps_of("upper"));
        taken += by_sweeps_of("upper");
        expect_symmetric(dense_inverse<TypeParam>(own, host.num_rows), 1e-14);
        solved_by_cg<TypeParam>(own, host);
      }
  EXPECT_GT(taken, 12);
}

/// M^-1 b of the exact solves, of many sweeps and of one.
template <class Method, class Space>
void check_sweeps(const HostMatrix<double>& host, const typename Method::options_type& options) {
  const auto b = waves_of(host.num_rows);
  const auto of = [&](const typename Method::options_type& these) {
    Method m(these);
    m.numeric(Space(), to_device<Space>(host));
    return applied_to<double, Space>(m, b);
  };
  const auto exact = of(options);
  const LongVector expected(exact.begin(), exact.end());
  EXPECT_LE(relative_difference(of(by_sweeps(100, options)), expected), 1e-13);
  EXPECT_GE(relative_difference(of(by_sweeps(1, options)), expected), 1e-5);
}

TYPED_TEST(FactorSolvesTest, ManySweepsAreTheExactSolve) {
  const auto host = uneven("poisson2d:9");
  IlutOptions ict;
  ParIluOptions par_ic;
  ict.kind = par_ic.kind = IncompleteKind::ic;
  check_sweeps<Ilu<double, TypeParam>, TypeParam>(host, {});
  check_sweeps<Ic<double, TypeParam>, TypeParam>(host, {});
  check_sweeps<Ilut<double, TypeParam>, TypeParam>(host, ict);
  check_sweeps<ParIlu<double, TypeParam>, TypeParam>(host, par_ic);
  check_sweeps<ParIlut<double, TypeParam>, TypeParam>(host, {});
}

// --------------------------------------------------------------------------------- where one of two diverges

double fixed_entry(int i) {
  return std::abs(2 * impl::unit_interval(impl::counter_hash(1, static_cast<std::uint64_t>(i))) - 1);
}

/// The next row after one whose entry of the fixed vector is large, or small.
int next_row(int after, bool large) {
  int i = after + 1;
  while (large ? fixed_entry(i) < 0.9 : fixed_entry(i) > 0.01) ++i;
  return i;
}

/// L, or in reverse L^T, whose second sweep changes little and whose third much; the other triangle's third
/// changes little.
HostMatrix<double> chains(bool reverse) {
  using Flags = std::vector<bool>;
  std::vector<int> rows;
  for (const bool large : reverse ? Flags{false, false, false, true, true, false, false}
                                  : Flags{true, false, false, false, false, false, true})
    rows.push_back(next_row(rows.empty() ? -1 : rows.back(), large));
  std::map<int, std::pair<int, double>> entries;
  entries[rows[1]] = {rows[0], reverse ? 10 : 1};
  entries[rows[2]] = {rows[1], 0.3};
  entries[rows[3]] = {rows[2], reverse ? 1 : 10};
  entries[rows[5]] = {rows[4], reverse ? 1 : 0.9};
  entries[rows[6]] = {rows[5], reverse ? 0.9 : 1};
  HostMatrix<double> n;
  n.num_rows = n.num_cols = rows.back() + 1;
  for (int i = 0; i < static_cast<int>(n.num_rows); ++i) {
    if (entries.count(i)) {
      n.col_idxs.push_back(entries[i].first);
      n.values.push_back(entries[i].second);
    }
    n.row_ptrs.push_back(n.nnz());
  }
  return n;
}

TYPED_TEST(FactorSolvesTest, BothAreExactWhereOneDiverges) {
  const TypeParam space;
  for (const bool reverse : {false, true})
    for (const int sweeps : {3, 4}) {
      SCOPED_TRACE(std::to_string(sweeps) + (reverse ? " sweeps, reverse" : " sweeps"));
      const auto n = chains(reverse);
      const auto t = transposed(n);
      FillPattern<TypeParam> pattern;
      pattern.lower = graph_of<TypeParam>(n);
      pattern.upper = graph_of<TypeParam>(t);
      pattern.is_symmetric = true;
      const auto ones = to_device<TypeParam>(std::vector<double>(n.num_rows, 1));
      impl::sweeps::Factors<double, TypeParam> factors;
      factors.lower = to_device<TypeParam>(n.values);
      factors.upper = to_device<TypeParam>(t.values);
      factors.row_scale = factors.pivots = ones;
      TriangularOptions options = with(TriangularMethod::jacobi);
      options.sweeps = sweeps;
      const auto notes_of = [&](bool same) {
        impl::ilu::FactorSolves<double, TypeParam> solves("test", options);
        Report report;
        solves.symbolic(space, pattern);
        solves.numeric(space, pattern, factors, same, report);
        return report.notes;
      };
      const std::string triangles[] = {"test, lower solve: ", "test, upper solve: "};
      const std::string quick = triangles[reverse ? 1 : 0], slow = triangles[reverse ? 0 : 1];
      const auto apart = notes_of(false), same = notes_of(true);
      const std::string by_jacobi = "jacobi, " + std::to_string(sweeps) + " sweeps";
      const std::string exact = is_host_space<TypeParam> ? "levels" : "sync_free";
      EXPECT_THAT(apart, Contains(HasSubstr(slow + by_jacobi)));
      if (sweeps == 3) {
        EXPECT_THAT(apart, Contains(HasSubstr(quick + exact)));
        EXPECT_THAT(same, Contains(HasSubstr(quick + exact)));
        EXPECT_THAT(same, Contains(HasSubstr(slow + exact)));
      } else {
        // One more ends the growth.
        EXPECT_THAT(same, Contains(HasSubstr(quick + by_jacobi)));
        EXPECT_THAT(same, Contains(HasSubstr(slow + by_jacobi)));
      }
    }
}

}  // namespace
}  // namespace prekond::testing
