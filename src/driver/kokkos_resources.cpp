// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_resources.hpp"

#include <prekond/core/error.hpp>

#include <Kokkos_Core.hpp>

#include <dlfcn.h>
#include <pthread.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

namespace prekond::driver {
namespace {

/// Started threads wait for the lock that their starter holds.
void* wait_for(void* lock) {
  const std::lock_guard<std::mutex> guard(*static_cast<std::mutex*>(lock));
  return nullptr;
}

/// The error number of the first of `threads` threads that does not start; 0 where all do.
int start_threads(int threads, const pthread_attr_t& attributes) {
  std::vector<pthread_t> started;
  started.reserve(static_cast<std::size_t>(threads));
  std::mutex lock;
  int error = 0;
  lock.lock();
  while (error == 0 && static_cast<int>(started.size()) < threads) {
    pthread_t thread{};
    error = pthread_create(&thread, &attributes, wait_for, &lock);
    if (error == 0) started.push_back(thread);
  }
  lock.unlock();
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  return error;
}

}  // namespace

int number_of_devices() {
  int devices = -1;
#if defined(KOKKOS_ENABLE_CUDA)
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
#elif defined(KOKKOS_ENABLE_HIP)
  if (hipGetDeviceCount(&devices) != hipSuccess) devices = 0;
#endif
  return devices;
}

void check_tool_library(const std::string& libraries) {
  const std::string name = libraries.substr(0, libraries.find(';'));
  // Never closed: Kokkos is going to open it.
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw OptionError("the tool '" + name +
                      "' for Kokkos cannot be loaded: " + (reason ? reason : "no reason given") +
                      "; correct --kokkos-tools-libs or KOKKOS_TOOLS_LIBS");
  }
  for (const char* function :
       {"kokkosp_init_library", "kokkosp_finalize_library", "kokkosp_begin_parallel_for",
        "kokkosp_begin_parallel_reduce", "kokkosp_begin_parallel_scan", "kokkosp_push_profile_region",
        "kokkosp_allocate_data", "kokkosp_begin_deep_copy", "kokkosp_begin_fence", "kokkosp_declare_metadata",
        "kokkosp_request_values", "kokkosp_print_help"}) {
    if (dlsym(library, function) != nullptr) return;
  }
  throw OptionError("'" + name +
                    "' is no tool for Kokkos: it has none of the functions kokkosp_...; correct " +
                    "--kokkos-tools-libs or KOKKOS_TOOLS_LIBS");
}

std::optional<std::size_t> stack_bytes(const std::string& text) {
  const std::string blanks = " \t";
  std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + begin, end, number);
  if (error != std::errc()) return std::nullopt;
  begin = text.find_first_not_of(blanks, static_cast<std::size_t>(rest - text.data()));
  int shift = 10;
  if (begin != std::string::npos) {
    const char* units = "bkmg";
    const char* unit = std::strchr(units, std::tolower(static_cast<unsigned char>(text[begin])));
    if (unit == nullptr || text.find_first_not_of(blanks, begin + 1) != std::string::npos)
      return std::nullopt;
    shift = 10 * static_cast<int>(unit - units);
  }
  if (number > (std::numeric_limits<std::size_t>::max() >> shift)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(number << shift);
  constexpr std::size_t least = 16384;  // of POSIX systems: OpenMP leaves smaller ones unused
  return bytes < least ? std::nullopt : std::optional<std::size_t>(bytes);
}

void check_that_threads_start(int threads) {
  if (threads < 2) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const char* stack = std::getenv("OMP_STACKSIZE");
  const auto bytes = stack ? stack_bytes(stack) : std::nullopt;
  if (bytes) pthread_attr_setstacksize(&attributes, *bytes);
  const int error = start_threads(threads - 1, attributes);
  pthread_attr_destroy(&attributes);
  if (error == 0) return;
  const std::string number = std::to_string(threads);
  throw OptionError(
      "this machine does not let the command start " + number + " threads (" + std::strerror(error) +
      "): ask for fewer by --kokkos-num-threads, raise 'ulimit -u' or the pids.max of the container" +
      (bytes ? ", or unset OMP_STACKSIZE=" + std::string(stack) : ""));
}

}  // namespace prekond::driver
