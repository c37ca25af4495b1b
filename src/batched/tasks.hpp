// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What is compiled in units of its own for each method, scalar and format; and their tasks.
#include <prekond/batched/solver.hpp>

#include "batched/analysis.hpp"
#include "batched/log.hpp"
#include "batched/plan.hpp"
#include "batched/work.hpp"

namespace prekond::impl::batched {

template <class Scalar, class Space>
struct StoredInverses {
  MultiVector<Scalar, Space> values;
  Vector<int, Space> replaced;
};

template <class Scalar, class Space>
struct Workspace {
  Vector<Scalar, Space> spilled;
  Vector<int, Space> next;
  Vector<Scalar, Space> shadow;  ///< \see Work
};

template <class Scalar, class Matrix>
struct SolveTask {
  using Space = typename Matrix::execution_space;
  const Matrix& a;
  const BatchedOptions& options;
  const Analysis<Space>& analysis;
  const Plan& plan;
  const Workspace<Scalar, Space>& workspace;
  const StoredInverses<Scalar, Space>& stored;
  MultiVectorView<const Scalar, Space> b;
  MultiVectorView<Scalar, Space> x;
  StoppingCriteria rule;
  HistoryLog log;
};

template <class Scalar, class Matrix>
struct GenerateTask {
  using Space = typename Matrix::execution_space;
  const Matrix& a;
  const BatchedOptions& options;
  const Analysis<Space>& analysis;
  const Plan& plan;
  const Workspace<Scalar, Space>& workspace;
  const StoredInverses<Scalar, Space>& stored;
};

template <class Method, class Scalar, class Matrix>
void solve_by(const typename Matrix::execution_space& space, const SolveTask<Scalar, Matrix>& task);

template <class Scalar, class Matrix>
void generate_inverses(const typename Matrix::execution_space& space,
                       const GenerateTask<Scalar, Matrix>& task);

/// The shadow vectors of IDR in the workspace. The plan has one piece of s numbers for two "systems".
template <class Scalar, class Space>
void make_shadow(const Space& space, const Plan& plan, const Workspace<Scalar, Space>& workspace,
                 std::int64_t num_rows, int s);

}  // namespace prekond::impl::batched
