// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/impl/threads.hpp>
#include <prekond/precond/polynomial.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/polynomial/polynomials.hpp"
#include "precond/polynomial/row_kernels.hpp"
#include "precond/polynomial/scaled_rows.hpp"

#include <cmath>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace prekond {
namespace impl::polynomial {

template <class Scalar, class Space>
struct PolynomialWorkspace : Workspace {
  MultiVector<Scalar, Space> scaled;  ///< D^-1 x
  MultiVector<Scalar, Space> other;   ///< takes turns with y
  MultiVector<Scalar, Space> remote;  ///< entries of other ranks
};

/// Whether `storage` is A's own precision.
template <class Scalar>
bool is_full(Storage storage) {
  return storage == Storage::full ||
         (storage == Storage::single_precision && std::is_same_v<real_type_t<Scalar>, float>);
}

template <class Scalar, class Space>
void scale_rows(const Space& space,
                const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& a,
                VectorView<const real_type_t<Scalar>, Space> inverse) {
  if (a.num_rows > 0)
    Kokkos::parallel_for("prekond::polynomial::numeric::scale_rows",
                         RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                         ScaleRows<Scalar, Space>{a.num_rows, a.row_ptrs, a.values, inverse});
}

/// B = diag(1 / d_i) A where a caller has A stored already: by its matrix, or by one of the same format and
/// precision where rows were changed, so that what is rounded does not depend on that.
template <class Scalar, class Space>
StoredMatrix<Scalar, Space> shared(const Space& space, const ScaledRows<Scalar, Space>& rows,
                                   const StoredMatrix<Scalar, Space>& a) {
  scale_rows<Scalar, Space>(space, rows.remote.matrix(), rows.inverse);
  if (rows.is_borrowed) return a.with_rows_multiplied(space, rows.inverse);
  return StoredMatrix<Scalar, Space>(space, rows.own, {a.storage(), a.format()})
      .with_rows_multiplied(space, rows.inverse);
}

/// B = D^-1 A in the rank's own columns. The entries in those of other ranks stay in full precision.
template <class Scalar, class Space>
StoredMatrix<Scalar, Space> stored(const Space& space, const ScaledRows<Scalar, Space>& rows,
                                   const PolynomialOptions& options) {
  scale_rows<Scalar, Space>(space, rows.remote.matrix(), rows.inverse);
  if (rows.num_rows() == 0) return {};
  if (is_full<Scalar>(options.storage)) {
    scale_rows<Scalar, Space>(space, rows.own, rows.inverse);
    return {space, rows.own, {Storage::full, options.storage_format}};
  }
  StoredMatrix<Scalar, Space> b(space, rows.own, {options.storage, options.storage_format});
  b.multiply_rows(space, rows.inverse);
  return b;
}

template <class Scalar, class Space>
MultiVectorView<Scalar, Space> first_columns(const MultiVector<Scalar, Space>& block, std::size_t k) {
  if (block.extent(1) < k) return {};
  return Kokkos::subview(block, Kokkos::ALL, std::make_pair(std::size_t(0), k));
}

}  // namespace impl::polynomial

