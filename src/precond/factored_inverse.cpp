// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/transpose.hpp>
#include <prekond/precond/factored_inverse.hpp>
#include <prekond/precond/impl/store_rows.hpp>

#include "instantiate.hpp"

#include <stdexcept>
#include <string>

namespace prekond {

namespace impl {

/// H and H^T (H^H where they are complex), or H_L and H_U, in whatever precision.
template <class Scalar, class Space>
class StoredFactor {
 public:
  virtual ~StoredFactor() = default;
  /// z = D^2 H x, y = H^T z.
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> z, MultiVectorView<Scalar, Space> y) const = 0;
  virtual std::int64_t bytes() const = 0;
};

}  // namespace impl

namespace {

template <class Value, class Scalar, class Space>
class StoredAs : public impl::StoredFactor<Scalar, Space> {
 public:
  using Real = real_type_t<Scalar>;
  using full_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using stored_type = CsrMatrix<Value, int, std::size_t, typename Space::memory_space>;

  /// `ut` is G_U^T, and `g` again where G_U = G^T; `u` is G_U.
  StoredAs(const Space& space, const full_type& g, const full_type& ut, const full_type& u)
      : m_h(same_pattern(space, g)),
        m_ht(same_pattern(space, u)),
        m_square(
            allocate<Vector<Real, Space>>(space, "prekond::factored_inverse::squared_scale", g.num_rows)) {
    const Vector<Real, Space> inverse = scale_rows(space, g, m_h.values);
    const bool symmetric = ut.values.data() == g.values.data();
    const Vector<Real, Space> inverse_of_u = symmetric ? inverse : scale_rows(space, ut, {});
    store_transposed(space, u, m_ht.values, inverse_of_u);
    multiply_scales(space, inverse, inverse_of_u, m_square);
    space.fence("prekond::factored_inverse::stored");
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> z,
             MultiVectorView<Scalar, Space> y) const override {
    spmv_stored<Value, Scalar, Space>(space, m_square, m_h, x, z);
    spmv_stored<Value, Scalar, Space>(space, {}, m_ht, z, y);
  }
  std::int64_t bytes() const override {
    return m_h.bytes() + m_ht.bytes() + static_cast<std::int64_t>(m_square.span() * sizeof(Real));
  }

  /// 1 / D_ii, and H's values where they are given a place.
  static Vector<Real, Space> scale_rows(const Space& space, const CsrView<Scalar, Space>& g,
                                        VectorView<Value, Space> values) {
    const auto inverse =
        allocate<Vector<Real, Space>>(space, "prekond::factored_inverse::inverse_scale", g.num_rows);
    Kokkos::parallel_for("prekond::factored_inverse::store_rows",
                         impl::StoreRows<Value, Scalar, Space, true>::policy(space, g.num_rows),
                         impl::StoreRows<Value, Scalar, Space, true>{g, values, inverse});
    return inverse;
  }

  /// D^2, or D_U D_L.
  static void multiply_scales(const Space& space, VectorView<const Real, Space> inverse,
                              VectorView<const Real, Space> inverse_of_u, VectorView<Real, Space> product) {
    Kokkos::parallel_for(
        "prekond::factored_inverse::multiply_scales", Kokkos::RangePolicy<Space>(space, 0, product.extent(0)),
        KOKKOS_LAMBDA(int i) { product(i) = 1 / inverse(i) / inverse_of_u(i); });
  }

  /// The same roundings as in H: each entry with the scale of its column. Row i of G^T begins with the
  /// diagonal.
  static void store_transposed(const Space& space, const CsrView<Scalar, Space>& gt,
                               VectorView<Value, Space> values, VectorView<const Real, Space> inverse_scale) {
    Kokkos::parallel_for(
        "prekond::factored_inverse::store_transposed",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, gt.nnz()),
        KOKKOS_LAMBDA(std::int64_t k) {
          values(k) = static_cast<Value>(gt.values(k) * inverse_scale(gt.col_idxs(k)));
        });
    Kokkos::parallel_for(
        "prekond::factored_inverse::store_diagonal", Kokkos::RangePolicy<Space>(space, 0, gt.num_rows),
        KOKKOS_LAMBDA(int i) {
          const std::size_t k = gt.row_ptrs(i);
          values(k) =
              impl::StoreRows<Value, Scalar, Space, true>::rounded(gt.values(k) * inverse_scale(i), true);
        });
  }

