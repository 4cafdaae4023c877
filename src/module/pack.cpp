#include <sectile/pack.hpp>

#include "facts.hpp"

#include "backend/whole_file.hpp"
#include "base/json_text.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>

namespace sectile {

struct Pack::Content {
  std::vector<PackedModule> modules;
  std::vector<std::string> manifests;
  std::string id;
};

namespace {

using detail::JsonObject;
using detail::JsonWriter;

static_assert(std::endian::native == std::endian::little, "packs are little-endian, and read as they lie");

constexpr std::string_view kMagic = "SECTPACK";
constexpr std::size_t kHeaderBytes = 40;                      // magic, version, zero, content's bytes, its XXH3-128
constexpr std::uint64_t kMostBytes = std::uint64_t{2} << 30;  // of a pack's file
constexpr std::size_t kMostModules = 65536, kMostManifests = 4096, kMostConstants = 1024;

std::array<std::uint8_t, 16> digest_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data(), bytes.size()));
  return std::to_array(digest.digest);
}

auto key_of(const PackedModule& m) { return std::tie(m.kernel, m.constants, m.push); }

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void append(std::vector<std::byte>& out, const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(from);
  out.insert(out.end(), begin, begin + bytes);
}

// The index, with sorted keys as in all of Sectile's JSON.
std::string index_of(const std::vector<PackedModule>& modules, const std::vector<std::string>& manifests) {
  JsonWriter w;
  w.begin('{');
  w.field("manifests", manifests);
  w.key("modules");
  w.begin('[');
  std::uint64_t offset = 0;
  for (const PackedModule& m : modules) {
    w.begin('{');
    w.field("api_version", m.api_version);
    w.key("constants");
    w.begin('[');
    for (const Constant& c : m.constants) w.value(std::array<std::uint32_t, 2>{c.id, c.value});
    w.end(']');
    w.field("first_word", offset);
    w.field("frozen_push", detail::hex_text(m.push));
    w.field("stem", m.kernel.stem);
    w.field("variant", m.kernel.variant);
    w.field("words", m.words.size());
    w.end('}');
    offset += m.words.size();
  }
  w.end(']');
  w.field("schema_version", kPackVersion);
  w.end('}');
  return std::move(w).text();
}

Result<void> read_module(const nlohmann::json& value, const std::string& what, std::span<const std::byte> blob,
                         PackedModule& out) {
  JsonObject o(value, what);
  std::vector<std::array<std::uint32_t, 2>> constants;
  std::uint64_t first = 0, count = 0;
  std::string push;
  o.required("api_version", out.api_version);
  o.required("constants", constants);
  o.required("first_word", first);
  o.required("frozen_push", push);
  o.required("stem", out.kernel.stem);
  o.required("variant", out.kernel.variant);
  o.required("words", count);
  if (auto ok = o.finish(); !ok) return ok;
  const std::uint64_t all = blob.size() / sizeof(std::uint32_t);
  if (count == 0 || count > all || first > all - count)
    return fail(ErrorKind::parse, what, "words " + std::to_string(first) + " and " + std::to_string(count) + " more",
                "within " + std::to_string(all));
  if (!detail::bytes_of_hex(push, out.push))
    return fail(ErrorKind::parse, what + ".frozen_push", JsonObject::cut(push), "pairs of lower-case hex digits");
  if (constants.size() > kMostConstants)
    return fail(ErrorKind::parse, what + ".constants", std::to_string(constants.size()),
                "at most " + std::to_string(kMostConstants));
  for (const auto& [id, number] : constants) out.constants.push_back({id, number});
  if (!std::ranges::is_sorted(out.constants))
    return fail(ErrorKind::parse, what + ".constants", "not sorted", "sorted by id");
  out.words.resize(static_cast<std::size_t>(count));
  std::memcpy(out.words.data(), blob.data() + first * sizeof(std::uint32_t), count * sizeof(std::uint32_t));
  return {};
}

// Checks that a driver can get the module: valid instructions, one compute entry point, no specialization constants.
Result<void> check_module(const PackedModule& m) {
  const std::string name = m.kernel.stem + "." + m.kernel.variant;
  const auto facts = module::read_facts(m.words);
  if (!facts) {
    Error error = facts.error();
    error.what = name + ": " + error.what;
    return std::unexpected(std::move(error));
  }
  if (facts->specialized != 0)
    return fail(ErrorKind::parse, name, std::to_string(facts->specialized) + " specialization constants", "0");
  return {};
}

