// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches that are compiled in units of their own for each method, scalar and format.
#include <prekond/batched/solver.hpp>

#include "batched/analysis.hpp"
#include "batched/launch_config.hpp"
#include "batched/log.hpp"
#include "batched/solve_context.hpp"

namespace prekond::impl::batched {

template <class Scalar, class Space>
struct StoredPreconditioners {
  MultiVector<Scalar, Space> values;
  Vector<int, Space> replaced;
};

template <class Scalar, class Space>
struct Workspace {
  Vector<Scalar, Space> spilled;
  Vector<int, Space> next;
  Vector<Scalar, Space> shadow;  ///< \see SolveContext
};

template <class Scalar, class Matrix>
struct GenerateArguments {
  using Space = typename Matrix::execution_space;
  const Matrix& a;
  const BatchedOptions& options;
  const Analysis<Space>& analysis;
  const LaunchConfig& config;
  const Workspace<Scalar, Space>& workspace;
  const StoredPreconditioners<Scalar, Space>& stored;
};

template <class Scalar, class Matrix>
struct SolveArguments : GenerateArguments<Scalar, Matrix> {
  using Space = typename Matrix::execution_space;
  MultiVectorView<const Scalar, Space> b;
  MultiVectorView<Scalar, Space> x;
  StoppingCriteria criteria;
  HistoryLog log;
};

template <class Method, class Scalar, class Matrix>
void solve_by(const typename Matrix::execution_space& space, const SolveArguments<Scalar, Matrix>& arguments);

template <class Scalar, class Matrix>
void generate_preconditioners(const typename Matrix::execution_space& space,
                              const GenerateArguments<Scalar, Matrix>& arguments);

/// Makes the shadow vectors of IDR in the workspace. `config` is for one piece of s numbers and two
/// "systems", the first attempt and the second.
template <class Scalar, class Space>
void make_shadow_vectors(const Space& space, const LaunchConfig& config,
                         const Workspace<Scalar, Space>& workspace, std::int64_t num_rows, int s);

}  // namespace prekond::impl::batched
