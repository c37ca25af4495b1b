// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the adaptive FSAI's setup: rows in chunks, each chunk's rows into a slab, the slab
/// appended to G.
#include <prekond/core/error.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include "core/concurrency.hpp"
#include "core/kernel_policy.hpp"

#include "precond/approximate_inverse/adaptive_fsai/chunk.hpp"
#include "precond/approximate_inverse/adaptive_fsai/grow.hpp"
#include "precond/approximate_inverse/adaptive_fsai/kernel.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace prekond::impl::adaptive_fsai {

/// The sets that find the columns of a gradient, in workspaces with 16-bit and with 32-bit slots.
template <class Space, Gradient gradient>
struct ColumnSets {
  using Shared = SharedMarkerColumnSet;
  using Small = std::conditional_t<gradient == Gradient::list, HashedColumnSet<unsigned short>, Shared>;
  using Large = std::conditional_t<gradient == Gradient::list, HashedColumnSet<unsigned>, Shared>;
};
template <class Space, Gradient gradient>
requires(is_host_space<Space>&& gradient != Gradient::merge) struct ColumnSets<Space, gradient> {
  using Small = MarkerColumnSet;
  using Large = MarkerColumnSet;
};
template <class Space>
struct ColumnSets<Space, Gradient::merge> {
  using Small = NoColumnSet;
  using Large = NoColumnSet;
};

/// The setup's launches for one precision of growth.
template <class Scalar, class Real, class Space, bool Portable = false, Gradient gradient = Gradient::list>
class Setup {
 public:
  using GMatrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using Sets = ColumnSets<Space, gradient>;
  using SmallSlot = std::conditional_t<is_host_space<Space>, unsigned, unsigned short>;
  using SmallKernel = GrowRows<Scalar, Real, Space, typename Sets::Small, SmallSlot, true, Portable>;
  using LargeKernel = GrowRows<Scalar, Real, Space, typename Sets::Large, unsigned, false, Portable>;

  Setup(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz, const Parameters& parameters,
        std::int64_t workspace_budget)
      : m_space(space),
        m_a(a),
        m_parameters(parameters),
        m_workspace_budget(workspace_budget),
        m_mean(static_cast<int>(nnz / std::max<std::int64_t>(1, a.num_rows)) + 1),
        m_outcome(make_breakdown_counter(space, "prekond::adaptive_fsai::numeric::outcome")),
        m_next(allocate<Vector<int, Space>>(space, "prekond::adaptive_fsai::numeric::next", 1)) {}

  /// G on patterns found row by row, beginning with those of `start` (none: the diagonal).
  GMatrix grow(const CsrGraphView<Space>& start = {});

  /// New values for `g` on its own pattern.
  void solve(GMatrix& g);

  BreakdownCounter outcome() const { return fetch(m_space, m_outcome); }
  /// Writes the rows that broke down to the report. Fences.
  void report_to(Report& report) const {
    report.breakdowns = breakdowns_of(outcome(), "what they had before the pivot");
  }

  struct Piece {
    Vector<int, Space> cols;
    Vector<Scalar, Space> values;
  };

  int batch(int members) const { return std::min(members, m_parameters.most_at_once); }

  /// A first guess of a row's needs, in a workspace that is not in scratch.
  typename LargeKernel::RowLayout roomy_layout() const {
    const int members = std::min(m_parameters.max_members, 256);
    const std::int64_t entries =
        std::min<std::int64_t>((members + 1) * (2ll * m_mean + 16), std::int64_t(1) << 28);
    return {members, static_cast<int>(std::clamp<std::int64_t>(m_a.num_rows, 64, 4096)),
            static_cast<int>(entries), batch(members)};
  }

  /// Rows whose results the slab has room for. A host's slab is small: pages that are touched for the first
  /// time cost more than a chunk's end does.
  std::int64_t chunk_size(std::int64_t row_bytes) const {
    const std::int64_t budget =
        is_host_space<Space> ? std::min(m_workspace_budget, Tuning::host_slab_bytes * concurrency(m_space))
                             : m_workspace_budget;
    return std::clamp<std::int64_t>(budget / row_bytes, 1, m_a.num_rows);
  }

