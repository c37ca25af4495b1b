// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of a setup over several devices: ranges of rows, copies, reports as one, threads that take
// turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/devices.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "precond/distributed/devices/copies.hpp"
#include "precond/distributed/devices/merge_reports.hpp"
#include "precond/distributed/devices/row_ranges.hpp"
#include "precond/distributed/devices/side_by_side.hpp"
#include "precond/distributed/devices/ticket_lock.hpp"
#include "precond/distributed/devices/turns.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/one_thread.hpp"
#include "testing/several_devices_cases.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

namespace prekond::testing {
namespace {

using impl::devices::Manner;
using impl::devices::RowRange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Space>
class DevicesTest : public ::testing::Test {};
TYPED_TEST_SUITE(DevicesTest, TestSpaces, SpaceNames);

TYPED_TEST(DevicesTest, OtherExceptionsNameTheDevice) {
  const auto thrown_by = [](const std::function<void()>& work) {
    std::vector<std::exception_ptr> thrown(3);
    try {
      work();
    } catch (...) {
      thrown[1] = std::current_exception();
    }
    return thrown;
  };
  const auto throw_of = [&](const std::function<void()>& work) {
    impl::devices::throw_first(thrown_by(work), {0, 5, 9});
  };
  throw_of([] {});
  EXPECT_EQ(message_of<OptionError>([&] { throw_of([] { throw OptionError("text"); }); }), "device 1: text");
  EXPECT_THAT(message_of<std::runtime_error>([&] { throw_of([] { throw std::bad_alloc(); }); }),
              HasSubstr("device 1: it failed to allocate memory: "));
  EXPECT_EQ(message_of<std::runtime_error>([&] { throw_of([] { throw std::logic_error("text"); }); }),
            "device 1: text");
  const auto of_listener = std::make_exception_ptr(std::logic_error("stop"));
  EXPECT_EQ(message_of<std::logic_error>(
                [&] { throw_of([&] { throw impl::devices::ThrownByListener{of_listener}; }); }),
            "stop");
  EXPECT_EQ(message_of<InputError>([&] { throw_of([] { throw InputError("text", 2); }); }),
            "device 1: text (rows are counted from A's row 6 on: of all rows it is row 8)");
  EXPECT_EQ(message_of<InputError>(
                [&] { impl::devices::throw_first({std::make_exception_ptr(InputError("text", 2))}, {0}); }),
            "text");
}

TYPED_TEST(DevicesTest, NotesOfAllDevicesAppearOnce) {
  impl::devices::DevicePart first{0, 4, 0, 5, 7, 0, 0, 1, {}}, second{4, 4, 3, 5, 8, 0, 0, 1, {}},
      none{8, 0, 8, 0, 0, 0, 0, 0, {}};
  first.report.notes = {"both", "the first"};
  second.report.notes = {"both"};
  first.report.numeric_flops = 3;
  second.report.numeric_flops = 4;
  first.report.setup_bytes = 30;
  second.report.setup_bytes = 20;
  second.rows_bytes = 15;
  second.report.pattern_kept = true;
  second.report.breakdowns = {2, 1, 0.5, "something"};
  Report whole;
  whole.setup_bytes = 10;
  impl::devices::merge_reports({first, second, none}, whole);
  EXPECT_THAT(whole.notes, ElementsAre("both", "device 0: the first"));
  EXPECT_EQ(whole.numeric_flops, 7);
  EXPECT_EQ(whole.setup_bytes, 35);
  EXPECT_FALSE(whole.pattern_kept);
  EXPECT_EQ(whole.breakdowns.first_row, 4);
  EXPECT_EQ(whole.breakdowns.count, 2);
  EXPECT_EQ(whole.breakdowns.action, "device 1: something");
  EXPECT_EQ(whole.devices[1].nnz, 8);
  second.held_bytes = 41;
  second.report.bytes = 5;
  Report held;
  impl::devices::merge_reports({first, second, none}, held);
  EXPECT_EQ(held.setup_bytes, 36);
}

TYPED_TEST(DevicesTest, RangesHaveEqualWork) {
  const TypeParam space;
  const auto range = [&](const HostMatrix<double>& a, int count, int block_rows) {
    const auto device = to_device<TypeParam>(a);
    return impl::devices::ranges_of_equal_work<TypeParam>(space, device, count, block_rows);
  };
  EXPECT_THAT(range(diagonal_matrix(std::vector<double>(12, 1.0)), 3, 1),
              ElementsAre(RowRange{0, 4}, RowRange{4, 8}, RowRange{8, 12}));
  EXPECT_THAT(range(diagonal_matrix(std::vector<double>(11, 1.0)), 3, 3),
              ElementsAre(RowRange{0, 3}, RowRange{3, 6}, RowRange{6, 11}));
  EXPECT_THAT(range(diagonal_matrix({1, 1}), 4, 1),
              ElementsAre(RowRange{0, 0}, RowRange{0, 1}, RowRange{1, 1}, RowRange{1, 2}));
  // A dense row has the work of 9 entries; those of other ranks' columns do not count.
  std::vector<std::vector<double>> dense(9, std::vector<double>(9, 0));
  for (std::size_t i = 0; i < 9; ++i) dense[i][i] = dense[0][i] = 1;
  EXPECT_THAT(range(sparse(dense), 2, 1), ElementsAre(RowRange{0, 2}, RowRange{2, 9}));
  HostMatrix<double> wide = sparse(dense);
  wide.num_rows = 4;
  wide.row_ptrs.resize(5);
  wide.col_idxs.resize(wide.row_ptrs.back());
  wide.values.resize(wide.row_ptrs.back());
  EXPECT_THAT(range(wide, 3, 1), ElementsAre(RowRange{0, 1}, RowRange{1, 2}, RowRange{2, 4}));
  EXPECT_THAT(range(HostMatrix<double>(), 2, 1), ElementsAre(RowRange{0, 0}, RowRange{0, 0}));
}

TYPED_TEST(DevicesTest, RangesThatAreReadFollowTheEntries) {
  const TypeParam space;
  // Row i has entries in i and i + 1.
  std::vector<std::vector<double>> dense(12, std::vector<double>(12, 0));
  for (std::size_t i = 0; i < 12; ++i) dense[i][i] = dense[i][std::min<std::size_t>(i + 1, 11)] = 1;
  const auto a = to_device<TypeParam>(sparse(dense));
  const auto read = [&](RowRange own, const RowReach& reach) {
    return impl::devices::ranges_read<TypeParam>(space, a, {own}, reach).front();
  };
  EXPECT_THAT(impl::devices::ranges_read<TypeParam>(space, a, {{0, 3}, {3, 3}, {3, 9}, {9, 12}},
                                                    {.levels = 1, .block_rows = 2}),
              ElementsAre(RowRange{0, 6}, RowRange{3, 3}, RowRange{2, 12}, RowRange{8, 12}));
  EXPECT_EQ(read({4, 6}, {.levels = 0}), (RowRange{4, 6}));
  EXPECT_EQ(read({4, 6}, {.levels = 2}), (RowRange{4, 8}));
  EXPECT_EQ(read({4, 6}, {.levels = 2, .both_ways = true}), (RowRange{2, 8}));
  EXPECT_EQ(read({4, 6}, {.levels = 1, .block_rows = 5}), (RowRange{0, 12}));
  EXPECT_EQ(read({4, 6}, {.levels = 0, .block_rows = 5}), (RowRange{0, 10}));
  EXPECT_EQ(read({4, 6}, {.levels = 1000000}), (RowRange{4, 12}));
  EXPECT_EQ(read({4, 4}, {.levels = 3}), (RowRange{4, 4}));
}

template <class View>
HostMatrix<double> host_of(const View& a) {
  return {a.num_rows, a.num_cols, to_vector(a.row_ptrs), to_vector(a.col_idxs), to_vector(a.values)};
}

template <class Space>
auto rows_on_device(const Space& space, const CsrView<double, Space>& a, RowRange range, bool on_first) {
  auto rows = impl::devices::pattern_on_device<double, Space>(space, a, range, on_first);
  impl::devices::copy_values<double, Space>(space, a, rows);
  return rows;
}

/// A copy for another device is one, also of all rows.
TYPED_TEST(DevicesTest, RowsAreCopied) {
  const TypeParam space;
  const HostMatrix<double> whole = with_columns_of_other_ranks(problem("poisson2d:5"));
  const HostMatrix<double> square = problem("poisson2d:5");
  const auto wide = to_device<TypeParam>(whole);
  const auto a = to_device<TypeParam>(square);
  for (const bool on_first : {true, false}) {
    const auto all = rows_on_device<TypeParam>(space, a, {0, 25}, on_first);
    EXPECT_TRUE(host_of(all.view) == square);
    EXPECT_EQ(all.view.values.data() == a.values.data(), on_first);
    EXPECT_EQ(all.owned.bytes() == 0, on_first);
    const auto own = rows_on_device<TypeParam>(space, wide, {0, whole.num_rows}, on_first);
    EXPECT_EQ(own.view.num_cols, whole.num_rows);
    const auto some = rows_on_device<TypeParam>(space, a, {7, 19}, on_first);
    const HostMatrix<double> host = host_of(some.view);
    ASSERT_EQ(host.num_rows, 12);
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 12; ++j) EXPECT_EQ(host(i, j), square(7 + i, 7 + j));
    for (const int col : host.col_idxs) EXPECT_TRUE(col >= 0 && col < 12) << col;
    const auto none = rows_on_device<TypeParam>(space, a, {7, 7}, on_first);
    EXPECT_EQ(none.view.num_rows, 0);
  }
}

/// Values that changed are copied into the pattern that is there.
TYPED_TEST(DevicesTest, ValuesAreCopiedAgain) {
  const TypeParam space;
  const HostMatrix<double> first = problem("poisson2d:5");
  HostMatrix<double> changed = first;
  for (std::size_t k = 0; k < changed.values.size(); ++k) changed.values[k] = 1 + double(k);
  const auto a = to_device<TypeParam>(first), b = to_device<TypeParam>(changed);
  for (const bool on_first : {true, false})
    for (const RowRange range : {RowRange{0, 25}, RowRange{7, 19}}) {
      auto rows = rows_on_device<TypeParam>(space, a, range, on_first);
      const auto check = [&](const CsrView<double, TypeParam>& whole, const HostMatrix<double>& expected) {
        impl::devices::copy_values<double, TypeParam>(space, whole, rows);
        const HostMatrix<double> host = host_of(rows.view);
        for (std::int64_t i = range.begin; i < range.end; ++i)
          for (std::int64_t j = range.begin; j < range.end; ++j)
            EXPECT_EQ(host(i - range.begin, j - range.begin), expected(i, j)) << i << " " << j;
      };
      const auto pattern = rows.view.col_idxs;
      check(b, changed);
      EXPECT_EQ(rows.view.col_idxs.data() == pattern.data(), !rows.is_a);
      check(a, first);
    }
}

// ------------------------------------------------------------------------------------------ side by side

/// All are done, what they throw is theirs, and the first is done by the calling thread.
TYPED_TEST(DevicesTest, EveryMannerDoesAll) {
  const std::vector<std::function<void()>> fences(5, [] { TypeParam().fence(); });
  for (const Manner manner : {Manner::in_sequence, Manner::threads, Manner::turns}) {
    std::vector<std::thread::id> threads(5);
    const auto thrown = impl::devices::side_by_side(
        manner, 5,
        [&](int k) {
          threads[static_cast<std::size_t>(k)] = std::this_thread::get_id();
          if (k % 2 == 1) throw std::runtime_error(std::to_string(k));
        },
        fences);
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(thrown[k] != nullptr, k % 2 == 1);
      EXPECT_EQ(threads[k] == std::this_thread::get_id(), k == 0 || manner == Manner::in_sequence);
      if (!thrown[k]) continue;
      const std::string text = message_of<std::runtime_error>([&] { std::rethrow_exception(thrown[k]); });
      EXPECT_EQ(text, std::to_string(k));
    }
  }
  EXPECT_TRUE(impl::devices::side_by_side(Manner::threads, 0, [](int) {}, {}).empty());
}

