// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/batch_cases.hpp"
#include "testing/matrices.hpp"
#include "testing/reference_batched.hpp"
#include "testing/reference_bicgstab.hpp"
#include "testing/spaces.hpp"
#include "testing/tar_archive.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/io/matrix_market.hpp>

#include <functional>
#include <optional>
#include <set>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Residuals = std::vector<double>;

constexpr int most_iterations = 500, most_sweeps = 1000;
constexpr double tolerance = 1e-10;

const std::map<BatchedPreconditioner, std::string> inverses = {{BatchedPreconditioner::none, "none"},
                                                               {BatchedPreconditioner::jacobi, "jacobi"},
                                                               {BatchedPreconditioner::ilu0, "ilu0"},
                                                               {BatchedPreconditioner::par_ilu, "par_ilu"},
                                                               {BatchedPreconditioner::isai, "isai"}};

/// Iterations until ||r|| <= 1e-10; empty where it does not get there.
std::optional<int> iterations_of(const Residuals& residuals) {
  for (std::size_t k = 0; k < residuals.size(); ++k)
    if (residuals[k] <= tolerance) return static_cast<int>(k);
  return {};
}

/// ||r|| of BiCGSTAB for b = 1, from before the first iteration on, as the batched method knows it.
Residuals residuals_of_batch(const HostMatrix<double>& a, BatchedPreconditioner inverse) {
  BatchedOptions options = options_of(BatchedMethod::bicgstab, inverse, 0, most_iterations);
  options.stopping.atol = tolerance;
  options.history = most_iterations + 1;
  options.sweeps = most_sweeps;
  const DeviceBatch<double, Space> batch({a});
  const auto solved = solve_batch<double>(batch.matrix, {std::vector<double>(a.num_rows, 1.0)}, options);
  Residuals residuals = solved.history[0];
  residuals.resize(std::min<std::size_t>(residuals.size(), solved.iterations[0] + 1));
  return residuals;
}

/// The same by the textbook's method and the textbook's preconditioner, one operation after the other.
Residuals residuals_of_textbook(const HostMatrix<double>& a, BatchedPreconditioner inverse) {
  using Vector = std::vector<double>;
  std::function<Vector(const Vector&)> m = [](const Vector& r) { return r; };
  if (inverse == BatchedPreconditioner::jacobi)
    m = [&](Vector r) {
      for (std::size_t i = 0; i < r.size(); ++i) r[i] /= a(i, i) != 0 ? a(i, i) : 1;
      return r;
    };
  if (inverse == BatchedPreconditioner::isai)
    m = [rows = local_inverse(a, power_pattern(a, 1))](const Vector& r) { return plain_product(rows, r); };
  if (inverse == BatchedPreconditioner::ilu0)
    m = [f = plain_ilu0(a)](const Vector& r) { return plain_solve(f, r); };
  if (inverse == BatchedPreconditioner::par_ilu)
    m = [f = plain_par_ilu(a, most_sweeps)](const Vector& r) { return plain_solve(f, r); };
  const Vector b(a.num_rows, 1.0);
  return reference_bicgstab(a, b, m, tolerance / norm(b), most_iterations).history;
}

/// Here ||r|| stagnates near 1e-10, and rounding decides when it gets there. ParILU
/// ends with the beam's LU: one iteration takes the textbook's ||r|| to 3e-22, but ||b - A x|| to 3e-10, from
/// where the batch goes on.
const std::set<std::pair<std::string, BatchedPreconditioner>> rounding_decides = {
    {"494_bus", BatchedPreconditioner::isai}, {"poisson2d_jumps", BatchedPreconditioner::none},
    {"beam", BatchedPreconditioner::none},    {"beam", BatchedPreconditioner::jacobi},
    {"beam", BatchedPreconditioner::par_ilu}, {"beam", BatchedPreconditioner::isai}};

/// The first residuals are the textbook's. Later ones drift apart with the condition number, by the order of
/// sums: where the textbook takes at most 30 iterations the batch takes as many, give or take 2 and 15 per
/// cent; elsewhere it takes at most twice as many.
void expect_as_textbook(const std::string& name, const HostMatrix<double>& a) {
  for (const auto& [inverse, inverse_name] : inverses) {
    SCOPED_TRACE(name + ", " + inverse_name);
    const Residuals found = residuals_of_batch(a, inverse), expected = residuals_of_textbook(a, inverse);
    for (std::size_t k = 0; k < std::min<std::size_t>({4, found.size(), expected.size()}); ++k)
      EXPECT_NEAR(found[k], expected[k], 1e-5 * std::max(expected[0], expected[k])) << "iteration " << k;
    const auto count = iterations_of(found), of_textbook = iterations_of(expected);
    if (!of_textbook || rounding_decides.count({name, inverse}) > 0) continue;
    ASSERT_TRUE(count) << "the textbook's method takes " << *of_textbook;
    EXPECT_LE(*count, 1 + 2 * *of_textbook);
    if (*of_textbook <= 30) {
      EXPECT_NEAR(*count, *of_textbook, 2 + 0.15 * *of_textbook);
    }
  }
}

