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
  const auto all = exchange_lists(
      processes.rank(),
      std::vector<std::vector<Facts>>(static_cast<std::size_t>(processes.size()), share.facts()));
  std::vector<Section> sections;
  for (std::size_t r = 0; r < all.size(); ++r)
    for (std::size_t k = 0; k < all[r].size(); ++k) sections.push_back({all[r][k], r, k});
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

NumberedRows read_rows(const Processes& processes, const std::string& path) {
  Share share;
  processes.collective([&] { share = Share::read(path, processes.rank(), processes.size()); });
  const std::vector<Section> sections = all_sections(processes, share);
  check(processes, share, sections);
  const RowPartition partition{share.header.num_rows, processes.size()};
  const std::int64_t first = partition.begin(processes.rank()), count = partition.size(processes.rank());
  Pieces entries = send_entries(processes, partition, share, sections);
  HostRows rows;
  std::optional<impl::MarketError> error;
  processes.collective([&] {
    try {
      rows = share.assemble_rows(first, count, std::move(entries));
    } catch (const InputError& found) {
      error = impl::MarketError{impl::MarketError::of_assembly, found.what()};
    }
  });
  end_at_first(processes, error);
  return block_of_rows(first, std::move(rows));
}

}  // namespace prekond::driver
