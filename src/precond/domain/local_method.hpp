// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The interface of what solves the systems of subdomains: the dense inverse, or any preconditioner.
#include <prekond/core/options.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/report.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include "precond/domain/subdomains.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace prekond::impl::block {

/// The matrix of a numeric phase: its values, and which of them are in the blocks.
template <class Scalar, class Space>
struct BlockValues {
  const DiagonalBlocks<Space>& blocks;
  VectorView<const Scalar, Space> a;
};

/// A workspace that knows for which layout of subdomains it was made.
struct LayoutWorkspace : Workspace {
  explicit LayoutWorkspace(std::int64_t places, int largest_subdomain)
      : num_places(places), largest(largest_subdomain) {}
  std::int64_t num_places;
  int largest;
};

/// The workspace with the type that `make_workspace` gives it. `name`: the preconditioner's, for messages.
/// \throws std::logic_error for one that was made before `symbolic`, by another preconditioner, or for
/// another layout
template <class Own>
Own& own_workspace(Workspace& workspace, std::int64_t num_places, int largest, const std::string& name) {
  auto* const own = dynamic_cast<Own*>(&workspace);
  if (own == nullptr)
    throw std::logic_error(name +
                           ": the workspace was made before symbolic, or by another preconditioner; call "
                           "make_workspace again");
  if (own->num_places != num_places || own->largest != largest)
    throw std::logic_error(
        name + ": the workspace was made for blocks of " + std::to_string(own->num_places) +
        " rows together and " + std::to_string(own->largest) + " at most, and there are " +
        std::to_string(num_places) + " and " + std::to_string(largest) + "; call make_workspace again");
  return *own;
}

/// The subdomains that the options ask for: parts of a matrix's rows, with their neighbours at a distance of
/// up to `levels` steps in its graph.
struct WantedSubdomains {
  std::int64_t num_rows = 0, nnz = 0;
  int part_rows = 0;  ///< in the mean; 0: a user's parts
  int levels = 0;
};

inline constexpr double most_bytes = double(std::int64_t(16) << 30);

/// The automatic `memory_budget` of a local method. For parts with neighbours it is 16 times the bytes of
/// cubes of a three-dimensional mesh, where a row with d entries reaches cbrt(d) - 1 rows further in each
/// direction together. `bytes(rows)` are those of a subdomain.
template <class Bytes>
double bytes_allowed(const WantedSubdomains& wanted, const Bytes& bytes) {
  constexpr double allowance = 16, least = double(std::int64_t(16) << 20);
  if (wanted.part_rows == 0 || wanted.levels == 0) return most_bytes;
  const auto n = static_cast<double>(wanted.num_rows);
  const double part = std::min(n, double(wanted.part_rows));
  const double side = std::cbrt(part) + wanted.levels * (std::cbrt(1 + double(wanted.nnz) / n) - 1);
  return std::clamp(allowance * (n / part) * bytes(side * side * side), least, most_bytes);
}

/// Approximate inverses of all blocks. An object is made for one pattern.
template <class Scalar, class Space>
class LocalMethod {
 public:
  virtual ~LocalMethod() = default;

  /// While the subdomains of `wanted` grow. \throws InputError where what there is of
  /// them takes too many bytes
  virtual void check_growth(const WantedSubdomains& wanted, const GrownSubdomains& grown) const = 0;
  /// To be called once, before others but check_growth. The method copies what it keeps of `blocks` (views
  /// are shared).
  virtual void symbolic(const Space& space, const BlockValues<Scalar, Space>& values) = 0;
  /// Leaves the earlier values as they were where it throws. Sets nnz, bytes (without the arrays of `blocks`
  /// that it shares), flops and breakdowns, and appends notes.
  virtual void numeric(const Space& space, const BlockValues<Scalar, Space>& values, Report& report) = 0;
  /// \returns a LayoutWorkspace, or an object of a class derived from it
  virtual std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const = 0;
  /// y(to(k)) = (B^-1 x(from))_k for k vectors. Allocates nothing, does not fence. \throws
  /// std::logic_error see own_workspace
  virtual void apply(const Space& space, const Transfer<Space>& transfer,
                     MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                     Workspace& workspace) const = 0;

  /// The properties that follow from the options, and after `numeric` also from the matrix.
  virtual Properties properties() const = 0;
  using Listener = std::function<void(const std::string&)>;
  virtual void set_listener(const Listener&) {}
};

/// The dense inverse, or the registered preconditioner of this name. \throws OptionError
template <class Scalar, class Space>
std::unique_ptr<LocalMethod<Scalar, Space>> create_local_method(const MethodChoice& choice);

/// A registered preconditioner, of the block-diagonal matrix. \throws OptionError
template <class Scalar, class Space>
std::unique_ptr<LocalMethod<Scalar, Space>> create_registered_method(const MethodChoice& choice);

}  // namespace prekond::impl::block
