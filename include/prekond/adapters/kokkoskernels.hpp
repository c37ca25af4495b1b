// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

/// Kokkos Kernels' matrix as ours, ours as theirs, and their product as an operator for our solvers.
namespace prekond::kokkoskernels {

/// The matrix type of Kokkos Kernels with the entries, offsets and ownership of a CsrMatrix: managed views
/// are `void` there.
template <class Matrix, class Device>
using CrsMatrixOf =
    KokkosSparse::CrsMatrix<typename decltype(Matrix::values)::value_type,
                            typename decltype(Matrix::col_idxs)::value_type, Device,
                            std::conditional_t<decltype(Matrix::values)::memory_traits::is_unmanaged,
                                               typename decltype(Matrix::values)::memory_traits, void>,
                            typename Matrix::offset_type>;

/// The same matrix as a CsrMatrix. Nothing is copied and nothing is allocated.
///
/// The views are shared: a change of values through one matrix is a change of the other. Managed views are
/// counted, so the result outlives `a`; where `a` is unmanaged the caller keeps the memory alive. Row
/// pointers become const, as Kokkos Kernels has them; values and columns are const where they were. \pre
/// Columns ascend and are unique within a row. Kokkos Kernels does not promise it: where the matrix may come
///   otherwise, call prekond::validate, which throws, or prekond::sort_rows (whose row pointers of const type
///   are in <prekond/matrix/impl/sort_rows.hpp>), or KokkosSparse::sort_crs_matrix before.
template <class Scalar, class Ordinal, class Device, class Traits, class Offset>
auto to_csr_matrix(const KokkosSparse::CrsMatrix<Scalar, Ordinal, Device, Traits, Offset>& a) {
  using OurTraits = std::conditional_t<std::is_void_v<Traits>, Kokkos::MemoryTraits<0>, Traits>;
  return CsrMatrix<Scalar, Ordinal, const Offset, typename Device::memory_space, OurTraits>(
      a.numRows(), a.numCols(), a.graph.row_map, a.graph.entries, a.values);
}

/// The same matrix as a KokkosSparse::CrsMatrix on `Device`. Sharing and lifetime are those of to_csr_matrix;
/// const values and columns stay const. Kokkos Kernels drops the label. \throws InputError where a size does
/// not fit the ordinal, in which Kokkos Kernels returns sizes
template <class Device, class Scalar, class Ordinal, class Offset, class MemorySpace, class Traits>
auto to_crs_matrix(const std::string& label,
                   const CsrMatrix<Scalar, Ordinal, Offset, MemorySpace, Traits>& a) {
  using Result = CrsMatrixOf<CsrMatrix<Scalar, Ordinal, Offset, MemorySpace, Traits>, Device>;
  using Size = typename Result::non_const_ordinal_type;
  constexpr std::int64_t largest = std::numeric_limits<Size>::max();
  if (a.num_rows > largest || a.num_cols > largest)
    throw InputError("prekond::kokkoskernels::to_crs_matrix: the matrix is " + std::to_string(a.num_rows) +
                     " x " + std::to_string(a.num_cols) + ", the ordinal holds at most " +
                     std::to_string(largest));
  return Result(label, static_cast<Size>(a.num_rows), static_cast<Size>(a.num_cols), a.col_idxs.extent(0),
                a.values, a.row_ptrs, a.col_idxs);
}

/// The same, on the memory space's own execution space.
template <class Scalar, class Ordinal, class Offset, class MemorySpace, class Traits>
auto to_crs_matrix(const std::string& label,
                   const CsrMatrix<Scalar, Ordinal, Offset, MemorySpace, Traits>& a) {
  return to_crs_matrix<Kokkos::Device<typename MemorySpace::execution_space, MemorySpace>>(label, a);
}

/// Kokkos Kernels' ways to multiply. `automatic` and `merge_path` may call a vendor's library, where Kokkos
/// Kernels was built with one and has it for these types: cuSPARSE for int offsets (or int64 columns), not
/// for size_t.
enum class SpmvAlgorithm { automatic, native, merge_path, native_merge_path };

struct SpmvOptions {
  SpmvAlgorithm algorithm = SpmvAlgorithm::automatic;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("algorithm", algorithm,
          {{"default", SpmvAlgorithm::automatic},
           {"native", SpmvAlgorithm::native},
           {"merge_path", SpmvAlgorithm::merge_path},
           {"native_merge_path", SpmvAlgorithm::native_merge_path}},
          "KokkosSparse::SPMVAlgorithm; the merge paths are for rows of very different length");
  }
};

