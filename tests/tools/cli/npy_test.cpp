#include "cli/npy.hpp"
#include "tools/run_command.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::tools;
using sectile::test::Folder;

namespace {

// A file with this dictionary, of this version, and so many bytes of data.
std::string npy_file(const std::string& dictionary, std::size_t data_bytes, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return file + dictionary + std::string(data_bytes, 'x');
}

Result<NpyHeader> parse(const std::string& file) {
  return parse_npy_header(std::as_bytes(std::span(file)), file.size());
}

std::string plain(const std::string& shape, const std::string& descr = "<f4") {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

ErrorKind kind_of(const std::string& file) {
  const auto header = parse(file);
  REQUIRE_FALSE(header.has_value());
  CHECK_FALSE(header.error().message().empty());
  return header.error().kind;
}

}  // namespace

TEST_CASE("NPY reads all three versions") {
  for (const int version : {1, 2, 3}) {
    const auto header = parse(npy_file(plain("(2, 3)"), 24, version));
    REQUIRE(header.has_value());
    CHECK(header->shape == std::vector<std::int64_t>{2, 3});
    CHECK(header->item_bytes == 4);
    CHECK(header->data_bytes == 24);
    CHECK(header->dtype() == DType::f32);
  }
}

TEST_CASE("NPY reads scalars empty arrays and other spacing") {
  CHECK(parse(npy_file(plain("()"), 4))->shape.empty());
  CHECK(parse(npy_file(plain("(0,)"), 0))->data_bytes == 0);
  // The sizes beside a zero may be such as no memory holds.
  CHECK(parse(npy_file(plain("(9223372036854775807, 0, 9223372036854775807)"), 0))->strides().size() == 3);
  const auto header = parse(npy_file("{\"shape\":(3,),\"fortran_order\":True,\"descr\":\"|u1\"}", 3));
  REQUIRE(header.has_value());
  CHECK(header->fortran_order);
  CHECK(parse(npy_file(plain("(3L, 2L)"), 24))->shape == std::vector<std::int64_t>{3, 2});  // Python 2's
}

TEST_CASE("NPY fortran order is strides") {
  const auto header = parse(npy_file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4)}", 48));
  REQUIRE(header.has_value());
  CHECK(header->strides() == std::vector<std::int64_t>{1, 2, 6});
}

TEST_CASE("NPY refuses truncated and lying files") {
  const std::string file = npy_file(plain("(2, 3)"), 24);
  for (std::size_t size = 0; size < file.size(); ++size) CHECK(kind_of(file.substr(0, size)) == ErrorKind::parse);
  CHECK(kind_of(file + "x") == ErrorKind::parse);                               // more than its shape says
  CHECK(kind_of(npy_file(plain("(1000000000000,)"), 24)) == ErrorKind::parse);  // far more than the file has
  CHECK(kind_of(npy_file(plain("(9223372036854775807, 4)"), 24)) == ErrorKind::overflow);
  CHECK(kind_of(npy_file(plain("(4294967296, 4294967296, 4294967296, 4294967296)"), 0)) == ErrorKind::overflow);
  CHECK(kind_of(npy_file(plain("(99999999999999999999,)"), 24)) == ErrorKind::parse);
  CHECK(kind_of(npy_file(plain("(-1,)"), 24)) == ErrorKind::parse);
}

TEST_CASE("NPY refuses huge headers") {
  std::string file = npy_file(plain("(2, 3)"), 24, 2);
  file[8] = file[9] = file[10] = '\xff';
  file[11] = '\x7f';
  CHECK(kind_of(file) == ErrorKind::parse);
  // Also where the file really is as long as it says.
  CHECK(kind_of(npy_file(plain("(2, 3)") + std::string(100000, ' '), 24, 2)) == ErrorKind::parse);
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  CHECK(kind_of(npy_file(plain(many + ")"), 4)) == ErrorKind::parse);
}

