// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "core/lane_group.hpp"
#include "sparse_product/column_set.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace prekond::testing {
namespace {

constexpr int num_teams = 13;
constexpr int capacity = 97;
constexpr int absent = 60;       ///< columns a team looks for that are not there
constexpr int surplus = 45;      ///< columns inserted beyond the capacity
constexpr int num_members = 31;  ///< every third slot becomes a member

/// The place that a team found, by column.
struct Found {
  int slot, position;
};

/// The life of a set in one row's growth, by one vector lane group: clear, insert, find, make members, undo,
/// overflow, clear.
template <class Space, class Bucket, int Width>
struct Life {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Width>;
  using Set = HashedColumnSet<Bucket>;
  using Ints = Kokkos::View<int**, Kokkos::LayoutRight, typename Space::memory_space>;
  using Places = Kokkos::View<Found**, Kokkos::LayoutRight, typename Space::memory_space>;

  Kokkos::View<Bucket**, Kokkos::LayoutRight, typename Space::memory_space> buckets;
  Ints cols, member_cols, counts;
  Ints present, missing, extra;  ///< the columns to insert, those to miss, those that do not fit
  Ints slots, extra_slots;       ///< what insert returned
  Places inserted, not_there, as_members, undone, full;  ///< what find returned, after each step
  Ints overflow;  ///< overflowed() after filling, after overfilling, after clearing

  template <class F>
  KOKKOS_FUNCTION static void for_each(const LaneGroup& lane_group, int n, const F& f) {
    lane_group.region([&](int lane) {
      for (int k = lane; k < n; k += LaneGroup::width) f(k);
    });
  }
  KOKKOS_FUNCTION static Found found(const Set& set, int col) {
    const ColumnPlace place = set.find(col);
    return {place.slot, place.position};
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int t = team.league_rank();
    const LaneGroup lane_group(team);
    const Set set({&cols(t, 0), &member_cols(t, 0), &counts(t, 0), capacity}, &buckets(t, 0),
                  buckets.extent(1));
    // The contents of the memory before must not matter.
    for_each(lane_group, int(buckets.extent(1)), [&](int k) { buckets(t, k) = Bucket(k % capacity); });
    set.clear(lane_group);
    fill(lane_group, set, t);
    change_members(lane_group, set, t);
    overfill(lane_group, set, t);
  }

  KOKKOS_FUNCTION void fill(const LaneGroup& lane_group, const Set& set, int t) const {
    for_each(lane_group, absent, [&](int k) { full(t, k) = found(set, missing(t, k)); });
    for_each(lane_group, capacity, [&](int k) { slots(t, k) = set.insert(present(t, k)); });
    for_each(lane_group, capacity, [&](int k) { inserted(t, k) = found(set, present(t, k)); });
    for_each(lane_group, absent, [&](int k) { not_there(t, k) = found(set, missing(t, k)); });
    lane_group.once([&] { overflow(t, 0) = set.overflowed() ? 1 : 0; });
  }

  KOKKOS_FUNCTION void change_members(const LaneGroup& lane_group, const Set& set, int t) const {
    lane_group.once([&] {
      for (int p = 0; p < num_members; ++p) set.make_member(3 * p, p);
    });
    for_each(lane_group, capacity, [&](int k) { as_members(t, k) = found(set, present(t, k)); });
    lane_group.once([&] { set.undo_member(3 * (num_members - 1), num_members - 1); });
    for_each(lane_group, capacity, [&](int k) { undone(t, k) = found(set, present(t, k)); });
  }

