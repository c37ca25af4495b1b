// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/mman.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>

#include "fuzz/fuzz_input.hpp"

namespace prekond::fuzz {
namespace {

void print_outcomes() {
  for (const auto& [name, number] : outcomes())
    std::fprintf(stderr, "%12lld  %s\n", static_cast<long long>(number), name.c_str());
}

}  // namespace

MemoryFile::MemoryFile() : m_descriptor(memfd_create("fuzz", 0)) {
  check(m_descriptor >= 0, "no file in memory");
  m_name = "/proc/self/fd/" + std::to_string(m_descriptor);
}

MemoryFile::~MemoryFile() {
  close(m_descriptor);
}

const std::string& MemoryFile::write(std::string_view text) {
  const bool is_written = ftruncate(m_descriptor, 0) == 0 && pwrite(m_descriptor, text.data(), text.size(),
                                                                    0) == static_cast<ssize_t>(text.size());
  check(is_written, "a file in memory cannot be written");
  return m_name;
}

}  // namespace prekond::fuzz

/// Kokkos with two threads.
int LLVMFuzzerInitialize(int*, char***) {
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(2).set_disable_warnings(true));
  std::atexit(Kokkos::finalize);
  std::atexit(prekond::fuzz::print_outcomes);
  return 0;
}
