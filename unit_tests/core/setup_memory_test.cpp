// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/devices.hpp>
#include <prekond/core/impl/setup_memory.hpp>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <memory>

namespace prekond::testing {
namespace {

using impl::SetupMemory;

TEST(SetupMemoryTest, AHostIsNoDevice) {
  EXPECT_EQ(impl::number_of_device(Kokkos::DefaultHostExecutionSpace()), -1);
}

#ifdef KOKKOS_ENABLE_IMPL_CUDA_MALLOC_ASYNC

/// The bytes that the pool of Kokkos's device keeps.
std::uint64_t kept() {
  cudaMemPool_t pool = nullptr;
  std::uint64_t bytes = 0;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, Kokkos::Cuda().cuda_device()), cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes), cudaSuccess);
  return bytes;
}

constexpr std::uint64_t everything = ~std::uint64_t(0);

TEST(SetupMemoryTest, KeepsFreedMemoryUntilTheLastOneEnds) {
  const std::uint64_t before = kept();
  keep_freed_memory(1 << 20);
  {
    auto first = std::make_unique<SetupMemory>(Kokkos::Cuda());
    EXPECT_EQ(kept(), everything);
    const SetupMemory second{Kokkos::Cuda()};
    first.reset();
    EXPECT_EQ(kept(), everything);
  }
  EXPECT_EQ(kept(), 1u << 20);
  keep_freed_memory(before);
}

TEST(SetupMemoryTest, ASetupOnAHostLeavesThePoolAlone) {
  const std::uint64_t before = kept();
  keep_freed_memory(1 << 20);
  {
    const SetupMemory memory{Kokkos::DefaultHostExecutionSpace()};
    EXPECT_EQ(kept(), 1u << 20);
  }
  keep_freed_memory(before);
}

TEST(SetupMemoryTest, TakesWhatIsAskedForMeanwhileAtItsEnd) {
  const std::uint64_t before = kept();
  {
    const SetupMemory memory{Kokkos::Cuda()};
    keep_freed_memory(1 << 21);
    EXPECT_EQ(kept(), everything);
  }
  EXPECT_EQ(kept(), 1u << 21);
  keep_freed_memory(before);
}

#endif

}  // namespace
}  // namespace prekond::testing
