// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The bytes are a matrix of at most 24 rows, a preconditioner and a solver with options, a right-hand side
/// and an initial vector. Each ends as a success whose residual, computed in quadruple precision, is within
/// the tolerance; with a named reason; or as an InputError. Other checks: see check_end and
/// check_needless_failure.
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/validate.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>

#include "fuzz/fuzz_input.hpp"
#include "fuzz/small_matrix.hpp"
#include "testing/one_thread.hpp"

namespace prekond::fuzz {
namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Values = std::vector<double>;
using Csr = CsrMatrix<double, int, std::size_t, Space::memory_space>;

/// The stored entries, multiplied by a factor.
Csr to_csr(const SmallMatrix& a, double factor = 1) {
  const int nnz = static_cast<int>(std::count(a.stored.begin(), a.stored.end(), true));
  Csr csr(a.n, a.n, Csr::view<std::size_t>("fuzz::row_ptrs", a.n + 1), Csr::view<int>("fuzz::col_idxs", nnz),
          Csr::view<double>("fuzz::values", nnz));
  std::size_t k = 0;
  for (int i = 0; i < a.n; ++i) {
    for (int j = 0; j < a.n; ++j) {
      if (!a.stored[i * a.n + j]) continue;
      csr.col_idxs(k) = j;
      csr.values(k++) = factor * a(i, j);
    }
    csr.row_ptrs(i + 1) = k;
  }
  return csr;
}

/// A text for an option: mostly in its range, and no number of steps that takes long.
std::string value_of(const OptionField& field, FuzzInput& input) {
  const int choice = input.below(256);
  std::istringstream range(field.range);
  if (field.kind == "choice" || field.kind == "method") {
    std::vector<std::string> words;
    for (std::string word; range >> word;)
      if (word != "|") words.push_back(word);
    if (field.kind == "method") words = registered_names(preconditioner_registry<double, Space>());
    return words.empty() ? "" : words[choice % words.size()];
  }
  if (field.kind == "bool") return choice % 2 == 0 ? "true" : "false";
  double least = 0, most = 1;
  std::string dots;
  range >> least >> dots >> most;
  const double step = field.kind == "int" ? choice % (choice < 128 ? 4 : 32) : choice / 64.0;
  if (choice % 16 == 15) return field.kind == "int" ? "-1" : to_string(OptionValue(least));
  return to_string(field.kind == "int" ? OptionValue(static_cast<std::int64_t>(least + step))
                                       : OptionValue(std::min(least + step, most)));
}

template <class Base>
MethodChoice method_of(const Registry<Base>& registry, FuzzInput& input) {
  MethodChoice choice{registry[input.below(static_cast<int>(registry.size()))].name, {}};
  const auto configurator = configured(registry, choice, "method");
  const auto fields = configurator->fields().list();
  for (int options = input.below(8) - 4; options > 0 && !fields.empty(); --options) {
    const auto& field = fields[input.below(static_cast<int>(fields.size()))];
    choice.options[field.name] = value_of(field, input);
  }
  return choice;
}

Values vector_of(int n, FuzzInput& input) {
  Values x(n);
  const int kind = input.below(8);
  std::mt19937 random(static_cast<unsigned>(input.bytes(1)));
  const double factor = input.below(16) == 0 ? awkward_number(input) : 1;
  for (int i = 0; i < n; ++i) {
    if (kind < 5) x[i] = static_cast<double>(random()) / 0x1p31 - 1;
    if (kind == 5) x[i] = 1;
    if (kind == 6) x[i] = i == n / 2;
    x[i] *= factor;
    if (kind == 7) x[i] = input.below(4) == 0 ? awkward_number(input) : 0;
  }
  return x;
}

struct Case {
  explicit Case(FuzzInput& input)
      : precond(method_of(preconditioner_registry<double, Space>(), input)),
        solver(method_of(solver_registry<double, Space>(), input)),
        a(make_matrix(input)),
        b(vector_of(a.n, input)),
        x0(input.below(4) == 0 ? vector_of(a.n, input) : Values(a.n, 0.0)) {
    static const double tolerances[] = {1e-6, 1e-8, 1e-2, 1e-12, 0, 1e-4, 1e-10, 1e-15};
    stopping.rtol = tolerances[input.below(8)];
    stopping.atol = input.below(16) == 0 ? std::abs(awkward_number(input)) : 0;
    stopping.atol = std::min(stopping.atol, 1e300);
    stopping.max_iters = input.below(8) == 0 ? input.below(10) : 300;
    first_factor = input.below(4) == 0 ? input.below(4) - 1.0 : 1;
    without = input.below(8) == 0;
  }

