// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/krylov/lanczos.hpp>
#include "core/norm.hpp"

#include "basis.hpp"
#include "core/instantiate.hpp"
#include "device_scalars.hpp"
#include "random_vector.hpp"
#include "scaled_system.hpp"
#include "tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace prekond {
namespace {

struct Scalars {
  static constexpr int size = 2;
  static constexpr krylov::Group curvature{0, 1};  ///< (w, A w)
  static constexpr krylov::Group square{1, 1};     ///< (r, M^-1 r)
};

/// v = factor r and, with a preconditioner, w = factor z
template <class Scalar, class Space>
struct NextVectors {
  VectorView<const Scalar, Space> r, z;
  VectorView<Scalar, Space> v, w;
  real_type_t<Scalar> of_r, of_z;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    v(i) = of_r * r(i);
    if (w.data() != v.data()) w(i) = of_z * z(i);
  }
};

/// r = factor q - alpha v - beta u, where u is the vector before v and alpha = factor (w, q).
template <class Scalar, class Space>
struct NextResidual {
  VectorView<const Scalar, Space> q, v, u;
  VectorView<Scalar, Space> r;
  VectorView<const Scalar, Space> curvature;
  real_type_t<Scalar> factor, beta;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const auto alpha = factor * real_part(curvature(0));
    Scalar next = factor * q(i) - alpha * v(i);
    if (beta != 0) next -= beta * u(i);
    r(i) = next;
  }
};

/// The method. v_j are the basis of residuals, w_j = M^-1 v_j; A' = 2^a A and M'^-1 = 2^m M^-1 are of
/// ordinary size, and T is the projection of M'^-1 A'.
template <class Scalar, class Space>
class LanczosIteration {
  using Real = real_type_t<Scalar>;
  using Column = Vector<Scalar, Space>;

 public:
  LanczosIteration(const Space& space, const Operator<Scalar, Space>& a,
                   const Preconditioner<Scalar, Space>* m, const LanczosOptions& options,
                   const Reducer<Scalar, Space>& reducer)
      : m_space(space),
        m_a(a),
        m_inverse(m),
        m_options(options),
        m_reducer(reducer),
        m_n(a.num_rows()),
        m_full(options.reorthogonalization == Reorthogonalization::full),
        m_reduce(space, a.num_rows()),
        m_scalars(space, "prekond::lanczos::scalars", Scalars::size, 1) {
    const int kept = m_full ? options.steps : 2;
    using Multi = MultiVector<Scalar, Space>;
    m_v = allocate<Multi>(space, "prekond::lanczos::v", m_n, kept);
    if (m_inverse) {
      m_w = allocate<Multi>(space, "prekond::lanczos::w", m_n, m_full ? kept : 1);
      m_z = allocate<Column>(space, "prekond::lanczos::z", m_n);
      m_workspace = m_inverse->make_workspace(space, 1);
    } else {
      m_w = m_v;
    }
    m_r = allocate<Column>(space, "prekond::lanczos::r", m_n);
    m_q = allocate<Column>(space, "prekond::lanczos::q", m_n);
    if (m_full) m_projection = allocate<Column>(space, "prekond::lanczos::projection", options.steps);
  }

  LanczosResult operator()() {
    LanczosResult result;
    if (!begin(result)) return result;
    while (true) {
      if (!step(result)) {
        if (result.steps > 0) conclude(result);
        return result;
      }
      const bool last = result.reason != LanczosEnd::steps || result.steps == m_options.steps;
      // The eigenvalues of T take k^2 operations, so they are not computed after each of many steps.
      const bool look = m_options.tolerance > 0 && result.steps % look_every(result.steps) == 0;
      if (!last && !look) continue;
      conclude(result);
      if (last) return result;
      if (!is_settled(result)) continue;
      result.reason = LanczosEnd::tolerance;
      return result;
    }
  }

 private:
  void times_power(VectorView<Scalar, Space> x, int exponent) const {
    if (exponent != 0) krylov::times_power<Scalar, Space>(m_space, x, x, exponent);
  }
  static constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
  static constexpr int ordinary_exponent = std::numeric_limits<Real>::max_exponent / 16;
  /// m, less what z is scaled by already.
  int exponent_of_z() const { return m_scales_z ? 0 : m_m_exponent; }

