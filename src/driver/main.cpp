// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "atomic_file.hpp"
#include "commands.hpp"
#include "interrupts.hpp"
#include "kokkos_flags.hpp"
#include "kokkos_session.hpp"
#include "product.hpp"

namespace prekond::driver {
namespace {

/// One line on standard error, without the control characters that a message may have.
void print_error(std::string message) {
  for (char& c : message)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  while (!message.empty() && message.back() == ' ') message.pop_back();
  std::fflush(stdout);
  std::fprintf(stderr, "prekond: error: %s\n", message.c_str());
}

void do_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  if (line.command == "solve") return solve_command(line, processes, files);
  if (line.command == "compare") return compare_command(line, processes, files);
  if (line.command == "info") return info_command(line, processes, files);
  if (line.command == "batch") return batch_command(line, processes, files);
  processes.on_root([&] {
    if (line.command == "config")
      config_command(line);
    else if (line.command == "list")
      list_command(line);
    else if (line.command == "generate")
      generate_command(line, processes);
    else if (line.command == "plot")
      plot_command(line);
    else if (line.command == "kokkos-help")
      print_kokkos_help();
    else
      std::fputs(line.text.c_str(), stdout);
  });
}

/// Runs the command. All its errors end here: an older report is replaced, and one process says one line.
int run(const std::vector<std::string>& arguments, const Processes& processes) {
  CommandLine line;
  std::optional<OutputFiles> files;
  try {
    processes.collective([&] { line = parse_command_line(arguments); });
    files.emplace(line, processes);
    processes.collective([&] { check_kokkos_flags(line.kokkos); });
    do_command(line, processes, *files);
    processes.on_root([] {
      // A full disk is noticed only here.
      if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
    });
    return done;
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    const bool is_alone = !failure.is_agreed() && !processes.is_serial();
    std::string text = failure.what();
    if (files && (is_alone || processes.is_root())) text += files->replace_report(failure);
    if (!is_alone) {
      if (processes.is_root()) print_error(text);
      return failure.code();
    }
    // The other processes wait for this one in the middle of something, or have failed as well: then the one
    // with the lowest rank speaks, and ends the others before they do.
    std::this_thread::sleep_for(std::chrono::milliseconds(20) * std::min(processes.rank(), 50));
    print_error(processes.name() + ": " + text);
    processes.abort(failure.code());
  }
}

}  // namespace
}  // namespace prekond::driver

int main(int argc, char** argv) {
  prekond::driver::prepare_files();
  prekond::driver::Interrupts interrupts;  // before there are threads
  const prekond::driver::Processes processes;
  if (!processes.is_serial()) interrupts.be_silent();
  return prekond::driver::run({argv + std::min(argc, 1), argv + argc}, processes);
}
