// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The worth of a preconditioner of a general matrix: one application, and the iterations of BiCGSTAB.
#include "testing/host_matrix.hpp"
#include "testing/reference_bicgstab.hpp"

#include <prekond/precond/registry.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

/// y = M^-1 x, on the device.
template <class Space>
std::vector<double> applied(const Preconditioner<double, Space>& m, const std::vector<double>& x) {
  const Space space;
  const auto from = to_device<Space>(x);
  const Vector<double, Space> to("to", x.size());
  Kokkos::deep_copy(to, std::nan(""));
  const auto workspace = m.make_workspace(space, 1);
  m.apply(space, as_multivector(VectorView<const double, Space>(from)), as_multivector(to), *workspace);
  space.fence();
  return to_vector(to);
}

/// BiCGSTAB's iterations with a preconditioner, which is set up; max_iters + 1 where it does not converge.
template <class Space>
std::int64_t iterations_by(MatrixPreconditioner<double, Space>& m, const HostMatrix<double>& a,
                           std::int64_t max_iters) {
  const auto device = to_device<Space>(a);
  m.symbolic(Space(), device);
  m.numeric(Space(), device);
  std::vector<double> x(a.num_rows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.0 + 3.0 * static_cast<double>(i));
  const std::vector<double> b = multiply(a, x);
  const auto result = reference_bicgstab(
      a, b, [&](const std::vector<double>& r) { return applied<Space>(m, r); }, 1e-8, max_iters);
  return result.converged ? result.iterations : max_iters + 1;
}

/// The same with a preconditioner by name.
template <class Space>
std::int64_t iterations(const HostMatrix<double>& a, const std::string& name, const OptionMap& options,
                        std::int64_t max_iters) {
  const auto m = create_preconditioner<double, Space>(name, options);
  return iterations_by<Space>(*m, a, max_iters);
}

}  // namespace prekond::testing