  /// e with which the largest Ritz value of k steps is above (1 - e) of the largest eigenvalue of a positive
  /// semidefinite A, but for one first vector of 1000.
  double error_of(int steps) const {
    const double root = std::log(1648 * std::sqrt(static_cast<double>(m_all_rows))) / (2 * steps - 1);
    return root * root;
  }

  /// Whether the extreme Ritz values have been known to the tolerance, without a move, for long enough.
  bool is_settled(const LanczosResult& result) {
    const auto is_known = [&](const RitzValue& ritz) {
      return ritz.bound <= m_options.tolerance * std::abs(ritz.value) ||
             std::abs(ritz.value) + ritz.bound <= result.rounding;
    };
    const auto has_moved = [&](const RitzValue& now, const RitzValue& before) {
      return std::abs(now.value - before.value) >
             std::max({before.bound, result.rounding, 0.1 * m_options.tolerance * std::abs(before.value)});
    };
    if (!is_known(result.smallest) || !is_known(result.largest)) {
      m_known_since = 0;
      return false;
    }
    if (m_known_since == 0 || has_moved(result.smallest, m_known[0]) ||
        has_moved(result.largest, m_known[1])) {
      m_known_since = result.steps;
      m_known[0] = result.smallest;
      m_known[1] = result.largest;
    }
    constexpr double least_error = 0.01;
    return error_of(result.steps) <= least_error && result.steps - m_known_since >= 5 + m_known_since / 5;
  }

  static int look_every(int steps) { return std::max(1, steps / 20); }
  static Real power(int exponent) { return static_cast<Real>(std::ldexp(1.0, exponent)); }
  /// The nearest exponent of a normal number.
  static int possible(int exponent) {
    constexpr int most = std::numeric_limits<Real>::max_exponent - 2;
    return std::clamp(exponent, -most, most);
  }
  auto rows() const { return Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(m_space, 0, m_n); }
  VectorView<Scalar, Space> v(int j) const { return column(m_v, m_full ? j : j % 2); }
  VectorView<Scalar, Space> w(int j) const { return m_inverse ? column(m_w, m_full ? j : 0) : v(j); }
  VectorView<Scalar, Space> z() const { return m_inverse ? m_z : m_r; }

  void multiply(VectorView<const Scalar, Space> x) {
    m_a.apply_dot(m_space, x, m_q, m_scalars.now(Scalars::curvature, 0), m_reduce);
  }
  /// z = M^-1 r and (r, z). z is M'^-1 r where M^-1 r, or its product with r, could leave the range.
  void precondition() {
    const int before = m_scales_z ? std::max(m_m_exponent, 0) : 0;
    times_power(m_r, before);
    if (m_inverse)
      m_inverse->apply(m_space, as_multivector(VectorView<const Scalar, Space>(m_r)), as_multivector(z()),
                       *m_workspace);
    times_power(m_r, -before);
    if (m_scales_z) times_power(z(), m_m_exponent - before);
    const auto square = m_scalars.now(Scalars::square, 0);
    block_reduce<1>(m_space, "prekond::lanczos::square", m_n, m_reduce, square,
                    impl::DotBody<Scalar, Space>{m_r, z()});
    m_reducer.sum(m_space, square);
  }
  ExtendedNumber norm_of(VectorView<const Scalar, Space> x) const { return norm(m_space, x, m_reducer); }

  /// Makes the first vector, the scales, and (r, M'^-1 r). Returns false where the method ends there.
  bool begin(LanczosResult& result) {
    const auto numbers = m_a.row_numbers(m_space);
    m_all_rows = numbers.num_global_rows;
    krylov::fill_random<Scalar, Space>(m_space, m_r, numbers, static_cast<std::uint64_t>(m_options.seed));
    const ExtendedNumber size = norm_of(m_r);
    if (size.is_zero()) {  // no process has a row
      result.reason = LanczosEnd::invariant_subspace;
      return false;
    }
    if (m_inverse) m_m_exponent = exponent_of_inverse(size);
    const ExtendedNumber image = image_of(z());
    // A' keeps the size of M'^-1 r, scaled to 1 before.
    m_a_exponent = image.is_finite() && !image.is_zero() ? possible(-image.exponent) : 0;
    m_scales_z = std::abs(m_m_exponent) > ordinary_exponent;
    precondition();
    m_scalars.read(m_space, "prekond::lanczos::first");
    return take_square(result, 0);
  }
  /// m, with which M'^-1 keeps the size of the first vector; 0 where the image has no finite size.
  int exponent_of_inverse(const ExtendedNumber& size) {
    precondition();
    const ExtendedNumber image = norm_of(z());
    return image.is_finite() && !image.is_zero() ? possible(size.exponent - image.exponent) : 0;
  }
  /// ||A x|| for x scaled to a norm from 1/2 to 1; NaN for one that has none.
  ExtendedNumber image_of(VectorView<const Scalar, Space> x) {
    const ExtendedNumber size = norm_of(x);
    if (!size.is_finite() || size.is_zero()) return ExtendedNumber::of(std::nan(""));
    krylov::times_power<Scalar, Space>(m_space, x, v(0), -size.exponent);
    multiply(v(0));
    return norm_of(m_q);
  }

