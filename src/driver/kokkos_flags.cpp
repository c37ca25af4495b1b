// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_flags.hpp"

#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>

#include <Kokkos_Core.hpp>

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <regex>
#include <thread>

#include "text.hpp"

namespace prekond::driver {
namespace {

#ifdef _OPENMP
constexpr bool has_openmp = true;
#else
constexpr bool has_openmp = false;
#endif

/// A flag of Kokkos, the variable that means the same, or one that OpenMP reads, and their values.
struct Setting {
  std::string flag, variable;
  std::string form = {};     ///< of a value, in words; empty: it takes none
  std::string pattern = {};  ///< a regular expression without unbounded repeats; empty: any text
  std::string example = {};  ///< of a value; empty: a flag may do without one
};

const std::string at_least_0 = "a whole number of at least 0", number = "[0-9]{1,9}",
                  thread_form = "a whole number from 1 to " + std::to_string(max_threads),
                  thread_number = "0{0,9}([1-9][0-9]?|[1-4][0-9]{2}|50[0-9]|51[0-2])",
                  true_or_false = "[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]",
                  yes_or_no = "[Yy][Ee][Ss]|[Nn][Oo]|1|0|" + true_or_false;
static_assert(max_threads == 512, "thread_number has it too");

const std::vector<Setting> kokkos_settings = {
    {"--kokkos-help", ""},
    {"--kokkos-num-threads", "KOKKOS_NUM_THREADS", thread_form, thread_number, "2"},
    {"--kokkos-device-id", "KOKKOS_DEVICE_ID", at_least_0, number, "0"},
    {"--kokkos-map-device-id-by", "KOKKOS_MAP_DEVICE_ID_BY", "random or mpi_rank", "random|mpi_rank",
     "random"},
    {"--kokkos-disable-warnings", "KOKKOS_DISABLE_WARNINGS", "yes or no", yes_or_no},
    {"--kokkos-print-configuration", "KOKKOS_PRINT_CONFIGURATION", "yes or no", yes_or_no},
    {"--kokkos-tune-internals", "KOKKOS_TUNE_INTERNALS", "yes or no", yes_or_no},
    {"--kokkos-tools-libs", "KOKKOS_TOOLS_LIBS", "a text", "", "libtool.so"},
    {"--kokkos-tools-args", "KOKKOS_TOOLS_ARGS", "a text", "", "..."},
    {"--kokkos-tools-help", ""}};

const std::vector<Setting> openmp_settings = {
    {"", "OMP_NUM_THREADS", thread_form,
     " {0,9}" + thread_number + "( {0,9}, {0,9}" + thread_number + "){0,63} {0,9}"},
    {"", "OMP_THREAD_LIMIT", "a whole number of at least 1", " {0,9}0{0,9}[1-9][0-9]{0,9} {0,9}"},
    {"", "OMP_MAX_ACTIVE_LEVELS", at_least_0, " {0,9}" + number + " {0,9}"},
    {"", "OMP_DYNAMIC", "true or false", " {0,9}(" + true_or_false + ") {0,9}"}};

/// The local size and rank that launchers of MPI set.
const std::vector<std::string> launcher_variables = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                                     "MV2_COMM_WORLD_LOCAL_SIZE",
                                                     "MPI_LOCALNRANKS",
                                                     "PMI_LOCAL_SIZE",
                                                     "OMPI_COMM_WORLD_LOCAL_RANK",
                                                     "MV2_COMM_WORLD_LOCAL_RANK",
                                                     "MPI_LOCALRANKID",
                                                     "SLURM_LOCALID",
                                                     "PMI_LOCAL_RANK"};

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

bool matches(const std::string& text, const std::string& pattern) {
  return pattern.empty() ? !text.empty() : std::regex_match(text, std::regex(pattern));
}

[[noreturn]] void refuse_variable(const std::string& name, const std::string& form,
                                  const std::string& value) {
  throw OptionError("the environment variable " + name + " takes " + form + ", not '" + value +
                    "'; correct or unset it");
}

void check_variable(const Setting& known) {
  const auto value = variable(known.variable);
  if (value && !matches(*value, known.pattern)) refuse_variable(known.variable, known.form, *value);
}

std::string name_of(const std::string& flag) {
  return flag.substr(0, flag.find('='));
}

bool is_given(const std::vector<std::string>& flags, const std::string& name) {
  return std::any_of(flags.begin(), flags.end(), [&](const auto& flag) { return name_of(flag) == name; });
}

const Setting& find_flag(const std::string& name) {
  std::vector<std::string> names;
  for (const Setting& known : kokkos_settings) {
    if (name == known.flag) return known;
    names.push_back(known.flag);
  }
  throw OptionError("Kokkos has no flag '" + name + "'" + did_you_mean(name, names) +
                    " (--kokkos-help explains them)");
}

/// The value of the flag of that name, or of its variable.
std::optional<std::string> value_of(const std::vector<std::string>& flags, const std::string& name) {
  for (const auto& flag : flags)
    if (name_of(flag) == name) return flag.substr(std::min(flag.size(), name.size() + 1));
  return variable(find_flag(name).variable);
}

void check_flag(const std::string& flag) {
  const std::string name = name_of(flag);
  const Setting& known = find_flag(name);
  if (flag == name && known.example.empty()) return;
  if (flag == name)
    throw OptionError(name + " takes its value after '=', as in " + name + "=" + known.example);
  const std::string value = flag.substr(name.size() + 1);
  if (known.form.empty()) throw OptionError(name + " takes no value; leave '=" + value + "' out");
  if (!matches(value, known.pattern))
    throw OptionError(name + " takes " + known.form + ", not '" + value + "'");
}

void check_device(const std::vector<std::string>& flags, int devices) {
  if (devices < 0 && is_given(flags, "--kokkos-device-id"))
    throw OptionError(
        "this build computes on the host, which has no devices to choose from: leave --kokkos-device-id out");
  if (devices < 0) return;
  if (devices == 0)
    throw OptionError(
        "this build computes on a GPU, and there is none that it may use: look at CUDA_VISIBLE_DEVICES and "
        "the driver, or take a build for the host");
  if (const auto list = variable("KOKKOS_VISIBLE_DEVICES")) {
    const auto numbers = split(*list, ',');
    for (const std::string& one : numbers)
      if (!matches(one, number) || std::stoi(one) >= devices)
        refuse_variable("KOKKOS_VISIBLE_DEVICES",
                        "numbers from 0 to " + std::to_string(devices - 1) + " with commas", *list);
    devices = static_cast<int>(numbers.size());
  }
  const auto id = value_of(flags, "--kokkos-device-id");
  if (id && std::stoi(*id) >= devices)
    throw OptionError("there is no device " + *id + " for --kokkos-device-id: the last one is " +
                      std::to_string(devices - 1));
}

/// Started threads wait for the lock that their starter holds.
void* wait_for(void* lock) {
  const std::lock_guard<std::mutex> guard(*static_cast<std::mutex*>(lock));
  return nullptr;
}

/// Starts all threads at once, with stacks as OpenMP's are, and ends them: some 20 microseconds each.
void check_that_threads_start(int threads) {
  const auto stack = variable("OMP_STACKSIZE");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (const auto bytes = stack_bytes(stack.value_or(""))) pthread_attr_setstacksize(&attributes, *bytes);
  std::vector<pthread_t> started(static_cast<std::size_t>(std::max(threads, 1) - 1));
  std::size_t count = 0;
  std::mutex lock;
  lock.lock();
  int error = 0;
  while (count < started.size() && error == 0)
    if ((error = pthread_create(&started[count], &attributes, wait_for, &lock)) == 0) ++count;
  lock.unlock();
  for (std::size_t k = 0; k < count; ++k) pthread_join(started[k], nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) return;
  throw OptionError(
      text_of("this machine does not let the command start ", threads, " threads (", std::strerror(error),
              "): ask for fewer by --kokkos-num-threads, raise 'ulimit -u' or the pids.max of the container",
              stack ? ", or unset OMP_STACKSIZE=" + *stack : ""));
}

}  // namespace

