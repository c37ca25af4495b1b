// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's ILU(0) of a matrix by blocks, and its two solves.
#ifdef KOKKOS_ENABLE_CUDA
#include <prekond/core/preconditioner.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>

#include "cusparse.hpp"

#include <algorithm>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace prekond::perf {

/// bsrilu02 in place of a copy of the values, and bsrsv2 with both of its triangles.
class CusparseBlockIlu : public Preconditioner<double, Kokkos::Cuda> {
 public:
  using Matrix = BcsrMatrix<const double, const int, const std::size_t, Kokkos::CudaSpace>;
  using Space = Kokkos::Cuda;

  CusparseBlockIlu(const Space& space, const Matrix& a)
      : m_a(a),
        m_rows(static_cast<int>(a.num_block_rows)),
        m_blocks(static_cast<int>(a.num_blocks())),
        m_direction(a.order == BlockOrder::by_columns ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW),
        m_row_ptrs("row_ptrs", a.row_ptrs.extent(0)),
        m_cols("cols", a.col_idxs.extent(0)),
        m_values("values", a.values.extent(0)),
        m_between("between", a.num_rows()) {
    Kokkos::deep_copy(space, m_row_ptrs, a.row_ptrs);
    Kokkos::deep_copy(space, m_cols, a.col_idxs);
    reset(space);
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    check(cusparseCreateMatDescr(&m_general));
    for (auto* triangle : {&m_lower, &m_upper}) {
      check(cusparseCreateMatDescr(&triangle->description));
      check(cusparseCreateBsrsv2Info(&triangle->info));
    }
    check(cusparseSetMatFillMode(m_lower.description, CUSPARSE_FILL_MODE_LOWER));
    check(cusparseSetMatDiagType(m_lower.description, CUSPARSE_DIAG_TYPE_UNIT));
    check(cusparseSetMatFillMode(m_upper.description, CUSPARSE_FILL_MODE_UPPER));
    check(cusparseSetMatDiagType(m_upper.description, CUSPARSE_DIAG_TYPE_NON_UNIT));
    check(cusparseCreateBsrilu02Info(&m_ilu));
    int bytes = 0, most = 0;
    check(cusparseDbsrilu02_bufferSize(m_handle, m_direction, m_rows, m_blocks, m_general, m_values.data(),
                                       m_row_ptrs.data(), m_cols.data(), m_a.block_size, m_ilu, &bytes));
    most = bytes;
    for (auto* triangle : {&m_lower, &m_upper}) {
      check(cusparseDbsrsv2_bufferSize(m_handle, m_direction, CUSPARSE_OPERATION_NON_TRANSPOSE, m_rows,
                                       m_blocks, triangle->description, m_values.data(), m_row_ptrs.data(),
                                       m_cols.data(), m_a.block_size, triangle->info, &bytes));
      triangle->buffer = Kokkos::View<char*, Kokkos::CudaSpace>("buffer", bytes);
    }
    m_buffer = Kokkos::View<char*, Kokkos::CudaSpace>("buffer", most);
    space.fence();
  }
  ~CusparseBlockIlu() override {
    for (auto* triangle : {&m_lower, &m_upper}) {
      cusparseDestroyBsrsv2Info(triangle->info);
      cusparseDestroyMatDescr(triangle->description);
    }
    cusparseDestroyBsrilu02Info(m_ilu);
    cusparseDestroyMatDescr(m_general);
    cusparseDestroy(m_handle);
  }
  CusparseBlockIlu(const CusparseBlockIlu&) = delete;
  CusparseBlockIlu& operator=(const CusparseBlockIlu&) = delete;

  std::string name() const override { return "cusparse_block_ilu0"; }
  std::int64_t num_rows() const override { return m_a.num_rows(); }

  /// A's values once more.
  void reset(const Space& space) const { Kokkos::deep_copy(space, m_values, m_a.values); }
  void analyse() const {
    check(cusparseDbsrilu02_analysis(m_handle, m_direction, m_rows, m_blocks, m_general, m_values.data(),
                                     m_row_ptrs.data(), m_cols.data(), m_a.block_size, m_ilu,
                                     CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
  }
  void analyse_solves() const {
    for (const auto* triangle : {&m_lower, &m_upper})
      check(cusparseDbsrsv2_analysis(m_handle, m_direction, CUSPARSE_OPERATION_NON_TRANSPOSE, m_rows,
                                     m_blocks, triangle->description, m_values.data(), m_row_ptrs.data(),
                                     m_cols.data(), m_a.block_size, triangle->info,
                                     CUSPARSE_SOLVE_POLICY_USE_LEVEL, triangle->buffer.data()));
  }
  void factor() const {
    check(cusparseDbsrilu02(m_handle, m_direction, m_rows, m_blocks, m_general, m_values.data(),
                            m_row_ptrs.data(), m_cols.data(), m_a.block_size, m_ilu,
                            CUSPARSE_SOLVE_POLICY_USE_LEVEL, m_buffer.data()));
  }
  void solve(const double* x, double* y) const {
    const double one = 1;
    const auto step = [&](const Triangle& triangle, const double* from, double* to) {
      check(cusparseDbsrsv2_solve(m_handle, m_direction, CUSPARSE_OPERATION_NON_TRANSPOSE, m_rows, m_blocks,
                                  &one, triangle.description, m_values.data(), m_row_ptrs.data(),
                                  m_cols.data(), m_a.block_size, triangle.info, from, to,
                                  CUSPARSE_SOLVE_POLICY_USE_LEVEL, triangle.buffer.data()));
    };
    step(m_lower, x, m_between.data());
    step(m_upper, m_between.data(), y);
  }
  void apply(const Space&, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace&) const override {
    solve(x.data(), y.data());
  }

 private:
  struct Triangle {
    cusparseMatDescr_t description{};
    bsrsv2Info_t info{};
    Kokkos::View<char*, Kokkos::CudaSpace> buffer;
  };
  Matrix m_a;
  int m_rows, m_blocks;
  cusparseDirection_t m_direction;
  Kokkos::View<int*, Kokkos::CudaSpace> m_row_ptrs, m_cols;
  Kokkos::View<double*, Kokkos::CudaSpace> m_values, m_between;
  Kokkos::View<char*, Kokkos::CudaSpace> m_buffer;
  cusparseHandle_t m_handle{};
  cusparseMatDescr_t m_general{};
  bsrilu02Info_t m_ilu{};
  Triangle m_lower, m_upper;
};

}  // namespace prekond::perf

#pragma GCC diagnostic pop
#endif
