// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../benchmark_main.hpp"
#include "../krylov_problem.hpp"

#include <prekond/matrix/bcsr_matrix.hpp>

#include <amgx_c.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

/// AmgX with configurations of its own on one of our matrices, on the GPU, a row of JSON each:
/// peer_amgx --matrix=elasticity3d:100 --configs=PCG_V.json,FGMRES_AGGREGATION.json [--folder=.]
///   [--block=1: rows of a block] [--rhs=random|a_ones] [--rtol=1e-6] [--max_iters=1000] [--repetitions=3]
/// A configuration's outer solver must have the scope "main", as AmgX's own files have. `residual` is that of
/// the solution, by our product with A; `first_setup_seconds` is that of this process's first, and what has
/// not converged is run once. `status`: AmgX's, or the call that failed, after which the program ends: a
/// failure of CUDA would spoil those that follow.
namespace {

using prekond::perf::Space;

void check(AMGX_RC code, const char* what) {
  if (code == AMGX_RC_OK) return;
  char text[512];
  AMGX_get_error_string(code, text, sizeof(text));
  throw std::runtime_error(std::string(what) + ": " + text);
}

struct Settings {
  std::string folder;
  int block = 1, max_iters = 1000;
  double rtol = 1e-6;
};

struct Run {
  double setup = 0, solve = 0;
  int iterations = 0;
  AMGX_SOLVE_STATUS status = AMGX_SOLVE_FAILED;
};

/// A and b of one configuration, since AmgX keeps what it prepares with the matrix.
class System {
 public:
  System(const prekond::perf::Problem& problem, const Settings& settings, const std::string& name) {
    char more[256];
    std::snprintf(more, sizeof(more), "config_version=2, main:max_iters=%d, main:tolerance=%g",
                  settings.max_iters, settings.rtol);
    check(AMGX_config_create_from_file_and_string(&m_config, (settings.folder + "/" + name).c_str(), more),
          "configuration");
    check(AMGX_resources_create_simple(&m_resources, m_config), "resources");
    check(AMGX_matrix_create(&m_a, m_resources, AMGX_mode_dDDI), "matrix");
    check(AMGX_vector_create(&m_b, m_resources, AMGX_mode_dDDI), "vector");
    check(AMGX_vector_create(&m_x, m_resources, AMGX_mode_dDDI), "vector");
    const Space space;
    const auto blocks =
        prekond::to_bcsr<double, Space>(space, problem.a, settings.block, prekond::BlockOrder::by_rows);
    if (blocks.padding > 0) throw std::runtime_error("the rows are no multiple of the block");
    const auto n = static_cast<int>(blocks.num_block_rows);
    const Kokkos::View<int*, Space> ptrs("row_ptrs", n + 1);
    Kokkos::deep_copy(ptrs, blocks.row_ptrs);
    check(
        AMGX_matrix_upload_all(m_a, n, static_cast<int>(blocks.num_blocks()), settings.block, settings.block,
                               ptrs.data(), blocks.col_idxs.data(), blocks.values.data(), nullptr),
        "upload");
    check(AMGX_vector_bind(m_b, m_a), "bind");
    check(AMGX_vector_bind(m_x, m_a), "bind");
    check(AMGX_vector_upload(m_b, n, settings.block, problem.b.data()), "upload");
    check(AMGX_vector_set_zero(m_x, n, settings.block), "zero");
  }
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System() {
    AMGX_vector_destroy(m_x);
    AMGX_vector_destroy(m_b);
    AMGX_matrix_destroy(m_a);
    AMGX_resources_destroy(m_resources);
    AMGX_config_destroy(m_config);
  }

  Run run() const {
    const Space space;
    Run run;
    AMGX_solver_handle solver = nullptr;
    run.setup = prekond::perf::seconds(space, [&] {
      check(AMGX_solver_create(&solver, m_resources, AMGX_mode_dDDI, m_config), "solver");
      check(AMGX_solver_setup(solver, m_a), "setup");
    });
    // AmgX takes x to be zero then, and adds to what it is.
    int n = 0, block = 0;
    check(AMGX_vector_get_size(m_x, &n, &block), "size");
    check(AMGX_vector_set_zero(m_x, n, block), "zero");
    run.solve = prekond::perf::seconds(
        space, [&] { check(AMGX_solver_solve_with_0_initial_guess(solver, m_b, m_x), "solve"); });
    check(AMGX_solver_get_status(solver, &run.status), "status");
    check(AMGX_solver_get_iterations_number(solver, &run.iterations), "iterations");
    check(AMGX_solver_destroy(solver), "end of the solver");
    return run;
  }

