// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_graph.hpp"
#include "testing/host_matrix.hpp"

#include <prekond/core/report.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>
#include <vector>

namespace prekond::testing {

inline constexpr Precision precisions[] = {Precision::single_precision, Precision::double_precision};

template <class Options>
Options in_single(int power = 1) {
  Options options;
  options.power = power;
  options.setup_scalar = Precision::single_precision;
  return options;
}
template <class Options>
Options in_double(int power = 1) {
  auto options = in_single<Options>(power);
  options.setup_scalar = Precision::double_precision;
  return options;
}
template <class Options>
std::vector<Options> both_precisions(int power = 1) {
  return {in_single<Options>(power), in_double<Options>(power)};
}

/// The preconditioner of a matrix, after both phases; `pattern`: the user's.
template <template <class, class> class Method, class Space, class Scalar>
std::unique_ptr<Method<Scalar, Space>> set_up(const HostMatrix<Scalar>& a,
                                              const typename Method<Scalar, Space>::options_type& options,
                                              Report* report = nullptr, const HostGraph* pattern = nullptr,
                                              const Space& space = {}) {
  const auto device = to_device<Space>(a);
  auto m = std::make_unique<Method<Scalar, Space>>(options);
  if (pattern) {
    const auto graph = graph_of<Space>(*pattern, a.num_rows);
    if constexpr (requires { m->set_pattern(space, graph); })
      m->set_pattern(space, graph);
    else
      m->set_initial_pattern(space, graph);
  }
  m->symbolic(space, device);
  m->numeric(space, device);
  space.fence();
  if (report) *report = m->report();
  return m;
}

}  // namespace prekond::testing
