// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/dia_matrix.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/sell_matrix.hpp>

#include "instantiate.hpp"

#include <algorithm>
#include <cstdio>

namespace prekond {

std::vector<std::pair<std::string, MatrixFormat>> matrix_format_choices() {
  return {{"auto", MatrixFormat::automatic},
          {"csr", MatrixFormat::csr},
          {"sell", MatrixFormat::sell},
          {"dia", MatrixFormat::dia},
          {"jad", MatrixFormat::jad}};
}

std::string to_string(MatrixFormat format) {
  for (const auto& [name, value] : matrix_format_choices())
    if (value == format) return name;
  return "";
}

namespace {

struct AdviceTuning {
  // H200: what a thread that adds a row alone takes for an entry, and what memory gives.
  static constexpr double seconds_of_entry = 1e-7;
  static constexpr double bytes_per_second = 4e12;
  static constexpr double seconds_of_launch = 3e-6;
  // Before CSR is left for another format, that has to be so much smaller.
  static constexpr double advantage = 0.95;
  // DIA reads nothing but what it adds: it is the faster one up to so many times the bytes of SELL (H200, 59
  // diagonals of elasticity: 348 us with 1.05 times the bytes, against 397).
  static constexpr double dia_over_sell = 1.1;
};

template <class Space>
struct LongestRow {
  CsrGraphView<Space> pattern;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& longest) const {
    const auto length = static_cast<std::int64_t>(pattern.row_ptrs(i + 1) - pattern.row_ptrs(i));
    if (length > longest) longest = length;
  }
};

template <class Space>
std::int64_t longest_row(const Space& space, const CsrGraphView<Space>& pattern) {
  std::int64_t longest = 0;
  Kokkos::parallel_reduce("prekond::advise_format::longest_row",
                          Kokkos::RangePolicy<Space>(space, 0, pattern.num_rows), LongestRow<Space>{pattern},
                          Kokkos::Max<std::int64_t>(longest));
  return pattern.num_rows > 0 ? longest : 0;
}

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

void choose(FormatAdvice& advice, bool on_device) {
  const auto csr = double(advice.csr_bytes), sell = double(advice.sell_bytes), dia = double(advice.dia_bytes);
  const bool sell_pays = on_device && sell < AdviceTuning::advantage * csr;
  const bool sell_fits = sell_pays && fits_threads(advice);
  const std::string diagonals =
      std::to_string(advice.num_diagonals) + " diagonals take " + percent(dia, csr) + " of CSR's bytes";
  const std::string chunks = "chunks of rows take about " + percent(sell, csr) + " of CSR's bytes";
  if (dia < AdviceTuning::advantage * csr && (!sell_fits || dia < AdviceTuning::dia_over_sell * sell)) {
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

}  // namespace

template <class Space>
FormatAdvice advise_format(const Space& space, const CsrGraphView<Space>& pattern, std::size_t value_bytes) {
  FormatAdvice advice;
  const auto entry = static_cast<std::int64_t>(value_bytes);
  advice.csr_bytes = pattern.nnz() * (entry + 4) + 8 * pattern.num_rows;
  advice.longest_row = longest_row(space, pattern);
  advice.num_diagonals = count_diagonals(space, pattern);
  advice.dia_bytes = advice.num_diagonals * pattern.num_rows * entry;
  // Most deltas have one byte or two, and a chunk column of 32 places has a base.
  advice.sell_bytes =
      static_cast<std::int64_t>(double(count_sell_places(space, pattern)) * (double(entry) + 2 + 4.0 / 32));
  choose(advice, !is_host_space<Space>);
  return advice;
}

#define PREKOND_ADVISE_FORMAT(Space) \
  template FormatAdvice advise_format(const Space&, const CsrGraphView<Space>&, std::size_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_ADVISE_FORMAT)

}  // namespace prekond