  /// For a message.
  std::string text() const {
    std::ostringstream out;
    out.precision(17);
    out << (without ? "no preconditioner" : precond.name);
    for (const auto& [key, value] : precond.options) out << ' ' << key << '=' << to_string(value);
    out << ", " << solver.name;
    for (const auto& [key, value] : solver.options) out << ' ' << key << '=' << to_string(value);
    out << ", rtol " << stopping.rtol << " atol " << stopping.atol << " max_iters " << stopping.max_iters
        << '\n';
    for (int i = 0; i < a.n; ++i)
      for (int j = 0; j < a.n; ++j)
        if (a.stored[i * a.n + j]) out << i + 1 << ' ' << j + 1 << ' ' << a(i, j) << '\n';
    for (int i = 0; i < a.n; ++i) out << "b " << b[i] << " x0 " << x0[i] << '\n';
    return out.str();
  }

  MethodChoice precond, solver;
  SmallMatrix a;
  Values b, x0;
  StoppingOptions stopping;
  double first_factor;  ///< the preconditioner is set up for this multiple of A before
  bool without;         ///< no preconditioner
};

/// The end of a solve: a result and x, or a refusal.
struct End {
  SolveResult result;
  Values x;
  std::string refusal;
  bool pattern_kept = false;
};

bool same_bits(const Values& x, const Values& y) {
  return x.size() == y.size() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
}

using Vector = VectorView<double, Space>;

/// \throws InputError
End solve(const Space& space, const Case& c, double first_factor) {
  End end;
  const Csr csr = to_csr(c.a);
  const CsrView<double, Space> view(csr);
  validate<double, Space>(space, view);
  auto precond = configured(preconditioner_registry<double, Space>(), c.precond, "preconditioner");
  const auto solver = configured(solver_registry<double, Space>(), c.solver, "solver");
  if (solver->properties().needs_spd || (!c.without && precond->properties().needs_spd))
    check_spd_input<double, Space>(space, view);
  const auto m = precond->build();
  if (first_factor != 1) {
    try {
      m->numeric(space, CsrView<double, Space>(to_csr(c.a, first_factor)));
    } catch (const InputError&) {
    }
  }
  if (!c.without) m->numeric(space, view);
  end.pattern_kept = m->report().pattern_kept;
  Kokkos::View<double*, Space> b("fuzz::b", c.b.size()), x("fuzz::x", c.b.size());
  std::copy(c.b.begin(), c.b.end(), b.data());
  std::copy(c.x0.begin(), c.x0.end(), x.data());
  end.result = solver->build()->solve(space, CsrOperator<double, Space>(csr), c.without ? nullptr : m.get(),
                                      b, x, c.stopping);
  space.fence();
  end.x.assign(x.data(), x.data() + x.extent(0));
  check(same_bits(c.b, Values(b.data(), b.data() + b.extent(0))), "b has changed\n" + c.text());
  return end;
}

End end_of(const Space& space, const Case& c, double first_factor = 1) {
  try {
    return solve(space, c, first_factor);
  } catch (const InputError& error) {
    check_refusal(error, 4000);
    End end;
    end.refusal = error.what();
    return end;
  }
}

/// Ends the process with all that is known where the condition does not hold.
void require(bool condition, const std::string& what, const Case& c, const End& end) {
  if (condition) return;
  const SolveResult& result = end.result;
  std::ostringstream out;
  const Wide b = squared_norm(c.b);
  const auto relative = [&](const Values& x) {
    return std::sqrt(static_cast<long double>(squared_residual(c.a, c.b, x) / b));
  };
  out << what << ": " << to_string(result.reason) << " after " << result.iterations
      << " iterations, residual " << result.true_relative_residual << ", which is " << relative(end.x)
      << " and was " << relative(c.x0) << '\n'
      << c.text();
  out.precision(17);
  for (const double x : end.x) out << "x " << x << '\n';
  check(false, out.str());
}

/// Every end: its parts fit each other; x is finite, no worse than before, and a success is one.
void check_end(const Case& c, const End& end) {
  const SolveResult& result = end.result;
  require(result.converged == converged(result.reason), "success and reason differ", c, end);
  require(result.iterations >= 0 && result.iterations <= c.stopping.max_iters, "too many iterations", c, end);
  const auto is_finite = [](double x) { return std::isfinite(x); };
  require(std::all_of(end.x.begin(), end.x.end(), is_finite), "x is not finite", c, end);
  const Wide r = squared_residual(c.a, c.b, end.x), b = squared_norm(c.b);
  const Wide rtol = c.stopping.rtol, atol = c.stopping.atol;
  const Wide target = std::max(rtol * rtol * b, atol * atol);
  // Products may lose as much as the least number of a double, in every row.
  const long double reached = std::sqrt(static_cast<long double>(target)) + c.a.n * 0x1p-1074L;
  if (result.converged) require(r <= Wide(reached) * reached * (1 + 1e-10), "a false success", c, end);
  // The first residual is one of ordinary products, the last one is in twice the precision.
  const Wide unsure = 1e-14L * size_of_product(c.a, c.x0) + 1e-29L * size_of_product(c.a, end.x);
  const Wide r0 = squared_residual(c.a, c.b, c.x0), allowed = r0 * (1 + 1e-6) + unsure * unsure;
  if (!result.converged) require(r <= allowed, "x is worse than the initial one", c, end);
}

/// Checks by the condition number, from a dense inverse: a success is near the solution, a matrix that
/// is far from singular does not look so, a definite one is not called indefinite, and plain solvers solve
/// it.
void check_needless_failure(const Case& c, const End& end) {
  const SolveResult& result = end.result;
  const Dense a = dense(c.a), inverse_a = inverse(a);
  const long double norm = largest_row_sum(a), norm_of_inverse = largest_row_sum(inverse_a);
  const long double condition = inverse_a.empty() ? INFINITY : norm * norm_of_inverse;
  if (!(condition < 1e6L)) return;
  count("well-conditioned");
  const bool called_singular = result.looks_singular || result.reason == StopReason::breakdown_singular;
  require(!called_singular, "it does not look singular", c, end);
  const Wide r = squared_residual(c.a, c.b, end.x);
  const long double rounding =
      1e-12L * norm_of_inverse * std::sqrt(static_cast<long double>(squared_norm(c.b)));
  for (int i = 0; i < c.a.n && result.converged; ++i) {
    long double error = -static_cast<long double>(end.x[i]), size = std::abs(error);
    for (int j = 0; j < c.a.n; ++j) error += inverse_a[i][j] * c.b[j];
    const long double bound =
        norm_of_inverse * std::sqrt(static_cast<long double>(r)) + 1e-12L * size + rounding;
    require(std::abs(error) <= 1.001L * bound || r == 0, "far from the solution", c, end);
  }
  const bool is_spd = is_clearly_spd(c.a);
  require(!is_spd || result.reason != StopReason::breakdown_not_spd, "the matrix is positive definite", c,
          end);
  const Wide b = squared_norm(c.b), largest = norm_of_inverse * norm_of_inverse * b;  // of ||x||^2
  const bool is_moderate = norm > 1e-100L && norm < 1e100L && largest < 1e300L && b > 1e-300L &&
                           squared_residual(c.a, c.b, c.x0) <= 100 * b;
  const bool is_plain = (c.without || c.precond.name == "none") && c.solver.options.empty() &&
                        c.stopping.rtol >= 1e-10 && c.stopping.max_iters == 300 && condition < 1e4L;
  const bool is_for_it =
      c.solver.name == "gmres" || c.solver.name == "fgmres" || (c.solver.name == "cg" && is_spd);
  if (!is_plain || !is_moderate || !is_for_it) return;
  require(result.converged, "it is solved easily", c, end);
  count("solved as it has to be");
}

void check_case(const Case& c, bool with_threads) {
  static const Space one_thread = testing::of_one_thread<Space>(), all_threads;
  const End end = end_of(one_thread, c);
  count(!end.refusal.empty() ? "refused" : end.result.converged ? "solved" : "ended with a reason");
  if (end.refusal.empty()) {
    check_end(c, end);
    check_needless_failure(c, end);
  }
  const auto check_same = [&](const End& other, const char* what) {
    check(
        end.refusal == other.refusal && same_bits(end.x, other.x) &&
            end.result.iterations == other.result.iterations && end.result.reason == other.result.reason,
        what + std::string(": another end, '") + end.refusal + "' and '" + other.refusal + "'\n" + c.text());
    count(what);
  };
  if (with_threads) check_same(end_of(all_threads, c), "with two threads");
  // adaptive_fsai may go on from the pattern of the first values, by the option reuse, and auto, also as a
  // method's part, with the method that they led to.
  const auto& options = c.precond.options;
  const bool has_auto = std::any_of(options.begin(), options.end(),
                                    [](const auto& option) { return to_string(option.second) == "auto"; });
  const bool starts_anew = options.count("reuse") == 0 && c.precond.name != "auto" && !has_auto;
  if (c.first_factor != 1 && !c.without && starts_anew && end.refusal.empty()) {
    const End again = end_of(one_thread, c, c.first_factor);
    if (!again.pattern_kept) check_same(again, "set up again");
  }
}

}  // namespace
}  // namespace prekond::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prekond::fuzz;
  FuzzInput input(data, size);
  const bool with_threads = input.below(16) == 0;
  check_case(Case(input), with_threads);
  return 0;
}
