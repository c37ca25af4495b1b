// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a process that is alone are all.
#include <prekond/matrix/io/matrix_market.hpp>

#include "market_rows.hpp"

namespace prekond::driver {

HostRows read_rows(const Processes& /*processes*/, const std::string& path, std::int64_t& num_rows) {
  HostRows rows = read_matrix_market<double>(path);
  num_rows = rows.num_rows;
  return rows;
}

}  // namespace prekond::driver
