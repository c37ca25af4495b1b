// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>

namespace prekond {
namespace impl {

/// The checks of expand_blocks, on the host. \throws InputError that begins with `what`
template <class Scalar, class Space>
void check_blocks(const BcsrView<Scalar, Space>& blocks, const std::string& what);

}  // namespace impl

/// The input of a setup: a matrix, and its user's knowledge of it.
///
/// Any CsrMatrix converts to it, so `m.numeric(space, a)` needs no more. A matrix of blocks is expanded on
/// the device when somebody asks for its rows by `csr()` for the first time; a setup that works on blocks
/// finds them by `blocks()`, and nothing is expanded for it. Further knowledge is set before the source is
/// handed over; all of it is optional. A source owns what it expanded, which its copies share, and else
/// nothing: the user's views outlive it.
///
/// Several threads may call const members at a time, also `csr()` of copies of a source: one expands, on the
/// space that the constructor was given, and the others wait.
///
/// ```
/// MatrixSource<double, Space> source(space, blocks);   // 3 unknowns a node
/// source.set_near_null_space(rigid_body_modes);        // n x 6
/// preconditioner.numeric(space, source);
/// ```
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
class MatrixSource {
 public:
  using matrix_view = CsrView<Scalar, Space, Ordinal, Offset>;
  using block_view = BcsrView<Scalar, Space, Ordinal, Offset>;
  using vectors_view = MultiVectorView<const Scalar, Space>;
  /// Is it compiled for blocks?
  static constexpr bool can_expand = std::is_same_v<Ordinal, int> && std::is_same_v<Offset, std::size_t>;

  template <class Matrix>
  requires std::is_convertible_v<const Matrix&, matrix_view> MatrixSource(const Matrix& a)
      : m_csr(a), m_num_rows(m_csr.num_rows), m_num_cols(m_csr.num_cols) {}

  /// Looks only at the sizes. Keeps the space for `csr()`. The unknowns a node are the block size, 1 where
  /// the blocks are padded.
  /// \throws InputError as expand_blocks
  MatrixSource(const Space& space, const block_view& blocks) requires(can_expand)
      : m_blocks(blocks), m_unknowns_per_node(blocks.padding > 0 ? 1 : blocks.block_size) {
    impl::check_blocks<Scalar, Space>(blocks, "MatrixSource");
    m_num_rows = blocks.num_rows();
    m_num_cols = blocks.num_cols();
    m_expansion = std::make_shared<Expansion>(space, blocks);
  }

  /// This rank's rows, and its columns: those of other ranks follow its own. Expands nothing.
  std::int64_t num_rows() const { return m_num_rows; }
  std::int64_t num_cols() const { return m_num_cols; }

  /// The matrix by single rows. With blocks the first call, of this source or of a copy, expands them, with
  /// the values that they have then, for one copy's memory: it allocates and fences. Later ones return the
  /// same. A kernel that writes the blocks on another instance of the space than the constructor's has to be
  /// fenced before.
  const matrix_view& csr() const {
    if constexpr (can_expand) {
      if (m_expansion) return m_expansion->rows();
    }
    return m_csr;
  }
  /// The same by blocks, where it was given so; else null.
  const block_view* blocks() const { return m_blocks ? &*m_blocks : nullptr; }

  /// A source of other rows, such as those of the same matrix with sorted columns, with the same near null
  /// space and the other knowledge of this one. It views the rows and has no blocks. \throws InputError where
  /// the rows or columns are not as many
  MatrixSource with_rows(const matrix_view& rows) const {
    if (rows.num_rows != m_num_rows || rows.num_cols != m_num_cols)
      throw InputError("MatrixSource: " + std::to_string(rows.num_rows) + " x " +
                       std::to_string(rows.num_cols) + " in place of " + std::to_string(m_num_rows) + " x " +
                       std::to_string(m_num_cols));
    MatrixSource other(*this);
    other.m_csr = rows;
    other.m_blocks.reset();
    other.m_expansion = nullptr;
    return other;
  }

