// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond {

/// Whether kernels of `Space` run in streams that libraries for messages take, as CUDA's do.
template <class Space>
inline constexpr bool has_native_stream = requires(const Space& space) {
  space.cuda_stream();
};

/// The stream of an instance, a cudaStream_t; nullptr where the backend has none.
template <class Space>
void* native_stream([[maybe_unused]] const Space& space) {
  if constexpr (has_native_stream<Space>)
    return space.cuda_stream();
  else
    return nullptr;
}

}  // namespace prekond
