// Each number of a pack's file at its limit and one beyond, with an index of our own.
#include <sectile/pack.hpp>

#include "module/facts.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

using namespace sectile;

namespace {

using Bytes = std::vector<std::byte>;

// The least module: a capability, and an entry point "main". `mark`: the generator's word, which nothing reads.
std::vector<std::uint32_t> least_module(std::uint32_t mark) {
  return {0x07230203, 0x10300, mark, 2, 0, 2u << 16 | 17, 1, 5u << 16 | 15, 5, 1, 0x6e69616d, 0};
}
const std::size_t kWords = least_module(0).size();

template <class T>
void append(Bytes& out, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), from, from + sizeof value);
}

Bytes sealed(const Bytes& content) {
  Bytes out(8);
  std::memcpy(out.data(), "SECTPACK", 8);
  append(out, std::array<std::uint32_t, 2>{1, 0});
  append(out, std::uint64_t{content.size()});
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(content.data(), content.size()));
  append(out, digest.digest);
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

struct Row {
  std::string stem = "a", first = "0", words = std::to_string(kWords), constants = "[]", push = {};
};
std::string text_of(const Row& row) {
  return "{\"api_version\":1003,\"constants\":" + row.constants + ",\"first_word\":" + row.first +
         ",\"frozen_push\":\"" + row.push + "\",\"stem\":\"" + row.stem +
         "\",\"variant\":\"e4\",\"words\":" + row.words + "}";
}
std::string index_of(const std::vector<Row>& rows, const std::string& manifests = "[]") {
  std::string modules;
  for (const Row& row : rows) modules += (modules.empty() ? "" : ",") + text_of(row);
  return "{\"manifests\":" + manifests + ",\"modules\":[" + modules + "],\"schema_version\":1}";
}

// An index and the words of so many modules. `claimed`: what the content says of the index's length.
Bytes file_of(std::string index, std::uint32_t modules, std::int64_t claimed_more = 0) {
  index.resize((index.size() + 3) / 4 * 4, ' ');
  Bytes content;
  append(content, static_cast<std::uint64_t>(static_cast<std::int64_t>(index.size()) + claimed_more));
  for (const char c : index) content.push_back(static_cast<std::byte>(c));
  for (std::uint32_t i = 0; i < modules; ++i)
    for (const std::uint32_t word : least_module(i)) append(content, word);
  return sealed(content);
}

std::string refusal(Bytes bytes) {
  bytes.shrink_to_fit();  // the sanitizers see a read past their end
  const auto pack = Pack::open(bytes, "NAME");
  return pack ? "" : pack.error().message();
}
std::string refusal(const std::vector<Row>& rows, std::uint32_t modules) {
  return refusal(file_of(index_of(rows), modules));
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string repeated(std::size_t times, const std::string& what) {
  std::string out = "[";
  for (std::size_t i = 0; i < times; ++i) out += (i == 0 ? "" : ",") + what;
  return out + "]";
}

}  // namespace

TEST_CASE("a module's words are those that its numbers say") {
  const std::string all = std::to_string(kWords);
  const auto pack = Pack::open(file_of(index_of({{.first = all}, {.stem = "b"}}), 2));
  REQUIRE_MESSAGE(pack.has_value(), pack.error().message());
  CHECK(pack->modules()[0].words == least_module(1));
  CHECK(pack->modules()[1].words == least_module(0));
}

TEST_CASE("words lie within the pack") {
  const auto first = [](std::uint64_t at) { return refusal({{.first = std::to_string(at)}}, 3); };
  CHECK(first(0) == "");
  CHECK(first(2 * kWords) == "");  // they end with the pack
  for (const std::uint64_t at : {2 * kWords + 1, 3 * kWords - 1, 3 * kWords, 3 * kWords + 1, ~std::uint64_t{0}}) {
    CAPTURE(at);
    CHECK_MESSAGE(has(first(at), "within 36"), first(at));
  }
  const auto words = [](std::uint64_t count) { return refusal({{.words = std::to_string(count)}}, 1); };
  CHECK(words(kWords) == "");
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{kWords + 1}, ~std::uint64_t{0}}) {
    CAPTURE(count);
    CHECK_MESSAGE(has(words(count), "within 12"), words(count));
  }
  CHECK_FALSE(words(kWords - 1).empty());  // the last instruction is cut off
  CHECK(refusal({}, 0) == "");
  CHECK(has(refusal({{}}, 0), "within 0"));
}

