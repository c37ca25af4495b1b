// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "failure.hpp"

#include <prekond/core/error.hpp>

#include <sys/resource.h>

#include "core/missing_memory.hpp"
#include "phase.hpp"

namespace prekond::driver {
namespace {

/// The cure of missing memory, by the step that wanted it.
std::string cure_in(const std::string& phase) {
  if (phase.starts_with("setup of"))
    return "choose a sparser preconditioner, or options of it that keep fewer entries, or take a smaller "
           "matrix";
  if (phase.find(" with ") != std::string::npos)
    return "take a solver that keeps fewer vectors (cg, bicgstab, or gmres with a smaller restart), a "
           "sparser "
           "preconditioner or a smaller matrix";
  return "take a smaller matrix, or a machine with more memory";
}

/// Where the shell bounds the memory.
std::string limit_text() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return "; or raise the limit of " + std::to_string(limit.rlim_cur >> 20) + " MiB ('ulimit -v')";
}

Failure out_of_memory(const std::string& what) {
  return Failure(
      other_error,
      "not enough memory" + Phase::where() + " (" + what + "): " + cure_in(Phase::current()) + limit_text(),
      false);
}

}  // namespace

Failure failure_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Failure& failure) {
    return failure;
  } catch (const OptionError& error) {
    return {bad_command_line, error.what(), false};
  } catch (const InputError& error) {
    return {bad_input, error.what(), false};
  } catch (const std::exception& error) {
    return tells_of_missing_memory(error) ? out_of_memory(error.what())
                                          : Failure(other_error, error.what(), false);
  } catch (...) {
    return {other_error, "an error without a description", false};
  }
}

}  // namespace prekond::driver
