// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace prekond {

/// An iteration's work in products with A, by the bytes that pass through the memory: A's and those of its
/// vectors.
double work_of_iteration(const std::string& solver, double application, std::int64_t num_rows,
                         std::int64_t nnz);

}  // namespace prekond
