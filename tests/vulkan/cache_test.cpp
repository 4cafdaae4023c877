// The pipeline cache's file: what it survives.
#include "helpers.hpp"

#include <filesystem>
#include <fstream>

using namespace sectile;
using namespace sectile::test;
using vulkan::PipelineCacheFile;

namespace {

std::string path_for(const char* name) { return temporary_folder() + "/" + name; }

Result<PipelineCacheFile> open_file(const vulkan::Runtime& runtime, const std::string& path) {
  return PipelineCacheFile::open(runtime.get_instance_proc_addr(), runtime.instance(), runtime.physical_device(),
                                 runtime.vk_device(), path);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

}  // namespace

TEST_CASE("a cache is saved, and taken again at the second start") {
  for (const std::string& selector : selectors()) {
    vulkan::RuntimeOptions options;
    options.pipeline_cache = path_for("second-start");
    std::filesystem::remove(options.pipeline_cache);
    std::size_t saved = 0;
    {
      auto first = open(selector, options);
      CHECK(first.cache_warning() == "");
      CHECK(first.cache_loaded_bytes() == 0);
      must(first.device().prepare(copy_plan(4096)));
      must(first.save_cache());
      saved = std::filesystem::file_size(options.pipeline_cache);
      CHECK(first.validation_messages().empty());
    }
    auto second = open(selector, options);
    CHECK(second.cache_warning() == "");
    CHECK(second.cache_loaded_bytes() > 0);
    CHECK(second.cache_loaded_bytes() < saved);
    const auto executable = must(second.device().prepare(copy_plan(4096)));
    // lavapipe and SwiftShader keep nothing in their caches; a driver that does says so.
    if (second.cache_loaded_bytes() > 1000) CHECK(executable.info().cache_hits == 1);
    CHECK(second.device().pipeline_counts().cache_hits == executable.info().cache_hits);
    CHECK(second.validation_messages().empty());
  }
}

TEST_CASE("a truncated cache file is ignored with a warning, wherever it ends") {
  on_every_device([](vulkan::Runtime& runtime) {
    const std::string path = path_for("truncated");
    must(must(open_file(runtime, path)).save());
    const std::string whole = read_file(path);
    REQUIRE(whole.size() > 56);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      write_file(path, whole.substr(0, bytes));
      const auto file = must(open_file(runtime, path));
      CHECK(file.cache() != VK_NULL_HANDLE);
      CHECK(file.loaded_bytes() == 0);
      CHECK(file.warning().find("truncated") != std::string_view::npos);
    }
    write_file(path, whole + "x");
    CHECK(must(open_file(runtime, path)).loaded_bytes() == 0);
    write_file(path, whole);
    CHECK(must(open_file(runtime, path)).loaded_bytes() == whole.size() - 56);
  });
}

TEST_CASE("a cache file with any byte changed is ignored") {
  on_every_device([](vulkan::Runtime& runtime) {
    const std::string path = path_for("garbled");
    must(must(open_file(runtime, path)).save());
    const std::string whole = read_file(path);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string garbled = whole;
      garbled[at] = static_cast<char>(garbled[at] ^ 0x41);
      write_file(path, garbled);
      auto file = must(open_file(runtime, path));
      CHECK(file.loaded_bytes() == 0);
      CHECK_FALSE(file.warning().empty());
    }
    auto file = must(open_file(runtime, path));
    must(file.save());  // over the garbage
    CHECK(read_file(path) == whole);
  });
}

TEST_CASE("a cache file of another device, and garbage, are ignored") {
  on_every_device([](vulkan::Runtime& runtime) {
    const std::string path = path_for("foreign");
    must(must(open_file(runtime, path)).save());
    std::string foreign = read_file(path);
    foreign[12] = static_cast<char>(foreign[12] + 1);  // the vendor
    write_file(path, foreign);
    CHECK(must(open_file(runtime, path)).warning().find("another device") != std::string_view::npos);
    foreign = read_file(path);
    foreign[12] = static_cast<char>(foreign[12] - 1);
    foreign[20] = static_cast<char>(foreign[20] + 1);  // the driver's version
    write_file(path, foreign);
    CHECK(must(open_file(runtime, path)).warning().find("driver version") != std::string_view::npos);
    write_file(path, std::string(100000, 'g'));
    CHECK(must(open_file(runtime, path)).warning().find("not a pipeline cache") != std::string_view::npos);
    CHECK(must(open_file(runtime, temporary_folder())).warning().find("not a regular file") != std::string_view::npos);
    CHECK(must(open_file(runtime, path_for("not-there"))).warning() == "");
  });
}

TEST_CASE("saving is atomic and says where it cannot") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto file = must(open_file(runtime, path_for("no-such-folder/cache")));
    const auto failed = file.save();
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().kind == ErrorKind::io);
    // Over a folder no rename succeeds; the half-made file is gone again.
    const std::string folder = path_for("a-folder");
    std::filesystem::create_directories(folder + "/inside");
    CHECK_FALSE(must(open_file(runtime, folder)).save().has_value());
    for (const auto& entry : std::filesystem::directory_iterator(temporary_folder()))
      CHECK(entry.path().extension() != ".part");
  });
}

TEST_CASE("a cache's bytes are taken again, and no other bytes are") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto from = [&](std::span<const std::byte> bytes) {
      return must(PipelineCacheFile::from_bytes(runtime.get_instance_proc_addr(), runtime.instance(),
                                                runtime.physical_device(), runtime.vk_device(), bytes));
    };
    auto empty = from({});
    CHECK(empty.warning() == "");
    CHECK(empty.save().error().kind == ErrorKind::missing);
    const std::vector<std::byte> whole = must(empty.bytes());
    CHECK(from(whole).warning() == "");
    CHECK(from(whole).loaded_bytes() == whole.size() - 56);
    CHECK(must(from(whole).bytes()).size() >= whole.size());  // SwiftShader adds its header anew
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> garbled = whole;
      garbled[at] ^= std::byte{0x41};
      CHECK(from(garbled).loaded_bytes() == 0);
      CHECK_FALSE(from(garbled).warning().empty());
      if (at > 0) CHECK(from(std::span(whole).first(at)).loaded_bytes() == 0);
    }
    // A file and bytes are the same.
    const std::string path = path_for("as-bytes");
    must(must(open_file(runtime, path)).save());
    CHECK(read_file(path).size() == whole.size());
  });
}
