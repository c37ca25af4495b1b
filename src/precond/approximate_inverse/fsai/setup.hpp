// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the static FSAI's setup.
#include <prekond/pattern/impl/supernodes.hpp>
#include <prekond/precond/setup_options.hpp>
#include "core/concurrency.hpp"
#include "core/host_thread_group.hpp"
#include "core/kernel_policy.hpp"
#include "sparse_product/row_bins.hpp"

#include "precond/approximate_inverse/fsai/row.hpp"
#include "precond/approximate_inverse/fsai/scale.hpp"
#include "precond/approximate_inverse/fsai/scale_blocks.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/setup/longest_row.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond::impl::fsai {

struct Tuning {
  static constexpr int vector_length = 32;
  static constexpr int short_vector = 8;  // rows of one panel
  static constexpr int longest_of_vector = 40;
  static constexpr int rows_per_team = 4;               // of vectors
  static constexpr std::size_t scratch_limit = 48000;   // of a team at level 0, on CUDA
  static constexpr std::size_t vector_scratch = 36000;  // six teams a processor
  static constexpr int max_team_vectors = 8;
  static constexpr int slab_rows_per_fetch = 16;  // host threads take short rows in groups
  static constexpr std::size_t large_workspace = 1 << 16;
  /// Host threads share the systems of longer rows, where there are few of them or they are much longer.
  static constexpr int longest_of_thread = 1024;
  static constexpr int few_rows = 128;
};

/// Whether all threads of a host work on each row of a bin, one row after another. The number of threads has
/// no part in it, since it must not change a bit.
inline bool is_shared(std::int64_t count, int longest) {
  return longest > Tuning::longest_of_thread &&
         (count <= Tuning::few_rows || longest > 4 * Tuning::longest_of_thread);
}

/// The unit that works on a row: a vector of lanes, or a team, with its workspace in scratch; or a thread of
/// the host or a team of a device that fetches row after row, with its workspace in a slab.
enum class Unit { short_vector, vector, team, slab };

/// A kernel over rows, each done by such a unit in a workspace of its own.
template <class Space, Unit row_unit>
struct RowKernel {
  using Policy = KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr Unit unit = row_unit;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int width =
      host ? 1 : (unit == Unit::short_vector ? Tuning::short_vector : Tuning::vector_length);
  static constexpr bool of_team = !host && (unit == Unit::team || unit == Unit::slab);
  using LaneGroup =
      std::conditional_t<of_team, TeamLaneGroup<Member, width>, NativeLaneGroup<Space, Member, width>>;

  /// Calls do_row(base, k) for the units' rows k < count.
  template <class DoRow>
  KOKKOS_FORCEINLINE_FUNCTION static void for_rows(const Member& team, std::int64_t count, std::size_t bytes,
                                                   const VectorView<char, Space>& workspaces,
                                                   const VectorView<int, Space>& next, const DoRow& do_row) {
    if constexpr (unit == Unit::slab) {
      char* base = workspaces.data() + bytes * static_cast<std::size_t>(team.league_rank());
      const int group = host && bytes < Tuning::large_workspace ? Tuning::slab_rows_per_fetch : 1;
      while (true) {
        int k = 0;
        Kokkos::single(
            Kokkos::PerTeam(team), [&](int& mine) { mine = Kokkos::atomic_fetch_add(&next(0), group); }, k);
        if (k >= count) break;
        for (int end = k + group; k < end && k < count; ++k) do_row(base, k);
      }
    } else {
      const int in_team = of_team ? 1 : team.team_size(), rank = of_team ? 0 : team.team_rank();
      const std::int64_t k = std::int64_t(team.league_rank()) * in_team + rank;
      char* base = static_cast<char*>(team.team_shmem().get_shmem_aligned(bytes * in_team, 16));
      if (k < count) do_row(base + bytes * rank, k);
    }
  }
};

/// A kernel whose rows may be done by all threads of a host.
template <class Kernel, class Space>
concept DoneByThreads = requires(const Kernel& kernel, const HostThreadGroup<Space>& lane_group, char* base) {
  kernel.do_row(lane_group, base, 0);
};

