// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/byte_input.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "matrix/io/text_input.hpp"

namespace prekond::impl {
namespace {

constexpr std::size_t raw_size = std::size_t(1) << 17;
/// Zeros that may stand behind the last member: some blocks of a tape.
constexpr std::size_t max_padding = std::size_t(1) << 20;
constexpr int gzip_format = 15 + 16;  // the largest window, and a gzip header instead of zlib's own

bool is_magic(const char* bytes) {
  return bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

int open_file(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at cannot be opened either, and that error is reported
  if (std::filesystem::is_directory(path, ignored)) fail_in_file(path, 0, "is a directory, not a file");
  int file = -1;
  do {
    file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (file < 0 && errno == EINTR);
  if (file < 0) fail_in_file(path, 0, std::string("cannot be opened: ") + std::strerror(errno));
  return file;
}

}  // namespace

ByteInput::Descriptor::~Descriptor() {
  close(value);
}

void ByteInput::EndInflate::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

ByteInput::ByteInput(std::string path)
    : m_path(std::move(path)),
      m_file(open_file(m_path)),
      m_raw(std::make_unique_for_overwrite<char[]>(raw_size)) {}

ByteInput::ByteInput(std::string path, std::int64_t begin, std::int64_t end) : ByteInput(std::move(path)) {
  m_kind = Kind::plain;
  m_left = static_cast<std::size_t>(std::max<std::int64_t>(0, end - begin));
  if (lseek(m_file.value, begin, SEEK_SET) < 0)
    fail(std::string("cannot be read from the middle: ") + std::strerror(errno));
}

void ByteInput::fail(const std::string& message) const {
  fail_in_file(m_path, 0, message);
}

void ByteInput::fail_inflating(int error) const {
  if (error == Z_MEM_ERROR) fail("cannot be read: not enough memory for zlib");
  const std::string text = m_stream && m_stream->msg != nullptr ? m_stream->msg : "not a gzip stream";
  fail("the gzip file is corrupt (" + text + "): fetch or compress it again");
}

/// At least one byte, but at the end of the file.
std::size_t ByteInput::read_raw(char* to, std::size_t bytes) {
  for (;;) {
    const ssize_t got = ::read(m_file.value, to, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail(std::string("cannot be read: ") + std::strerror(errno));
  }
}

/// Reads until so many bytes, a few, are held; false when the file has no more.
bool ByteInput::hold(std::size_t bytes) {
  if (m_end - m_begin >= bytes) return true;
  std::memmove(m_raw.get(), m_raw.get() + m_begin, m_end - m_begin);
  m_end -= std::exchange(m_begin, 0);
  while (m_end < bytes) {
    const std::size_t got = read_raw(m_raw.get() + m_end, raw_size - m_end);
    if (got == 0) return false;
    m_end += got;
  }
  return true;
}

void ByteInput::tell_kind() {
  m_kind = hold(2) && is_magic(m_raw.get() + m_begin) ? Kind::gzip : Kind::plain;
  if (m_kind == Kind::plain) return;
  auto stream = std::make_unique<z_stream>();
  const int error = inflateInit2(stream.get(), gzip_format);
  if (error != Z_OK) fail_inflating(error);
  m_stream.reset(stream.release());
}

std::size_t ByteInput::read(char* to, std::size_t bytes) {
  if (m_kind == Kind::unknown) tell_kind();
  std::size_t done = 0;
  while (done < bytes && !m_done)
    done += m_kind == Kind::plain ? copy(to + done, bytes - done) : inflate_to(to + done, bytes - done);
  return done;
}

std::size_t ByteInput::copy(char* to, std::size_t bytes) {
  const std::size_t held = std::min(bytes, m_end - m_begin);
  if (held > 0) {
    std::memcpy(to, m_raw.get() + m_begin, held);
    m_begin += held;
    return held;
  }
  const std::size_t got = read_raw(to, std::min(bytes, m_left));
  m_left -= got;
  m_done = got == 0;
  return got;
}

/// One step: as far as the bytes at hand lead, or to the end of a member.
std::size_t ByteInput::inflate_to(char* to, std::size_t bytes) {
  if (m_between) next_member();
  if (m_done) return 0;
  if (!hold(1)) fail("the gzip file is truncated: fetch or compress it again");
  m_stream->next_in = reinterpret_cast<Bytef*>(m_raw.get() + m_begin);
  m_stream->avail_in = static_cast<uInt>(m_end - m_begin);
  m_stream->next_out = reinterpret_cast<Bytef*>(to);
  const auto room = static_cast<uInt>(std::min(bytes, std::size_t(1) << 30));
  m_stream->avail_out = room;
  const int error = inflate(m_stream.get(), Z_NO_FLUSH);
  m_begin = m_end - m_stream->avail_in;
  if (error != Z_OK && error != Z_STREAM_END && error != Z_BUF_ERROR) fail_inflating(error);
  m_between = error == Z_STREAM_END;
  return room - m_stream->avail_out;
}

/// Behind a member: another one, zeros to the end, or the end.
void ByteInput::next_member() {
  m_between = false;
  if (hold(2) && is_magic(m_raw.get() + m_begin)) {
    inflateReset(m_stream.get());
    return;
  }
  std::size_t zeros = 0;
  for (; hold(1) && m_raw[m_begin] == '\0' && zeros <= max_padding; ++m_begin) ++zeros;
  if (hold(1))
    fail(
        "something else stands behind the end of the gzip stream: the file is damaged; fetch or compress it "
        "again");
  m_done = true;
}

}  // namespace prekond::impl
