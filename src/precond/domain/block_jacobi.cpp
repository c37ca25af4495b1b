// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/block_jacobi.hpp>

#include "core/instantiate.hpp"
#include "precond/domain/subdomain_solver.hpp"

#include <stdexcept>

namespace prekond {

template <class Scalar, class Space>
BlockJacobi<Scalar, Space>::BlockJacobi(const BlockJacobiOptions& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
BlockJacobi<Scalar, Space>::~BlockJacobi() = default;

template <class Scalar, class Space>
Properties BlockJacobi<Scalar, Space>::properties() const {
  return m_solver ? m_solver->local().properties() : m_options.properties();
}

template <class Scalar, class Space>
void BlockJacobi<Scalar, Space>::set_partition(const Space& space, const VectorView<const int, Space>& part) {
  m_given = impl::block::copy_partition<Space>(space, part);
}

template <class Scalar, class Space>
const Partition<Space>& BlockJacobi<Scalar, Space>::partition() const {
  if (!m_solver) throw std::logic_error(name() + ": there is no partition before symbolic");
  return m_solver->partition();
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> BlockJacobi<Scalar, Space>::make_workspace(const Space& space,
                                                                      int num_vectors) const {
  if (!m_solver || this->num_rows() == 0) return std::make_unique<Workspace>();
  return m_solver->local().make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void BlockJacobi<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  m_solver = std::make_unique<Solver>(
      space, source, impl::block::SubdomainOptions<Space>{m_options.name, m_options, 0, m_given},
      [this](const std::string& text) {
        Report none;
        this->tell(text, none);
      });
}

template <class Scalar, class Space>
void BlockJacobi<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                              Report& report) {
  m_solver->numeric(space, source.csr(), report);
}

template <class Scalar, class Space>
void BlockJacobi<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report&) {}

template <class Scalar, class Space>
void BlockJacobi<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                            MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  m_solver->local().apply(space, m_solver->to_rows(), x, y, workspace);
}

#define PREKOND_BLOCK_JACOBI(Scalar, Space) template class BlockJacobi<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_BLOCK_JACOBI)

}  // namespace prekond