template <class Scalar, class Space>
PolynomialPreconditioner<Scalar, Space>::~PolynomialPreconditioner() = default;

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::symbolic_step(const Space&, const matrix_source&) {
  if (m_options.kind == PolynomialKind::fourth_optimized && m_weights.empty())
    m_weights = impl::polynomial::optimal_weights(m_options.degree + 1);
  m_b = {};
  m_remote = {};
  m_import = nullptr;
  m_inverse_diagonal = {};
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::symbolic_over_ranks(const Space& space, const Distributed& a) {
  Vector<std::int64_t, Space> numbers;
  a.together([&] {
    this->symbolic(space, a.own_rows());
    numbers = allocate<Vector<std::int64_t, Space>>(space, "prekond::polynomial::imported",
                                                    a.num_cols() - a.num_rows());
    Kokkos::deep_copy(space, numbers,
                      Kokkos::subview(a.global_numbers(space), std::make_pair(a.num_rows(), a.num_cols())));
    space.fence("prekond::polynomial::imported");
  });
  m_import = a.make_import(space, numbers);
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::numeric_over_ranks(const Space& space, const Distributed& a) {
  // All ranks end together where the frame would refuse this rank's rows.
  a.together([&] {
    check_threads(space);
    if (!m_import) throw std::logic_error(this->name() + ": numeric over ranks before symbolic");
    if (a.num_rows() != m_import->num_rows() || a.num_cols() != m_import->num_cols())
      throw InputError(this->name() + ": the matrix has " + std::to_string(a.num_rows()) + " rows and " +
                       std::to_string(a.num_cols()) + " columns on this rank, and had " +
                       std::to_string(m_import->num_rows()) + " and " + std::to_string(m_import->num_cols()) +
                       "; call symbolic for another pattern");
  });
  m_all_rows = &a;
  try {
    this->numeric(space, a.own_rows());
  } catch (...) {
    m_all_rows = nullptr;
    throw;
  }
  m_all_rows = nullptr;
}

/// Collective over ranks.
template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::find(const Space& space, const matrix_view& view,
                                                   Report& report) {
  namespace kernels = impl::polynomial;
  const kernels::RowsOf<Scalar, Space> a{view, m_all_rows};
  const auto known = std::exchange(m_known, {});
  PolynomialOptions options = m_options;
  if (options.lambda_max == 0) options.lambda_max = known.lambda_max;
  const bool fits = known.a.num_rows() == view.num_rows;
  // Over ranks Lanczos's method reads both parts of the rows.
  const bool is_known =
      m_all_rows ? options.lambda_max > 0 && a.largest(fits ? 0 : 1) == 0 : known.a.num_rows() > 0;
  const auto rows = kernels::make_scaled_rows<Scalar, Space>(space, a, m_options.scaling, is_known, report);
  const Spectrum spectrum =
      kernels::find_spectrum<Scalar, Space>(space, a, rows, options, this->name(), report);
  Polynomial polynomial;
  const bool bounded = spectrum.max > 0 && std::isfinite(spectrum.max) && std::isfinite(spectrum.max_bound);
  if (bounded && !std::isnan(spectrum.min)) {
    polynomial = kernels::choose_polynomial(m_options, m_weights, spectrum, report.notes);
  } else {
    polynomial.constant = 1;
    report.notes.push_back(this->name() + ": no positive upper bound of the spectrum was found (" +
                           kernels::number_text(spectrum.as_given(spectrum.max)) + ", " + spectrum.source +
                           "); the polynomial is 1: what is left is the diagonal");
  }
  StoredMatrix<Scalar, Space> b;
  a.together([&] {
    b = is_known && (rows.is_borrowed || !m_all_rows)
            ? kernels::shared<Scalar, Space>(space, rows, known.a)
            : kernels::stored<Scalar, Space>(space, rows, m_options);
  });
  m_b = b;
  m_remote = rows.remote;
  if (!m_all_rows) m_import = nullptr;
  m_inverse_diagonal = rows.inverse;
  m_polynomial = polynomial;
  m_spectrum = spectrum;
  m_exponent = rows.exponent;
  const double n = static_cast<double>(rows.num_rows()), k = polynomial.degree();
  report.nnz = rows.nnz();
  report.bytes = m_b.bytes() - (rows.is_borrowed ? known.a.bytes() : 0) + m_remote.bytes();
  if (m_b.row_scale().data() != m_inverse_diagonal.data())
    report.bytes += static_cast<std::int64_t>(m_inverse_diagonal.span() * sizeof(Real));
  report.apply_flops = flops_of_scalar<Scalar> * (n + k * (2 * static_cast<double>(rows.nnz()) + 6 * n));
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                                           Report& report) {
  find(space, source.csr(), report);
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::numeric_without_rows(const Space& space,
                                                                   const matrix_source& source,
                                                                   Report& report) {
  if (m_all_rows) return find(space, source.csr(), report);
  m_known = {};
  m_b = {};
  m_remote = {};
  m_import = nullptr;
  m_inverse_diagonal = {};
  m_polynomial = {};
  m_spectrum = {};
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> PolynomialPreconditioner<Scalar, Space>::make_workspace(const Space& space,
                                                                                   int num_vectors) const {
  using Vectors = MultiVector<Scalar, Space>;
  auto workspace = std::make_unique<impl::polynomial::PolynomialWorkspace<Scalar, Space>>();
  const int degree = m_options.degree;  // a later numeric phase may have it where this one's p is 1
  workspace->scaled = allocate<Vectors>(space, "prekond::polynomial::apply::scaled", this->num_rows(),
                                        degree > 0 ? num_vectors : 0);
  workspace->other = allocate<Vectors>(space, "prekond::polynomial::apply::other", this->num_rows(),
                                       degree > 1 ? num_vectors : 0);
  if (!m_import) return workspace;
  m_import->reserve(space, num_vectors);
  workspace->remote = allocate<Vectors>(space, "prekond::polynomial::apply::remote", m_import->num_remote(),
                                        degree > 0 ? num_vectors : 0);
  return workspace;
}

/// y = product B x + direct x + previous y + source b, by messages where there are several ranks.
template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::multiply(const Space& space, const RecurrenceStep<Scalar>& step,
                                                       MultiVectorView<const Scalar, Space> x,
                                                       MultiVectorView<const Scalar, Space> b,
                                                       MultiVectorView<Scalar, Space> y,
                                                       MultiVectorView<Scalar, Space> remote) const {
  if (m_import) m_import->start(space, x);
  m_b.multiply_recurrence(space, step, x, b, y);
  if (!m_import) return;
  m_import->finish(space, remote);
  m_remote.add_product(space, step.product, remote, y);
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::apply_step(const Space& space,
                                                         MultiVectorView<const Scalar, Space> x,
                                                         MultiVectorView<Scalar, Space> y,
                                                         Workspace& workspace) const {
  namespace kernels = impl::polynomial;
  const Kokkos::RangePolicy<Space> rows(space, 0, m_inverse_diagonal.extent(0));
  const int degree = m_polynomial.degree();
  if (degree == 0) {
    Kokkos::parallel_for(
        "prekond::polynomial::apply::scale", rows,
        kernels::ApplyDiagonal<Scalar, Space>{
            m_inverse_diagonal, x, y, static_cast<Real>(std::ldexp(m_polynomial.constant, -m_exponent))});
    return;
  }
  const auto& own = static_cast<kernels::PolynomialWorkspace<Scalar, Space>&>(workspace);
  const std::size_t columns = x.extent(1);
  if (columns > own.scaled.extent(1) || (degree > 1 && columns > own.other.extent(1)))
    throw std::logic_error(this->name() + ": the workspace was made for fewer vectors");
  if (static_cast<std::int64_t>(own.scaled.extent(0)) != this->num_rows())
    throw std::logic_error(this->name() + ": the workspace was made for " +
                           std::to_string(own.scaled.extent(0)) + " rows, and there are " +
                           std::to_string(this->num_rows()));
  if (m_import && static_cast<std::int64_t>(own.remote.extent(0)) != m_import->num_remote())
    throw std::logic_error(this->name() + ": the workspace was made for another matrix");
  using Vectors = MultiVectorView<Scalar, Space>;
  const Vectors b = kernels::first_columns<Scalar, Space>(own.scaled, columns),
                other = kernels::first_columns<Scalar, Space>(own.other, columns),
                remote = kernels::first_columns<Scalar, Space>(own.remote, columns);
  Kokkos::parallel_for("prekond::polynomial::apply::scale", rows,
                       kernels::ApplyDiagonal<Scalar, Space>{m_inverse_diagonal, x, b,
                                                             std::ldexp(Real(1), -(m_exponent / 2))});
  MultiVectorView<const Scalar, Space> from = b;
  for (int j = 0; j < degree; ++j) {
    Polynomial::Step step = m_polynomial.steps[j];
    if (j == degree - 1)  // M^-1 = 2^-e p(B) D^-1, half of it in b: x may be as large as A is
      for (double* factor : {&step.product, &step.direct, &step.previous, &step.source})
        *factor = std::ldexp(*factor, m_exponent / 2 - m_exponent);
    const Vectors to = (degree - j) % 2 == 1 ? y : other;  // the last step's is y
    const RecurrenceStep<Scalar> scalars{
        Scalar(static_cast<Real>(step.product)), Scalar(static_cast<Real>(step.direct)),
        Scalar(static_cast<Real>(step.previous)), Scalar(static_cast<Real>(step.source))};
    multiply(space, scalars, from, b, to, remote);
    from = to;
  }
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::apply_over_ranks(const Space& space,
                                                               MultiVectorView<const Scalar, Space> x,
                                                               MultiVectorView<Scalar, Space> y,
                                                               Workspace& workspace) const {
  if (!m_import) throw std::logic_error(this->name() + ": apply before numeric");
  apply_step(space, x, y, workspace);
}

#define PREKOND_POLYNOMIAL(Scalar, Space) template class PolynomialPreconditioner<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_POLYNOMIAL)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_POLYNOMIAL)

}  // namespace prekond
