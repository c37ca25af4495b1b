// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Prekond's operators and preconditioners for Belos, whose solvers on Tpetra vectors take a
/// Tpetra::Operator. Needs the target prekond::trilinos.
///
/// A preconditioner made by `prekond::ifpack2::create` is a Tpetra::Operator already. This header is for
/// operators without a matrix, and for preconditioners of one's own.
#include <prekond/adapters/impl/agreement.hpp>
#include <prekond/adapters/impl/apply_to_tpetra.hpp>
#include <prekond/core/error.hpp>

#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Operator.hpp>

#include <concepts>
#include <memory>

namespace prekond::belos {

namespace impl {
/// Collective. \throws InputError on all ranks where `wrong` on one, with that one's text
template <class Map, class Text>
void refuse_together(const Map& map, bool wrong, const Text& text) {
  tpetra::together(
      *map.getComm(),
      [&] {
        if (wrong) throw InputError(text());
      },
      [](std::int64_t) { return std::string(); });
}
}  // namespace impl

/// A Prekond operator on Tpetra's vectors. It sees one rank's rows; what it needs of other ranks is its own
/// affair.
///
/// Y = alpha A X + beta Y. Where X and Y share memory, X is copied first. Two threads must not apply the same
/// object.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class OperatorOnTpetra : public Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node> {
 public:
  using space_type = typename Node::execution_space;
  using map_type = Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>;
  using multivector_type = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using operator_type = Operator<Scalar, space_type>;

  /// Collective. `map` distributes x and y. \throws InputError on all ranks where it gives one of them
  /// another number of rows than `a` has
  OperatorOnTpetra(std::shared_ptr<const operator_type> a, Teuchos::RCP<const map_type> map)
      : m_a(std::move(a)), m_map(std::move(map)) {
    const auto rows = static_cast<std::int64_t>(m_map->getLocalNumElements());
    impl::refuse_together(*m_map, m_a->num_rows() != rows || m_a->num_cols() != rows, [&] {
      return "the operator is " + std::to_string(m_a->num_rows()) + " x " + std::to_string(m_a->num_cols()) +
             " on this rank, the map has " + std::to_string(rows) + " rows here";
    });
  }

  Teuchos::RCP<const map_type> getDomainMap() const override { return m_map; }
  Teuchos::RCP<const map_type> getRangeMap() const override { return m_map; }

  /// \throws std::invalid_argument for a transposed mode, or where sizes do not fit
  void apply(const multivector_type& x, multivector_type& y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             Scalar alpha = Scalar(1), Scalar beta = Scalar(0)) const override {
    tpetra::impl::check_sizes("the operator", x, y, m_a->num_rows());
    if (mode != Teuchos::NO_TRANS)
      throw std::invalid_argument("an operator without a matrix cannot apply its transpose");
    tpetra::impl::for_views<Scalar, space_type>(m_space, x, y, m_copy, [&](const auto& from, const auto& to) {
      m_a->apply(m_space, from, to, alpha, beta);
    });
  }

 private:
  std::shared_ptr<const operator_type> m_a;
  Teuchos::RCP<const map_type> m_map;
  space_type m_space;
  mutable tpetra::impl::VectorBuffer<Scalar, space_type> m_copy;
};

/// A Prekond preconditioner, one of the library's that is set up or one of your own, on Tpetra's vectors: for
/// Belos on the left or on the right. It acts on one rank's rows.
///
/// Y = alpha M^-1 X + beta Y. No allocation once it was applied to as many vectors. Two threads must not
/// apply the same object.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class PreconditionerOnTpetra : public Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node> {
 public:
  using space_type = typename Node::execution_space;
  using map_type = Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>;
  using multivector_type = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using preconditioner_type = Preconditioner<Scalar, space_type>;

  /// Collective. \throws InputError on all ranks where the map gives one of them another number of rows than
  /// `m` has
  PreconditionerOnTpetra(std::shared_ptr<const preconditioner_type> m, Teuchos::RCP<const map_type> map)
      : m_m(std::move(m)), m_map(std::move(map)) {
    const auto rows = static_cast<std::int64_t>(m_map->getLocalNumElements());
    impl::refuse_together(*m_map, m_m->num_rows() != rows, [&] {
      return m_m->name() + " has " + std::to_string(m_m->num_rows()) + " rows on this rank, the map " +
             std::to_string(rows);
    });
  }

  Teuchos::RCP<const map_type> getDomainMap() const override { return m_map; }
  Teuchos::RCP<const map_type> getRangeMap() const override { return m_map; }
  bool hasTransposeApply() const override { return m_m->is_symmetric(); }

  /// \throws std::invalid_argument where sizes do not fit, or for a transposed mode that it has not
  void apply(const multivector_type& x, multivector_type& y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             Scalar alpha = Scalar(1), Scalar beta = Scalar(0)) const override {
    m_application(m_space, *m_m, x, y, mode, alpha, beta);
  }

 private:
  std::shared_ptr<const preconditioner_type> m_m;
  Teuchos::RCP<const map_type> m_map;
  space_type m_space;
  mutable tpetra::impl::Application<Scalar, space_type> m_application;
};

/// A Prekond operator or preconditioner, of any type derived from the two, as the operator of a
/// Belos::LinearProblem or its preconditioner. Collective. \throws InputError on all ranks where the map does
/// not fit on one
template <class Product, class LocalOrdinal, class GlobalOrdinal, class Node>
auto as_tpetra(const std::shared_ptr<Product>& product,
               const Teuchos::RCP<const Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>>& map) {
  using Scalar = typename Product::scalar_type;
  using Space = typename Node::execution_space;
  using Result = Teuchos::RCP<Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node>>;
  if constexpr (std::derived_from<Product, Operator<Scalar, Space>>) {
    return Result(new OperatorOnTpetra<Scalar, LocalOrdinal, GlobalOrdinal, Node>(product, map));
  } else {
    static_assert(std::derived_from<Product, Preconditioner<Scalar, Space>>,
                  "as_tpetra takes an Operator or a Preconditioner on the execution space of the map's Node");
    return Result(new PreconditionerOnTpetra<Scalar, LocalOrdinal, GlobalOrdinal, Node>(product, map));
  }
}

}  // namespace prekond::belos
