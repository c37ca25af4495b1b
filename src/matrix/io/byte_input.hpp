// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace prekond::impl {

/// The bytes of a file, plain or gzip (told by its first two bytes), inflated as they are read. Reads forward
/// only, so that the file may be a pipe.
///
/// A gzip file may have several members, one behind the other, and zeros behind the last, as tapes leave
/// them. All else behind a member is damage, and refused: what was meant to be read may stand there.
class ByteInput {
 public:
  /// \throws InputError when the file cannot be opened
  explicit ByteInput(std::string path);

  /// The bytes of a plain file from `begin` on, at most up to `end`. \throws InputError also where the file
  /// has no place that can be gone to
  ByteInput(std::string path, std::int64_t begin, std::int64_t end);

  /// Reads so many bytes, fewer only at the end. \throws InputError for a file that cannot be read, a gzip
  /// stream that is truncated or corrupt, or garbage behind it
  std::size_t read(char* to, std::size_t bytes);

  const std::string& path() const { return m_path; }

  /// \pre something was read
  bool compressed() const { return m_kind == Kind::gzip; }

 private:
  enum class Kind { unknown, plain, gzip };
  struct Descriptor {
    explicit Descriptor(int fd) : value(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();
    int value;
  };
  struct EndInflate {
    void operator()(z_stream_s* stream) const;
  };

  std::size_t read_raw(char* to, std::size_t bytes);
  bool hold(std::size_t bytes);
  void tell_kind();
  std::size_t copy(char* to, std::size_t bytes);
  std::size_t inflate_to(char* to, std::size_t bytes);
  void next_member();
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail_inflating(int error) const;

  std::string m_path;
  Descriptor m_file;
  Kind m_kind = Kind::unknown;
  std::unique_ptr<char[]> m_raw;  ///< of the file, read and not used yet: m_begin to m_end
  std::size_t m_begin = 0;
  std::size_t m_end = 0;
  std::size_t m_left = std::numeric_limits<std::size_t>::max();  ///< of what may be read
  std::unique_ptr<z_stream_s, EndInflate> m_stream;
  bool m_between = false;  ///< at the end of a member
  bool m_done = false;
};

}  // namespace prekond::impl