 private:
  static stored_type same_pattern(const Space& space, const full_type& g) {
    return stored_type(
        g.num_rows, g.num_cols, g.row_ptrs, g.col_idxs,
        allocate<Vector<Value, Space>>(space, "prekond::factored_inverse::stored_values", g.nnz()));
  }

  stored_type m_h;
  stored_type m_ht;
  Vector<Real, Space> m_square;
};

/// Null where the values stay as they are.
template <class Scalar, class Space, class Matrix>
std::shared_ptr<const impl::StoredFactor<Scalar, Space>> store(const Space& space, const Matrix& g,
                                                               const Matrix& ut, const Matrix& u,
                                                               Storage storage) {
  switch (storage) {
    case Storage::half:
      return std::make_shared<StoredAs<impl::stored_value_t<Half, Scalar>, Scalar, Space>>(space, g, ut, u);
    case Storage::bfloat16:
      return std::make_shared<StoredAs<impl::stored_value_t<BFloat16, Scalar>, Scalar, Space>>(space, g, ut,
                                                                                               u);
    case Storage::single_precision:
      if constexpr (!std::is_same_v<real_type_t<Scalar>, float>)
        return std::make_shared<StoredAs<impl::stored_value_t<float, Scalar>, Scalar, Space>>(space, g, ut,
                                                                                              u);
      return nullptr;
    default:
      return nullptr;
  }
}

/// What the reductions over rows with entries that are not finite find.
struct NotFinite {
  std::int64_t count = 0;
  std::int64_t first_row = -1;
};

template <class Scalar, class Space>
std::int64_t count_not_finite(const Space& space, VectorView<const Scalar, Space> values) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "prekond::factored_inverse::count_not_finite",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, values.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t & sum) { sum += !is_finite(values(k)); }, count);
  return count;
}

/// Rows with an entry that is not finite in either factor keep their diagonal, or 1 where that is not finite
/// or zero. The factors have the same pattern, or are the same one.
template <class Scalar, class Space>
NotFinite keep_diagonals(const Space& space, const CsrGraphView<Space>& pattern,
                         VectorView<Scalar, Space> lower, VectorView<Scalar, Space> upper) {
  NotFinite found;
  Kokkos::parallel_reduce(
      "prekond::factored_inverse::keep_diagonals", Kokkos::RangePolicy<Space>(space, 0, pattern.num_rows),
      KOKKOS_LAMBDA(int i, std::int64_t& count, std::int64_t& first) {
        const std::size_t begin = pattern.row_ptrs(i), last = pattern.row_ptrs(i + 1) - 1;
        bool finite = true;
        for (std::size_t k = begin; k <= last; ++k)
          finite = finite && is_finite(lower(k)) && is_finite(upper(k));
        if (finite) return;
        for (std::size_t k = begin; k < last; ++k) lower(k) = upper(k) = 0;
        const bool usable = is_finite(lower(last)) && is_finite(upper(last)) && lower(last) != Scalar(0) &&
                            upper(last) != Scalar(0);
        if (!usable) lower(last) = upper(last) = 1;
        ++count;
        if (i < first) first = i;
      },
      Kokkos::Sum<std::int64_t>(found.count), Kokkos::Min<std::int64_t>(found.first_row));
  return found;
}