/// The rows of a kernel one after another, each by all threads of a host. `label` is the kernel's.
template <class Space, class Kernel>
void share_rows(const Space& space, const Kernel& kernel, std::int64_t count, std::size_t bytes,
                const char* label) {
  const auto workspace = allocate<Vector<char, Space>>(space, std::string(label) + "::workspace", bytes);
  space.fence(std::string(label) + "::share_rows");
  const HostThreadGroup<Space> lane_group(space, label);
  for (std::int64_t k = 0; k < count; ++k) kernel.do_row(lane_group, workspace.data(), kernel.rows(k));
}

/// Launches a RowKernel with members `workspaces` and `next` over `count` rows of up to `longest` entries,
/// whose workspaces have `bytes`.
///
/// There are as many workspaces as `workspace_budget` has room for, at least one.
template <class Space, class Kernel>
void launch_rows(const Space& space, Kernel kernel, std::int64_t count, int longest, std::size_t bytes,
                 std::int64_t workspace_budget, const char* label) {
  constexpr Unit unit = Kernel::unit;
  if constexpr (Kernel::host && DoneByThreads<Kernel, Space>) {
    if (is_shared(count, longest)) {
      share_rows(space, kernel, count, bytes, label);
      return;
    }
  }
  // A lane has a row of a panel's; more than 256 only wait for each other.
  const int vectors =
      Kernel::host ? 1
                   : std::clamp((longest + Kernel::width - 1) / Kernel::width, 1, Tuning::max_team_vectors);
  if constexpr (unit == Unit::slab) {
    const auto affordable = std::max<std::int64_t>(1, workspace_budget / static_cast<std::int64_t>(bytes));
    const std::int64_t useful = std::max(1, concurrency(space) / (vectors * Kernel::width));
    const auto units = static_cast<int>(std::min({count, useful, affordable}));
    const std::string label_of_slab = std::string(label) + "::workspaces";
    const auto workspaces =
        allocate<Vector<char, Space>>(space, label_of_slab, bytes * static_cast<std::size_t>(units));
    kernel.workspaces = workspaces;
    set_zero(space, kernel.next);
    Kokkos::parallel_for(label, typename Kernel::Policy(space, units, vectors, Kernel::width), kernel);
    space.fence(label_of_slab);
  } else {
    const int most = unit == Unit::vector ? Tuning::rows_per_team : 4 * Tuning::rows_per_team;
    const int in_team =
        Kernel::of_team ? 1
                        : static_cast<int>(std::clamp<std::size_t>(Tuning::vector_scratch / bytes, 1, most));
    const int league = static_cast<int>((count + in_team - 1) / in_team);
    auto policy = typename Kernel::Policy(space, league, Kernel::of_team ? vectors : in_team, Kernel::width);
    policy.set_scratch_size(
        0, Kokkos::PerTeam(static_cast<int>(bytes * static_cast<std::size_t>(in_team) + 16)));
    Kokkos::parallel_for(label, policy, kernel);
  }
}

/// The longest rows that are done by a short vector, and by a vector.
struct UnitLimits {
  int short_vector = Tuning::short_vector;
  int vector = Tuning::longest_of_vector;
};

/// Calls launch(unit, rows, longest) for the bins of the rows, or of those chosen, by length: `unit` is a
/// std::integral_constant, and bytes(longest) a workspace's size.
template <class Space, class Bytes, class Launch>
void launch_bins(const Space& space, VectorView<const std::size_t, Space> row_ptrs,
                 VectorView<const unsigned char, Space> chosen, const Bytes& bytes, const Launch& launch,
                 const UnitLimits& units = {}) {
  const std::vector<int> limits{8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256};
  const RowBins<Space> bins = bin_rows<Space>(space, row_ptrs, limits, chosen);
  for (const auto& bin : bins.bins) {
    const auto rows = bins.rows_of(bin);
    if (is_host_space<Space> || bytes(bin.longest) > Tuning::scratch_limit) {
      launch(std::integral_constant<Unit, Unit::slab>(), rows, bin.longest);
    } else if constexpr (!is_host_space<Space>) {
      if (bin.longest <= units.short_vector) {
        launch(std::integral_constant<Unit, Unit::short_vector>(), rows, bin.longest);
      } else if (bin.longest <= units.vector) {
        launch(std::integral_constant<Unit, Unit::vector>(), rows, bin.longest);
      } else {
        launch(std::integral_constant<Unit, Unit::team>(), rows, bin.longest);
      }
    }
  }
}

