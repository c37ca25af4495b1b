// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What multicolour preconditioners apply: half sweeps over the colours.
#include <prekond/core/workspace.hpp>
#include <prekond/precond/setup_options.hpp>

#include "precond/triangular/values.hpp"

#include <memory>
#include <vector>

namespace prekond::impl::relaxation {

/// One pass over all colours, in whose place i, with s_i the product of row i with the triangles named,
///
///   x_i <- of_x x_i (/ D_ii) + t_i + b_i - s_i,   t_i <- b_i - s_i.
///
/// Each term is there where it is asked for: the pass goes without reading what it does not need.
struct HalfSweep {
  bool forward = true;  ///< from the first colour on
  bool lower = true, upper = false;
  double of_x = 0;        ///< 0: x is not read
  bool by_pivot = false;  ///< x_i / D_ii in place of x_i
  bool adds_t = false;
  bool adds_b = false;
  bool keeps_t = false;
  bool ends = false;          ///< x is the result: C x goes to y
  bool scales_result = true;  ///< false: x itself does
};

/// Symmetric sweeps from x = 0, the values times omega: each half has the other one's sums.
std::vector<HalfSweep> symmetric_sweeps(int sweeps, double omega);
/// Sweeps in one direction from x = 0.
std::vector<HalfSweep> one_way_sweeps(bool forward, int sweeps, double omega);
/// (I + U)^-1 D^-1 (I + L)^-1
std::vector<HalfSweep> triangular_solves();
/// (I + L)^-1 R, the colours being L's levels.
std::vector<HalfSweep> triangular_solve();

struct SweepTuning {
  /// Colours of so few rows and entries make one launch together, of one team: that takes as long as a launch
  /// of their own.
  static constexpr std::int64_t small_on_device = 4096;
  static constexpr std::int64_t small_on_host = 8192;
  static constexpr int merged_team_threads = 512;
  static constexpr int merged_lanes = 8;
  static constexpr int teams_of_host_thread = 4;  ///< of a colour, at most
};

/// Colours of one launch.
struct ColorGroup {
  int first = 0, last = 0;  ///< colours first .. last - 1
  bool merged = false;      ///< small ones, by one team
};

template <class Space>
std::vector<ColorGroup> group_colors(const ColorPattern<Space>& pattern) {
  constexpr std::int64_t small =
      is_host_space<Space> ? SweepTuning::small_on_host : SweepTuning::small_on_device;
  std::vector<ColorGroup> groups;
  for (int c = 0; c < pattern.num_colors; ++c) {
    const auto entries = [&](const std::vector<std::size_t>& ptrs) {
      return static_cast<std::int64_t>(ptrs[c + 1] - ptrs[c]);
    };
    const std::int64_t work = pattern.color_ptrs[c + 1] - pattern.color_ptrs[c] +
                              entries(pattern.lower_ptrs) + entries(pattern.upper_ptrs);
    const bool merged = work <= small;
    if (merged && !groups.empty() && groups.back().merged)
      groups.back().last = c + 1;
    else
      groups.push_back({c, c + 1, merged});
  }
  return groups;
}

/// A matrix by colours in one precision.
template <class Scalar, class Space>
class ColorSweeps {
 public:
  virtual ~ColorSweeps() = default;
  /// y = M^-1 b. \throws std::logic_error for a workspace made for fewer vectors or rows
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> b,
                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;
  virtual std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const = 0;
  virtual std::int64_t bytes() const = 0;     ///< without the pattern's
  virtual double flops() const = 0;           ///< of an application to one vector
  virtual std::int64_t cut() const = 0;       ///< entries that were larger than what is stored
  virtual std::int64_t vanished() const = 0;  ///< entries that were smaller, and are 0
};

/// Stores what `factors` has, in the precision asked for. Fences where that is not the factors'.
template <class Scalar, class Space>
std::shared_ptr<const ColorSweeps<Scalar, Space>> make_color_sweeps(
    const Space& space, const std::string& name, std::shared_ptr<const ColorPattern<Space>> pattern,
    const Factors<Scalar, Space>& factors, const std::vector<HalfSweep>& half_sweeps, Storage storage);

}  // namespace prekond::impl::relaxation
