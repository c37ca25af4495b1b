// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A Matrix Market file read in shares as several processes do it, one after the other.
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include "distributed/row_partition.hpp"

#include "matrix/io/matrix_market_share.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace prekond::testing {

template <class Scalar>
using HostMatrix = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

/// The rows of every share, or the first error of all: as processes exchange what they know.
template <class Scalar>
class SharedReading {
 public:
  SharedReading(const std::string& path, int num_parts, std::size_t block_size) {
    for (int part = 0; part < num_parts; ++part)
      m_shares.push_back(impl::MarketShare<Scalar>::read(path, part, num_parts, block_size));
    for (const auto& share : m_shares)
      for (const auto& section : share.sections) m_all.push_back(section.facts);
    std::sort(m_all.begin(), m_all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    std::int64_t num_entries = 0;
    for (auto& share : m_shares) take(share.check(m_all));
    for (const auto& share : m_shares) num_entries += share.num_entries();
    if (!m_error) take(m_shares[0].check_budget(m_all, num_entries));
    if (!m_error) assemble();
    if (m_error) throw InputError(m_error->text);
  }

  /// One for each share, of columns of the whole matrix.
  std::vector<HostMatrix<Scalar>> rows;

 private:
  using Pieces = std::vector<std::vector<impl::MarketEntry<Scalar>>>;

  void take(const std::optional<impl::MarketError>& error) {
    if (error && (!m_error || error->line < m_error->line)) m_error = error;
  }

  void assemble() {
    const auto& header = m_shares[0].header;
    const int parts = static_cast<int>(m_shares.size());
    const RowPartition partition{header.num_rows, parts};
    for (int part = 0; part < parts; ++part) {
      try {
        rows.push_back(m_shares[0].assemble_rows(partition.begin(part), partition.size(part),
                                                 entries_of(partition.begin(part), partition.end(part))));
      } catch (const InputError& error) {
        take(impl::MarketError{impl::MarketError::of_assembly, error.what()});
      }
    }
  }

  /// In the order of the file, with the mirrored ones.
  Pieces entries_of(std::int64_t begin, std::int64_t end) const {
    const auto& header = m_shares[0].header;
    Pieces own(1);
    for (const auto& facts : m_all)
      for (const auto& share : m_shares)
        for (const auto& section : share.sections) {
          if (section.facts.number != facts.number) continue;
          for (const auto& piece : section.pieces)
            for (const auto& entry : piece.entries) {
              if (entry.row >= begin && entry.row < end) own[0].push_back(entry);
              if (header.is_general() || entry.row == entry.col || entry.col < begin || entry.col >= end)
                continue;
              own[0].push_back(impl::mirrored_entry(header, entry));
            }
        }
    return own;
  }

  std::vector<impl::MarketShare<Scalar>> m_shares;
  std::vector<impl::MarketSectionFacts> m_all;
  std::optional<impl::MarketError> m_error;
};

/// Where the rows of `parts`, one under the other, are not those of `whole` to the last bit; empty: nowhere.
template <class Scalar>
std::string difference(const std::vector<HostMatrix<Scalar>>& parts, const HostMatrix<Scalar>& whole) {
  std::int64_t row = 0;
  for (const auto& part : parts) {
    if (part.num_cols != whole.num_cols) return "columns";
    for (std::int64_t i = 0; i < part.num_rows; ++i, ++row) {
      if (row >= whole.num_rows) return "too many rows";
      const std::size_t a = part.row_ptrs(i), b = whole.row_ptrs(row), n = part.row_ptrs(i + 1) - a;
      if (whole.row_ptrs(row + 1) - b != n) return "length of row " + std::to_string(row);
      for (std::size_t k = 0; k < n; ++k)
        if (part.col_idxs(a + k) != whole.col_idxs(b + k) || part.values(a + k) != whole.values(b + k))
          return "entry " + std::to_string(k) + " of row " + std::to_string(row);
    }
  }
  return row == whole.num_rows ? "" : "too few rows";
}

}  // namespace prekond::testing
