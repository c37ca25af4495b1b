// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Teuchos_Range1D.hpp>
#include <Tpetra_MultiVector.hpp>

#include <cstddef>

namespace prekond::tpetra::impl {

/// Vectors that messages fill. Tpetra keeps a message's memory with them, so they are kept too: as many as
/// were asked for at once. The message's own memory is kept from one k to the same.
template <class MultiVector>
class ReceivedVectors {
 public:
  explicit ReceivedVectors(const Teuchos::RCP<const typename MultiVector::map_type>& map) : m_map(map) {}

  /// k of them; allocates where k is larger than ever before. \pre k > 0
  MultiVector& first(std::size_t k) {
    if (!m_first.is_null() && m_first->getNumVectors() == k) return *m_first;
    if (m_all.getNumVectors() < k) {
      m_first = Teuchos::null;  // what it holds is given back before more is taken
      m_all = MultiVector();
      m_all = MultiVector(m_map, k, false);
    }
    m_first = m_all.subViewNonConst(Teuchos::Range1D(0, static_cast<int>(k) - 1));
    return *m_first;
  }

 private:
  Teuchos::RCP<const typename MultiVector::map_type> m_map;
  MultiVector m_all;
  Teuchos::RCP<MultiVector> m_first;  ///< a view of m_all
};

}  // namespace prekond::tpetra::impl
