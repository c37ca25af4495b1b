// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>

namespace prekond {

/// The memory that a preconditioner needs to apply itself, made once by the solver with `make_workspace`. Two
/// threads that apply the same preconditioner at the same time need two workspaces, nothing else.
class Workspace {
 public:
  virtual ~Workspace() = default;
};

}  // namespace prekond
