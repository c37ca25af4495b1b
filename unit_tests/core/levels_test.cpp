// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/concurrency.hpp"
#include "core/lane_group.hpp"

#include <cstring>
#include <limits>

namespace prekond::testing {
namespace {

// A lane group's caller is a thread of a team; the threads of all teams work at the same time, each on what
// is its own.
constexpr int num_teams = 37;

template <class Space, int Width>
Kokkos::TeamPolicy<Space> policy_for(const Space& space) {
  const int threads = is_host_space<Space> ? (concurrency(space) > 1 ? 2 : 1) : 128 / Width;
  return Kokkos::TeamPolicy<Space>(space, num_teams, threads, is_host_space<Space> ? 1 : Width);
}

template <class Member>
KOKKOS_FUNCTION int caller_of(const Member& team) {
  return team.league_rank() * team.team_size() + team.team_rank();
}

/// Different for neighbouring lanes and callers, of both signs where T has them, with bits in T's upper half.
template <class T>
KOKKOS_FUNCTION T test_value(int caller, int lane) {
  const unsigned mixed = (unsigned(caller) * 2654435761u) ^ (unsigned(lane) * 40503u + 12345u) * 2246822519u;
  if constexpr (std::is_same_v<T, unsigned long long>) {
    // Every fourth caller has like upper halves in groups of lanes, so that the lower ones decide.
    const unsigned high = caller % 4 == 1 ? unsigned(lane % 3) << 30 : mixed >> 5;
    return (static_cast<unsigned long long>(high) << 32) + mixed;
  } else if constexpr (std::is_same_v<T, unsigned>) {
    return mixed >> 5;
  } else {
    // Sums of 32 of these are exact in float; every third caller has negative ones only.
    const int whole = int(mixed >> 16) % 4096 - (caller % 3 == 0 ? 5000 : 2000);
    if constexpr (std::is_integral_v<T>) return T(whole);
    return T(whole) / T(8);
  }
}

/// The results that one lane of one caller was told.
template <class T>
struct Told {
  T sum, max, min;
};

template <class T, class Space>
using ToldView = Kokkos::View<Told<T>**, Kokkos::LayoutLeft, typename Space::memory_space>;

template <class Space, class LaneGroup>
struct Reductions {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  ToldView<int, Space> ints;
  ToldView<unsigned, Space> unsigneds;
  ToldView<unsigned long long, Space> longs;
  ToldView<float, Space> floats;
  ToldView<double, Space> doubles;

  template <class T>
  KOKKOS_FUNCTION void record(const LaneGroup& lane_group, int caller, const ToldView<T, Space>& told) const {
    const auto value = [&](int lane) -> T { return test_value<T>(caller, lane); };
    const T sum = lane_group.template sum<T>(value);
    const T max = lane_group.template max<T>(value);
    const T min = lane_group.template min<T>(value);
    lane_group.region([&](int lane) { told(caller, lane) = {sum, max, min}; });
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const int caller = caller_of(team);
    record(lane_group, caller, ints);
    record(lane_group, caller, unsigneds);
    record(lane_group, caller, longs);
    record(lane_group, caller, floats);
    record(lane_group, caller, doubles);
  }
};

template <class T, int Width, class View>
void expect_told(const View& told) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), told);
  for (int caller = 0; caller < int(host.extent(0)); ++caller) {
    Told<T> expected{0, test_value<T>(caller, 0), test_value<T>(caller, 0)};
    for (int lane = 0; lane < Width; ++lane) {
      const T value = test_value<T>(caller, lane);
      expected.sum += value;
      expected.max = std::max(expected.max, value);
      expected.min = std::min(expected.min, value);
    }
    for (int lane = 0; lane < Width; ++lane) {
      ASSERT_EQ(host(caller, lane).sum, expected.sum) << "caller " << caller << " lane " << lane;
      ASSERT_EQ(host(caller, lane).max, expected.max) << "caller " << caller << " lane " << lane;
      ASSERT_EQ(host(caller, lane).min, expected.min) << "caller " << caller << " lane " << lane;
    }
  }
}