  KOKKOS_FUNCTION void overfill(const LaneGroup& lane_group, const Set& set, int t) const {
    for_each(lane_group, surplus, [&](int k) { extra_slots(t, k) = set.insert(extra(t, k)); });
    lane_group.once([&] { overflow(t, 1) = set.overflowed() ? 1 : 0; });
    for_each(lane_group, capacity, [&](int k) {
      const Found place = found(set, present(t, k));
      if (place.slot != undone(t, k).slot || place.position != undone(t, k).position) overflow(t, 3) = 1;
    });
    set.clear(lane_group);
    for_each(lane_group, capacity, [&](int k) {
      if (set.find(present(t, k)).slot >= 0) overflow(t, 3) = 2;
    });
    lane_group.once([&] { overflow(t, 2) = set.overflowed() || set.size() != 0 ? 1 : 0; });
    set.release(lane_group);
  }
};

/// Three kinds of team: columns that fall into three buckets, the last one among them; consecutive ones; any.
std::vector<int> columns_for(int team, std::size_t table_size, int n) {
  unsigned shift = 32;
  for (std::size_t size = table_size; size > 1; size /= 2) --shift;
  const auto bucket = [&](int col) { return std::size_t((unsigned(col) * 0x9E3779B1u) >> shift); };
  std::vector<int> columns;
  std::mt19937 random{unsigned(team)};
  std::set<int> seen;
  for (int col = team; int(columns.size()) < n; ++col) {
    int candidate = col;
    if (team % 3 == 0 && bucket(col) != table_size - 1 && bucket(col) != 0 && bucket(col) != table_size / 2)
      continue;
    if (team % 3 == 2) candidate = int(random() >> 1);
    if (seen.insert(candidate).second) columns.push_back(candidate);
  }
  std::shuffle(columns.begin(), columns.end(), random);
  return columns;
}

template <class Space, class Bucket, int Width>
void check_life() {
  using Kernel = Life<Space, Bucket, Width>;
  const Space space;
  const std::size_t table_size = Kernel::Set::num_buckets(capacity);
  const std::size_t t = num_teams;
  Kernel kernel;
  kernel.buckets = decltype(kernel.buckets)("buckets", t, table_size);
  const auto ints = [&](std::size_t n) { return typename Kernel::Ints("ints", t, n); };
  const auto places = [&](std::size_t n) { return typename Kernel::Places("places", t, n); };
  kernel.cols = ints(capacity), kernel.member_cols = ints(capacity), kernel.counts = ints(1);
  kernel.present = ints(capacity), kernel.missing = ints(absent), kernel.extra = ints(surplus);
  kernel.slots = ints(capacity), kernel.extra_slots = ints(surplus), kernel.overflow = ints(4);
  kernel.inserted = places(capacity), kernel.as_members = places(capacity), kernel.undone = places(capacity);
  kernel.not_there = places(absent), kernel.full = places(absent);
  const auto present = Kokkos::create_mirror_view(kernel.present);
  const auto missing = Kokkos::create_mirror_view(kernel.missing);
  const auto extra = Kokkos::create_mirror_view(kernel.extra);
  for (int team = 0; team < num_teams; ++team) {
    const auto columns = columns_for(team, table_size, capacity + absent + surplus);
    for (int k = 0; k < capacity; ++k) present(team, k) = columns[k];
    for (int k = 0; k < absent; ++k) missing(team, k) = columns[capacity + k];
    for (int k = 0; k < surplus; ++k) extra(team, k) = columns[capacity + absent + k];
  }
  Kokkos::deep_copy(kernel.present, present);
  Kokkos::deep_copy(kernel.missing, missing);
  Kokkos::deep_copy(kernel.extra, extra);
  Kokkos::parallel_for("prekond::testing::column_set",
                       typename Kernel::Policy(space, num_teams, 1, is_host_space<Space> ? 1 : Width),
                       kernel);
  space.fence();

  const auto host = [](const auto& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  const auto slots = host(kernel.slots), extra_slots = host(kernel.extra_slots),
             overflow = host(kernel.overflow);
  const auto inserted = host(kernel.inserted), not_there = host(kernel.not_there), full = host(kernel.full);
  const auto as_members = host(kernel.as_members), undone = host(kernel.undone);
  for (int team = 0; team < num_teams; ++team) {
    SCOPED_TRACE("team " + std::to_string(team));
    std::set<int> distinct;
    for (int k = 0; k < capacity; ++k) {
      const int slot = slots(team, k);
      distinct.insert(slot);
      ASSERT_EQ(inserted(team, k).slot, slot);
      ASSERT_EQ(inserted(team, k).position, -1);
      const int position = slot % 3 == 0 && slot / 3 < num_members ? slot / 3 : -1;
      ASSERT_EQ(as_members(team, k).slot, slot);
      ASSERT_EQ(as_members(team, k).position, position);
      ASSERT_EQ(undone(team, k).slot, slot);
      ASSERT_EQ(undone(team, k).position, position == num_members - 1 ? -1 : position);
    }
    ASSERT_EQ(int(distinct.size()), capacity);
    ASSERT_EQ(*distinct.begin(), 0);
    ASSERT_EQ(*distinct.rbegin(), capacity - 1);
    for (int k = 0; k < absent; ++k) {
      ASSERT_EQ(full(team, k).slot, -1) << "in an empty set";
      ASSERT_EQ(not_there(team, k).slot, -1);
      ASSERT_EQ(not_there(team, k).position, -1);
    }
    for (int k = 0; k < surplus; ++k) ASSERT_EQ(extra_slots(team, k), -1);
    EXPECT_EQ(overflow(team, 0), 0) << "a full set has not overflowed";
    EXPECT_EQ(overflow(team, 1), 1);
    EXPECT_EQ(overflow(team, 2), 0) << "clear";
    EXPECT_EQ(overflow(team, 3), 0) << "1: an overflow changed what was there; 2: clear left something";
  }
}

/// The lanes of a vector share a marker array: half of the columns go by insert, half by slots that the
/// caller took.
template <class Space>
struct SharedMarkers {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, is_host_space<Space> ? 1 : 32>;
  static constexpr int num_cols = 3 * capacity;
  using Ints = Kokkos::View<int**, Kokkos::LayoutRight, typename Space::memory_space>;

  Ints marker, cols, member_cols, counts, wrong;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int t = team.league_rank();
    const LaneGroup lane_group(team);
    const SharedMarkerColumnSet set({&cols(t, 0), &member_cols(t, 0), &counts(t, 0), capacity},
                                    &marker(t, 0));
    const int half = capacity / 2;
    set.clear(lane_group);
    lane_group.region([&](int lane) {
      for (int k = lane; k < half; k += LaneGroup::width) set.insert(2 * k + t);
    });
    lane_group.region([&](int lane) {
      for (int k = half + lane; k < capacity; k += LaneGroup::width)
        set.file(2 * k + t, k, set.find(2 * k + t), 0);
    });
    lane_group.once([&] {
      set.make_member(half, 0);
      set.make_member(0, 1);
      set.undo_member(0, 1);
    });
    lane_group.region([&](int lane) {
      for (int k = lane; k < capacity; k += LaneGroup::width) {
        const ColumnPlace place = set.find(2 * k + t);
        if (place.slot < 0 || place.slot >= capacity || (k >= half && place.slot != k)) wrong(t, k) = 1;
        if (place.position != (k == half ? 0 : -1)) wrong(t, k) = 2;
        if (k != half && place.slot >= 0 && cols(t, place.slot) != 2 * k + t) wrong(t, k) = 3;
        if (set.find(2 * k + t + 1).slot >= 0) wrong(t, k) = 4;
      }
    });
    set.release(lane_group, capacity);
  }
};

template <class Space>
class ColumnSetTest : public ::testing::Test {};
TYPED_TEST_SUITE(ColumnSetTest, TestSpaces, SpaceNames);

TYPED_TEST(ColumnSetTest, HashedInATeamKernel) {
  check_life<TypeParam, unsigned short, 32>();
  check_life<TypeParam, unsigned, 32>();
  if constexpr (!is_host_space<TypeParam>) {
    check_life<TypeParam, unsigned short, 8>();
    check_life<TypeParam, unsigned, 8>();
  }
}

TYPED_TEST(ColumnSetTest, MarkersSharedByTheLanesEndAsZeros) {
  using Kernel = SharedMarkers<TypeParam>;
  using Ints = typename Kernel::Ints;
  const Kernel kernel{Ints("marker", num_teams, Kernel::num_cols), Ints("cols", num_teams, capacity),
                      Ints("members", num_teams, capacity), Ints("counts", num_teams, 1),
                      Ints("wrong", num_teams, capacity)};
  Kokkos::parallel_for("prekond::testing::shared_markers",
                       typename Kernel::Policy(TypeParam(), num_teams, 1, Kernel::LaneGroup::width), kernel);
  const auto marker = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.marker);
  const auto wrong = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.wrong);
  for (int t = 0; t < num_teams; ++t) {
    for (int k = 0; k < capacity; ++k) ASSERT_EQ(wrong(t, k), 0) << "team " << t << " column " << k;
    for (int col = 0; col < Kernel::num_cols; ++col) ASSERT_EQ(marker(t, col), 0) << "team " << t;
  }
}

