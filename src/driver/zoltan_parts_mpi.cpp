// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "distributed/row_partition.hpp"

#include <zoltan.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "failure.hpp"
#include "zoltan_parts.hpp"

namespace prekond::driver {
namespace {

/// A row's number takes so many of Zoltan's.
constexpr int id_length =
    static_cast<int>((sizeof(std::int64_t) + sizeof(ZOLTAN_ID_TYPE) - 1) / sizeof(ZOLTAN_ID_TYPE));

/// Writes the number `k` of a list, its low digits first.
void write_id(ZOLTAN_ID_PTR list, std::int64_t k, std::int64_t number) {
  constexpr int bits = 8 * static_cast<int>(sizeof(ZOLTAN_ID_TYPE));
  const auto digits = static_cast<std::uint64_t>(number);
  for (int d = 0; d < id_length; ++d)
    list[k * id_length + d] = static_cast<ZOLTAN_ID_TYPE>(digits >> (d * bits));
}

/// A block of rows as Zoltan asks for it. Its members are called from C: they do not throw.
class Hypergraph {
 public:
  /// \throws Failure for a block of more pins than Zoltan can count
  Hypergraph(const HostRows& block, std::int64_t first_row) : m_block(block), m_first_row(first_row) {
    std::int64_t pins = block.nnz();
    m_no_diagonal.resize(static_cast<std::size_t>(block.num_rows));
    for (std::int64_t i = 0; i < block.num_rows; ++i) {
      const int* cols = block.col_idxs.data();
      const bool found = std::binary_search(cols + block.row_ptrs(i), cols + block.row_ptrs(i + 1),
                                            static_cast<int>(first_row + i));
      m_no_diagonal[static_cast<std::size_t>(i)] = found ? 0 : 1;
      pins += found ? 0 : 1;
    }
    if (std::max(pins, block.num_rows) > std::numeric_limits<int>::max())
      throw Failure(other_error, "--partition zoltan: " + std::to_string(pins) +
                                     " entries are on one process, and Zoltan counts those in 32 bits; run "
                                     "more processes, or take --partition rows");
    m_num_pins = static_cast<int>(pins);
  }

  int num_rows() const { return static_cast<int>(m_block.num_rows); }

  /// All of Zoltan's questions. `this` has to outlive its work.
  void answer(Zoltan_Struct* zoltan) {
    Zoltan_Set_Num_Obj_Fn(zoltan, count_rows, this);
    Zoltan_Set_Obj_List_Fn(zoltan, list_rows, this);
    Zoltan_Set_HG_Size_CS_Fn(zoltan, count_pins, this);
    Zoltan_Set_HG_CS_Fn(zoltan, list_pins, this);
  }

 private:
  static const Hypergraph& self(void* data) { return *static_cast<const Hypergraph*>(data); }

  /// Pins of row i, its diagonal entry's among them.
  int length(std::int64_t i) const {
    return static_cast<int>(m_block.row_ptrs(i + 1) - m_block.row_ptrs(i)) +
           m_no_diagonal[static_cast<std::size_t>(i)];
  }

  static int count_rows(void* data, int* error) {
    *error = ZOLTAN_OK;
    return self(data).num_rows();
  }

  static void list_rows(void* data, int, int, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int, float* weights,
                        int* error) {
    const Hypergraph& h = self(data);
    for (int i = 0; i < h.num_rows(); ++i) {
      write_id(global, i, h.m_first_row + i);
      local[i] = static_cast<ZOLTAN_ID_TYPE>(i);
      weights[i] = static_cast<float>(h.length(i));
    }
    *error = ZOLTAN_OK;
  }

  static void count_pins(void* data, int* num_rows, int* num_pins, int* format, int* error) {
    *num_rows = self(data).num_rows();
    *num_pins = self(data).m_num_pins;
    *format = ZOLTAN_COMPRESSED_VERTEX;
    *error = ZOLTAN_OK;
  }

  static void list_pins(void* data, int, int, int, int, ZOLTAN_ID_PTR rows, int* row_begins,
                        ZOLTAN_ID_PTR pins, int* error) {
    const Hypergraph& h = self(data);
    int k = 0;
    for (int i = 0; i < h.num_rows(); ++i) {
      write_id(rows, i, h.m_first_row + i);
      row_begins[i] = k;
      for (std::size_t e = h.m_block.row_ptrs(i); e < h.m_block.row_ptrs(i + 1); ++e)
        write_id(pins, k++, h.m_block.col_idxs(e));
      if (h.m_no_diagonal[static_cast<std::size_t>(i)]) write_id(pins, k++, h.m_first_row + i);
    }
    *error = ZOLTAN_OK;
  }

  const HostRows& m_block;
  std::int64_t m_first_row;
  std::vector<char> m_no_diagonal;  ///< 1 where it is not stored
  int m_num_pins = 0;
};

/// All: Zoltan on all processes, while it lives.
class Zoltan {
 public:
  Zoltan() {
    float version = 0;
    m_code = Zoltan_Initialize(0, nullptr, &version);
    if (m_code >= ZOLTAN_OK) m_zoltan = Zoltan_Create(MPI_COMM_WORLD);
  }
  ~Zoltan() {
    if (m_zoltan != nullptr) Zoltan_Destroy(&m_zoltan);
  }
  Zoltan(const Zoltan&) = delete;
  Zoltan& operator=(const Zoltan&) = delete;

