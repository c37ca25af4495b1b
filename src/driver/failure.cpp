// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "failure.hpp"

#include <prekond/core/error.hpp>

#include <new>

namespace prekond::driver {

Failure failure_of(const std::exception_ptr& exception) {
  const auto out_of_memory = [](const std::string& what) {
    return Failure(other_error,
                   "not enough memory (" + what + "): take a smaller matrix or a sparser preconditioner",
                   false);
  };
  try {
    std::rethrow_exception(exception);
  } catch (const Failure& failure) {
    return failure;
  } catch (const OptionError& error) {
    return {bad_command_line, error.what(), false};
  } catch (const InputError& error) {
    return {bad_input, error.what(), false};
  } catch (const std::bad_alloc& error) {
    return out_of_memory(error.what());
  } catch (const std::exception& error) {
    // Kokkos's exception for memory has another type in every version.
    const std::string what = error.what();
    return what.find("failed to allocate") != std::string::npos ? out_of_memory(what)
                                                                : Failure(other_error, what, false);
  } catch (...) {
    return {other_error, "an error without a description", false};
  }
}

}  // namespace prekond::driver
