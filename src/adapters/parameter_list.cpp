// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/adapters/impl/parameter_list.hpp>
#include <prekond/core/error.hpp>

#include <Teuchos_ParameterListExceptions.hpp>
#include <Teuchos_StandardParameterEntryValidators.hpp>

#include <algorithm>
#include <limits>

namespace prekond::tpetra {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Teuchos::Exceptions::InvalidParameter(message);
}

/// The entry as To, where it is a From.
template <class To, class From>
bool take(const Teuchos::ParameterEntry& entry, OptionValue& value) {
  if (!entry.isType<From>()) return false;
  value = static_cast<To>(Teuchos::getValue<From>(entry));
  return true;
}

bool take_unsigned(const Teuchos::ParameterEntry& entry, OptionValue& value, const std::string& name) {
  if (!entry.isType<unsigned long long>() && !entry.isType<unsigned long>()) return false;
  const unsigned long long number = entry.isType<unsigned long>()
                                        ? Teuchos::getValue<unsigned long>(entry)
                                        : Teuchos::getValue<unsigned long long>(entry);
  if (number > static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max()))
    refuse("option '" + name + "' = " + std::to_string(number) + " does not fit in 64 bits with a sign");
  value = static_cast<std::int64_t>(number);
  return true;
}

OptionValue to_value(const Teuchos::ParameterEntry& entry, const std::string& name,
                     const std::string& owner) {
  OptionValue value;
  using Int = std::int64_t;
  const bool known = take<bool, bool>(entry, value) || take<Int, int>(entry, value) ||
                     take<Int, long>(entry, value) || take<Int, long long>(entry, value) ||
                     take<Int, short>(entry, value) || take<Int, unsigned>(entry, value) ||
                     take<double, double>(entry, value) || take<double, float>(entry, value) ||
                     take<std::string, std::string>(entry, value) || take_unsigned(entry, value, name);
  if (!known)
    refuse("'" + owner + "': the parameter '" + name + "' has type " + entry.getAny(false).typeName() +
           "; options are bool, int, long long, double or std::string");
  return value;
}

bool has_nested(const OptionFields& fields, const std::string& name) {
  const auto nested = [&](const OptionField& field) {
    return field.name.starts_with(name + ".") || (field.kind == "method" && field.name == name);
  };
  return std::any_of(fields.list().begin(), fields.list().end(), nested);
}

void flatten(const OptionFields& fields, const Teuchos::ParameterList& list, const std::string& prefix,
             const std::string& owner, OptionMap& options) {
  for (auto entry = list.begin(); entry != list.end(); ++entry) {
    const std::string name = prefix + list.name(entry);
    if (!list.entry(entry).isList()) {
      // An unknown one is refused for its name, whatever its type.
      options[name] =
          fields.knows(name) ? to_value(list.entry(entry), name, owner) : OptionValue(std::string());
      continue;
    }
    const Teuchos::ParameterList& sublist = list.sublist(list.name(entry));
    flatten(fields, sublist, name + ".", owner, options);
    // Empty, it would go unnoticed: as an option it is refused as any unknown key is.
    if (sublist.numParams() == 0 && !has_nested(fields, name)) options[name] = std::string();
  }
}

std::vector<std::string> words_of(const std::string& range) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= range.size();) {
    const std::size_t end = std::min(range.find(" | ", begin), range.size());
    words.push_back(range.substr(begin, end - begin));
    begin = end + 3;
  }
  return words;
}

void add(Teuchos::ParameterList& list, const std::string& name, const OptionField& field,
         const OptionValue& value) {
  const std::string doc = field.doc + (field.range.empty() ? "" : " (" + field.range + ")");
  // As setParameters does, the list takes a number in any type.
  using Number = Teuchos::AnyNumberParameterEntryValidator;
  const auto number = [](Number::EPreferredType preferred) {
    return Teuchos::rcp(new Number(preferred, Number::AcceptedTypes()));
  };
  if (const auto* b = std::get_if<bool>(&value)) {
    list.set(name, *b, doc);
  } else if (const auto* x = std::get_if<double>(&value)) {
    list.set(name, *x, doc, number(Number::PREFER_DOUBLE));
  } else if (const auto* i = std::get_if<std::int64_t>(&value)) {
    if (*i >= std::numeric_limits<int>::min() && *i <= std::numeric_limits<int>::max())
      list.set(name, static_cast<int>(*i), doc, number(Number::PREFER_INT));
    else
      list.set(name, static_cast<long long>(*i), doc, number(Number::PREFER_LONG_LONG));
  } else if (field.kind != "choice" && field.kind != "method") {
    list.set(name, std::get<std::string>(value), doc);  // auto, or a value of the chosen method
  } else {
    const std::vector<std::string> words = words_of(field.range);
    list.set(
        name, std::get<std::string>(value), doc,
        Teuchos::rcp(new Teuchos::StringValidator(Teuchos::Array<std::string>(words.begin(), words.end()))));
  }
}

}  // namespace

void set_options(const OptionFields& fields, const std::string& owner, const Teuchos::ParameterList& list) {
  OptionMap options;
  flatten(fields, list, "", owner, options);
  try {
    fields.set(options, owner);
  } catch (const OptionError& error) {
    refuse(error.what());
  }
}

Teuchos::ParameterList valid_parameters(const OptionFields& fields, const std::string& owner) {
  Teuchos::ParameterList list(owner);
  for (const OptionField& field : fields.list()) {
    Teuchos::ParameterList* target = &list;
    std::string name = field.name;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
      target = &target->sublist(name.substr(0, dot));
      name = name.substr(dot + 1);
    }
    if (field.kind != "method") {
      add(*target, name, field, field.get());
      continue;
    }
    Teuchos::ParameterList& method = target->sublist(name, false, field.doc);
    add(method, "name", field, field.get());
    const OptionField any = {"", "an option of the method", "", "", {}, {}, {}, {}};
    for (const auto& [key, value] : field.method_options()) add(method, key, any, value);
  }
  return list;
}

}  // namespace prekond::tpetra
