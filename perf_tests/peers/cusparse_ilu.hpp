// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's incomplete factorisations on the matrix's own pattern.
#ifdef KOKKOS_ENABLE_CUDA
#include "cusparse.hpp"

namespace prekond::perf {

/// ILU(0) by csrilu02 or IC(0) by csric02, in place of a copy of A's values, with its levels.
class CusparseIncomplete {
 public:
  using Matrix = CsrMatrix<const double, const int, const std::size_t, Kokkos::CudaSpace>;

  CusparseIncomplete(const Kokkos::Cuda& space, const Matrix& a, bool is_ic)
      : m_a(a),
        m_is_ic(is_ic),
        m_rows(static_cast<int>(a.num_rows)),
        m_nnz(static_cast<int>(a.nnz())),
        m_row_ptrs("row_ptrs", a.num_rows + 1),
        m_values("values", a.nnz()) {
    Kokkos::parallel_for("prekond::perf::shorten", Kokkos::RangePolicy<Kokkos::Cuda>(space, 0, m_rows + 1),
                         Shorten{a.row_ptrs, m_row_ptrs});
    reset(space);
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    check(cusparseCreateMatDescr(&m_description));
    int bytes = 0;
    if (m_is_ic) {
      check(cusparseCreateCsric02Info(&m_ic));
      check(cusparseDcsric02_bufferSize(m_handle, m_rows, m_nnz, m_description, m_values.data(),
                                        m_row_ptrs.data(), m_a.col_idxs.data(), m_ic, &bytes));
    } else {
      check(cusparseCreateCsrilu02Info(&m_ilu));
      check(cusparseDcsrilu02_bufferSize(m_handle, m_rows, m_nnz, m_description, m_values.data(),
                                         m_row_ptrs.data(), m_a.col_idxs.data(), m_ilu, &bytes));
    }
    m_buffer = Kokkos::View<char*, Kokkos::CudaSpace>("buffer", bytes);
    space.fence();
  }
  ~CusparseIncomplete() {
    if (m_ic) cusparseDestroyCsric02Info(m_ic);
    if (m_ilu) cusparseDestroyCsrilu02Info(m_ilu);
    cusparseDestroyMatDescr(m_description);
    cusparseDestroy(m_handle);
  }
  CusparseIncomplete(const CusparseIncomplete&) = delete;
  CusparseIncomplete& operator=(const CusparseIncomplete&) = delete;

  /// A's values once more.
  void reset(const Kokkos::Cuda& space) const { Kokkos::deep_copy(space, m_values, m_a.values); }

  void analyse() const {
    if (m_is_ic)
      check(cusparseDcsric02_analysis(m_handle, m_rows, m_nnz, m_description, m_values.data(),
                                      m_row_ptrs.data(), m_a.col_idxs.data(), m_ic,
                                      CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
    else
      check(cusparseDcsrilu02_analysis(m_handle, m_rows, m_nnz, m_description, m_values.data(),
                                       m_row_ptrs.data(), m_a.col_idxs.data(), m_ilu,
                                       CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
  }
  void factor() const {
    if (m_is_ic)
      check(cusparseDcsric02(m_handle, m_rows, m_nnz, m_description, m_values.data(), m_row_ptrs.data(),
                             m_a.col_idxs.data(), m_ic, CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
    else
      check(cusparseDcsrilu02(m_handle, m_rows, m_nnz, m_description, m_values.data(), m_row_ptrs.data(),
                              m_a.col_idxs.data(), m_ilu, CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
  }

  struct Shorten {
    decltype(Matrix::row_ptrs) from;
    Kokkos::View<int*, Kokkos::CudaSpace> to;
    KOKKOS_FUNCTION void operator()(int i) const { to(i) = static_cast<int>(from(i)); }
  };

 private:
  Matrix m_a;
  bool m_is_ic;
  int m_rows, m_nnz;
  Kokkos::View<int*, Kokkos::CudaSpace> m_row_ptrs;
  Kokkos::View<double*, Kokkos::CudaSpace> m_values;
  Kokkos::View<char*, Kokkos::CudaSpace> m_buffer;
  cusparseHandle_t m_handle{};
  cusparseMatDescr_t m_description{};
  csric02Info_t m_ic{};
  csrilu02Info_t m_ilu{};
};

}  // namespace prekond::perf
#endif
