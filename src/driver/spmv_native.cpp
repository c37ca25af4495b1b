// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of a build without Kokkos Kernels.
#include "spmv_choice.hpp"

namespace prekond::driver {

bool has_kokkoskernels() {
  return false;
}

void register_kokkoskernels() {}

std::unique_ptr<Operator<double, Space>> make_kokkoskernels_product(const Matrix<double>&) {
  return nullptr;
}

}  // namespace prekond::driver