  void solution(const prekond::Vector<double, Space>& x) const {
    check(AMGX_vector_download(m_x, x.data()), "download");
  }

 private:
  AMGX_config_handle m_config = nullptr;
  AMGX_resources_handle m_resources = nullptr;
  AMGX_matrix_handle m_a = nullptr;
  AMGX_vector_handle m_b = nullptr, m_x = nullptr;
};

/// ||b - A x|| / ||b||
double relative_residual(const prekond::perf::Problem& problem) {
  using namespace prekond;
  const Space space;
  const Vector<double, Space> rest("rest", problem.b.extent(0));
  Kokkos::deep_copy(rest, problem.b);
  spmv<double, Space>(space, -1.0, problem.a, as_multivector(VectorView<const double, Space>(problem.x)), 1.0,
                      as_multivector(rest));
  const auto b = problem.b;
  double difference = 0, right = 0;
  Kokkos::parallel_reduce(
      "peer::norms", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i, double& d, double& r) {
        d += rest(i) * rest(i);
        r += b(i) * b(i);
      },
      difference, right);
  return std::sqrt(difference / right);
}

std::string status_text(AMGX_SOLVE_STATUS status) {
  const char* names[] = {"converged", "failed", "diverged", "not converged"};
  return names[static_cast<int>(status) & 3];
}

void run(int& argc, char** argv) {
  using namespace prekond::perf;
  const std::string spec = take_flag(argc, argv, "matrix", "poisson3d:64");
  const std::string rhs = take_flag(argc, argv, "rhs", "random");
  Settings settings;
  settings.folder = take_flag(argc, argv, "folder", ".");
  settings.block = std::stoi(take_flag(argc, argv, "block", "1"));
  settings.rtol = std::stod(take_flag(argc, argv, "rtol", "1e-6"));
  settings.max_iters = std::stoi(take_flag(argc, argv, "max_iters", "1000"));
  const int repetitions = std::stoi(take_flag(argc, argv, "repetitions", "3"));
  const auto problem = make_problem(spec);
  if (rhs == "random") fill_random(problem->b);
  for (const std::string& name : words(take_flag(argc, argv, "configs", ""))) {
    Run first, last;
    std::vector<double> setups, solves;
    std::string status, residual = "null";
    bool has_failed = false;
    try {
      const System system(*problem, settings, name);
      first = last = system.run();
      for (int k = 0; k < repetitions && last.status == AMGX_SOLVE_SUCCESS; ++k) {
        last = system.run();
        setups.push_back(last.setup);
        solves.push_back(last.solve);
      }
      status = status_text(last.status);
      system.solution(problem->x);
      char text[32];
      std::snprintf(text, sizeof(text), "%.3e", relative_residual(*problem));
      residual = text;
    } catch (const std::exception& error) {
      status = error.what();
      has_failed = true;
    }
    if (setups.empty()) setups = {first.setup}, solves = {first.solve};
    std::printf(
        "{\"peer\": \"amgx\", \"matrix\": \"%s\", \"rhs\": \"%s\", \"setting\": \"%s\", \"block\": %d, "
        "\"status\": \"%s\", \"first_setup_seconds\": %.6f, \"setup_seconds\": %.6f, \"solve_seconds\": "
        "%.6f, \"iterations\": %d, \"residual\": %s}\n",
        spec.c_str(), rhs.c_str(), name.c_str(), settings.block, status.c_str(), first.setup, median(setups),
        median(solves), last.iterations, residual.c_str());
    std::fflush(stdout);
    if (has_failed) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  check(AMGX_initialize(), "AMGX_initialize");
  // Only rows of JSON go to the output.
  check(AMGX_register_print_callback([](const char*, int) {}), "print callback");
  run(argc, argv);
  AMGX_finalize();
  return 0;
}