/// Rows, or the blocks k with the rows begins(k) .. begins(k + 1) - 1.
template <class Space>
struct RowGroups {
  VectorView<const int, Space> begins;  ///< empty: single rows
  KOKKOS_FUNCTION int first(int k) const { return begins.extent(0) > 0 ? begins(k) : k; }
  KOKKOS_FUNCTION int last(int k) const { return begins.extent(0) > 0 ? begins(k + 1) - 1 : k; }
};

/// The order of a block's system.
template <class Space>
struct BlockOrder {
  CsrGraphView<Space> pattern;
  RowGroups<Space> groups;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t k) const {
    const int last = groups.last(static_cast<int>(k));
    return pattern.row_ptrs(last + 1) - pattern.row_ptrs(last);
  }
};

/// Solves the rows, or blocks of rows, of one bin.
template <class Scalar, class Real, class Space, Unit unit, class Matrix = CsrView<Scalar, Space>>
struct SolveRows : RowKernel<Space, unit> {
  using typename RowKernel<Space, unit>::Member;
  using typename RowKernel<Space, unit>::LaneGroup;

  Matrix a;
  VectorView<const real_type_t<Scalar>, Space> diagonal;
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> values;
  Layout<in_precision_t<Scalar, Real>> layout;
  Real floor;
  RowGroups<Space> groups;
  VectorView<const int, Space> rows;  ///< or blocks
  VectorView<unsigned char, Space>
      again;  ///< one that breaks down is marked here; where it is empty, it is settled
  VectorView<BreakdownCounter, Space> outcome;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), layout.bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(LaneGroup(team), base, rows(k)); });
  }

  /// By the kernel's lane group, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_row(const AnyLaneGroup& lane_group, char* base, int k) const {
    const int last = groups.last(k);
    const std::size_t begin = pattern.row_ptrs(last);
    const int length = static_cast<int>(pattern.row_ptrs(last + 1) - begin);
    Row<Scalar, Real, Space, AnyLaneGroup, Matrix> row(lane_group, a, diagonal, layout, base, length);
    const bool dropped = row.factor(pattern.col_idxs.data() + begin, floor);
    if (dropped && again.extent(0) > 0) {
      lane_group.once([&] { again(k) = 1; });
      return;
    }
    for (int i = groups.first(k); i <= last; ++i) write_row(lane_group, row, i, length - (last - i));
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void write_row(const AnyLaneGroup& lane_group,
                                 Row<Scalar, Real, Space, AnyLaneGroup, Matrix>& row, int i,
                                 int length) const {
    const RowResult result = row.solve(length - 1);
    const std::size_t begin = pattern.row_ptrs(i);
    lane_group.region([&](int lane) {
      for (int k = lane; k < length; k += lane_group.size())
        values(begin + k) = result.last ? Scalar(k == length - 1) : static_cast<Scalar>(row.value(k));
    });
    if (result.dropped)
      lane_group.once([&] { BreakdownCounter::count(outcome(0), i, result.last, result.pivot); });
  }
};

/// The setup's launches, for a matrix by compressed rows or, with supernodes that are its block rows, by
/// blocks (BlockEntries).
template <class Scalar, class Space, class Matrix = CsrView<Scalar, Space>>
class Setup {
 public:
  Setup(const Space& space, const Matrix& a, VectorView<const real_type_t<Scalar>, Space> diagonal,
        const WorkspaceLimits& limits, const std::string& name)
      : m_space(space),
        m_a(a),
        m_diagonal(diagonal),
        m_limits(limits),
        m_name(name),
        m_outcome(make_breakdown_counter(space, "prekond::fsai::numeric::outcome")),
        m_next(allocate<Vector<int, Space>>(space, "prekond::fsai::numeric::next", 1)) {}

