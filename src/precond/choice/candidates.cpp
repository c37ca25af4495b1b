// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/candidates.hpp>

#include <algorithm>
#include <cmath>

#include "precond/choice/work.hpp"

namespace prekond {
namespace {

enum class For { spd, any };

/// Iterations with Jacobi that no system is taken to exceed, so that in the end each candidate has its try:
/// by cg, which ends on any definite matrix, and by others.
constexpr double most_iterations_cg = 10000, most_iterations = 1500;
/// Iterations with multigrid on a scalar equation, and on a system: as many on finer meshes.
constexpr double of_multigrid = 12, of_multigrid_on_systems = 45;
/// The same on systems with vectors of the near null space.
constexpr double of_multigrid_with_vectors = 20;
/// The rate so far is believed for `near` times the iterations done; beyond, up to `farthest` times, no less
/// than was expected is.
constexpr double near = 3, farthest = 4;
/// From this number of rows on, the rows of the last resort have all the entries that they may have.
constexpr double rows_of_full_fill = 20000;
/// Steps of IDR, with a product each, over those of BiCGSTAB, which has two, on Helmholtz problems.
constexpr double steps_of_idr = 1.1;
/// The setup of a method that is not in the list.
constexpr double usual_setup = 100;

/// A cost on a host: passes over the memory, in those of a product with A, of which some depend on the mean
/// length of the rows, and loops that start.
struct OnHost {
  double fixed, varying, loops;

  double work(double launch, double factor) const {
    return (fixed + varying * factor) * (1 - launch) + loops * launch;
  }
};

/// A cost on a device: passes over the memory, in those of a product with A, kernels that start, and the part
/// of a kernel's start that each level of a triangular matrix takes.
struct OnDevice {
  double passes, kernels, levels;

