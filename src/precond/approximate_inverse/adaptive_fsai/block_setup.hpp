// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the adaptive FSAI's setup in blocks of rows.
#include <prekond/pattern/supernodes.hpp>
#include "core/kernel_policy.hpp"

#include "precond/approximate_inverse/adaptive_fsai/block_kernel.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace prekond::impl::adaptive_fsai {

/// Blocks in chunks, each chunk's rows into a slab, the slab appended to G: what Setup does with rows. (CUDA
/// wants functions with device lambdas to be public.)
template <class Scalar, class Real, class Space, bool Portable = false>
class BlockSetup {
 public:
  using Rows = Setup<Scalar, Real, Space, Portable>;
  using GMatrix = typename Rows::GMatrix;
  using SmallKernel =
      GrowBlocks<Scalar, Real, Space, typename Rows::Sets::Small, typename Rows::SmallSlot, true, Portable>;
  using LargeKernel = GrowBlocks<Scalar, Real, Space, typename Rows::Sets::Large, unsigned, false, Portable>;

  BlockSetup(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz,
             const Parameters& parameters, std::int64_t slab_bytes, const Supernodes<Space>& supernodes)
      : m_space(space),
        m_a(a),
        m_parameters(parameters),
        m_slab_bytes(slab_bytes),
        m_mean(static_cast<int>(nnz / std::max<std::int64_t>(1, a.num_rows)) + 1),
        m_supernodes(supernodes),
        m_rows(space, a, nnz, parameters, slab_bytes) {}

  /// G, its columns left of each block found together. `start`: the pattern to begin with, united in the
  /// blocks.
  GMatrix grow(const CsrGraphView<Space>& start = {});

  BreakdownCounter outcome() const { return m_rows.outcome(); }
  void report_to(Report& report, MemoryMeter& meter) const { m_rows.report_to(report, meter); }

  void run_in_scratch(const SmallKernel& kernel, const char* label);
  void choose_scratch_layout(LargeKernel sample);
  void do_blocks(std::int64_t first, std::int64_t count, const LargeKernel& prototype);

 private:
  /// A first guess of a block's needs, in a workspace that is not in scratch.
  LargeKernel prototype(const CsrGraphView<Space>& start) const;
  int begin_of(std::int64_t block);
  typename LargeKernel::Layout enlarged(const typename LargeKernel::Layout& now, int shortages) const;

  Space m_space;
  Matrix<Scalar, Real> m_a;
  Parameters m_parameters;
  std::int64_t m_slab_bytes;
  int m_mean;
  Supernodes<Space> m_supernodes;
  Rows m_rows;
  typename SmallKernel::Layout m_scratch_layout{};
  bool m_use_scratch = false;
};

template <class Scalar, class Real, class Space, bool Portable>
auto BlockSetup<Scalar, Real, Space, Portable>::prototype(const CsrGraphView<Space>& start) const
    -> LargeKernel {
  const auto of_rows = m_rows.prototype();
  const int members = std::min(m_parameters.max_members, 256);
  const std::int64_t entries = std::min<std::int64_t>(
      static_cast<std::int64_t>(members + m_supernodes.largest) * (2ll * m_mean + 16), std::int64_t(1) << 28);
  const int columns = static_cast<int>(std::clamp<std::int64_t>(m_a.num_rows, 64, 4096));
  LargeKernel kernel{};
  kernel.a = m_a;
  kernel.parameters = m_parameters;
  kernel.layout = {members, columns, static_cast<int>(entries), m_supernodes.largest};
  kernel.begins = m_supernodes.begins;
  kernel.slab.width = m_parameters.max_members + m_supernodes.largest;
  kernel.start = start;
  kernel.outcome = of_rows.outcome;
  kernel.next = of_rows.next;
  return kernel;
}

template <class Scalar, class Real, class Space, bool Portable>
int BlockSetup<Scalar, Real, Space, Portable>::begin_of(std::int64_t block) {
  int begin = 0;
  Kokkos::deep_copy(m_space,
                    Kokkos::View<int, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&begin),
                    Kokkos::subview(m_supernodes.begins, block));
  m_space.fence("prekond::adaptive_fsai::numeric::begin_of_block");
  return begin;
}

