// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem_matrix.hpp"

namespace prekond::driver {

template <class Scalar>
ProblemMatrix<Scalar> distribute(const Space& space, const Processes& /*processes*/, Matrix<Scalar> whole,
                                 const std::string& spmv, const PartitionChoice& /*choice*/) {
  return undistributed<Scalar>(space, whole, spmv);
}

ProblemMatrix<double> distribute_rows(const Space& space, const Processes& /*processes*/, HostRows block,
                                      const PartitionChoice& /*choice*/, bool with_sums) {
  auto a = undistributed<double>(space, copy_to<Space>(block), "auto");
  if (!with_sums) return a;
  const auto ones = allocate<Vector<double, Space>>(space, "prekond::driver::ones", a.rows.num_rows);
  a.times_ones = allocate<Vector<double, Space>>(space, "prekond::driver::b", a.rows.num_rows);
  Kokkos::deep_copy(space, ones, 1.0);
  a.distributed->product().apply(space, as_multivector(ones), as_multivector(a.times_ones));
  space.fence("prekond::driver::a_ones");
  return a;
}

template <class Scalar>
Report report_of_all(const Processes& /*processes*/, const ProblemMatrix<Scalar>& /*a*/, Report own) {
  return own;
}

#define PREKOND_DRIVER_DISTRIBUTE(Scalar)                                                           \
  template ProblemMatrix<Scalar> distribute<Scalar>(const Space&, const Processes&, Matrix<Scalar>, \
                                                    const std::string&, const PartitionChoice&);    \
  template Report report_of_all<Scalar>(const Processes&, const ProblemMatrix<Scalar>&, Report);
PREKOND_DRIVER_DISTRIBUTE(double)
PREKOND_DRIVER_DISTRIBUTE(Complex)

}  // namespace prekond::driver