  double work(double launch, double num_levels) const {
    return passes * (1 - launch) + (kernels + levels * num_levels) * launch;
  }
};

/// A method as it is known before its setup, with work in products with A.
struct Known {
  const char* name;
  OptionMap options;
  const char* solver;
  For matrices;
  OnHost setup;        ///< varying m for rows of m entries; of ilut varying / m
  OnHost application;  ///< varying / m
  OnDevice device_setup;
  OnDevice device_application;
  double of_jacobis;  ///< iterations over those with Jacobi and the same kind of solver
  double least;       ///< iterations
  bool is_last_resort = false;
};

/// By setups, applications and iterations on matrices of 5 to 40 entries a row, rounded. Rough figures are
/// enough: once a method is tried its iterations are measured.
const std::vector<Known>& known_methods() {
  using enum For;
  const OptionMap level_1 = {{"level", 1}}, level_2 = {{"level", 2}};
  const OptionMap dense = {{"p", 20}, {"tau", 1e-4}}, denser = {{"p", 60}, {"tau", 1e-6}};
  const OptionMap iluk = {{"inner", "iluk"}};
  const OptionMap ilut = {{"inner", "ilut"}, {"inner.p", 60}, {"inner.tau", 1e-6}};
  const OptionMap all = {{"p", last_resort_p}, {"tau", last_resort_tau}};
  const OptionMap all_matched = {
      {"inner", "ilut"}, {"inner.p", last_resort_p}, {"inner.tau", last_resort_tau}};
  static const std::vector<Known> methods = {
      {"jacobi", {}, "cg", spd, {4, 0, 8}, {0, 1, 1}, {10, 25, 0}, {0.2, 1, 0}, 1, 1},
      {"amg", {}, "cg", spd, {125, 1, 270}, {6, 44, 12}, {360, 2500, 0}, {10, 40, 0}, 0.03, 8},
      {"ic0", {}, "cg", spd, {36, 4, 26}, {1.9, 22, 0}, {80, 400, 0.3}, {1.5, 2, 0.3}, 0.33, 5},
      {"ick", level_1, "cg", spd, {92, 7.5, 20}, {5.2, 24, 0}, {250, 1500, 1}, {2.5, 2, 0.6}, 0.1, 4},
      {"ick", level_2, "cg", spd, {87, 40, 20}, {8, 28, 0}, {500, 4000, 2}, {4, 2, 1}, 0.08, 4},
      {"adaptive_fsai", {}, "cg", spd, {57, 0, 190}, {0.4, 18, 0}, {200, 300, 0}, {1.2, 3, 0}, 0.35, 5},
      {"ls_polynomial", {}, "cg", spd, {61, 0, 84}, {7.6, 0, 43}, {80, 430, 0}, {9, 13, 0}, 0.12, 3},
      {"jacobi", {}, "bicgstab", any, {4, 0, 8}, {0, 1, 1}, {10, 25, 0}, {0.2, 1, 0}, 1, 1},
      {"jacobi", {}, "idr", any, {4, 0, 8}, {0, 1, 1}, {10, 25, 0}, {0.2, 1, 0}, steps_of_idr, 1},
      {"ilu0", {}, "bicgstab", any, {58, 5, 104}, {1.1, 12, 0}, {100, 400, 0.3}, {1.5, 2, 0.3}, 0.25, 3},
      {"iluk", level_1, "bicgstab", any, {130, 9, 104}, {1.6, 16, 0}, {400, 1500, 1}, {2.5, 2, 0.6}, 0.3, 3},
      {"iluk", level_1, "gmres", any, {130, 9, 104}, {1.6, 16, 0}, {400, 1500, 1}, {2.5, 2, 0.6}, 0.22, 3},
      {"isai", {}, "bicgstab", any, {137, 13, 70}, {0.6, 2, 1}, {100, 130, 0}, {1, 2, 0}, 0.56, 3},
      {"ilut", dense, "gmres", any, {470, 2000, 235}, {1.5, 60, 0}, {4e4, 2500, 0}, {2, 60, 0.5}, 0.04, 3},
      {"ilut", denser, "gmres", any, {300, 24000, 372}, {4.5, 170, 0}, {2e5, 12000, 0}, {6, 200, 1}, 0.02, 3},
      {"matched", iluk, "gmres", any, {178, 11, 184}, {2.3, 22, 0}, {600, 2500, 1}, {2.5, 3, 0.6}, 0.42, 3},
      {"matched", ilut, "gmres", any, {350, 6000, 416}, {4.5, 170, 0}, {2e5, 15000, 0}, {6, 200, 1}, 0.02, 3},
      {"ilut", all, "gmres", any, {300, 5e5, 372}, {4, 400, 0}, {2e6, 4.5e4, 0}, {9, 500, 2}, 0.01, 3, true},
      {"matched",
       all_matched,
       "gmres",
       any,
       {350, 5e5, 416},
       {4, 400, 0},
       {2e6, 5e4, 0},
       {9, 500, 2},
       0.01,
       3,
       true},
  };
  return methods;
}

bool takes_complex(const Known& known) {
  const std::string name = known.name;
  return name == "jacobi" || name == "adaptive_fsai";
}

/// Why a method does not fit the matrix; empty where it does.
std::string misfit(const Known& known, const MatrixStatistics& facts, bool definite) {
  const std::int64_t weak = facts.diagonal_missing + facts.diagonal_zero;
  if (known.matrices == For::spd && !definite)
    return facts.symmetric_values ? "not every diagonal entry of A is positive" : "A is not symmetric";
  if (known.is_last_resort && facts.num_rows > last_resort_rows)
    return "A has more than " + std::to_string(last_resort_rows) + " rows";
  if (std::string(known.name) == "jacobi" && weak > 0)
    return std::to_string(weak) + " diagonal entries are zero or missing";
  return {};
}

/// The factor by which long rows raise the work of a setup that combines the entries of a row with each
/// other. `fills`: such a row may add the square of its length, where it is eliminated early; often it is
/// not, so that only a fill of over a thousand times A counts.
double work_of_long_rows(const MatrixStatistics& facts, bool fills) {
  const auto longest = static_cast<double>(facts.row_length_max);
  const double relative = longest / std::max(1.0, facts.row_length_mean) / 4;
  const double added = longest * longest / std::max(1.0, static_cast<double>(facts.nnz));
  return fills && added > 1000 ? added : std::clamp(relative * relative, 1.0, 20.0);
}

/// \returns whether nearly all rows are as of an M-matrix: those of a scalar elliptic equation
bool is_scalar_equation(const MatrixStatistics& facts) {
  return 10 * facts.m_matrix_rows >= 9 * facts.num_rows;
}

bool is_of_plane(const MatrixStatistics& facts) {
  return facts.row_length_mean < 6;
}

/// Levels of the triangles of A, one after the other: along a mesh, by experience, or all rows of a chain.
double levels_of_triangle(const MatrixStatistics& facts) {
  const auto n = static_cast<double>(facts.num_rows);
  if (std::max(facts.lower_bandwidth, facts.upper_bandwidth) <= 1) return n;
  if (!is_scalar_equation(facts)) return 15 * std::cbrt(n);
  return is_of_plane(facts) ? 2 * std::sqrt(n) : 3 * std::cbrt(n);
}

/// Iterations with Jacobi that reduce the residual by 10^8: those of a mesh in the plane grow with sqrt(n),
/// in space with the cube root, both by experience; a dominant diagonal bounds them.
double iterations_with_jacobi(const MatrixStatistics& facts, For matrices) {
  const double digits = std::log(1e8), norm = facts.jacobi_norm;
  const auto n = static_cast<double>(facts.num_rows);
  if (matrices == For::any) return norm < 1 ? std::min(240.0, digits / -std::log(norm) / 2) : 240;
  const double by_size = !is_scalar_equation(facts) ? 20 * std::cbrt(n)
                         : is_of_plane(facts)       ? 3 * std::sqrt(n)
                                                    : 2.6 * std::cbrt(n);
  return norm < 1 ? std::min(by_size, digits / 2 * std::sqrt((1 + norm) / (1 - norm))) : by_size;
}

Candidate candidate_of(const Known& known, const MatrixStatistics& facts, bool on_device,
                       bool has_near_null_space) {
  const double row = std::max(1.0, facts.row_length_mean);
  const std::string name = known.name;
  const bool is_gmres = std::string(known.solver) == "gmres";
  Candidate candidate;
  candidate.preconditioner = {known.name, known.options};
  candidate.solver = {
      known.solver,
      is_gmres ? OptionMap{{"restart", known.is_last_resort ? last_resort_restart : 50}} : OptionMap{}};
  candidate.needs_spd = known.matrices == For::spd;
  candidate.is_last_resort = known.is_last_resort;
  if (known.is_last_resort && facts.num_rows <= complete_rows)
    for (auto& [option, value] : candidate.preconditioner.options) {
      if (option.ends_with("tau")) value = 0.0;
      if (option == "p" || option == "inner.p") value = complete_rows;
    }
  // The p entries of a row of ILUT's factors do not grow with the rows of A, nor does the work on them.
  const bool fills_to_p = known.options.count("p") > 0 || known.options.count("inner.p") > 0;
  const double fill =
      known.is_last_resort ? std::min(1.0, static_cast<double>(facts.num_rows) / rows_of_full_fill) : 1;
  const double launch = launch_of_product(facts.num_rows, facts.nnz, on_device);
  const double levels = levels_of_triangle(facts);
  candidate.setup = on_device ? known.device_setup.work(launch, levels)
                              : known.setup.work(launch, fills_to_p ? fill / row : row);
  candidate.application =
      on_device ? known.device_application.work(launch, levels) : known.application.work(launch, 1 / row);
  const bool fills = known.options.count("level") > 0 || known.options == OptionMap{{"inner", "iluk"}};
  if (name == "amg" || fills) candidate.setup *= work_of_long_rows(facts, fills);
  candidate.jacobis = std::max(1.0, iterations_with_jacobi(facts, known.matrices));
  candidate.of_jacobis = known.of_jacobis;
  candidate.least = known.least;
  if (name == "amg") {
    const double iterations = is_scalar_equation(facts) ? of_multigrid
                              : has_near_null_space     ? of_multigrid_with_vectors
                                                        : of_multigrid_on_systems;
    candidate.of_jacobis = std::min(0.5, iterations / candidate.jacobis);
  }
  // Without a matching, an ILU has no pivots for zeros on the diagonal, but for those of a saddle point,
  // which get fill.
  const std::int64_t weak = facts.diagonal_missing + facts.diagonal_zero;
  const bool is_saddle_point = facts.symmetric_pattern && 10 * weak <= 4 * facts.num_rows;
  if (name != "matched" && weak > 0 && !is_saddle_point) candidate.of_jacobis *= 10;
  // The factors of a tridiagonal matrix have no fill to leave out, and a diagonal one has no factors.
  const auto bandwidth = std::max(facts.lower_bandwidth, facts.upper_bandwidth);
  const std::string exact = bandwidth == 0 ? "jacobi" : known.matrices == For::spd ? "ic0" : "ilu0";
  if (bandwidth <= 1 && name == exact) candidate.of_jacobis = candidate.least = 0.01;
  candidate.iteration =
      work_of_iteration(known.solver, candidate.application, facts.num_rows, facts.nnz, launch);
  return candidate;
}

/// Gives a candidate the work and the iterations of another one's preconditioner.
void expect_of_preconditioner(Candidate& candidate, const Candidate& other) {
  const double applications = candidate.solver.name == "bicgstab" ? 2 : 1;
  candidate.iteration += applications * (other.application - candidate.application);
  candidate.setup = other.setup;
  candidate.application = other.application;
  candidate.of_jacobis = other.of_jacobis * (candidate.solver.name == "idr" ? steps_of_idr : 1);
  candidate.least = other.least;
}

}  // namespace

double launch_of_product(std::int64_t num_rows, std::int64_t nnz, bool on_device) {
  const double bytes_in_a_launch = on_device ? 18e6 : 82e3;  // 5 us of 3.6 TB/s, 3.3 us of 25 GB/s
  const double bytes = 12 * static_cast<double>(nnz) + 20 * static_cast<double>(num_rows);
  return bytes_in_a_launch / (bytes_in_a_launch + bytes);
}

double work_of_iteration(const std::string& solver, double application, std::int64_t num_rows,
                         std::int64_t nnz, double launch) {
  const double n = static_cast<double>(num_rows);
  const double pass = (1 - launch) * 8 * n / (12 * static_cast<double>(nnz) + 28 * n);
  if (solver == "cg") return 1 + application + 10 * pass + 7 * launch;
  if (solver == "bicgstab") return 2 * (1 + application) + 22 * pass + 9 * launch;
  if (solver == "idr") return 1 + application + 26 * pass + 9 * launch;
  return 1 + application + 60 * pass + 8 * launch;  // gmres, on average over a restart of 50
}

std::vector<Candidate> candidates_for(const MatrixStatistics& facts, bool on_device, bool is_complex,
                                      bool has_near_null_space) {
  const bool definite = facts.symmetric_values && facts.diagonal_positive == facts.num_rows;
  std::vector<Candidate> candidates;
  for (const Known& known : known_methods()) {
    if (is_complex ? !takes_complex(known) : std::string(known.solver) == "idr") continue;
    Candidate candidate = candidate_of(known, facts, on_device, has_near_null_space);
    candidate.outcome = misfit(known, facts, definite);
    candidate.is_out = !candidate.outcome.empty() || (definite && !candidate.needs_spd);
    candidates.push_back(candidate);
  }
  return candidates;
}

std::vector<Candidate> with_named(std::vector<Candidate> candidates, const MethodChoice& preconditioner,
                                  const MethodChoice& solver) {
  const bool any_solver = solver.name == AutomaticOptions::name,
             any_preconditioner = preconditioner.name == AutomaticOptions::name;
  if (any_solver && any_preconditioner) return candidates;
  const auto known = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return one.preconditioner.name == preconditioner.name;
  });
  std::optional<Candidate> expected;
  if (known != candidates.end()) expected = *known;
  std::vector<Candidate> found;
  for (Candidate& candidate : candidates) {
    if (!any_preconditioner) {
      candidate.preconditioner = preconditioner;
      candidate.setup = usual_setup;
      if (expected) expect_of_preconditioner(candidate, *expected);
      // A misfit was another preconditioner's, or is of cg, which needs a definite A.
      if (!candidate.needs_spd || !any_solver) candidate.outcome.clear();
    }
    if (!any_solver) candidate.solver = solver;
    if (candidate.is_last_resort && candidate.solver.name == "cg") candidate.outcome = "cg was named";
    candidate.is_out = !candidate.outcome.empty();  // a named method may be one for general matrices
    const auto is_same = [&](const Candidate& other) {
      return other.solver.name == candidate.solver.name &&
             other.preconditioner.name == candidate.preconditioner.name &&
             other.preconditioner.options == candidate.preconditioner.options;
    };
    if (std::none_of(found.begin(), found.end(), is_same)) found.push_back(candidate);
  }
  return found;
}