TEST(BatchedRealMatrices, ResidualsAndIterationsOfTheTextbook) {
  for (const auto& file :
       matrices_named({"general/convection_diffusion2d.mtx", "general/convection.mtx", "general/circuit.mtx",
                       "general/skewed_rows.mtx", "general/dense.mtx", "spd/poisson2d_jumps.mtx",
                       "spd/elasticity_strip.mtx", "spd/beam.mtx", "spd/graph_laplacian.mtx",
                       "symmetric/saddle_point.mtx"},
                      {"spd/LFAT5.mtx", "spd/bcsstm02.mtx", "spd/LF10.mtx", "spd/Trefethen_20.mtx",
                       "general/pivtol.mtx", "symmetric/bfwb62.mtx", "general/olm100.mtx", "spd/bcsstk22.mtx",
                       "general/ck104.mtx", "spd/494_bus.mtx", "spd/mesh3em5.mtx", "spd/mhdb416.mtx",
                       "spd/bcsstk05.mtx", "general/steam1.mtx"}))
    expect_as_textbook(file.stem().string(), to_host(read_matrix_market<double>(file.string())));
}

/// A batch of files, whose systems take as many iterations together as one by one.
TEST(BatchedRealMatrices, SystemsOfABatchEqualOnesSolvedAlone) {
  std::vector<HostMatrix<double>> systems;
  for (const auto& file :
       matrices_named({"batch/reaction_0.mtx", "batch/reaction_1.mtx", "batch/reaction_2.mtx"}, {}))
    systems.push_back(to_host(read_matrix_market<double>(file.string())));
  const DeviceBatch<double, Space> batch(systems);
  const std::vector<std::vector<double>> b(3, std::vector<double>(systems[0].num_rows, 1.0));
  for (const auto& [inverse, name] : inverses) {
    SCOPED_TRACE(name);
    const auto solved = solve_batch<double>(batch.matrix, b, options_of(BatchedMethod::bicgstab, inverse));
    for (int s = 0; s < 3; ++s) {
      const DeviceBatch<double, Space> one({systems[s]});
      const auto alone =
          solve_batch<double>(one.matrix, {b[s]}, options_of(BatchedMethod::bicgstab, inverse));
      EXPECT_EQ(solved.reasons[s], StopReason::rtol);
      EXPECT_EQ(solved.iterations[s], alone.iterations[0]);
      EXPECT_LE(residual_norm(systems[s], b[s], solved.x[s]), 1.0001e-10 * norm(b[s]));
    }
  }
}

/// Iterations by the slides of Aggarwal, Nayak, Kashi and Anzt (test cases); 0: theirs did not converge, or
/// rounding decides. ParILU on pivtol, olm100 and ck104 (2, 98, 15) and ISAI on ck104, mesh3em5, mhdb416 and
/// bcsstk05 (164, 10, 41, 149) are ours, because their numbers of sweeps and local systems are not known.
struct SlideRow {
  const char* file;
  int none, jacobi, ilu0, par_ilu, isai;
};
const std::vector<SlideRow> slides = {{"spd/LFAT5.mtx", 0, 0, 7, 8, 0},
                                      {"spd/bcsstm02.mtx", 11, 1, 1, 1, 1},
                                      {"spd/LF10.mtx", 0, 0, 38, 34, 0},
                                      {"spd/Trefethen_20.mtx", 19, 8, 5, 5, 6},
                                      {"general/pivtol.mtx", 16, 13, 2, 4, 7},
                                      {"symmetric/bfwb62.mtx", 30, 15, 6, 6, 9},
                                      {"general/olm100.mtx", 0, 0, 36, 36, 26},
                                      {"general/ck104.mtx", 112, 118, 13, 12, 98},
                                      {"spd/mesh3em5.mtx", 14, 13, 1, 1, 8},
                                      {"spd/mhdb416.mtx", 0, 37, 2, 2, 8},
                                      {"spd/bcsstk05.mtx", 325, 124, 32, 32, 123},
                                      {"general/steam1.mtx", 0, 0, 3, 3, 0}};

