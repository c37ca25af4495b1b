// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/foreign_file.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace prekond::impl {
namespace {

using namespace std::string_view_literals;

/// In an advice FILE is the path, NEW the name of the file to be made.
struct Kind {
  std::string_view name;
  std::string_view advice;
};

struct Magic {
  std::string_view bytes;
  std::size_t at;
  Kind kind;
};

struct Ending {
  std::string_view of_name;  ///< lower case, with its dot
  Kind kind;
};

constexpr Kind tar = {"a tar archive",
                      "unpack it with 'tar -xf FILE', and give the .mtx file that was in it"};
constexpr Kind compressed_tar = {"a compressed tar archive",
                                 "unpack it with 'tar -xzf FILE', and give the .mtx file that was in it"};
constexpr Kind npz = {"a NumPy archive",
                      "convert it with: python3 -c \"import scipy.io, scipy.sparse; scipy.io.mmwrite('NEW', "
                      "scipy.sparse.load_npz('FILE'))\""};
constexpr Kind zip = {"a zip archive", "unpack it with 'unzip FILE', and give the .mtx file that was in it"};
constexpr Kind harwell_boeing = {
    "a Harwell-Boeing or Rutherford-Boeing file",
    "convert it with: python3 -c \"import scipy.io; scipy.io.mmwrite('NEW', scipy.io.hb_read('FILE'))\""};
constexpr Kind csv = {
    "a table of comma-separated values",
    "convert a dense one with: python3 -c \"import numpy, scipy.io, scipy.sparse; scipy.io.mmwrite('NEW', "
    "scipy.sparse.coo_matrix(numpy.loadtxt('FILE', delimiter=',')))\""};
constexpr Kind hdf5 = {"an HDF5 file",
                       "read the matrix with h5py (or MATLAB, where that wrote it), and write it with "
                       "scipy.io.mmwrite('NEW', A)"};
constexpr Kind matlab = {
    "a MATLAB file",
    "convert it with: python3 -c \"import scipy.io; scipy.io.mmwrite('NEW', "
    "scipy.io.loadmat('FILE')['A'])\", "
    "where A is the variable's name (['Problem']['A'][0, 0] in those of the SuiteSparse collection)"};
constexpr Kind petsc = {
    "a binary file of PETSc",
    "convert it with: python3 -c \"import PetscBinaryIO, scipy.io, scipy.sparse; scipy.io.mmwrite('NEW', "
    "scipy.sparse.coo_matrix(PetscBinaryIO.PetscBinaryIO().readBinaryFile('FILE', 'scipy.sparse')[0]))\", "
    "with "
    "PETSC_DIR/lib/petsc/bin in PYTHONPATH"};
constexpr Kind web_page = {"a web page", "the download went wrong: fetch the file itself"};
constexpr std::string_view to_utf8 = "convert it with 'iconv -f UTF-16 -t UTF-8 FILE > NEW'";
constexpr std::string_view to_utf8_from_32 = "convert it with 'iconv -f UTF-32 -t UTF-8 FILE > NEW'";

/// The first that fits counts.
constexpr Magic magics[] = {
    {"ustar"sv, 257, tar},
    {"MATLAB 7.3 MAT-file"sv, 0, hdf5},
    {"MATLAB "sv, 0, matlab},
    {"\x89HDF\r\n\x1a\n"sv, 0, hdf5},
    {"\x93NUMPY"sv,
     0,
     {"a NumPy array",
      "convert it with: python3 -c \"import numpy, scipy.io, scipy.sparse; scipy.io.mmwrite('NEW', "
      "scipy.sparse.coo_matrix(numpy.load('FILE')))\""}},
    {"PK\x03\x04"sv, 0, zip},
    {"\x1f\x8b"sv, 0, {"compressed twice", "unpack it once with 'gunzip FILE'"}},
    {"BZh"sv, 0, {"a bzip2 file", "unpack it with 'bunzip2 -k FILE'; plain and gzip files are read"}},
    {"\xfd\x37zXZ\0"sv, 0, {"an xz file", "unpack it with 'unxz -k FILE'; plain and gzip files are read"}},
    {"\x28\xb5\x2f\xfd"sv, 0, {"a zstd file", "unpack it with 'unzstd FILE'; plain and gzip files are read"}},
    {"\x04\x22\x4d\x18"sv, 0, {"an lz4 file", "unpack it with 'unlz4 FILE'; plain and gzip files are read"}},
    {"LZIP"sv, 0, {"an lzip file", "unpack it with 'lzip -dk FILE'; plain and gzip files are read"}},
    {"\x1f\x9d"sv, 0, {"a file of compress", "unpack it with 'gzip -dk FILE'"}},
    {"7z\xbc\xaf\x27\x1c"sv, 0, {"a 7z archive", "unpack it with '7z x FILE', and give the .mtx file in it"}},
    {"Rar!"sv, 0, {"a rar archive", "unpack it with 'unrar x FILE', and give the .mtx file in it"}},
    {"\x00\x12\x7b\x50"sv, 0, petsc},
    {"\x00\x12\x7b\x4e"sv, 0, petsc},
    {"\x80\x04\x95"sv,
     0,
     {"a Python pickle", "load it in Python, and write it with scipy.io.mmwrite('NEW', A)"}},
    {"\xff\xfe\0\0"sv, 0, {"UTF-32 text", to_utf8_from_32}},
    {"\0\0\xfe\xff"sv, 0, {"UTF-32 text", to_utf8_from_32}},
    {"\xff\xfe"sv, 0, {"UTF-16 text", to_utf8}},
    {"\xfe\xff"sv, 0, {"UTF-16 text", to_utf8}},
    {"%\0%\0"sv, 0, {"UTF-16 text", "convert it with 'iconv -f UTF-16LE -t UTF-8 FILE > NEW'"}},
    {"\0%\0%"sv, 0, {"UTF-16 text", "convert it with 'iconv -f UTF-16BE -t UTF-8 FILE > NEW'"}},
    {"<!DOCTYPE"sv, 0, web_page},
    {"<!doctype"sv, 0, web_page},
    {"<html"sv, 0, web_page},
    {"<HTML"sv, 0, web_page},
    {"version https://git-lfs"sv, 0, {"a pointer of Git LFS", "fetch the file with 'git lfs pull'"}},
};

/// Their first bytes are those of the compressor.
constexpr Ending packed_tars[] = {{".tar.bz2", tar}, {".tbz2", tar}, {".tbz", tar},     {".tar.xz", tar},
                                  {".txz", tar},     {".tzst", tar}, {".tar.zst", tar}, {".tar.lz4", tar}};

/// The first bytes say more.
constexpr Ending endings[] = {
    {".tar", tar},
    {".tgz", tar},
    {".npz", npz},
    {".csv", csv},
    {".rb", harwell_boeing},
    {".hb", harwell_boeing},
    {".rua", harwell_boeing},
    {".rsa", harwell_boeing},
    {".rra", harwell_boeing},
    {".pua", harwell_boeing},
    {".psa", harwell_boeing},
    {".cua", harwell_boeing},
    {".csa", harwell_boeing},
    {".mat", matlab},
    {".h5", hdf5},
    {".hdf5", hdf5},
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// "FOLDER/NAME.mtx" of FOLDER/NAME.END, or one that is not that file.
std::string new_name(const std::string& path) {
  const std::size_t slash = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.find('.', slash + 1);
  const std::string name = path.substr(0, dot) + ".mtx";
  return name == path ? path.substr(0, dot) + "_new.mtx" : name;
}

std::string with_names(std::string_view advice, const std::string& path) {
  std::string text(advice);
  for (const auto& [word, name] : {std::pair{"FILE"sv, path}, {"NEW"sv, new_name(path)}})
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + name.size()))
      text.replace(at, word.size(), name);
  return text;
}