  Zoltan_Struct* get() const { return m_zoltan; }

  /// \throws Failure where it did not start, or does not take an option
  void configure(int num_parts) const {
    check_zoltan(m_code >= ZOLTAN_OK && m_zoltan == nullptr ? ZOLTAN_MEMERR : m_code, "its start");
    const std::string ids = std::to_string(id_length), parts = std::to_string(num_parts);
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"DEBUG_LEVEL", "0"},  // nothing on standard output
             {"PHG_OUTPUT_LEVEL", "0"},
             {"NUM_GID_ENTRIES", ids.c_str()},
             {"NUM_LID_ENTRIES", "1"},
             {"OBJ_WEIGHT_DIM", "1"},
             {"EDGE_WEIGHT_DIM", "0"},
             {"LB_METHOD", "HYPERGRAPH"},
             {"HYPERGRAPH_PACKAGE", "PHG"},
             {"LB_APPROACH", "PARTITION"},
             {"NUM_GLOBAL_PARTS", parts.c_str()},
             {"IMBALANCE_TOL", "1.03"},
             {"PHG_CUT_OBJECTIVE", "CONNECTIVITY"},
             {"PHG_EDGE_SIZE_THRESHOLD", "1.0"},  // no column is left out of the cut
             {"RETURN_LISTS", "EXPORT"},
             {"SEED", "1"}}) {
      const int code = Zoltan_Set_Param(m_zoltan, name, value);
      // It warns of names that it does not know.
      check_zoltan(code == ZOLTAN_WARN ? ZOLTAN_FATAL : code, std::string("its option ") + name);
    }
  }

 private:
  Zoltan_Struct* m_zoltan = nullptr;
  int m_code = ZOLTAN_OK;
};

/// What Zoltan found: rows that leave their process.
struct Moves {
  Moves() = default;
  ~Moves() {
    Zoltan_LB_Free_Part(&in_global, &in_local, &in_ranks, &in_parts);
    Zoltan_LB_Free_Part(&global, &local, &ranks, &parts);
  }
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;

  /// All. The code is Zoltan's.
  int find(Zoltan_Struct* zoltan) {
    int changes = 0, global_length = 0, local_length = 0, num_in = 0;
    return Zoltan_LB_Partition(zoltan, &changes, &global_length, &local_length, &num_in, &in_global,
                               &in_local, &in_ranks, &in_parts, &count, &global, &local, &ranks, &parts);
  }

  int count = 0;
  ZOLTAN_ID_PTR global = nullptr, local = nullptr, in_global = nullptr, in_local = nullptr;
  int *ranks = nullptr, *parts = nullptr, *in_ranks = nullptr, *in_parts = nullptr;
};

/// \throws Failure for what is no row or no process
std::vector<int> parts_of(const Processes& processes, const Moves& moves, int num_rows) {
  std::vector<int> parts(static_cast<std::size_t>(num_rows), processes.rank());
  for (int k = 0; k < moves.count; ++k) {
    const auto row = static_cast<std::size_t>(moves.local[k]);
    if (row >= parts.size() || moves.parts[k] < 0 || moves.parts[k] >= processes.size())
      throw Failure(other_error, "--partition zoltan: Zoltan put row " + std::to_string(row) +
                                     " of a block into part " + std::to_string(moves.parts[k]) +
                                     ", which is no process; take another partition");
    parts[row] = moves.parts[k];
  }
  return parts;
}

}  // namespace

bool has_zoltan() {
  return true;
}

void check_zoltan(int code, const std::string& step) {
  if (code == ZOLTAN_OK || code == ZOLTAN_WARN) return;
  throw Failure(other_error, code == ZOLTAN_MEMERR
                                 ? "--partition zoltan: not enough memory for Zoltan (" + step +
                                       "): run more processes on more memory, or take --partition rows"
                                 : "--partition zoltan: Zoltan failed with the number " +
                                       std::to_string(code) + " (" + step + "); take another partition");
}

std::vector<int> parts_by_zoltan(const Processes& processes, const HostRows& block) {
  const std::int64_t first_row = RowPartition{block.num_cols, processes.size()}.begin(processes.rank());
  std::vector<int> parts;
  if (block.num_cols <= processes.size()) {
    for (std::int64_t i = 0; i < block.num_rows; ++i) parts.push_back(static_cast<int>(first_row + i));
    return parts;
  }
  std::optional<Hypergraph> hypergraph;
  processes.together([&] { hypergraph.emplace(block, first_row); });
  const Zoltan zoltan;
  processes.together([&] {
    zoltan.configure(processes.size());
    hypergraph->answer(zoltan.get());
  });
  Moves moves;
  const int code = moves.find(zoltan.get());
  processes.together([&] {
    check_zoltan(code, "its partition");
    parts = parts_of(processes, moves, hypergraph->num_rows());
  });
  return parts;
}

}  // namespace prekond::driver
