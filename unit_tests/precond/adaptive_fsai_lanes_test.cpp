// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/adaptive_fsai/kernel.hpp"
#include "testing/host_matrix.hpp"
#include "testing/lane_threads.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

/// Rows of the adaptive FSAI by the lanes of a warp, each a thread of the host's: the code for GPUs where
/// there is none.
namespace prekond::testing {
namespace {

using namespace impl::adaptive_fsai;
using Lanes = LaneThreads<32>;

/// A matrix as the kernels read it.
template <class Real>
struct Problem {
  explicit Problem(const HostMatrix<double>& matrix)
      : host(matrix), values(matrix.values.begin(), matrix.values.end()) {
    for (std::int64_t i = 0; i < matrix.num_rows; ++i) {
      diagonal.push_back(static_cast<Real>(matrix(i, i)));
      root.push_back(std::sqrt(diagonal.back()));
      const bool repeats = i > 0 && columns(i) == columns(i - 1);
      representatives.push_back(repeats ? representatives.back() : static_cast<int>(i));
    }
  }
  Matrix<double, Real> view() const {
    return {host.row_ptrs.data(), host.col_idxs.data(), values.data(),          host.values.data(),
            diagonal.data(),      root.data(),          representatives.data(), host.num_rows};
  }
  std::vector<int> columns(std::int64_t i) const {
    const auto begin = host.col_idxs.begin();
    return {begin + static_cast<std::ptrdiff_t>(host.row_ptrs[i]),
            begin + static_cast<std::ptrdiff_t>(host.row_ptrs[i + 1])};
  }
  HostMatrix<double> host;
  std::vector<Real> values, diagonal, root;
  std::vector<int> representatives;
};

struct GrownRow {
  RowStatus status = RowStatus::done;
  Shortage shortage{};
  std::vector<int> pattern;
  std::vector<double> g;
  double psi = 0;
};

/// The data that a row needs in addition to its workspace, by the kind of set.
template <class Set, class RowLayout>
struct Surroundings {
  explicit Surroundings(const RowLayout& row_layout, std::int64_t n)
      : layout(row_layout),
        memory(row_layout.bytes / 16 + 1),
        pool(row_layout.pool_bytes / 16 + 1),
        markers(static_cast<std::size_t>(n), 0) {}

  template <class RowType>
  Set make_set() {
    char* base = reinterpret_cast<char*>(memory.data());
    if constexpr (std::is_same_v<Set, NoColumnSet>) {
      return {};
    } else if constexpr (Set::uses_markers) {
      return Set(RowType::columns(layout, base), markers.data());
    } else {
      return Set(RowType::columns(layout, base),
                 reinterpret_cast<typename Set::bucket_type*>(base + layout.buckets), layout.num_buckets);
    }
  }

