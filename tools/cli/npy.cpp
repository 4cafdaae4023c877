#include "npy.hpp"

#include "files.hpp"

#include "backend/platform.hpp"
#include "base/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <optional>
#include <string_view>

namespace sectile::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy itself refuses headers over 10,000 bytes unless told to trust the file; a plain array of the
// 64 axes that NumPy knows needs under 2,000.
constexpr std::uint64_t kMostHeaderBytes = 65536;
constexpr std::size_t kMostAxes = 64;

std::unexpected<Error> garbage(std::string value, std::string want) {
  return fail(ErrorKind::parse, ".npy header", std::move(value), std::move(want));
}

// A reader of the one Python literal that a header holds: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class Literal {
 public:
  explicit Literal(std::string_view text) noexcept : rest_(text) {}

  void skip_space() noexcept {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool take(char c) noexcept {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) noexcept {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> string() noexcept {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return inside;
  }
  std::optional<std::int64_t> integer() noexcept {
    skip_space();
    std::int64_t value = 0;
    // As Python reads it: 02 is no integer.
    if (rest_.size() > 1 && rest_[0] == '0' && rest_[1] >= '0' && rest_[1] <= '9') return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // Python 2 wrote long integers so
    return value;
  }
  std::string rest() const { return std::string(rest_.substr(0, 40)); }
  bool at_end() noexcept {
    skip_space();
    return rest_.empty();
  }

 private:
  std::string_view rest_;
};

Result<std::vector<std::int64_t>> parse_shape(Literal& literal) {
  std::vector<std::int64_t> shape;
  if (!literal.take('(')) return garbage(literal.rest(), "a tuple as shape");
  while (!literal.take(')')) {
    const auto size = literal.integer();
    if (!size) return garbage(literal.rest(), "an integer of 64 bits in shape");
    if (*size < 0) return garbage(std::to_string(*size), "no negative size in shape");
    shape.push_back(*size);
    if (shape.size() > kMostAxes) return garbage("more than 64 axes", "at most 64 axes");
    if (!literal.take(',')) {
      if (shape.size() == 1) return garbage(literal.rest(), "a comma behind the only size of a shape");
      if (!literal.take(')')) return garbage(literal.rest(), "a comma or the end of shape");
      break;
    }
  }
  return shape;
}

// "<f4": byte order, kind, size. Sizes that NumPy counts in other units (U: 4 bytes each) are left out.
Result<std::uint32_t> item_bytes_of(std::string_view descr) {
  const auto refuse = [&](std::string want) {
    return fail(ErrorKind::unsupported, ".npy element type", std::string(descr), std::move(want));
  };
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    return refuse("an order, a kind and a size, as <f4");
  }
  std::uint32_t bytes = 0;
  const char* first = descr.data() + 2;
  const char* last = descr.data() + descr.size();
  const auto [end, error] = std::from_chars(first, last, bytes);
  const bool unit = end != last && *end == '[' && (descr[1] == 'M' || descr[1] == 'm');  // datetimes: <M8[ns]
  if (error != std::errc() || (end != last && !unit)) return refuse("an order, a kind and a size, as <f4");
  if (std::string_view("biufcVSMm").find(descr[1]) == std::string_view::npos) {
    return refuse("one of the kinds b i u f c V S M m");
  }
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
    return refuse("elements of 1, 2, 4, 8 or 16 bytes");
  }
  const bool has_order = bytes > 1 && descr[1] != 'V' && descr[1] != 'S';
  if (descr[0] == '>' && has_order) {
    return refuse(
        "little-endian data; this is big-endian: convert it in NumPy with a.astype(a.dtype.newbyteorder('<'))");
  }
  return bytes;
}

