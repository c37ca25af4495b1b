// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace prekond {

/// An exception as something that can be sent to other ranks.
struct RankError {
  /// OptionError, InputError, std::logic_error, std::bad_alloc, any other exception.
  enum class Kind : int { option, input, logic, memory, other };
  Kind kind = Kind::other;
  std::string text;
  std::int64_t row =
      -1;             ///< of the rank's part of a matrix, from 0, of which the text speaks (InputError::row)
  std::string where;  ///< what the text speaks of, in terms of the whole; may be empty

  /// The exception being handled. \pre within a catch block
  static RankError current() {
    try {
      throw;
    } catch (const OptionError& error) {
      return {Kind::option, error.what(), -1, ""};
    } catch (const InputError& error) {
      return {Kind::input, error.what(), error.row(), ""};
    } catch (const std::logic_error& error) {
      return {Kind::logic, error.what(), -1, ""};
    } catch (const std::bad_alloc& error) {
      return {Kind::memory, std::string("not enough memory (") + error.what() + ")", -1, ""};
    } catch (const std::exception& error) {
      return {Kind::other, error.what(), -1, ""};
    } catch (...) {
      return {Kind::other, "an exception that is no std::exception", -1, ""};
    }
  }

  /// Throws it anew; memory and other as std::runtime_error.
  [[noreturn]] void raise() const {
    switch (kind) {
      case Kind::option:
        throw OptionError(text);
      case Kind::input:
        throw InputError(text, row);
      case Kind::logic:
        throw std::logic_error(text);
      default:
        throw std::runtime_error(text);
    }
  }
};

}  // namespace prekond
