// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>

namespace prekond::driver {

/// To be called first. Where the process was started without a standard stream, its number is taken: no file
/// that is opened later gets it, and with it the printed text. A file beyond the limit of size is an error,
/// not a signal.
void prepare_files();

/// Refuses a path that cannot be written, before the work whose result is to go there. An empty path is none.
/// \throws InputError
void check_writable(const std::string& path);

/// Do both paths lead to the same ordinary file, by any spelling or link, or would they if it existed?
bool same_file(const std::string& a, const std::string& b);

/// Nothing where there is no file.
std::optional<struct stat> status_of(const std::string& path);

/// Is the path one of a stream that is open already, such as /dev/stdout?
bool names_stream(const std::string& path);

/// Writes a file of the name that it is given.
using Writer = std::function<void(const std::string&)>;

/// Has `write` write a file, whole or not at all: it is given the path of a temporary file next to the
/// target, which takes the target's place, and its permissions, when `write` has returned. A link stays, and
/// the file that it leads to is replaced. Devices, pipes and streams are written directly, as is a file in a
/// folder that takes no new one. \throws InputError when it does not get onto the disk, naming `path`; also
/// the errors of `write`
void write_file(const std::string& path, const Writer& write);

/// Writes the text. \throws InputError
void write_text(const std::string& path, const std::string& text);

/// For the thread that ends the process: from now on only it can write files; other threads wait for the end
/// where they begin or finish one. The temporary file of another thread is removed.
void stop_writing();

}  // namespace prekond::driver