TEST_CASE("the index lies within the content") {
  const std::string index = index_of({});
  CHECK(refusal(file_of(index, 0)) == "");
  CHECK(has(refusal(file_of(index, 0, 4)), "an index of"));
  CHECK(has(refusal(file_of(index, 1, 2)), "an index of"));  // no multiple of 4
  CHECK(has(refusal(file_of(index, 0, -1 - static_cast<std::int64_t>((index.size() + 3) / 4 * 4))), "an index of"));
  CHECK(has(refusal(sealed(Bytes(7))), "no index"));
  CHECK_FALSE(has(refusal(sealed(Bytes(8))), "no index"));  // an index of no bytes, which is no JSON
  CHECK_FALSE(refusal(sealed(Bytes(8))).empty());
}

TEST_CASE("a pack's header is whole") {
  const Bytes good = file_of(index_of({{}}), 1);
  CHECK(refusal(good) == "");
  const auto cut = [&](std::size_t bytes) {
    return refusal(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes)));
  };
  CHECK(has(cut(7), "no pack"));
  CHECK(has(cut(8), "cut off after 8"));
  CHECK(has(cut(39), "cut off after 39"));
  CHECK(has(cut(40), "0 bytes of content"));
  CHECK(has(cut(good.size() - 1), "bytes of content"));
  const auto with = [&](std::size_t at, unsigned char value) {
    Bytes bytes = good;
    bytes[at] = std::byte{value};
    return refusal(bytes);
  };
  CHECK(has(with(8, 0), "version 0"));
  CHECK(has(with(8, 2), "version 2"));
  CHECK(has(with(12, 1), "reserved"));
  CHECK(has(with(15, 1), "reserved"));
  CHECK(has(with(23, 1), "bytes of content"));
  for (const std::size_t at : {24u, 39u})
    CHECK(has(with(at, static_cast<unsigned char>(~static_cast<unsigned char>(good[at]))), "damaged"));
}

TEST_CASE("a pack has at most so much of everything") {
  const auto constants = [](std::uint32_t count) {
    std::string text = "[";
    for (std::uint32_t i = 0; i < count; ++i) text += (i == 0 ? "[" : ",[") + std::to_string(i) + ",7]";
    return refusal({{.constants = text + "]"}}, 1);
  };
  CHECK(constants(1024) == "");
  CHECK(has(constants(1025), "at most 1024"));
  const auto manifests = [](std::size_t count) { return refusal(file_of(index_of({}, repeated(count, "\"m\"")), 0)); };
  CHECK(manifests(4096) == "");
  CHECK(has(manifests(4097), "4097 manifests"));
  const auto modules = [](std::size_t count) {
    return refusal(file_of("{\"manifests\":[],\"modules\":" + repeated(count, "{}") + ",\"schema_version\":1}", 0));
  };
  CHECK_FALSE(modules(65536).empty());
  CHECK_FALSE(has(modules(65536), "65536"));  // it is the first module that is refused
  CHECK_MESSAGE(has(modules(65537), "65536"), modules(65537));
}

TEST_CASE("a module's workgroup is what its execution mode says, where no constant does") {
  auto words = least_module(0);
  for (const std::uint32_t word : {6u << 16 | 16, 1u, 17u, 3u, 5u, 7u}) words.push_back(word);
  const auto facts = module::read_facts(words);
  REQUIRE_MESSAGE(facts.has_value(), facts.error().message());
  CHECK(facts->workgroup == std::array<std::uint32_t, 3>{3, 5, 7});
  CHECK(facts->entry_point == "main");
  CHECK(facts->version == 1003);
  words.back() = 0;
  words.resize(words.size() - 1);  // an instruction that is cut off
  CHECK_FALSE(module::read_facts(words).has_value());
}

TEST_CASE("modules stand in order, each once, with constants in order") {
  const std::string next = std::to_string(kWords);
  CHECK(refusal({{.stem = "a"}, {.stem = "b", .first = next}}, 2) == "");
  CHECK(has(refusal({{.stem = "b"}, {.stem = "a", .first = next}}, 2), "out of order"));
  CHECK(has(refusal({{.stem = "a"}, {.stem = "a", .first = next}}, 2), "out of order"));
  CHECK(refusal({{.push = "00"}, {.first = next, .push = "01"}}, 2) == "");
  CHECK(has(refusal({{.push = "01"}, {.first = next, .push = "00"}}, 2), "out of order"));
  CHECK(refusal({{.constants = "[[0,1]]"}, {.first = next, .constants = "[[0,2]]"}}, 2) == "");
  CHECK(has(refusal({{.constants = "[[1,1],[0,2]]"}}, 1), "not sorted"));
  for (const char* push : {"0", "000", "0A", "0g"}) CHECK(has(refusal({{.push = push}}, 1), "frozen_push"));
}
