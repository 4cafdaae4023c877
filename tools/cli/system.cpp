#include "system.hpp"

#include "backend/platform.hpp"
#include "backend/whole_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <system_error>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace sectile::tools {

namespace fs = std::filesystem;

Result<std::string> make_temporary_folder(const std::string& name) {
  std::error_code code;
  const fs::path folder = fs::temp_directory_path(code);
  if (code) return backend::write_failed("a temporary folder", code);
  return make_new_folder(backend::text_of(folder / backend::native_path(name)));
}

#if defined(_WIN32)

namespace {

std::string utf8(const std::wstring& text) {
  const auto letters = static_cast<int>(text.size());
  const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), letters, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<std::size_t>(bytes), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), letters, out.data(), bytes, nullptr, nullptr);
  return out;
}

}  // namespace

std::vector<std::string> start_program(int argc, char** argv) {
  // What is printed has the same bytes as on other systems.
  ::_setmode(::_fileno(stdout), _O_BINARY);
  ::_setmode(::_fileno(stderr), _O_BINARY);
  auto words = command_words();
  return words.empty() ? std::vector<std::string>(argv, argv + argc) : words;
}

std::vector<std::string> command_words() {
  int count = 0;
  LPWSTR* const words = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  std::vector<std::string> out;
  for (int i = 0; words != nullptr && i < count; ++i) out.push_back(utf8(words[i]));
  ::LocalFree(words);
  return out;
}

bool error_is_terminal() noexcept { return ::_isatty(::_fileno(stderr)) != 0; }

std::string user_cache_folder() {
  const wchar_t* const folder = ::_wgetenv(L"LOCALAPPDATA");
  return folder == nullptr || *folder == L'\0' ? std::string() : utf8(folder);
}

Result<std::string> make_new_folder(const std::string& path) {
  std::random_device random;
  std::error_code code;
  for (int tries = 0; tries < 100; ++tries) {
    std::array<char, 7> letters{};
    std::snprintf(letters.data(), letters.size(), "%06x", static_cast<unsigned>(random()) & 0xffffffu);
    std::string name = path + "." + letters.data();
    if (fs::create_directory(backend::native_path(name), code)) return name;
    if (code) break;
  }
  return backend::write_failed(path, code);
}

std::byte* map_pages(std::uint64_t bytes, std::string* why) {
  void* const pages = ::VirtualAlloc(nullptr, static_cast<SIZE_T>(bytes), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (pages == nullptr && why != nullptr) *why = std::system_category().message(static_cast<int>(::GetLastError()));
  return static_cast<std::byte*>(pages);
}
void unmap_pages(std::byte* pages, std::uint64_t) noexcept { ::VirtualFree(pages, 0, MEM_RELEASE); }
std::uint64_t page_bytes() noexcept {
  SYSTEM_INFO info{};
  ::GetSystemInfo(&info);
  return info.dwPageSize;
}
void protect_pages(std::byte* pages, std::uint64_t bytes) noexcept {
  DWORD before = 0;
  ::VirtualProtect(pages, static_cast<SIZE_T>(bytes), PAGE_NOACCESS, &before);
}
void unprotect_pages(std::byte* pages, std::uint64_t bytes) noexcept {
  DWORD before = 0;
  ::VirtualProtect(pages, static_cast<SIZE_T>(bytes), PAGE_READWRITE, &before);
}

#else

namespace {

// The next file that is opened would get a closed standard descriptor's number, and printed text would go into it.
// Standard input and output are opened in the wrong direction, so that using them is an error. Standard error may be
// lost.
void fill_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number: this one.
    if (::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) return;
  }
}

}  // namespace

std::vector<std::string> start_program(int argc, char** argv) {
  fill_closed_descriptors();
  return {argv, argv + argc};
}

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string word; std::getline(file, word, '\0');) out.push_back(word);
  return out;
}

bool error_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

std::string user_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return cache;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.cache" : std::string();
}

Result<std::string> make_new_folder(const std::string& path) {
  std::string name = path + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return backend::write_failed(path, errno);
  // mkdtemp makes a folder for its owner alone; the result gets the usual mode.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::chmod(name.c_str(), 0777 & ~mask) != 0) {
    const int error = errno;
    ::rmdir(name.c_str());
    return backend::write_failed(path, error);
  }
  return name;
}

std::byte* map_pages(std::uint64_t bytes, std::string* why) {
  void* const pages = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED && why != nullptr) *why = std::strerror(errno);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}
void unmap_pages(std::byte* pages, std::uint64_t bytes) noexcept { ::munmap(pages, static_cast<std::size_t>(bytes)); }
std::uint64_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
void protect_pages(std::byte* pages, std::uint64_t bytes) noexcept {
  ::mprotect(pages, static_cast<std::size_t>(bytes), PROT_NONE);
}
void unprotect_pages(std::byte* pages, std::uint64_t bytes) noexcept {
  ::mprotect(pages, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE);
}

#endif

}  // namespace sectile::tools
