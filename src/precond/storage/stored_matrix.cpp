// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include "core/half.hpp"
#include "matrix/format_operator.hpp"

#include "core/instantiate.hpp"
#include "matrix/format_layouts.hpp"
#include "precond/scaling/store_rows.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace prekond {
namespace {

/// By rows, entries of type Value.
template <class Value, class Scalar, class Space>
class StoredCsr : public impl::StoredFormat<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<Value, int, std::size_t, typename Space::memory_space>;

  explicit StoredCsr(const matrix_type& h) : m_h(h) {}

  void multiply(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                MultiVectorView<const Scalar, Space> x, Scalar beta,
                MultiVectorView<Scalar, Space> y) const override {
    if constexpr (std::is_same_v<Value, Scalar>) {
      if (row_scale.extent(0) == 0) return spmv<Scalar, Space>(space, Scalar(1), m_h, x, beta, y);
      multiply_recurrence(space, RecurrenceStep<Scalar>{.previous = beta}, row_scale, x, {}, y);
    } else {
      spmv_stored<Value, Scalar, Space>(space, row_scale, m_h, x, y, beta);
    }
  }
  void multiply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                           VectorView<const real_type_t<Scalar>, Space> row_scale,
                           MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                           MultiVectorView<Scalar, Space> y) const override {
    spmv_recurrence<Value, Scalar, Space>(space, step, row_scale, m_h, x, b, y);
  }
  std::int64_t bytes() const override { return m_h.bytes(); }

 private:
  matrix_type m_h;
};

/// By another format.
template <class Matrix, class View, class Scalar, class Space>
class StoredFormatOf : public impl::StoredFormat<Scalar, Space> {
 public:
  explicit StoredFormatOf(Matrix h) : m_h(std::move(h)) {}

  void multiply(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                MultiVectorView<const Scalar, Space> x, Scalar beta,
                MultiVectorView<Scalar, Space> y) const override {
    multiply_recurrence(space, RecurrenceStep<Scalar>{.previous = beta}, row_scale, x, {}, y);
  }
  void multiply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                           VectorView<const real_type_t<Scalar>, Space> row_scale,
                           MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                           MultiVectorView<Scalar, Space> y) const override {
    using Value = typename decltype(m_h.values)::non_const_value_type;
    if constexpr (std::is_same_v<Matrix, BlockSellMatrix<Value, Space>>)
      block_sell_recurrence<Value, Scalar, Space>(space, step, row_scale, m_h, x, b, y);
    else
      format_recurrence<Scalar, Space, View>(space, step, row_scale, m_h, x, b, y);
  }
  std::int64_t bytes() const override { return m_h.bytes(); }
  const Matrix& matrix() const { return m_h; }

 private:
  Matrix m_h;
};

/// By blocks.
template <class Value, class Scalar, class Space>
using StoredBlocks =
    StoredFormatOf<BlockSellMatrix<Value, Space>, BlockSellMatrix<Value, Space>, Scalar, Space>;

/// Null where the pattern is not for blocks. `like`: as below.
template <class Scalar, class Value, class Space>
std::shared_ptr<const impl::StoredFormat<Scalar, Space>> store_blocks(
    const Space& space, const CsrMatrix<Value, int, std::size_t, typename Space::memory_space>& h,
    const BlockPattern<Space>& blocks, const impl::StoredFormat<Scalar, Space>* like) {
  if constexpr (!is_complex<Scalar>) {
    using Blocks = StoredBlocks<Value, Scalar, Space>;
    if (const auto* known = dynamic_cast<const Blocks*>(like))
      return std::make_shared<Blocks>(
          fill_block_sell<Value, Space>(space, h, blocks, known->matrix().structure));
    if (blocks.is_smaller())
      if (const auto found = make_block_sell<Value, Space>(space, h, blocks))
        return std::make_shared<Blocks>(*found);
  }
  return nullptr;
}

/// `like`: null, or one of the same pattern, whose layout is taken.
template <class Scalar, class Value, class Space>
std::shared_ptr<const impl::StoredFormat<Scalar, Space>> store_as(
    const Space& space, const CsrMatrix<Value, int, std::size_t, typename Space::memory_space>& h,
    MatrixFormat format, impl::formats::Found<Space>& found, const impl::StoredFormat<Scalar, Space>* like) {
  using Sell = StoredFormatOf<SellMatrix<Value, Space>, SellView<Value, Space>, Scalar, Space>;
  using Dia = StoredFormatOf<DiaMatrix<Value, Space>, DiaView<Value, Space>, Scalar, Space>;
  if (const auto* sell = dynamic_cast<const Sell*>(like))
    return std::make_shared<Sell>(impl::formats::fill_sell<Value, Space>(space, h, sell->matrix()));
  if (const auto* dia = dynamic_cast<const Dia*>(like))
    return std::make_shared<Dia>(impl::formats::fill_dia<Value, Space>(space, h, dia->matrix().offsets));
  if (format == MatrixFormat::sell)
    return std::make_shared<Sell>(impl::formats::make_sell<Value, Space>(space, h, found));
  if (format == MatrixFormat::dia)
    return std::make_shared<Dia>(impl::formats::make_dia<Value, Space>(space, h, found));
  if (format == MatrixFormat::jad)
    return std::make_shared<StoredFormatOf<JadMatrix<Value, Space>, JadView<Value, Space>, Scalar, Space>>(
        make_jad<Value, Space>(space, h));
  return std::make_shared<StoredCsr<Value, Scalar, Space>>(h);
}

