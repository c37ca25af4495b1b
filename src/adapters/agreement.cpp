// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/adapters/agreement.hpp>
#include <prekond/core/error.hpp>

#include <Teuchos_CommHelpers.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

namespace prekond::tpetra {
namespace {

template <class T>
T reduce(const Teuchos::Comm<int>& comm, Teuchos::EReductionType type, T mine) {
  T all{};
  Teuchos::reduceAll(comm, type, 1, &mine, &all);
  return all;
}

long long sum(const Teuchos::Comm<int>& comm, std::int64_t mine) {
  return reduce<long long>(comm, Teuchos::REDUCE_SUM, mine);
}
double sum(const Teuchos::Comm<int>& comm, double mine) {
  return reduce(comm, Teuchos::REDUCE_SUM, mine);
}
double max(const Teuchos::Comm<int>& comm, double mine) {
  return reduce(comm, Teuchos::REDUCE_MAX, mine);
}

void broadcast(const Teuchos::Comm<int>& comm, int root, std::string& text) {
  int size = static_cast<int>(text.size());
  Teuchos::broadcast(comm, root, &size);
  text.resize(static_cast<std::size_t>(size));
  if (size > 0) Teuchos::broadcast(comm, root, size, text.data());
}

/// The texts of all ranks, in their order. Most often they are all empty: that costs one all-reduce.
std::vector<std::string> gather(const Teuchos::Comm<int>& comm, const std::string& mine) {
  std::vector<std::string> texts(static_cast<std::size_t>(comm.getSize()));
  if (reduce(comm, Teuchos::REDUCE_MAX, static_cast<int>(mine.size())) == 0) return texts;
  for (int rank = 0; rank < comm.getSize(); ++rank) {
    if (rank == comm.getRank()) texts[rank] = mine;
    broadcast(comm, rank, texts[rank]);
  }
  return texts;
}

/// Notes are sentences without line breaks: they travel as lines.
std::vector<std::string> distinct_lines(const std::vector<std::string>& texts) {
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

Breakdowns merged_breakdowns(const Teuchos::Comm<int>& comm, const Breakdowns& mine,
                             std::int64_t first_global_row) {
  Breakdowns all;
  all.count = sum(comm, mine.count);
  if (all.count == 0) return all;
  constexpr long long none = std::numeric_limits<long long>::max();
  const long long first = mine.count > 0 ? first_global_row : none;
  all.first_row = reduce(comm, Teuchos::REDUCE_MIN, first);
  int owner = first == all.first_row ? comm.getRank() : comm.getSize();
  owner = reduce(comm, Teuchos::REDUCE_MIN, owner);
  all.first_pivot = mine.first_pivot;
  Teuchos::broadcast(comm, owner, &all.first_pivot);
  const auto actions = gather(comm, mine.count > 0 ? mine.action : std::string());
  for (std::size_t rank = 0; rank < actions.size(); ++rank) {
    if (actions[rank].empty()) continue;
    all.action += (all.action.empty() ? "" : "; ");
    all.action += (comm.getSize() > 1 ? "rank " + std::to_string(rank) + ": " : "") + actions[rank];
  }
  return all;
}

}  // namespace

RankError RankError::current() {
  try {
    throw;
  } catch (const OptionError& error) {
    return {Kind::option, error.what(), -1, ""};
  } catch (const InputError& error) {
    return {Kind::input, error.what(), error.row(), ""};
  } catch (const std::logic_error& error) {
    return {Kind::logic, error.what(), -1, ""};
  } catch (const std::bad_alloc& error) {
    return {Kind::memory, std::string("not enough memory (") + error.what() + ")", -1, ""};
  } catch (const std::exception& error) {
    return {Kind::other, error.what(), -1, ""};
  } catch (...) {
    return {Kind::other, "an exception that is no std::exception", -1, ""};
  }
}

void RankError::raise() const {
  switch (kind) {
    case Kind::option:
      throw OptionError(text);
    case Kind::input:
      throw InputError(text, row);
    case Kind::logic:
      throw std::logic_error(text);
    default:
      throw std::runtime_error(text);
  }
}

void agree(const Teuchos::Comm<int>& comm, const std::optional<RankError>& mine) {
  const int size = comm.getSize();
  const int failed = mine ? comm.getRank() : size;
  const int first = size > 1 ? reduce(comm, Teuchos::REDUCE_MIN, failed) : failed;
  if (first == size) return;
  RankError error = mine.value_or(RankError{});
  if (size == 1 && error.where.empty()) error.raise();
  int kind = static_cast<int>(error.kind);
  Teuchos::broadcast(comm, first, &kind);
  broadcast(comm, first, error.text);
  error.kind = static_cast<RankError::Kind>(kind);
  broadcast(comm, first, error.where);
  if (comm.getRank() != first) error.row = -1;  // it is a row of that rank
  error.text = "rank " + std::to_string(first) + " of " + std::to_string(size) +
               (error.where.empty() ? "" : " (" + error.where + ")") + ": " + error.text;
  error.raise();
}

Report merged_report(const Teuchos::Comm<int>& comm, const Report& mine, std::int64_t first_global_row) {
  Report all;
  all.symbolic_seconds = max(comm, mine.symbolic_seconds);
  all.numeric_seconds = max(comm, mine.numeric_seconds);
  all.nnz = sum(comm, mine.nnz);
  all.bytes = sum(comm, mine.bytes);
  all.setup_bytes = sum(comm, mine.setup_bytes);
  all.numeric_flops = sum(comm, mine.numeric_flops);
  all.apply_flops = sum(comm, mine.apply_flops);
  all.fences = reduce(comm, Teuchos::REDUCE_MAX, mine.fences);
  all.foreign_columns = sum(comm, mine.foreign_columns);
  all.foreign_entries = sum(comm, mine.foreign_entries);
  all.pattern_kept = reduce(comm, Teuchos::REDUCE_MIN, static_cast<int>(mine.pattern_kept)) != 0;
  all.breakdowns = merged_breakdowns(comm, mine.breakdowns, first_global_row);
  std::string notes;
  for (const auto& note : mine.notes) notes += note + "\n";
  all.notes = distinct_lines(gather(comm, notes));
  return all;
}

}  // namespace prekond::tpetra
