// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_flags.hpp"

#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

#include "kokkos_resources.hpp"

namespace prekond::driver {
namespace {

/// Does anything read the variables OMP_*?
#ifdef _OPENMP
constexpr bool has_openmp = true;
#else
constexpr bool has_openmp = false;
#endif

enum class Kind { none, boolean, threads, device, mapping, text };

struct Setting {
  const char* flag;
  Kind kind;
  const char* variable;  ///< that Kokkos reads in its place; null where there is none
  const char* example;   ///< of a value
};

constexpr Setting settings[] = {
    {"--kokkos-help", Kind::none, nullptr, ""},
    {"--kokkos-num-threads", Kind::threads, "KOKKOS_NUM_THREADS", "2"},
    {"--kokkos-device-id", Kind::device, "KOKKOS_DEVICE_ID", "0"},
    {"--kokkos-map-device-id-by", Kind::mapping, "KOKKOS_MAP_DEVICE_ID_BY", "random"},
    {"--kokkos-disable-warnings", Kind::boolean, "KOKKOS_DISABLE_WARNINGS", "yes"},
    {"--kokkos-print-configuration", Kind::boolean, "KOKKOS_PRINT_CONFIGURATION", "yes"},
    {"--kokkos-tune-internals", Kind::boolean, "KOKKOS_TUNE_INTERNALS", "yes"},
    {"--kokkos-tools-libs", Kind::text, "KOKKOS_TOOLS_LIBS", "libtool.so"},
    {"--kokkos-tools-args", Kind::text, "KOKKOS_TOOLS_ARGS", "..."},
    {"--kokkos-tools-help", Kind::none, nullptr, ""},
};

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

/// A whole number and nothing else; nothing where it is none or has more than 18 digits.
std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Without the blanks around it, which OpenMP skips.
std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// "NAME takes FORM, not 'VALUE'", and for a variable what else to do.
[[noreturn]] void refuse(const std::string& name, const std::string& form, const std::string& value) {
  const bool is_variable = name.front() != '-';
  throw OptionError((is_variable ? "the environment variable " : "") + name + " takes " + form + ", not '" +
                    value + "'" + (is_variable ? "; correct or unset it" : ""));
}

void check_number(const std::string& name, const std::string& value, std::int64_t min, std::int64_t max) {
  const auto number = whole_number(value);
  if (number && *number >= min && *number <= max) return;
  const bool bounded = max != std::numeric_limits<int>::max();
  refuse(name,
         bounded ? "a whole number from " + std::to_string(min) + " to " + std::to_string(max)
                 : "a whole number of at least " + std::to_string(min),
         value);
}

void check_value(const std::string& name, Kind kind, const std::string& value) {
  const std::string word = lower(value);
  const auto one_of = [&word](const std::vector<std::string>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  switch (kind) {
    case Kind::none:
      break;
    case Kind::boolean:
      if (!one_of({"yes", "true", "1", "no", "false", "0"})) refuse(name, "yes or no", value);
      break;
    case Kind::threads:
      check_number(name, value, 1, max_threads);
      break;
    case Kind::device:
      check_number(name, value, 0, std::numeric_limits<int>::max());
      break;
    case Kind::mapping:
      if (value != "random" && value != "mpi_rank") refuse(name, "random or mpi_rank", value);
      break;
    case Kind::text:
      if (value.empty()) refuse(name, "a text", value);
      break;
  }
}

/// "--kokkos-num-threads=2" -> its name.
std::string name_of(const std::string& flag) {
  return flag.substr(0, flag.find('='));
}

/// The value of the flag of that name, or of its variable; nothing where neither is there.
std::optional<std::string> setting(const std::vector<std::string>& flags, const std::string& name) {
  for (const auto& flag : flags) {
    if (name_of(flag) == name) return flag.substr(std::min(flag.size(), name.size() + 1));
  }
  for (const auto& known : settings) {
    if (name == known.flag && known.variable) return variable(known.variable);
  }
  return std::nullopt;
}

bool is_given(const std::vector<std::string>& flags, const std::string& name) {
  return std::any_of(flags.begin(), flags.end(), [&](const auto& flag) { return name_of(flag) == name; });
}

/// The numbers of nested levels: "4" or "4,2".
void check_openmp_threads() {
  const auto list = variable("OMP_NUM_THREADS");
  if (!list) return;
  for (std::size_t begin = 0; begin <= list->size();) {
    const std::size_t end = std::min(list->find(',', begin), list->size());
    const auto number = whole_number(trimmed(list->substr(begin, end - begin)));
    if (!number || *number < 1 || *number > max_threads)
      refuse("OMP_NUM_THREADS", "a whole number from 1 to " + std::to_string(max_threads), *list);
    begin = end + 1;
  }
}

void check_openmp() {
  check_openmp_threads();
  const auto at_least = [](const char* name, std::int64_t min) {
    if (const auto value = variable(name))
      check_number(name, trimmed(*value), min, std::numeric_limits<int>::max());
  };
  at_least("OMP_THREAD_LIMIT", 1);
  at_least("OMP_MAX_ACTIVE_LEVELS", 0);
  if (const auto dynamic = variable("OMP_DYNAMIC")) {
    const std::string word = lower(trimmed(*dynamic));
    if (word != "true" && word != "false") refuse("OMP_DYNAMIC", "true or false", *dynamic);
  }
  if (const auto size = variable("OMP_STACKSIZE")) {
    if (!stack_bytes(*size))
      refuse("OMP_STACKSIZE", "a size such as 8M (B, K, M or G; of at least 16K)", *size);
  }
}

/// Kokkos reads the first of each group that is set, in this order.
void check_local_ranks() {
  const std::vector<std::vector<const char*>> groups = {
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
       "PMI_LOCAL_RANK"}};
  for (const auto& group : groups) {
    const auto name =
        std::find_if(group.begin(), group.end(), [](const char* n) { return variable(n).has_value(); });
    if (name != group.end()) check_number(*name, *variable(*name), 0, std::numeric_limits<int>::max());
  }
}

void check_visible_devices(int devices) {
  const auto list = variable("KOKKOS_VISIBLE_DEVICES");
  if (!list) return;
  for (std::size_t begin = 0; begin <= list->size();) {
    const std::size_t end = std::min(list->find(',', begin), list->size());
    const auto number = whole_number(list->substr(begin, end - begin));
    if (!number || *number < 0 || *number >= devices)
      refuse("KOKKOS_VISIBLE_DEVICES", "numbers from 0 to " + std::to_string(devices - 1) + " with commas",
             *list);
    begin = end + 1;
  }
}

void check_device(const std::vector<std::string>& flags, int devices) {
  if (devices < 0) {
    if (is_given(flags, "--kokkos-device-id"))
      throw OptionError(
          "this build computes on the host, which has no devices to choose from: leave --kokkos-device-id "
          "out");
    return;
  }
  if (devices == 0)
    throw OptionError(
        "this build computes on a GPU, and there is none that it may use: look at CUDA_VISIBLE_DEVICES and "
        "the driver, or take a build for the host");
  check_visible_devices(devices);
  const auto list = variable("KOKKOS_VISIBLE_DEVICES");
  const std::int64_t visible = list ? 1 + std::count(list->begin(), list->end(), ',') : devices;
  const auto id = setting(flags, "--kokkos-device-id");
  if (id && *whole_number(*id) >= visible)
    throw OptionError("there is no device " + *id + " for --kokkos-device-id: the last one is " +
                      std::to_string(visible - 1));
}

void check_flag(const std::string& flag) {
  const std::string name = name_of(flag);
  std::vector<std::string> names;
  for (const auto& known : settings) {
    names.emplace_back(known.flag);
    if (name != known.flag) continue;
    const bool has_value = flag.size() > name.size();
    if (!has_value && (known.kind == Kind::none || known.kind == Kind::boolean)) return;
    if (!has_value)
      throw OptionError(name + " takes its value behind '=', as in " + name + "=" + known.example);
    if (known.kind == Kind::none)
      throw OptionError(name + " takes no value; leave '" + flag.substr(name.size()) + "' out");
    return check_value(name, known.kind, flag.substr(name.size() + 1));
  }
  throw OptionError("Kokkos has no flag '" + name + "'; did you mean '" + nearest_word(name, names) +
                    "'? (--kokkos-help explains them)");
}

}  // namespace

int number_of_threads(const std::vector<std::string>& flags) {
  std::optional<std::string> text = setting(flags, "--kokkos-num-threads");
  if (!text && !has_openmp) return 1;
  if (!text) {
    if (const auto list = variable("OMP_NUM_THREADS")) text = list->substr(0, list->find(','));
  }
  const int hardware = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return text ? static_cast<int>(*whole_number(trimmed(*text))) : std::min(hardware, max_threads);
}

bool is_kokkos_flag(const std::string& argument) {
  return argument.rfind("--kokkos", 0) == 0 || argument.rfind("-kokkos", 0) == 0;
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
  for (const auto& known : settings) {
    if (known.variable == nullptr) continue;
    if (const auto value = variable(known.variable)) check_value(known.variable, known.kind, *value);
  }
  if (variable("KOKKOS_MAP_DEVICE_ID_BY") && variable("KOKKOS_DEVICE_ID"))
    throw OptionError(
        "the environment variables KOKKOS_DEVICE_ID and KOKKOS_MAP_DEVICE_ID_BY are both set: unset one");
  if (variable("KOKKOS_PROFILE_LIBRARY"))
    throw OptionError(
        "the environment variable KOKKOS_PROFILE_LIBRARY is an old name: set KOKKOS_TOOLS_LIBS instead");
  check_local_ranks();
  if (has_openmp) check_openmp();
}

void check_resources(const std::vector<std::string>& flags, int devices) {
  check_device(flags, devices);
  const auto tool = setting(flags, "--kokkos-tools-libs");
  if (tool) check_tool_library(*tool);
  if (!tool && is_given(flags, "--kokkos-tools-help"))
    throw OptionError("--kokkos-tools-help asks a tool: name it by --kokkos-tools-libs=FILE");
  std::int64_t threads = number_of_threads(flags);
  if (const auto limit = variable("OMP_THREAD_LIMIT"); limit && has_openmp)
    threads = std::min(threads, *whole_number(trimmed(*limit)));
  check_that_threads_start(static_cast<int>(threads));
}

std::vector<std::string> kokkos_arguments(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"prekond"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  if (!setting(flags, "--kokkos-disable-warnings")) arguments.emplace_back("--kokkos-disable-warnings");
  return arguments;
}

}  // namespace prekond::driver