  /// beta = sqrt(r, z) from the scalars that were read. `size` is that of T's entries so far. Returns false
  /// at the end.
  bool take_square(LanczosResult& result, double size) {
    const double scaled = m_scalars.real_now(Scalars::square, 0, 0) * std::ldexp(1.0, exponent_of_z());
    const double rounding = 10 * static_cast<double>(epsilon) * size;
    m_beta = std::numeric_limits<double>::quiet_NaN();  // without beta the bounds are unknown
    if (!std::isfinite(scaled)) {
      result.reason = LanczosEnd::nan;
      return false;
    }
    if (std::abs(scaled) <= rounding * rounding) {
      result.reason = LanczosEnd::invariant_subspace;
      m_beta = 0;
      return false;
    }
    if (scaled < 0) {
      result.reason = LanczosEnd::preconditioner_not_spd;
      return false;
    }
    m_beta = std::sqrt(scaled);
    return true;
  }

  /// Computes row j of T. Returns false where it is not finite.
  bool step(LanczosResult& result) {
    const int j = result.steps;
    const double inverse = 1 / m_beta;
    Kokkos::parallel_for("prekond::lanczos::next_vectors", rows(),
                         NextVectors<Scalar, Space>{m_r, z(), v(j), w(j), static_cast<Real>(inverse),
                                                    static_cast<Real>(std::ldexp(inverse, exponent_of_z()))});
    multiply(w(j));
    const auto curvature = m_scalars.now(Scalars::curvature, 0);
    m_reducer.sum(m_space, curvature);
    const Real beta = j > 0 ? static_cast<Real>(m_beta) : Real(0);
    Kokkos::parallel_for("prekond::lanczos::next_residual", rows(),
                         NextResidual<Scalar, Space>{m_q, v(j), v(j > 0 ? j - 1 : 0), m_r, curvature,
                                                     power(m_a_exponent), beta});
    if (m_full) reorthogonalize(j + 1);
    precondition();
    m_scalars.read(m_space, "prekond::lanczos::row");
    const double alpha = std::ldexp(m_scalars.real_now(Scalars::curvature, 0, 0), m_a_exponent);
    if (!std::isfinite(alpha)) {
      result.reason = LanczosEnd::nan;
      return false;
    }
    if (j > 0) m_betas.push_back(m_beta);
    m_alphas.push_back(alpha);
    m_size = std::max({m_size, std::abs(alpha), j > 0 ? m_beta : 0.0});
    result.steps = j + 1;
    take_square(result, m_size);
    return true;
  }

  /// r -= V W^H r, twice.
  void reorthogonalize(int columns) {
    const krylov::Basis<Scalar> basis{m_v.data(), m_v.stride(1)}, dual{m_w.data(), m_w.stride(1)};
    if (!m_kernels) m_kernels.emplace(m_space, m_n, m_options.steps);
    const VectorView<Scalar, Space> projection(m_projection.data(), columns);
    for (int pass = 0; pass < 2; ++pass) {
      m_kernels->project(m_space, "prekond::lanczos::project", dual, columns, m_r.data(), projection);
      m_reducer.sum(m_space, projection);
      m_kernels->subtract(m_space, "prekond::lanczos::subtract", basis, columns, projection.data(),
                          m_r.data(), nullptr);
    }
  }