/// Calls work(std::type_identity<Value>) with the type that a storage keeps entries in: Scalar itself where
/// they stay as they are.
template <class Scalar, class Work>
void with_value_type(Storage storage, const Work& work) {
  switch (storage) {
    case Storage::half:
      return work(std::type_identity<impl::stored_value_t<Half, Scalar>>());
    case Storage::bfloat16:
      return work(std::type_identity<impl::stored_value_t<BFloat16, Scalar>>());
    case Storage::single_precision:
      return work(std::type_identity<impl::stored_value_t<float, Scalar>>());
    case Storage::full:
      break;
  }
  work(std::type_identity<Scalar>());
}

/// A's pattern with values of another type, uninitialised.
template <class Value, class Space, class Matrix>
CsrMatrix<Value, int, std::size_t, typename Space::memory_space> with_values_of(const Space& space,
                                                                                const Matrix& a) {
  return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs,
          allocate<Vector<Value, Space>>(space, "prekond::stored_matrix::values", a.nnz())};
}

/// D, and H's values where they are given a place.
template <class Value, class Scalar, class Space>
Vector<real_type_t<Scalar>, Space> store_rows(const Space& space, const CsrView<Scalar, Space>& a,
                                              VectorView<Value, Space> values, Nonzero nonzero) {
  using Kernel = impl::StoreRows<Value, Scalar, Space>;
  const auto scale =
      allocate<Vector<real_type_t<Scalar>, Space>>(space, "prekond::stored_matrix::row_scale", a.num_rows);
  if (a.num_rows > 0)
    Kokkos::parallel_for("prekond::stored_matrix::store_rows", Kernel::policy(space, a.num_rows),
                         Kernel{a, values, scale, nonzero});
  return scale;
}

template <class Value, class Scalar, class Space>
void store_divided(const Space& space, const CsrView<Scalar, Space>& a, VectorView<Value, Space> values,
                   VectorView<const real_type_t<Scalar>, Space> column_scale, Nonzero nonzero) {
  Kokkos::parallel_for("prekond::stored_matrix::store_divided",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz()),
                       impl::StoreDivided<Value, Scalar, Space>{a, values, column_scale});
  if (nonzero == Nonzero::none) return;
  Kokkos::parallel_for(
      "prekond::stored_matrix::store_nonzero", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
      impl::StoreDividedNonzero<Value, Scalar, Space>{a, values, column_scale, nonzero == Nonzero::first});
}

}  // namespace

template <class Scalar, class Space>
template <class Value>
void StoredMatrix<Scalar, Space>::keep(
    const Space& space, const CsrMatrix<Value, int, std::size_t, typename Space::memory_space>& h,
    MatrixFormat format, const StoredMatrix* like) {
  m_is_full = std::is_same_v<Value, Scalar>;
  const auto* const known = like ? like->m_format.get() : nullptr;
  m_format = store_blocks<Scalar, Value, Space>(space, h, m_blocks, known);
  m_as = MatrixFormat::bcsr;
  if (!m_format) {
    m_blocks = {};
    impl::formats::Found<Space> found;
    m_as = format == MatrixFormat::automatic || format == MatrixFormat::bcsr
               ? impl::formats::advise_format<Space>(space, h, sizeof(Value), found,
                                                     impl::formats::BlocksAre::refused)
                     .format
               : format;
    m_format = store_as<Scalar, Value, Space>(space, h, m_as, found, known);
  }
  if (m_is_full && m_as == MatrixFormat::csr) return;
  space.fence("prekond::stored_matrix::stored");
  m_csr.values = {};
}

template <class Scalar, class Space>
StoredMatrix<Scalar, Space>::StoredMatrix(const Space& space, const matrix_type& a, StoredAs as,
                                          Nonzero nonzero)
    : m_csr(a) {
  store(space, a, as, nonzero, nullptr);
}

template <class Scalar, class Space>
StoredMatrix<Scalar, Space>::StoredMatrix(const Space& space, const matrix_type& a, StoredAs as,
                                          const BlockPattern<Space>& blocks)
    : m_csr(a), m_blocks(blocks) {
  store(space, a, as, Nonzero::none, nullptr);
}

