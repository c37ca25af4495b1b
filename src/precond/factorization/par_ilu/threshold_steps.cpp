// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/par_ilu/threshold_steps.hpp"

#include "core/instantiate.hpp"
#include "precond/factorization/par_ilu/largest.hpp"
#include "precond/factorization/par_ilu/launch_rows.hpp"
#include "precond/factorization/par_ilu/threshold_kernels.hpp"
#include "precond/setup/setup_time.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace prekond::impl::par_ilu {
namespace {

/// How many entries a factor may keep.
std::int64_t most_entries(double fill_factor, std::int64_t nnz_of_a) {
  return static_cast<std::int64_t>(std::min(std::floor(fill_factor * double(nnz_of_a)), 9e18));
}

/// The automatic `memory_budget`: with f the fill_factor and d A's mean row length, n rows of that length
/// list n (f d / 2)^2 columns of 4 bytes. Rows of circuits list up to 30 times as many, and have room for 64
/// times; a full row with a full column lists n / d times as many.
std::int64_t memory_budget(const ParIlutOptions& options, std::int64_t num_rows, std::int64_t nnz) {
  if (options.memory_budget > 0) return options.memory_budget;
  constexpr double allowance = 64, least = 1 << 18, most = double(std::int64_t(16) << 30);
  const double kept = std::max(1.0, options.fill_factor);
  const double listed = kept * kept * double(nnz) * (1 + double(nnz) / double(num_rows));
  return static_cast<std::int64_t>(std::clamp(allowance * listed, least, most));
}

/// The entries that a sweep over all entries of L and U meets, where no list is searched.
template <class Space>
struct EntriesOfSweep {
  CsrGraphView<Space> lower, upper;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& sum) const {
    const double of_lower = double(lower.row_ptrs(i + 1) - lower.row_ptrs(i));
    const double of_upper = double(upper.row_ptrs(i + 1) - upper.row_ptrs(i));
    sum += (of_lower + of_upper) * (of_lower + of_upper) / 2;
  }
};

template <class Scalar, class Space>
class Steps {
 public:
  using Work = Sweeps<Scalar, Space>;
  using State = ThresholdFactors<Scalar, Space>;

  Steps(const Space& space, const CsrView<Scalar, Space>& a, const FillPattern<Space>& known,
        const ParIlutOptions& options, double alpha, Report& report, const Listener& tell)
      : m_space(space),
        m_a(a),
        m_known(known),
        m_options(options),
        m_alpha(alpha),
        m_report(report),
        m_tell(tell) {}

  ThresholdTry<Scalar, Space> run(ilu::Outcome& outcome) {
    State state = start();
    const double before = m_residual;
    for (int step = 0; step < m_options.steps; ++step) {
      grow(state, step == 0);
      cut(state);
    }
    // The last state's work has the factors, as they are swept.
    std::ostringstream text;
    text << m_options.steps << (m_options.steps == 1 ? " step" : " steps") << ": "
         << state.pattern.lower.nnz() << " entries of L and " << state.pattern.upper.nnz()
         << " of U, of size " << m_lower_threshold << " and " << m_upper_threshold << " at least";
    const Scalar epsilon = Kokkos::Experimental::epsilon_v<Scalar>;
    const bool falls = m_residual <= std::max(before, 64 * double(epsilon));
    outcome.note = note_of_residuals(text.str(), before, m_residual);
    if (!falls) {
      outcome.note += "; the sweeps diverge, and A's own triangles are taken";
      start();
    }
    ThresholdTry<Scalar, Space> result{falls ? state.pattern : m_known, m_factors};
    outcome.breakdowns =
        m_work->end(result.factors, falls ? Kokkos::Experimental::finite_max_v<Scalar> : Scalar(1) / epsilon);
    m_space.fence("prekond::par_ilut::numeric");  // temporaries are freed
    return result;
  }

 private:
  /// A's triangles on a pattern, and room for the factors there.
  void prepare(const FillPattern<Space>& pattern) {
    Report of_scaling;
    m_factors = sweeps::fill_triangles<Scalar, Space>(m_space, m_a, pattern, Scalar(1), of_scaling);
    m_report.breakdowns = of_scaling.breakdowns;
    m_sweeps = make_sweep_pattern<Space>(m_space, pattern);
    m_work = std::make_unique<Work>(m_space, pattern, m_sweeps, m_factors, false, m_alpha);
  }

  State start() {
    prepare(m_known);
    m_work->start();
    m_residual = m_work->residual();
    return by_rows(m_known);
  }

  /// The factors in work.
  State by_rows(const FillPattern<Space>& pattern) const {
    const auto& now = m_work->values().now;
    State result{pattern, now.lower,
                 allocate<Vector<Scalar, Space>>(m_space, "prekond::par_ilut::upper", pattern.upper.nnz()),
                 now.pivots};
    Kokkos::parallel_for("prekond::par_ilut::upper_by_rows", policy(pattern),
                         UpperByRows<Scalar, Space>{m_work->matrix(), now.columns, result.upper});
    return result;
  }