struct RawHeader {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

Result<RawHeader> parse_dictionary(std::string_view text) {
  Literal literal(text);
  RawHeader raw;
  if (!literal.take('{')) return garbage(literal.rest(), "a dictionary");
  while (!literal.take('}')) {
    const auto key = literal.string();
    if (!key || !literal.take(':')) return garbage(literal.rest(), "a key and a colon");
    if (*key == "descr" && !raw.descr) {
      const auto descr = literal.string();
      if (!descr)
        return fail(ErrorKind::unsupported, ".npy element type", literal.rest(), "a plain type, not a structured one");
      raw.descr = std::string(*descr);
    } else if (*key == "fortran_order" && !raw.fortran_order) {
      if (literal.take_word("True"))
        raw.fortran_order = true;
      else if (literal.take_word("False"))
        raw.fortran_order = false;
      else
        return garbage(literal.rest(), "True or False as fortran_order");
    } else if (*key == "shape" && !raw.shape) {
      auto shape = parse_shape(literal);
      if (!shape) return std::unexpected(shape.error());
      raw.shape = std::move(*shape);
    } else {
      return garbage(std::string(key->substr(0, 40)), "the keys descr, fortran_order and shape, each once");
    }
    if (!literal.take(',')) {
      if (!literal.take('}')) return garbage(literal.rest(), "a comma or the end of the dictionary");
      break;
    }
  }
  if (!literal.at_end()) return garbage(literal.rest(), "nothing behind the dictionary");
  if (!raw.descr || !raw.fortran_order || !raw.shape)
    return garbage("a key is missing", "descr, fortran_order and shape");
  return raw;
}

Result<std::uint64_t> product_bytes(const std::vector<std::int64_t>& shape, std::uint32_t item_bytes) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t bytes = item_bytes;
  for (const std::int64_t size : shape) {
    if (detail::mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) ||
        bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return fail(ErrorKind::overflow, ".npy shape", "its bytes do not fit 63 bits", "a shape that the file can hold");
    }
  }
  return bytes;
}

// Where the dictionary begins and how long it is.
struct Frame {
  std::uint64_t begin = 0, length = 0;
};

Result<Frame> parse_frame(std::span<const std::byte> head, std::uint64_t file_bytes) {
  if (head.size() < 10 || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(ErrorKind::parse, ".npy file", "no \\x93NUMPY at its start", "a .npy file");
  }
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(head[i]); };
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    return fail(ErrorKind::unsupported, ".npy version", std::to_string(version) + "." + std::to_string(byte(7)),
                "1.0, 2.0 or 3.0");
  }
  Frame frame{10, byte(8) | byte(9) << 8};
  if (version > 1) {
    if (head.size() < 12) return fail(ErrorKind::parse, ".npy file", "truncated in its header");
    frame = {12, frame.length | byte(10) << 16 | byte(11) << 24};
  }
  if (frame.length > kMostHeaderBytes) {
    return fail(ErrorKind::parse, ".npy header", std::to_string(frame.length) + " bytes",
                "at most " + std::to_string(kMostHeaderBytes));
  }
  if (frame.begin + frame.length > file_bytes) {
    return fail(ErrorKind::parse, ".npy file", "truncated in its header",
                std::to_string(frame.begin + frame.length) + " bytes, has " + std::to_string(file_bytes));
  }
  return frame;
}

}  // namespace

DType NpyHeader::dtype() const noexcept {
  const char kind = descr.size() > 1 ? descr[1] : 'V';
  const auto pick = [&](char want, DType named, DType bits) { return kind == want ? named : bits; };
  switch (item_bytes) {
    case 1:
      return kind == 'i' ? DType::i8 : pick('u', DType::u8, DType::b8);
    case 2:
      return kind == 'i' ? DType::i16 : kind == 'u' ? DType::u16 : pick('f', DType::f16, DType::b16);
    case 4:
      return kind == 'i' ? DType::i32 : kind == 'u' ? DType::u32 : pick('f', DType::f32, DType::b32);
    case 8:
      if (kind == 'i') return DType::i64;
      if (kind == 'u') return DType::u64;
      return kind == 'f' ? DType::f64 : pick('c', DType::c64, DType::b64);
    default:
      return pick('c', DType::c128, DType::b128);
  }
}

