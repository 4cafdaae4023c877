// Whole files on Windows; whole_file.cpp has the same for POSIX systems.
#include "whole_file.hpp"

#if defined(_WIN32)

#include "platform.hpp"

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <string_view>

namespace sectile::backend {
namespace {

constexpr std::string_view kPart = ".part";  // PATH.0123456789abcdef.part: a file in the making
constexpr std::size_t kPartDigits = 16;
constexpr std::uint64_t kDeadAfter = 60ull * 10'000'000;  // 100 ns: an older part that is not open is a dead writer's
constexpr std::string_view kLock = ".sectile-lock";
constexpr DWORD kStep = 5;            // milliseconds
constexpr DWORD kLockWait = 30000;    // for a lock that another process holds
constexpr DWORD kReaderWait = 10000;  // for a reader that has the file open, until it cannot be replaced
constexpr DWORD kDeniedWait = 1000;   // a name that is being removed is denied for a moment

constexpr DWORD kSharedByAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

class Handle {
 public:
  explicit Handle(HANDLE handle) noexcept : handle_(handle) {}
  ~Handle() { (void)close(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  explicit operator bool() const noexcept { return handle_ != INVALID_HANDLE_VALUE; }
  HANDLE get() const noexcept { return handle_; }
  bool close() noexcept {
    const HANDLE closed = std::exchange(handle_, INVALID_HANDLE_VALUE);
    return closed == INVALID_HANDLE_VALUE || ::CloseHandle(closed) != 0;
  }

 private:
  HANDLE handle_;
};

// A temporary file, removed unless it was renamed.
struct Temporary {
  std::wstring path;
  bool kept = false;
  ~Temporary() {
    if (!kept) ::DeleteFileW(path.c_str());
  }
};

std::error_code code_of(DWORD error) { return {static_cast<int>(error), std::system_category()}; }

std::wstring wide(const std::string& path) { return native_path(path).make_preferred().wstring(); }

bool is_absent(DWORD error) { return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND; }

std::unexpected<Error> refused(const std::string& path, std::string want) {
  return fail(ErrorKind::io, "output", path, std::move(want));
}

std::unexpected<Error> read_failed(const std::string& path, DWORD error) {
  if (is_absent(error)) return fail(ErrorKind::missing, "file", path);
  return fail(ErrorKind::io, "reading " + path, code_of(error).message());
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of("/\\");
  if (slash == std::string::npos) return ".";
  return path.substr(0, slash + 1);  // with the slash: that of C:\ is part of its name
}

bool is_folder(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesW(wide(path).c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

// FILE:STREAM would be a hidden part of FILE. A drive has its colon in the second place, or behind \\?\ .
bool names_a_stream(const std::string& path) {
  const std::size_t from = path.starts_with("\\\\?\\") ? 4 : 0;
  const std::size_t colon = path.find(':', from);
  return colon != std::string::npos && (colon != from + 1 || path.find(':', colon + 1) != std::string::npos);
}

DWORD write_all(HANDLE file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    DWORD put = 0;
    const auto piece = static_cast<DWORD>(std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (::WriteFile(file, bytes.data(), piece, &put, nullptr) == 0) return ::GetLastError();
    if (put == 0) return ERROR_DISK_FULL;
    bytes = bytes.subspan(put);
  }
  return 0;
}

Result<void> write_stream(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  std::fflush(nullptr);  // what is printed there stands before it
  Handle file(::CreateFileW(wide(path).c_str(), GENERIC_WRITE, kSharedByAll, nullptr, OPEN_EXISTING, 0, nullptr));
  if (!file) return write_failed(path, code_of(::GetLastError()));
  for (const auto& part : parts)
    if (const DWORD error = write_all(file.get(), part); error != 0) return write_failed(path, code_of(error));
  if (!file.close()) return write_failed(path, code_of(::GetLastError()));
  return {};
}

std::uint64_t now() {
  FILETIME time{};
  ::GetSystemTimeAsFileTime(&time);
  return std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
}

// Removes what killed writers of this file left. A living writer has its part open, so that it cannot be removed.
void remove_dead_parts(const std::string& path) {
  const std::wstring folder = wide(folder_of(path)) + L"\\", name = native_path(path).filename().wstring() + L".";
  const std::wstring end(kPart.begin(), kPart.end());
  WIN32_FIND_DATAW found{};
  const HANDLE search = ::FindFirstFileW((folder + name + L"*" + end).c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return;
  do {
    const std::wstring_view part = found.cFileName;
    if (part.size() != name.size() + kPartDigits + end.size() || !part.starts_with(name) || !part.ends_with(end))
      continue;
    const auto digits = part.substr(name.size(), kPartDigits);
    if (digits.find_first_not_of(L"0123456789abcdef") != std::wstring_view::npos) continue;
    constexpr DWORD kOther = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
    if ((found.dwFileAttributes & kOther) != 0) continue;
    const FILETIME& time = found.ftLastWriteTime;
    const std::uint64_t written = std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
    if (written + kDeadAfter < now()) ::DeleteFileW((folder + std::wstring(part)).c_str());
  } while (::FindNextFileW(search, &found) != 0);
  ::FindClose(search);
}

// A new file beside `path`, with a random name. No other process can open it until it is closed.
HANDLE make_part(const std::string& path, std::wstring& name) {
  std::random_device random;
  for (int tries = 0; tries < 100; ++tries) {
    std::array<char, kPartDigits + 1> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x%08x", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    name = wide(path + "." + digits.data() + std::string(kPart));
    const HANDLE file =
        ::CreateFileW(name.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (file != INVALID_HANDLE_VALUE || ::GetLastError() != ERROR_FILE_EXISTS) return file;
  }
  return INVALID_HANDLE_VALUE;
}

// A file that a reader has open cannot be replaced until the reader closes it.
DWORD replace(const std::wstring& part, const std::wstring& path) {
  for (DWORD waited = 0;; waited += kStep) {
    if (::MoveFileExW(part.c_str(), path.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0) return 0;
    const DWORD error = ::GetLastError(), attributes = ::GetFileAttributesW(path.c_str());
    const bool read_only = attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY) != 0;
    const bool passing = error == ERROR_SHARING_VIOLATION || (error == ERROR_ACCESS_DENIED && !read_only);
    if (!passing || waited >= kReaderWait) return error;
    ::Sleep(kStep);
  }
}

// The file that a link leads to, as MoveFileEx would replace the link.
Result<std::string> target_of(const std::string& path) {
  const Handle file(
      ::CreateFileW(wide(path).c_str(), 0, kSharedByAll, nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file) return write_failed(path, code_of(::GetLastError()));
  std::wstring target(32768, L'\0');
  const DWORD length = ::GetFinalPathNameByHandleW(file.get(), target.data(), static_cast<DWORD>(target.size()), 0);
  if (length == 0 || length >= target.size()) return write_failed(path, code_of(::GetLastError()));
  target.resize(length);
  const std::u8string text = std::filesystem::path(target).u8string();  // begins with \\?\, which takes no other slash
  return std::string(text.begin(), text.end());
}

}  // namespace

Result<Place> place_of(const std::string& path, Streams streams) {
  if (path.empty()) return fail(ErrorKind::missing, "output", "an empty name", "a file's name");
  if (names_a_stream(path)) return refused(path, "a name without a colon");
  Place place{path};
  const DWORD attributes = ::GetFileAttributesW(wide(path).c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) {
    if (const DWORD error = ::GetLastError(); !is_absent(error)) return write_failed(path, code_of(error));
    if (path.ends_with('/') || path.ends_with('\\')) return fail(ErrorKind::missing, "folder", path);
    if (const std::string folder = folder_of(path); !is_folder(folder))
      return fail(ErrorKind::missing, "folder", folder);
    return place;
  }
  place.there = true;
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return refused(path, "a file, not a folder");
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
    auto target = target_of(path);
    if (!target) return std::unexpected(target.error());
    place.path = std::move(*target);
  }
  // CON, NUL and pipes have attributes as well; the type is asked of an open one.
  const Handle file(::CreateFileW(wide(place.path).c_str(), 0, kSharedByAll, nullptr, OPEN_EXISTING, 0, nullptr));
  if (!file) return write_failed(path, code_of(::GetLastError()));
  place.stream = ::GetFileType(file.get()) != FILE_TYPE_DISK;
  if (place.stream && streams == Streams::refused) return refused(path, "a regular file, not a pipe or a device");
  return place;
}

Result<void> write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                              Streams streams) {
  const auto place = place_of(path, streams);
  if (!place && place.error().kind == ErrorKind::missing) return write_failed(path, ENOENT);
  if (!place) return std::unexpected(place.error());
  if (place->stream) return write_stream(place->path, parts);
  remove_dead_parts(place->path);
  Temporary temporary;
  Handle file(make_part(place->path, temporary.path));
  if (!file) {
    temporary.kept = true;  // none was made
    return write_failed(path, code_of(::GetLastError()));
  }
  for (const auto& part : parts) {
    if (const DWORD error = write_all(file.get(), part); error != 0) {
      (void)file.close();  // an open file is not removed
      return write_failed(path, code_of(error));
    }
  }
  if (::FlushFileBuffers(file.get()) == 0) {
    const DWORD error = ::GetLastError();
    (void)file.close();
    return write_failed(path, code_of(error));
  }
  if (!file.close()) return write_failed(path, code_of(::GetLastError()));
  if (const DWORD error = replace(temporary.path, wide(place->path)); error != 0)
    return write_failed(path, code_of(error));
  temporary.kept = true;
  return {};
}

Result<std::string> read_whole_file(const std::string& path, std::uint64_t most, Streams streams) {
  const auto too_much = [&](const std::string& bytes) {
    return fail(ErrorKind::io, "reading " + path, bytes, "at most " + std::to_string(most) + " bytes");
  };
  if (is_folder(path)) return fail(ErrorKind::io, "reading", path, "a file, not a folder");
  const Handle file(::CreateFileW(wide(path).c_str(), GENERIC_READ, kSharedByAll, nullptr, OPEN_EXISTING, 0, nullptr));
  if (!file) return read_failed(path, ::GetLastError());
  const DWORD type = ::GetFileType(file.get());
  std::string text;
  if (type == FILE_TYPE_DISK) {
    LARGE_INTEGER size{};
    if (::GetFileSizeEx(file.get(), &size) == 0) return read_failed(path, ::GetLastError());
    const auto bytes = static_cast<std::uint64_t>(size.QuadPart);
    if (bytes > most) return too_much(std::to_string(bytes) + " bytes");
    text.reserve(static_cast<std::size_t>(bytes));
  } else if (streams == Streams::refused) {
    return fail(ErrorKind::io, "reading", path, "a regular file, not a pipe or a device");
  }
  std::vector<char> piece(65536);
  while (true) {
    DWORD got = 0;
    if (::ReadFile(file.get(), piece.data(), static_cast<DWORD>(piece.size()), &got, nullptr) == 0) {
      const DWORD error = ::GetLastError();
      if (error == ERROR_BROKEN_PIPE) return text;  // its writer has closed it
      return read_failed(path, error);
    }
    if (got == 0) return text;
    text.append(piece.data(), got);
    if (text.size() > most) return too_much("more");
  }
}

// The lock is that the file is open: no other process may open it meanwhile, and the system closes it when its
// owner ends.
Result<FileLock> FileLock::take(const std::string& path) {
  const std::string name = path + std::string(kLock);
  DWORD denied = 0;
  for (DWORD waited = 0; waited < kLockWait; waited += kStep) {
    const HANDLE file = ::CreateFileW(wide(name).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr,
                                      OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
    if (file != INVALID_HANDLE_VALUE) return FileLock(name, reinterpret_cast<std::intptr_t>(file));
    const DWORD error = ::GetLastError();
    if (error == ERROR_ACCESS_DENIED) denied += kStep;
    if (error != ERROR_SHARING_VIOLATION && (error != ERROR_ACCESS_DENIED || denied > kDeniedWait))
      return write_failed(name, code_of(error));
    ::Sleep(kStep);
  }
  return fail(ErrorKind::io, std::string(kWriting) + path, "another process holds " + name);
}

FileLock::~FileLock() {
  if (file_ == -1) return;
  const HANDLE file = reinterpret_cast<HANDLE>(file_);
  LARGE_INTEGER size{};
  BY_HANDLE_FILE_INFORMATION info{};
  constexpr DWORD kOther = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
  // Our lock files are empty. A file with content is not removed.
  if (::GetFileSizeEx(file, &size) != 0 && size.QuadPart == 0 && ::GetFileInformationByHandle(file, &info) != 0 &&
      (info.dwFileAttributes & kOther) == 0) {
    FILE_DISPOSITION_INFO remove{};
    remove.DeleteFile = TRUE;
    ::SetFileInformationByHandle(file, FileDispositionInfo, &remove, sizeof remove);
  }
  ::CloseHandle(file);
}
FileLock::FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

}  // namespace sectile::backend

#endif
