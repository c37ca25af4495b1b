// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "commands.hpp"
#include "files.hpp"
#include "interrupts.hpp"
#include "session.hpp"
#include "spmv_choice.hpp"
#include "waiting.hpp"

namespace prekond::driver {
namespace {

/// One line on standard error, whatever the message has in it.
void print_error(std::string message) {
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  while (!message.empty() && message.back() == ' ') message.pop_back();
  std::fflush(stdout);
  std::fprintf(stderr, "prekond: error: %s\n", message.c_str());
}

void run_alone(const CommandLine& line) {
  if (line.command == "list")
    list_command(line);
  else if (line.command == "generate")
    generate_command(line);
  else if (line.command == "kokkos-help")
    print_kokkos_help();
  else
    std::fputs(line.text.c_str(), stdout);
}

void run(const std::vector<std::string>& arguments, const Processes& processes) {
  register_kokkoskernels();
  CommandLine line;
  processes.together([&] { line = parse_command_line(arguments); });
  if (line.command == "solve")
    solve_command(line, processes);
  else if (line.command == "compare")
    compare_command(line, processes);
  else if (line.command == "info")
    info_command(line, processes);
  else if (line.command == "batch")
    batch_command(line, processes);
  else
    processes.only_first([&] { run_alone(line); });
  processes.only_first([] {
    // A full disk behind standard output is an error too.
    if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
  });
}

int run_safely(const std::vector<std::string>& arguments, const Processes& processes) {
  try {
    run(arguments, processes);
    return done;
  } catch (const Failure& failure) {
    if (processes.first()) print_error(failure.what());
    return failure.code();
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    if (processes.alone()) {
      print_error(failure.what());
      return failure.code();
    }
    // The other processes are in the middle of something that they wait for this one in, or have failed as
    // well: then the one with the lowest rank speaks, and ends the others before they do.
    std::this_thread::sleep_for(std::chrono::milliseconds(20) * std::min(processes.rank(), 50));
    print_error(processes.name() + ": " + failure.what());
    processes.abort(failure.code());
  }
}

}  // namespace
}  // namespace prekond::driver

int main(int argc, char** argv) {
  prekond::driver::bound_waiting();  // may start the command anew
  prekond::driver::prepare_files();
  prekond::driver::Interrupts interrupts;  // before there are threads
  const prekond::driver::Processes processes;
  if (!processes.alone()) interrupts.be_silent();
  std::vector<std::string> arguments(argv, argv + argc);
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return prekond::driver::run_safely(arguments, processes);
}
