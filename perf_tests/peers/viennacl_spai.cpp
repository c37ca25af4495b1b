// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define VIENNACL_WITH_UBLAS
#define VIENNACL_WITH_OPENCL  // its headers do not compile without, though nothing here is run by it
#define CL_TARGET_OPENCL_VERSION 120
#ifndef NDEBUG
#define NDEBUG  // uBLAS checks each access otherwise
#endif
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <boost/numeric/ublas/matrix_sparse.hpp>
#include <boost/numeric/ublas/operation_sparse.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/spai.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// ViennaCL's static SPAI on the pattern of A, on the host, and its BiCGSTAB on one of our matrices, as a row
/// of JSON: peer_viennacl_spai MATRIX [repetitions] MATRIX is NAME:SIZE of a generator or a Matrix Market
/// file. b = A 1, x0 = 0, relative tolerance 1e-6, at most 10000 iterations. ViennaCL's host version takes
/// uBLAS's matrices, and one thread.
namespace {

using HostMatrix = prekond::CsrMatrix<const double, const int, const std::size_t, Kokkos::HostSpace>;
using Matrix = boost::numeric::ublas::compressed_matrix<double>;
using Vector = boost::numeric::ublas::vector<double>;
using Precond = viennacl::linalg::spai_precond<Matrix>;

Matrix convert(const HostMatrix& a) {
  Matrix result(a.num_rows, a.num_cols, a.nnz());
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      result.push_back(i, a.col_idxs(k), a.values(k));
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MATRIX [repetitions]\n", argv[0]);
    return 2;
  }
  const std::string name = argv[1];
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 3;
  const Kokkos::DefaultHostExecutionSpace host;
  const HostMatrix own = name.find(".mtx") == std::string::npos
                             ? HostMatrix(prekond::generate<double>(host, name))
                             : HostMatrix(prekond::read_matrix_market<double>(name));
  const Matrix a = convert(own);
  const Vector ones(own.num_rows, 1.0);
  const Vector b = boost::numeric::ublas::prod(a, ones);
  // The threshold and the limit are those of the dynamic form, which is off.
  const viennacl::linalg::spai_tag spai(1e-3, 1, 1e-2, true, true);
  const viennacl::linalg::bicgstab_tag bicgstab(1e-6, 10000);
  std::vector<double> setups, solves;
  for (int k = 0; k < repetitions; ++k) {
    Kokkos::Timer timer;
    const Precond precond(a, spai);
    setups.push_back(timer.seconds());
    timer.reset();
    const Vector x = viennacl::linalg::solve(a, b, bicgstab, precond);
    solves.push_back(timer.seconds());
  }
  std::printf(
      "{\"peer\": \"ViennaCL\", \"matrix\": \"%s\", \"setup_seconds\": %.6f, \"solve_seconds\": %.6f, "
      "\"iterations\": %u}\n",
      name.c_str(), median(setups), median(solves), bicgstab.iters());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  return run(argc, argv);
}
