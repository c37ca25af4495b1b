// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The preconditioner that is chosen by the matrix.
#include "testing/krylov_problems.hpp"
#include "testing/matrices.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/automatic.hpp>
#include <prekond/precond/registry.hpp>

#include <cstring>

namespace prekond::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

template <class Space>
class AutomaticTest : public ::testing::Test {
 public:
  using Matrix = CsrMatrix<double, int, std::size_t, typename Space::memory_space>;

  static Matrix problem(const std::string& name) { return generate<double, Space>(Space(), name); }

  /// Jacobi takes a few iterations.
  static Matrix dominant() {
    HostMatrix<double> a = to_host(problem("poisson2d:40"));
    for (double& value : a.values)
      if (value > 0) value = 40;
    return to_device<Space>(a);
  }

  static AutomaticOptions with(double budget, std::int64_t solves = 1) {
    AutomaticOptions options;
    options.budget = budget;
    options.solves = solves;
    return options;
  }

  /// Solves with b = 1.
  static SolveResult solve(const std::string& solver, const Matrix& a, const Preconditioner<double, Space>& m,
                           const OptionMap& options = {}) {
    const Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
    Kokkos::deep_copy(b, 1.0);
    return create_solver<double, Space>(solver, options)
        ->solve(Space(), CsrOperator<double, Space>(a), &m, b, x, StoppingOptions());
  }

  static std::vector<double> applied(const Preconditioner<double, Space>& m) {
    const MultiVector<double, Space> x("x", m.num_rows(), 1), y("y", m.num_rows(), 1);
    Kokkos::deep_copy(x, 1.0);
    m.apply(Space(), x, y, *m.make_workspace(Space(), 1));
    Space().fence();
    return to_vector(Kokkos::subview(y, Kokkos::ALL, 0));
  }
};
TYPED_TEST_SUITE(AutomaticTest, TestSpaces, SpaceNames);

TYPED_TEST(AutomaticTest, ADefiniteMatrixGetsASymmetricPreconditionerForCg) {
  const auto a = this->problem("poisson2d:60");
  Automatic<double, TypeParam> m;
  EXPECT_EQ(m.properties().symmetry, Symmetry::unknown);
  m.numeric(TypeParam(), a);
  EXPECT_EQ(m.properties().symmetry, Symmetry::symmetric);
  const SolveResult result = this->solve("cg", a, m);
  EXPECT_TRUE(result.converged);
  ASSERT_FALSE(m.report().notes.empty());
  EXPECT_THAT(m.report().notes.front(), HasSubstr("auto takes " + m.inner().name()));
  EXPECT_GT(m.report().nnz, 0);
}

/// Fills memory that Kokkos allocates for a host.
void fill_new_memory(Kokkos_Profiling_SpaceHandle, const char* label, const void* at, std::uint64_t bytes) {
  if (std::strncmp(label, "prekond::", 9) == 0) std::memset(const_cast<void*>(at), 0x41, bytes);
}

TYPED_TEST(AutomaticTest, WhatStoodInItsMemoryDecidesNothing) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a tool of a host writes into the memory";
  const auto reason = [a = this->dominant(), options = this->with(1)] {
    Automatic<double, TypeParam> m(options);
    m.numeric(TypeParam(), a);
    return m.report().notes.front();
  };
  const std::string expected = reason();
  EXPECT_THAT(expected, HasSubstr("Jacobi would take"));
  Kokkos::Tools::Experimental::set_allocate_data_callback(fill_new_memory);
  EXPECT_EQ(reason(), expected);
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
}

TYPED_TEST(AutomaticTest, AGeneralMatrixGetsOneForGmres) {
  const auto a = this->problem("convection_diffusion3d:10");
  Automatic<double, TypeParam> m;
  m.numeric(TypeParam(), a);
  for (const Candidate& candidate : m.candidates()) {
    if (candidate.was_tried) {
      EXPECT_FALSE(candidate.needs_spd);
    }
  }
  EXPECT_TRUE(this->solve("gmres", a, m).converged);
}

// Jacobi takes a dozen iterations for the first; for the second hundreds, which the trial tells.
TYPED_TEST(AutomaticTest, TheTrialTellsHowHardASystemIs) {
  Automatic<double, TypeParam> easy(this->with(1)), hard, untried(this->with(0));
  easy.numeric(TypeParam(), this->dominant());
  EXPECT_EQ(easy.inner().name(), "jacobi");
  EXPECT_THAT(easy.report().notes.front(), HasSubstr("Jacobi would take about"));
  const auto a = this->problem("anisotropic2d:200,epsilon=0.001");
  hard.numeric(TypeParam(), a);
  EXPECT_NE(hard.inner().name(), "jacobi");
  untried.numeric(TypeParam(), a);
  EXPECT_THAT(untried.report().notes.front(), Not(HasSubstr("Jacobi would take")));
}

