// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/spmv.hpp>
#include "core/norm.hpp"

#include <limits>
#include <memory>
#include <vector>

namespace prekond::krylov {

/// Bounds of exponents within which inner products neither under- nor overflow, and keep their digits while a
/// residual falls to rounding, as parts of the largest exponent (1024 for double, 128 for float).
template <class Real>
struct SafeExponents {
  static constexpr int all = std::numeric_limits<Real>::max_exponent;
  static constexpr int norm_min = -3 * all / 16,
                       norm_max = all / 4;   ///< for b and the residual at the start of a cycle
  static constexpr int product = all / 8;    ///< for ||K v|| / ||v||, up and down
  static constexpr int direction = all / 4;  ///< for ||M^-1 v|| / ||v||, up and down
  static constexpr int square_min = -all / 4, square_max = 7 * all / 16;  ///< for inner products over (r, r)
  static constexpr bool norm_is_safe(int exponent) { return norm_min <= exponent && exponent <= norm_max; }
};

/// The exponents a and m of a ScaledSystem.
struct OperatorExponents {
  int matrix = 0, inverse = 0;
  bool operator==(const OperatorExponents&) const = default;
};

/// to = 2^power from, in three factors, because the power of two itself may be out of range.
template <class Scalar, class Space>
class TimesPower {
 public:
  TimesPower(VectorView<const Scalar, Space> from, VectorView<Scalar, Space> to, int power)
      : m_from(from), m_to(to) {
    using Real = real_type_t<Scalar>;
    const int first = power / 3, second = (power - first) / 2;
    m_factor[0] = std::ldexp(Real(1), first);
    m_factor[1] = std::ldexp(Real(1), second);
    m_factor[2] = std::ldexp(Real(1), power - first - second);
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    m_to(i) = ((m_from(i) * m_factor[0]) * m_factor[1]) * m_factor[2];
  }

 private:
  VectorView<const Scalar, Space> m_from;
  VectorView<Scalar, Space> m_to;
  real_type_t<Scalar> m_factor[3];
};

/// to = 2^power from; they may be the same.
template <class Scalar, class Space>
void times_power(const Space& space, VectorView<const Scalar, Space> from, VectorView<Scalar, Space> to,
                 int power) {
  Kokkos::parallel_for("prekond::krylov::times_power",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                           space, 0, static_cast<std::int64_t>(to.extent(0))),
                       TimesPower<Scalar, Space>(from, to, power));
}

/// A x = b scaled by powers of two, so that a method works with ordinary numbers: A' x' = b' with b' = 2^-e b
/// for each column's own e, A' = 2^a A, M'^-1 = 2^m M^-1 and x = 2^(e + a) x'. Powers of two are exact: the
/// iterates are those of numbers whose exponents have no limits.
///
/// x has x' until `restore`.
///
/// Cost: nothing while all exponents are 0, as for nearly all systems; one more pass over the vectors in a
/// product and an application otherwise.
///
/// Memory: a copy of b, and one vector a column, once an exponent is not 0.
template <class Scalar, class Space>
class ScaledSystem {
 public:
  using Problem = LinearProblem<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

  explicit ScaledSystem(const Problem& problem)
      : m_problem(problem),
        m_compensated(dynamic_cast<const CompensatedOperator<Scalar, Space>*>(&problem.a)),
        m_rhs_exponents(problem.b.extent(1), 0) {}

  MultiVectorView<const Scalar, Space> rhs() const {
    return m_rhs_is_copied ? MultiVectorView<const Scalar, Space>(m_rhs) : m_problem.b;
  }
  /// e of column c
  int rhs_exponent(int c) const { return m_rhs_exponents[c]; }
  int matrix_exponent() const { return m_matrix_exponent; }
  int inverse_exponent() const { return m_inverse_exponent; }
  /// e + a
  int solution_exponent(int c) const { return m_rhs_exponents[c] + m_matrix_exponent; }

  /// Sets e of column c.
  void scale_rhs(int c, int exponent) {
    if (exponent == m_rhs_exponents[c]) return;
    if (!m_rhs_is_copied) {
      m_rhs = allocate<Multi>(m_problem.space, "prekond::krylov::scaled_rhs", m_problem.b.extent(0),
                              m_problem.b.extent(1));
      Kokkos::deep_copy(m_problem.space, m_rhs, m_problem.b);
      m_rhs_is_copied = true;
    }
    times_power<Scalar, Space>(m_problem.space, column(m_problem.b, c), column(m_rhs, c), -exponent);
    scale_solution(c, m_rhs_exponents[c] - exponent);
    m_rhs_exponents[c] = exponent;
  }

  /// Sets a and m.
  void scale_operators(int matrix_exponent, int inverse_exponent) {
    for (int c = 0; c < num_columns(); ++c) scale_solution(c, m_matrix_exponent - matrix_exponent);
    try_operators(matrix_exponent, inverse_exponent);
  }
  /// Sets a and m without scaling x', while nobody reads it.
  void try_operators(int matrix_exponent, int inverse_exponent) {
    m_matrix_exponent = matrix_exponent;
    m_inverse_exponent = inverse_exponent;
    if (m_scratch.extent(1) == 0)
      m_scratch = allocate<Multi>(m_problem.space, "prekond::krylov::scaled_vector", m_problem.b.extent(0),
                                  m_problem.b.extent(1));
  }

