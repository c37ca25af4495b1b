// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/matrices.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/validate.hpp>
#include <prekond/precond/adaptive_fsai.hpp>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

TEST(RealMatrices, EveryRowsPsiIsTheTextbooks) {
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.setup_scalar = Precision::double_precision;
  int compared = 0;
  for (const auto& file : matrices_of_kind("spd", 20000)) {
    const auto host = read_matrix_market<double>(file.string());
    if (host.num_rows > 420) continue;
    const Space space;
    const auto a = copy_to<Space>(host);
    try {
      check_spd_input<double, Space>(space, a);
    } catch (const InputError&) {
      continue;
    }
    AdaptiveFsai<double, Space> fsai(options);
    fsai.symbolic(space, a);
    fsai.numeric(space, a);
    if (fsai.report().breakdowns.count > 0) continue;
    const auto g = to_host(fsai.factor());
    const Dense dense = to_dense(to_host(host));
    double nnz = 0;
    for (int i = 0; i < host.num_rows; ++i) {
      const ReferenceRow row = grow_row(dense, i, {});
      nnz += double(row.pattern.size()) + 1;
      // Ill conditioned local systems lose digits in both; ties may be broken otherwise.
      ASSERT_NEAR(std::pow(g.values[g.row_ptrs[i + 1] - 1], -2) / row.psi, 1, row.tie ? 0.05 : 1e-6)
          << file << " row " << i;
    }
    EXPECT_NEAR(double(g.nnz()) / nnz, 1, 0.01) << file;
    ++compared;
  }
  EXPECT_GE(compared, has_collection() ? 10 : 4);
}

TEST(RealMatrices, EachIsSolvedOrStopsWithANamedReason) {
  const Space space;
  int solved = 0;
  int spd = 0;
  for (const auto& file : matrices_of_kind("spd", 300000)) {
    const auto a = copy_to<Space>(read_matrix_market<double>(file.string()));
    try {
      check_spd_input<double, Space>(space, a);
    } catch (const InputError&) {
      continue;
    }
    ++spd;
    Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
    Kokkos::deep_copy(x, 1.0);
    spmv<double, Space>(space, 1.0, a, as_multivector(VectorView<const double, Space>(x)), 0.0,
                        as_multivector(b));
    Kokkos::deep_copy(x, 0.0);
    AdaptiveFsai<double, Space> fsai;
    fsai.symbolic(space, a);
    fsai.numeric(space, a);
    StoppingOptions stopping;
    stopping.max_iters = 4000;
    const SolveResult result =
        Cg<double, Space>().solve(space, CsrOperator<double, Space>(a), &fsai, b, x, stopping);
    if (result.converged) {
      ++solved;
      EXPECT_LE(result.true_relative_residual, 1.0000001e-5) << file;
    } else {
      EXPECT_TRUE(result.reason == StopReason::max_iters || result.reason == StopReason::stagnation)
          << file << ": " << to_string(result.reason);
    }
    for (double value : to_vector(x)) ASSERT_TRUE(std::isfinite(value)) << file;
  }
  EXPECT_GE(spd, has_collection() ? 45 : 5);
  EXPECT_GE(solved, spd * 9 / 10);
}

}  // namespace
}  // namespace prekond::testing