template <class Scalar, class Space>
StoredMatrix<Scalar, Space>::StoredMatrix(const Space& space, const matrix_type& a, Storage storage,
                                          const StoredMatrix& like)
    : m_csr(a), m_blocks(like.m_blocks) {
  store(space, a, {storage, like.format()}, Nonzero::none, &like);
}

template <class Scalar, class Space>
void StoredMatrix<Scalar, Space>::store(const Space& space, const matrix_type& a, StoredAs as,
                                        Nonzero nonzero, const StoredMatrix* like) {
  with_value_type<Scalar>(as.storage, [&]<class Value>(std::type_identity<Value>) {
    if constexpr (std::is_same_v<Value, Scalar>) {
      keep<Scalar>(space, a, as.format, like);
    } else {
      const auto h = with_values_of<Value>(space, a);
      m_storage = as.storage;
      m_row_scale = store_rows<Value, Scalar, Space>(space, a, h.values, nonzero);
      keep<Value>(space, h, as.format, like);
    }
  });
}

template <class Scalar, class Space>
StoredMatrix<Scalar, Space> StoredMatrix<Scalar, Space>::with_columns_divided(
    const Space& space, const matrix_type& a, StoredAs as, VectorView<const Real, Space> column_scale,
    Nonzero nonzero) {
  if (column_scale.extent(0) == 0) return StoredMatrix(space, a, {Storage::full, as.format});
  StoredMatrix result;
  result.m_csr = a;
  with_value_type<Scalar>(as.storage, [&]<class Value>(std::type_identity<Value>) {
    if constexpr (std::is_same_v<Value, Scalar>) {
      throw std::logic_error("prekond::StoredMatrix: a matrix stored in full has no scales");
    } else {
      const auto h = with_values_of<Value>(space, a);
      store_divided<Value, Scalar, Space>(space, a, h.values, column_scale, nonzero);
      result.m_storage = as.storage;
      result.template keep<Value>(space, h, as.format);
    }
  });
  return result;
}

template <class Scalar, class Space>
Vector<real_type_t<Scalar>, Space> StoredMatrix<Scalar, Space>::scale_of_rows(const Space& space,
                                                                              const matrix_type& a,
                                                                              Storage storage) {
  Vector<Real, Space> scale;
  with_value_type<Scalar>(storage, [&]<class Value>(std::type_identity<Value>) {
    if constexpr (!std::is_same_v<Value, Scalar>)
      scale = store_rows<Value, Scalar, Space>(space, a, {}, Nonzero::none);
  });
  return scale;
}

template <class Scalar, class Space>
void StoredMatrix<Scalar, Space>::multiply_rows(const Space& space, VectorView<const Real, Space> scale) {
  if (scale.extent(0) == 0) return;
  if (m_is_full) throw std::logic_error("prekond::StoredMatrix: a matrix stored in full has no scales");
  if (scale.extent(0) != m_row_scale.extent(0))
    throw InputError("prekond::StoredMatrix: " + std::to_string(scale.extent(0)) + " scales for " +
                     std::to_string(m_row_scale.extent(0)) + " rows that have one");
  Kokkos::parallel_for("prekond::stored_matrix::multiply_rows",
                       Kokkos::RangePolicy<Space>(space, 0, m_row_scale.extent(0)),
                       impl::MultiplyScales<Real, Space>{scale, m_row_scale});
}

template <class Scalar, class Space>
StoredMatrix<Scalar, Space> StoredMatrix<Scalar, Space>::with_rows_multiplied(
    const Space& space, const Vector<Real, Space>& scale) const {
  if (static_cast<std::int64_t>(scale.extent(0)) != num_rows())
    throw InputError("prekond::StoredMatrix: " + std::to_string(scale.extent(0)) + " scales for " +
                     std::to_string(num_rows()) + " rows");
  StoredMatrix result = *this;
  if (m_row_scale.extent(0) == 0) {
    result.m_row_scale = scale;
    return result;
  }
  result.m_row_scale =
      allocate<Vector<Real, Space>>(space, "prekond::stored_matrix::row_scale", m_row_scale.extent(0));
  Kokkos::deep_copy(space, result.m_row_scale, m_row_scale);
  Kokkos::parallel_for("prekond::stored_matrix::multiply_rows",
                       Kokkos::RangePolicy<Space>(space, 0, m_row_scale.extent(0)),
                       impl::MultiplyScales<Real, Space>{scale, result.m_row_scale});
  return result;
}

template <class Scalar, class Space>
std::int64_t StoredMatrix<Scalar, Space>::bytes() const {
  const std::int64_t pattern = m_as == MatrixFormat::csr ? 0 : m_csr.bytes();
  return pattern + (m_format ? m_format->bytes() : 0) +
         static_cast<std::int64_t>(m_row_scale.span() * sizeof(Real));
}

#define PREKOND_STORED_MATRIX(Scalar, Space) template class StoredMatrix<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_STORED_MATRIX)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_STORED_MATRIX)

}  // namespace prekond