/// A thread that gives it back and asks again comes after those that wait.
TEST(TicketLock, IsGivenInTheOrderOfTheRequests) {
  impl::devices::TicketLock lock;
  std::vector<int> order;
  std::vector<std::thread> threads;
  lock.lock();
  for (int k = 1; k <= 3; ++k) {
    threads.emplace_back([&, k] {
      lock.lock();
      order.push_back(k);
      lock.unlock();
    });
    while (lock.users() != static_cast<std::uint32_t>(k) + 1) std::this_thread::yield();
  }
  lock.unlock();
  lock.lock();
  order.push_back(0);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(lock.users(), 0u);
}

/// By turns one thread at a time works; the others go on where it waits: in a fence, a copy, an allocation or
/// its end.
TYPED_TEST(DevicesTest, TurnsArePassedOnInFences) {
  const TypeParam space = of_one_thread<TypeParam>();
  const Vector<int, TypeParam> from("from", 10), to("to", 10);
  for (const std::string wait : {"fence", "copy", "free", "allocate"}) {
    std::atomic<int> inside = 0, most = 0, finished = 0, waits = 0;
    std::atomic<bool> others_began = false, in_time = false;
    std::vector<std::vector<Vector<int, TypeParam>>> kept(3);  // until all have ended
    const std::vector<std::function<void()>> fences(3, [&] {
      ++waits;
      space.fence("prekond::testing::wait");
    });
    impl::devices::side_by_side(
        Manner::turns, 3,
        [&](int k) {
          if (k > 0) others_began = true;
          for (int round = 0; round < 20 || (k == 0 && !others_began && round < 20000); ++round) {
            const int now = ++inside;
            for (int pause = 0; pause < 50; ++pause) {
              if (inside > most) most = inside.load();
              std::this_thread::yield();
            }
            EXPECT_GE(now, 1);
            --inside;
            if (wait == "fence") {
              space.fence("prekond::testing::fence");
            } else if (wait == "copy") {
              Kokkos::deep_copy(space, to, from);
            } else if (wait == "allocate") {
              kept[static_cast<std::size_t>(k)].push_back(
                  allocate<Vector<int, TypeParam>>(space, "prekond::testing::kept", 10));
            } else {
              const Vector<int, TypeParam> gone(Kokkos::view_alloc(space, "gone"), 10);
            }
          }
          if (k == 0) in_time = others_began.load();
          ++finished;
        },
        fences);
    EXPECT_EQ(most, 1) << wait;
    EXPECT_EQ(finished, 3) << wait;
    EXPECT_TRUE(in_time) << wait;
    EXPECT_EQ(waits > 0, wait != "fence") << wait;
  }
}

