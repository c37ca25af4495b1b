// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/matrix_source.hpp>

namespace prekond {

/// The knowledge that a matrix's user has besides its entries, see MatrixSource.
template <class Scalar, class Space>
struct NearNullSpace {
  MultiVector<Scalar, Space> vectors;  ///< n x k; 0 x 0: none
  int unknowns_per_node = 1;

  /// The rows with what is known of them. \throws InputError where it does not fit them
  MatrixSource<Scalar, Space> source(const CsrView<Scalar, Space>& rows) const {
    MatrixSource<Scalar, Space> result(rows);
    result.set_unknowns_per_node(unknowns_per_node);
    if (vectors.extent(1) > 0) result.set_near_null_space(vectors);
    return result;
  }
};

}  // namespace prekond
