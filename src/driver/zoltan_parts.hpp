// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Parts of the rows that all processes find together, by the hypergraph method of Zoltan.
#include <string>
#include <vector>

#include "market_rows.hpp"
#include "processes.hpp"

namespace prekond::driver {

/// Was the command built with Zoltan? It is where it has MPI and Zoltan was found.
bool has_zoltan();

/// All: the process that each row of this process's block goes to.
///
/// The hypergraph has a vertex for each row, which weighs as much as the row has entries, and an edge for
/// each column: the rows with an entry there, and the column's own row, also where its diagonal entry is not
/// stored. An edge whose rows are on k processes costs k - 1: the messages that a product sends of that entry
/// of x. Rows go in as they are stored; no process sees the whole pattern. Parts have the same weight within
/// 3 %, where Zoltan finds such ones. With as many processes as rows, or more, process i gets row i.
///
/// Same input and same number of processes, same parts: the seed is fixed. Memory: Zoltan copies the block's
/// pattern with numbers of 64 bits, and sends it to where it works with it.
///
/// \pre a square matrix, columns ascending
///
/// \throws Failure on all processes the same: where a block has 2^31 entries or more, which Zoltan counts in
/// ints, where Zoltan fails, and in a build without it
std::vector<int> parts_by_zoltan(const Processes& processes, const HostRows& block);

/// \throws Failure with what `step` met, for a code of Zoltan's that means failure
void check_zoltan(int code, const std::string& step);

}  // namespace prekond::driver
