// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem_matrix.hpp"

#include <prekond/distributed/split_operator.hpp>
#include "distributed/one_rank_matrix.hpp"

#include "spmv_choice.hpp"

namespace prekond::driver {

template <class Scalar>
ProblemMatrix<Scalar> undistributed(const Space& space, const Matrix<Scalar>& whole,
                                    const std::string& spmv) {
  Product<Scalar> product = make_product<Scalar>(space, spmv, whole);
  ProblemMatrix<Scalar> result;
  result.whole = whole;
  result.rows = whole;
  result.distributed = std::make_unique<OneRankMatrix<Scalar, Space>>(std::shared_ptr(std::move(product.op)));
  result.product = product.facts;
  result.distribution.most_rows = result.distribution.fewest_rows = whole.num_rows;
  return result;
}

template <class Scalar>
void choose_product(const Space& space, const Processes& processes, ProblemMatrix<Scalar>& a,
                    const std::string& spmv) {
  if (processes.alone()) return;
  if constexpr (!is_complex<Scalar>)  // complex matrices are for one process
    processes.together([&] {
      const Kokkos::Timer timer;
      a.split = std::make_unique<SplitOperator<Scalar, Space>>(space, *a.distributed, [&](const auto& own) {
        Product<Scalar> product = make_product<Scalar>(space, spmv, own);
        a.product = product.facts;
        return std::move(product.op);
      });
      a.product.seconds = timer.seconds();
    });
}

template <class Scalar>
Vector<Scalar, Space> own_part(const Space& space, const Processes& processes, const ProblemMatrix<Scalar>& a,
                               const Vector<Scalar, Space>& whole) {
  if (processes.alone()) return whole;
  Vector<Scalar, Space> own;
  processes.together(
      [&] { own = allocate<Vector<Scalar, Space>>(space, "prekond::driver::own", a.rows.num_rows); });
  a.distributed->scatter(space, whole, own);
  return own;
}

template <class Scalar>
Vector<Scalar, Space> all_parts(const Space& space, const Processes& processes,
                                const ProblemMatrix<Scalar>& a, const Vector<Scalar, Space>& own) {
  if (processes.alone()) return own;
  Vector<Scalar, Space> all;
  processes.only_first([&] {
    all = allocate<Vector<Scalar, Space>>(space, "prekond::driver::all", a.distributed->num_global_rows());
  });
  a.distributed->gather(space, own, all);
  return all;
}

#define PREKOND_DRIVER_PROBLEM_MATRIX(Scalar)                                                      \
  template void choose_product<Scalar>(const Space&, const Processes&, ProblemMatrix<Scalar>&,     \
                                       const std::string&);                                        \
  template ProblemMatrix<Scalar> undistributed<Scalar>(const Space&, const Matrix<Scalar>&,        \
                                                       const std::string&);                        \
  template Vector<Scalar, Space> own_part<Scalar>(                                                 \
      const Space&, const Processes&, const ProblemMatrix<Scalar>&, const Vector<Scalar, Space>&); \
  template Vector<Scalar, Space> all_parts<Scalar>(                                                \
      const Space&, const Processes&, const ProblemMatrix<Scalar>&, const Vector<Scalar, Space>&);
PREKOND_DRIVER_PROBLEM_MATRIX(double)
PREKOND_DRIVER_PROBLEM_MATRIX(Complex)

}  // namespace prekond::driver