/// Memory allocated in a turn lasts until it is released, and memory in use elsewhere longer.
TYPED_TEST(DevicesTest, AllocationsAreHeldUntilTheyAreReleased) {
  const TypeParam space = of_one_thread<TypeParam>();
  const auto vector = [&](int size) {
    return allocate<Vector<int, TypeParam>>(space, "prekond::testing::held", size);
  };
  const std::vector<std::function<void()>> fences(2, [&] { space.fence(); });
  std::vector<impl::devices::HeldViews> held(2);
  std::vector<Vector<int, TypeParam>> lasting(2);
  const auto allocate_in = [&](Manner manner) {
    impl::devices::side_by_side(manner, 2,
                                [&](int k) {
                                  vector(100 * (k + 1));
                                  lasting[static_cast<std::size_t>(k)] = vector(10);
                                },
                                fences, {&held[0], &held[1]});
  };
  allocate_in(Manner::threads);
  EXPECT_EQ(held[0].bytes() + held[1].bytes(), 0u) << "who takes no turns frees at once";
  allocate_in(Manner::turns);
  EXPECT_EQ(held[0].bytes(), 110 * sizeof(int));
  EXPECT_EQ(held[1].bytes(), 210 * sizeof(int));
  const int* const first = lasting[0].data();
  for (auto& one : held) one.release();
  EXPECT_EQ(held[0].bytes(), 10 * sizeof(int));
  EXPECT_EQ(lasting[0].data(), first);
  lasting[0] = vector(20);
  EXPECT_EQ(held[0].bytes(), 10 * sizeof(int)) << "not freed before the next release";
  held[0].release();
  EXPECT_EQ(held[0].bytes(), 0u);
}

