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
                                    const OptionMap& options, const Matrix& a) {
    const auto configurator = entry.configure();
    configurator->fields().set(options, entry.name);
    const auto method = configurator->build();
    method->symbolic(Space(), a);
    method->numeric(Space(), a);
    return applied(*method, a.num_rows);
  }
};
TYPED_TEST_SUITE(LargeOffsetSetups, TestSpaces, SpaceNames);

/// Why a method takes all entries as one array, so that the first ones have to be there; empty where it does
/// not.
template <class Space>
std::string why_all_entries(const std::string& method) {
  struct Taken {
    const char *method, *why;
    bool by_host = true;
  };
  constexpr const char *copies = "copies the matrix",
                       *counts = "transposes it: a device counts the columns of all entries";
  for (const Taken& taken : {Taken{"adaptive_fsai", "rounds all values to single precision"},
                             {"amg", copies},
                             {"auto", "may take one of these"},
                             {"matched", "has a cost at the place of each entry"},
                             {"polynomial", copies},
                             {"ls_polynomial", copies},
                             {"chebyshev", copies},
                             {"neumann", copies},
                             {"spai side=right", counts, false},
                             {"dynamic_spai side=left", counts, false},
                             {"dynamic_spai side=right", counts, false}})
    if (method == taken.method && (taken.by_host || !is_host_space<Space>)) return taken.why;
  return {};
}

/// A method with its default options, or once for each side that it may have.
template <class Entry>
std::vector<Variant> variants_of(const Entry& entry) {
  if (!entry.configure()->fields().knows("side")) return {{entry.name, {}}};
  return {{entry.name, {{"side", std::string("left")}}}, {entry.name, {{"side", std::string("right")}}}};
}

/// The pattern of the general matrix is not symmetric: the one of A + A^T is found entry by entry.
TYPED_TEST(LargeOffsetSetups, EveryMethod) {
  using Space = TypeParam;
  const auto spd = generate<double, Space>(Space(), "elasticity3d:4");
  const auto general = to_device<Space>(uneven_matrix(300));
  const auto far_spd = at_large_offsets<Space>(spd), far_general = at_large_offsets<Space>(general);
  for (const auto& entry : preconditioner_registry<double, Space>())
    for (const Variant& variant : variants_of(entry)) {
      SCOPED_TRACE(variant.name());
      const std::string left_out = why_all_entries<Space>(variant.name());
      announce<Space>(variant.name() + (left_out.empty() ? "" : " is left out: it " + left_out));
      if (!left_out.empty()) continue;
      const auto &a = entry.properties.needs_spd ? spd : general,
                 &far = entry.properties.needs_spd ? far_spd : far_general;
      EXPECT_EQ(this->set_up(entry, variant.options, far), this->set_up(entry, variant.options, a));
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
    if (method == TriangularMethod::host && !is_host_space<Space>) continue;  // copies all entries to a host
    announce<Space>("triangular solve: " + name);
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
