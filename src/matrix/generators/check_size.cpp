// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/options.hpp>

#include "matrix/generators/common.hpp"

#include <limits>

namespace prekond {

void generators::check_size(const std::string& name, std::int64_t size, std::int64_t min_size,
                            double (*rows)(double)) {
  constexpr double max_rows = std::numeric_limits<int>::max();
  if (size < min_size)
    throw OptionError("generator '" + name + "': SIZE is at least " + std::to_string(min_size) + ", not " +
                      std::to_string(size));
  if (rows(static_cast<double>(size)) <= max_rows) return;
  std::int64_t fits = min_size;
  std::int64_t too_large = size;
  while (too_large - fits > 1) {
    const std::int64_t middle = fits + (too_large - fits) / 2;
    (rows(static_cast<double>(middle)) <= max_rows ? fits : too_large) = middle;
  }
  throw OptionError("generator '" + name + "': SIZE is at most " + std::to_string(fits) +
                    ", because rows are numbered by int; " + std::to_string(size) + " is too large");
}

}  // namespace prekond