  std::int64_t marker_bytes() const { return m_a.num_rows * static_cast<std::int64_t>(sizeof(int)); }
  std::int64_t affordable(std::int64_t bytes) const;
  VectorView<int, Space> markers_for(std::int64_t units);
  template <class Kernel>
  void run_in_slab(Kernel kernel, const char* label);
  void run_in_scratch(const SmallKernel& kernel, const char* label);
  template <int Teams>
  void launch_in_scratch(SmallKernel kernel, int team, const char* label);
  void choose_scratch_layout(LargeKernel sample);
  void do_rows(std::int64_t first, std::int64_t count, const LargeKernel& prototype, const char* label);
  std::int64_t outgrown(std::int64_t first, std::int64_t count, VectorView<const int, Space> length,
                        VectorView<int, Space> list);
  Piece append(const RowSlab<Scalar, Space>& slab, std::int64_t count,
               VectorView<std::size_t, Space> row_ptrs, std::size_t& nnz);
  GMatrix joined(std::vector<Piece>& pieces, Vector<std::size_t, Space> row_ptrs, std::size_t nnz);

  LargeKernel prototype() const {
    LargeKernel kernel{};
    kernel.a = m_a;
    kernel.parameters = m_parameters;
    kernel.layout = roomy_layout();
    kernel.outcome = m_outcome;
    kernel.next = m_next;
    return kernel;
  }

 private:
  Space m_space;
  Matrix<Scalar, Real> m_a;
  Parameters m_parameters;
  std::int64_t m_workspace_budget;
  int m_mean;
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<int, Space> m_next;
  Vector<int, Space> m_markers;
  typename SmallKernel::RowLayout m_scratch_layout{};
  bool m_use_scratch = false;
};

/// Bits of the shortages among the listed rows.
template <class Space>
int shortages_of(const Space& space, std::int64_t first, VectorView<const int, Space> list,
                 VectorView<const int, Space> length) {
  int bits = 0;
  Kokkos::parallel_reduce("prekond::adaptive_fsai::numeric::shortages",
                          Kokkos::RangePolicy<Space>(space, 0, list.extent(0)),
                          SeeShortage<Space>{first, list, length}, Kokkos::BOr<int>(bits));
  return bits;
}

/// How many units of `bytes` each, with their markers, the budget allows: one at least, but one's markers
/// have to fit.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
std::int64_t Setup<Scalar, Real, Space, Portable, gradient>::affordable(std::int64_t bytes) const {
  if constexpr (gradient == Gradient::marker) {
    if (marker_bytes() > m_workspace_budget)
      throw InputError("adaptive_fsai: gradient = marker takes " + std::to_string(marker_bytes()) +
                       " bytes for each row in flight, and workspace_budget is " +
                       std::to_string(m_workspace_budget) +
                       "; raise workspace_budget to that at least, or set gradient to list or merge");
    bytes += marker_bytes();
  }
  return std::max<std::int64_t>(1, m_workspace_budget / std::max<std::int64_t>(1, bytes));
}

/// Zero, as every row leaves them.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
VectorView<int, Space> Setup<Scalar, Real, Space, Portable, gradient>::markers_for(std::int64_t units) {
  const auto wanted = static_cast<std::size_t>(units * m_a.num_rows);
  if (m_markers.extent(0) < wanted) {
    m_markers = {};
    m_markers =
        allocate_zero<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::markers", wanted);
  }
  return m_markers;
}

/// Does rows one by one, each vector of lanes in its own workspace of a slab within the budget. (On the host
/// each thread has a workspace and markers, which the budget limits only for gradient = marker.)
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
template <class Kernel>
void Setup<Scalar, Real, Space, Portable, gradient>::run_in_slab(Kernel kernel, const char* label) {
  constexpr bool host = is_host_space<Space>;
  constexpr bool limited = !host || gradient == Gradient::marker;
  const std::size_t bytes = kernel.layout.bytes + kernel.layout.pool_bytes;
  const std::int64_t workspace = host ? 0 : static_cast<std::int64_t>(bytes);
  const std::int64_t wanted =
      std::max<std::int64_t>(1, std::min<std::int64_t>(kernel.rows.count, concurrency(m_space)));
  const std::int64_t units = limited ? std::min(affordable(workspace), wanted) : wanted;
  const int team = host ? 1 : static_cast<int>(std::min<std::int64_t>(units, Tuning::max_rows_per_team));
  const int league = static_cast<int>(units / team);
  auto workspaces = allocate<Vector<char, Space>>(m_space, "prekond::adaptive_fsai::numeric::workspaces",
                                                  bytes * static_cast<std::size_t>(league * team));
  kernel.workspaces = workspaces;
  if constexpr (Kernel::uses_markers) kernel.markers = markers_for(std::int64_t(league) * team);
  set_zero(m_space, m_next);
  Kokkos::parallel_for(label, KernelPolicy<Space>(m_space, league, team, Kernel::width), kernel);
}

