// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "condition.hpp"

#include <prekond/core/error.hpp>

#include <cmath>

#include "problem.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// Extremes to a hundredth by their bounds, which is more digits than that in their values.
constexpr double tolerance = 1e-2;
constexpr int most_steps = 500;
/// Full reorthogonalisation keeps all vectors; where they take more than this, the local one has to do:
/// extreme eigenvalues come out the same, after more steps.
constexpr double most_bytes = 1e9;

}  // namespace

void check_condition(const Settings& settings, const std::string& command, const Properties& precond) {
  if (!settings.condition) {
    if (command == "info" && settings.precond != "none")
      throw OptionError(
          "--precond of info is for --condition, the condition number of M^-1 A; add --condition");
    return;
  }
  if (precond.is_variable)
    throw OptionError(
        "--condition needs a preconditioner that is the same operator for all vectors, and '" +
        settings.precond +
        "' is not with these options; choose others (of amg cycle=v), another preconditioner, or "
        "leave --condition out");
  if (precond.symmetry == Symmetry::nonsymmetric)
    throw OptionError("--condition needs a symmetric preconditioner, and '" + settings.precond +
                      "' is not symmetric with these options; choose another one ('prekond list "
                      "preconditioners'), or none, or leave --condition out");
}

void check_condition_of(const std::string& matrix, bool symmetric) {
  if (!symmetric)
    throw InputError(
        matrix + ": --condition is for symmetric (Hermitian) matrices, and this one is not; leave it out");
}

template <class Scalar>
Condition measure_condition(const Space& space, const Operator<Scalar, Space>& a,
                            const Preconditioner<Scalar, Space>* m, const Reducer<Scalar, Space>& reducer,
                            double most_rows) {
  Condition condition;
  condition.precond = m ? m->name() : "none";
  condition.full = (m ? 2 : 1) * most_steps * most_rows * sizeof(Scalar) <= most_bytes;
  LanczosOptions options;
  options.steps = most_steps;
  options.tolerance = tolerance;
  options.reorthogonalization = condition.full ? Reorthogonalization::full : Reorthogonalization::local;
  Kokkos::fence("prekond::driver::condition");
  const Kokkos::Timer timer;
  condition.found = lanczos<Scalar, Space>(space, a, m, options, reducer);
  condition.seconds = timer.seconds();
  return condition;
}

void print_condition(const Condition& condition) {
  const LanczosResult& found = condition.found;
  const std::string what =
      std::string(condition.precond == "none" ? "of A" : "of M^-1 A") + (condition.scaled ? ", scaled" : "");
  const std::string how =
      format("%d Lanczos steps%s, %s (%s), %s", found.steps, condition.full ? ", all vectors kept" : "",
             condition.converged() ? "converged" : "NOT CONVERGED", to_string(found.reason).c_str(),
             seconds_text(condition.seconds).c_str());
  if (!condition.known()) return print_line("condition", what + ": unknown; " + how);
  const std::string number = found.positive_definite
                                 ? format("%s%.4g", condition.converged() ? "" : "at least ", found.condition)
                                 : std::string("not positive definite");
  print_line("condition",
             what + ": " + number +
                 format("; eigenvalues from %.6g (within %.1e) to %.6g (within %.1e); ", found.smallest.value,
                        found.smallest.bound, found.largest.value, found.largest.bound) +
                 how);
}

nlohmann::ordered_json condition_json(const Condition& condition) {
  const LanczosResult& found = condition.found;
  const bool known = condition.known();
  const auto value = [&](double x) {
    return known ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
  };
  return {{"preconditioner", condition.precond},
          {"scaled", condition.scaled},
          {"smallest", value(found.smallest.value)},
          {"smallest_bound", value(found.smallest.bound)},
          {"largest", value(found.largest.value)},
          {"largest_bound", value(found.largest.bound)},
          {"condition", value(found.positive_definite ? found.condition : NAN)},
          {"positive_definite",
           known ? nlohmann::ordered_json(found.positive_definite) : nlohmann::ordered_json(nullptr)},
          {"steps", found.steps},
          {"reorthogonalization", condition.full ? "full" : "local"},
          {"converged", condition.converged()},
          {"reason", to_string(found.reason)},
          {"seconds", condition.seconds}};
}

#define PREKOND_DRIVER_CONDITION(Scalar)                                                     \
  template Condition measure_condition<Scalar>(const Space&, const Operator<Scalar, Space>&, \
                                               const Preconditioner<Scalar, Space>*,         \
                                               const Reducer<Scalar, Space>&, double);
PREKOND_DRIVER_CONDITION(double)
PREKOND_DRIVER_CONDITION(Complex)

}  // namespace prekond::driver
