// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace prekond::perf {

/// A method of a registry.
struct NamedMethod {
  std::string name;
  OptionMap options;
};

/// A whole number, a real one, or a word.
inline OptionValue option_value(const std::string& text) {
  const auto is_read = [&](auto& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (std::int64_t whole = 0; is_read(whole)) return whole;
  if (double real = 0; is_read(real)) return real;
  return text;
}

/// The method of a name with options: adaptive_fsai:max_steps=3:tolerance=1e-3:storage=single.
inline NamedMethod named_method(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {text, {}};
  NamedMethod method = named_method(text.substr(0, colon));
  const std::string option = text.substr(colon + 1);
  const auto equals = option.find('=');
  if (equals == std::string::npos) throw OptionError(option + " is not KEY=VALUE");
  method.options[option.substr(0, equals)] = option_value(option.substr(equals + 1));
  return method;
}

}  // namespace prekond::perf
