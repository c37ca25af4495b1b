// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/precond/scaled.hpp>

#include "core/instantiate.hpp"
#include "precond/scaling/scaling.hpp"

#include <stdexcept>

namespace prekond {
namespace impl::scaled {

template <class Scalar, class Space>
struct ScaledWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> scaled;
};

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
  const auto values = kernels::scaled_values<Scalar, Space>(space, a, exponents.row, exponents.column);
  const auto row_scale = kernels::scale_of<Real, Space>(space, "prekond::scaled::row_scale", exponents.row);
  const auto column_scale =
      kernels::scale_of<Real, Space>(space, "prekond::scaled::column_scale", exponents.column);
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
