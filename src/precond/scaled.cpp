// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/precond/scaled.hpp>

#include "core/row_teams.hpp"
#include "instantiate.hpp"

#include <stdexcept>

namespace prekond {
namespace impl::scaled {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// The exponent of what is 0 or not finite.
constexpr int no_exponent = -100000;

/// floor(log2 |x|), of a number below the normal ones -1022.
KOKKOS_INLINE_FUNCTION int exponent_of(double x) {
  const int biased = static_cast<int>(Kokkos::bit_cast<std::uint64_t>(x) >> 52 & 0x7ffu);
  if (biased == 0x7ff || x == 0) return no_exponent;
  return biased > 0 ? biased - 1023 : -1022;
}
template <class Scalar>
KOKKOS_INLINE_FUNCTION int exponent_of_entry(const Scalar& x) {
  const int real = exponent_of(static_cast<double>(real_part(x)));
  const int imaginary = exponent_of(static_cast<double>(imaginary_part(x)));
  return real > imaginary ? real : imaginary;
}

/// 2^e of a normal number.
KOKKOS_INLINE_FUNCTION double two_to(int e) {
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// What a scale's exponent may be: within the range of its type.
template <class Real>
constexpr int most_exponent = sizeof(Real) == sizeof(double) ? 1000 : 120;

/// Scales, by their exponents.
template <class Space>
struct Exponents {
  Vector<int, Space> row;
  Vector<int, Space> column;
};

template <class Scalar, class Space>
struct FromDiagonal {
  CsrView<Scalar, Space> a;
  VectorView<int, Space> exponent;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    int found = 0;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      if (a.col_idxs(k) == i) found = exponent_of_entry(a.values(k));
    exponent(i) = found == no_exponent ? 0 : -(found >> 1);
  }
};

/// The nearest power of two of a number, by its logarithm.
template <class Real, class Space>
struct FromGiven {
  VectorView<const double, Space> scale;
  VectorView<int, Space> exponent;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    constexpr int most = most_exponent<Real>;
    const int found = exponent_of(scale(i) * 1.4142135623730951);
    if (found == no_exponent)
      exponent(i) = 0;
    else
      exponent(i) = found > most ? most : (found < -most ? -most : found);
  }
};

/// The exponents of the largest entries of R A C, by rows and by columns: integers, so that the order of the
/// atomic maxima does not matter.
template <class Scalar, class Space>
struct LargestEntries {
  using Teams = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> row, column;
  VectorView<int, Space> of_row, of_column;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      int largest = no_exponent;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
          [&](int k, int& most) {
            const int col = a.col_idxs(begin + static_cast<std::size_t>(k));
            const int found = exponent_of_entry(a.values(begin + static_cast<std::size_t>(k)));
            if (col >= a.num_rows || found == no_exponent) return;
            const int scaled = found + row(i) + column(col);
            Kokkos::atomic_max(&of_column(col), scaled);
            if (scaled > most) most = scaled;
          },
          Kokkos::Max<int>(largest));
      Kokkos::single(Kokkos::PerThread(team), [&] { of_row(i) = largest; });
    });
  }
};

/// One step of Ruiz's iteration; counts what changes.
template <class Real, class Space>
struct HalveExponents {
  VectorView<int, Space> row, column;
  VectorView<const int, Space> of_row, of_column;

  KOKKOS_FUNCTION static int halved(int exponent, int largest, int& changes) {
    if (largest <= no_exponent || largest >> 1 == 0) return exponent;
    const int wanted = exponent - (largest >> 1);
    const int clipped = wanted > most_exponent<Real>
                            ? most_exponent<Real>
                            : (wanted < -most_exponent<Real> ? -most_exponent<Real> : wanted);
    changes += clipped != exponent;
    return clipped;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& changes) const {
    row(i) = halved(row(i), of_row(i), changes);
    column(i) = halved(column(i), of_column(i), changes);
  }
};

template <class Scalar, class Space>
struct ScaleEntries {
  using Teams = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> row, column;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
                           [&](int k) { scale(i, begin + static_cast<std::size_t>(k)); });
    });
  }

  // The sum of both exponents may be out of range where the entry that it scales is not.
  KOKKOS_FUNCTION void scale(std::int64_t i, std::size_t k) const {
    const int col = a.col_idxs(k);
    const int exponent = row(i) + (col < a.num_rows ? column(col) : 0);
    const double half = two_to(exponent / 2), other = two_to(exponent - exponent / 2);
    using Wide = in_precision_t<Scalar, double>;
    values(k) = static_cast<Scalar>(Wide(a.values(k)) * half * other);
  }
};

