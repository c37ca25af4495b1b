// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Vectors that relaxation leaves.
#include "precond/multigrid/relaxed_candidates.hpp"

#include <prekond/core/error.hpp>
#include <prekond/core/impl/block_reduce.hpp>
#include <prekond/matrix/spmv.hpp>
#include "matrix/counter_hash.hpp"
#include "matrix/find_entry.hpp"

#include "core/instantiate.hpp"

#include <cmath>
#include <type_traits>

namespace prekond::impl::amg {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// |a_ii|, 1 where it is zero.
template <class Scalar, class Space>
struct FindWeights {
  CsrView<Scalar, Space> a;
  VectorView<Scalar, Space> weight;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    const Scalar diagonal = Kokkos::abs(find_entry(a, i, i, place));
    weight(i) = diagonal > Scalar(0) ? diagonal : Scalar(1);
  }
};

template <class Scalar, class Space>
struct FillRandom {
  VectorView<const Scalar, Space> weight;
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t c = 0; c < x.extent(1); ++c) {
      const double u =
          unit_interval(counter_hash(static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(i)));
      x(i, c) = static_cast<Scalar>(c == 0 ? u : 2 * u - 1) / Kokkos::sqrt(weight(i));
    }
  }
};

/// y <- y + factor x
template <class Scalar, class Space>
struct Add {
  Scalar factor;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t c = 0; c < y.extent(1); ++c) y(i, c) += factor * x(i, c);
  }
};

template <class Scalar, class Space>
struct Scale {
  Scalar factor;
  VectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    x(i) = factor != Scalar(0) ? factor * x(i) : Scalar(0);
  }
};

template <class Scalar, class Space>
struct WeightedDot {
  VectorView<const Scalar, Space> weight, x, y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const { sum[0] += weight(i) * x(i) * y(i); }
};

/// Gram-Schmidt's method, each vector twice against the ones before it.
template <class Scalar, class Space>
class Orthonormalizer {
 public:
  using Columns = MultiVectorView<Scalar, Space>;
  Orthonormalizer(const Space& space, VectorView<const Scalar, Space> weight)
      : m_space(space),
        m_n(static_cast<std::int64_t>(weight.extent(0))),
        m_weight(weight),
        m_reduce(space, m_n),
        m_dot(allocate<Vector<Scalar, Space>>(space, "prekond::amg::candidates::dot", 1)) {}

  void operator()(const Columns& x) const {
    for (std::size_t c = 0; c < x.extent(1); ++c) {
      const Scalar before = normalize(column(x, c), Scalar(0));
      for (int pass = 0; pass < 2 && before > Scalar(0); ++pass) {
        for (std::size_t other = 0; other < c; ++other)
          add(-dot(column(x, other), column(x, c)), x, other, c);
        if (c > 0) normalize(column(x, c), smallest_part);
      }
    }
  }

 private:
  static constexpr Scalar smallest_part = std::is_same_v<Scalar, float> ? Scalar(1e-3) : Scalar(1e-8);

  Scalar dot(VectorView<const Scalar, Space> x, VectorView<const Scalar, Space> y) const {
    block_reduce<1>(m_space, "prekond::amg::candidates::dot", m_n, m_reduce, VectorView<Scalar, Space>(m_dot),
                    WeightedDot<Scalar, Space>{m_weight, x, y});
    Scalar result = 0;
    Kokkos::deep_copy(m_space, result, Kokkos::subview(m_dot, 0));
    m_space.fence("prekond::amg::candidates");
    if (!std::isfinite(result))
      throw InputError(
          "amg: the sweeps that make the candidates ended in numbers that are not finite: the smoother "
          "diverges for this matrix; take a smaller smoother_damping or another smoother, or candidates = 0");
    return result;
  }
  void add(Scalar factor, const Columns& x, std::size_t from, std::size_t to) const {
    Kokkos::parallel_for(
        "prekond::amg::candidates::orthogonalize", Rows<Space>(m_space, 0, m_n),
        Add<Scalar, Space>{factor, as_multivector(column(x, from)), as_multivector(column(x, to))});
  }
  /// To length 1, or to zero where it is no longer than `least`. \returns the length before
  Scalar normalize(VectorView<Scalar, Space> x, Scalar least) const {
    const Scalar length = std::sqrt(dot(x, x));
    Kokkos::parallel_for("prekond::amg::candidates::scale", Rows<Space>(m_space, 0, m_n),
                         Scale<Scalar, Space>{length > least ? Scalar(1) / length : Scalar(0), x});
    return length;
  }

  Space m_space;
  std::int64_t m_n;
  VectorView<const Scalar, Space> m_weight;
  ReduceWorkspace<Scalar, Space> m_reduce;
  Vector<Scalar, Space> m_dot;
};

}  // namespace

template <class Scalar, class Space>
MultiVector<Scalar, Space> relaxed_candidates(const Space& space, const CsrView<Scalar, Space>& a,
                                              const MatrixPreconditioner<Scalar, Space>& smoother,
                                              Scalar omega, int count, int sweeps) {
  const std::int64_t n = a.num_rows;
  const auto vectors = [&](const char* label) {
    return allocate<MultiVector<Scalar, Space>>(space, label, n, count);
  };
  const auto weight = allocate<Vector<Scalar, Space>>(space, "prekond::amg::candidates::weight", n);
  const auto x = vectors("prekond::amg::near_null_space"),
             product = vectors("prekond::amg::candidates::product"),
             correction = vectors("prekond::amg::candidates::correction");
  Kokkos::parallel_for("prekond::amg::candidates::weights", Rows<Space>(space, 0, n),
                       FindWeights<Scalar, Space>{a, weight});
  Kokkos::parallel_for("prekond::amg::candidates::fill", Rows<Space>(space, 0, n),
                       FillRandom<Scalar, Space>{weight, x});
  const Orthonormalizer<Scalar, Space> orthonormalize(space, weight);
  const auto workspace = smoother.make_workspace(space, count);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    spmv<Scalar, Space>(space, Scalar(1), a, MultiVectorView<const Scalar, Space>(x), Scalar(0),
                        MultiVectorView<Scalar, Space>(product));
    smoother.apply(space, product, correction, *workspace);
    Kokkos::parallel_for("prekond::amg::candidates::relax", Rows<Space>(space, 0, n),
                         Add<Scalar, Space>{-omega, correction, x});
  }
  orthonormalize(x);
  space.fence("prekond::amg::candidates");
  return x;
}

#define PREKOND_AMG_CANDIDATES(Scalar, Space)                                                               \
  template MultiVector<Scalar, Space> relaxed_candidates<Scalar, Space>(                                    \
      const Space&, const CsrView<Scalar, Space>&, const MatrixPreconditioner<Scalar, Space>&, Scalar, int, \
      int);
PREKOND_INSTANTIATE(PREKOND_AMG_CANDIDATES)

}  // namespace prekond::impl::amg
