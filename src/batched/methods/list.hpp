// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/methods/bicgstab.hpp"
#include "batched/methods/cg.hpp"
#include "batched/methods/gmres.hpp"
#include "batched/methods/idr.hpp"
#include "batched/methods/richardson.hpp"

namespace prekond::impl::batched {

/// Calls f<Method>() for the method that the options name. A new method is a file, a line here, and one of
/// instances/instantiate_solves.hpp.
template <class F>
void visit_method(BatchedMethod kind, const F& f) {
  if (kind == BatchedMethod::cg) f.template operator()<CgMethod>();
  if (kind == BatchedMethod::bicgstab) f.template operator()<BicgstabMethod>();
  if (kind == BatchedMethod::gmres) f.template operator()<GmresMethod>();
  if (kind == BatchedMethod::idr) f.template operator()<IdrMethod>();
  if (kind == BatchedMethod::richardson) f.template operator()<RichardsonMethod>();
}

}  // namespace prekond::impl::batched
