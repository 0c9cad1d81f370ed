// HTTP requests: any bytes, whole or cut at any place, give the same requests and the same fault.

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/check.h"
#include "weir/http/request_parser.h"

namespace {

std::string read_all(std::string_view bytes, std::size_t step) {
  weir::http::ParserLimits limits;
  limits.header_bytes = 512;
  limits.body_bytes = 256;
  std::string story;
  std::string inbox;
  weir::http::RequestParser parser(limits);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    inbox += bytes.substr(at, step);
    for (;;) {
      const auto taken = parser.feed(inbox);
      if (!taken) return story + "fault";
      WEIR_CHECK(*taken <= inbox.size(), "no more is taken than was given");
      inbox.erase(0, *taken);
      if (!parser.done()) break;
      const auto request = parser.take();
      WEIR_CHECK(request.body.size() <= limits.body_bytes, "a body is within its bound");
      WEIR_CHECK(request.path == "*" || request.path.starts_with('/'), "a path begins with /");
      story += request.method + ' ' + request.path + ' ' + request.body + '\n';
      parser = weir::http::RequestParser(limits);
      if (story.size() > 4096) return story;
    }
  }
  return story + "more";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 4096) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto whole = read_all(bytes, bytes.size() + 1);
  const auto cut = read_all(bytes, data[0] % 13 + 1);
  // One reading may see a fault, or a bound passed, before the other; never another request.
  const auto requests = [](const std::string& story) {
    return std::string_view(story).substr(0, story.rfind('\n') + 1);
  };
  WEIR_CHECK(
      requests(whole).starts_with(requests(cut)) || requests(cut).starts_with(requests(whole)),
      "cuts change nothing");
  return 0;
}
