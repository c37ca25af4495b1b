// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/relaxed.hpp>
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "precond/setup/workspace_columns.hpp"

#include <stdexcept>

namespace prekond {
namespace impl::relaxed {

/// The entries of a part of A's square, without the diagonal for a triangle with a unit diagonal.
template <class Scalar, class Space>
struct IsInPart {
  CsrView<Scalar, Space> a;
  MatrixPart part;
  bool unit_diagonal;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    const int col = a.col_idxs(k);
    if (col >= a.num_rows || (unit_diagonal && col == row)) return false;
    return (part != MatrixPart::lower || col <= row) && (part != MatrixPart::upper || col >= row);
  }
};

/// residual = x, or x - y.
template <class Scalar, class Space>
struct BeginResidual {
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<const Scalar, Space> y;
  MultiVectorView<Scalar, Space> residual;
  bool unit_diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < x.extent(1); ++k)
      residual(i, k) = unit_diagonal ? x(i, k) - y(i, k) : x(i, k);
  }
};

template <class Scalar, class Space>
struct AddCorrection {
  MultiVectorView<const Scalar, Space> correction;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < y.extent(1); ++k) y(i, k) += correction(i, k);
  }
};

template <class Scalar, class Space>
struct RelaxedWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> residual;
  MultiVector<Scalar, Space> correction;  ///< without rows where M adds to y itself
};

}  // namespace impl::relaxed

template <class Scalar, class Space>
Relaxed<Scalar, Space>::Relaxed(std::shared_ptr<Inner> inner, const RelaxedOptions& options)
    : m_inner(std::move(inner)), m_options(options) {
  m_options.resolve();
  if (!m_inner) throw std::logic_error("prekond::Relaxed: there is no preconditioner to relax");
}

template <class Scalar, class Space>
Relaxed<Scalar, Space>::Relaxed(std::shared_ptr<Inner> inner,
                                std::shared_ptr<const Operator<Scalar, Space>> a, int steps)
    : Relaxed(std::move(inner), RelaxedOptions{.steps = steps}) {
  if (!a) throw std::logic_error("prekond::Relaxed: there is no operator to multiply by");
  m_given = std::move(a);
}

template <class Scalar, class Space>
Properties Relaxed<Scalar, Space>::properties() const {
  Properties result = m_inner->properties();
  if (m_options.steps > 0 && m_options.part != MatrixPart::whole) result.symmetry = Symmetry::nonsymmetric;
  return result;
}

template <class Scalar, class Space>
void Relaxed<Scalar, Space>::set_listener(const typename Inner::Listener& listener) {
  Inner::set_listener(listener);
  m_inner->set_listener(listener);
}

template <class Scalar, class Space>
void Relaxed<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  m_inner->symbolic(space, source);
  m_a = nullptr;
}

template <class Scalar, class Space>
typename Relaxed<Scalar, Space>::Matrix Relaxed<Scalar, Space>::copy_part(const Space& space,
                                                                          const matrix_view& a) const {
  const impl::relaxed::IsInPart<Scalar, Space> keep{a, m_options.part, m_options.unit_diagonal};
  const Matrix part = filter_entries<Scalar, Space>(space, a, keep);
  return Matrix(a.num_rows, a.num_rows, part.row_ptrs, part.col_idxs, part.values);
}

template <class Scalar, class Space>
void Relaxed<Scalar, Space>::check_given(std::int64_t num_rows) const {
  if (m_given->num_rows() == num_rows && m_given->num_cols() == num_rows) return;
  throw InputError(name() + ": the relaxation's operator is " + std::to_string(m_given->num_rows()) + " x " +
                   std::to_string(m_given->num_cols()) + ", and the matrix has " + std::to_string(num_rows) +
                   " rows");
}

template <class Scalar, class Space>
void Relaxed<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  std::shared_ptr<const Operator<Scalar, Space>> multiplied;
  Matrix copy;
  if (m_given) {
    check_given(source.num_rows());
    multiplied = m_given;
  } else if (m_options.steps > 0) {
    copy = copy_part(space, source.csr());
    multiplied = std::make_shared<CsrOperator<Scalar, Space>>(copy);
  }
  m_inner->numeric(space, source);
  report = m_inner->report();
  m_a = multiplied;
  const double steps = m_options.steps;
  const double of_step = flops_of_scalar<Scalar> * double(2 * copy.nnz() + source.num_rows());
  if (steps > 0) report.apply_flops = (steps + 1) * report.apply_flops + steps * of_step;
  report.bytes += copy.bytes();
}

template <class Scalar, class Space>
void Relaxed<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source& source,
                                                  Report& report) {
  m_inner->numeric(space, source);
  report = m_inner->report();
  m_a = nullptr;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Relaxed<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  auto inner = m_inner->make_workspace(space, num_vectors);
  if (m_options.steps == 0) return inner;
  using Vectors = MultiVector<Scalar, Space>;
  auto workspace = std::make_unique<impl::relaxed::RelaxedWorkspace<Scalar, Space>>();
  workspace->inner = std::move(inner);
  workspace->residual =
      allocate<Vectors>(space, "prekond::relaxed::apply::residual", this->num_rows(), num_vectors);
  workspace->correction = allocate<Vectors>(space, "prekond::relaxed::apply::correction",
                                            m_inner->can_apply_add() ? 0 : this->num_rows(), num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void Relaxed<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  namespace kernels = impl::relaxed;
  if (m_options.steps == 0) return m_inner->apply(space, x, y, workspace);
  const auto& own = static_cast<kernels::RelaxedWorkspace<Scalar, Space>&>(workspace);
  if (x.extent(1) > own.residual.extent(1))
    throw std::logic_error(name() + ": the workspace was made for fewer vectors");
  if (static_cast<std::int64_t>(own.residual.extent(0)) != this->num_rows())
    throw std::logic_error(name() + ": the workspace was made for " + std::to_string(own.residual.extent(0)) +
                           " rows, and there are " + std::to_string(this->num_rows()));
  const auto residual = impl::first_columns<Scalar, Space>(own.residual, x.extent(1));
  const auto correction = impl::first_columns<Scalar, Space>(own.correction, x.extent(1));
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, this->num_rows());
  m_inner->apply(space, x, y, *own.inner);
  for (int step = 0; step < m_options.steps; ++step) {
    Kokkos::parallel_for("prekond::relaxed::apply::begin_residual", rows,
                         kernels::BeginResidual<Scalar, Space>{x, y, residual, m_options.unit_diagonal});
    m_a->apply(space, y, residual, Scalar(-1), Scalar(1));
    if (m_inner->can_apply_add()) {
      m_inner->apply_add(space, residual, y, *own.inner);
      continue;
    }
    m_inner->apply(space, residual, correction, *own.inner);
    Kokkos::parallel_for("prekond::relaxed::apply::add_correction", rows,
                         kernels::AddCorrection<Scalar, Space>{correction, y});
  }
}

#define PREKOND_RELAXED(Scalar, Space) template class Relaxed<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_RELAXED)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_RELAXED)

}  // namespace prekond
