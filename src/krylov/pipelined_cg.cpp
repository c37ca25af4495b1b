// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pipelined_cg.hpp"

#include <prekond/core/scalar.hpp>

#include "cg_run.hpp"
#include "core/instantiate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace prekond::krylov {
namespace {

/// A column's scalars.
struct Scalars {
  static constexpr int size = 6;
  static constexpr Group dots{0, 4};   ///< (r, u), (r, r), (w, u), and (s, p) of the last step
  static constexpr Group exact{4, 2};  ///< (s, u) and (s, p), where a breakdown is looked at
};

struct PipelinedTuning {
  /// The recurrences are replaced where ||r|| is below this part of its largest since the last time: what
  /// rounding errors have grown to by then is that much larger beside r. With 1e-2 elasticity3d:8 with Jacobi
  /// takes the iterations of the classic form down to 1e-13, with 1e-3 a sixth more.
  static constexpr double fall = 1e-2;
  /// And where (p, A p) of the vectors is not what the scalars said before the step, but for this part: the
  /// vectors then are not orthogonal any more. 1e-1 comes too late for tridiagonal:300 in single precision
  /// (354 iterations instead of 304); 1e-4 replaces all the time where A is hard.
  static constexpr double drift = 1e-2;
  /// So many times; where there are more the classic form takes over. With Jacobi and b = A 1 nos2 to 1e-6
  /// takes 4287 iterations then, 8760 without this limit (classic 1764); plat362 to 1e-10 16186 and 21816.
  static constexpr int most_drifts = 10;
  /// What a replacement after a fall leaves of ||r|| at the one before, at most: else the fall was an error
  /// of the recurrences, or of A.
  static constexpr double least_progress = 0.9;
};

/// (r, u), (r, r) and (w, u)
template <class Scalar, class Space>
struct PipelinedDots {
  VectorView<const Scalar, Space> r, u, w;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const { add(r(i), u(i), w(i), sum); }
  KOKKOS_FUNCTION static void add(const Scalar& r_i, const Scalar& u_i, const Scalar& w_i, Scalar* sum) {
    sum[0] += conjugate(r_i) * u_i;
    sum[1] += conjugate(r_i) * r_i;
    sum[2] += conjugate(w_i) * u_i;
  }
};

/// (s, u) and (s, p)
template <class Scalar, class Space>
struct CurvatureDots {
  VectorView<const Scalar, Space> s, u, p;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    sum[0] += conjugate(s(i)) * u(i);
    sum[1] += conjugate(s(i)) * p(i);
  }
};

/// The recurrences of a step, the dots of the next, and (s, p). Without a preconditioner u is r, q is s and m
/// is w.
template <class Scalar, class Space>
struct PipelinedStep {
  using Real = real_type_t<Scalar>;
  VectorView<const Scalar, Space> m, n;
  VectorView<Scalar, Space> z, q, s, p, x, r, u, w;
  Real alpha, beta;
  bool first;  ///< beta = 0: what p, s, q and z were is not read
  bool preconditioned;

  KOKKOS_FUNCTION Scalar next(const Scalar& now, const VectorView<Scalar, Space>& v, std::int64_t i) const {
    return first ? now : now + beta * v(i);
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    const Scalar u_old = u(i), w_old = w(i);
    const Scalar z_i = next(n(i), z, i), s_i = next(w_old, s, i), p_i = next(u_old, p, i);
    const Scalar r_i = r(i) - alpha * s_i, w_i = w_old - alpha * z_i;
    z(i) = z_i;
    s(i) = s_i;
    p(i) = p_i;
    x(i) += alpha * p_i;
    r(i) = r_i;
    w(i) = w_i;
    Scalar u_i = r_i;
    if (preconditioned) {
      const Scalar q_i = next(m(i), q, i);
      q(i) = q_i;
      u_i = u_old - alpha * q_i;
      u(i) = u_i;
    }
    PipelinedDots<Scalar, Space>::add(r_i, u_i, w_i, sum);
    sum[3] += conjugate(s_i) * p_i;
  }
};

/// One solve.
template <class Scalar, class Space>
class PipelinedCgRun : public CgRun<Scalar, Space> {
  using Classic = CgRun<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;
  using Real = real_type_t<Scalar>;