  /// \throws InputError where a row's system takes more than `memory_budget`, in double, which it may need
  LongestRow check_rows(const CsrGraphView<Space>& pattern) {
    const LongestRow longest = longest_row<Space>(m_space, pattern.row_ptrs);
    check_slab(m_name, longest,
               Layout<in_precision_t<Scalar, double>>(static_cast<int>(longest.length)).bytes,
               m_limits.system);
    return longest;
  }

  /// The rows' solutions with unit diagonal, into `values` on `pattern`. Where there are supernodes, their
  /// rows have the columns of the last one, each up to its own.
  ///
  /// \pre check_rows
  void solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_single,
             const Supernodes<Space>& supernodes = {});

  /// Scales the rows, which have whole blocks of columns where `in_blocks`.
  void scale(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_blocks);

  BreakdownCounter outcome() const { return fetch(m_space, m_outcome); }

 private:
  template <class Real>
  void solve_rows(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
                  VectorView<const unsigned char, Space> chosen, VectorView<unsigned char, Space> again) {
    launch_bins<Space>(
        m_space, m_sizes, chosen,
        [](int longest) { return Layout<in_precision_t<Scalar, Real>>(longest).bytes; },
        [&](auto unit, VectorView<const int, Space> rows, int longest) {
          launch<Real, decltype(unit)::value>(pattern, values, rows, again, longest);
        });
  }

  template <class Real, Unit unit>
  void launch(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
              VectorView<const int, Space> rows, VectorView<unsigned char, Space> again, int longest) {
    using Kernel = SolveRows<Scalar, Real, Space, unit, Matrix>;
    constexpr Real epsilon = sizeof(Real) == 4 ? Real(1.1920929e-7) : Real(2.220446049250313e-16);
    const Layout<in_precision_t<Scalar, Real>> layout(longest);
    const Kernel kernel{{},       m_a,  m_diagonal, pattern,   values, layout, 16 * epsilon,
                        m_groups, rows, again,      m_outcome, {},     m_next};
    launch_rows(m_space, kernel, static_cast<std::int64_t>(rows.extent(0)), longest, layout.bytes,
                m_limits.slab, "prekond::fsai::numeric::solve_rows");
  }

  Space m_space;
  Matrix m_a;
  VectorView<const real_type_t<Scalar>, Space> m_diagonal;
  WorkspaceLimits m_limits;
  std::string m_name;  ///< of the preconditioner
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<int, Space> m_next;
  RowGroups<Space> m_groups;
  VectorView<const std::size_t, Space> m_sizes;  ///< of the groups' systems, as differences
};

// Outside of the class, so that those of blocks are compiled in one place.
template <class Scalar, class Space, class Matrix>
void Setup<Scalar, Space, Matrix>::solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
                                         bool in_single, const Supernodes<Space>& supernodes) {
  const bool blocks = supernodes.count() > 0;
  const std::int64_t count = blocks ? supernodes.count() : m_a.num_rows;
  m_groups = {supernodes.begins};
  Vector<std::size_t, Space> orders;
  if (blocks) {
    orders = scan_row_lengths(m_space, "prekond::fsai::numeric::orders", count,
                              BlockOrder<Space>{pattern, m_groups})
                 .first;
  }
  m_sizes = blocks ? VectorView<const std::size_t, Space>(orders) : pattern.row_ptrs;
  if (!in_single) return solve_rows<double>(pattern, values, {}, {});
  const auto again =
      allocate_zero<Vector<unsigned char, Space>>(m_space, "prekond::fsai::numeric::again", count);
  solve_rows<float>(pattern, values, {}, again);
  solve_rows<double>(pattern, values, again, {});
}

template <class Scalar, class Space, class Matrix>
void Setup<Scalar, Space, Matrix>::scale(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
                                         bool in_blocks) {
  if constexpr (!std::is_same_v<Matrix, CsrView<Scalar, Space>>) {
    if (in_blocks)
      return scale_block_rows<Scalar, Space>(m_space, m_a, m_diagonal, pattern, values, m_outcome);
  }
  scale_rows<Scalar, Space>(m_space, m_a, m_diagonal, pattern, values, m_outcome);
}

}  // namespace prekond::impl::fsai