template <class Real, class Space>
struct ToScale {
  VectorView<const int, Space> exponent;
  VectorView<Real, Space> scale;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { scale(i) = static_cast<Real>(two_to(exponent(i))); }
};

/// y_i = scale_i x_i; x and y may be the same.
template <class Scalar, class Space>
struct ScaleVectors {
  VectorView<const real_type_t<Scalar>, Space> scale;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = scale(i) * x(i, v);
  }
};

template <class Scalar, class Space>
struct ScaledWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> scaled;
};

/// R = C of the diagonal.
template <class Scalar, class Space>
Exponents<Space> of_diagonal(const Space& space, const CsrView<Scalar, Space>& a) {
  const auto exponent = allocate<Vector<int, Space>>(space, "prekond::scaled::numeric::exponent", a.num_rows);
  Kokkos::parallel_for("prekond::scaled::numeric::from_diagonal", Rows<Space>(space, 0, a.num_rows),
                       FromDiagonal<Scalar, Space>{a, exponent});
  return {exponent, exponent};
}

/// R and C of scales that are given.
template <class Real, class Space>
Exponents<Space> of_given(const Space& space, std::int64_t n, const Vector<double, Space>& row,
                          const Vector<double, Space>& column) {
  for (const auto& scale : {row, column})
    if (scale.extent(0) != static_cast<std::size_t>(n))
      throw InputError("prekond::Scaled: there are " + std::to_string(scale.extent(0)) +
                       " scales for a matrix of " + std::to_string(n) + " rows; make them of this matrix");
  const auto exponents_of = [&](const char* label, const Vector<double, Space>& scale) {
    const auto exponent = allocate<Vector<int, Space>>(space, label, n);
    Kokkos::parallel_for("prekond::scaled::numeric::from_given", Rows<Space>(space, 0, n),
                         FromGiven<Real, Space>{scale, exponent});
    return exponent;
  };
  return {exponents_of("prekond::scaled::numeric::row", row),
          exponents_of("prekond::scaled::numeric::column", column)};
}

/// Ruiz's iteration.
template <class Scalar, class Space>
Exponents<Space> equilibrated(const Space& space, const CsrView<Scalar, Space>& a) {
  constexpr int most_sweeps = 20;
  const std::int64_t n = a.num_rows;
  const auto vector = [&](const char* label) { return allocate_zero<Vector<int, Space>>(space, label, n); };
  const Exponents<Space> scale{vector("prekond::scaled::numeric::row"),
                               vector("prekond::scaled::numeric::column")};
  const auto of_row = vector("prekond::scaled::numeric::of_row");
  const auto of_column = vector("prekond::scaled::numeric::of_column");
  int changes = 1;
  for (int sweep = 0; sweep < most_sweeps && changes > 0; ++sweep) {
    Kokkos::deep_copy(space, of_column, no_exponent);
    Kokkos::parallel_for("prekond::scaled::numeric::largest_entries",
                         RowTeams<Space>::policy(space, n, a.nnz()),
                         LargestEntries<Scalar, Space>{a, scale.row, scale.column, of_row, of_column});
    Kokkos::parallel_reduce(
        "prekond::scaled::numeric::halve_exponents", Rows<Space>(space, 0, n),
        HalveExponents<real_type_t<Scalar>, Space>{scale.row, scale.column, of_row, of_column}, changes);
  }
  return scale;
}

}  // namespace impl::scaled

template <class Scalar, class Space>
Scaled<Scalar, Space>::Scaled(std::shared_ptr<Inner> inner, const ScaledOptions& options)
    : m_inner(std::move(inner)), m_options(options) {
  if (!m_inner) throw std::logic_error("prekond::Scaled: there is no preconditioner of the scaled matrix");
  if (options.kind == ScalingKind::given)
    throw std::logic_error("prekond::Scaled: no scales were given; take the constructor with two vectors");
}

