// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// operator new of the command, whose failure says how many bytes were wanted.
#include <Kokkos_Macros.hpp>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

class RefusedBytes : public std::bad_alloc {
 public:
  explicit RefusedBytes(std::size_t bytes) {
    std::snprintf(m_text, sizeof m_text, "the host failed to allocate %zu bytes", bytes);
  }
  const char* what() const noexcept override { return m_text; }

 private:
  char m_text[64];
};

// NVIDIA's compiler takes operator new for a function of devices too, which cannot throw.
[[noreturn]] void refuse(std::size_t bytes) {
  throw RefusedBytes(bytes);
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) {
    KOKKOS_IF_ON_HOST((refuse(bytes);))
  }
  return memory;
}
/// The library's own would not be this one where a sanitizer has its allocator.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