// Symmetric, with a positive diagonal and eigenvalues of both signs.
TYPED_TEST(AutomaticTest, TheTrialTellsThatAMatrixIsIndefinite) {
  HostMatrix<double> host = to_host(this->problem("poisson2d:20"));
  for (double& value : host.values)
    if (value > 0) value = 1.5;
  const auto a = to_device<TypeParam>(host);
  Automatic<double, TypeParam> m(this->with(5));
  m.numeric(TypeParam(), a);
  EXPECT_THAT(m.report().notes.front(), HasSubstr("A is not positive definite"));
  for (const Candidate& candidate : m.candidates()) {
    if (candidate.outcome == "taken") {
      EXPECT_FALSE(candidate.needs_spd);
    }
  }
  EXPECT_TRUE(this->solve("gmres", a, m, {{"restart", 400}}).converged);
}

TYPED_TEST(AutomaticTest, MoreSolvesAreWorthALongerSetup) {
  const auto a = this->problem("poisson2d:50");
  Automatic<double, TypeParam> once(this->with(0)), often(this->with(0, 1000000));
  once.numeric(TypeParam(), a);
  often.numeric(TypeParam(), a);
  const auto setup_of = [](const auto& m) {
    for (const Candidate& candidate : m.candidates())
      if (candidate.outcome == "taken") return candidate.setup;
    return -1.0;
  };
  EXPECT_GE(setup_of(once), 0);
  EXPECT_GE(setup_of(often), setup_of(once));
  if (is_host_space<TypeParam>) {  // on a device the one with the cheap setup has the cheap iterations too
    EXPECT_GT(setup_of(often), setup_of(once));
  }
}

TYPED_TEST(AutomaticTest, LaterValuesKeepTheMethod) {
  const auto a = this->problem("anisotropic2d:30,epsilon=0.1"), later = this->problem("poisson2d:30");
  Automatic<double, TypeParam> m;
  m.numeric(TypeParam(), a);
  const std::string before = m.inner().name();
  m.numeric(TypeParam(), later);
  EXPECT_EQ(m.inner().name(), before);
  const auto fresh = create_preconditioner<double, TypeParam>(before);
  fresh->numeric(TypeParam(), a);
  fresh->numeric(TypeParam(), later);
  EXPECT_EQ(this->applied(m), this->applied(*fresh));
}

// For many solves a tridiagonal matrix gets ic0 on every space. It refuses one whose diagonal is negative.
TYPED_TEST(AutomaticTest, LaterValuesThatTheMethodRefusesGetAnother) {
  HostMatrix<double> host = to_host(this->problem("tridiagonal:50"));
  Automatic<double, TypeParam> m(this->with(0, 1000000));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  ASSERT_EQ(m.inner().name(), "ic0");
  for (double& value : host.values) value = -value;
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_NE(m.inner().name(), "ic0");
  EXPECT_TRUE(this->solve("gmres", to_device<TypeParam>(host), m).converged);
}

TYPED_TEST(AutomaticTest, ColumnsOfOtherRanksAreLeftOut) {
  const HostMatrix<double> square = to_host(this->problem("poisson2d:12"));
  HostMatrix<double> wide{square.num_rows, square.num_rows + 1, {0}, {}, {}};
  for (std::int64_t i = 0; i < square.num_rows; ++i) {
    for (std::size_t k = square.row_ptrs[i]; k < square.row_ptrs[i + 1]; ++k) {
      wide.col_idxs.push_back(square.col_idxs[k]);
      wide.values.push_back(square.values[k]);
    }
    if (i % 3 == 0) {
      wide.col_idxs.push_back(static_cast<int>(square.num_rows));
      wide.values.push_back(-1);
    }
    wide.row_ptrs.push_back(wide.col_idxs.size());
  }
  Automatic<double, TypeParam> own, part;
  own.numeric(TypeParam(), to_device<TypeParam>(square));
  part.numeric(TypeParam(), to_device<TypeParam>(wide));
  EXPECT_EQ(part.inner().name(), own.inner().name());
  EXPECT_EQ(part.properties().symmetry, Symmetry::symmetric);
  EXPECT_EQ(this->applied(part), this->applied(own));
}

TYPED_TEST(AutomaticTest, APartWithoutRowsHasNoMethod) {
  Automatic<double, TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(HostMatrix<double>{0, 3, {0}, {}, {}}));
  EXPECT_THROW((void)m.inner(), std::logic_error);
  EXPECT_TRUE(this->applied(m).empty());
}

}  // namespace
}  // namespace prekond::testing