template <class Space, class LaneGroup>
void check_reductions() {
  const Space space;
  constexpr int width = LaneGroup::width;
  const auto policy = policy_for<Space, width>(space);
  const int callers = num_teams * policy.team_size();
  const Reductions<Space, LaneGroup> kernel{
      ToldView<int, Space>("ints", callers, width), ToldView<unsigned, Space>("unsigneds", callers, width),
      ToldView<unsigned long long, Space>("longs", callers, width),
      ToldView<float, Space>("floats", callers, width), ToldView<double, Space>("doubles", callers, width)};
  Kokkos::parallel_for("prekond::testing::reductions", policy, kernel);
  space.fence();
  expect_told<int, width>(kernel.ints);
  expect_told<unsigned, width>(kernel.unsigneds);
  expect_told<unsigned long long, width>(kernel.longs);
  expect_told<float, width>(kernel.floats);
  expect_told<double, width>(kernel.doubles);
}

/// N sums at a time; callers are the vectors of a lane group that has several.
template <class Space, class LaneGroup, int N>
struct ManySums {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Sums = Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space>;
  Sums told;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const auto& vector = lane_group.vector();
    const int caller = caller_of(team);
    double sums[N];
    vector.template sums<double, N>(sums, [&](int lane, double* mine) {
      for (int k = 0; k < N; ++k) mine[k] = test_value<double>(caller + k, lane);
    });
    vector.region([&](int lane) {
      for (int k = lane; k < N; k += vector.size())
        for (int l = 0; l < N; ++l)
          if (l == k) told(caller, k) = sums[l];
    });
    lane_group.join();
    if (lane_group.num_groups() > 1 && lane_group.group() != team.team_rank()) told(caller, 0) = 1e9;
  }
};

template <class Space, class LaneGroup, int N, int Width>
void check_many_sums() {
  const Space space;
  const auto policy = policy_for<Space, Width>(space);
  const int callers = num_teams * policy.team_size();
  using Kernel = ManySums<Space, LaneGroup, N>;
  const Kernel kernel{typename Kernel::Sums("told", callers, N)};
  Kokkos::parallel_for("prekond::testing::many_sums", policy, kernel);
  space.fence();
  constexpr int lanes = is_host_space<Space> && LaneGroup::width == 0 ? 1 : Width;
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.told);
  for (int caller = 0; caller < callers; ++caller)
    for (int k = 0; k < N; ++k) {
      double sum = 0;
      for (int lane = 0; lane < lanes; ++lane) sum += test_value<double>(caller + k, lane);
      ASSERT_EQ(host(caller, k), sum) << "caller " << caller << " sum " << k;
    }
}

/// Sums that every order rounds in another way.
template <class Space, class LaneGroup>
struct RoundedSums {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Sums = Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space>;
  Sums told;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const int caller = caller_of(team);
    const double sum =
        lane_group.template sum<double>([&](int lane) { return 1.0 / (1 + lane + 3 * caller); });
    lane_group.region([&](int lane) { told(caller, lane) = sum; });
  }
};

template <class Space, class LaneGroup>
void check_rounded_sums() {
  const Space space;
  constexpr int width = LaneGroup::width;
  const auto policy = policy_for<Space, width>(space);
  const std::size_t callers = num_teams * policy.team_size();
  using Kernel = RoundedSums<Space, LaneGroup>;
  const Kernel first{typename Kernel::Sums("first", callers, width)},
      second{typename Kernel::Sums("second", callers, width)};
  Kokkos::parallel_for("prekond::testing::rounded_sums", policy, first);
  Kokkos::parallel_for("prekond::testing::rounded_sums", policy, second);
  space.fence();
  const auto a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), first.told);
  const auto b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), second.told);
  for (int caller = 0; caller < int(callers); ++caller) {
    double expected = 0;
    for (int lane = 0; lane < width; ++lane) expected += 1.0 / (1 + lane + 3 * caller);
    ASSERT_NEAR(a(caller, 0), expected, 1e-14);
    for (int lane = 0; lane < width; ++lane) {
      ASSERT_EQ(std::memcmp(&a(caller, lane), &a(caller, 0), sizeof(double)), 0) << "lanes differ";
      ASSERT_EQ(std::memcmp(&a(caller, lane), &b(caller, lane), sizeof(double)), 0) << "runs differ";
    }
  }
}

