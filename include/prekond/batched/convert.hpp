// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/formats.hpp>
#include <prekond/batched/result.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace prekond {

/// A batch and the memory that it owns.
template <class Matrix>
struct BatchedStorage {
  using Value = typename Matrix::value_type;
  using Space = typename Matrix::execution_space;

  Matrix matrix;                     ///< over the views below
  CsrGraph<Space> pattern;           ///< for BatchedCsr
  MultiVector<int, Space> col_idxs;  ///< for BatchedEll
  MultiVector<Value, Space> values;
};

/// The matrices of a list as a batch. Copies the pattern of the first and all values, on the device. Fences.
///
/// Cost: one kernel a matrix.
///
/// \throws InputError naming the first matrix, counted from 0, whose pattern is not that of matrix 0; also
/// for an empty list, or a matrix that is not square
template <class Scalar, class Space>
BatchedStorage<BatchedCsr<Scalar, Space>> batched_from_matrices(
    const Space& space, const std::vector<CsrView<Scalar, Space>>& matrices);

/// The diagonal blocks of `num_rows` rows of a block-diagonal matrix as a batch, which shares the memory of
/// the matrix. Fences.
///
/// Cost: one comparison of all columns with those of the first block.
///
/// \throws InputError naming the first block whose pattern is not that of block 0 (an entry outside of the
/// blocks included); also where the matrix is not square or num_rows does not divide its rows
template <class Scalar, class Space>
BatchedCsr<Scalar, Space> batched_from_blocks(const Space& space, const CsrView<Scalar, Space>& a,
                                              std::int64_t num_rows);

/// The differences of the systems from their model.
struct BatchedPerturbation {
  double spread = 0.2;     ///< largest relative change of an entry, 0 to 1
  std::uint64_t seed = 1;  ///< seed of the random numbers
};

/// `num_systems` systems of the pattern of `model`, for tests and measurements. Copies the pattern. Fences.
///
/// Formula: the diagonal is the model's; an entry off it is a_ij (1 - spread u), where u in [0, 1) is a hash
/// of the seed, the system and the positions {i, j}. A symmetric model makes symmetric systems, and a
/// diagonally dominant one diagonally dominant systems. System s does not depend on num_systems.
///
/// \throws InputError where the model is not square, or for a spread out of its range
template <class Scalar, class Space>
BatchedStorage<BatchedCsr<Scalar, Space>> perturbed_batch(const Space& space,
                                                          const CsrView<Scalar, Space>& model,
                                                          std::int64_t num_systems,
                                                          const BatchedPerturbation& perturbation = {});

/// The exponents of the powers of two that the matrices and right-hand sides of a batch were divided by.
template <class Space>
struct BatchedScaling {
  Vector<int, Space> matrix, rhs;  ///< num_systems
};

/// Divides the matrix and the right-hand side of each system by powers of two near their largest entries
/// where those are out of 2^-128 to 2^128 (single precision: 2^-16 to 2^16), so that the squares of a solve
/// are in range. Powers of two are exact: the iterations of other systems do not change, nor does their
/// number. An absolute tolerance of system s is to be divided by 2^rhs(s). Does not fence.
///
/// Cost: one reading of all values, and one writing of those that change.
template <class Scalar, class Space>
BatchedScaling<Space> scale_batch(const Space& space,
                                  const std::type_identity_t<MultiVectorView<Scalar, Space>>& values,
                                  const std::type_identity_t<MultiVectorView<Scalar, Space>>& b);

/// The solutions of the systems before `scale_batch`, n x num_systems, from those after it. A system whose
/// solution has a norm that is no normal number of its type ends as `out_of_range`. Does not fence.
template <class Scalar, class Space>
void unscale_solutions(const Space& space, const BatchedScaling<Space>& scaling,
                       const std::type_identity_t<MultiVectorView<Scalar, Space>>& x,
                       const BatchedResult<Space>& result);

/// The same batch in another format. Padding and elements of a band outside of the pattern are zeros; the
/// band is the narrowest that contains the pattern. Fences.
template <class Scalar, class Space>
BatchedStorage<BatchedEll<Scalar, Space>> to_ell(const Space& space, const BatchedCsr<Scalar, Space>& a);
template <class Scalar, class Space>
BatchedStorage<BatchedDense<Scalar, Space>> to_dense(const Space& space, const BatchedCsr<Scalar, Space>& a);
template <class Scalar, class Space>
BatchedStorage<BatchedBanded<Scalar, Space>> to_banded(const Space& space,
                                                       const BatchedCsr<Scalar, Space>& a);

}  // namespace prekond
