// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/all_reduces.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/impl/agreement.hpp>
#include <prekond/core/error.hpp>

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// ------------------------------------------------------------------------------------------------ agreement

struct Caught {
  std::string type;
  std::string text;
  bool operator==(const Caught&) const = default;
};

template <class Action>
Caught caught(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return {typeid(error).name(), error.what()};
  }
  return {};
}

template <class Exception>
std::string type_name() {
  return typeid(Exception).name();
}

/// Runs work on every rank that throws `error` on the given ones; the same must come out on all.
template <class Error>
Caught failing_on(const std::vector<int>& ranks, const Error& error, const std::string& where) {
  return caught([&] {
    tpetra::together(
        *world(),
        [&] {
          if (std::count(ranks.begin(), ranks.end(), my_rank()) > 0) throw error;
        },
        [&](std::int64_t) { return where; });
  });
}

TEST(TpetraAgreement, NothingFailedNothingIsThrown) {
  int runs = 0;
  all_reduces = 0;
  tpetra::together(
      *world(), [&] { ++runs; }, [](std::int64_t) { return std::string("nowhere"); });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(all_reduces, num_ranks() > 1 ? 1 : 0);
  tpetra::agree(*world(), std::nullopt);
}

TEST(TpetraAgreement, AFailureOfOneRankIsThrownByAll) {
  const int size = num_ranks();
  for (const int rank : {0, size / 2, size - 1}) {
    const std::string prefix =
        "rank " + std::to_string(rank) + " of " + std::to_string(size) + " (its block): ";
    const auto expect = [&](const Caught& found, const std::string& type, const std::string& text) {
      EXPECT_EQ(found.type, type) << text;
      EXPECT_EQ(found.text, prefix + text);
    };
    expect(failing_on({rank}, OptionError("an option"), "its block"), type_name<OptionError>(), "an option");
    expect(failing_on({rank}, InputError("an input"), "its block"), type_name<InputError>(), "an input");
    expect(failing_on({rank}, std::logic_error("logic"), "its block"), type_name<std::logic_error>(),
           "logic");
    expect(failing_on({rank}, std::out_of_range("a range"), "its block"), type_name<std::logic_error>(),
           "a range");
    expect(failing_on({rank}, std::runtime_error("runtime"), "its block"), type_name<std::runtime_error>(),
           "runtime");
    expect(failing_on({rank}, 7, "its block"), type_name<std::runtime_error>(),
           "an exception that is no std::exception");
    expect(failing_on({rank}, std::runtime_error(""), "its block"), type_name<std::runtime_error>(), "");
    const Caught memory = failing_on({rank}, std::bad_alloc(), "its block");
    EXPECT_EQ(memory.type, type_name<std::runtime_error>());
    EXPECT_THAT(memory.text, StartsWith(prefix + "not enough memory"));
  }
}

TEST(TpetraAgreement, WithoutAPlaceOnlyTheRankIsNamed) {
  const int size = num_ranks();
  EXPECT_EQ(failing_on({size - 1}, InputError("bad"), "").text,
            size == 1 ? "bad" : "rank " + std::to_string(size - 1) + " of " + std::to_string(size) + ": bad");
}

TEST(TpetraAgreement, APlaceIsMadeOfTheRow) {
  const int last = num_ranks() - 1;
  std::int64_t row = -2;
  const Caught found = caught([&] {
    tpetra::together(
        *world(),
        [&] {
          if (my_rank() == last) throw InputError("bad", 4);
        },
        [&](std::int64_t of) { return "global " + std::to_string(10 + (row = of)); });
  });
  EXPECT_EQ(row, my_rank() == last ? 4 : -2);  // nobody else has a place
  EXPECT_THAT(found.text, HasSubstr("(global 14): bad"));
}

TEST(TpetraAgreement, TheLowestRankWins) {
  const int size = num_ranks();
  const int lowest = std::min(1, size - 1);
  std::vector<int> ranks;
  for (int rank = lowest; rank < size; ++rank) ranks.push_back(rank);
  const Caught found =
      failing_on(ranks, InputError("from " + std::to_string(my_rank())), "at " + std::to_string(my_rank()));
  EXPECT_EQ(found.text, size == 1 ? "rank 0 of 1 (at 0): from 0"
                                  : "rank 1 of " + std::to_string(size) + " (at 1): from 1");
  // Ranks with failures of different types agree on one type.
  const Caught mixed = caught([&] {
    tpetra::together(
        *world(),
        [] {
          if (my_rank() % 2 == 0) throw InputError("even");
          throw std::logic_error("odd");
        },
        [](std::int64_t) { return std::string(); });
  });
  EXPECT_EQ(mixed.type, type_name<InputError>());
  EXPECT_THAT(mixed.text, HasSubstr("even"));
}

TEST(TpetraAgreement, TheRanksGoOnTogetherAfterAFailure) {
  for (int time = 0; time < 3; ++time)
    EXPECT_NE(failing_on({num_ranks() - 1}, InputError("again"), "").text, "");
  int one = 1, all = 0;
  Teuchos::reduceAll(*world(), Teuchos::REDUCE_SUM, 1, &one, &all);
  EXPECT_EQ(all, num_ranks());
}

