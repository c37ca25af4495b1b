// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "condition.hpp"

#include <prekond/core/error.hpp>
#include <prekond/krylov/lanczos.hpp>
#include <prekond/matrix/spmv.hpp>

#include "problem.hpp"

namespace prekond::driver {
namespace {

/// Extremes to a hundredth by their bounds, which is more digits than that in their values.
constexpr double tolerance = 1e-2;
constexpr int most_steps = 500;
/// A larger one of M^-1 A is compared with what A is by itself. Where A is singular, M is regular only by
/// rounding or by a shift of eps^(2/3), as on the coarsest level of `amg`.
constexpr double doubtful_condition = 1e5;
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

namespace {

/// The signs of the Ritz values, where those of rounding size are zero.
std::string definiteness_of(const LanczosResult& found) {
  if (found.positive_definite) return "positive definite";
  const bool has_negative =
      found.smallest.value<-found.rounding, has_positive = found.largest.value> found.rounding;
  if (has_negative && has_positive) return "indefinite";
  if (!has_negative) return "singular";
  return found.largest.value < -found.rounding ? "negative definite" : "singular";
}

/// Tells before the work how much it may be, with the time of a few steps.
template <class Scalar>
void announce(const Context& context, const Operator<Scalar, Space>& a,
              const Preconditioner<Scalar, Space>* m, const Reducer<Scalar, Space>& reducer, bool is_full,
              double most_rows) {
  if (context.settings.quiet) return;
  LanczosOptions options;
  options.steps = 5;
  Kokkos::fence("prekond::driver::condition");
  const Kokkos::Timer timer;
  lanczos<Scalar, Space>(context.space, a, m, options, reducer);
  const double seconds = timer.seconds() / options.steps;
  const double vectors = is_full ? (m ? 2 : 1) * most_steps : m ? 6 : 4;
  context.progress.note(text_of(
      "--condition makes at most ", most_steps, " Lanczos steps, one product with A",
      m ? " and one application of M^-1" : "", " each (about ", seconds_text(seconds), "), and keeps up to ",
      bytes_text(static_cast<std::int64_t>(vectors * most_rows * sizeof(Scalar))), " of vectors",
      m ? "; as many steps follow with A by itself where M^-1 A looks singular" : ""));
}

}  // namespace

template <class Scalar>
Json measure_condition(const Context& context, const Operator<Scalar, Space>& a,
                       const Preconditioner<Scalar, Space>* m, const Reducer<Scalar, Space>& reducer,
                       double most_rows) {
  const bool is_full = (m ? 2 : 1) * most_steps * most_rows * sizeof(Scalar) <= most_bytes;
  LanczosOptions options;
  options.steps = most_steps;
  options.tolerance = tolerance;
  options.reorthogonalization = is_full ? Reorthogonalization::full : Reorthogonalization::local;
  announce<Scalar>(context, a, m, reducer, is_full, most_rows);
  Kokkos::fence("prekond::driver::condition");
  const Kokkos::Timer timer;
  const LanczosResult found = lanczos<Scalar, Space>(context.space, a, m, options, reducer);
  bool is_singular = false;
  // M^-1 A is singular where A is, and the zero of A is not lost in rounding errors of M.
  if (m && found.condition > doubtful_condition)
    if (const LanczosResult own = lanczos<Scalar, Space>(context.space, a, nullptr, options, reducer);
        own.steps > 0 && !own.positive_definite)
      is_singular = true;
  Json facts = {{"preconditioner", m ? m->name() : "none"}, {"scaled", context.settings.scale}};
  for (const char* key : {"smallest", "smallest_bound", "largest", "largest_bound", "condition",
                          "positive_definite", "definiteness"})
    facts[key] = nullptr;
  if (is_singular) facts.update({{"positive_definite", false}, {"definiteness", "singular"}});
  // There is no number where the method has shown nothing, or that it was not for M or A.
  if (found.steps > 0 && found.reason != LanczosEnd::preconditioner_not_spd &&
      found.reason != LanczosEnd::nan && !is_singular) {
    facts.update({{"smallest", found.smallest.value},
                  {"smallest_bound", found.smallest.bound},
                  {"largest", found.largest.value},
                  {"largest_bound", found.largest.bound},
                  {"positive_definite", found.positive_definite},
                  {"definiteness", definiteness_of(found)}});
    if (found.positive_definite) facts["condition"] = found.condition;
  }
  facts.update(
      {{"steps", found.steps},
       {"reorthogonalization", is_full ? "full" : "local"},
       {"converged", found.reason == LanczosEnd::tolerance || found.reason == LanczosEnd::invariant_subspace},
       {"reason", to_string(found.reason)},
       {"seconds", timer.seconds()}});
  return facts;
}

void print_condition(const Json& report) {
  if (!report.contains("condition")) return;
  const Json& found = report.at("condition");
  const bool is_converged = found.at("converged");
  std::string text = found.at("preconditioner") == "none" ? "of A" : "of M^-1 A";
  text += found.at("scaled") ? ", scaled: " : ": ";
  if (found.at("positive_definite").is_null())
    text += "unknown";
  else if (!found.at("positive_definite"))
    text += "not positive definite but " + found.at("definiteness").get<std::string>();
  else
    text += format("%s%.4g", is_converged ? "" : "at least ", found.at("condition").get<double>());
  if (found.at("smallest").is_number())
    text += format("; eigenvalues from %.6g (within %.1e) to %.6g (within %.1e)",
                   found.at("smallest").get<double>(), found.at("smallest_bound").get<double>(),
                   found.at("largest").get<double>(), found.at("largest_bound").get<double>());
  print_line("condition", text_of(text, "; ", found.at("steps"), " Lanczos steps",
                                  found.at("reorthogonalization") == "full" ? ", all vectors kept" : "",
                                  is_converged ? ", converged (" : ", NOT CONVERGED (", found.at("reason"),
                                  "), ", seconds_text(found.at("seconds"))));
}

template <class Scalar>
std::string negative_definite_text(const Space& space, const Matrix<Scalar>& a) {
  LanczosOptions options;
  options.steps = 100;
  options.tolerance = tolerance;
  const LanczosResult found = lanczos<Scalar, Space>(space, CsrOperator<Scalar, Space>(a), nullptr, options);
  if (found.steps == 0 || !(found.smallest.value < -found.rounding) ||
      !(found.largest.value <= found.rounding))
    return "";
  return text_of("the matrix is negative ",
                 definiteness_of(found) == "singular" ? "semidefinite" : "definite",
                 format(" (eigenvalues from %.6g to %.6g, by ", found.smallest.value, found.largest.value),
                 found.steps, " Lanczos steps), so that -A is positive ",
                 definiteness_of(found) == "singular" ? "semidefinite" : "definite",
                 ": negate the matrix and the right-hand side");
}

#define PREKOND_DRIVER_CONDITION(Scalar)                                                  \
  template Json measure_condition<Scalar>(const Context&, const Operator<Scalar, Space>&, \
                                          const Preconditioner<Scalar, Space>*,           \
                                          const Reducer<Scalar, Space>&, double);         \
  template std::string negative_definite_text<Scalar>(const Space&, const Matrix<Scalar>&);
PREKOND_DRIVER_CONDITION(double)
PREKOND_DRIVER_CONDITION(Complex)

}  // namespace prekond::driver