template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
void Setup<Scalar, Real, Space, Portable, gradient>::run_in_scratch(const SmallKernel& kernel,
                                                                    const char* label) {
  const std::size_t bytes = kernel.layout.bytes;
  int team = static_cast<int>(
      std::min<std::size_t>(Tuning::max_rows_per_team, (Tuning::scratch_limit - 64) / bytes));
  if constexpr (SmallKernel::uses_markers)
    team = static_cast<int>(std::min<std::int64_t>(team, affordable(0)));
  // The registers are better spent on the teams that a processor's scratch has room for.
  const auto room_for = [&](int teams) {
    return team == Tuning::max_rows_per_team &&
           (bytes * team + 1024) * teams <= Tuning::scratch_per_processor;
  };
  if (room_for(Tuning::many_teams)) {
    launch_in_scratch<Tuning::many_teams>(kernel, team, label);
  } else if (room_for(Tuning::more_teams)) {
    launch_in_scratch<Tuning::more_teams>(kernel, team, label);
  } else {
    launch_in_scratch<Tuning::few_teams>(kernel, team, label);
  }
}

template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
template <int Teams>
void Setup<Scalar, Real, Space, Portable, gradient>::launch_in_scratch(SmallKernel kernel, int team,
                                                                       const char* label) {
  using Bounds = Kokkos::LaunchBounds<Tuning::max_rows_per_team * Tuning::vector_length, Teams>;
  std::int64_t league = (kernel.rows.count + team - 1) / team;
  if constexpr (SmallKernel::fetches) {
    // As many teams as run at a time, and as have markers.
    const std::int64_t processors = std::max(1, concurrency(m_space) / Tuning::threads_per_processor);
    league = std::min({league, processors * Teams, affordable(0) / team});
    kernel.markers = markers_for(league * team);
    set_zero(m_space, m_next);
  }
  KernelPolicy<Space, Bounds> policy(m_space, static_cast<int>(league), team, SmallKernel::width);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(kernel.layout.bytes * team + 16)));
  const std::size_t pool_bytes = kernel.layout.pool_bytes * team + 32;
  policy.set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(pool_bytes)));
  Kokkos::parallel_for(label, policy, kernel);
}

/// The most that a sample's rows need, but for a few. (Freeing a view of the host would make all devices
/// wait.)
template <class Space>
int quantile_of(const Space& space, const Vector<int, Space>& used) {
  std::vector<int> host(used.extent(0));
  Kokkos::deep_copy(space,
                    Kokkos::View<int*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                        host.data(), host.size()),
                    used);
  space.fence("prekond::adaptive_fsai::quantile");
  std::sort(host.begin(), host.end());
  const auto count = static_cast<int>(host.size());
  const int place = std::min(count - 1, static_cast<int>(std::ceil(Tuning::sample_quantile * count)));
  return host[static_cast<std::size_t>(place)];
}

/// Sizes the scratch workspace so that nearly all rows of an evenly spaced sample fit.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
void Setup<Scalar, Real, Space, Portable, gradient>::choose_scratch_layout(LargeKernel sample) {
  const std::int64_t n = m_a.num_rows;
  const std::int64_t width = sample.slab.width;
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, width) * static_cast<std::int64_t>(sizeof(int) + sizeof(Scalar));
  const int count = static_cast<int>(std::clamp<std::int64_t>(
      m_workspace_budget / row_bytes, 1, std::min<std::int64_t>(n, Tuning::sample_rows)));
  auto list = allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::sample_list", count);
  Kokkos::parallel_for("prekond::adaptive_fsai::numeric::choose_sample",
                       Kokkos::RangePolicy<Space>(m_space, 0, count), SpreadEvenly<Space>{list, n});
  auto columns =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::sample_columns", count);
  auto entries =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::sample_entries", count);
  auto cols =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::sample_cols", count * width);
  auto values = allocate<Vector<Scalar, Space>>(m_space, "prekond::adaptive_fsai::numeric::sample_values",
                                                count * width);
  auto length =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::sample_length", count);
  sample.rows = {0, count, list};
  sample.slab = {-1, width, cols, values, length};
  sample.usage = {columns, entries};
  sample.outcome = {};
  run_in_slab(sample, "prekond::adaptive_fsai::numeric::sample_rows");
  const auto quantile = [&](const Vector<int, Space>& used) { return quantile_of<Space>(m_space, used); };
  const int capacity = (quantile(columns) + 8 + 15) / 16 * 16;
  const int pool = (quantile(entries) + 32 + 31) / 32 * 32;
  const int members = std::clamp(quantile(length) - 1, 1, std::max(1, sample.layout.max_members));
  m_scratch_layout = {members, capacity, pool, batch(members)};
  m_use_scratch =
      capacity <= m_scratch_layout.most_columns() && m_scratch_layout.bytes + 64 <= Tuning::scratch_limit;
}

