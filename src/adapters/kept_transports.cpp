// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/kept_transports.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace prekond::mpi {
namespace {

class Group {
 public:
  explicit Group(MPI_Comm comm) { MPI_Comm_group(comm, &m_group); }
  Group(Group&& other) noexcept : m_group(std::exchange(other.m_group, MPI_GROUP_NULL)) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  Group& operator=(Group&&) = delete;
  ~Group() {
    if (m_group != MPI_GROUP_NULL) MPI_Group_free(&m_group);
  }

  /// The same processes in the same order?
  bool is(const Group& other) const {
    int result = MPI_UNEQUAL;
    MPI_Group_compare(m_group, other.m_group, &result);
    return result == MPI_IDENT;
  }

 private:
  MPI_Group m_group = MPI_GROUP_NULL;
};

struct Kept {
  FindTransport find;
  Group group;
  FoundTransport found;
};
using AllKept = std::vector<Kept>;

int forget(MPI_Comm, int, void* kept, void*) {
  delete static_cast<AllKept*>(kept);
  return MPI_SUCCESS;
}

/// An attribute of MPI_COMM_SELF, which MPI deletes before it ends.
AllKept& all_kept() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr);
    return made;
  }();
  void* kept = nullptr;
  int is_there = 0;
  MPI_Comm_get_attr(MPI_COMM_SELF, key, &kept, &is_there);
  if (is_there) return *static_cast<AllKept*>(kept);
  auto made = std::make_unique<AllKept>();
  MPI_Comm_set_attr(MPI_COMM_SELF, key, made.get());
  return *made.release();
}

}  // namespace

FoundTransport kept_transport(MPI_Comm comm, FindTransport find) {
  AllKept& all = all_kept();
  Group group(comm);
  for (const Kept& kept : all)
    if (kept.find == find && kept.group.is(group)) return kept.found;
  return all.emplace_back(Kept{find, std::move(group), find(comm)}).found;
}

}  // namespace prekond::mpi