  /// d: rows d k .. d k + d - 1 are the unknowns of node k, 3 displacements say. 1 where nothing was said.
  int unknowns_per_node() const { return m_unknowns_per_node; }
  /// \throws InputError where it does not divide the rows, is below 1, or is not a block's size
  void set_unknowns_per_node(int unknowns) {
    if (m_blocks && m_blocks->padding == 0 && unknowns != m_blocks->block_size)
      throw InputError("MatrixSource: " + std::to_string(unknowns) + " unknowns a node, and blocks of " +
                       std::to_string(m_blocks->block_size));
    if (unknowns < 1 || m_num_rows % unknowns != 0)
      throw InputError("MatrixSource: " + std::to_string(m_num_rows) + " rows are not nodes of " +
                       std::to_string(unknowns) + " unknowns each");
    m_unknowns_per_node = unknowns;
  }

  /// Vectors v that A nearly annihilates, ||A v|| << ||A|| ||v||, in the columns of num_rows x k: the rigid
  /// body modes of elasticity say. 0 x 0 where none were given.
  const vectors_view& near_null_space() const { return m_near_null_space; }
  /// \throws InputError where they have another number of rows than the matrix
  void set_near_null_space(const vectors_view& vectors) {
    if (vectors.extent(0) != static_cast<std::size_t>(m_num_rows))
      throw InputError("MatrixSource: the near null space's vectors have " +
                       std::to_string(vectors.extent(0)) + " rows, the matrix " + std::to_string(m_num_rows));
    m_near_null_space = vectors;
  }

  /// Rows whose part of an inverse is wanted, 1 each; of the others, which are 0, a setup by rows may keep
  /// only the diagonal. Empty: all rows.
  const VectorView<const unsigned char, Space>& wanted_rows() const { return m_wanted_rows; }
  /// \throws InputError where there are not as many as rows
  void set_wanted_rows(const VectorView<const unsigned char, Space>& wanted) {
    if (wanted.extent(0) != static_cast<std::size_t>(m_num_rows))
      throw InputError("MatrixSource: " + std::to_string(wanted.extent(0)) + " marks of wanted rows for " +
                       std::to_string(m_num_rows) + " rows");
    m_wanted_rows = wanted;
  }

  /// The least and the largest |a_ii| of a whole of which the matrix is a part; 1 and 0 where none were
  /// given. A decision by the range of the diagonal is then the same for all parts.
  double least_diagonal() const { return m_least_diagonal; }
  double largest_diagonal() const { return m_largest_diagonal; }
  bool knows_diagonals() const { return m_least_diagonal <= m_largest_diagonal; }
  void set_diagonals(double least, double largest) {
    m_least_diagonal = least;
    m_largest_diagonal = largest;
  }

 private:
  /// The rows of blocks, made when they are wanted.
  class Expansion {
   public:
    Expansion(const Space& space, const block_view& blocks) : m_space(space), m_blocks(blocks) {}

    const matrix_view& rows() {
      const std::lock_guard<std::mutex> lock(m_mutex);
      if (!m_is_made) {
        m_owned = expand_blocks<Scalar, Space>(m_space, m_blocks);
        m_space.fence("prekond::MatrixSource::csr");  // the caller's instance may be another one
        m_rows = m_owned;
        m_is_made = true;
      }
      return m_rows;
    }

   private:
    Space m_space;
    block_view m_blocks;
    std::mutex m_mutex;
    bool m_is_made = false;
    CsrMatrix<Scalar, Ordinal, Offset, typename Space::memory_space> m_owned;
    matrix_view m_rows;
  };

  matrix_view m_csr;  ///< where there are no blocks
  std::int64_t m_num_rows = 0;
  std::int64_t m_num_cols = 0;
  std::optional<block_view> m_blocks;
  std::shared_ptr<Expansion> m_expansion;
  int m_unknowns_per_node = 1;
  vectors_view m_near_null_space;
  VectorView<const unsigned char, Space> m_wanted_rows;
  double m_least_diagonal = 1;
  double m_largest_diagonal = 0;
};

/// The knowledge that a matrix's user has besides its entries, see MatrixSource.
template <class Scalar, class Space>
struct NearNullSpace {
  MultiVector<Scalar, Space> vectors;  ///< n x k; 0 x 0: none
  int unknowns_per_node = 1;

  /// The rows with what is known of them. \throws InputError where it does not fit them
  MatrixSource<Scalar, Space> source(MatrixSource<Scalar, Space> rows) const {
    if (unknowns_per_node != 1) rows.set_unknowns_per_node(unknowns_per_node);
    if (vectors.extent(1) > 0) rows.set_near_null_space(vectors);
    return rows;
  }
};

}  // namespace prekond