TEST_CASE("NPY refuses garbage") {
  CHECK(kind_of("") == ErrorKind::parse);
  CHECK(kind_of("PK\x03\x04 a zip, as .npz files are, of some length") == ErrorKind::parse);
  for (const char* dictionary :
       {"", "{", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (06,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (02, 3)}"}) {
    CAPTURE(dictionary);
    CHECK(kind_of(npy_file(dictionary, 24)) == ErrorKind::parse);
  }
  CHECK(kind_of(npy_file(plain("(6,)"), 24, 4)) == ErrorKind::unsupported);
}

TEST_CASE("NPY refuses elements by name") {
  for (const char* descr :
       {">f4", ">i8", ">c16", "<f12", "<U3", "|O", "|V3", "S4", "<f", "f4", "<f4x", "<f99999999999"}) {
    CAPTURE(descr);
    CHECK(kind_of(npy_file(plain("(6,)", descr), 24)) == ErrorKind::unsupported);
  }
  CHECK(kind_of(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", 24)) ==
        ErrorKind::unsupported);
  const auto big = parse(npy_file(plain("(6,)", ">f4"), 24));
  CHECK(big.error().message().find("big-endian") != std::string::npos);
  // One byte has no order.
  CHECK(parse(npy_file(plain("(6,)", ">u1"), 6)).has_value());
}

TEST_CASE("NPY limits are taken on their one side and refused on the other") {
  const auto ones = [](int axes) {
    std::string shape = "(";
    for (int i = 0; i < axes; ++i) shape += "1, ";
    return npy_file(plain(shape + ")"), 4);
  };
  REQUIRE(parse(ones(64)).has_value());
  CHECK(parse(ones(64))->shape.size() == 64);
  CHECK(kind_of(ones(65)) == ErrorKind::parse);
  // The longest dictionaries, whose files are read whole.
  const Folder folder;
  std::string dictionary = plain("(2, 3)");
  for (const auto& [version, bytes] : {std::pair(1, 65535), std::pair(2, 65536), std::pair(3, 65536)}) {
    dictionary.resize(static_cast<std::size_t>(bytes), ' ');
    const std::string file = npy_file(dictionary, 24, version);
    REQUIRE_MESSAGE(parse(file).has_value(), version);
    CHECK(parse(file)->data_bytes == 24);
    test::write_file(folder.path("long.npy"), file);
    const auto read = read_npy(folder.path("long.npy"));
    REQUIRE_MESSAGE(read.has_value(), read.error().message());
    CHECK((read->data == std::vector<std::byte>(24, std::byte{'x'})));
  }
  dictionary += ' ';
  CHECK(parse(npy_file(dictionary, 24, 2)).error().message() == "parse: .npy header: 65537 bytes (want at most 65536)");
  // Versions, and headers that end anywhere.
  CHECK(kind_of(npy_file(plain("(6,)"), 24, 0)) == ErrorKind::unsupported);
  std::string minor = npy_file(plain("(6,)"), 24);
  minor[7] = '\1';
  CHECK(kind_of(minor) == ErrorKind::unsupported);
  for (const int version : {2, 3}) {
    const std::string file = npy_file(plain("(6,)"), 24, version);
    for (std::size_t size = 0; size < file.size(); ++size) CHECK(kind_of(file.substr(0, size)) == ErrorKind::parse);
  }
  // Sizes of 63 bits, and so many bytes of all elements: what fits is only more than the file has.
  CHECK(kind_of(npy_file(plain("(9223372036854775807,)", "|u1"), 24)) == ErrorKind::parse);
  CHECK(kind_of(npy_file(plain("(4294967296, 2147483648)", "|u1"), 24)) == ErrorKind::overflow);
  CHECK(kind_of(npy_file(plain("(4611686018427387903,)", "<u2"), 24)) == ErrorKind::parse);
  CHECK(kind_of(npy_file(plain("(4611686018427387904,)", "<u2"), 24)) == ErrorKind::overflow);
  CHECK(parse(npy_file(plain("(9223372036854775808,)", "|u1"), 24)).error().limit == "an integer of 64 bits in shape");
  for (const char* descr : {"|V0", "|V17", "|V32", "|V4294967296"})
    CHECK(kind_of(npy_file(plain("(6,)", descr), 24)) == ErrorKind::unsupported);
  for (const int bytes : {1, 2, 4, 8, 16}) {
    const auto header =
        parse(npy_file(plain("(6,)", "|V" + std::to_string(bytes)), static_cast<std::size_t>(6 * bytes)));
    REQUIRE_MESSAGE(header.has_value(), bytes);
    CHECK(header->item_bytes == static_cast<std::uint32_t>(bytes));
  }
}

TEST_CASE("NPY round trip with NumPy") {
  const Folder folder;
  const std::string script = R"(
import sys, numpy as np
folder, step = sys.argv[1], sys.argv[2]
types = ['i1','u1','?','i2','u2','f2','i4','u4','f4','i8','u8','f8','c8','c16','V2','V16','S8','M8[ns]']
for n, t in enumerate(types):
    dtype = np.dtype(t)
    bits = np.random.default_rng(n).integers(0, 2, 60 * dtype.itemsize, np.uint8)
    a = np.frombuffer(bits.tobytes(), dtype).reshape(3, 4, 5)
    a = np.asfortranarray(a) if n % 2 else a
    if step == 'write':
        version = [(1, 0), (2, 0), (3, 0)][n % 3]
        with open(f'{folder}/{n}.npy', 'wb') as f: np.lib.format.write_array(f, a, version=version)
    else:
        b = np.load(f'{folder}/{n}.out.npy')
        assert b.dtype == a.dtype and b.shape == a.shape, (t, b.dtype, b.shape)
        assert b.tobytes(order='C') == a.tobytes(order='C'), t
print(len(types))
)";
  test::write_file(folder.path("round_trip.py"), script);
  const auto wrote = test::run_program("python3", {folder.path("round_trip.py"), folder.path(""), "write"});
  if (wrote.code != 0) {
    MESSAGE("skipped: no python3 with numpy: " << wrote.err);
    return;
  }
  const int types = std::stoi(wrote.out);
  for (int n = 0; n < types; ++n) {
    CAPTURE(n);
    const auto array = read_npy(folder.path(std::to_string(n) + ".npy"));
    REQUIRE_MESSAGE(array.has_value(), array.error().message());
    CHECK(array->header.fortran_order == (n % 2 == 1));
    // Back in C order, as write_npy writes: element by element through the strides that the header says.
    const auto strides = array->header.strides();
    const std::size_t size = array->header.item_bytes;
    std::vector<std::byte> ordered;
    for (std::int64_t i = 0; i < 60; ++i) {
      const auto at =
          static_cast<std::size_t>(i / 20 * strides[0] + i / 5 % 4 * strides[1] + i % 5 * strides[2]) * size;
      ordered.insert(ordered.end(), array->data.begin() + static_cast<std::ptrdiff_t>(at),
                     array->data.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    REQUIRE(write_npy(folder.path(std::to_string(n) + ".out.npy"), array->header.descr, array->header.shape, ordered)
                .has_value());
  }
  const auto read = test::run_program("python3", {folder.path("round_trip.py"), folder.path(""), "read"});
  CHECK_MESSAGE(read.code == 0, read.err);
}

TEST_CASE("NPY writes nothing where it cannot") {
  const std::vector<std::byte> data(4);
  const std::vector<std::int64_t> shape = {1};
  const auto wrote = write_npy("/nonexistent/folder/x.npy", "<f4", shape, data);
  REQUIRE_FALSE(wrote.has_value());
  CHECK(wrote.error().kind == ErrorKind::io);
  CHECK(read_npy("/nonexistent/x.npy").error().kind == ErrorKind::missing);
  CHECK(read_npy("/tmp").error().kind == ErrorKind::io);
}