TEST(BatchedRealMatrices, IterationsOfPublishedSlides) {
  for (const auto& row : slides) {
    for (const auto& file : matrices_named({}, {row.file})) {
      const auto a = to_host(read_matrix_market<double>(file.string()));
      for (const auto& [inverse, slide] : {std::pair{BatchedPreconditioner::none, row.none},
                                           std::pair{BatchedPreconditioner::jacobi, row.jacobi},
                                           std::pair{BatchedPreconditioner::ilu0, row.ilu0},
                                           std::pair{BatchedPreconditioner::par_ilu, row.par_ilu},
                                           std::pair{BatchedPreconditioner::isai, row.isai}}) {
        if (slide == 0) continue;
        SCOPED_TRACE(std::string(row.file) + ", " + inverses.at(inverse));
        const auto found = iterations_of(residuals_of_batch(a, inverse));
        ASSERT_TRUE(found);
        EXPECT_NEAR(*found, slide, std::max(1.0, 0.15 * slide));
      }
    }
  }
}

/// The systems of a mechanism of PeleLM, MECHANISM/0/A.mtx and on; none where the collection is not there.
std::vector<HostMatrix<double>> systems_of(const std::string& mechanism) {
  std::vector<HostMatrix<double>> systems;
  for (const auto& archive : matrices_named({}, {"batched/" + mechanism + ".tar.gz"})) {
    const TemporaryFolder folder(mechanism);
    unpack_tar(archive.string(), folder);
    const auto file = [&] { return folder / (mechanism + "/" + std::to_string(systems.size()) + "/A.mtx"); };
    while (std::filesystem::exists(file())) systems.push_back(to_host(read_matrix_market<double>(file())));
  }
  return systems;
}

/// b = 1, to 1e-6: the solutions that are said to have converged have.
SolvedBatch<double> solve_mechanism(const std::vector<HostMatrix<double>>& systems,
                                    BatchedPreconditioner inverse) {
  const std::vector<std::vector<double>> b(systems.size(), std::vector<double>(systems[0].num_rows, 1.0));
  const DeviceBatch<double, Space> batch(systems);
  const auto options = options_of(BatchedMethod::bicgstab, inverse, 1e-6, most_iterations);
  const auto solved = solve_batch<double>(batch.matrix, b, options);
  const auto ell = to_ell<double>(Space(), batch.matrix);
  EXPECT_NEAR(solve_batch<double>(ell.matrix, b, options).report.mean_iterations,
              solved.report.mean_iterations, 0.1 * solved.report.mean_iterations);
  for (std::size_t s = 0; s < systems.size(); ++s)
    if (converged(solved.reasons[s])) {
      EXPECT_LE(residual_norm(systems[s], b[s], solved.x[s]), 1.001e-6 * norm(b[s])) << "system " << s;
    }
  return solved;
}

/// Some systems have residuals near 2e-6 even by Gaussian elimination: there rounding decides who gets to
/// 1e-6.
TEST(BatchedRealMatrices, IsooctaneTakesTheIterationsOfTheSlides) {
  const auto systems = systems_of("isooctane");
  if (systems.empty()) GTEST_SKIP() << "without the collection's batched/isooctane.tar.gz";
  ASSERT_EQ(systems.size(), 36);
  for (const auto& [inverse, slide] :
       {std::pair{BatchedPreconditioner::jacobi, 38}, std::pair{BatchedPreconditioner::ilu0, 3},
        std::pair{BatchedPreconditioner::par_ilu, 4}, std::pair{BatchedPreconditioner::isai, 8}}) {
    SCOPED_TRACE(inverses.at(inverse));
    const auto solved = solve_mechanism(systems, inverse);
    EXPECT_NEAR(solved.report.mean_iterations, slide, std::max(1.2, 0.1 * slide));
    EXPECT_GE(solved.report.num_converged, 24);
    for (const int unsettled : solved.unsettled) EXPECT_EQ(unsettled, 0);
    for (std::size_t s = 0; s < systems.size(); ++s)
      if (!converged(solved.reasons[s])) {
        EXPECT_EQ(solved.reasons[s], StopReason::stagnation) << "system " << s;
        EXPECT_LE(solved.relative[s], 1e-5) << "system " << s;
      }
  }
  EXPECT_LE(solve_mechanism(systems, BatchedPreconditioner::none).report.num_converged, 10)
      << "of which the slides have none";
}

TEST(BatchedRealMatrices, LidryerTakesOneOrTwoIterations) {
  const auto systems = systems_of("lidryer");
  if (systems.empty()) GTEST_SKIP() << "without the collection's batched/lidryer.tar.gz";
  ASSERT_EQ(systems.size(), 100);
  for (const auto& [inverse, name] : inverses) {
    SCOPED_TRACE(name);
    const auto solved = solve_mechanism(systems, inverse);
    EXPECT_EQ(solved.report.num_converged, 100);
    const bool pointwise = inverse == BatchedPreconditioner::none || inverse == BatchedPreconditioner::jacobi;
    EXPECT_EQ(solved.report.max_iterations, pointwise ? 2 : 1);
  }
}

}  // namespace
}  // namespace prekond::testing
