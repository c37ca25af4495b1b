// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/temporary_folder.hpp"

#include <stdexcept>

namespace prekond::testing {

/// Writes the files of a tar archive, plain or compressed by gzip, to a folder, with the folders in their
/// names. \throws std::runtime_error where it ends early
inline void unpack_tar(const std::string& archive, const TemporaryFolder& folder) {
  constexpr std::size_t block = 512;
  const gzFile file = gzopen(archive.c_str(), "rb");
  const auto read = [&](std::size_t bytes) {
    std::string content(bytes, '\0');
    const int count = file == nullptr ? -1 : gzread(file, content.data(), static_cast<unsigned>(bytes));
    if (count != static_cast<int>(bytes)) throw std::runtime_error(archive + " ends early");
    return content;
  };
  // An archive ends with a block of zeros.
  for (std::string header = read(block); header[0] != '\0'; header = read(block)) {
    const std::string name = header.substr(0, 100).c_str();
    const std::size_t size = std::stoul(header.substr(124, 12), nullptr, 8);
    const std::string content = read((size + block - 1) / block * block);
    if (header[156] != '0' && header[156] != '\0') continue;  // no plain file
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    folder.write(name, std::string_view(content).substr(0, size));
  }
  gzclose(file);
}

}  // namespace prekond::testing
