// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's product of two sparse matrices.
#ifdef KOKKOS_ENABLE_CUDA
#include "cusparse.hpp"

#include <array>

namespace prekond::perf {

/// C = A B by cusparseSpGEMM: its columns are not sorted. The operands' row pointers are copied into 32 bits
/// before, and a product allocates its result and its working memory, as ours does.
class CusparseProduct {
 public:
  using View = CsrMatrix<const double, const int, const std::size_t, Kokkos::CudaSpace,
                         Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  using RowPtrs = Kokkos::View<int*, Kokkos::CudaSpace>;

  CusparseProduct(const Kokkos::Cuda& space, const View& a, const View& b)
      : m_rows(a.num_rows), m_cols(b.num_cols) {
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    m_operands = {describe(space, a, m_row_ptrs[0]), describe(space, b, m_row_ptrs[1])};
  }
  ~CusparseProduct() {
    for (const auto& operand : m_operands) cusparseDestroySpMat(operand);
    cusparseDestroy(m_handle);
  }
  CusparseProduct(const CusparseProduct&) = delete;
  CusparseProduct& operator=(const CusparseProduct&) = delete;

  /// \returns C's entries
  std::int64_t multiply(const Kokkos::Cuda& space) const {
    const double one = 1, zero = 0;
    constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    constexpr auto algorithm = CUSPARSE_SPGEMM_DEFAULT;
    const Kokkos::View<int*, Kokkos::CudaSpace> row_ptrs(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "c"), m_rows + 1);
    cusparseSpMatDescr_t c{};
    cusparseSpGEMMDescr_t descriptor{};
    check(cusparseCreateCsr(&c, m_rows, m_cols, 0, row_ptrs.data(), nullptr, nullptr, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    check(cusparseSpGEMM_createDescr(&descriptor));
    const auto step = [&](auto function) {
      std::size_t bytes = 0;
      check(function(m_handle, plain, plain, &one, m_operands[0], m_operands[1], &zero, c, CUDA_R_64F,
                     algorithm, descriptor, &bytes, nullptr));
      const Kokkos::View<char*, Kokkos::CudaSpace> buffer(
          Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "buffer"), bytes);
      check(function(m_handle, plain, plain, &one, m_operands[0], m_operands[1], &zero, c, CUDA_R_64F,
                     algorithm, descriptor, &bytes, buffer.data()));
      return buffer;
    };
    const auto of_estimation = step(cusparseSpGEMM_workEstimation);
    const auto of_products = step(cusparseSpGEMM_compute);
    std::int64_t rows = 0, cols = 0, nnz = 0;
    check(cusparseSpMatGetSize(c, &rows, &cols, &nnz));
    if (nnz >= (std::int64_t(1) << 31)) throw std::runtime_error("cuSPARSE: more than 2^31 entries");
    const Kokkos::View<int*, Kokkos::CudaSpace> col_idxs(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "col_idxs"), nnz);
    const Kokkos::View<double*, Kokkos::CudaSpace> values(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "values"), nnz);
    check(cusparseCsrSetPointers(c, row_ptrs.data(), col_idxs.data(), values.data()));
    check(cusparseSpGEMM_copy(m_handle, plain, plain, &one, m_operands[0], m_operands[1], &zero, c,
                              CUDA_R_64F, algorithm, descriptor));
    space.fence();
    cusparseSpGEMM_destroyDescr(descriptor);
    cusparseDestroySpMat(c);
    return nnz;
  }

  struct Shorten {
    decltype(View::row_ptrs) from;
    RowPtrs to;
    KOKKOS_FUNCTION void operator()(int i) const { to(i) = static_cast<int>(from(i)); }
  };

 private:
  static cusparseSpMatDescr_t describe(const Kokkos::Cuda& space, const View& a, RowPtrs& row_ptrs) {
    if (a.nnz() >= (std::int64_t(1) << 31)) throw std::runtime_error("cuSPARSE: more than 2^31 entries");
    row_ptrs = RowPtrs("row_ptrs", a.num_rows + 1);
    Kokkos::parallel_for("prekond::perf::shorten",
                         Kokkos::RangePolicy<Kokkos::Cuda>(space, 0, a.num_rows + 1),
                         Shorten{a.row_ptrs, row_ptrs});
    space.fence();
    cusparseSpMatDescr_t result{};
    check(cusparseCreateCsr(&result, a.num_rows, a.num_cols, a.nnz(), row_ptrs.data(),
                            const_cast<int*>(a.col_idxs.data()), const_cast<double*>(a.values.data()),
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    return result;
  }
  std::int64_t m_rows, m_cols;
  cusparseHandle_t m_handle{};
  std::array<RowPtrs, 2> m_row_ptrs;
  std::array<cusparseSpMatDescr_t, 2> m_operands{};
};

}  // namespace prekond::perf
#endif
