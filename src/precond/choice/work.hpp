// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace prekond {

/// The last resort: ILUT with nearly all of its fill, by GMRES, for matrices of at most this number of rows;
/// with all of it, and tau = 0, where there are at most `complete_rows`.
inline constexpr std::int64_t last_resort_rows = 200000;
inline constexpr int last_resort_p = 200, last_resort_restart = 100;
inline constexpr std::int64_t complete_rows = 1000;
inline constexpr double last_resort_tau = 1e-10;

/// The part of the time of a product with A that starts its kernel, or a host's threads; the rest reads A.
double launch_of_product(std::int64_t num_rows, std::int64_t nnz, bool on_device);

/// An iteration's work in products with A, by the bytes that pass through the memory, A's and those of its
/// vectors, and by the kernels that start. `launch`: that of a product.
double work_of_iteration(const std::string& solver, double application, std::int64_t num_rows,
                         std::int64_t nnz, double launch);

}  // namespace prekond