std::vector<std::int64_t> NpyHeader::strides() const {
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran_order ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    // An array without elements may state sizes whose product fits nothing; its strides do not matter.
    if (data_bytes != 0) stride *= shape[axis];
  }
  return strides;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes) {
  const auto frame = parse_frame(head, file_bytes);
  if (!frame) return std::unexpected(frame.error());
  if (head.size() < frame->begin + frame->length) return fail(ErrorKind::parse, ".npy file", "truncated in its header");
  const auto inside = head.subspan(static_cast<std::size_t>(frame->begin), static_cast<std::size_t>(frame->length));
  const std::string text(reinterpret_cast<const char*>(inside.data()), inside.size());
  auto raw = parse_dictionary(text);
  if (!raw) return std::unexpected(raw.error());
  // NOLINTBEGIN(bugprone-unchecked-optional-access): parse_dictionary() refuses a header without one of them
  const auto item_bytes = item_bytes_of(*raw->descr);
  if (!item_bytes) return std::unexpected(item_bytes.error());
  const auto bytes = product_bytes(*raw->shape, *item_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  NpyHeader header{std::move(*raw->descr),       *raw->fortran_order,
                   std::move(*raw->shape),       *item_bytes,
                   frame->begin + frame->length, *bytes};
  // NOLINTEND(bugprone-unchecked-optional-access)
  const std::uint64_t there = file_bytes - header.data_offset;
  if (there != *bytes) {
    return fail(ErrorKind::parse,
                there < *bytes ? ".npy file: truncated, or its shape lies" : ".npy file: bytes behind the array",
                std::to_string(there) + " bytes of data", std::to_string(*bytes) + " as its shape says");
  }
  return header;
}

Result<NpyArray> parse_npy(std::span<const std::byte> file) {
  auto header = parse_npy_header(file, file.size());
  if (!header) return std::unexpected(header.error());
  const auto data = file.subspan(static_cast<std::size_t>(header->data_offset));
  return NpyArray{std::move(*header), {data.begin(), data.end()}};
}

Result<NpyArray> read_npy(const std::string& path) {
  const std::filesystem::path place = backend::native_path(path);
  std::error_code code;
  const auto status = std::filesystem::status(place, code);
  if (!std::filesystem::exists(status)) return fail(ErrorKind::missing, "file", path);
  if (!std::filesystem::is_regular_file(status)) return fail(ErrorKind::io, "reading", path, "a regular file");
  const std::uint64_t file_bytes = std::filesystem::file_size(place, code);
  std::ifstream file(place, std::ios::binary);
  if (code || !file) return fail(ErrorKind::io, "reading", path, std::strerror(errno));
  std::vector<std::byte> head(static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, kMostHeaderBytes + 12)));
  if (!file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()))) {
    return fail(ErrorKind::io, "reading", path, std::strerror(errno));
  }
  auto header = parse_npy_header(head, file_bytes);
  if (!header) {
    Error error = header.error();
    error.what = path + ": " + error.what;
    return std::unexpected(std::move(error));
  }
  NpyArray array{std::move(*header), {}};
  array.data.resize(static_cast<std::size_t>(array.header.data_bytes));
  file.seekg(static_cast<std::streamoff>(array.header.data_offset));
  if (!file.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()))) {
    return fail(ErrorKind::io, "reading", path, "the file became shorter while it was read");
  }
  return array;
}

std::string npy_header_text(const std::string& descr, std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  // Magic, version and length take 10 bytes; a newline ends the header, spaces before it align the data.
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string head(kMagic);
  head += '\x01';
  head += '\x00';
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

Result<void> write_npy(const std::string& path, const std::string& descr, std::span<const std::int64_t> shape,
                       std::span<const std::byte> data) {
  const std::string head = npy_header_text(descr, shape);
  const std::array parts = {std::as_bytes(std::span(head)), data};
  return write_atomically(path, parts);
}

std::string npy_descr(DType type) {
  switch (type) {
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::i16:
      return "<i2";
    case DType::u16:
      return "<u2";
    case DType::f16:
      return "<f2";
    case DType::i32:
      return "<i4";
    case DType::u32:
      return "<u4";
    case DType::f32:
      return "<f4";
    case DType::i64:
      return "<i8";
    case DType::u64:
      return "<u8";
    case DType::f64:
      return "<f8";
    case DType::c64:
      return "<c8";
    case DType::c128:
      return "<c16";
    default:
      return "|V" + std::to_string(size_bytes(type));
  }
}

}  // namespace sectile::tools