// ------------------------------------------------------------------------------------------------
// merged_report

Report report_of(int rank) {
  Report report;
  report.symbolic_seconds = 1.0 + (rank + 2) % 5;
  report.numeric_seconds = 10.0 - rank;
  report.host_seconds = 0.1 * (rank + 1);
  report.nnz = (std::int64_t(1) << 40) + rank;
  report.bytes = 100 * (rank + 1);
  report.setup_bytes = 10 * (rank + 1);
  report.numeric_flops = 0.5 * rank;
  report.apply_flops = 3.0;
  report.fences = rank;
  report.foreign_columns = rank;
  report.foreign_entries = 2 * rank;
  report.pattern_kept = true;
  return report;
}

TEST(TpetraReport, SumsAndMaxima) {
  const int size = num_ranks();
  const Report all = tpetra::merged_report(*world(), report_of(my_rank()), -1);
  double symbolic = 0;
  for (int rank = 0; rank < size; ++rank) symbolic = std::max(symbolic, report_of(rank).symbolic_seconds);
  const std::int64_t pairs = std::int64_t(size) * (size - 1) / 2;  // 0 + 1 + ... + size - 1
  EXPECT_EQ(all.symbolic_seconds, symbolic);
  EXPECT_EQ(all.numeric_seconds, 10.0);
  EXPECT_EQ(all.host_seconds, 0.1 * size);
  EXPECT_EQ(all.nnz, (std::int64_t(1) << 40) * size + pairs);
  EXPECT_EQ(all.bytes, 100 * (pairs + size));
  EXPECT_EQ(all.setup_bytes, 10 * (pairs + size));
  EXPECT_EQ(all.numeric_flops, 0.5 * double(pairs));
  EXPECT_EQ(all.apply_flops, 3.0 * size);
  EXPECT_EQ(all.fences, size - 1);
  EXPECT_EQ(all.foreign_columns, pairs);
  EXPECT_EQ(all.foreign_entries, 2 * pairs);
  EXPECT_TRUE(all.pattern_kept);
  EXPECT_EQ(all.breakdowns.count, 0);
  EXPECT_EQ(all.breakdowns.first_row, -1);
  EXPECT_EQ(all.breakdowns.action, "");
  EXPECT_THAT(all.notes, IsEmpty());
  Report last = report_of(my_rank());
  last.pattern_kept = my_rank() + 1 < size;
  EXPECT_FALSE(tpetra::merged_report(*world(), last, -1).pattern_kept);
}

TEST(TpetraReport, TheFirstBreakdownIsTheSmallestGlobalRow) {
  const int size = num_ranks(), rank = my_rank();
  // All ranks but 0 have one, the last rank the one with the smallest row: not the one with the smallest
  // pivot.
  Report mine;
  if (rank > 0) mine.breakdowns = {rank, 3, 0.25 * rank, "shortened"};
  const Report all = tpetra::merged_report(*world(), mine, rank > 0 ? 1000 - 10 * rank : -1);
  EXPECT_EQ(all.breakdowns.count, std::int64_t(size) * (size - 1) / 2);
  EXPECT_EQ(all.breakdowns.first_row, size > 1 ? 1000 - 10 * (size - 1) : -1);
  EXPECT_EQ(all.breakdowns.first_pivot, size > 1 ? 0.25 * (size - 1) : 0.0);
  std::string actions;
  for (int other = 1; other < size; ++other)
    actions += (other > 1 ? "; rank " : "rank ") + std::to_string(other) + ": shortened";
  EXPECT_EQ(all.breakdowns.action, actions);
}

TEST(TpetraReport, ABreakdownOfOneRank) {
  for (int broken = 0; broken < num_ranks(); ++broken) {
    Report mine;
    if (my_rank() == broken) mine.breakdowns = {2, 1, -0.5, "kept the diagonal"};
    // The others' row says nothing, whatever it is.
    const Report all = tpetra::merged_report(*world(), mine, my_rank() == broken ? 77 : 5);
    EXPECT_EQ(all.breakdowns.count, 2);
    EXPECT_EQ(all.breakdowns.first_row, 77);
    EXPECT_EQ(all.breakdowns.first_pivot, -0.5);
    EXPECT_EQ(all.breakdowns.action, num_ranks() == 1
                                         ? "kept the diagonal"
                                         : "rank " + std::to_string(broken) + ": kept the diagonal");
  }
}

TEST(TpetraReport, NotesStandOnceEach) {
  Report mine;
  mine.notes = {"the same everywhere", "rank " + std::to_string(my_rank()), "the same everywhere"};
  if (my_rank() == num_ranks() - 1) mine.notes.push_back("of the last");
  std::vector<std::string> expected = {"the same everywhere"};
  for (int rank = 0; rank < num_ranks(); ++rank) expected.push_back("rank " + std::to_string(rank));
  expected.push_back("of the last");
  EXPECT_EQ(tpetra::merged_report(*world(), mine, -1).notes, expected);
  // Notes of the last rank only.
  Report some;
  if (my_rank() == num_ranks() - 1) some.notes = {"one", "two"};
  EXPECT_THAT(tpetra::merged_report(*world(), some, -1).notes, ElementsAre("one", "two"));
}

}  // namespace
}  // namespace prekond::testing