/// KokkosSparse::spmv as an operator. It keeps the matrix's views (not a copy of what they point to).
///
/// A library that Kokkos Kernels calls makes its descriptors and buffers in the first apply and fences where
/// the instance changes; native algorithms allocate nothing and do not fence. Copies of the operator share
/// that state: let the first apply end before another thread applies. With beta = 0, y is not read; with
/// alpha = 0 neither A nor x are (a NaN there does not reach y, as it does in prekond::spmv). Bits are Kokkos
/// Kernels' business: its merge paths add by atomics in an order that is not fixed, its other native ones do
/// not. Several vectors take its native kernel or the library's, whatever the algorithm.
template <class Scalar, class Space, class Offset = std::size_t>
class SpmvOperator : public Operator<Scalar, Space> {
 public:
  using csr_type = CsrMatrix<const Scalar, const int, const Offset, typename Space::memory_space>;
  using device_type = Kokkos::Device<Space, typename Space::memory_space>;
  using matrix_type = CrsMatrixOf<csr_type, device_type>;

  explicit SpmvOperator(const csr_type& a, const SpmvOptions& options = {})
      : m_a(to_crs_matrix<device_type>("prekond::kokkoskernels::SpmvOperator", a)),
        m_handles(std::make_shared<Handles>(to_kokkos_kernels(options.algorithm))) {}

  std::int64_t num_rows() const override { return m_a.numRows(); }
  std::int64_t num_cols() const override { return m_a.numCols(); }
  const matrix_type& matrix() const { return m_a; }

  /// \throws InputError where the sizes do not fit
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    const std::size_t rows = static_cast<std::size_t>(num_rows()),
                      cols = static_cast<std::size_t>(num_cols());
    if (x.extent(0) < cols || y.extent(0) < rows || x.extent(1) != y.extent(1))
      throw InputError("prekond::kokkoskernels::SpmvOperator: the matrix is " + std::to_string(rows) + " x " +
                       std::to_string(cols) + ", x is " + std::to_string(x.extent(0)) + " x " +
                       std::to_string(x.extent(1)) + ", y is " + std::to_string(y.extent(0)) + " x " +
                       std::to_string(y.extent(1)));
    if (rows == 0 || x.extent(1) == 0) return;
    if (x.extent(1) == 1) {
      KokkosSparse::spmv(space, &m_handles->single, "N", alpha, m_a, Single<const Scalar>(x.data(), cols),
                         beta, Single<Scalar>(y.data(), rows));
    } else {
      const auto range = [](std::size_t n) { return Kokkos::make_pair(std::size_t(0), n); };
      KokkosSparse::spmv(space, &m_handles->several, "N", alpha, m_a,
                         Several<const Scalar>(Kokkos::subview(x, range(cols), Kokkos::ALL)), beta,
                         Several<Scalar>(Kokkos::subview(y, range(rows), Kokkos::ALL)));
    }
  }

 private:
  template <class T>
  using Single = Kokkos::View<T*, Kokkos::LayoutLeft, device_type, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class T>
  using Several = Kokkos::View<T**, Kokkos::LayoutLeft, device_type, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// The state that Kokkos Kernels keeps between products with one matrix; it cannot be copied.
  struct Handles {
    explicit Handles(KokkosSparse::SPMVAlgorithm algorithm) : single(algorithm), several(algorithm) {}
    KokkosSparse::SPMVHandle<device_type, matrix_type, Single<const Scalar>, Single<Scalar>> single;
    KokkosSparse::SPMVHandle<device_type, matrix_type, Several<const Scalar>, Several<Scalar>> several;
  };

  static KokkosSparse::SPMVAlgorithm to_kokkos_kernels(SpmvAlgorithm algorithm) {
    switch (algorithm) {
      case SpmvAlgorithm::native:
        return KokkosSparse::SPMV_NATIVE;
      case SpmvAlgorithm::merge_path:
        return KokkosSparse::SPMV_MERGE_PATH;
      case SpmvAlgorithm::native_merge_path:
        return KokkosSparse::SPMV_NATIVE_MERGE_PATH;
      default:
        return KokkosSparse::SPMV_DEFAULT;
    }
  }

  matrix_type m_a;
  std::shared_ptr<Handles> m_handles;
};

}  // namespace prekond::kokkoskernels