template <class Scalar, class Real, class Space, bool Portable>
void BlockSetup<Scalar, Real, Space, Portable>::run_in_scratch(const SmallKernel& kernel, const char* label) {
  const std::size_t bytes = kernel.layout.bytes;
  const int team = static_cast<int>(
      std::min<std::size_t>(Tuning::max_rows_per_team, (Tuning::scratch_limit - 64) / bytes));
  using Bounds = Kokkos::LaunchBounds<Tuning::max_rows_per_team * Tuning::vector_length, Tuning::few_teams>;
  const int league = static_cast<int>((kernel.rows.count + team - 1) / team);
  KernelPolicy<Space, Bounds> policy(m_space, league, team, SmallKernel::width);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes * team + 16)));
  Kokkos::parallel_for(label, policy, kernel);
}

/// Sizes the scratch workspace so that nearly all blocks of an evenly spaced sample fit.
template <class Scalar, class Real, class Space, bool Portable>
void BlockSetup<Scalar, Real, Space, Portable>::choose_scratch_layout(LargeKernel sample) {
  const std::int64_t blocks = m_supernodes.count(), width = sample.slab.width;
  const std::int64_t block_bytes =
      width * m_supernodes.largest * static_cast<std::int64_t>(sizeof(int) + sizeof(Scalar));
  const int count = static_cast<int>(std::clamp<std::int64_t>(
      m_slab_bytes / block_bytes, 1, std::min<std::int64_t>(blocks, Tuning::sample_rows)));
  const auto ints = [&](const char* label, std::int64_t size) {
    return allocate<Vector<int, Space>>(m_space, label, size);
  };
  const auto list = ints("prekond::adaptive_fsai::numeric::sample_list", count);
  Kokkos::parallel_for("prekond::adaptive_fsai::numeric::choose_sample",
                       Kokkos::RangePolicy<Space>(m_space, 0, count), SpreadEvenly<Space>{list, blocks});
  const std::int64_t places = static_cast<std::int64_t>(count) * m_supernodes.largest;
  const auto columns = ints("prekond::adaptive_fsai::numeric::sample_columns", count);
  const auto entries = ints("prekond::adaptive_fsai::numeric::sample_entries", count);
  const auto members = ints("prekond::adaptive_fsai::numeric::sample_members", count);
  const auto status = ints("prekond::adaptive_fsai::numeric::sample_status", count);
  const auto cols = ints("prekond::adaptive_fsai::numeric::sample_cols", places * width);
  const auto values = allocate<Vector<Scalar, Space>>(
      m_space, "prekond::adaptive_fsai::numeric::sample_values", places * width);
  const auto length = ints("prekond::adaptive_fsai::numeric::sample_length", places);
  sample.rows = {0, count, list};
  sample.status = status;
  sample.slab = {-1, width, cols, values, length};
  sample.usage = {columns, entries, members};
  sample.outcome = {};
  m_rows.run_in_slab(sample, "prekond::adaptive_fsai::numeric::sample_blocks");
  const auto quantile = [&](const Vector<int, Space>& used) { return quantile_of<Space>(m_space, used); };
  const int capacity = (quantile(columns) + 8 + 15) / 16 * 16;
  const int pool = (quantile(entries) + 32 + 31) / 32 * 32;
  const int most = std::clamp(quantile(members), 1, std::max(1, sample.layout.max_members));
  m_scratch_layout = {most, capacity, pool, m_supernodes.largest};
  m_use_scratch =
      capacity < 65000 && pool < (1 << 16) && m_scratch_layout.bytes + 64 <= Tuning::scratch_limit;
}

/// What was short is four times larger.
template <class Scalar, class Real, class Space, bool Portable>
auto BlockSetup<Scalar, Real, Space, Portable>::enlarged(const typename LargeKernel::Layout& now,
                                                         int shortages) const ->
    typename LargeKernel::Layout {
  const auto grown = [&](Shortage shortage, std::int64_t size, std::int64_t limit) {
    if ((shortages & (1 << static_cast<int>(shortage))) == 0) return static_cast<int>(size);
    if (size >= limit)
      throw InputError(
          "adaptive_fsai: a block reads more entries of the matrix than 31 bits can count; lower max_steps "
          "or block_size");
    return static_cast<int>(std::min(4 * size, limit));
  };
  const std::int64_t columns =
      std::min(std::max<std::int64_t>(64, m_a.num_rows), LargeKernel::Layout::capacity_limit(now.block));
  return {grown(Shortage::members, now.max_members, m_parameters.max_members),
          grown(Shortage::capacity, now.capacity, columns),
          grown(Shortage::pool, now.pool, (std::int64_t(1) << 31) - 64), now.block};
}