double iterations_left(const std::vector<double>& norms, double target) {
  if (norms.empty()) return std::numeric_limits<double>::infinity();
  const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
  const double now = *std::min_element(norms.begin(), norms.end());
  if (now <= target) return 0;
  if (middle == norms.begin()) return std::numeric_limits<double>::infinity();
  const double before = *std::min_element(norms.begin(), middle);
  const double rate = std::log(before / now) / static_cast<double>(norms.end() - middle);
  return rate > 0 ? std::log(now / target) / rate : std::numeric_limits<double>::infinity();
}

double believed_iterations_left(const std::vector<double>& norms, double target, double expected) {
  const double done = std::max(1.0, static_cast<double>(norms.size()) - 1);
  const double left = iterations_left(norms, target);
  if (left <= near * done) return left;
  return std::max(expected - done, std::min(left, farthest * done));
}

void expect_iterations(std::vector<Candidate>& candidates, std::optional<double> of_jacobi) {
  for (Candidate& candidate : candidates) {
    if (candidate.was_tried) continue;
    const double most = candidate.solver.name == "cg" ? most_iterations_cg : most_iterations;
    const double jacobis = std::min(of_jacobi.value_or(candidate.jacobis), most);
    candidate.iterations = std::max(candidate.least, jacobis * candidate.of_jacobis);
  }
}