bool is_kokkos_flag(const std::string& argument) {
  return argument.starts_with("--kokkos") || argument.starts_with("-kokkos");
}

void check_kokkos_flags(const std::vector<std::string>& flags) {
  for (auto flag = flags.begin(); flag != flags.end(); ++flag) {
    check_flag(*flag);
    if (is_given({flags.begin(), flag}, name_of(*flag)))
      throw OptionError(name_of(*flag) + " is given twice");
  }
  if (is_given(flags, "--kokkos-device-id") && is_given(flags, "--kokkos-map-device-id-by"))
    throw OptionError(
        "--kokkos-device-id and --kokkos-map-device-id-by both choose the device: leave one out");
}

void check_kokkos_environment() {
  for (const Setting& known : kokkos_settings) check_variable(known);
  for (const std::string& name : launcher_variables) check_variable({"", name, at_least_0, number});
  if (variable("KOKKOS_MAP_DEVICE_ID_BY") && variable("KOKKOS_DEVICE_ID"))
    throw OptionError(
        "the environment variables KOKKOS_DEVICE_ID and KOKKOS_MAP_DEVICE_ID_BY are both set: unset one");
  if (variable("KOKKOS_PROFILE_LIBRARY"))
    throw OptionError(
        "the environment variable KOKKOS_PROFILE_LIBRARY is an old name: set KOKKOS_TOOLS_LIBS instead");
  if (!has_openmp) return;
  for (const Setting& known : openmp_settings) check_variable(known);
  const auto stack = variable("OMP_STACKSIZE");
  if (stack && !stack_bytes(*stack))
    refuse_variable("OMP_STACKSIZE", "a size such as 8M (B, K, M or G; at least 16K)", *stack);
}

