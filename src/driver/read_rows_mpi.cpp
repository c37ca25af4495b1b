// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows_of_ranks.hpp"

#include <prekond/core/error.hpp>
#include "distributed/row_partition.hpp"

#include "matrix/io/matrix_market_share.hpp"
#include "messages_mpi.hpp"

#include <optional>
#include <utility>

namespace prekond::driver {
namespace {

using Entry = impl::MarketEntry<double>;
using Facts = impl::MarketSectionFacts;
using Share = impl::MarketShare<double>;
using Pieces = std::vector<std::vector<Entry>>;

/// A section of the file, and the share that has it.
struct Section {
  Facts facts;
  std::size_t rank = 0;
  std::size_t index = 0;  ///< in the rank's share
};

/// Collective. The sections of all processes in the order of the file.
std::vector<Section> all_sections(const Processes& processes, const Share& share) {
  const std::vector<Facts> own = share.facts();
  std::vector<int> counts(processes.size()), begins(processes.size() + 1, 0);
  const int count = static_cast<int>(own.size());
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t r = 0; r < counts.size(); ++r) begins[r + 1] = begins[r] + counts[r];
  std::vector<Facts> all(static_cast<std::size_t>(begins.back()));
  const MessageType<Facts> type;
  MPI_Allgatherv(own.data(), count, type.type(), all.data(), counts.data(), begins.data(), type.type(),
                 MPI_COMM_WORLD);
  std::vector<Section> sections;
  for (std::size_t r = 0; r < counts.size(); ++r)
    for (int k = 0; k < counts[r]; ++k)
      sections.push_back({all[static_cast<std::size_t>(begins[r] + k)], r, static_cast<std::size_t>(k)});
  std::sort(sections.begin(), sections.end(),
            [](const Section& x, const Section& y) { return x.facts.number < y.facts.number; });
  return sections;
}

/// Collective. Where any has an error, all throw the first in the file.
void end_at_first(const Processes& processes, const std::optional<impl::MarketError>& error) {
  const std::string text =
      processes.text_of_least(error ? error->line : Processes::no_key, error ? error->text : "");
  processes.collective([&] {
    if (!text.empty()) throw InputError(text);
  });
}

/// Collective. Each checks its share, the sizes of all shares being known.
void check(const Processes& processes, Share& share, const std::vector<Section>& sections) {
  std::optional<impl::MarketError> error;
  std::vector<Facts> facts;
  processes.collective([&] {
    for (const Section& section : sections) facts.push_back(section.facts);
    error = share.check(facts);
  });
  end_at_first(processes, error);
  const std::int64_t num_entries = processes.sum(share.num_entries());
  processes.collective([&] { error = share.check_budget(facts, num_entries); });
  end_at_first(processes, error);
}

/// The entries of a section by the process that has their row, each list in the order of the file.
Pieces sorted_by_owner(const impl::MarketHeader& header, const RowPartition& partition,
                       impl::MarketSection<double>& section) {
  Pieces out(static_cast<std::size_t>(partition.num_blocks));
  const auto add = [&](const Entry& entry) {
    out[static_cast<std::size_t>(partition.block_of(entry.row))].push_back(entry);
  };
  for (const auto& piece : std::exchange(section.pieces, {}))
    for (const Entry& entry : piece.entries) {
      add(entry);
      if (!header.is_general() && entry.row != entry.col) add(impl::mirrored_entry(header, entry));
    }
  return out;
}

/// Collective. Sends the entries to the processes that have their rows, a section of each process at a time.
/// Returns this process's in the order of the file.
Pieces send_entries(const Processes& processes, const RowPartition& partition, Share& share,
                    const std::vector<Section>& sections) {
  const auto rounds = static_cast<std::size_t>(processes.max(static_cast<double>(share.sections.size())));
  std::vector<Pieces> arrived;  // by round and sender
  for (std::size_t k = 0; k < rounds; ++k) {
    impl::MarketSection<double> none;
    auto& section = k < share.sections.size() ? share.sections[k] : none;
    arrived.push_back(exchange_lists(processes.rank(), sorted_by_owner(share.header, partition, section)));
  }
  Pieces own;
  for (const Section& section : sections) own.push_back(std::move(arrived[section.index][section.rank]));
  return own;
}

}  // namespace

RowBlock read_rows(const Processes& processes, const std::string& path, std::int64_t& num_rows) {
  Share share;
  processes.collective([&] { share = Share::read(path, processes.rank(), processes.size()); });
  const std::vector<Section> sections = all_sections(processes, share);
  check(processes, share, sections);
  num_rows = share.header.num_rows;
  const RowPartition partition{num_rows, processes.size()};
  Pieces entries = send_entries(processes, partition, share, sections);
  RowBlock block;
  block.first_row = partition.begin(processes.rank());
  std::optional<impl::MarketError> error;
  processes.collective([&] {
    try {
      block.rows = share.assemble_rows(block.first_row, partition.size(processes.rank()), std::move(entries));
    } catch (const InputError& found) {
      error = impl::MarketError{impl::MarketError::of_assembly, found.what()};
    }
  });
  end_at_first(processes, error);
  return block;
}

}  // namespace prekond::driver