  typename RowTeams<Space>::Policy policy(const FillPattern<Space>& pattern) const {
    return RowTeams<Space>::policy(m_space, pattern.num_rows(), pattern.lower.nnz());
  }

  void carry_over(const State& from, const Vector<int, Space>& lower_origin,
                  const Vector<int, Space>& upper_origin, const FillPattern<Space>& pattern) {
    Kokkos::parallel_for("prekond::par_ilut::carry_over", policy(pattern),
                         CarryOver<Scalar, Space>{m_work->matrix(), from.pattern.lower, from.pattern.upper,
                                                  lower_origin, upper_origin, from.lower, from.upper,
                                                  from.pivots, m_work->values().now.values()});
  }

  /// Tells before the first step if all are long.
  void tell_of_work(const FillPattern<Space>& pattern) const {
    double entries = 0;
    Kokkos::parallel_reduce(
        "prekond::par_ilut::count_work",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(m_space, 0, pattern.num_rows()),
        EntriesOfSweep<Space>{pattern.lower, pattern.upper}, entries);
    constexpr int sweeps_of_step = 2;  // over all candidates
    m_tell(search_note(m_space, "par_ilut: the sweeps meet", sweeps_of_step * m_options.steps * entries,
                       "lower fill_factor or steps, or take ilut"));
  }

  /// Adds all candidates with their residuals, and sweeps once.
  void grow(State& state, bool is_first) {
    const auto grown = add_candidates<Space>(
        m_space, m_a, m_known, state.pattern,
        memory_budget(m_options, m_known.num_rows(), m_known.lower.nnz() + m_known.upper.nnz()));
    if (is_first) tell_of_work(grown.pattern);
    prepare(grown.pattern);
    carry_over(state, grown.lower_origin, grown.upper_origin, grown.pattern);
    m_work->make_next();
    auto& values = m_work->values();
    const SweepLaunch<Scalar, Space> launch{m_space, m_work->matrix()};
    launch.template by_length<CandidateRow>(
        "prekond::par_ilut::candidate_values", IluEntries<Scalar, Space>{{m_work->matrix()}},
        values.now.values(), values.next.values(), VectorView<const int, Space>(grown.lower_origin),
        VectorView<const int, Space>(grown.upper_origin));
    std::swap(values.now, values.next);
    m_work->sweep(1);
    state = by_rows(grown.pattern);
  }

  /// Keeps the largest entries, and sweeps once.
  void cut(State& state) {
    const auto lower = select_largest<Scalar, Space>(
        m_space, state.lower, most_entries(m_options.fill_factor, m_known.lower.nnz()));
    const auto upper = select_largest<Scalar, Space>(
        m_space, state.upper, most_entries(m_options.fill_factor, m_known.upper.nnz()));
    m_lower_threshold = lower.threshold;
    m_upper_threshold = upper.threshold;
    const FillPattern<Space>& from = state.pattern;
    const auto of_lower = cut_triangle<Space>(m_space, from.lower, from.lower_source, lower.keep);
    const auto of_upper = cut_triangle<Space>(m_space, from.upper, from.upper_source, upper.keep);
    FillPattern<Space> pattern = from;
    pattern.lower = of_lower.graph;
    pattern.upper = of_upper.graph;
    pattern.lower_source = of_lower.source;
    pattern.upper_source = of_upper.source;
    pattern.added = pattern.lower.nnz() + pattern.upper.nnz() - m_known.lower.nnz() - m_known.upper.nnz();
    prepare(pattern);
    carry_over(state, of_lower.origin, of_upper.origin, pattern);
    m_work->sweep(1);
    m_residual = m_work->residual();
    state = by_rows(pattern);
  }

  Space m_space;
  const CsrView<Scalar, Space>& m_a;
  const FillPattern<Space>& m_known;
  const ParIlutOptions& m_options;
  double m_alpha;
  Report& m_report;
  const Listener& m_tell;
  Factors<Scalar, Space> m_factors;
  SweepPattern<Space> m_sweeps;
  std::unique_ptr<Work> m_work;
  double m_residual = 0, m_lower_threshold = 0, m_upper_threshold = 0;
};

}  // namespace

template <class Scalar, class Space>
ThresholdTry<Scalar, Space> threshold_factors(const Space& space, const CsrView<Scalar, Space>& a,
                                              const FillPattern<Space>& known, const ParIlutOptions& options,
                                              double alpha, Report& report, ilu::Outcome& outcome,
                                              const Listener& tell) {
  return Steps<Scalar, Space>(space, a, known, options, alpha, report, tell).run(outcome);
}

#define PREKOND_THRESHOLD_STEPS(Scalar, Space)                                                               \
  template ThresholdTry<Scalar, Space> threshold_factors<Scalar, Space>(                                     \
      const Space&, const CsrView<Scalar, Space>&, const FillPattern<Space>&, const ParIlutOptions&, double, \
      Report&, ilu::Outcome&, const Listener&);
PREKOND_INSTANTIATE(PREKOND_THRESHOLD_STEPS)

}  // namespace prekond::impl::par_ilu
