// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A x = b in one call. Needs no Kokkos in the caller's source.
#include <prekond/precond/host_solver.hpp>
