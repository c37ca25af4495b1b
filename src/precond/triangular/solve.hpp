// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The solves that a triangular solver applies.
#include <prekond/precond/isai.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include "precond/triangular/grouped_triangles.hpp"
#include "precond/triangular/row_schedule.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prekond::impl::triangular {

/// (I + N)^-1 S, as a numeric phase is given it.
template <class Scalar, class Space>
struct Factor {
  std::string owner;
  Triangle which;
  CsrGraph<Space> graph;
  BlockShape blocks;  ///< of `graph`
  Vector<Scalar, Space> values;
  Vector<Scalar, Space> scale;  ///< empty: S = I
  bool owns_values = false;     ///< nobody else has `values`

  std::int64_t num_rows() const { return blocks.single_rows(graph.num_rows); }
};

template <class Scalar, class Space>
class Solve;
template <class Scalar, class Space>
using SolvePointer = std::shared_ptr<const Solve<Scalar, Space>>;

template <class Scalar, class Space>
class Solve {
 public:
  virtual ~Solve() = default;
  virtual std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const = 0;
  /// y = (I + N)^-1 S x, or near it. \pre x has rows and columns
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;
  virtual std::int64_t bytes() const = 0;  ///< without the pattern's
  virtual double flops() const = 0;
};

template <class Space>
using LevelPattern = std::shared_ptr<const sweeps::GroupedTriangles<Space>>;

/// The schedule of N's rows, and the data that an exact method derives from it.
template <class Space>
struct LevelOrder {
  RowSchedule<Space> schedule;
  /// N in the order of the levels, for single rows by `levels`; null where there are no more threads than
  /// `threads_in_order`.
  LevelPattern<Space> pattern;
  /// For `sync_free` with short rows, the places in the levels of N's columns, so that rows next to each
  /// other there look for values next to each other; -1 of other ranks.
  Vector<int, Space> places;
  /// Up to this number of threads one of a host has all rows, in their order.
  int threads_in_order = 0;

  std::int64_t bytes() const;
};
template <class Space>
using LevelOrderPointer = std::shared_ptr<const LevelOrder<Space>>;

/// For one of the exact methods and a number of threads (of a host), of single rows or of blocks. Fences.
template <class Space>
LevelOrder<Space> make_level_order(const Space& space, const CsrGraph<Space>& n,
                                   const LevelSchedule<Space>& levels, Triangle which,
                                   TriangularMethod method, int num_threads);
template <class Space>
LevelOrder<Space> make_block_order(const Space& space, const CsrGraph<Space>& n, int block_size,
                                   const LevelSchedule<Space>& levels, Triangle which,
                                   TriangularMethod method);

/// N and S in the order of the levels.
template <class Scalar, class Space>
struct OrderedFactor {
  Vector<Scalar, Space> values, scale;
};
template <class Scalar, class Space>
OrderedFactor<Scalar, Space> order_factor(const Space& space, const Factor<Scalar, Space>& factor,
                                          const sweeps::GroupedTriangles<Space>& pattern);

/// By levels, or by one thread of a host in the order of the rows.
template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_level_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                             const LevelOrderPointer<Space>& order, Storage storage,
                                             std::vector<std::string>& notes);

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_sync_free_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelOrderPointer<Space>& order, Storage storage,
                                                 std::vector<std::string>& notes);

/// Exactly, by rows of blocks, in the schedule of `order`.
template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_block_row_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelOrderPointer<Space>& order);

/// The sweeps of `jacobi`. N is nilpotent: after as many as there are rows further ones would change nothing.
inline int sweeps_of(const TriangularOptions& options, std::int64_t num_rows) {
  return static_cast<int>(std::min<std::int64_t>(options.sweeps, num_rows));
}
/// Null, with the reason in `refusal`, where sweeps are refused on a fixed vector (reason_against_sweeps).
/// Fences.
template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_jacobi_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                              const TriangularOptions& options, std::string& refusal);

/// Runs the numeric phase of `isai`. Its notes and breakdowns go to the report.
template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_isai_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                            const std::shared_ptr<Isai<Scalar, Space>>& isai, Report& report);

/// M's pattern, and its transpose's; without rows until a numeric phase has made them.
template <class Space>
struct InversePatterns {
  CsrGraph<Space> inverse, transposed;
};
/// M S x, and M^T S' x for `transposed_scale` S'. Finds M by an ISAI on a pattern that it has or makes. Its
/// notes and breakdowns go to the report. Fences.
template <class Scalar, class Space>
std::pair<SolvePointer<Scalar, Space>, SolvePointer<Scalar, Space>> make_isai_pair(
    const Space& space, const Factor<Scalar, Space>& factor, const Vector<Scalar, Space>& transposed_scale,
    const IsaiOptions& options, InversePatterns<Space>& patterns, Report& report);

/// By levels on the host's execution space.
template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_host_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                            Storage storage, Report& report);

/// y = S x
template <class Scalar, class Space>
struct ScaleVectors {
  VectorView<const Scalar, Space> scale;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < y.extent(1); ++v) y(i, v) = scale(i) * x(i, v);
  }
};

template <class Scalar, class Space>
void scale_vectors(const Space& space, VectorView<const Scalar, Space> scale,
                   MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for("prekond::triangular::apply::scale",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, y.extent(0)),
                       ScaleVectors<Scalar, Space>{scale, x, y});
}

/// \throws std::logic_error where a workspace was made for fewer vectors, or for another number of rows
void check_workspace(std::int64_t own_rows, std::size_t own_columns, std::int64_t rows, std::size_t columns,
                     const std::string& owner);

/// The first `count` columns of a workspace's vectors. \throws std::logic_error as check_workspace does
template <class T, class Space>
MultiVectorView<T, Space> columns_of(const MultiVectorView<T, Space>& vectors, std::int64_t rows,
                                     std::size_t count, const std::string& owner) {
  check_workspace(static_cast<std::int64_t>(vectors.extent(0)), vectors.extent(1), rows, count, owner);
  return MultiVectorView<T, Space>(vectors.data(), vectors.extent(0), count);
}

}  // namespace prekond::impl::triangular
