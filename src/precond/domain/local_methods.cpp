// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/local_methods.hpp>
#include <prekond/precond/registry.hpp>

#include "core/instantiate.hpp"
#include "precond/domain/dense_inverse.hpp"
#include "precond/domain/incomplete_factors.hpp"
#include "precond/domain/local_method.hpp"

namespace prekond {
namespace impl::block {

template <class Scalar, class Space>
const Registry<LocalMethod<Scalar, Space>>& local_method_registry() {
  using Product = LocalMethod<Scalar, Space>;
  static const Registry<Product> registry = {
      registry_line<Product, DenseInverse<Scalar, Space>>(),
      registry_line<Product, IncompleteFactors<Scalar, Space, LocalIlu0Options>>(),
      registry_line<Product, IncompleteFactors<Scalar, Space, LocalIc0Options>>(),
      registry_line<Product, IncompleteFactors<Scalar, Space, LocalIlutOptions>>(),
  };
  return registry;
}

namespace {

template <class Product>
bool has_line(const Registry<Product>& registry, const std::string& name) {
  for (const auto& line : registry)
    if (line.name == name) return true;
  return false;
}

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<LocalMethod<Scalar, Space>> create_local_method(const MethodChoice& choice) {
  const auto& own = local_method_registry<Scalar, Space>();
  if (has_line(own, choice.name)) return create(own, "local method", choice.name, choice.options);
  return create_registered_method<Scalar, Space>(choice);
}

#define PREKOND_LOCAL_METHODS(Scalar, Space)                                                   \
  template const Registry<LocalMethod<Scalar, Space>>& local_method_registry<Scalar, Space>(); \
  template std::unique_ptr<LocalMethod<Scalar, Space>> create_local_method<Scalar, Space>(     \
      const MethodChoice&);
PREKOND_INSTANTIATE(PREKOND_LOCAL_METHODS)

}  // namespace impl::block

// The preconditioners' registry has block_jacobi and schwarz in it: it is asked for when a name is looked up,
// not when their lines are made.
template <class Space>
MethodTable local_method_table() {
  const auto& own = impl::block::local_method_registry<double, Space>();
  const auto& registered = preconditioner_registry<double, Space>();
  MethodTable table = method_table(own, "local method");
  const MethodTable others = method_table(registered, "local method");
  for (const auto& name : others.names)
    if (!impl::block::has_line(own, name)) table.names.push_back(name);
  table.values = [names = table.names, in_blocks = table.values, others](const MethodChoice& choice) {
    if (impl::block::has_line(impl::block::local_method_registry<double, Space>(), choice.name))
      return in_blocks(choice);
    for (const auto& name : others.names)
      if (name == choice.name) return others.values(choice);
    throw OptionError("there is no local method '" + choice.name + "'; did you mean '" +
                      nearest_word(choice.name, names) + "'?");
  };
  return table;
}

template <class Space>
Properties local_method_properties(const MethodChoice& choice) {
  const auto of = [&](const auto& registry) {
    const auto configurator = find_line(registry, choice.name, "local method").configure();
    configurator->fields().set(choice.options, choice.name);
    Properties properties = configurator->properties();
    properties.factors_in_order = false;  // of blocks, whose rows a partition has chosen
    return properties;
  };
  const auto& own = impl::block::local_method_registry<double, Space>();
  if (impl::block::has_line(own, choice.name)) return of(own);
  return of(preconditioner_registry<double, Space>());
}

#define PREKOND_LOCAL_METHOD_TABLE(Space)           \
  template MethodTable local_method_table<Space>(); \
  template Properties local_method_properties<Space>(const MethodChoice&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LOCAL_METHOD_TABLE)

}  // namespace prekond
