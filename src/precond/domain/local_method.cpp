// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/domain/local_method.hpp"

#include <prekond/precond/impl/local_methods.hpp>
#include <prekond/precond/impl/registered_methods.hpp>

#include "core/instantiate.hpp"
#include "precond/domain/dense_inverse.hpp"

#include <algorithm>

namespace prekond {
namespace {

constexpr const char* kind = "local method";

bool is_dense(const MethodChoice& choice) {
  return choice.name == DenseBlockOptions::name;
}

DenseBlockOptions dense_options(const MethodChoice& choice) {
  DenseBlockOptions options;
  OptionFields::of(options).set(choice.options, choice.name);
  return options;
}

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<impl::block::LocalMethod<Scalar, Space>> impl::block::create_local_method(
    const MethodChoice& choice) {
  if (is_dense(choice)) return std::make_unique<DenseInverse<Scalar, Space>>(dense_options(choice));
  return create_registered_method<Scalar, Space>(choice);
}

template <class Space>
MethodTable local_method_table() {
  MethodTable table = impl::registered_method_table<Space>(kind);
  table.names.insert(table.names.begin(), DenseBlockOptions::name);
  table.values = [names = table.names, others = table.values](const MethodChoice& choice) {
    if (std::find(names.begin(), names.end(), choice.name) == names.end())
      throw OptionError("there is no local method '" + choice.name + "'" + did_you_mean(choice.name, names));
    if (!is_dense(choice)) return others(choice);
    DenseBlockOptions options = dense_options(choice);
    return OptionFields::of(options).values();
  };
  return table;
}

template <class Space>
Properties local_method_properties(const MethodChoice& choice) {
  if (is_dense(choice)) return dense_options(choice).properties();
  Properties properties = impl::registered_method_properties<Space>(choice, kind);
  properties.factors_in_order = false;  // a partition has chosen the order of the rows
  return properties;
}

#define PREKOND_LOCAL_METHOD(Scalar, Space)                                                           \
  template std::unique_ptr<impl::block::LocalMethod<Scalar, Space>> impl::block::create_local_method( \
      const MethodChoice&);
PREKOND_INSTANTIATE(PREKOND_LOCAL_METHOD)

#define PREKOND_LOCAL_METHOD_TABLE(Space)           \
  template MethodTable local_method_table<Space>(); \
  template Properties local_method_properties<Space>(const MethodChoice&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LOCAL_METHOD_TABLE)

}  // namespace prekond
