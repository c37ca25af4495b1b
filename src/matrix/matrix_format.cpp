// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/format_layouts.hpp"

#include <prekond/matrix/bcsr_matrix.hpp>
#include "matrix/longest_row.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace prekond {

std::vector<std::pair<std::string, MatrixFormat>> matrix_format_choices() {
  return {{"auto", MatrixFormat::automatic}, {"csr", MatrixFormat::csr}, {"sell", MatrixFormat::sell},
          {"dia", MatrixFormat::dia},        {"jad", MatrixFormat::jad}, {"bcsr", MatrixFormat::bcsr}};
}

std::vector<std::pair<std::string, MatrixFormat>> stored_format_choices() {
  auto choices = matrix_format_choices();
  choices.pop_back();
  return choices;
}

std::string to_string(MatrixFormat format) {
  for (const auto& [name, value] : matrix_format_choices())
    if (value == format) return name;
  return "";
}

namespace {

struct AdviceTuning {
  // Assumed for any device: the time of an entry for a thread that adds a row by itself, and of a launch.
  static constexpr double seconds_of_entry = 1e-7;
  static constexpr double seconds_of_launch = 3e-6;
  // About a copy's rate on an H200, perf_tests/results/h200/toolbox/formats.json.
  static constexpr double bytes_per_second = 4e12;
  // Before CSR is left for another format, that has to be so much smaller: assumed.
  static constexpr double advantage = 0.95;
  // DIA reads nothing but what it adds: it is the faster one up to this multiple of the bytes that SELL is
  // estimated to take (H200, elasticity3d:60, 1.06 times: 78.6 us against 71.8).
  static constexpr double dia_over_sell = 1.03;
  // Blocks of 3 take 0.83 times SELL's bytes and as long, of 4 and 5 they are the faster ones (H200,
  // perf_tests/results/h200/blocks/results.md).
  static constexpr int least_block_size = 4;
  static constexpr double blocks_over_others = 0.9;
  // Three times this number of rows, and this number of entries of each, are looked at on a host.
  static constexpr std::int64_t rows_of_sample = 64;
  static constexpr std::size_t entries_of_sample = 64;
};

std::string percent(double part, double whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f%%", whole > 0 ? 100 * part / whole : 100.0);
  return text;
}

/// Can a thread add the longest row in the time that the whole product takes?
bool fits_threads(const FormatAdvice& advice) {
  return double(advice.longest_row) * AdviceTuning::seconds_of_entry <
         double(advice.csr_bytes) / AdviceTuning::bytes_per_second + AdviceTuning::seconds_of_launch;
}

}  // namespace

