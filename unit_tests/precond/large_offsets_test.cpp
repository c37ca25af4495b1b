// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every setup from a matrix whose offsets need more than 32 bits, and triangular solves with such factors.
#include "testing/large_offsets.hpp"
#include "testing/host_matrix.hpp"
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class LargeOffsetSetups : public ::testing::Test {
 public:
  using Vectors = MultiVector<double, Space>;

  template <class Method>
  static std::vector<double> applied(const Method& method, std::int64_t n) {
    const Vectors x("x", n, 1), y("y", n, 1);
    Kokkos::deep_copy(x, 1.0);
    const auto workspace = method.make_workspace(Space(), 1);
    method.apply(Space(), x, y, *workspace);
    return to_vector(Kokkos::subview(y, Kokkos::ALL, 0));
  }
  template <class Matrix>
  static std::vector<double> set_up(const RegistryEntry<MatrixPreconditioner<double, Space>>& entry,
                                    const Matrix& a) {
    const auto method = entry.configure()->build();
    method->symbolic(Space(), a);
    method->numeric(Space(), a);
    return applied(*method, a.num_rows);
  }
};
TYPED_TEST_SUITE(LargeOffsetSetups, TestSpaces, SpaceNames);

/// Methods that read or copy all entries as one array, so that the first ones have to be there.
bool reads_all_entries(const std::string& method) {
  for (const char* name :
       {"adaptive_fsai", "amg", "auto", "matched", "polynomial", "ls_polynomial", "chebyshev", "neumann"})
    if (method == name) return true;
  return false;
}

/// The pattern of the general matrix is not symmetric: the one of A + A^T is found entry by entry.
TYPED_TEST(LargeOffsetSetups, EveryMethod) {
  using Space = TypeParam;
  const auto spd = generate<double, Space>(Space(), "elasticity3d:4");
  const auto general = to_device<Space>(uneven_matrix(300));
  const auto far_spd = at_large_offsets<Space>(spd), far_general = at_large_offsets<Space>(general);
  for (const auto& entry : preconditioner_registry<double, Space>()) {
    SCOPED_TRACE(entry.name);
    if (reads_all_entries(entry.name)) continue;
    const auto &a = entry.properties.needs_spd ? spd : general,
               &far = entry.properties.needs_spd ? far_spd : far_general;
    EXPECT_EQ(this->set_up(entry, far), this->set_up(entry, a));
  }
}

/// The strict lower triangle by rows, scaled to a solve that stays small.
HostMatrix<double> triangle_of(const HostMatrix<double>& a) {
  HostMatrix<double> n;
  n.num_rows = n.num_cols = a.num_rows;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1] && a.col_idxs[k] < i; ++k) {
      n.col_idxs.push_back(a.col_idxs[k]);
      n.values.push_back(0.01 * a.values[k]);
    }
    n.row_ptrs.push_back(n.nnz());
  }
  return n;
}

TYPED_TEST(LargeOffsetSetups, TriangularSolves) {
  using Space = TypeParam;
  const auto n = to_device<Space>(triangle_of(to_host(generate<double, Space>(Space(), "elasticity3d:5"))));
  const auto far = at_large_offsets<Space>(n);
  for (const auto& [name, method] : triangular_methods()) {
    SCOPED_TRACE(name);
    TriangularOptions options;
    options.method = method;
    const auto solved = [&](const auto& triangle) {
      TriangularSolver<double, Space> solver("test", Triangle::lower, options);
      Report report;
      solver.symbolic(Space(), CsrGraph<Space>{n.num_rows, n.num_cols, triangle.row_ptrs, triangle.col_idxs});
      solver.numeric(Space(), triangle.values, {}, report);
      return this->applied(solver, n.num_rows);
    };
    EXPECT_EQ(solved(far), solved(n));
  }
}

}  // namespace
}  // namespace prekond::testing
