// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/adapters/transport.hpp>

#include <string>

namespace prekond::testing {

/// A transport by mpi::set_transport, until the end of the scope.
class TransportOfScope {
 public:
  explicit TransportOfScope(const std::string& name) { mpi::set_transport(name); }
  ~TransportOfScope() { mpi::set_transport(mpi::Transport::automatic); }
  TransportOfScope(const TransportOfScope&) = delete;
  TransportOfScope& operator=(const TransportOfScope&) = delete;
};

}  // namespace prekond::testing