/// No more temporaries are held than the limit says, and memory in use does not count.
TYPED_TEST(DevicesTest, HeldTemporariesHaveALimit) {
  const TypeParam space;
  impl::devices::HeldViews held;
  held.set_limit(100 * sizeof(int));
  const auto add = [&](int size) {
    const auto vector = allocate<Vector<int, TypeParam>>(space, "prekond::testing::held", size);
    held.add(std::make_unique<impl::HeldViewOf<Vector<int, TypeParam>>>(vector));
    return vector;
  };
  auto in_use = add(1000);
  add(60);
  add(40);
  EXPECT_EQ(held.bytes(), 1100 * sizeof(int));
  const auto last = add(1);  // 100 of temporaries are no more than the limit
  EXPECT_EQ(held.bytes(), 1101 * sizeof(int));
  add(1);
  const auto next = add(1);
  EXPECT_EQ(held.bytes(), 1002 * sizeof(int));
  in_use = {};  // it counts from now on
  add(1);
  EXPECT_EQ(held.bytes(), 3 * sizeof(int)) << "last, next, and the one that is being added";
}

/// The peak of a phase is that of its own allocations.
TYPED_TEST(DevicesTest, HeldViewsHaveAPeakInEachPhase) {
  const TypeParam space;
  impl::devices::HeldViews held;
  const auto add = [&](int size) {
    const auto vector = allocate<Vector<int, TypeParam>>(space, "prekond::testing::held", size);
    held.add(std::make_unique<impl::HeldViewOf<Vector<int, TypeParam>>>(vector));
    return vector;
  };
  const auto lasting = add(50);
  add(70);
  EXPECT_EQ(held.peak(), 120 * sizeof(int));
  held.release();
  EXPECT_EQ(held.peak(), 120 * sizeof(int));
  held.begin_phase();
  EXPECT_EQ(held.peak(), 0u);
  add(30);
  held.release();
  add(20);
  EXPECT_EQ(held.peak(), 30 * sizeof(int));
  EXPECT_EQ(held.bytes(), 70 * sizeof(int));
}