template <class Scalar, class Space>
Scaled<Scalar, Space>::Scaled(std::shared_ptr<Inner> inner, const Vector<double, Space>& row_scale,
                              const Vector<double, Space>& column_scale)
    : Scaled(std::move(inner)) {
  m_options.kind = ScalingKind::given;
  m_given_row_scale = row_scale;
  m_given_column_scale = column_scale;
}

template <class Scalar, class Space>
Scaled<Scalar, Space>::~Scaled() = default;

template <class Scalar, class Space>
void Scaled<Scalar, Space>::set_listener(const typename Inner::Listener& listener) {
  Inner::set_listener(listener);
  m_inner->set_listener(listener);
}

template <class Scalar, class Space>
void Scaled<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  matrix_source inner(source.csr());
  inner.set_unknowns_per_node(source.unknowns_per_node());
  m_inner->symbolic(space, inner);
}

template <class Scalar, class Space>
void Scaled<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  namespace kernels = impl::scaled;
  const matrix_view& a = source.csr();
  const auto scaling = [&] {
    if (m_options.kind == ScalingKind::given)
      return kernels::of_given<Real, Space>(space, a.num_rows, m_given_row_scale, m_given_column_scale);
    return m_options.kind == ScalingKind::diagonal ? kernels::of_diagonal<Scalar, Space>(space, a)
                                                   : kernels::equilibrated<Scalar, Space>(space, a);
  };
  const kernels::Exponents<Space> exponents = scaling();
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::scaled::numeric::values", a.nnz());
  Kokkos::parallel_for("prekond::scaled::numeric::scale_entries",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       kernels::ScaleEntries<Scalar, Space>{a, exponents.row, exponents.column, values});
  const auto to_scale = [&](const char* label, const Vector<int, Space>& exponent) {
    const auto scale = allocate<Vector<Real, Space>>(space, label, a.num_rows);
    Kokkos::parallel_for("prekond::scaled::numeric::to_scale", kernels::Rows<Space>(space, 0, a.num_rows),
                         kernels::ToScale<Real, Space>{exponent, scale});
    return scale;
  };
  const auto row_scale = to_scale("prekond::scaled::row_scale", exponents.row);
  const auto column_scale = to_scale("prekond::scaled::column_scale", exponents.column);
  matrix_source inner(matrix_view(a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, values));
  inner.set_unknowns_per_node(source.unknowns_per_node());
  m_inner->numeric(space, inner);
  report = m_inner->report();
  report.bytes += static_cast<std::int64_t>(2 * row_scale.span() * sizeof(Real));
  m_row_scale = row_scale;
  m_column_scale = column_scale;
}

template <class Scalar, class Space>
void Scaled<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source& source,
                                                 Report& report) {
  m_inner->numeric(space, matrix_source(source.csr()));
  report = m_inner->report();
  m_row_scale = m_column_scale = {};
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Scaled<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  auto workspace = std::make_unique<impl::scaled::ScaledWorkspace<Scalar, Space>>();
  workspace->inner = m_inner->make_workspace(space, num_vectors);
  workspace->scaled = allocate<MultiVector<Scalar, Space>>(space, "prekond::scaled::apply::scaled",
                                                           this->num_rows(), num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void Scaled<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                       MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  namespace kernels = impl::scaled;
  const auto& own = static_cast<kernels::ScaledWorkspace<Scalar, Space>&>(workspace);
  if (x.extent(1) > own.scaled.extent(1) ||
      own.scaled.extent(0) != static_cast<std::size_t>(this->num_rows()))
    throw std::logic_error(name() + ": the workspace was made for fewer vectors, or for another matrix");
  const MultiVectorView<Scalar, Space> scaled(own.scaled.data(), own.scaled.extent(0), x.extent(1));
  const kernels::Rows<Space> rows(space, 0, this->num_rows());
  Kokkos::parallel_for("prekond::scaled::apply::scale_rows", rows,
                       kernels::ScaleVectors<Scalar, Space>{m_row_scale, x, scaled});
  m_inner->apply(space, scaled, y, *own.inner);
  Kokkos::parallel_for("prekond::scaled::apply::scale_columns", rows,
                       kernels::ScaleVectors<Scalar, Space>{m_column_scale, y, y});
}

#define PREKOND_SCALED(Scalar, Space) template class Scaled<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SCALED)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SCALED)

}  // namespace prekond
