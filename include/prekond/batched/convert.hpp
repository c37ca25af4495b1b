// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/banded.hpp>
#include <prekond/batched/csr.hpp>
#include <prekond/batched/dense.hpp>
#include <prekond/batched/ell.hpp>

#include <cstdint>
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
