// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// How a matrix is stored for its products; \see CsrMatrix, SellMatrix, DiaMatrix, JadMatrix, BcsrMatrix.
enum class MatrixFormat { automatic, csr, sell, dia, jad, bcsr };

std::vector<std::pair<std::string, MatrixFormat>> matrix_format_choices();
/// The formats that a StoredMatrix may have: all but bcsr.
std::vector<std::pair<std::string, MatrixFormat>> stored_format_choices();
std::string to_string(MatrixFormat format);

/// The facts that decide the choice of a format.
struct FormatAdvice {
  MatrixFormat format = MatrixFormat::csr;  ///< never `automatic`
  std::string reason;                       ///< the numbers that decided
  std::int64_t csr_bytes = 0;               ///< of the matrix by each format; of SELL about
  std::int64_t sell_bytes = 0;
  std::int64_t dia_bytes = 0;
  std::int64_t num_diagonals = 0;
  std::int64_t longest_row = 0;
  int block_size = 1;           ///< of the blocks with the least bytes, see detect_block_size
  std::int64_t bcsr_bytes = 0;  ///< with those
};

/// The format in which products are expected to be fastest, for values of `value_bytes`. It depends only on
/// the pattern and the build, so that the same input gives the same bits:
///
/// - DIA, where make_dia accepts the padding and the values take less than 95 % of CSR's bytes and, on a
///   device where SELL comes next, less than 1.1 times SELL's; not on a host that is compiled for without
///   fused multiply-adds (has_fused_multiply_add), which adds rows faster;
/// - SELL on a device, where make_sell accepts the padding, it takes less than 95 % of CSR's bytes, and no
///   row is so long that its thread would be late: 100 ns an entry, an assumption, against 3 us, another, and
///   the time in which the memory of an H200 gives the whole matrix;
/// - else CSR;
/// - but BCSR, where full blocks of 4 rows and more take less than 90 % of the bytes of the one chosen so
/// far.
///
/// Measured: perf_tests/results/h200/toolbox/results.md, perf_tests/results/h200/blocks/results.md and
/// perf_tests/results/cpu/formats.md. Cost: the row pointers, for the longest row; and count_diagonals,
/// count_sell_places and detect_block_size. Memory, while it runs: theirs.
/// Fences.
template <class Space>
FormatAdvice advise_format(const Space& space, const CsrGraphView<Space>& pattern, std::size_t value_bytes);

/// A as an operator in a format, chosen by advise_format where `format` is `automatic`: then `*advice` gets
/// what it went by, where that is not null. Facts that the advice has are not looked for again. CSR shares
/// A's views; the others are copies, BCSR with the blocks that detect_block_size finds. Fences. \throws
/// InputError where padding is refused, see make_sell, make_dia: never with `automatic`
template <class Scalar, class Space>
std::unique_ptr<Operator<Scalar, Space>> make_operator(
    const Space& space,
    const CsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>& a,
    MatrixFormat format = MatrixFormat::automatic, FormatAdvice* advice = nullptr);

}  // namespace prekond
