// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The members of FactoredInverse, for the units that instantiate it.
#include <prekond/core/scalar.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include "sparse_product/transpose.hpp"

#include <stdexcept>
#include <string>

namespace prekond {

namespace impl::factored_inverse {

/// The rows with entries that are not finite.
struct NotFinite {
  std::int64_t count = 0;
  std::int64_t first_row = -1;
};

template <class Scalar, class Space>
struct CountNotFinite {
  VectorView<const Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& sum) const { sum += !is_finite(values(k)); }
};

template <class Scalar, class Space>
std::int64_t count_not_finite(const Space& space, VectorView<const Scalar, Space> values) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "prekond::factored_inverse::count_not_finite",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, values.extent(0)),
      CountNotFinite<Scalar, Space>{values}, count);
  return count;
}

template <class Scalar, class Space>
struct KeepDiagonals {
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> lower, upper;
  KOKKOS_FUNCTION void operator()(int i, std::int64_t& count, std::int64_t& first) const {
    const std::size_t begin = pattern.row_ptrs(i), last = pattern.row_ptrs(i + 1) - 1;
    bool finite = true;
    for (std::size_t k = begin; k <= last; ++k) finite = finite && is_finite(lower(k)) && is_finite(upper(k));
    if (finite) return;
    for (std::size_t k = begin; k < last; ++k) lower(k) = upper(k) = 0;
    const bool usable = is_finite(lower(last)) && is_finite(upper(last)) && lower(last) != Scalar(0) &&
                        upper(last) != Scalar(0);
    if (!usable) lower(last) = upper(last) = 1;
    ++count;
    if (i < first) first = i;
  }
};

/// Rows with an entry that is not finite in either factor keep their diagonal, or 1 where that is not finite
/// or zero. The factors have the same pattern, or are the same one.
template <class Scalar, class Space>
NotFinite keep_diagonals(const Space& space, const CsrGraphView<Space>& pattern,
                         VectorView<Scalar, Space> lower, VectorView<Scalar, Space> upper) {
  NotFinite found;
  Kokkos::parallel_reduce("prekond::factored_inverse::keep_diagonals",
                          Kokkos::RangePolicy<Space>(space, 0, pattern.num_rows),
                          KeepDiagonals<Scalar, Space>{pattern, lower, upper},
                          Kokkos::Sum<std::int64_t>(found.count), Kokkos::Min<std::int64_t>(found.first_row));
  return found;
}

/// The last look at what is going to be applied: no infinity and no NaN gets into the factors, and the report
/// says what was done about them.
template <class Scalar, class Space, class Matrix>
void check_finite(const Space& space, const Matrix& lower, const Matrix& upper, Report& report) {
  std::int64_t count = count_not_finite<Scalar, Space>(space, lower.values);
  if (upper.values.data() != lower.values.data()) {
    count += count_not_finite<Scalar, Space>(space, upper.values);
  }
  if (count == 0) return;
  const NotFinite found = keep_diagonals<Scalar, Space>(space, lower, lower.values, upper.values);
  Breakdowns& all = report.breakdowns;
  if (all.count == 0 || found.first_row < all.first_row) {
    all.first_row = found.first_row;
    all.first_pivot = 0;
  }
  all.count += found.count;
  all.action += (all.action.empty() ? "" : "; ") + std::to_string(found.count) +
                " rows had entries that are not finite and kept only their diagonal";
}

template <class Scalar, class Space>
struct ApplyWorkspace : Workspace {
  MultiVector<Scalar, Space> gx;
};

}  // namespace impl::factored_inverse

template <class Scalar, class Space>
std::unique_ptr<Workspace> FactoredInverse<Scalar, Space>::make_workspace(const Space& space,
                                                                          int num_vectors) const {
  if (m_rows_only) throw std::logic_error(this->name() + ": make_workspace after keep_rows_only");
  auto workspace = std::make_unique<impl::factored_inverse::ApplyWorkspace<Scalar, Space>>();
  workspace->gx = allocate<MultiVector<Scalar, Space>>(space, "prekond::factored_inverse::apply::gx",
                                                       this->num_rows(), num_vectors);
  return workspace;
}

