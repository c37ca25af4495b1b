// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/team_sum.hpp>
#include <prekond/core/views.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace prekond {

/// Working memory of the reductions over up to n elements (or rows), made once, so that an iteration
/// allocates nothing: four sums for each block, and a counter; on a device, where a product's teams are
/// smaller blocks, one sum for each of those at least.
///
/// Elements are summed in blocks whose size depends only on n, and the blocks' sums in the order of the
/// blocks: the result has the same bits for any number of threads.
template <class Scalar, class Space>
class ReduceWorkspace {
 public:
  static constexpr int max_sums = 4;

  ReduceWorkspace() = default;
  ReduceWorkspace(const Space& space, std::int64_t n)
      : m_partials(allocate<Vector<Scalar, Space>>(space, "prekond::reduce::partials",
                                                   std::max(max_sums * most_blocks(n), most_teams(n)))),
        m_arrived(allocate_zero<Vector<unsigned, Space>>(space, "prekond::reduce::arrived", 1)) {}

  /// Elements of a block: 512, or what keeps the number of blocks at 8192 for very long vectors. On a device
  /// 128, or what keeps it at 512, in multiples of 256: all of them run at once, four teams of 256 threads or
  /// so on a multiprocessor, and end together. More blocks, in turn, would end in turn too, with nobody
  /// reading meanwhile.
  static std::int64_t block_size(std::int64_t n) {
    const std::int64_t share = (n + block_limit - 1) / block_limit;
    if (share <= smallest_block) return smallest_block;
    return is_host_space<Space> ? share : (share + 255) / 256 * 256;
  }
  static std::int64_t num_blocks(std::int64_t n) {
    return std::max<std::int64_t>(1, (n + block_size(n) - 1) / block_size(n));
  }
  /// The largest num_blocks of all lengths up to n: where blocks grow with n, their number falls.
  static std::int64_t most_blocks(std::int64_t n) {
    return std::clamp<std::int64_t>((n + smallest_block - 1) / smallest_block, 1, block_limit);
  }

  /// Teams of a product with n rows, at most: on a device one has smallest_team rows or more, except the
  /// last.
  static std::int64_t most_teams(std::int64_t n) {
    return is_host_space<Space> ? 0 : std::max<std::int64_t>(1, (n + smallest_team - 1) / smallest_team);
  }
  static constexpr std::int64_t smallest_team = 64;

  VectorView<Scalar, Space> partials() const { return m_partials; }
  VectorView<unsigned, Space> arrived() const { return m_arrived; }
  bool fits(std::int64_t blocks) const {
    return static_cast<std::int64_t>(m_partials.extent(0)) >= max_sums * blocks;
  }
  /// Is there a sum for each team of a product with n rows?
  bool fits_teams(std::int64_t n) const {
    return static_cast<std::int64_t>(m_partials.extent(0)) >= most_teams(n);
  }

 private:
  static constexpr std::int64_t smallest_block = is_host_space<Space> ? 512 : 128;
  static constexpr std::int64_t block_limit = is_host_space<Space> ? 8192 : 512;

  Vector<Scalar, Space> m_partials;
  Vector<unsigned, Space> m_arrived;
};

/// K sums of each of `count` blocks, filed one block after the other, added by a team: known to the thread
/// that Kokkos::single(PerTeam) chooses. A host's thread adds them in their order; the threads of a device
/// have several loads in flight, and the order depends only on the count. `scratch` as team_sum wants it,
/// which no thread uses any more.
template <int K, class Scalar, class Team, class Load>
KOKKOS_FUNCTION Sums<Scalar, K> add_filed_sums(const Team& team, int threads, int count, const Load& load,
                                               Scalar* scratch) {
  constexpr int at_once = is_host_space<typename Team::execution_space> ? 1 : 8 / K;
  Sums<Scalar, K> sums;
  for (int first = team.team_rank(); first < count; first += at_once * threads) {
    Sums<Scalar, K> batch[at_once];
    for (int p = 0; p < at_once; ++p)
      if (first + p * threads < count)
        for (int k = 0; k < K; ++k) batch[p].value[k] = load(K * (first + p * threads) + k);
    for (int p = 0; p < at_once; ++p) sums += batch[p];
  }
  return impl::team_sum<K>(team, threads, sums, scratch);
}