  struct alignas(16) Block {
    char bytes[16];
  };
  RowLayout layout;
  std::vector<Block> memory, pool;
  std::vector<int> markers;
};

/// Grows row i on `start`, or solves on it.
template <class Real, class Set, class Slot>
GrownRow do_row(const Problem<Real>& problem, const Parameters& parameters, int i,
                const std::vector<int>& start, bool solve, int capacity, int pool) {
  using Types = RowOf<double, Real, Set, Slot, Lanes::LaneGroup>;
  using RowType = typename Types::type;
  using RowLayout = typename Types::layout;
  Surroundings<Set, RowLayout> rest(
      RowLayout(parameters.max_members, capacity, pool, parameters.most_at_once), problem.host.num_rows);
  const Matrix<double, Real> a = problem.view();
  GrownRow result;
  Lanes lanes;
  lanes.run([&](const Lanes::LaneGroup& lane_group) {
    const Set set = rest.template make_set<RowType>();
    RowType row(lane_group, a, parameters, rest.layout, set, reinterpret_cast<char*>(rest.memory.data()),
                reinterpret_cast<char*>(rest.pool.data()), i);
    const int n = static_cast<int>(start.size());
    const RowStatus status = grow_pattern(row, parameters, start.data(), n, solve);
    const double psi = status == RowStatus::overflow ? 0 : row.exact_psi();
    if (lane_group.lane() == 0) {
      result.status = status;
      result.shortage = row.shortage();
      result.psi = psi;
      for (int p = 0; p < row.members() && status != RowStatus::overflow; ++p) {
        result.pattern.push_back(row.member_column(p));
        result.g.push_back(row.value(p));
      }
    }
    if constexpr (Set::shared_insertion && Set::uses_markers) {
      lane_group.barrier();
      set.release(lane_group, row.slots_used());
    }
  });
  EXPECT_EQ(std::count(rest.markers.begin(), rest.markers.end(), 0), problem.host.num_rows) << "row " << i;
  return result;
}

template <class Set, class Slot>
void expect_reference(const HostMatrix<double>& a, int i, const ReferenceAdaptiveFsai& reference,
                      const std::vector<int>& start = {}, bool solve = false) {
  const int most = std::min<int>(int(a.num_rows) - 1, reference.k_max * reference.s + int(start.size()));
  const Parameters parameters{
      most, reference.k_max, reference.s, most, reference.epsilon, reference.step_tolerance, 1e-12, 1e-15};
  const GrownRow row = do_row<double, Set, Slot>(Problem<double>(a), parameters, i, start, solve, 512, 4096);
  const ReferenceRow expected =
      solve ? solve_row(to_dense(a), i, start) : grow_row(to_dense(a), i, reference, start);
  ASSERT_EQ(row.status, RowStatus::done);
  ASSERT_NEAR(row.psi / expected.psi, 1, 1e-10) << "row " << i;
  if (expected.tie) return;
  ASSERT_EQ(row.pattern, expected.pattern) << "row " << i;
  for (std::size_t p = 0; p < row.g.size(); ++p) ASSERT_NEAR(row.g[p], expected.g[p], 1e-9) << "row " << i;
}

template <class SetAndSlot>
class AdaptiveFsaiLanes : public LanesTest {};
template <class SetType, class SlotType>
struct Kind {
  using Set = SetType;
  using Slot = SlotType;
};
using Kinds = ::testing::Types<Kind<HashedColumnSet<unsigned short>, unsigned short>,
                               Kind<HashedColumnSet<unsigned>, unsigned>,
                               Kind<SharedMarkerColumnSet, unsigned short>, Kind<NoColumnSet, unsigned>>;
struct KindNames {
  template <class K>
  static std::string GetName(int) {
    if (std::is_same_v<typename K::Set, NoColumnSet>) return "merge";
    return std::string(K::Set::uses_markers ? "marker" : "list") +
           (sizeof(typename K::Slot) == 2 ? "16" : "32");
  }
};
TYPED_TEST_SUITE(AdaptiveFsaiLanes, Kinds, KindNames);

TYPED_TEST(AdaptiveFsaiLanes, GrowAsTheDenseTextbookAlgorithm) {
  const HostMatrix<double> a = random_spd(83, 0.15, 3);
  ReferenceAdaptiveFsai one, three, none;
  one.k_max = 7;
  three.k_max = 3;
  three.s = 3;
  none.k_max = 0;
  for (const auto& reference : {one, three, none}) {
    for (const int i : {0, 1, 40, 82}) {
      expect_reference<typename TypeParam::Set, typename TypeParam::Slot>(a, i, reference);
      if (i > 2)
        expect_reference<typename TypeParam::Set, typename TypeParam::Slot>(a, i, reference, {0, 2, i - 1});
    }
  }
}

// More members than lanes, and rows longer than two entries a lane.
TYPED_TEST(AdaptiveFsaiLanes, GrowBeyondTheirNumber) {
  ReferenceAdaptiveFsai reference;
  reference.k_max = 37;
  reference.epsilon = 0;
  expect_reference<typename TypeParam::Set, typename TypeParam::Slot>(random_spd(61, 0.3, 9), 60, reference);
  reference.k_max = 3;
  expect_reference<typename TypeParam::Set, typename TypeParam::Slot>(random_spd(131, 0.95, 10), 129,
                                                                      reference);
}

TYPED_TEST(AdaptiveFsaiLanes, SolveOnAKeptPattern) {
  expect_reference<typename TypeParam::Set, typename TypeParam::Slot>(random_spd(83, 0.15, 3), 82, {},
                                                                      {1, 5, 17, 60, 81}, true);
}

TYPED_TEST(AdaptiveFsaiLanes, GrowInSinglePrecision) {
  const HostMatrix<double> a = random_spd(83, 0.15, 3);
  const Parameters parameters{6, 6, 1, 6, 1e-3, 0, 1e-5, 1e-6};
  ReferenceAdaptiveFsai reference;
  reference.k_max = 6;
  for (const int i : {0, 41, 82}) {
    const GrownRow row = do_row<float, typename TypeParam::Set, typename TypeParam::Slot>(
        Problem<float>(a), parameters, i, {}, false, 128, 1024);
    ASSERT_NEAR(row.psi / grow_row(to_dense(a), i, reference).psi, 1, 1e-3);
  }
}

// A workspace that is too small is reported, and no marker is left (see do_row).
TYPED_TEST(AdaptiveFsaiLanes, TellWhatWasTooSmall) {
  const HostMatrix<double> a = random_spd(83, 0.4, 3);
  const Parameters parameters{6, 6, 1, 6, 0, 0, 1e-12, 1e-15};
  const auto row = [&](int capacity, int pool, const std::vector<int>& start) {
    return do_row<double, typename TypeParam::Set, typename TypeParam::Slot>(
        Problem<double>(a), parameters, 82, start, false, capacity, pool);
  };
  const GrownRow few_columns = row(40, 1024, {});
  EXPECT_EQ(few_columns.status, RowStatus::overflow);
  EXPECT_EQ(few_columns.shortage, Shortage::capacity);
  const GrownRow few_members = row(128, 1024, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(few_members.status, RowStatus::overflow);
  EXPECT_EQ(few_members.shortage, Shortage::members);
  if (!std::is_same_v<typename TypeParam::Set, NoColumnSet>) {
    const GrownRow few_entries = row(128, 64, {});
    EXPECT_EQ(few_entries.status, RowStatus::overflow);
    EXPECT_EQ(few_entries.shortage, Shortage::pool);
  }
}

TYPED_TEST(AdaptiveFsaiLanes, StopAtABadPivot) {
  // Rows 0 and 1 are parallel, and row 2 wants both.
  const HostMatrix<double> a = sparse<double>({{1, 1, .5}, {1, 1, .4}, {.5, .4, 1}});
  const Parameters parameters{2, 2, 1, 2, 0, 0, 1e-12, 1e-15};
  const GrownRow row = do_row<double, typename TypeParam::Set, typename TypeParam::Slot>(
      Problem<double>(a), parameters, 2, {}, false, 64, 64);
  EXPECT_EQ(row.status, RowStatus::pivot);
  EXPECT_EQ(row.pattern, std::vector<int>{0});
}

}  // namespace
}  // namespace prekond::testing
