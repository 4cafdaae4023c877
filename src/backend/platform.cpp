#include "platform.hpp"

#include "whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace sectile::backend {

std::unexpected<Error> write_failed(const std::string& path, int error) {
  return fail(ErrorKind::io, std::string(kWriting) + path, std::strerror(error));
}
std::unexpected<Error> write_failed(const std::string& path, std::error_code error) {
  return fail(ErrorKind::io, std::string(kWriting) + path, error.message());
}

std::filesystem::path native_path(const std::string& path) {
#if defined(_WIN32)
  // Bytes that are no UTF-8 become the replacement character; std::filesystem would throw.
  const auto bytes = static_cast<int>(path.size());
  std::wstring wide(path.size(), L'\0');
  if (bytes > 0)
    wide.resize(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, path.data(), bytes, wide.data(), bytes)));
  return wide;
#else
  return path;
#endif
}

std::string text_of(const std::filesystem::path& path) {
#if defined(_WIN32)
  const std::u8string text = path.generic_u8string();
#else
  const std::string& text = path.native();
#endif
  return {text.begin(), text.end()};
}

#if defined(_WIN32)

namespace {
HANDLE handle(std::intptr_t file) noexcept { return reinterpret_cast<HANDLE>(file); }
}  // namespace

InputFile::InputFile(const std::string& path) {
  const HANDLE file =
      ::CreateFileW(native_path(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const DWORD error = ::GetLastError();
    missing_ = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
    why_ = std::system_category().message(static_cast<int>(error));
    return;
  }
  file_ = reinterpret_cast<std::intptr_t>(file);
  BY_HANDLE_FILE_INFORMATION info{};
  regular_ = ::GetFileType(file) == FILE_TYPE_DISK && ::GetFileInformationByHandle(file, &info) != 0 &&
             (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
  size_ = std::uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
}
InputFile::~InputFile() {
  if (file_ != -1) ::CloseHandle(handle(file_));
}

bool InputFile::read_all(void* to, std::size_t bytes) noexcept {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    DWORD got = 0;
    const auto piece = static_cast<DWORD>(std::min<std::size_t>(bytes, std::size_t{1} << 30));
    if (::ReadFile(handle(file_), at, piece, &got, nullptr) == 0 || got == 0) return false;
    at += got;
    bytes -= got;
  }
  return true;
}

std::FILE* open_to_append(const std::string& path) { return ::_wfopen(native_path(path).c_str(), L"ab"); }

void* load_library(const std::string& name) {
  const std::filesystem::path path = native_path(name).make_preferred();
  // The folder of a library that is named with one is searched for what it needs; relative names are not.
  const DWORD where =
      LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (path.is_absolute() ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : DWORD{0});
  return reinterpret_cast<void*>(::LoadLibraryExW(path.c_str(), nullptr, where));
}

void* library_function(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string library_folder(const void* function) {
  HMODULE library = nullptr;
  constexpr DWORD kByAddress = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (::GetModuleHandleExW(kByAddress, static_cast<LPCWSTR>(function), &library) == 0) return {};
  std::wstring path(32768, L'\0');  // the longest that Windows has
  path.resize(::GetModuleFileNameW(library, path.data(), static_cast<DWORD>(path.size())));
  return text_of(std::filesystem::path(path).parent_path());
}

#else

InputFile::InputFile(const std::string& path)
    : file_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
  struct stat status{};
  if (file_ < 0 || ::fstat(static_cast<int>(file_), &status) != 0) {
    missing_ = errno == ENOENT;
    why_ = std::strerror(errno);
    if (file_ >= 0) ::close(static_cast<int>(std::exchange(file_, -1)));
    return;
  }
  regular_ = S_ISREG(status.st_mode);
  size_ = static_cast<std::uint64_t>(status.st_size);
}
InputFile::~InputFile() {
  if (file_ >= 0) ::close(static_cast<int>(file_));
}

bool InputFile::read_all(void* to, std::size_t bytes) noexcept {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(static_cast<int>(file_), at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::FILE* open_to_append(const std::string& path) { return std::fopen(path.c_str(), "ab"); }

void* load_library(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }
void* library_function(void* library, const char* name) noexcept { return ::dlsym(library, name); }

std::string library_folder(const void* function) {
  ::Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

#endif

}  // namespace sectile::backend