constexpr int num_rounds = 41;

/// Steps that need each other's results: a missing barrier, a lane that runs twice or not at all changes the
/// outcome.
template <class Space, class LaneGroup>
struct Exchange {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Scratch =
      Kokkos::View<unsigned*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Table = Kokkos::View<unsigned**, Kokkos::LayoutLeft, typename Space::memory_space>;
  static constexpr int width = LaneGroup::width;
  Table visits;  ///< calls of the region's body, by caller and lane; in column `width`: with any other lane
  Table once_calls;     ///< calls of the body of `once`, in column 0
  Table from_global;    ///< what the rounds through global memory end with
  Table from_scratch;   ///< and those through scratch
  Table global_buffer;  ///< 2 width + 1 a caller

  static int scratch_bytes() { return int(Scratch::shmem_size(2 * width + 1)); }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const int caller = caller_of(team);
    lane_group.region(
        [&](int lane) { Kokkos::atomic_inc(&visits(caller, lane >= 0 && lane < width ? lane : width)); });
    lane_group.once([&] { Kokkos::atomic_inc(&once_calls(caller, 0)); });
    const Scratch scratch(team.thread_scratch(0), 2 * width + 1);
    rounds(lane_group, caller, global_buffer, from_global);
    rounds_in_scratch(lane_group, caller, scratch, from_scratch);
  }

  /// A lane's new value comes from its neighbour's and from what one lane made of all of them.
  template <class Place>
  KOKKOS_FUNCTION static void all_rounds(const LaneGroup& lane_group, int caller, const Place& place,
                                         const Table& result) {
    lane_group.region([&](int lane) { place(lane) = unsigned(caller * 100 + lane); });
    for (int round = 0; round < num_rounds; ++round) {
      const int now = (round % 2) * width, next = width - now;
      lane_group.once([&] {
        unsigned mix = 0;
        for (int lane = 0; lane < width; ++lane) mix = mix * 31u + place(now + lane);
        place(2 * width) = mix;
      });
      lane_group.region([&](int lane) {
        place(next + lane) = 5u * place(now + (lane + 1) % width) + place(2 * width) + unsigned(lane);
      });
    }
    lane_group.region([&](int lane) { result(caller, lane) = place((num_rounds % 2) * width + lane); });
  }
  KOKKOS_FUNCTION static void rounds(const LaneGroup& lane_group, int caller, const Table& buffer,
                                     const Table& result) {
    all_rounds(
        lane_group, caller, [&](int k) -> unsigned& { return buffer(caller, k); }, result);
  }
  KOKKOS_FUNCTION static void rounds_in_scratch(const LaneGroup& lane_group, int caller,
                                                const Scratch& scratch, const Table& result) {
    all_rounds(
        lane_group, caller, [&](int k) -> unsigned& { return scratch(k); }, result);
  }
};

std::vector<unsigned> sequential_rounds(int caller, int width) {
  std::vector<unsigned> now(width), next(width);
  for (int lane = 0; lane < width; ++lane) now[lane] = unsigned(caller * 100 + lane);
  for (int round = 0; round < num_rounds; ++round) {
    unsigned mix = 0;
    for (const unsigned value : now) mix = mix * 31u + value;
    for (int lane = 0; lane < width; ++lane) next[lane] = 5u * now[(lane + 1) % width] + mix + unsigned(lane);
    std::swap(now, next);
  }
  return now;
}

