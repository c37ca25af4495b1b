// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/transpose.hpp>
#include <prekond/precond/factored_inverse.hpp>

#include "instantiate.hpp"

#include <stdexcept>

namespace prekond {
namespace {

template <class Scalar, class Space>
struct ApplyWorkspace : Workspace {
  MultiVector<Scalar, Space> gx;
};

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<Workspace> FactoredInverse<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  auto workspace = std::make_unique<ApplyWorkspace<Scalar, Space>>();
  workspace->gx = allocate<MultiVector<Scalar, Space>>(space, "prekond::factored_inverse::apply::gx", this->m_num_rows, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                           MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  const auto& gx = static_cast<ApplyWorkspace<Scalar, Space>&>(workspace).gx;
  if (!has_factor() || m_gt.num_rows != this->m_num_rows) throw std::logic_error(this->name() + ": apply before numeric");
  if (x.extent(1) > gx.extent(1)) throw std::logic_error(this->name() + ": the workspace was made for fewer vectors");
  const MultiVectorView<Scalar, Space> z(gx.data(), gx.extent(0), x.extent(1));
  spmv<Scalar, Space>(space, Scalar(1), m_g, x, Scalar(0), z);
  spmv<Scalar, Space>(space, Scalar(1), m_gt, z, Scalar(0), y);
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::take_factor(const Space& space, const matrix_type& g, Report& report) {
  const auto gt = transpose<Scalar, Space>(space, g);
  space.fence("prekond::factored_inverse::numeric::end");
  m_g = g;
  m_gt = gt;
  report.fences += 3;
  report.nnz = m_g.nnz();
  report.apply_flops = 4.0 * static_cast<double>(m_g.nnz());
  report.bytes = m_g.bytes() + m_gt.bytes();
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::take_empty_factor(const Space& space) {
  const auto row_ptrs = allocate_zero<Vector<std::size_t, Space>>(space, "prekond::factored_inverse::g_row_ptrs", 1);
  m_g = m_gt = matrix_type(0, 0, row_ptrs, {}, {});
}

#define PREKOND_FACTORED_INVERSE(Scalar, Space) template class FactoredInverse<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_FACTORED_INVERSE)

}  // namespace prekond