/// All blocks of a chunk: in scratch where that was chosen, then those that outgrew it in larger workspaces,
/// until none is left.
template <class Scalar, class Real, class Space, bool Portable>
void BlockSetup<Scalar, Real, Space, Portable>::do_blocks(std::int64_t first, std::int64_t count,
                                                          const LargeKernel& prototype) {
  constexpr const char* label = "prekond::adaptive_fsai::numeric::grow_block";
  LargeKernel large = prototype;
  large.rows = {first, count, {}};
  bool in_scratch = m_use_scratch;
  if (in_scratch) {
    const SmallKernel small{
        large.a,      large.parameters, m_scratch_layout, large.rows,    large.begins, large.first_block,
        large.status, large.slab,       large.start,      large.outcome, {},           {},
        {},           large.next};
    run_in_scratch(small, label);
  } else {
    m_rows.run_in_slab(large, label);
  }
  while (const std::int64_t left = m_rows.outgrown(first, count, large.status, {})) {
    auto list = allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::outgrown", left);
    m_rows.outgrown(first, count, large.status, list);
    // A first launch in scratch says little of the larger workspace that comes next: that one is tried as it
    // is.
    const int shortages = in_scratch ? 0 : shortages_of<Space>(m_space, first, list, large.status);
    large.layout = enlarged(large.layout, shortages);
    in_scratch = false;
    large.rows = {first, left, list};
    m_rows.run_in_slab(large, label);
  }
}

template <class Scalar, class Real, class Space, bool Portable>
auto BlockSetup<Scalar, Real, Space, Portable>::grow(const CsrGraphView<Space>& start) -> GMatrix {
  const std::int64_t n = m_a.num_rows, blocks = m_supernodes.count();
  LargeKernel kernel = prototype(start);
  const std::int64_t width = kernel.slab.width;
  const std::int64_t block_bytes =
      width * m_supernodes.largest * static_cast<std::int64_t>(sizeof(int) + sizeof(Scalar));
  const std::int64_t chunk = std::clamp<std::int64_t>(m_slab_bytes / block_bytes, 1, blocks);
  if (!is_host_space<Space>) choose_scratch_layout(kernel);

  const std::int64_t places = std::min(n, chunk * m_supernodes.largest);
  auto slab_cols =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::slab_cols", places * width);
  auto slab_values = allocate<Vector<Scalar, Space>>(m_space, "prekond::adaptive_fsai::numeric::slab_values",
                                                     places * width);
  auto slab_length =
      allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::slab_length", places);
  auto status = allocate<Vector<int, Space>>(m_space, "prekond::adaptive_fsai::numeric::status", chunk);
  const auto held = m_rows.meter().hold(slab_cols, slab_values, slab_length, status);
  auto row_ptrs = allocate_zero<Vector<std::size_t, Space>>(
      m_space, "prekond::adaptive_fsai::numeric::g_row_ptrs", n + 1);
  std::vector<typename Rows::Piece> pieces;
  std::size_t nnz = 0;
  std::int64_t row = 0;
  for (std::int64_t first = 0; first < blocks; first += chunk) {
    const std::int64_t count = std::min(chunk, blocks - first);
    const std::int64_t end = first + count == blocks ? n : begin_of(first + count);
    kernel.first_block = first;
    kernel.status = status;
    kernel.slab = {row, width, slab_cols, slab_values, slab_length};
    do_blocks(first, count, kernel);
    pieces.push_back(m_rows.append(kernel.slab, end - row, row_ptrs, nnz));
    row = end;
  }
  slab_cols = {};
  slab_values = {};
  return m_rows.joined(pieces, row_ptrs, nnz);
}

}  // namespace prekond::impl::adaptive_fsai