std::vector<Candidate> by_expected_work(std::vector<Candidate> candidates, std::optional<double> jacobis) {
  std::erase_if(candidates,
                [](const Candidate& candidate) { return candidate.is_out || candidate.is_last_resort; });
  expect_iterations(candidates, jacobis);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.work() < b.work(); });
  return candidates;
}

void leave_definite(std::vector<Candidate>& candidates, const std::string& failed) {
  const auto is_left = [](const Candidate& one) {
    return !one.was_tried && one.outcome.empty() && !one.needs_spd && !one.is_last_resort;
  };
  const bool has_others = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return is_left(one) && one.preconditioner.name != failed;
  });
  for (Candidate& candidate : candidates) {
    if (candidate.was_tried || !candidate.outcome.empty()) continue;
    candidate.is_out = candidate.needs_spd || (has_others && candidate.preconditioner.name == failed);
    if (candidate.is_out) candidate.outcome = "A is not positive definite";
  }
}

std::string to_string(const Candidate& candidate) {
  std::string text = candidate.preconditioner.name;
  std::string options;
  for (const auto& [name, value] : candidate.preconditioner.options)
    options += (options.empty() ? " (" : ", ") + name + "=" + to_string(value);
  return text + options + (options.empty() ? "" : ")") + " with " + candidate.solver.name;
}

}  // namespace prekond