/// Counts the rows of [first, first + count) whose workspace was too small, and lists them where `list` has
/// room.
///
/// The number comes by a reduction, after which the host waits in a fence: a scan copies it at its end, and
/// where several devices take turns no other one could be served until the rows before it are done.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
std::int64_t Setup<Scalar, Real, Space, Portable, gradient>::outgrown(std::int64_t first, std::int64_t count,
                                                                      VectorView<const int, Space> length,
                                                                      VectorView<int, Space> list) {
  constexpr const char* label = "prekond::adaptive_fsai::numeric::outgrown";
  const Kokkos::RangePolicy<Space> rows(m_space, 0, count);
  const ListOutgrown<Space> kernel{first, length, list};
  std::int64_t total = 0;
  if (list.extent(0) > 0)
    Kokkos::parallel_scan(label, rows, kernel, total);
  else
    Kokkos::parallel_reduce(label, rows, kernel, total);
  return total;
}

/// All rows of a chunk: in scratch where that was chosen, then those that outgrew it in workspaces of which
/// what was short is four times larger each time, until none is left.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
void Setup<Scalar, Real, Space, Portable, gradient>::do_rows(std::int64_t first, std::int64_t count,
                                                             const LargeKernel& prototype,
                                                             const char* label) {
  LargeKernel large = prototype;
  large.rows = {first, count, {}};
  bool in_scratch = m_use_scratch;
  if (in_scratch) {
    const SmallKernel small{
        large.a,        large.parameters, m_scratch_layout, large.rows, large.slab, large.pattern,
        large.g_values, large.start,      large.outcome,    {},         {},         {},
        large.next};
    run_in_scratch(small, label);
  } else {
    run_in_slab(large, label);
  }
  while (const std::int64_t left = outgrown(first, count, large.slab.length, {})) {
    auto list = allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::outgrown", left);
    outgrown(first, count, large.slab.length, list);
    // A first launch in scratch says little of the larger workspace that comes next: that one is tried as it
    // is.
    const int shortages = in_scratch ? 0 : shortages_of<Space>(m_space, first, list, large.slab.length);
    const auto grown = [&](Shortage shortage, std::int64_t size, std::int64_t limit) {
      if ((shortages & (1 << static_cast<int>(shortage))) == 0) return static_cast<int>(size);
      if (size >= limit)
        throw InputError(
            "adaptive_fsai: a row reads more entries of the matrix than 31 bits can count; lower max_steps");
      return static_cast<int>(std::min(4 * size, limit));
    };
    const auto& now = large.layout;
    const int members = grown(Shortage::members, now.max_members, m_parameters.max_members);
    large.layout = {members,
                    grown(Shortage::capacity, now.capacity,
                          std::min(std::max<std::int64_t>(64, m_a.num_rows), now.most_columns())),
                    grown(Shortage::pool, now.pool, (std::int64_t(1) << 31) - 64), batch(members)};
    in_scratch = false;
    large.rows = {first, left, list};
    run_in_slab(large, label);
  }
}