TYPED_TEST(ColumnSetTest, TheTableIsAPowerOfTwoAndAtMostTwoThirdsFull) {
  for (int n : {0, 1, 42, 43, 85, 86, 1000, 30000, 65534, 1000000}) {
    const std::size_t size = HashedColumnSet<unsigned>::num_buckets(n);
    EXPECT_EQ(size & (size - 1), 0u) << n;
    EXPECT_GE(2 * size, 3 * std::size_t(n)) << n;
    EXPECT_LE(size, std::max<std::size_t>(64, 3 * std::size_t(n))) << n;
  }
}

/// A set, and all that it needs, on the host.
struct HostLists {
  explicit HostLists(int slots) : cols(slots), member_cols(slots), capacity(slots) {}
  impl::ColumnList list() { return {cols.data(), member_cols.data(), &count, capacity}; }
  std::vector<int> cols, member_cols;
  int count = -1;
  int capacity;
};

const HostLaneGroup<int> host_level(0);

/// Random steps, each compared with a map of the columns.
template <class Set>
void check_against_a_map(const Set& set, int num_cols, unsigned seed) {
  std::mt19937 random(seed);
  std::map<int, Found> expected;
  std::vector<int> order, members;
  set.clear(host_level);
  for (int step = 0; step < 4000; ++step) {
    const int col = int(random() % unsigned(num_cols));
    const auto known = expected.find(col);
    const ColumnPlace place = set.find(col);
    ASSERT_EQ(place.slot, known == expected.end() ? -1 : known->second.slot);
    ASSERT_EQ(place.position, known == expected.end() ? -1 : known->second.position);
    if (known == expected.end()) {
      if (set.size() >= set.capacity) continue;
      ASSERT_EQ(set.insert(col), int(order.size()));
      expected[col] = {int(order.size()), -1};
      order.push_back(col);
      ASSERT_EQ(set.cols[order.size() - 1], col);
    } else if (known->second.position < 0 && random() % 4 == 0) {
      known->second.position = int(members.size());
      members.push_back(col);
      set.make_member(place.slot, known->second.position);
    } else if (!members.empty() && members.back() == col) {
      set.undo_member(place.slot, place.position);
      members.pop_back();
      known->second.position = -1;
    }
    ASSERT_EQ(set.size(), int(order.size()));
    ASSERT_FALSE(set.overflowed());
  }
  ASSERT_EQ(set.size(), set.capacity) << "the test filled the set";
  ASSERT_GT(members.size(), 5u);
  if constexpr (std::is_same_v<Set, SharedMarkerColumnSet>) {
    set.release(host_level, set.size());
  } else {
    set.release(host_level);
  }
}

