// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagnosis of a solve that ended without success: the sizes of the products, and whether A is singular.
#include "column_norms.hpp"
#include "matrix/counter_hash.hpp"
#include "scaled_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace prekond::krylov {

/// Gives entries the random signs of their rows; or makes those below `least` zeros.
template <class Scalar, class Space>
struct AlterEntries {
  VectorView<Scalar, Space> v;
  RowNumbers<Space> rows;
  real_type_t<Scalar> least;
  bool by_signs;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (by_signs && (prekond::impl::counter_hash(0, static_cast<std::uint64_t>(rows(i))) & 1) != 0)
      v(i) = -v(i);
    if (!by_signs && Kokkos::abs(v(i)) < least) v(i) = 0;
  }
};

/// The diagnosis of one column at a time. It allocates two vectors and waits for norms, so it is not for use
/// in an iteration.
template <class Scalar, class Space>
class Diagnosis {
 public:
  using Real = real_type_t<Scalar>;
  using Safe = SafeExponents<Real>;

  Diagnosis(const LinearProblem<Scalar, Space>& problem, ScaledSystem<Scalar, Space>& system,
            Workspace* workspace, bool on_left, const ReduceWorkspace<Scalar, Space>& reduce)
      : m_problem(problem),
        m_system(system),
        m_workspace(workspace),
        m_on_left(on_left),
        m_reduce(reduce),
        m_norms(problem.space, 1, 3) {
    const auto vector = [&](const char* label) {
      return allocate<Vector<Scalar, Space>>(problem.space, label, problem.b.extent(0));
    };
    m_p = vector("prekond::krylov::probe");
    m_y = vector("prekond::krylov::probe_product");
  }

  /// Powers of two with which the products of v (of norm `size`) are of ordinary size; none where the
  /// products are not finite, or zero, with any powers.
  std::optional<OperatorExponents> ordinary_exponents(VectorView<const Scalar, Space> v,
                                                      const ExtendedNumber& size, bool keep_product) {
    const OperatorExponents now{m_system.matrix_exponent(), m_system.inverse_exponent()};
    const auto sizes = measure(v, size, now);
    m_system.try_operators(now.matrix, now.inverse);
    if (!sizes) return std::nullopt;
    OperatorExponents next = now;
    const bool direction_is_safe =
        m_on_left ? Safe::norm_is_safe(sizes->direction) : std::abs(sizes->direction) <= Safe::direction;
    if (m_problem.preconditioner && !direction_is_safe) next.inverse -= sizes->direction;
    const int product = sizes->product + next.inverse - now.inverse;
    if (keep_product)
      next.matrix -= next.inverse - now.inverse;
    else if (std::abs(product) > Safe::product)
      next.matrix -= product;
    return next;
  }