/// The line of that number, from 0, without its end.
std::string_view line_of(std::string_view text, int number) {
  for (; number > 0; --number) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// The third line of a Harwell-Boeing file has the type in its first letters, as in "RUA", and numbers from
/// column 15 on.
bool is_harwell_boeing(std::string_view head) {
  const std::string_view line = line_of(head, 2);
  const auto is_in = [&](std::size_t k, std::string_view letters) {
    return letters.find(static_cast<char>(std::tolower(static_cast<unsigned char>(line[k])))) != letters.npos;
  };
  return line.size() > 28 && is_in(0, "rcpiq"sv) && is_in(1, "sughzr"sv) && is_in(2, "ae"sv) &&
         line.substr(3, 11).find_first_not_of(' ') == line.npos;
}

bool is_csv(std::string_view head) {
  const std::string_view line = line_of(head, 0);
  return line.find(',') != line.npos && line.find_first_not_of("0123456789.,+-eE \t\r") == line.npos;
}

/// Bytes that no text has. A line without an end may be cut off within a character, so that others are text.
bool is_binary(std::string_view head) {
  return std::any_of(head.begin(), head.end(), [](char c) { return c >= 0 && c < ' ' && !std::isspace(c); });
}

/// A zip archive that begins with an array of NumPy's: the name follows its header.
bool is_npz(std::string_view head) {
  return head.starts_with("PK\x03\x04"sv) && head.substr(0, 100).find(".npy"sv) != head.npos;
}

const Kind* find_kind(const std::string& path, std::string_view head) {
  if (is_npz(head)) return &npz;
  const std::string name = lower_case(path);
  for (const Ending& ending : packed_tars)
    if (name.ends_with(ending.of_name)) return &ending.kind;
  for (const Magic& magic : magics)
    if (head.size() > magic.at && head.substr(magic.at).starts_with(magic.bytes)) return &magic.kind;
  for (const Ending& ending : endings)
    if (name.ends_with(ending.of_name)) return &ending.kind;
  if (is_harwell_boeing(head)) return &harwell_boeing;
  return is_csv(head) ? &csv : nullptr;
}

}  // namespace

std::string foreign_file(const std::string& path, std::string_view head, bool compressed) {
  constexpr std::size_t most_bytes = 4096;
  head = head.substr(0, most_bytes);
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == head.npos) return "";
  head.remove_prefix(begin);
  if (head.starts_with("%%"sv)) return "";
  const Kind* const kind = find_kind(path, head);
  if (kind == nullptr)
    return is_binary(head)
               ? "is a binary file of an unknown kind, not a Matrix Market file; write the matrix with "
                 "scipy.io.mmwrite('" +
                     new_name(path) + "', A), or with mmwrite in MATLAB"
               : "";
  const Kind& found = compressed && kind->name == tar.name ? compressed_tar : *kind;
  return "is " + std::string(found.name) + ", not a Matrix Market file; " + with_names(found.advice, path);
}

}  // namespace prekond::impl
