// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The problems that the solvers are timed on, and their rates of comparison.
#include "device_rates.hpp"
#include "matrix/counter_hash.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond::perf {

/// A x = b with b = A 1.
struct Problem {
  CsrMatrix<double, int, std::size_t, Space::memory_space> a;
  Vector<double, Space> b, x;
};

/// A generated matrix's problem, or that of a Matrix Market file, until Kokkos ends.
inline std::shared_ptr<Problem> make_problem(const std::string& spec) {
  const Space space;
  const auto problem = std::make_shared<Problem>();
  Kokkos::push_finalize_hook([problem] { *problem = {}; });
  if (spec.find(".mtx") == std::string::npos) {
    problem->a = generate<double>(space, spec);
  } else {
    const auto on_device = [](const auto& host) {
      return Kokkos::create_mirror_view_and_copy(Space::memory_space{}, host);
    };
    const auto a = read_matrix_market<double>(spec);
    problem->a = {a.num_rows, a.num_cols, on_device(a.row_ptrs), on_device(a.col_idxs), on_device(a.values)};
  }
  problem->b = Vector<double, Space>("b", problem->a.num_rows);
  problem->x = Vector<double, Space>("x", problem->a.num_rows);
  Kokkos::deep_copy(problem->x, 1.0);
  spmv<double, Space>(space, 1.0, problem->a, as_multivector(VectorView<const double, Space>(problem->x)),
                      0.0, as_multivector(problem->b));
  return problem;
}

struct FillRandom {
  Vector<double, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    b(i) = 2 * impl::unit_interval(impl::counter_hash(1, std::uint64_t(i))) - 1;
  }
};

/// Numbers between -1 and 1, of each place the same in every program and on every device.
inline void fill_random(const Vector<double, Space>& b) {
  Kokkos::parallel_for("perf::random", Kokkos::RangePolicy<Space>(Space(), 0, b.extent(0)), FillRandom{b});
}

}  // namespace prekond::perf
