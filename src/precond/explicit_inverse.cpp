// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/explicit_inverse.hpp>
#include <prekond/precond/impl/store_rows.hpp>

#include "instantiate.hpp"

#include <stdexcept>

namespace prekond {

namespace impl {

/// H, in whatever precision.
template <class Scalar, class Space>
class StoredInverse {
 public:
  virtual ~StoredInverse() = default;
  /// y = D H x.
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y) const = 0;
  virtual std::int64_t bytes() const = 0;
};

}  // namespace impl

namespace {

template <class Value, class Scalar, class Space>
class InverseStoredAs : public impl::StoredInverse<Scalar, Space> {
 public:
  using Real = real_type_t<Scalar>;
  using full_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using stored_type = CsrMatrix<Value, int, std::size_t, typename Space::memory_space>;
  using Rows = impl::StoreRows<Value, Scalar, Space, false>;

  InverseStoredAs(const Space& space, const full_type& m)
      : m_h(m.num_rows, m.num_cols, m.row_ptrs, m.col_idxs,
            allocate<Vector<Value, Space>>(space, "prekond::explicit_inverse::stored_values", m.nnz())),
        m_scale(allocate<Vector<Real, Space>>(space, "prekond::explicit_inverse::scale", m.num_rows)) {
    Kokkos::parallel_for("prekond::explicit_inverse::store_rows", Rows::policy(space, m.num_rows),
                         Rows{m, m_h.values, m_scale});
    invert(space, m_scale);
    space.fence("prekond::explicit_inverse::stored");
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y) const override {
    spmv_stored<Value, Scalar, Space>(space, m_scale, m_h, x, y);
  }
  std::int64_t bytes() const override {
    return m_h.bytes() + static_cast<std::int64_t>(m_scale.span() * sizeof(Real));
  }

  /// Powers of two.
  static void invert(const Space& space, VectorView<Real, Space> scale) {
    Kokkos::parallel_for(
        "prekond::explicit_inverse::invert_scale", Kokkos::RangePolicy<Space>(space, 0, scale.extent(0)),
        KOKKOS_LAMBDA(int i) { scale(i) = 1 / scale(i); });
  }

 private:
  stored_type m_h;
  Vector<Real, Space> m_scale;
};

/// Null where the values stay as they are.
template <class Scalar, class Space, class Matrix>
std::shared_ptr<const impl::StoredInverse<Scalar, Space>> store(const Space& space, const Matrix& m,
                                                                Storage storage) {
  switch (storage) {
    case Storage::half:
      return std::make_shared<InverseStoredAs<impl::stored_value_t<Half, Scalar>, Scalar, Space>>(space, m);
    case Storage::bfloat16:
      return std::make_shared<InverseStoredAs<impl::stored_value_t<BFloat16, Scalar>, Scalar, Space>>(space,
                                                                                                      m);
    case Storage::single_precision:
      if constexpr (!std::is_same_v<real_type_t<Scalar>, float>)
        return std::make_shared<InverseStoredAs<impl::stored_value_t<float, Scalar>, Scalar, Space>>(space,
                                                                                                     m);
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                           MultiVectorView<Scalar, Space> y, Workspace&) const {
  if (!has_inverse() || m_m.num_rows != this->m_num_rows)
    throw std::logic_error(this->name() + ": apply before numeric");
  if (m_stored) return m_stored->apply(space, x, y);
  spmv<Scalar, Space>(space, Scalar(1), m_m, x, Scalar(0), y);
}

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::take_inverse(const Space& space, const matrix_type& m, Storage storage,
                                                  Report& report, impl::MemoryMeter& meter) {
  space.fence("prekond::explicit_inverse::numeric::end");
  const auto stored = store<Scalar, Space>(space, m, storage);
  report.fences += stored ? 2 : 1;
  report.nnz = m.nnz();
  report.apply_flops = 2.0 * flops_of_scalar<Scalar> * static_cast<double>(m.nnz());
  report.bytes = stored ? stored->bytes() : m.bytes();
  if (stored) meter.pass(stored->bytes() + impl::MemoryMeter::bytes_of(m.values) - m.bytes());
  report.setup_bytes = meter.peak();
  m_m = m;
  m_stored = stored;
  if (stored) m_m.values = {};
}

template <class Scalar, class Space>
void ExplicitInverse<Scalar, Space>::take_empty_inverse(const Space& space) {
  m_m = matrix_type(
      0, 0, allocate_zero<Vector<std::size_t, Space>>(space, "prekond::explicit_inverse::row_ptrs", 1), {},
      {});
  m_stored = nullptr;
}

#define PREKOND_EXPLICIT_INVERSE(Scalar, Space) template class ExplicitInverse<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_EXPLICIT_INVERSE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_EXPLICIT_INVERSE)

}  // namespace prekond