// A manifest of emit's names the planner whose plans its modules serve: another version's kernels may take other push
// bytes. Manifests of others are kept as they are.
Result<void> check_manifest(const std::string& text, std::string_view name) {
  const auto manifest = nlohmann::json::parse(text, nullptr, false);
  if (!manifest.is_object()) return {};
  const auto version = manifest.find("planner_version");
  if (version == manifest.end() || *version == planner_version()) return {};
  return fail(ErrorKind::parse, std::string(name), "modules of planner version " + JsonObject::shown(*version),
              "\"" + std::string(planner_version()) + "\", this version's: emit and pack again");
}

std::string constants_text(const std::vector<Constant>& constants) {
  std::string out;
  for (const Constant& c : constants)
    out += (out.empty() ? "" : " ") + std::to_string(c.id) + ":" + std::to_string(c.value);
  return out;
}

// The constants that only one of the lists has, or that differ in value, and their number.
std::size_t differences(const std::vector<Constant>& want, const std::vector<Constant>& have, std::string* text) {
  std::size_t count = 0;
  const auto tell = [&](const std::string& one) {
    ++count;
    if (text != nullptr && count <= 8) *text += (text->empty() ? "" : ", ") + one;
  };
  for (const Constant& c : want) {
    const auto found = std::ranges::find(have, c.id, &Constant::id);
    if (found == have.end())
      tell("constant " + std::to_string(c.id) + " = " + std::to_string(c.value) + " is not frozen in it");
    else if (found->value != c.value)
      tell("constant " + std::to_string(c.id) + " = " + std::to_string(found->value) + " where the plan has " +
           std::to_string(c.value));
  }
  for (const Constant& c : have)
    if (std::ranges::find(want, c.id, &Constant::id) == want.end())
      tell("constant " + std::to_string(c.id) + " = " + std::to_string(c.value) + ", which the plan has not");
  return count;
}

}  // namespace

Pack::Pack() : content_(std::make_shared<Content>()) {}