  void conclude(LanczosResult& result) const {
    const auto ritz = krylov::tridiagonal_eigenvalues(m_alphas, m_betas);
    const int exponent = -(m_a_exponent + m_m_exponent);
    const auto at = [&](std::size_t i) {
      return RitzValue{std::ldexp(ritz.values[i], exponent), std::ldexp(m_beta * ritz.last[i], exponent)};
    };
    result.smallest = at(0);
    result.largest = at(ritz.values.size() - 1);
    const double first = ritz.values.front(), last = ritz.values.back();
    const bool known =
        result.reason != LanczosEnd::preconditioner_not_spd && result.reason != LanczosEnd::nan;
    const double rounding = 64 * static_cast<double>(epsilon) * std::max(std::abs(last), -first);
    result.rounding = std::ldexp(rounding, exponent);
    result.positive_definite = known && first > rounding;
    result.upper_bound = known ? upper_bound_of(result) : std::numeric_limits<double>::quiet_NaN();
    result.condition = !known                     ? std::numeric_limits<double>::quiet_NaN()
                       : result.positive_definite ? last / first
                                                  : std::numeric_limits<double>::infinity();
    result.ritz_values.clear();
    for (const double value : ritz.values) result.ritz_values.push_back(std::ldexp(value, exponent));
  }

  double upper_bound_of(const LanczosResult& result) const {
    if (result.reason == LanczosEnd::invariant_subspace) return result.largest.value;
    const double error = error_of(result.steps);
    if (error >= 1) return std::numeric_limits<double>::infinity();
    return result.largest.value / (1 - error);
  }

  const Space& m_space;
  const Operator<Scalar, Space>& m_a;
  const Preconditioner<Scalar, Space>* m_inverse;
  const LanczosOptions& m_options;
  const Reducer<Scalar, Space>& m_reducer;
  std::int64_t m_n, m_all_rows = 0;
  bool m_full, m_scales_z = false;
  ReduceWorkspace<Scalar, Space> m_reduce;
  krylov::DeviceScalars<Scalar, Space> m_scalars;
  MultiVector<Scalar, Space> m_v, m_w;
  Column m_r, m_q, m_z, m_projection;
  std::unique_ptr<Workspace> m_workspace;
  std::optional<krylov::BasisKernels<Scalar, Space>> m_kernels;
  int m_a_exponent = 0, m_m_exponent = 0;
  double m_beta = 0, m_size = 0;
  int m_known_since = 0;  ///< the step since when the extreme Ritz values are known; 0: they are not
  RitzValue m_known[2];   ///< they, then
  std::vector<double> m_alphas, m_betas;
};

}  // namespace

template <class Scalar, class Space>
LanczosResult lanczos(const Space& space, const Operator<Scalar, Space>& a,
                      const Preconditioner<Scalar, Space>* preconditioner, const LanczosOptions& options,
                      const Reducer<Scalar, Space>& reducer) {
  const LanczosOptions checked = resolved(options);
  if (a.num_rows() != a.num_cols())
    throw InputError("lanczos: the operator is " + std::to_string(a.num_rows()) + " x " +
                     std::to_string(a.num_cols()) + "; it has to be square");
  if (preconditioner && preconditioner->num_rows() != a.num_rows())
    throw InputError("lanczos: the preconditioner has " + std::to_string(preconditioner->num_rows()) +
                     " rows, the operator " + std::to_string(a.num_rows()));
  if (preconditioner && preconditioner->is_nonsymmetric())
    throw InputError("lanczos: the preconditioner " + preconditioner->name() +
                     " is not symmetric; take a symmetric positive definite one, such as jacobi or fsai, or "
                     "none");
  if (preconditioner && preconditioner->is_variable())
    throw InputError("lanczos: the preconditioner " + preconditioner->name() +
                     " is another operator for another vector; take one that is not, such as amg with "
                     "cycle = v, or none");
  return LanczosIteration<Scalar, Space>(space, a, preconditioner, checked, reducer)();
}

#define PREKOND_LANCZOS(Scalar, Space)                                                                       \
  template LanczosResult lanczos<Scalar, Space>(const Space&, const Operator<Scalar, Space>&,                \
                                                const Preconditioner<Scalar, Space>*, const LanczosOptions&, \
                                                const Reducer<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_LANCZOS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_LANCZOS)

}  // namespace prekond