namespace impl::formats {

void choose_format(FormatAdvice& advice, ProductTarget target, bool sell_is_refused, bool dia_is_refused) {
  const bool on_device = target == ProductTarget::device;
  const auto csr = double(advice.csr_bytes), sell = double(advice.sell_bytes), dia = double(advice.dia_bytes);
  const bool sell_pays = on_device && !sell_is_refused && sell < AdviceTuning::advantage * csr;
  const bool sell_fits = sell_pays && fits_threads(advice);
  const bool dia_is_small = dia < AdviceTuning::advantage * csr;
  const bool dia_is_slow = target == ProductTarget::plain_host;
  const std::string diagonals = std::to_string(advice.num_diagonals) + " diagonals take " +
                                percent(dia, csr) + " of CSR's bytes" +
                                (!dia_is_small    ? ""
                                 : dia_is_refused ? ", but too much of it is padding"
                                 : dia_is_slow    ? ", but are slow without fused multiply-adds"
                                                  : "");
  const std::string chunks = "chunks of rows take about " + percent(sell, csr) + " of CSR's bytes";
  if (dia_is_small && !dia_is_refused && !dia_is_slow &&
      (!sell_fits || dia < AdviceTuning::dia_over_sell * sell)) {
    advice.format = MatrixFormat::dia;
    advice.reason = diagonals;
  } else if (sell_fits) {
    advice.format = MatrixFormat::sell;
    advice.reason = chunks + ", " + diagonals;
  } else {
    advice.format = MatrixFormat::csr;
    advice.reason = sell_pays ? "a row of " + std::to_string(advice.longest_row) +
                                    " entries would keep a thread of SELL busy after all others"
                              : diagonals + (on_device ? ", " + chunks : "");
  }
}

void choose_blocks(FormatAdvice& advice) {
  std::int64_t chosen = advice.csr_bytes;
  if (advice.format == MatrixFormat::sell) chosen = advice.sell_bytes;
  if (advice.format == MatrixFormat::dia) chosen = advice.dia_bytes;
  if (advice.block_size < AdviceTuning::least_block_size ||
      double(advice.bcsr_bytes) >= AdviceTuning::blocks_over_others * double(chosen))
    return;
  const std::string b = std::to_string(advice.block_size);
  advice.reason = "blocks of " + b + " x " + b + " take " +
                  percent(double(advice.bcsr_bytes), double(advice.csr_bytes)) + " of CSR's bytes, " +
                  percent(double(advice.bcsr_bytes), double(chosen)) + " of those of " +
                  to_string(advice.format);
  advice.format = MatrixFormat::bcsr;
}

/// The diagonals of a few rows, on a host: there are no fewer in all.
template <class Space>
std::int64_t diagonals_of_some_rows(const CsrGraphView<Space>& pattern) {
  std::vector<std::int64_t> offsets;
  const std::int64_t n = pattern.num_rows;
  for (const std::int64_t begin : {n / 4, n / 2, 3 * (n / 4)})
    for (std::int64_t i = begin; i < std::min(begin + AdviceTuning::rows_of_sample, n); ++i)
      for (std::size_t k = pattern.row_ptrs(i);
           k < std::min(pattern.row_ptrs(i) + AdviceTuning::entries_of_sample, pattern.row_ptrs(i + 1)); ++k)
        offsets.push_back(pattern.col_idxs(k) - i);
  std::sort(offsets.begin(), offsets.end());
  return std::unique(offsets.begin(), offsets.end()) - offsets.begin();
}

/// The choice for a matrix stored on a host: CSR where a few rows have more diagonals than DIA pays for.
template <class Space>
bool is_csr_at_a_glance(const CsrGraphView<Space>& pattern, FormatAdvice& advice, std::int64_t entry) {
  if constexpr (is_host_space<Space>) {
    const bool slow = product_target<Space> == ProductTarget::plain_host;
    advice.num_diagonals = slow ? 0 : diagonals_of_some_rows<Space>(pattern);
    advice.dia_bytes = advice.num_diagonals * pattern.num_rows * entry;
    advice.format = MatrixFormat::csr;
    return slow || double(advice.dia_bytes) >= AdviceTuning::advantage * double(advice.csr_bytes);
  }
  return false;
}

template <class Space>
FormatAdvice advise_format(const Space& space, const CsrGraphView<Space>& pattern, std::size_t value_bytes,
                           Found<Space>& found, BlocksAre blocks) {
  FormatAdvice advice;
  const auto entry = static_cast<std::int64_t>(value_bytes);
  advice.csr_bytes = pattern.nnz() * (entry + 4) + 8 * pattern.num_rows;
  if (blocks == BlocksAre::refused && is_csr_at_a_glance<Space>(pattern, advice, entry)) return advice;
  advice.longest_row = impl::longest_row<Space>(space, pattern.row_ptrs).length;
  found.diagonals = mark_diagonals(space, pattern);
  advice.num_diagonals = static_cast<std::int64_t>(found.diagonals->count);
  advice.dia_bytes = advice.num_diagonals * pattern.num_rows * entry;
  double sell_places = 0;
  if (!is_host_space<Space> || blocks == BlocksAre::allowed) {
    found.chunks = choose_chunks(space, pattern, SellOptions());
    sell_places = found.chunks->places();
  }
  // Most deltas have one byte or two, and a chunk column of 32 places has a base.
  advice.sell_bytes = static_cast<std::int64_t>(sell_places * (double(entry) + 2 + 4.0 / 32));
  const auto is_refused = [&](double places, double max_padding) {
    return !fits_padding(places, pattern.nnz(), pattern.num_rows, max_padding);
  };
  choose_format(
      advice, product_target<Space>, is_refused(sell_places, SellOptions().max_padding),
      is_refused(double(advice.num_diagonals) * double(pattern.num_rows), DiaOptions().max_padding));
  if (blocks == BlocksAre::allowed && pattern.num_rows > 0) {
    const BlockFill fill = detect_block_size<Space>(space, pattern, entry);
    advice.block_size = fill.block_size;
    advice.bcsr_bytes = fill.bytes(pattern.num_rows, entry);
    const bool are_full = fill.num_blocks * fill.block_size * fill.block_size == pattern.nnz();
    if (are_full) choose_blocks(advice);  // else entries of 0 would be added
  }
  if (advice.format != MatrixFormat::dia) found.diagonals.reset();
  if (advice.format != MatrixFormat::sell) found.chunks.reset();
  return advice;
}

}  // namespace impl::formats

template <class Space>
FormatAdvice advise_format(const Space& space, const CsrGraphView<Space>& pattern, std::size_t value_bytes) {
  impl::formats::Found<Space> found;
  return impl::formats::advise_format(space, pattern, value_bytes, found, impl::formats::BlocksAre::allowed);
}

#define PREKOND_ADVISE_FORMAT(Space)                                                                        \
  template FormatAdvice advise_format(const Space&, const CsrGraphView<Space>&, std::size_t);               \
  template FormatAdvice impl::formats::advise_format(const Space&, const CsrGraphView<Space>&, std::size_t, \
                                                     impl::formats::Found<Space>&,                          \
                                                     impl::formats::BlocksAre);
PREKOND_INSTANTIATE_SPACES(PREKOND_ADVISE_FORMAT)

}  // namespace prekond