template <class Scalar, class Space>
MultiVectorView<const Scalar, Space> FactoredInverse<Scalar, Space>::multiply_lower(
    const Space& space, MultiVectorView<const Scalar, Space> x, Workspace& workspace) const {
  if (m_rows_only) throw std::logic_error(this->name() + ": apply after keep_rows_only");
  const auto& gx = static_cast<impl::factored_inverse::ApplyWorkspace<Scalar, Space>&>(workspace).gx;
  if (x.extent(1) > gx.extent(1))
    throw std::logic_error(this->name() + ": the workspace was made for fewer vectors");
  const MultiVectorView<Scalar, Space> z(gx.data(), gx.extent(0), x.extent(1));
  m_lower.multiply(space, x, z);
  return z;
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                MultiVectorView<Scalar, Space> y,
                                                Workspace& workspace) const {
  m_upper.multiply(space, multiply_lower(space, x, workspace), y);
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::apply_add_step(const Space& space,
                                                    MultiVectorView<const Scalar, Space> x,
                                                    MultiVectorView<Scalar, Space> y,
                                                    Workspace& workspace) const {
  m_upper.add_product(space, multiply_lower(space, x, workspace), y);
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::store_factors(const Space& space, const matrix_type& lower,
                                                   const matrix_type& upper_transposed, StoredAs as,
                                                   Report& report) {
  using Stored = StoredMatrix<Scalar, Space>;
  impl::factored_inverse::check_finite<Scalar, Space>(space, lower, upper_transposed, report);
  if (m_rows_only) {
    m_lower = Stored(space, lower, Storage::full);
    m_upper = lower.values.data() == upper_transposed.values.data()
                  ? Stored()
                  : Stored(space, upper_transposed, Storage::full);
    report.nnz = lower.nnz() + m_upper.csr().nnz();
    report.apply_flops =
        2.0 * flops_of_scalar<Scalar> * static_cast<double>(lower.nnz() + upper_transposed.nnz());
    report.bytes = m_lower.bytes() + m_upper.bytes();
    return;
  }
  // Complex matrices are Hermitian here: the second factor is G^H.
  const auto upper = conjugate_transpose<Scalar, Space>(space, upper_transposed);
  const bool two = upper_transposed.values.data() != lower.values.data();
  // G_L = D_L H_L and G_U = H_U D_U, the roundings by rows of G_L and of G_U^T: H_L takes both scales.
  Stored stored_lower(space, lower, as, Nonzero::last);
  VectorView<const real_type_t<Scalar>, Space> scale = stored_lower.row_scale();
  Vector<real_type_t<Scalar>, Space> own_scale;
  if (two) scale = own_scale = Stored::scale_of_rows(space, upper_transposed, as.storage);
  const auto stored_upper = Stored::with_columns_divided(space, upper, as, scale, Nonzero::first);
  stored_lower.multiply_rows(space, scale);

  report.nnz = lower.nnz() + (two ? upper.nnz() : 0);
  report.apply_flops = 2.0 * flops_of_scalar<Scalar> * static_cast<double>(lower.nnz() + upper.nnz());
  report.bytes = stored_lower.bytes() + stored_upper.bytes();
  m_lower = stored_lower;
  m_upper = stored_upper;
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source&, Report&) {
  const auto row_ptrs =
      allocate_zero<Vector<std::size_t, Space>>(space, "prekond::factored_inverse::g_row_ptrs", 1);
  m_lower = m_upper = StoredMatrix<Scalar, Space>(space, matrix_type(0, 0, row_ptrs, {}, {}), Storage::full);
}

}  // namespace prekond