/// Ends a block's part of a reduction: files the block's sums, which the thread of Kokkos::single(PerTeam)
/// knows, and the team that comes last adds all of them into `result`. Called by all threads of a team.
template <int K, class Scalar, class Space>
struct FinishReduction {
  VectorView<Scalar, Space> partials;
  VectorView<unsigned, Space> arrived;
  VectorView<Scalar, Space> result;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, const Sums<Scalar, K>& block_sums,
                                  Scalar* scratch = nullptr) const {
    const int blocks = team.league_size();
    bool last = false;
    Kokkos::single(
        Kokkos::PerTeam(team),
        [&](bool& is_last) {
          for (int k = 0; k < K; ++k) partials(K * team.league_rank() + k) = block_sums.value[k];
          Kokkos::memory_fence();
          is_last = Kokkos::atomic_fetch_add(&arrived(0), 1u) == unsigned(blocks - 1);
          Kokkos::memory_fence();
        },
        last);
    if (!last) return;
    const auto load = [&](int place) { return Kokkos::volatile_load(&partials(place)); };
    const auto total = add_filed_sums<K>(team, team.team_size(), blocks, load, scratch);
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      for (int k = 0; k < K; ++k) result(k) = total.value[k];
      arrived(0) = 0;
    });
  }
};

/// Ends a team's part of a sum that add_team_sums adds. Called by all threads of a team.
template <class Scalar, class Space>
struct FileTeamSum {
  VectorView<Scalar, Space> partials;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, const Sums<Scalar, 1>& team_sum) const {
    Kokkos::single(Kokkos::PerTeam(team), [&] { partials(team.league_rank()) = team_sum.value[0]; });
  }
};

/// result(0) = partials(0) + .. + partials(count - 1), by one team.
template <class Scalar, class Space>
struct AddTeamSums {
  static constexpr int threads = is_host_space<Space> ? 1 : 1024;
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<threads, 1>>;
  using Member = typename Policy::member_type;
  int count;
  VectorView<const Scalar, Space> partials;
  VectorView<Scalar, Space> result;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto total = add_filed_sums<1>(
        team, threads, count, [&](int place) { return partials(place); },
        impl::team_sum_memory<1, Scalar, Space>(team));
    Kokkos::single(Kokkos::PerTeam(team), [&] { result(0) = total.value[0]; });
  }
};

/// The sum of what `count` teams have filed, in an order that depends only on their number. One kernel.
template <class Scalar, class Space>
void add_team_sums(const Space& space, const char* label, int count,
                   const ReduceWorkspace<Scalar, Space>& workspace, VectorView<Scalar, Space> result) {
  using Add = AddTeamSums<Scalar, Space>;
  auto policy = typename Add::Policy(space, 1, Add::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(impl::team_sum_bytes<1, Scalar, Space>())));
  Kokkos::parallel_for(label, policy, Add{count, workspace.partials(), result});
}

/// The sums of a block's elements, and of all blocks by the last of them.
template <int K, class Scalar, class Space, class Body>
struct ReduceBlock {
  static constexpr int threads = is_host_space<Space> ? 1 : 256;
  static constexpr int at_once = 4;  ///< loads of a thread that are in flight together
  static constexpr int resident_teams = is_host_space<Space> ? 1 : sizeof(Scalar) <= 8 ? 4 : 2;
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<threads, resident_teams>>;
  using Member = typename Policy::member_type;
  std::int64_t n, size;
  Body body;
  FinishReduction<K, Scalar, Space> finish;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = team.league_rank() * size;
    const std::int64_t end = begin + size < n ? begin + size : n;
    Sums<Scalar, K> sums;
    std::int64_t i = begin + team.team_rank();
    if constexpr (!is_host_space<Space>)
      for (; i + (at_once - 1) * threads < end; i += at_once * threads)
        for (int p = 0; p < at_once; ++p) body(i + p * threads, sums.value);
    for (; i < end; i += threads) body(i, sums.value);
    Scalar* scratch = impl::team_sum_memory<K, Scalar, Space>(team);
    finish(team, impl::team_sum<K>(team, threads, sums, scratch), scratch);
  }
};

/// For all i < n calls `body(i, sums)`, which may also update vectors, and leaves the K sums in `result`.
/// One kernel. Same bits for any number of threads.
template <int K, class Scalar, class Space, class Body>
void block_reduce(const Space& space, const char* label, std::int64_t n,
                  const ReduceWorkspace<Scalar, Space>& workspace, VectorView<Scalar, Space> result,
                  Body body) {
  static_assert(K <= ReduceWorkspace<Scalar, Space>::max_sums);
  using Block = ReduceBlock<K, Scalar, Space, Body>;
  const std::int64_t size = ReduceWorkspace<Scalar, Space>::block_size(n);
  const std::int64_t blocks = ReduceWorkspace<Scalar, Space>::num_blocks(n);
  if (!workspace.fits(blocks))
    throw std::logic_error("prekond: a reduction's workspace was made for fewer elements");
  const FinishReduction<K, Scalar, Space> finish{workspace.partials(), workspace.arrived(), result};
  auto policy = typename Block::Policy(space, static_cast<int>(blocks), Block::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(impl::team_sum_bytes<K, Scalar, Space>())));
  Kokkos::parallel_for(label, policy, Block{n, size, body, finish});
}

}  // namespace prekond
