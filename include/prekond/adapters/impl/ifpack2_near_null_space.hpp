// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The facts that a parameter list may state about a matrix besides its entries.
#include <prekond/adapters/tpetra.hpp>
#include <prekond/core/error.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/precond/amg.hpp>

#include <Teuchos_ParameterList.hpp>
#include <Teuchos_ParameterListExceptions.hpp>

#include <ostream>
#include <string>

namespace prekond::ifpack2::impl {

/// The parameters "Nullspace" and "Coordinates", which keep the user's vectors.
template <class MultiVectorType>
class NearNullSpaceParameters {
 public:
  using scalar_type = typename MultiVectorType::scalar_type;
  using space_type = typename MultiVectorType::execution_space;
  using near_null_space_type = NearNullSpace<scalar_type, space_type>;

  /// Takes them out of the list, where it has them. \throws Teuchos::Exceptions::InvalidParameter for another
  /// type
  void take_from(Teuchos::ParameterList& list) {
    take(list, null_space_name, m_null_space);
    take(list, coordinates_name, m_coordinates);
  }

  void add_to(Teuchos::ParameterList& list) const {
    list.set(null_space_name, m_null_space,
             "vectors over the row map that the matrix nearly annihilates, for amg");
    list.set(coordinates_name, m_coordinates,
             "of the nodes, 2 or 3 each: the vectors are the rigid body modes");
  }

  /// A line each, as of other options.
  void print_to(std::ostream& out) const {
    const auto line = [&](const char* name, const Pointer& vectors) {
      out << name << ": ";
      vectors.is_null() ? out << "none\n" : out << vectors->getNumVectors() << " vectors\n";
    };
    line(null_space_name, m_null_space);
    line(coordinates_name, m_coordinates);
  }

  /// The near null space of a rank with `num_rows` rows. \throws InputError where the rows do not fit
  near_null_space_type of(const space_type& space, std::int64_t num_rows) const {
    if (!m_null_space.is_null()) return {copy_of(space, *m_null_space, null_space_name), 1};
    if (m_coordinates.is_null()) return {};
    const auto x = copy_of(space, *m_coordinates, coordinates_name);
    const auto dimensions = static_cast<std::int64_t>(x.extent(1));
    if (static_cast<std::int64_t>(x.extent(0)) * dimensions != num_rows)
      throw InputError(std::string("'") + coordinates_name + "' has " + std::to_string(x.extent(0)) +
                       " nodes with " + std::to_string(dimensions) + " coordinates on this rank, which has " +
                       std::to_string(num_rows) +
                       " rows; they are for matrices with as many displacements a node as coordinates");
    return {rigid_body_modes<scalar_type, space_type>(space, x), static_cast<int>(dimensions)};
  }

 private:
  using Pointer = Teuchos::RCP<const MultiVectorType>;

  static constexpr const char* null_space_name = "Nullspace";
  static constexpr const char* coordinates_name = "Coordinates";

  static void take(Teuchos::ParameterList& list, const char* name, Pointer& vectors) {
    if (!list.isParameter(name)) return;
    if (list.isType<Teuchos::RCP<MultiVectorType>>(name))
      vectors = list.get<Teuchos::RCP<MultiVectorType>>(name);
    else if (list.isType<Pointer>(name))
      vectors = list.get<Pointer>(name);
    else
      throw Teuchos::Exceptions::InvalidParameter(std::string("'") + name +
                                                  "' has to be a Teuchos::RCP of a Tpetra::MultiVector with "
                                                  "the matrix's types of numbers and indices");
    list.remove(name);
  }

  static MultiVector<scalar_type, space_type> copy_of(const space_type& space, const MultiVectorType& x,
                                                      const char* name) {
    if (!x.isConstantStride())
      throw InputError(std::string("the vectors of '") + name + "' do not lie at one stride; give a copy");
    const auto copy = allocate<MultiVector<scalar_type, space_type>>(
        space, "prekond::ifpack2::near_null_space", x.getLocalLength(), static_cast<int>(x.getNumVectors()));
    const auto view = tpetra::device_view(x);
    for (std::size_t k = 0; k < copy.extent(1); ++k)
      Kokkos::deep_copy(space, Kokkos::subview(copy, Kokkos::ALL, k), Kokkos::subview(view, Kokkos::ALL, k));
    space.fence("prekond::ifpack2::near_null_space");
    return copy;
  }

  Pointer m_null_space, m_coordinates;
};

}  // namespace prekond::ifpack2::impl
