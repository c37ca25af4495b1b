// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Processes of a build without MPI: only this one.
#include <cstdlib>

#include "processes.hpp"

namespace prekond::driver {

Processes::Processes() = default;
Processes::~Processes() = default;

double Processes::max(double value) const {
  return value;
}

std::int64_t Processes::min(std::int64_t value) const {
  return value;
}

std::int64_t Processes::sum(std::int64_t value) const {
  return value;
}

void Processes::broadcast(std::string& /*text*/, int /*from*/) const {}

void Processes::abort(ExitCode code) const {
  std::exit(code);
}

}  // namespace prekond::driver