TEST(HostColumnSetTest, HashedEqualsAMap) {
  for (int slots : {30, 31, 150}) {
    HostLists lists(slots);
    std::vector<unsigned short> narrow(HashedColumnSet<unsigned short>::num_buckets(slots));
    std::vector<unsigned> wide(HashedColumnSet<unsigned>::num_buckets(slots));
    for (unsigned seed = 0; seed < 5; ++seed) {
      check_against_a_map(HashedColumnSet<unsigned short>(lists.list(), narrow.data(), narrow.size()), 201,
                          seed);
      check_against_a_map(HashedColumnSet<unsigned>(lists.list(), wide.data(), wide.size()), 201, seed);
    }
  }
}

/// Two lanes that file their columns at the same time: the second goes ahead just before the first one's
/// exchange.
template <class Bucket>
void check_file() {
  constexpr int slots = 60;
  HostLists lists(slots);
  std::vector<Bucket> buckets(HashedColumnSet<Bucket>::num_buckets(slots));
  const HashedColumnSet<Bucket> set(lists.list(), buckets.data(), buckets.size());
  const std::vector<int> cols = columns_for(0, buckets.size(), slots + 1);
  set.clear(host_level);
  const auto exchange = [](unsigned* word, unsigned expected, unsigned desired) {
    const unsigned before = *word;
    if (before == expected) *word = desired;
    return before;
  };
  for (int slot = 0; slot < slots; slot += 2) {
    bool ahead = false;
    const ColumnPlace first = set.find(cols[slot]);
    const ColumnPlace second = set.find(cols[slot + 1]);
    set.file(cols[slot], slot, first, [&](unsigned* word, unsigned expected, unsigned desired) {
      if (!std::exchange(ahead, true)) set.file(cols[slot + 1], slot + 1, second, exchange);
      return exchange(word, expected, desired);
    });
  }
  for (int slot = 0; slot < slots; ++slot) EXPECT_EQ(set.find(cols[slot]).slot, slot);
  EXPECT_EQ(set.find(cols[slots]).slot, -1);
}