Result<Pack> Pack::open(std::span<const std::byte> bytes, std::string_view name) {
  const auto broken = [&](std::string value, std::string limit) {
    return fail(ErrorKind::parse, std::string(name), std::move(value), std::move(limit));
  };
  if (bytes.size() < kMagic.size() || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return broken("no pack", "a file that begins with " + std::string(kMagic));
  if (bytes.size() < kHeaderBytes)
    return broken("cut off after " + std::to_string(bytes.size()) + " bytes",
                  "a header of " + std::to_string(kHeaderBytes));
  if (const auto version = number_at<std::uint32_t>(bytes, 8); version != kPackVersion)
    return broken("version " + std::to_string(version), std::to_string(kPackVersion));
  if (number_at<std::uint32_t>(bytes, 12) != 0) return broken("a reserved word that is not 0", "0");
  const auto content = bytes.subspan(kHeaderBytes);
  if (const auto size = number_at<std::uint64_t>(bytes, 16); size != content.size())
    return broken(std::to_string(content.size()) + " bytes of content", std::to_string(size));
  const auto digest = digest_of(content);
  if (std::memcmp(digest.data(), bytes.data() + 24, digest.size()) != 0)
    return broken("damaged", "content of the hash that the header states");

  // The content is undamaged here, but may come from another writer.
  if (content.size() < 8) return broken("no index", "its length");
  const auto index_bytes = number_at<std::uint64_t>(content, 0);
  if (index_bytes > content.size() - 8 || index_bytes % 4 != 0)
    return broken("an index of " + std::to_string(index_bytes) + " bytes",
                  "at most " + std::to_string(content.size() - 8));
  const auto index = content.subspan(8, static_cast<std::size_t>(index_bytes));
  const auto blob = content.subspan(8 + static_cast<std::size_t>(index_bytes));
  auto json = detail::parse_json({reinterpret_cast<const char*>(index.data()), index.size()}, std::string(name));
  if (!json) return std::unexpected(std::move(json.error()));

  auto made = std::make_shared<Content>();
  made->id = detail::hex_text(digest);
  JsonObject o(*json, std::string(name));
  std::uint32_t schema = 0;
  o.required("schema_version", schema);
  o.required("manifests", made->manifests);
  o.each("modules", kMostModules, [&](const nlohmann::json& item, const std::string& what) -> Result<void> {
    PackedModule& m = made->modules.emplace_back();
    if (auto read = read_module(item, what, blob, m); !read) return read;
    return check_module(m);
  });
  if (auto ok = o.finish(); !ok) return std::unexpected(std::move(ok.error()));
  if (schema != kPackVersion) return broken("schema " + std::to_string(schema), std::to_string(kPackVersion));
  if (made->manifests.size() > kMostManifests)
    return broken(std::to_string(made->manifests.size()) + " manifests", std::to_string(kMostManifests));
  for (const std::string& manifest : made->manifests)
    if (auto fine = check_manifest(manifest, name); !fine) return std::unexpected(fine.error());
  const auto unordered =
      std::ranges::adjacent_find(made->modules, [](const auto& a, const auto& b) { return !(key_of(a) < key_of(b)); });
  if (unordered != made->modules.end()) return broken("modules out of order", "sorted, each once");
  Pack out;
  out.content_ = std::move(made);
  return out;
}

Result<Pack> Pack::read(const std::string& path) {
  auto text = backend::read_whole_file(path, kMostBytes, backend::Streams::refused);
  if (!text) {
    if (text.error().kind == ErrorKind::missing) text.error().what = "pack";
    return std::unexpected(std::move(text.error()));
  }
  return open(std::as_bytes(std::span(*text)), path);
}

std::span<const PackedModule> Pack::modules() const noexcept { return content_->modules; }
std::span<const std::string> Pack::manifests() const noexcept { return content_->manifests; }
std::string_view Pack::id() const noexcept { return content_->id; }

const PackedModule* Pack::find(const Step& step) const noexcept {
  const auto& all = content_->modules;
  const auto key = [](const PackedModule& m) { return std::tie(m.kernel, m.constants); };
  const auto range = std::ranges::equal_range(all, std::tie(step.kernel, step.constants), {}, key);
  const PackedModule* any = nullptr;
  for (const PackedModule& m : range) {
    if (m.push.empty()) any = &m;
    if (!m.push.empty() && m.push == step.push) return &m;
  }
  return any;
}

bool Pack::has(const Step& step) const { return find(step) != nullptr; }

std::string Pack::nearest(const Step& step) const {
  const PackedModule* best = nullptr;
  std::size_t fewest = ~std::size_t{0};
  std::string stems;
  for (const PackedModule& m : content_->modules) {
    const std::string name = m.kernel.stem + "." + m.kernel.variant;
    if (!stems.ends_with(name)) stems += (stems.empty() ? "" : ", ") + name;
    if (m.kernel.stem != step.kernel.stem) continue;
    // Another variant counts more than any number of constants.
    const std::size_t apart =
        differences(step.constants, m.constants, nullptr) + (m.kernel.variant == step.kernel.variant ? 0 : 1000);
    if (apart < fewest) {
      fewest = apart;
      best = &m;
    }
  }
  const std::string wanted = step.kernel.stem + "." + step.kernel.variant + " " + constants_text(step.constants);
  if (content_->modules.empty()) return wanted + "; the pack is empty";
  if (best == nullptr) return wanted + "; the pack has " + stems;
  std::string text;
  differences(step.constants, best->constants, &text);
  if (best->kernel.variant != step.kernel.variant)
    text = "variant " + best->kernel.variant + (text.empty() ? "" : ", ") + text;
  if (text.empty()) text = "other push bytes frozen in";
  return wanted + "; nearest: " + best->kernel.stem + "." + best->kernel.variant + " with " + text +
         "; `sectile emit` the problem into the pack's folder, and pack that again";
}

Result<std::vector<std::byte>> make_pack(std::vector<PackedModule> modules, std::vector<std::string> manifests) {
  for (const PackedModule& m : modules)
    if (auto fine = check_module(m); !fine) return std::unexpected(fine.error());
  std::ranges::sort(modules, [](const PackedModule& a, const PackedModule& b) {
    return std::tie(a.kernel, a.constants, a.push, a.api_version, a.words) <
           std::tie(b.kernel, b.constants, b.push, b.api_version, b.words);
  });
  std::vector<PackedModule> kept;
  for (PackedModule& m : modules) {
    if (kept.empty() || key_of(kept.back()) != key_of(m)) {
      kept.push_back(std::move(m));
    } else if (kept.back().api_version == m.api_version && kept.back().words != m.words) {
      return fail(ErrorKind::invalid_plan, m.kernel.stem + "." + m.kernel.variant, "two different modules of one name",
                  "modules made by one version of Sectile");
    }
  }
  std::ranges::sort(manifests);
  manifests.erase(std::ranges::unique(manifests).begin(), manifests.end());

  std::string index = index_of(kept, manifests);
  index.resize((index.size() + 3) / 4 * 4, ' ');
  std::vector<std::byte> content;
  const std::uint64_t index_bytes = index.size();
  append(content, &index_bytes, sizeof index_bytes);
  append(content, index.data(), index.size());
  for (const PackedModule& m : kept) append(content, m.words.data(), m.words.size() * sizeof(std::uint32_t));

  std::vector<std::byte> out;
  const std::array<std::uint32_t, 2> version = {kPackVersion, 0};
  const std::uint64_t size = content.size();
  const auto digest = digest_of(content);
  append(out, kMagic.data(), kMagic.size());
  append(out, version.data(), sizeof version);
  append(out, &size, sizeof size);
  append(out, digest.data(), digest.size());
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

}  // namespace sectile
