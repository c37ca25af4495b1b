// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem_matrix.hpp"

namespace prekond::driver {

template <class Scalar>
ProblemMatrix<Scalar> distribute(const Space& space, const Processes& /*processes*/, Matrix<Scalar> whole,
                                 const std::string& spmv) {
  return undistributed<Scalar>(space, whole, spmv);
}

template <class Scalar>
Report report_of_all(const Space& /*space*/, const Processes& /*processes*/,
                     const ProblemMatrix<Scalar>& /*a*/, Report own) {
  return own;
}

#define PREKOND_DRIVER_DISTRIBUTE(Scalar)                                                           \
  template ProblemMatrix<Scalar> distribute<Scalar>(const Space&, const Processes&, Matrix<Scalar>, \
                                                    const std::string&);                            \
  template Report report_of_all<Scalar>(const Space&, const Processes&, const ProblemMatrix<Scalar>&, Report);
PREKOND_DRIVER_DISTRIBUTE(double)
PREKOND_DRIVER_DISTRIBUTE(Complex)

}  // namespace prekond::driver