TEST(HostColumnSetTest, FilingWithAnExchangeOfOnesOwn) {
  check_file<unsigned short>();
  check_file<unsigned>();
}

TEST(HostColumnSetTest, MarkersEqualAMapAndEndAsZeros) {
  const std::vector<int> zeros(201, 0);
  std::vector<int> marker = zeros;
  for (int slots : {30, 31, 150}) {
    HostLists lists(slots);
    for (unsigned seed = 0; seed < 5; ++seed) {
      check_against_a_map(MarkerColumnSet(lists.list(), marker.data()), 201, seed);
      ASSERT_EQ(marker, zeros) << "slots " << slots << " seed " << seed;
      check_against_a_map(SharedMarkerColumnSet(lists.list(), marker.data()), 201, seed);
      ASSERT_EQ(marker, zeros) << "slots " << slots << " seed " << seed;
    }
  }
}

TEST(HostColumnSetTest, MarkersEndAsZerosAfterAnOverflow) {
  std::vector<int> marker(50, 0);
  HostLists lists(4);
  const MarkerColumnSet set(lists.list(), marker.data());
  set.clear(host_level);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(set.insert(10 * k), k);
  set.make_member(2, 0);
  EXPECT_FALSE(set.overflowed());
  EXPECT_EQ(set.insert(7), -1);
  EXPECT_EQ(set.insert(8), -1);
  EXPECT_TRUE(set.overflowed());
  EXPECT_EQ(set.find(7).slot, -1);
  EXPECT_EQ(set.find(20).position, 0);
  EXPECT_EQ(set.find(30).slot, 3);
  EXPECT_EQ(std::count(marker.begin(), marker.end(), 0), 46);
  set.release(host_level);
  EXPECT_EQ(marker, std::vector<int>(50, 0));
}

TEST(HostColumnSetTest, LookingUpWithoutBranchesIsTheSame) {
  constexpr int slots = 80, nobody = 77, num_cols = 120;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> with(num_cols, 0), without(num_cols, 0);
    HostLists lists(slots), others(slots);
    const MarkerColumnSet set(lists.list(), with.data()), other(others.list(), without.data());
    set.clear(host_level);
    other.clear(host_level);
    int members = 0;
    for (int k = 0; k < 200; ++k) {
      const int col = int(random() % unsigned(num_cols));
      const ColumnPlace place = set.find(col);
      if (place.slot < 0 && *set.count == slots - 1) continue;
      const int slot = place.slot < 0 ? set.insert(col) : place.slot;
      int used = *other.count;
      const ColumnPlace found = other.find_or_file(col, nobody, used);
      EXPECT_EQ(used, *set.count);
      *other.count = used;
      EXPECT_EQ(found.slot, slot);
      EXPECT_EQ(found.position, place.position < 0 ? nobody : place.position);
      if (k % 5 == 0 && place.position < 0) {
        set.make_member(slot, members);
        other.make_member(slot, members++);
      }
    }
    // The place after the last has to hold no member's key.
    other.cols[slots - 1] = 0;
    for (int col = 0; col < num_cols; ++col) {
      const ColumnPlace place = set.find(col), found = other.find_or(col, slots - 1, nobody);
      EXPECT_EQ(found.slot, place.slot < 0 ? slots - 1 : place.slot) << col;
      EXPECT_EQ(found.position, place.position < 0 ? nobody : place.position) << col;
    }
    EXPECT_EQ(with, without);
  }
}

TEST(HostColumnSetTest, SharedMarkersEndAsZerosAfterAnOverflow) {
  std::vector<int> marker(50, 0);
  HostLists lists(4);
  const SharedMarkerColumnSet set(lists.list(), marker.data());
  set.clear(host_level);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(set.insert(10 * k), k);
  EXPECT_EQ(set.insert(7), -1);
  EXPECT_TRUE(set.overflowed());
  EXPECT_EQ(set.find(7).slot, -1);
  set.release(host_level, 4);
  EXPECT_EQ(marker, std::vector<int>(50, 0));
}

}  // namespace
}  // namespace prekond::testing