/// The last look at what is going to be applied: no infinity and no NaN gets into the factors, and the report
/// says what was done about them.
template <class Scalar, class Space, class Matrix>
void check_finite(const Space& space, const Matrix& lower, const Matrix& upper, Report& report) {
  std::int64_t count = count_not_finite<Scalar, Space>(space, lower.values);
  ++report.fences;
  if (upper.values.data() != lower.values.data()) {
    count += count_not_finite<Scalar, Space>(space, upper.values);
    ++report.fences;
  }
  if (count == 0) return;
  const NotFinite found = keep_diagonals<Scalar, Space>(space, lower, lower.values, upper.values);
  ++report.fences;
  Breakdowns& all = report.breakdowns;
  if (all.count == 0 || found.first_row < all.first_row) {
    all.first_row = found.first_row;
    all.first_pivot = 0;
  }
  all.count += found.count;
  all.action += (all.action.empty() ? "" : "; ") + std::to_string(found.count) +
                " rows had entries that are not finite and kept their diagonal alone";
}

template <class Scalar, class Space>
struct ApplyWorkspace : Workspace {
  MultiVector<Scalar, Space> gx;
};

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<Workspace> FactoredInverse<Scalar, Space>::make_workspace(const Space& space,
                                                                          int num_vectors) const {
  auto workspace = std::make_unique<ApplyWorkspace<Scalar, Space>>();
  workspace->gx = allocate<MultiVector<Scalar, Space>>(space, "prekond::factored_inverse::apply::gx",
                                                       this->m_num_rows, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                           MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  const auto& gx = static_cast<ApplyWorkspace<Scalar, Space>&>(workspace).gx;
  if (!has_inverse() || m_gt.num_rows != this->m_num_rows)
    throw std::logic_error(this->name() + ": apply before numeric");
  if (x.extent(1) > gx.extent(1))
    throw std::logic_error(this->name() + ": the workspace was made for fewer vectors");
  const MultiVectorView<Scalar, Space> z(gx.data(), gx.extent(0), x.extent(1));
  if (m_stored) return m_stored->apply(space, x, z, y);
  spmv<Scalar, Space>(space, Scalar(1), m_g, x, Scalar(0), z);
  spmv<Scalar, Space>(space, Scalar(1), m_gt, z, Scalar(0), y);
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::take_factors(const Space& space, const matrix_type& lower,
                                                  const matrix_type& upper_transposed, Storage storage,
                                                  Report& report, impl::MemoryMeter& meter) {
  check_finite<Scalar, Space>(space, lower, upper_transposed, report);
  // Of complex matrices only Hermitian ones have an algorithm: the second factor is G^H.
  const auto upper = conjugate_transpose<Scalar, Space>(space, upper_transposed);
  space.fence("prekond::factored_inverse::numeric::end");
  const auto stored = store<Scalar, Space>(space, lower, upper_transposed, upper, storage);
  const bool two = upper_transposed.values.data() != lower.values.data();
  report.fences += 3;
  report.nnz = lower.nnz() + (two ? upper.nnz() : 0);
  report.apply_flops = 2.0 * flops_of_scalar<Scalar> * static_cast<double>(lower.nnz() + upper.nnz());
  report.bytes = stored ? stored->bytes() : lower.bytes() + upper.bytes();
  const auto of_column = static_cast<std::int64_t>(sizeof(real_type_t<Scalar>)),
             of_place = static_cast<std::int64_t>(sizeof(std::size_t));
  const std::int64_t values =
      impl::MemoryMeter::bytes_of(lower.values) + impl::MemoryMeter::bytes_of(upper.values);
  meter.pass((lower.num_rows + 1) * of_place);  // of the transposition: the next place of each column
  if (stored)
    meter.pass(stored->bytes() + values - lower.bytes() - upper.bytes() + lower.num_rows * of_column);
  report.setup_bytes = meter.peak();
  m_g = lower;
  m_gt = upper;
  m_stored = stored;
  if (stored) m_g.values = m_gt.values = {};
}

template <class Scalar, class Space>
void FactoredInverse<Scalar, Space>::take_empty_inverse(const Space& space) {
  const auto row_ptrs =
      allocate_zero<Vector<std::size_t, Space>>(space, "prekond::factored_inverse::g_row_ptrs", 1);
  m_g = m_gt = matrix_type(0, 0, row_ptrs, {}, {});
  m_stored = nullptr;
}

#define PREKOND_FACTORED_INVERSE(Scalar, Space) template class FactoredInverse<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_FACTORED_INVERSE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_FACTORED_INVERSE)

}  // namespace prekond