template <class Space, class LaneGroup>
void check_steps() {
  using Kernel = Exchange<Space, LaneGroup>;
  const Space space;
  constexpr int width = LaneGroup::width;
  auto policy = policy_for<Space, width>(space);
  policy.set_scratch_size(0, Kokkos::PerThread(Kernel::scratch_bytes()));
  const std::size_t callers = num_teams * policy.team_size();
  const auto table = [&](const std::string& label, int columns) {
    return typename Kernel::Table(label, callers, columns);
  };
  const Kernel kernel{table("visits", width + 1), table("once_calls", 1), table("from_global", width),
                      table("from_scratch", width), table("global_buffer", 2 * width + 1)};
  Kokkos::parallel_for("prekond::testing::exchange", policy, kernel);
  space.fence();
  const auto host = [](const auto& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  const auto visits = host(kernel.visits), once_calls = host(kernel.once_calls);
  const auto from_global = host(kernel.from_global), from_scratch = host(kernel.from_scratch);
  for (int caller = 0; caller < int(callers); ++caller) {
    ASSERT_EQ(once_calls(caller, 0), 1u) << "caller " << caller;
    ASSERT_EQ(visits(caller, width), 0u) << "caller " << caller << ": a lane outside of the lane_group";
    const auto expected = sequential_rounds(caller, width);
    for (int lane = 0; lane < width; ++lane) {
      ASSERT_EQ(visits(caller, lane), 1u) << "caller " << caller << " lane " << lane;
      ASSERT_EQ(from_global(caller, lane), expected[lane]) << "caller " << caller << " lane " << lane;
      ASSERT_EQ(from_scratch(caller, lane), expected[lane]) << "caller " << caller << " lane " << lane;
    }
  }
}

template <class Space, class LaneGroup>
void check_level() {
  SCOPED_TRACE("width " + std::to_string(LaneGroup::width));
  check_steps<Space, LaneGroup>();
  check_reductions<Space, LaneGroup>();
  check_rounded_sums<Space, LaneGroup>();
  check_many_sums<Space, LaneGroup, 1, LaneGroup::width>();
  check_many_sums<Space, LaneGroup, 2, LaneGroup::width>();
  check_many_sums<Space, LaneGroup, 8, LaneGroup::width>();
  check_many_sums<Space, LaneGroup, 16, LaneGroup::width>();
}

template <class Space>
class LaneGroupTest : public ::testing::Test {
 public:
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  template <int Width>
  using Native = NativeLaneGroup<Space, Member, Width>;
  template <int Width>
  using Portable = PortableLaneGroup<Member, Width>;
};
TYPED_TEST_SUITE(LaneGroupTest, TestSpaces, SpaceNames);

TYPED_TEST(LaneGroupTest, NativeLevel) {
  check_level<TypeParam, typename TestFixture::template Native<32>>();
  if constexpr (!is_host_space<TypeParam>) {
    check_level<TypeParam, typename TestFixture::template Native<16>>();
    check_level<TypeParam, typename TestFixture::template Native<8>>();
    check_level<TypeParam, typename TestFixture::template Native<4>>();
    check_level<TypeParam, typename TestFixture::template Native<2>>();
    check_level<TypeParam, typename TestFixture::template Native<1>>();
  } else {
    EXPECT_EQ(TestFixture::template Native<32>::width, 1);
  }
}

// On the host the portable lane group runs its lanes one after the other, in every width.
TYPED_TEST(LaneGroupTest, PortableLevel) {
  check_level<TypeParam, typename TestFixture::template Portable<1>>();
  check_level<TypeParam, typename TestFixture::template Portable<4>>();
  check_level<TypeParam, typename TestFixture::template Portable<8>>();
  check_level<TypeParam, typename TestFixture::template Portable<16>>();
  check_level<TypeParam, typename TestFixture::template Portable<32>>();
}

TYPED_TEST(LaneGroupTest, VectorsOfATeam) {
  constexpr int width = is_host_space<TypeParam> ? 1 : 32;
  using LaneGroup = TeamLaneGroup<typename TestFixture::Member, width>;
  check_many_sums<TypeParam, LaneGroup, 4, width>();
  check_many_sums<TypeParam, LaneGroup, 16, width>();
}

}  // namespace
}  // namespace prekond::testing
