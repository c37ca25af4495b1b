// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The common part of the fuzz targets. A target is a function LLVMFuzzerTestOneInput, which an engine calls
/// with bytes: libFuzzer, or standalone_main.cpp. It ends the process where a check fails; the engine keeps
/// the bytes.
#include <prekond/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace prekond::fuzz {

/// Ends the process where the condition does not hold.
inline void check(bool condition, const std::string& message) {
  if (condition) return;
  std::fprintf(stderr, "\nprekond fuzz: %s\n", message.c_str());
  std::abort();
}

/// Counts an outcome; the numbers are printed at the end, and show that the checks are not empty.
inline std::map<std::string, std::int64_t>& outcomes() {
  static auto* const counts = new std::map<std::string, std::int64_t>();  // outlives everything
  return *counts;
}
inline void count(const std::string& outcome) {
  ++outcomes()[outcome];
}

/// The promises of a refusal: a text of moderate length. (The command leaves out control characters of
/// names.)
inline void check_refusal(const InputError& error, std::size_t longest) {
  const std::string what = error.what();
  check(!what.empty() && what.size() <= longest, "a bad message: " + what);
}

/// The bytes of an input as numbers, one after the other; zeros after the end.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : m_data(data), m_size(size) {}

  std::uint64_t bytes(int count) {
    std::uint64_t value = 0;
    for (; count > 0; --count) value = value << 8 | (m_at < m_size ? m_data[m_at++] : 0);
    return value;
  }
  int below(int count) { return static_cast<int>(bytes(1)) % count; }

 private:
  const std::uint8_t* m_data;
  std::size_t m_size;
  std::size_t m_at = 0;
};

/// A file in memory with a name, for readers that take one.
class MemoryFile {
 public:
  MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  const std::string& write(std::string_view text);  ///< returns the name
  const std::string& name() const { return m_name; }

 private:
  int m_descriptor;
  std::string m_name;
};

}  // namespace prekond::fuzz
