// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of a build with Kokkos Kernels.
#include <prekond/adapters/kokkoskernels.hpp>
#include <prekond/adapters/kokkoskernels_spgemm.hpp>

#include "spmv_choice.hpp"

namespace prekond::driver {

bool has_kokkoskernels() {
  return true;
}

void register_kokkoskernels() {
  kokkoskernels::register_spgemm<double, Space>();
}

std::unique_ptr<Operator<double, Space>> make_kokkoskernels_product(const Matrix<double>& a) {
  return std::make_unique<kokkoskernels::SpmvOperator<double, Space>>(a);
}

}  // namespace prekond::driver
