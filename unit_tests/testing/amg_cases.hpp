// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The textbook's cycle on the levels of a hierarchy.
#include "testing/krylov_solves.hpp"
#include "testing/reference_amg.hpp"

#include <prekond/precond/amg.hpp>

#include "precond/multigrid/hierarchy.hpp"

#include <vector>

namespace prekond::testing {

template <class Space, class Method>
std::vector<double> applied_to(const Method& m, const std::vector<double>& x) {
  const auto from = to_device<Space>(x);
  const Vector<double, Space> to("y", x.size());
  const auto workspace = m.make_workspace(Space(), 1);
  m.apply(Space(), MultiVectorView<const double, Space>(from.data(), x.size(), 1),
          MultiVectorView<double, Space>(to.data(), x.size(), 1), *workspace);
  Space().fence();
  return to_vector(to);
}

template <class Space>
ReferenceCycle reference_of(const impl::amg::Hierarchy<double, Space>& hierarchy, const AmgOptions& options) {
  ReferenceCycle cycle;
  cycle.pre = options.pre_sweeps;
  cycle.post = options.post_sweeps;
  cycle.w = options.cycle == AmgCycle::w;
  cycle.k = options.cycle == AmgCycle::k;
  for (const auto& level : hierarchy.levels()) {
    ReferenceLaneGroup own;
    own.a = dense(to_host(level.matrix));
    own.exact = level.is_exact;
    if (level.transfer.prolongator.num_rows > 0) own.p = dense(to_host(level.transfer.prolongator));
    own.smoother = [smoother = level.smoother, omega = level.omega](const std::vector<double>& r) {
      std::vector<double> y = applied_to<Space>(*smoother, r);
      for (double& value : y) value *= omega;
      return y;
    };
    cycle.levels.push_back(own);
  }
  return cycle;
}

}  // namespace prekond::testing
