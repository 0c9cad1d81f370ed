#include "weir/format/internal/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "weir/base/utf8.h"
#include "weir/format/printable.h"

namespace weir::format {
namespace {

constexpr std::size_t kLooked = 4096;

struct Signature {
  std::string_view start;
  Code code;
  std::string_view message;  ///< After the file's name.
};

using namespace std::string_view_literals;

constexpr std::array<Signature, 10> kSignatures = {{
    {"version https://git-lfs", Code::kNotFound,
     "is a Git LFS pointer, not the model itself; run 'git lfs pull' where it was cloned, or "
     "download the file"},
    {"PK\x03\x04"sv, Code::kUnsupported,
     "is a PyTorch checkpoint or another zip archive, which is not read; get the model as GGUF or "
     "safetensors"},
    {"\x80\x02"sv, Code::kUnsupported,
     "is a Python pickle (an old PyTorch checkpoint), which is not read because it is a program; "
     "get the model as "
     "GGUF or safetensors"},
    {"\x1f\x8b"sv, Code::kUnsupported, "is a gzip archive; unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, Code::kUnsupported, "is a Zstandard archive; unpack it first"},
    {"lmgg"sv, Code::kUnsupported, "is a GGML file from before GGUF (2023); get the model as GGUF"},
    {"tjgg"sv, Code::kUnsupported, "is a GGML file from before GGUF (2023); get the model as GGUF"},
    {"fmgg"sv, Code::kUnsupported, "is a GGML file from before GGUF (2023); get the model as GGUF"},
    {"\x89HDF"sv, Code::kUnsupported,
     "is an HDF5 file, which is not read; get the model as GGUF or safetensors"},
    {"FUGG"sv, Code::kUnsupported,
     "is a big-endian GGUF file; convert it with gguf-py's gguf_convert_endian.py FILE little"},
}};

bool is_html(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const auto begins = [&](std::string_view with) {
    return text.size() >= with.size() &&
           std::ranges::equal(text.substr(0, with.size()), with, [](char a, char b) {
             return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
           });
  };
  return begins("<!doctype html") || begins("<html");
}

bool is_text(std::string_view text) {
  text.remove_suffix(utf8::unfinished_tail(text));
  return utf8::find_invalid(text) == std::string_view::npos &&
         std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' &&
                  c != '\f';
         });
}

/// A header length that a header follows, whatever comes after.
bool may_be_safetensors(std::string_view text) {
  if (text.size() < 9) return false;
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  return text[8] == '{' && length <= 100'000'000;
}

}  // namespace

std::optional<Error> foreign_content(const std::string& path, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kLooked));
  const auto is = [&](Code code, std::string_view what) {
    return Error{code, fmt::format("{} {}", printable(path, 4096), what), path};
  };
  if (text.empty()) return is(Code::kCorrupt, "is empty: the download never began; fetch it again");
  if (text.starts_with("GGUF") || may_be_safetensors(text)) return std::nullopt;
  for (const Signature& signature : kSignatures) {
    if (text.starts_with(signature.start)) return is(signature.code, signature.message);
  }
  if (is_html(text)) {
    return is(
        Code::kCorrupt,
        "is a web page, not a model: the download got an error or a login page; fetch it again");
  }
  if (is_text(text)) {
    return is(Code::kInvalidArgument, fmt::format("is a text file, not a model; it begins {}",
                                                  in_quotes(text.substr(0, 40))));
  }
  if (std::ranges::all_of(text, [](char c) { return c == '\0'; })) {
    return is(Code::kCorrupt, "begins with zeros only: the download is unfinished; fetch it again");
  }
  return is(Code::kUnsupported, "is neither a GGUF nor a safetensors file");
}

}  // namespace weir::format