void check_resources(const std::vector<std::string>& flags, int devices) {
  check_device(flags, devices);
  const auto tool = value_of(flags, "--kokkos-tools-libs");
  if (tool) check_tool_library(*tool);
  if (!tool && is_given(flags, "--kokkos-tools-help"))
    throw OptionError("--kokkos-tools-help asks a tool: name it by --kokkos-tools-libs=FILE");
  const auto limit = variable("OMP_THREAD_LIMIT");
  std::int64_t threads = number_of_threads(flags);
  if (limit && has_openmp) threads = std::min<std::int64_t>(threads, std::stoll(*limit));
  check_that_threads_start(static_cast<int>(threads));
}

void check_tool_library(const std::string& libraries) {
  const std::string name = libraries.substr(0, libraries.find(';')),
                    cure = "; correct --kokkos-tools-libs or KOKKOS_TOOLS_LIBS";
  void* const library =
      dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);  // stays open: Kokkos is going to open it
  if (library == nullptr) {
    const char* const reason = dlerror();
    throw OptionError("the tool '" + name +
                      "' for Kokkos cannot be loaded: " + (reason ? reason : "no reason given") + cure);
  }
  for (const char* function :
       {"init_library", "finalize_library", "begin_parallel_for", "begin_parallel_reduce",
        "begin_parallel_scan", "push_profile_region", "allocate_data", "begin_deep_copy", "begin_fence",
        "declare_metadata", "request_values", "print_help"})
    if (dlsym(library, (std::string("kokkosp_") + function).c_str()) != nullptr) return;
  throw OptionError("'" + name + "' is no tool for Kokkos: it has none of the functions kokkosp_..." + cure);
}

int number_of_devices() {
  int devices = -1;
#if defined(KOKKOS_ENABLE_CUDA)
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
#elif defined(KOKKOS_ENABLE_HIP)
  if (hipGetDeviceCount(&devices) != hipSuccess) devices = 0;
#endif
  return devices;
}

std::optional<std::size_t> stack_bytes(const std::string& text) {
  std::smatch parts;
  if (!std::regex_match(text, parts,
                        std::regex(" {0,9}([0-9]{1,15}) {0,9}([bkmg]?) {0,9}", std::regex::icase)))
    return std::nullopt;
  const std::string units = "bkmgBKMG", unit = parts[2];
  const auto shift = 10 * (unit.empty() ? 1 : units.find(unit) % 4);
  const std::uint64_t count = std::stoull(parts[1]);
  constexpr std::size_t least = 16384;  // of POSIX systems: OpenMP leaves smaller ones unused
  if (count > std::numeric_limits<std::size_t>::max() >> shift || count << shift < least) return std::nullopt;
  return count << shift;
}

int number_of_threads(const std::vector<std::string>& flags) {
  std::optional<std::string> text = value_of(flags, "--kokkos-num-threads");
  if (!text && !has_openmp) return 1;
  if (!text) text = variable("OMP_NUM_THREADS");
  const int hardware = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return text ? std::stoi(*text) : std::min(hardware, max_threads);
}

std::vector<std::string> kokkos_arguments(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"prekond"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  if (!value_of(flags, "--kokkos-disable-warnings")) arguments.emplace_back("--kokkos-disable-warnings");
  return arguments;
}

}  // namespace prekond::driver
