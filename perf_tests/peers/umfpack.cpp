// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct.hpp"

#include <umfpack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

/// UMFPACK's verdict on a matrix: peer_umfpack FILE.mtx[.gz] solves A x = A 1, with its iterative refinement,
/// and prints {"status": "ok" | "singular" | "number of the error", "rcond", "residual", "error"}: ||b - A
/// x|| / ||b||, and the largest |x_i - 1|.
namespace {

using namespace prekond;

void solve(const std::string& path) {
  const peers::DirectMatrix a = peers::read_or_generate(path);
  const std::int64_t n = a.num_rows;
  // The rows of A are the columns of A^T: the transposed system is solved.
  std::vector<std::int64_t> ptrs(a.row_ptrs.data(), a.row_ptrs.data() + n + 1),
      rows(a.col_idxs.data(), a.col_idxs.data() + a.nnz());
  const std::vector<double> ones(n, 1.0), b = peers::product(a, ones);
  std::vector<double> x(n, 0.0);
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
  umfpack_dl_defaults(control);
  void *symbolic = nullptr, *numeric = nullptr;
  auto status =
      umfpack_dl_symbolic(n, n, ptrs.data(), rows.data(), a.values.data(), &symbolic, control, info);
  if (status >= 0)
    status = umfpack_dl_numeric(ptrs.data(), rows.data(), a.values.data(), symbolic, &numeric, control, info);
  if (status >= 0)
    status = umfpack_dl_solve(UMFPACK_At, ptrs.data(), rows.data(), a.values.data(), x.data(), b.data(),
                              numeric, control, info);
  double error = 0;
  for (const double value : x) error = std::max(error, std::abs(value - 1));
  const std::string word = status == UMFPACK_OK                        ? "ok"
                           : status == UMFPACK_WARNING_singular_matrix ? "singular"
                                                                       : std::to_string(status);
  const auto finite = [](double value) { return std::isfinite(value) ? value : 1e300; };
  std::printf("{\"status\": \"%s\", \"rcond\": %.3e, \"residual\": %.3e, \"error\": %.3e}\n", word.c_str(),
              finite(info[UMFPACK_RCOND]), finite(peers::relative_residual(a, x, b)), finite(error));
  umfpack_dl_free_symbolic(&symbolic);
  umfpack_dl_free_numeric(&numeric);
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "peer_umfpack FILE.mtx[.gz]\n");
    return 2;
  }
  solve(argv[1]);
  return 0;
}