/// Moves a chunk's rows out of the slab into arrays of their own size and extends the row pointers.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
auto Setup<Scalar, Real, Space, Portable, gradient>::append(const RowSlab<Scalar, Space>& slab,
                                                            std::int64_t count,
                                                            VectorView<std::size_t, Space> row_ptrs,
                                                            std::size_t& nnz) -> Piece {
  const std::size_t begin = nnz;
  std::size_t added = 0;
  Kokkos::parallel_scan("prekond::adaptive_fsai::numeric::scan_rows",
                        Kokkos::RangePolicy<Space>(m_space, 0, count),
                        ScanLengths<Space>{slab.first, slab.length, begin, row_ptrs}, added);
  nnz += added;
  Piece piece{allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::g_cols", added),
              allocate<Vector<Scalar, Space>>(m_space, "prekond::adaptive_fsai::numeric::g_values", added)};
  append_rows<Scalar, Space>(m_space, "prekond::adaptive_fsai::numeric::append_rows", slab, count, row_ptrs,
                             begin, piece.cols, piece.values);
  return piece;
}

template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
auto Setup<Scalar, Real, Space, Portable, gradient>::grow(const CsrGraphView<Space>& start) -> GMatrix {
  const std::int64_t n = m_a.num_rows;
  const std::int64_t width = m_parameters.max_members + 1;
  const std::int64_t row_bytes = width * static_cast<std::int64_t>(sizeof(int) + sizeof(Scalar));
  const std::int64_t chunk = chunk_size(row_bytes);
  LargeKernel kernel = prototype();
  kernel.start = start;
  kernel.slab.width = width;
  if (!is_host_space<Space>) choose_scratch_layout(kernel);

  auto slab_cols =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::slab_cols", chunk * width);
  auto slab_values =
      allocate<Vector<Scalar, Space>>(m_space, "prekond::adaptive_fsai::numeric::slab_values", chunk * width);
  auto slab_length =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::slab_length", chunk);
  auto row_ptrs = allocate_zero<Vector<std::size_t, Space>>(
      m_space, "prekond::adaptive_fsai::numeric::g_row_ptrs", n + 1);
  std::vector<Piece> pieces;
  std::size_t nnz = 0;
  for (std::int64_t first = 0; first < n; first += chunk) {
    const std::int64_t count = std::min(chunk, n - first);
    kernel.slab = {first, width, slab_cols, slab_values, slab_length};
    do_rows(first, count, kernel, "prekond::adaptive_fsai::numeric::grow_row");
    pieces.push_back(append(kernel.slab, count, row_ptrs, nnz));
  }
  slab_cols = {};
  slab_values = {};
  return joined(pieces, row_ptrs, nnz);
}

/// G of its pieces, which are freed one by one.
template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
auto Setup<Scalar, Real, Space, Portable, gradient>::joined(std::vector<Piece>& pieces,
                                                            Vector<std::size_t, Space> row_ptrs,
                                                            std::size_t nnz) -> GMatrix {
  const std::int64_t n = m_a.num_rows;
  if (pieces.size() == 1) return GMatrix(n, n, row_ptrs, pieces[0].cols, pieces[0].values);
  auto cols = allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::g_cols", nnz);
  auto values = allocate<Vector<Scalar, Space>>(m_space, "prekond::adaptive_fsai::numeric::g_values", nnz);
  std::size_t to = 0;
  for (auto& piece : pieces) {
    const auto range = Kokkos::make_pair(to, to + piece.cols.extent(0));
    Kokkos::deep_copy(m_space, Kokkos::subview(cols, range), piece.cols);
    Kokkos::deep_copy(m_space, Kokkos::subview(values, range), piece.values);
    to = range.second;
    piece = {};
  }
  return GMatrix(n, n, row_ptrs, cols, values);
}

template <class Scalar, class Real, class Space, bool Portable, Gradient gradient>
void Setup<Scalar, Real, Space, Portable, gradient>::solve(GMatrix& g) {
  auto length =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::lengths", m_a.num_rows);
  LargeKernel kernel = prototype();
  // A row on a kept pattern has slots for its own columns only.
  kernel.layout = {kernel.layout.max_members, std::max(64, kernel.layout.max_members), kernel.layout.pool,
                   batch(kernel.layout.max_members)};
  kernel.pattern = CsrView<Scalar, Space>(g);
  kernel.g_values = g.values;
  kernel.slab.width = 0;
  if (!is_host_space<Space>) choose_scratch_layout(kernel);
  kernel.slab = {0, 0, {}, {}, length};
  do_rows(0, m_a.num_rows, kernel, "prekond::adaptive_fsai::numeric::solve_row");
}

}  // namespace prekond::impl::adaptive_fsai