  /// Rounds x' of column c as x is rounded to its type.
  void round_solution(int c) {
    const int power = solution_exponent(c);
    scale_solution(c, power);
    scale_solution(c, -power);
  }
  /// The same, and y + y_low = b - A x, of that column, in numbers as they are: what the powers of two make
  /// too small is not lost there.
  void round_solution(int c, MultiVectorView<Scalar, Space> y, MultiVectorView<Scalar, Space> y_low) {
    const Space& space = m_problem.space;
    const auto columns = std::make_pair(c, c + 1);
    const MultiVectorView<const Scalar, Space> x = Kokkos::subview(m_problem.x, Kokkos::ALL, columns);
    const int power = solution_exponent(c);
    scale_solution(c, power);
    Kokkos::deep_copy(space, y, Kokkos::subview(m_problem.b, Kokkos::ALL, columns));
    if (m_compensated != nullptr)
      m_compensated->apply_compensated(space, -1, x, y, y_low);
    else
      m_problem.a.apply(space, x, y, Scalar(-1), Scalar(1));
    scale_solution(c, -power);
  }
  /// x' of column c from a copy that was made when e + a was `exponent`.
  void set_solution(int c, VectorView<const Scalar, Space> from, int exponent) {
    times_power<Scalar, Space>(m_problem.space, from, column(m_problem.x, c),
                               exponent - solution_exponent(c));
  }
  /// x from x', for all columns.
  void restore() {
    for (int c = 0; c < num_columns(); ++c) scale_solution(c, solution_exponent(c));
  }

  /// y = alpha A' x + beta y, for some columns
  void multiply(MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y, Scalar alpha = 1,
                Scalar beta = 0) const {
    if (m_matrix_exponent == 0) return m_problem.a.apply(m_problem.space, x, y, alpha, beta);
    const int first = m_matrix_exponent / 2;
    m_problem.a.apply(m_problem.space, times_half(x, first), y, alpha * power(m_matrix_exponent - first),
                      beta);
  }
  /// Whether A can be added up in twice the precision.
  bool is_compensated() const { return m_compensated != nullptr; }
  /// y + y_low -= A' x, added up so, for some columns. \pre is_compensated()
  void subtract_compensated(MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                            MultiVectorView<Scalar, Space> y_low) const {
    const Space& space = m_problem.space;
    if (m_matrix_exponent == 0) return m_compensated->apply_compensated(space, -1, x, y, y_low);
    const int first = m_matrix_exponent / 2;
    m_compensated->apply_compensated(space, -std::ldexp(real_type_t<Scalar>(1), m_matrix_exponent - first),
                                     times_half(x, first), y, y_low);
  }
  /// y = A' x and (x, y), for one column
  void multiply_dot(VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                    VectorView<Scalar, Space> dot, const ReduceWorkspace<Scalar, Space>& workspace) const {
    if (m_matrix_exponent == 0) return m_problem.a.apply_dot(m_problem.space, x, y, dot, workspace);
    multiply(as_multivector(x), as_multivector(y));
    block_reduce<1>(m_problem.space, "prekond::krylov::dot", static_cast<std::int64_t>(y.extent(0)),
                    workspace, dot, prekond::impl::DotBody<Scalar, Space>{x, y});
  }
  /// y = M'^-1 x, for some columns
  void precondition(MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                    Workspace& workspace) const {
    if (m_inverse_exponent == 0) return m_problem.preconditioner->apply(m_problem.space, x, y, workspace);
    const int first = m_inverse_exponent / 2;
    m_problem.preconditioner->apply(m_problem.space, times_half(x, first), y, workspace);
    for (std::size_t c = 0; c < y.extent(1); ++c)
      times_power<Scalar, Space>(m_problem.space, column(y, c), column(y, c), m_inverse_exponent - first);
  }

 private:
  int num_columns() const { return static_cast<int>(m_problem.b.extent(1)); }
  static Scalar power(int exponent) { return Scalar(std::ldexp(real_type_t<Scalar>(1), exponent)); }

  void scale_solution(int c, int power) {
    if (power == 0) return;
    times_power<Scalar, Space>(m_problem.space, column(m_problem.x, c), column(m_problem.x, c), power);
  }
  MultiVectorView<const Scalar, Space> times_half(MultiVectorView<const Scalar, Space> x, int power) const {
    const MultiVectorView<Scalar, Space> scaled =
        Kokkos::subview(m_scratch, Kokkos::ALL, Kokkos::make_pair(std::size_t(0), x.extent(1)));
    for (std::size_t c = 0; c < x.extent(1); ++c)
      times_power<Scalar, Space>(m_problem.space, column(x, c), column(scaled, c), power);
    return scaled;
  }

  const Problem& m_problem;
  const CompensatedOperator<Scalar, Space>* m_compensated;  ///< A, where it is one
  std::vector<int> m_rhs_exponents;
  int m_matrix_exponent = 0, m_inverse_exponent = 0;
  bool m_rhs_is_copied = false;
  Multi m_rhs, m_scratch;
};

}  // namespace prekond::krylov
