// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Half sweeps over the groups of rows: the application of multicolour preconditioners, and exact triangular
/// solves by levels.
#include <prekond/core/preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>

#include "precond/triangular/row_schedule.hpp"
#include "precond/triangular/scaled_triangles.hpp"

#include <memory>
#include <vector>

namespace prekond::impl::sweeps {

/// One pass over all groups. In place i, with s_i the product of row i with the triangles named,
///
///   x_i <- of_x x_i (/ D_ii) + t_i + b_i - s_i,   t_i <- b_i - s_i.
///
/// A term that is not asked for is left out, and its data are not read.
struct HalfSweep {
  bool forward = true;  ///< from the first group on
  bool lower = true, upper = false;
  double of_x = 0;        ///< 0: x is not read
  bool by_pivot = false;  ///< x_i / D_ii in place of x_i
  bool adds_t = false;
  bool adds_b = false;
  bool keeps_t = false;
  bool ends = false;          ///< x is the result: C x goes to y
  bool scales_result = true;  ///< false: x itself does
};

/// Symmetric sweeps from x = 0 with values times omega; each half begins with the other one's sums.
std::vector<HalfSweep> symmetric_sweeps(int sweeps, double omega);
/// Sweeps in one direction from x = 0.
std::vector<HalfSweep> one_way_sweeps(bool forward, int sweeps, double omega);
/// (I + U)^-1 D^-1 (I + L)^-1
std::vector<HalfSweep> triangular_solves();
/// (I + L)^-1 R, where the groups are L's levels.
std::vector<HalfSweep> triangular_solve();

struct SweepTuning {
  /// Groups of at most this many rows and entries share a launch of one team, which takes as long as a launch
  /// for each.
  static constexpr std::int64_t small_on_device = 4096;
  static constexpr std::int64_t small_on_host = 8192;
  static constexpr int merged_team_threads = 512;
  static constexpr int merged_lanes = 8;
  static constexpr int teams_of_host_thread = 4;  ///< of a group, at most
  /// Up to two threads of a host leave all groups to one where a launch has this many rows and entries in the
  /// mean, or fewer: some 1 ms of work. A second thread halves that at best; where it shares its core with
  /// another program, each launch may wait for as long as the system lets that one run, a few ms.
  static constexpr std::int64_t narrow_on_host = 1 << 20;
  static constexpr int threads_in_order = 2;
};

template <class Space>
std::vector<LevelGroup> group_launches(const GroupedTriangles<Space>& pattern) {
  constexpr std::int64_t small =
      is_host_space<Space> ? SweepTuning::small_on_host : SweepTuning::small_on_device;
  return merge_small(pattern.num_groups, [&](int c) {
    const auto entries = [&](const std::vector<std::size_t>& ptrs) {
      return static_cast<std::int64_t>(ptrs[c + 1] - ptrs[c]);
    };
    return pattern.group_ptrs[c + 1] - pattern.group_ptrs[c] + entries(pattern.lower_ptrs) +
               entries(pattern.upper_ptrs) <=
           small;
  });
}

/// Whether launches are too small for two threads of a host, see SweepTuning.
template <class Space>
bool is_narrow(const GroupedTriangles<Space>& pattern, std::size_t launches) {
  const auto entries = static_cast<std::int64_t>(pattern.lower.nnz() + pattern.upper.nnz());
  return is_host_space<Space> &&
         pattern.num_rows() + entries <= SweepTuning::narrow_on_host * static_cast<std::int64_t>(launches);
}

/// The sweeps of a matrix in one precision.
template <class Scalar, class Space>
class GroupedSweeps {
 public:
  virtual ~GroupedSweeps() = default;
  /// y = M^-1 b. \throws std::logic_error for a workspace made for fewer vectors or rows
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> b,
                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;
  virtual std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const = 0;
  virtual std::int64_t bytes() const = 0;     ///< without those of the triangles' pattern
  virtual double flops() const = 0;           ///< of an application to one vector
  virtual std::int64_t cut() const = 0;       ///< entries above the range of the storage
  virtual std::int64_t vanished() const = 0;  ///< entries below it, which are 0
};

/// Stores the factors in the precision asked for. Fences where that is not their own.
template <class Scalar, class Space>
std::shared_ptr<const GroupedSweeps<Scalar, Space>> make_grouped_sweeps(
    const Space& space, const std::string& name, std::shared_ptr<const GroupedTriangles<Space>> pattern,
    const Factors<Scalar, Space>& factors, const std::vector<HalfSweep>& half_sweeps, Storage storage);

}  // namespace prekond::impl::sweeps
