// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/schwarz.hpp>

#include "core/instantiate.hpp"
#include "precond/domain/subdomain_solver.hpp"

#include <stdexcept>

namespace prekond {
namespace {

/// y_i = the sum over the places of row i, in their order.
template <class Scalar, class Space>
struct SumCopies {
  VectorView<const int, Space> copy_ptrs;
  VectorView<const int, Space> copies;
  MultiVectorView<const Scalar, Space> places;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      Scalar sum = 0;
      for (int c = copy_ptrs(i); c < copy_ptrs(i + 1); ++c) sum += places(copies(c), v);
      y(i, v) = sum;
    }
  }
};

template <class Scalar, class Space>
struct SchwarzWorkspace : impl::block::LayoutWorkspace {
  using LayoutWorkspace::LayoutWorkspace;
  std::unique_ptr<Workspace> local;
  MultiVector<Scalar, Space> places;
};

}  // namespace

template <class Scalar, class Space>
Schwarz<Scalar, Space>::Schwarz(const SchwarzOptions& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
Schwarz<Scalar, Space>::~Schwarz() = default;

template <class Scalar, class Space>
Properties Schwarz<Scalar, Space>::properties() const {
  return m_solver ? m_options.with_combination(m_solver->local().properties()) : m_options.properties();
}

template <class Scalar, class Space>
void Schwarz<Scalar, Space>::set_partition(const Space& space, const VectorView<const int, Space>& part) {
  m_given = allocate<Vector<int, Space>>(space, "prekond::block::partition", part.extent(0));
  Kokkos::deep_copy(space, m_given, part);
  space.fence("prekond::block::set_partition");  // the user's array may be freed
}

template <class Scalar, class Space>
const Partition<Space>& Schwarz<Scalar, Space>::partition() const {
  if (!m_solver) throw std::logic_error(name() + ": there is no partition before symbolic");
  return m_solver->partition();
}

template <class Scalar, class Space>
std::int64_t Schwarz<Scalar, Space>::num_overlapping_rows() const {
  return m_solver ? m_solver->subdomains().num_places : 0;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Schwarz<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  if (!m_solver || this->num_rows() == 0) return std::make_unique<Workspace>();
  auto local = m_solver->local().make_workspace(space, num_vectors);
  if (!sums_copies()) return local;
  auto workspace = std::make_unique<SchwarzWorkspace<Scalar, Space>>(m_solver->subdomains().num_places,
                                                                     m_solver->subdomains().largest);
  workspace->local = std::move(local);
  workspace->places = allocate<MultiVector<Scalar, Space>>(space, "prekond::block::apply::places",
                                                           m_solver->subdomains().num_places, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void Schwarz<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  m_solver = std::make_unique<Solver>(space, source, m_options, m_given, [this](const std::string& text) {
    Report none;
    this->tell(text, none);
  });
}

template <class Scalar, class Space>
void Schwarz<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  m_solver->numeric(space, source.csr(), report);
}

template <class Scalar, class Space>
void Schwarz<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report&) {}

template <class Scalar, class Space>
void Schwarz<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (!sums_copies()) return m_solver->local().apply(space, m_solver->to_rows(), x, y, workspace);
  const auto& subdomains = m_solver->subdomains();
  auto& own = impl::block::own_workspace<SchwarzWorkspace<Scalar, Space>>(workspace, subdomains.num_places,
                                                                          subdomains.largest, name());
  if (x.extent(1) > own.places.extent(1))
    throw std::logic_error(name() + ": the workspace was made for fewer vectors");
  const MultiVectorView<Scalar, Space> places(own.places.data(), own.places.extent(0), x.extent(1));
  m_solver->local().apply(space, m_solver->to_places(), x, places, *own.local);
  Kokkos::parallel_for(
      "prekond::block::apply::sum_copies",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, this->num_rows()),
      SumCopies<Scalar, Space>{subdomains.copy_ptrs, subdomains.copies, places, y});
}

#define PREKOND_SCHWARZ(Scalar, Space) template class Schwarz<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SCHWARZ)

}  // namespace prekond
