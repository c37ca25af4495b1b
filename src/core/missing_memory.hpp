// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <exception>
#include <new>
#include <string>

namespace prekond {

/// Whether an error tells of missing memory. Kokkos's own one has another type in every version.
inline bool tells_of_missing_memory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         std::string(error.what()).find("failed to allocate") != std::string::npos;
}

}  // namespace prekond
