// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "atomic_file.hpp"

#include <prekond/core/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace prekond::driver {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw InputError(path + ": cannot be written: " + reason);
}

/// The file that a path leads to: absolute, its links resolved, also one that leads to no file yet.
fs::path target_of(const fs::path& path) {
  constexpr int max_links = 40;
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  if (error) target = path;
  for (int k = 0; k < max_links && !names_stream(target.string()) && fs::is_symlink(target, error); ++k) {
    const fs::path link = fs::read_symlink(target, error);
    if (error) break;
    target = link.is_absolute() ? link : target.parent_path() / link;
  }
  if (names_stream(target.string())) return target;
  const fs::path folder = fs::weakly_canonical(target.parent_path(), error);
  return error ? target : folder / target.filename();
}

bool is_regular(const std::optional<struct stat>& status) {
  return status && S_ISREG(status->st_mode);
}

/// The one temporary file that there may be. The thread that ends the process keeps the lock for ever.
struct Pending {
  std::recursive_mutex mutex;
  fs::path path;
};

Pending& pending() {
  static auto* const instance = new Pending;  // outlives every thread
  return *instance;
}

using Lock = std::lock_guard<std::recursive_mutex>;

/// A new file, removed at the end unless it was moved to its place.
class TemporaryFile {
 public:
  /// With the permissions, and where that is allowed the owner, of the file that it is to replace. `error` is
  /// 0, or why there is none.
  TemporaryFile(const fs::path& folder, const std::string& suffix, const std::optional<struct stat>& old) {
    const Lock lock(pending().mutex);
    int file = -1;
    for (int k = 0; k < 1000 && file < 0 && (k == 0 || errno == EEXIST || errno == EINTR); ++k) {
      m_path = folder / (".prekond-" + std::to_string(getpid()) + "-" + std::to_string(k) + ".tmp" + suffix);
      file = open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (file < 0) {
      m_error = errno;
      return;
    }
    pending().path = m_path;
    if (is_regular(old)) {
      if (fchown(file, old->st_uid, old->st_gid) != 0) errno = 0;  // then it stays ours
      if (fchmod(file, old->st_mode & 07777) != 0) errno = 0;
    }
    close(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (m_error != 0) return;
    const Lock lock(pending().mutex);
    if (!m_moved) unlink(m_path.c_str());
    pending().path.clear();
  }

  int error() const { return m_error; }
  const fs::path& path() const { return m_path; }

  /// 0, or why it could not be done.
  int move_to(const fs::path& target) {
    const Lock lock(pending().mutex);
    if (rename(m_path.c_str(), target.c_str()) != 0) return errno;
    m_moved = true;
    return 0;
  }

 private:
  fs::path m_path;
  int m_error = 0;
  bool m_moved = false;
};

/// Does `write` on the file `used`, with errors that name `path`.
void write_as(const std::string& path, const fs::path& used, const Writer& write) {
  const std::string name = used.string();
  try {
    write(name);
  } catch (const InputError& error) {
    const std::string what = error.what();
    if (what.rfind(name, 0) != 0) throw;
    throw InputError(path + what.substr(name.size()));
  }
}

void copy_to_stdout(const std::string& path, const fs::path& from) {
  std::ifstream file(from, std::ios::binary);
  char part[65536];
  while (file.read(part, sizeof part), file.gcount() > 0) {
    errno = 0;
    const auto size = static_cast<std::size_t>(file.gcount());
    if (std::fwrite(part, 1, size, stdout) != size) fail(path, std::strerror(errno));
  }
  if (std::fflush(stdout) != 0) fail(path, std::strerror(errno));
}

/// Standard output into a file: opened once more it would be truncated, and each would overwrite what the
/// other wrote.
bool is_redirected_stdout(const std::optional<struct stat>& target) {
  struct stat out {};
  return is_regular(target) && fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == target->st_dev &&
         out.st_ino == target->st_ino;
}

}  // namespace

void prepare_files() {
  std::signal(SIGXFSZ, SIG_IGN);
  // Read only: printing to it stays an error.
  int file = 0;
  while (file >= 0 && file <= STDERR_FILENO) file = open("/dev/null", O_RDONLY);
  if (file >= 0) close(file);
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool names_stream(const std::string& path) {
  for (const char* prefix : {"/proc/", "/dev/fd/", "/dev/std"})
    if (path.rfind(prefix, 0) == 0) return true;
  return false;
}

bool same_file(const std::string& a, const std::string& b) {
  const auto first = status_of(a), second = status_of(b);
  if (first && second)
    return S_ISREG(first->st_mode) && first->st_dev == second->st_dev && first->st_ino == second->st_ino;
  return !first && !second && target_of(a) == target_of(b);
}

void check_writable(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw InputError(path + ": is a folder; give the name of a file to write");
  const fs::path target = target_of(path);
  const fs::path folder = target.parent_path();
  if (!fs::is_directory(folder, ignored) && !fs::exists(path, ignored))
    fail(path, "there is no folder '" + folder.string() + "'; make it first");
  const bool exists = fs::exists(path, ignored);
  if (access(exists ? path.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) != 0)
    fail(path, std::strerror(errno));
}

void write_file(const std::string& path, const Writer& write) {
  const fs::path target = target_of(path);
  const auto old = status_of(target.string());
  const bool to_stdout = is_redirected_stdout(old);
  if (!to_stdout && (names_stream(target.string()) || (old && !is_regular(old)))) {
    pending().mutex.lock();  // waits where the process is about to end
    pending().mutex.unlock();
    return write_as(path, path, write);
  }
  const std::string suffix = target.extension() == ".gz" ? ".gz" : "";
  TemporaryFile file(to_stdout ? fs::temp_directory_path() : target.parent_path(), suffix,
                     to_stdout ? std::nullopt : old);
  if (file.error() != 0) {
    if (!old || to_stdout) fail(path, std::strerror(file.error()));
    return write_as(path, target, write);
  }
  write_as(path, file.path(), write);
  if (to_stdout) return copy_to_stdout(path, file.path());
  const int error = file.move_to(target);
  if (error != 0) fail(path, std::strerror(error));
}

void write_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(path, errno != 0 ? std::strerror(errno) : "unknown error");
}

void stop_writing() {
  pending().mutex.lock();
  if (!pending().path.empty()) unlink(pending().path.c_str());
  pending().path.clear();
}

}  // namespace prekond::driver
