// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>

#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "commands.hpp"

namespace prekond::driver {
namespace {

/// One line on standard error, whatever the message has in it.
int fail(ExitCode code, std::string message) {
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  while (!message.empty() && message.back() == ' ') message.pop_back();
  std::fflush(stdout);
  std::fprintf(stderr, "prekond: error: %s\n", message.c_str());
  return code;
}

/// For std::bad_alloc, and for Kokkos, whose exception has another type in every version.
int fail_for_memory(const std::string& what) {
  return fail(other_error,
              "not enough memory (" + what + "): take a smaller matrix or a sparser preconditioner");
}

void run(const CommandLine& line) {
  if (line.command == "solve")
    solve_command(line);
  else if (line.command == "compare")
    compare_command(line);
  else if (line.command == "info")
    info_command(line);
  else if (line.command == "list")
    list_command(line);
  else if (line.command == "generate")
    generate_command(line);
  else
    std::fputs(line.text.c_str(), stdout);
  // A full disk behind standard output is an error too.
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
}

int run_safely(const std::vector<std::string>& arguments) {
  try {
    run(parse_command_line(arguments));
    return done;
  } catch (const OptionError& error) {
    return fail(bad_command_line, error.what());
  } catch (const InputError& error) {
    return fail(bad_input, error.what());
  } catch (const SolveFailure& failure) {
    return fail(failure.code(), failure.what());
  } catch (const std::bad_alloc& error) {
    return fail_for_memory(error.what());
  } catch (const std::exception& error) {
    const std::string what = error.what();
    return what.find("failed to allocate") != std::string::npos ? fail_for_memory(what)
                                                                : fail(other_error, what);
  }
}

}  // namespace
}  // namespace prekond::driver

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return prekond::driver::run_safely(arguments);
}
