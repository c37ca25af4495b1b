// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/precond/impl/explicit_inverse.hpp>

#include "core/instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                MultiVectorView<Scalar, Space> y, Workspace&) const {
  m_stored.multiply(space, x, y);
}

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::apply_add_step(const Space& space,
                                                    MultiVectorView<const Scalar, Space> x,
                                                    MultiVectorView<Scalar, Space> y, Workspace&) const {
  m_stored.add_product(space, x, y);
}

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::store_inverse(const Space& space, const matrix_type& m, StoredAs as,
                                                   Report& report) {
  const StoredMatrix<Scalar, Space> stored(space, m, as);
  report.nnz = m.nnz();
  report.apply_flops = 2.0 * flops_of_scalar<Scalar> * static_cast<double>(m.nnz());
  report.bytes = stored.bytes();
  m_stored = stored;
}

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source&, Report&) {
  const auto row_ptrs =
      allocate_zero<Vector<std::size_t, Space>>(space, "prekond::explicit_inverse::row_ptrs", 1);
  m_stored = StoredMatrix<Scalar, Space>(space, matrix_type(0, 0, row_ptrs, {}, {}), Storage::full);
}

#define PREKOND_EXPLICIT_INVERSE(Scalar, Space) template class ExplicitInverse<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_EXPLICIT_INVERSE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_EXPLICIT_INVERSE)

}  // namespace prekond