 public:
  explicit PipelinedCgRun(const LinearProblem<Scalar, Space>& problem)
      : Classic(problem, false),
        m_scalars(problem.space, "prekond::cg::scalars", Scalars::size, this->num_columns()),
        m_courses(this->num_columns()),
        m_u(this->m_mr),
        m_w(this->m_product) {
    const auto vector = [&](const char* label) { return this->allocate_columns(label, this->num_columns()); };
    m_s = vector("prekond::cg::s");
    m_z = vector("prekond::cg::z");
    m_n = vector("prekond::cg::n");
    const bool preconditioned = this->has_preconditioner();
    m_m = preconditioned ? vector("prekond::cg::m") : m_w;
    m_q = preconditioned ? vector("prekond::cg::q") : m_s;
  }

 private:
  /// What the host knows of a column.
  struct Course {
    double rz = 0, alpha = 0;                                     ///< (r, u) and alpha of the last step
    double next_rz = 0, beta = 0, curvature = 0, next_alpha = 0;  ///< of the next, with (p, A p)
    double exact = 0;         ///< ||r|| where the vectors were what they stand for
    double largest = 0;       ///< ||r|| since then, at most; 0 there
    bool first = true;        ///< no step of this cycle was made
    bool has_fallen = false;  ///< ||r||, far enough to be replaced with the next step
    bool replace = false;     ///< with the next step
    int drifts = 0;           ///< replacements where (p, A p) was another
    bool astray = false;      ///< are the recurrences? Then the classic form goes on
  };

  /// Columns whose recurrences have gone astray end with the classic form, from the x that they have.
  void iterate() override {
    const std::vector<int> cycle = this->running();
    const auto is_astray = [&](int c) { return m_courses[c].astray; };
    std::vector<int> pipelined;
    std::remove_copy_if(cycle.begin(), cycle.end(), std::back_inserter(pipelined), is_astray);
    this->exchange_running(pipelined);
    if (!pipelined.empty()) iterate_pipelined();
    std::vector<int> astray;
    std::copy_if(cycle.begin(), cycle.end(), std::back_inserter(astray), is_astray);
    this->exchange_running(astray);
    if (!astray.empty()) Classic::iterate();
  }

  void iterate_pipelined() {
    this->residual(this->m_r);
    apply_both(this->m_r, m_u, m_w);
    for (int c : this->running()) {
      m_courses[c] = {};
      start_dots(c);
    }
    look_ahead();
    test();
    while (!this->running().empty()) {
      this->for_each_running([&](int c) { step(c); });
      look_ahead();
      this->count_iteration();
      test();
    }
  }

  /// u = M^-1 v and w = A u; u is v without a preconditioner.
  void apply_both(const Multi& v, const Multi& u, const Multi& w) {
    if (this->has_preconditioner()) this->precondition(v, u);
    this->multiply(u, w);
  }

  /// The sums of the dots, and m = M^-1 w, n = A m meanwhile.
  void look_ahead() {
    this->start_sum(m_scalars.message(Scalars::dots));
    apply_both(m_w, m_m, m_n);
    this->finish_sum();
    m_scalars.read(this->space(), "prekond::cg::stopping_test");
  }

  void start_dots(int c) {
    block_reduce<3>(this->space(), "prekond::cg::pipelined_dots", this->num_rows(), this->reduce_workspace(),
                    m_scalars.now(Scalars::dots, c),
                    PipelinedDots<Scalar, Space>{column(this->m_r, c), column(m_u, c), column(m_w, c)});
  }

  void step(int c) {
    Course& course = m_courses[c];
    const PipelinedStep<Scalar, Space> body{column(m_m, c),
                                            column(m_n, c),
                                            column(m_z, c),
                                            column(m_q, c),
                                            column(m_s, c),
                                            column(this->m_p, c),
                                            this->x(c),
                                            column(this->m_r, c),
                                            column(m_u, c),
                                            column(m_w, c),
                                            static_cast<Real>(course.next_alpha),
                                            static_cast<Real>(course.beta),
                                            course.first,
                                            this->has_preconditioner()};
    block_reduce<4>(this->space(), "prekond::cg::pipelined_step", this->num_rows(), this->reduce_workspace(),
                    m_scalars.now(Scalars::dots, c), body);
    course.rz = course.next_rz;
    course.alpha = course.next_alpha;
    course.first = false;
    if (course.replace) replace(c);
  }

  /// Makes the vectors of column c what they stand for, for x and p as they are, and starts their dots.
  void replace(int c) {
    const std::vector<int> running = this->exchange_running({c});
    this->residual(this->m_r);
    apply_both(this->m_r, m_u, m_w);
    this->multiply(this->m_p, m_s);
    apply_both(m_s, m_q, m_z);
    this->exchange_running(running);
    start_dots(c);
    m_courses[c].largest = 0;
  }

