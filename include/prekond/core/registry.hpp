// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace prekond {

/// An algorithm's options, to be set, and what it is built from them.
template <class Product>
class Configurator {
 public:
  virtual ~Configurator() = default;
  virtual OptionFields fields() = 0;
  /// What the options say of the algorithm.
  virtual Properties properties() const = 0;
  /// One with the options in force: with a value for each that depends on others. \throws OptionError where
  /// options do not go together
  virtual std::unique_ptr<Configurator> resolved() const = 0;
  virtual std::unique_ptr<Product> build() const = 0;
};

/// What the factory, the driver, the tests and the documentation know of an algorithm.
template <class Product>
struct RegistryLine {
  std::string name;
  std::string summary;
  std::string paper;
  Properties properties;  ///< with the default options
  std::function<std::unique_ptr<Configurator<Product>>()> configure;
};

namespace impl {
template <class Product, class Algorithm>
class ConfiguratorOf : public Configurator<Product> {
 public:
  using Options = typename Algorithm::options_type;

  explicit ConfiguratorOf(const Options& options = {}) : m_options(options) {}
  OptionFields fields() override { return OptionFields::of(m_options); }
  Properties properties() const override { return m_options.properties(); }
  std::unique_ptr<Configurator<Product>> resolved() const override {
    return std::make_unique<ConfiguratorOf>(prekond::resolved(m_options));
  }
  std::unique_ptr<Product> build() const override { return std::make_unique<Algorithm>(m_options); }

 private:
  Options m_options;
};
}  // namespace impl

/// The line of an algorithm whose option struct names and describes it.
template <class Product, class Algorithm>
RegistryLine<Product> registry_line() {
  using Options = typename Algorithm::options_type;
  return {Options::name, Options::summary, Options::paper, Options().properties(),
          [] { return std::make_unique<impl::ConfiguratorOf<Product, Algorithm>>(); }};
}

template <class Product>
using Registry = std::vector<RegistryLine<Product>>;

/// \throws OptionError for an unknown name; it names the nearest one and lists all
template <class Product>
const RegistryLine<Product>& find_line(const Registry<Product>& registry, const std::string& name,
                                       const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& line : registry) {
    if (line.name == name) return line;
    names.push_back(line.name);
  }
  std::string all;
  for (const auto& known : names) all += (all.empty() ? "" : ", ") + known;
  throw OptionError("there is no " + kind + " '" + name + "'; did you mean '" + nearest_word(name, names) +
                    "'? (" + all + ")");
}

/// Builds an algorithm by name. \throws OptionError for an unknown name or option, or a value out of range
template <class Product>
std::unique_ptr<Product> create(const Registry<Product>& registry, const std::string& kind,
                                const std::string& name, const OptionMap& options) {
  auto configurator = find_line(registry, name, kind).configure();
  configurator->fields().set(options, name);
  return configurator->build();
}

/// The methods of a registry, for an option that chooses one of them (`OptionFields::method`).
template <class Product>
MethodTable method_table(const Registry<Product>& registry, const std::string& kind) {
  MethodTable table;
  for (const auto& line : registry) table.names.push_back(line.name);
  table.values = [registry, kind](const MethodChoice& choice) {
    const auto configurator = find_line(registry, choice.name, kind).configure();
    configurator->fields().set(choice.options, choice.name);
    return configurator->resolved()->fields().values();
  };
  return table;
}

}  // namespace prekond
