// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What solves the systems of subdomains, one interface for those of a team a block and for any
/// preconditioner.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/registry.hpp>
#include <prekond/core/report.hpp>
#include <prekond/core/workspace.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include "precond/domain/subdomains.hpp"

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

/// A workspace that knows which layout of subdomains it was made for.
struct LayoutWorkspace : Workspace {
  explicit LayoutWorkspace(std::int64_t places, int largest_subdomain)
      : num_places(places), largest(largest_subdomain) {}
  std::int64_t num_places;
  int largest;
};

/// The workspace as what `make_workspace` makes. `name`: whose, in the message. \throws std::logic_error for
/// one that was made before `symbolic`, by another preconditioner, or for another layout
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

/// Approximate inverses of all blocks. An object is made for one pattern.
template <class Scalar, class Space>
class LocalMethod {
 public:
  virtual ~LocalMethod() = default;

  /// Once, before all else. What the method keeps of `blocks` it copies (views are shared).
  virtual void symbolic(const Space& space, const BlockValues<Scalar, Space>& values) = 0;
  /// Where it throws, what was there before is left as it was. Sets nnz, bytes (without the arrays of
  /// `blocks` that it shares), flops, breakdowns, and appends notes.
  virtual void numeric(const Space& space, const BlockValues<Scalar, Space>& values, Report& report) = 0;
  /// A LayoutWorkspace, or what derives from it.
  virtual std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const = 0;
  /// y(to(k)) = (B^-1 x(from))_k for k vectors. Allocates nothing, does not fence. \throws
  /// std::logic_error see own_workspace
  virtual void apply(const Space& space, const Transfer<Space>& transfer,
                     MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                     Workspace& workspace) const = 0;

  /// What the options say, and what the matrix adds to it.
  virtual Properties properties() const = 0;
  using Listener = std::function<void(const std::string&)>;
  virtual void set_listener(const Listener&) {}
};

/// The methods of a team a block, in the order in which they are listed.
template <class Scalar, class Space>
const Registry<LocalMethod<Scalar, Space>>& local_method_registry();

/// The method of this name: of a team a block, else of the preconditioners' registry. \throws OptionError
template <class Scalar, class Space>
std::unique_ptr<LocalMethod<Scalar, Space>> create_local_method(const MethodChoice& choice);

/// Any preconditioner, of the block-diagonal matrix. `name` and options are the registry's.
template <class Scalar, class Space>
std::unique_ptr<LocalMethod<Scalar, Space>> create_registered_method(const MethodChoice& choice);

}  // namespace prekond::impl::block