  /// The stopping test, with the numbers of the next step.
  void test() {
    this->for_each_running([&](int c) {
      Course& course = m_courses[c];
      const double drift = course.first ? 0 : std::abs(dot(c, 3) / course.curvature - 1);
      std::optional<StopReason> breakdown = plan(c);
      const bool doubtful = breakdown && !course.first && is_finite(c) && dot(c, 1) > this->target2(c);
      if (doubtful) breakdown = confirm(c);
      const double rr = dot(c, 1), norm = std::sqrt(rr), size = dot(c, 2) / dot(c, 0);
      this->judge(c, rr, is_finite(c), breakdown, true,
                  {std::min(dot(c, 0), rr), std::min(course.curvature, rr), std::min(size * size * rr, rr)});
      const bool progress = norm < PipelinedTuning::least_progress * course.exact;
      course.drifts += drift > PipelinedTuning::drift ? 1 : 0;
      const bool is_wrong =
          doubtful || (course.has_fallen && !progress) || course.drifts > PipelinedTuning::most_drifts;
      if (is_wrong && this->is_running(c)) {
        course.astray = true;
        this->end(c, StopReason::stagnation);  // of this form: `iterate` goes on
      }
      if (course.largest == 0) course.exact = norm;
      course.largest = std::max(course.largest, norm);
      course.has_fallen = norm < PipelinedTuning::fall * course.largest;
      course.replace = course.has_fallen || drift > PipelinedTuning::drift;
    });
  }

  /// A breakdown that the recurrences see may be one of their rounding errors. With the vectors of column c
  /// replaced: is it one? (p, A p) of the next p is (u, w) + 2 beta (u, s) + beta^2 (p, s) then.
  std::optional<StopReason> confirm(int c) {
    replace(c);
    block_reduce<2>(this->space(), "prekond::cg::pipelined_curvature", this->num_rows(),
                    this->reduce_workspace(), m_scalars.now(Scalars::exact, c),
                    CurvatureDots<Scalar, Space>{column(m_s, c), column(m_u, c), column(this->m_p, c)});
    this->sum(m_scalars.now(Scalars::dots, c));
    this->sum(m_scalars.now(Scalars::exact, c));
    m_scalars.read(this->space(), "prekond::cg::breakdown");
    Course& course = m_courses[c];
    course.beta = dot(c, 0) / course.rz;
    course.curvature = dot(c, 2) + 2 * course.beta * m_scalars.real_now(Scalars::exact, c, 0) +
                       course.beta * course.beta * m_scalars.real_now(Scalars::exact, c, 1);
    return breakdown_of(dot(c, 0), course.curvature);
  }

  double dot(int c, int k) const { return m_scalars.real_now(Scalars::dots, c, k); }
  bool is_finite(int c) const { return std::isfinite(dot(c, 0)) && std::isfinite(dot(c, 2)); }

  /// alpha and beta of the next step, where there is one.
  std::optional<StopReason> plan(int c) {
    Course& course = m_courses[c];
    course.next_rz = dot(c, 0);
    course.beta = course.first ? 0 : course.next_rz / course.rz;
    course.curvature = dot(c, 2) - (course.first ? 0 : course.beta * course.next_rz / course.alpha);
    course.next_alpha = course.next_rz / course.curvature;
    return breakdown_of(course.next_rz, course.curvature);
  }
  static std::optional<StopReason> breakdown_of(double rz, double curvature) {
    if (!(rz > 0)) return StopReason::breakdown_preconditioner_not_spd;
    if (!(curvature > 0 && std::isfinite(static_cast<Real>(rz / curvature))))
      return StopReason::breakdown_not_spd;
    return {};
  }

  DeviceScalars<Scalar, Space> m_scalars;
  std::vector<Course> m_courses;
  Multi m_u, m_w, m_s, m_q, m_z, m_m, m_n;
};

}  // namespace

template <class Scalar, class Space>
std::vector<SolveResult> pipelined_cg(const LinearProblem<Scalar, Space>& problem) {
  return PipelinedCgRun<Scalar, Space>(problem).run();
}

#define PREKOND_PIPELINED_CG(Scalar, Space) \
  template std::vector<SolveResult> pipelined_cg<Scalar, Space>(const LinearProblem<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_PIPELINED_CG)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_PIPELINED_CG)

}  // namespace prekond::krylov
