// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The common parts of the tests of the multicolour preconditioners.
#include "testing/general_matrices.hpp"
#include "testing/host_threads.hpp"
#include "testing/reference_relaxation.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <prekond/precond/impl/multicolor.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

inline std::vector<double> waves_of(std::int64_t n, int k = 0) {
  std::vector<double> x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::sin(1.0 + 3.0 * static_cast<double>(i) + 5.0 * k);
  return x;
}

/// M^-1 of several columns, from a workspace for one more.
template <class Scalar, class Space>
std::vector<std::vector<Scalar>> applied_to(const Preconditioner<Scalar, Space>& m,
                                            const std::vector<std::vector<Scalar>>& x) {
  const Space space;
  const auto n = static_cast<std::size_t>(m.num_rows());
  const MultiVector<Scalar, Space> from("from", n, x.size()), to("to", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < n; ++i) host(i, k) = x[k][i];
  Kokkos::deep_copy(from, host);
  Kokkos::deep_copy(to, Scalar(std::nan("")));
  const auto workspace = m.make_workspace(space, static_cast<int>(x.size()) + 1);
  m.apply(space, from, to, *workspace);
  space.fence();
  std::vector<std::vector<Scalar>> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = to_vector(column(to, k));
  return y;
}

template <class Scalar, class Space>
std::vector<Scalar> applied_to(const Preconditioner<Scalar, Space>& m, const std::vector<Scalar>& x) {
  return applied_to<Scalar, Space>(m, std::vector<std::vector<Scalar>>{x})[0];
}

/// Matrices of all generators and at random, some with columns of other ranks; a matrix whose colours are
/// large enough for launches of their own, and one of many colours, large and small.
inline std::vector<Case> relaxation_matrices() {
  std::vector<Case> cases = small_matrices();
  for (const Case& general : general_matrices()) cases.push_back(general);
  for (const char* spec : {"poisson3d:23", "elasticity3d:8", "circuit:48", "irregular3d:8"})
    cases.push_back({spec, generated(spec)});
  cases.push_back({"a rank's part", with_columns_of_other_ranks(generated("poisson3d:6"))});
  return cases;
}

}  // namespace prekond::testing
