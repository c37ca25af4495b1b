// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/par_ilu/sweeps.hpp"

#include "core/norm.hpp"

#include "core/instantiate.hpp"
#include "precond/factorization/par_ilu/launch_rows.hpp"
#include "precond/factorization/par_ilu/start.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace prekond::impl::par_ilu {

namespace {

template <class Scalar, class Space>
double square_of_norm(const Space& space, const VectorView<const Scalar, Space>& x) {
  const double size = norm<Scalar, Space>(space, x).value();
  return size * size;
}

}  // namespace

template <class Scalar, class Space>
Sweeps<Scalar, Space>::Sweeps(const Space& space, const FillPattern<Space>& pattern,
                              const SweepPattern<Space>& sweeps, const Factors<Scalar, Space>& factors,
                              bool symmetric, double alpha)
    : m_space(space), m_symmetric(symmetric), m_num_rows(pattern.num_rows()) {
  m_matrix = {pattern.lower,
              pattern.upper,
              sweeps.columns,
              sweeps.places,
              factors.lower,
              factors.upper,
              static_cast<Scalar>(1 + alpha)};
  const auto list = [&](const char* label, std::int64_t size) {
    return allocate<Vector<Scalar, Space>>(space, label, size);
  };
  const std::int64_t of_upper = symmetric ? 0 : pattern.upper.nnz();
  m_values.now = {list("prekond::par_ilu::lower", pattern.lower.nnz()),
                  list("prekond::par_ilu::columns", of_upper), list("prekond::par_ilu::pivots", m_num_rows)};
  m_values.found = list("prekond::par_ilu::found", m_num_rows);
}

template <class Scalar, class Space>
void Sweeps<Scalar, Space>::start() {
  Kokkos::parallel_for("prekond::par_ilu::numeric::start",
                       RowTeams<Space>::policy(m_space, m_num_rows, m_matrix.lower.nnz()),
                       StartFromMatrix<Scalar, Space>{m_matrix, m_symmetric, m_values.now.values()});
  Kokkos::deep_copy(m_space, m_values.found, m_matrix.diagonal);
}

template <class Scalar, class Space>
void Sweeps<Scalar, Space>::sweep(int times) {
  const SweepLaunch<Scalar, Space> launch{m_space, m_matrix};
  const VectorView<Scalar, Space> found(m_values.found);
  if (times > 0) make_next();
  auto& next = m_values.next;
  for (int k = 0; k < times; ++k) {
    launch.template run<SweepRow>("prekond::par_ilu::numeric::sweep", m_symmetric, m_values.now.values(),
                                  next.values(), found);
    std::swap(m_values.now, next);
  }
}

template <class Scalar, class Space>
void Sweeps<Scalar, Space>::make_next() {
  if (m_values.next.pivots.extent(0) > 0) return;
  const auto list = [&](const char* label, const Vector<Scalar, Space>& as) {
    return allocate<Vector<Scalar, Space>>(m_space, label, as.extent(0));
  };
  m_values.next = {list("prekond::par_ilu::next_lower", m_values.now.lower),
                   list("prekond::par_ilu::next_columns", m_values.now.columns),
                   list("prekond::par_ilu::next_pivots", m_values.now.pivots)};
}

template <class Scalar, class Space>
double Sweeps<Scalar, Space>::residual() const {
  const auto norms = allocate<Vector<double, Space>>(m_space, "prekond::par_ilu::residuals", m_num_rows);
  const SweepLaunch<Scalar, Space> launch{m_space, m_matrix};
  launch.template run<ResidualRow>("prekond::par_ilu::numeric::residual", m_symmetric, m_values.now.values(),
                                   VectorView<double, Space>(norms));
  const double lower = square_of_norm<Scalar, Space>(m_space, m_matrix.a_lower);
  const double upper = m_symmetric ? lower : square_of_norm<Scalar, Space>(m_space, m_matrix.a_upper);
  const double diagonal = double(m_matrix.diagonal) * double(m_matrix.diagonal) * double(m_num_rows);
  return norm<double, Space>(m_space, norms).value() / std::sqrt(lower + upper + diagonal);
}

template <class Scalar, class Space>
BreakdownCounter Sweeps<Scalar, Space>::end(Factors<Scalar, Space>& factors, Scalar most) const {
  factors.pivots = allocate<Vector<Scalar, Space>>(m_space, "prekond::par_ilu::inverse_pivots", m_num_rows);
  const auto counter = make_breakdown_counter(m_space, "prekond::par_ilu::breakdowns");
  const SweepLaunch<Scalar, Space> launch{m_space, m_matrix};
  launch.template run<EndRow>(
      "prekond::par_ilu::numeric::end", m_symmetric, m_values.now.values(),
      VectorView<const Scalar, Space>(m_values.found), VectorView<Scalar, Space>(factors.lower),
      VectorView<Scalar, Space>(factors.upper), VectorView<Scalar, Space>(factors.pivots),
      VectorView<BreakdownCounter, Space>(counter), most);
  return fetch(m_space, counter);
}

template <class Scalar, class Space>
Factors<Scalar, Space> sweep_factors(const Space& space, const CsrView<Scalar, Space>& a,
                                     const FillPattern<Space>& pattern, const SweepPattern<Space>& sweeps,
                                     int most_sweeps, IncompleteKind kind, double alpha, Report& report,
                                     ilu::Outcome& outcome) {
  const bool symmetric = kind != IncompleteKind::ilu;
  auto factors = sweeps::fill_triangles<Scalar, Space>(
      space, a, pattern, Scalar(1), report,
      symmetric ? sweeps::DiagonalUse::definite : sweeps::DiagonalUse::general);
  Sweeps<Scalar, Space> work(space, pattern, sweeps, factors, symmetric, alpha);
  work.start();
  const double before = work.residual();
  // There are no more levels than rows; twice as many sweeps also take away what rounding left, and further
  // ones would change nothing.
  const int done = static_cast<int>(std::min<std::int64_t>(most_sweeps, 2 * pattern.num_rows()));
  work.sweep(done);
  const double after = work.residual();
  outcome.note = note_of_residuals(std::to_string(done) + (done == 1 ? " sweep" : " sweeps"), before, after);
  const Scalar epsilon = Kokkos::Experimental::epsilon_v<Scalar>;
  if (after <= std::max(before, 64 * double(epsilon))) {
    outcome.breakdowns = work.end(factors);
  } else {
    outcome.note += "; the sweeps diverge, and A's own triangles are taken";
    work.start();
    outcome.breakdowns = work.end(factors, 1 / epsilon);
  }
  space.fence("prekond::par_ilu::numeric");  // temporaries are freed
  return factors;
}

#define PREKOND_SWEEPS(Scalar, Space)                                                                     \
  template class Sweeps<Scalar, Space>;                                                                   \
  template Factors<Scalar, Space> sweep_factors<Scalar, Space>(                                           \
      const Space&, const CsrView<Scalar, Space>&, const FillPattern<Space>&, const SweepPattern<Space>&, \
      int, IncompleteKind, double, Report&, ilu::Outcome&);
PREKOND_INSTANTIATE(PREKOND_SWEEPS)

}  // namespace prekond::impl::par_ilu