  /// Whether A is singular to the precision of its type: the least of ||A v|| / ||v|| for v = r, x, b (of
  /// column c, r = b - A x) is below eps^(3/4) times the largest, or below sqrt(eps) times for a large
  /// relative residual. The largest may be that of a few large entries, so ||A v|| is below as much of
  /// ||A (d v)|| too, for random signs d, which is about || |A| |v| ||; or A maps the large entries of v to
  /// zero.
  bool looks_singular(int c, VectorView<const Scalar, Space> r, const ExtendedNumber& size_r,
                      VectorView<const Scalar, Space> x, const ExtendedNumber& size_x,
                      double relative_residual, int* products) {
    const VectorView<const Scalar, Space> b = column(m_system.rhs(), c);
    const ExtendedNumber sizes[] = {size_r, size_x, norm_of(b)};
    multiply(r, sizes[0], 0);
    multiply(x, sizes[1], 1);  // not b - r, which is 0 where A x is nothing against b
    multiply(b, sizes[2], 2);
    m_norms.read(m_problem.space, 3, m_problem.reducer);
    *products += 3;
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    int least = 0;
    for (int k = 0; k < 3; ++k) {
      if (!sizes[k].is_finite() || sizes[k].is_zero() || !m_norms.of(0, k).is_finite()) continue;
      const double stretch = ratio(m_norms.of(0, k), sizes[k].times_power(-sizes[k].exponent));
      if (stretch < smallest) least = k;
      smallest = std::min(smallest, stretch);
      largest = std::max(largest, stretch);
    }
    const double epsilon = static_cast<double>(std::numeric_limits<Real>::epsilon());
    const double little = std::pow(epsilon, relative_residual > std::pow(epsilon, 0.25) ? 0.5 : 0.75);
    if (!(smallest <= little * largest)) return false;
    const ExtendedNumber image = m_norms.of(0, least);
    const VectorView<const Scalar, Space> vectors[] = {r, x, b};
    const RowNumbers<Space> rows = m_problem.a.row_numbers(m_problem.space);
    for (const bool by_signs : {true, false}) {
      times_power<Scalar, Space>(m_problem.space, vectors[least], m_p, -sizes[least].exponent);
      Kokkos::parallel_for(
          "prekond::krylov::alter_entries",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
              m_problem.space, 0, static_cast<std::int64_t>(m_p.extent(0))),
          AlterEntries<Scalar, Space>{m_p, rows, static_cast<Real>(std::pow(epsilon, 0.25)), by_signs});
      m_system.multiply(as_multivector(VectorView<const Scalar, Space>(m_p)), as_multivector(m_y));
      const ExtendedNumber altered = norm_of(m_y);
      ++*products;
      if (by_signs ? ratio(image, altered) <= little : altered.is_zero()) return true;
    }
    return false;
  }

 private:
  /// The exponents of ||M^-1 v|| / ||v|| and of the norm of the iteration's product over ||v||, with the
  /// current powers.
  struct Sizes {
    int direction, product;
  };

  /// v is multiplied by the power of two that makes its norm an ordinary number: A v may be out of range.
  void multiply(VectorView<const Scalar, Space> v, const ExtendedNumber& size, int place) {
    times_power<Scalar, Space>(m_problem.space, v, m_p, -size.exponent);
    m_system.multiply(as_multivector(VectorView<const Scalar, Space>(m_p)), as_multivector(m_y));
    m_norms.start(m_problem.space, 0, place, m_y, m_reduce);
  }
  ExtendedNumber norm_of(VectorView<const Scalar, Space> v) {
    m_norms.start(m_problem.space, 0, 0, v, m_reduce);
    m_norms.read(m_problem.space, 1, m_problem.reducer);
    return m_norms.of(0, 0);
  }

  /// Tries powers that are moved by half the range where a product is out of range.
  std::optional<Sizes> measure(VectorView<const Scalar, Space> v, const ExtendedNumber& size,
                               const OperatorExponents& now) {
    constexpr int far = Safe::all / 2;
    for (int inverse : {0, -far, far}) {
      if (inverse != 0 && !m_problem.preconditioner) continue;
      for (int matrix : {0, -far, far}) {
        m_system.try_operators(now.matrix + matrix, now.inverse + inverse);
        const auto sizes = measure_once(v, size);
        if (sizes) return Sizes{sizes->direction - inverse, sizes->product - inverse - matrix};
      }
    }
    return std::nullopt;
  }
  std::optional<Sizes> measure_once(VectorView<const Scalar, Space> v, const ExtendedNumber& size) {
    const auto known = [](const ExtendedNumber& norm) { return norm.is_finite() && !norm.is_zero(); };
    times_power<Scalar, Space>(m_problem.space, v, m_p, -size.exponent);
    int direction = 0;
    if (m_problem.preconditioner) {
      const ExtendedNumber z = precondition(m_p, m_y);
      if (!known(z)) return std::nullopt;
      direction = z.exponent;
      // The powers will give the direction an ordinary size, so the product is measured with that.
      times_power<Scalar, Space>(m_problem.space, m_y, m_p, m_on_left ? -direction : 0);
    }
    m_system.multiply(as_multivector(VectorView<const Scalar, Space>(m_p)), as_multivector(m_y));
    ExtendedNumber product = norm_of(m_y);
    if (!known(product)) return std::nullopt;
    if (m_on_left) {
      product = precondition(m_y, m_p);
      if (!known(product)) return std::nullopt;
    }
    return Sizes{direction, product.exponent};
  }
  ExtendedNumber precondition(const Vector<Scalar, Space>& from, const Vector<Scalar, Space>& to) {
    m_system.precondition(as_multivector(VectorView<const Scalar, Space>(from)), as_multivector(to),
                          *m_workspace);
    return norm_of(to);
  }

  const LinearProblem<Scalar, Space>& m_problem;
  ScaledSystem<Scalar, Space>& m_system;
  Workspace* m_workspace;
  bool m_on_left;
  const ReduceWorkspace<Scalar, Space>& m_reduce;
  ColumnNorms<Scalar, Space> m_norms;
  Vector<Scalar, Space> m_p, m_y;
};

}  // namespace prekond::krylov