/// Tools that were there go on being called, and are there afterwards.
TYPED_TEST(DevicesTest, TurnsLeaveToolsAlone) {
  namespace tools = Kokkos::Tools::Experimental;
  static std::atomic<int> begun, ended;
  begun = ended = 0;
  const auto before = tools::get_callbacks();
  tools::set_begin_fence_callback([](const char*, std::uint32_t, std::uint64_t*) { ++begun; });
  tools::set_end_fence_callback([](std::uint64_t) { ++ended; });
  const auto mine = tools::get_callbacks();
  const TypeParam space;
  const std::vector<std::function<void()>> fences(2, [&] { space.fence(); });
  impl::devices::side_by_side(
      Manner::turns, 2, [&](int) { space.fence(); }, fences);
  EXPECT_GE(begun, 2);
  EXPECT_EQ(begun, ended);
  const auto after = tools::get_callbacks();
  EXPECT_EQ(after.begin_fence, mine.begin_fence);
  EXPECT_EQ(after.end_fence, mine.end_fence);
  EXPECT_EQ(after.deallocate_data, before.deallocate_data);
  EXPECT_EQ(after.begin_deep_copy, before.begin_deep_copy);
  tools::set_begin_fence_callback(before.begin_fence);
  tools::set_end_fence_callback(before.end_fence);
}

/// Setups by turns: the same bits.
TYPED_TEST(DevicesTest, SetupsByTurns) {
  const TypeParam space = of_one_thread<TypeParam>();
  const auto a = to_device<TypeParam>(problem("elasticity3d:5"));
  for (const char* name : {"adaptive_fsai", "fsai", "nonsymmetric_fsai", "spai", "isai"}) {
    const auto one = create_preconditioner<double, TypeParam>(name);
    one->numeric(space, a);
    const std::vector<TypeParam> spaces =
        is_host_space<TypeParam> ? std::vector<TypeParam>(3, space) : instances<TypeParam>(3);
    std::vector<std::function<void()>> fences;
    for (const TypeParam& own : spaces) fences.push_back([&own] { own.fence(); });
    std::vector<Found<double>> all(3);
    const auto thrown = impl::devices::side_by_side(
        Manner::turns, 3,
        [&](int k) {
          const auto m = create_preconditioner<double, TypeParam>(name);
          m->numeric(spaces[static_cast<std::size_t>(k)], a);
          all[static_cast<std::size_t>(k)] = found<double, TypeParam>(*m);
        },
        fences);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(thrown[k], nullptr);
      expect_same<TypeParam>(all[k], found<double, TypeParam>(*one));
    }
  }
}

TEST(Devices, NumbersOfDevicesThatThereAreNot) {
  const int all = Devices::available();
  EXPECT_THAT(message_of<OptionError>([] { const Devices none(0); }),
              HasSubstr("0 devices: there has to be one"));
  const std::string text = message_of<OptionError>([&] { const Devices more(all + 1); });
  EXPECT_THAT(text, HasSubstr(std::to_string(all + 1) + " devices were asked for"));
  if (is_host_space<Devices::Space>) {
    EXPECT_THAT(text,
                AllOf(HasSubstr("this build computes on the host (" + std::string(Devices::Space::name())),
                      HasSubstr("ask for 1, or take a build for GPUs")));
  } else {
    EXPECT_THAT(text, HasSubstr("sees " + std::to_string(all) + ": ask for fewer"));
  }
}

TEST(Devices, MannerOfSpaces) {
  if constexpr (!is_host_space<Kokkos::DefaultExecutionSpace>) {
    EXPECT_EQ(impl::devices::manner_of<Kokkos::DefaultExecutionSpace>(), Manner::turns);
  }
#ifdef KOKKOS_ENABLE_OPENMP
  EXPECT_EQ(impl::devices::manner_of<Kokkos::OpenMP>(), Manner::threads);
#endif
#ifdef KOKKOS_ENABLE_SERIAL
#ifdef KOKKOS_ENABLE_ATOMICS_BYPASS
  EXPECT_EQ(impl::devices::manner_of<Kokkos::Serial>(), Manner::in_sequence);
#else
  EXPECT_EQ(impl::devices::manner_of<Kokkos::Serial>(), Manner::threads);
#endif
#endif
}

}  // namespace
}  // namespace prekond::testing
