// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "row_blocks.hpp"

namespace prekond::driver {

template <class Scalar>
std::unique_ptr<RowBlocks<Scalar>> distribute(const Space& /*space*/, const Processes& /*processes*/,
                                              Matrix<Scalar> whole, const std::string& spmv) {
  return one_block<Scalar>(whole, spmv);
}

template std::unique_ptr<RowBlocks<double>> distribute<double>(const Space&, const Processes&, Matrix<double>,
                                                               const std::string&);
template std::unique_ptr<RowBlocks<Complex>> distribute<Complex>(const Space&, const Processes&,
                                                                 Matrix<Complex>, const std::string&);

}  // namespace prekond::driver
