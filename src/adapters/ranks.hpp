// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Agreement of ranks, over any library's communicator.
#include <prekond/adapters/impl/rank_error.hpp>
#include <prekond/core/report.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace prekond::impl {

/// A communicator. Its reductions and `broadcast` are collective.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual long long min(long long mine) const = 0;
  virtual long long max(long long mine) const = 0;
  virtual long long sum(long long mine) const = 0;
  virtual double max(double mine) const = 0;
  virtual double sum(double mine) const = 0;
  /// `bytes` of rank `root` on all.
  virtual void broadcast(int root, void* data, int bytes) const = 0;
};

inline void broadcast(const Ranks& ranks, int root, std::string& text) {
  int size = static_cast<int>(text.size());
  ranks.broadcast(root, &size, sizeof(size));
  text.resize(static_cast<std::size_t>(size));
  if (size > 0) ranks.broadcast(root, text.data(), size);
}

/// The texts of all ranks, in their order. Most often they are all empty: that costs one all-reduce.
inline std::vector<std::string> gather(const Ranks& ranks, const std::string& mine) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks.size()));
  if (ranks.max(static_cast<long long>(mine.size())) == 0) return texts;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) texts[rank] = mine;
    broadcast(ranks, rank, texts[rank]);
  }
  return texts;
}

/// Notes are sentences without line breaks: they travel as lines.
inline std::vector<std::string> distinct_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
      begin = end + 1;
    }
  }
  return lines;
}

inline Breakdowns merged_breakdowns(const Ranks& ranks, const Breakdowns& mine,
                                    std::int64_t first_global_row) {
  Breakdowns all;
  all.count = ranks.sum(static_cast<long long>(mine.count));
  if (all.count == 0) return all;
  constexpr long long none = std::numeric_limits<long long>::max();
  // A rank may know of no row of its own: -1.
  const long long first = mine.count > 0 && first_global_row >= 0 ? first_global_row : none;
  all.first_row = ranks.min(first);
  const int owner = static_cast<int>(
      ranks.min(static_cast<long long>(first == all.first_row ? ranks.rank() : ranks.size())));
  all.first_pivot = mine.first_pivot;
  if (all.first_row == none)
    all.first_row = -1;
  else
    ranks.broadcast(owner, &all.first_pivot, sizeof(all.first_pivot));
  const auto actions = gather(ranks, mine.count > 0 ? mine.action : std::string());
  for (std::size_t rank = 0; rank < actions.size(); ++rank) {
    if (actions[rank].empty()) continue;
    all.action += (all.action.empty() ? "" : "; ");
    all.action += (ranks.size() > 1 ? "rank " + std::to_string(rank) + ": " : "") + actions[rank];
  }
  return all;
}

/// See tpetra::agree.
inline void agree(const Ranks& ranks, const std::optional<RankError>& mine) {
  const int size = ranks.size();
  const int failed = mine ? ranks.rank() : size;
  const int first = size > 1 ? static_cast<int>(ranks.min(static_cast<long long>(failed))) : failed;
  if (first == size) return;
  RankError error = mine.value_or(RankError{});
  if (size == 1 && error.where.empty()) error.raise();
  int kind = static_cast<int>(error.kind);
  ranks.broadcast(first, &kind, sizeof(kind));
  broadcast(ranks, first, error.text);
  error.kind = static_cast<RankError::Kind>(kind);
  broadcast(ranks, first, error.where);
  if (ranks.rank() != first) error.row = -1;  // it is a row of that rank
  error.text = "rank " + std::to_string(first) + " of " + std::to_string(size) +
               (error.where.empty() ? "" : " (" + error.where + ")") + ": " + error.text;
  error.raise();
}

/// See tpetra::merged_report.
inline Report merged_report(const Ranks& ranks, const Report& mine, std::int64_t first_global_row) {
  const auto sum = [&](std::int64_t count) { return ranks.sum(static_cast<long long>(count)); };
  Report all;
  all.symbolic_seconds = ranks.max(mine.symbolic_seconds);
  all.numeric_seconds = ranks.max(mine.numeric_seconds);
  all.host_seconds = ranks.max(mine.host_seconds);
  all.nnz = sum(mine.nnz);
  all.bytes = sum(mine.bytes);
  all.setup_bytes = sum(mine.setup_bytes);
  all.numeric_flops = ranks.sum(mine.numeric_flops);
  all.apply_flops = ranks.sum(mine.apply_flops);
  all.fences = static_cast<int>(ranks.max(static_cast<long long>(mine.fences)));
  all.foreign_columns = sum(mine.foreign_columns);
  all.foreign_entries = sum(mine.foreign_entries);
  all.pattern_kept = ranks.min(static_cast<long long>(mine.pattern_kept)) != 0;
  all.breakdowns = merged_breakdowns(ranks, mine.breakdowns, first_global_row);
  std::string notes;
  for (const auto& note : mine.notes) notes += note + "\n";
  all.notes = distinct_lines(gather(ranks, notes));
  return all;
}

}  // namespace prekond::impl
