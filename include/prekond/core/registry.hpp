// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// An algorithm's options, to be set, and what it is built from them.
template <class Base>
class Configurator {
 public:
  virtual ~Configurator() = default;
  virtual OptionFields fields() = 0;
  /// The properties that follow from the options.
  virtual Properties properties() const = 0;
  /// One with the options in force: with a value for each that depends on others. \throws OptionError where
  /// options do not go together
  virtual std::unique_ptr<Configurator> resolved() const = 0;
  virtual std::unique_ptr<Base> build() const = 0;
};

/// The facts about a name for the factory, the driver, the tests and the documentation.
template <class Base>
struct RegistryEntry {
  std::string name;
  std::string summary;
  std::string paper;
  Properties properties;  ///< with the default options of this name
  std::function<std::unique_ptr<Configurator<Base>>()> configure;
  std::string alias_of = {};  ///< the main name of the same algorithm; empty for the main name itself
  OptionMap preset = {};      ///< the options that an alias sets; a user may set them again
};

namespace impl {
template <class Base, class Algorithm>
class ConfiguratorOf : public Configurator<Base> {
 public:
  using Options = typename Algorithm::options_type;

  explicit ConfiguratorOf(const Options& options = {}) : m_options(options) {}
  OptionFields fields() override { return OptionFields::of(m_options); }
  Properties properties() const override { return m_options.properties(); }
  std::unique_ptr<Configurator<Base>> resolved() const override {
    return std::make_unique<ConfiguratorOf>(prekond::resolved(m_options));
  }
  std::unique_ptr<Base> build() const override { return std::make_unique<Algorithm>(m_options); }

 private:
  Options m_options;
};
}  // namespace impl

/// The entry of an algorithm whose option struct names and describes it.
template <class Base, class Algorithm>
RegistryEntry<Base> registry_entry() {
  using Options = typename Algorithm::options_type;
  return {.name = Options::name,
          .summary = Options::summary,
          .paper = Options::paper,
          .properties = Options().properties(),
          .configure = [] { return std::make_unique<impl::ConfiguratorOf<Base, Algorithm>>(); }};
}

/// A further name of an algorithm, under which some options have other defaults. Everything else is as under
/// the main name. \throws OptionError for a preset that the algorithm does not take
template <class Base, class Algorithm>
RegistryEntry<Base> registry_alias(const std::string& name, const std::string& summary,
                                   const OptionMap& preset) {
  typename Algorithm::options_type options;
  OptionFields::of(options).set(preset, name);
  RegistryEntry<Base> entry = registry_entry<Base, Algorithm>();
  entry.alias_of = entry.name;
  entry.name = name;
  entry.summary = summary;
  entry.properties = options.properties();
  entry.configure = [options] { return std::make_unique<impl::ConfiguratorOf<Base, Algorithm>>(options); };
  entry.preset = preset;
  return entry;
}

template <class Base>
using Registry = std::vector<RegistryEntry<Base>>;

template <class Base>
std::vector<std::string> registered_names(const Registry<Base>& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry) names.push_back(entry.name);
  return names;
}

/// The entry of a main name or an alias, found as by `find_name`. \throws OptionError for an unknown name; it
/// names the nearest ones and lists all
template <class Base>
const RegistryEntry<Base>& find_registered(const Registry<Base>& registry, const std::string& name,
                                           const std::string& kind) {
  const std::vector<std::string> names = registered_names(registry);
  if (const std::string* found = find_name(name, names))
    return registry[static_cast<std::size_t>(found - names.data())];
  std::string all;
  for (const auto& known : names) all += (all.empty() ? "" : ", ") + known;
  throw OptionError("there is no " + kind + " '" + name + "'" + did_you_mean(name, names) + " (" + all + ")");
}

/// The chosen method with its options, and with those of its defaults that go with them.
/// \throws OptionError for an unknown name or option, or a value out of range
template <class Base>
std::unique_ptr<Configurator<Base>> configured(const Registry<Base>& registry, const MethodChoice& choice,
                                               const std::string& kind) {
  const auto& entry = find_registered(registry, choice.name, kind);
  const auto with = [&](const OptionMap& options) {
    auto configurator = entry.configure();
    configurator->fields().set(options, entry.name);
    return configurator;
  };
  auto result = with(choice.options);
  OptionMap options = choice.options;
  for (const auto& preset : choice.defaults) {
    OptionMap more = options;
    more.insert(preset);
    try {
      auto next = with(more);
      (void)next->resolved();
      result = std::move(next);
      options = more;
    } catch (const OptionError&) {  // the user has set what excludes this default
    }
  }
  return result;
}

/// Builds an algorithm by name. \throws OptionError for an unknown name or option, or a value out of range
template <class Base>
std::unique_ptr<Base> create(const Registry<Base>& registry, const std::string& kind, const std::string& name,
                             const OptionMap& options) {
  return configured(registry, {name, options}, kind)->build();
}

/// The methods of a registry, for an option that chooses one of them (`OptionFields::method`).
template <class Base>
MethodTable method_table(const Registry<Base>& registry, const std::string& kind) {
  return {registered_names(registry), [registry, kind](const MethodChoice& choice) {
            return configured(registry, choice, kind)->resolved()->fields().values();
          }};
}

}  // namespace prekond
