// NumPy's .npy files, versions 1 to 3. Reads little-endian arrays of plain elements of 1, 2, 4, 8 or 16
// bytes in C or Fortran order; refuses the rest by name, before anything is allocated for the data.
#pragma once

#include <sectile/error.hpp>
#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::tools {

struct NpyHeader {
  std::string descr;  // "<f4", as the file says it and as it is written back
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::uint32_t item_bytes = 0;
  std::uint64_t data_offset = 0;  // where the elements begin in the file
  std::uint64_t data_bytes = 0;   // of all elements

  DType dtype() const noexcept;               // the element as Sectile names it; plain bits where it has no name
  std::vector<std::int64_t> strides() const;  // elements, as the file's order says
  bool operator==(const NpyHeader&) const = default;
};

struct NpyArray {
  NpyHeader header;
  std::vector<std::byte> data;
};

// From the file's first bytes and its whole size. `head` need not reach to the data, only over the header.
// Errors: parse (garbage, truncated, a shape that the file's size belies), unsupported (big-endian,
// structured, element size), overflow.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes);
Result<NpyArray> parse_npy(std::span<const std::byte> file);

// Errors: missing, io, and those of parse_npy_header.
Result<NpyArray> read_npy(const std::string& path);

// The header's bytes, padded so that the data begins at a multiple of 64.
std::string npy_header_text(const std::string& descr, std::span<const std::int64_t> shape);

// Writes a C-ordered array: a new file beside `path`, renamed over it when all of it is on disk.
Result<void> write_npy(const std::string& path, const std::string& descr, std::span<const std::int64_t> shape,
                       std::span<const std::byte> data);

// The descr that a DType is written as: bf16 and plain bits as "|V2" and the like.
std::string npy_descr(DType type);

}  // namespace sectile::tools
