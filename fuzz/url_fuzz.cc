// URLs and redirects: whatever is accepted prints to something that parses to the same thing, and
// holds no byte that could end a request line.
#include <cstdint>
#include <string_view>

#include "weir/base/check.h"
#include "weir/http/client_proxy.h"
#include "weir/http/url.h"

namespace {

void accept(const weir::http::Url& url) {
  for (const char c : url.text()) WEIR_CHECK(c > 0x20 && c < 0x7F, "a URL is printable ASCII");
  WEIR_CHECK(url.target.starts_with('/') && url.port != 0 && !url.host.empty(), "a URL is whole");
  if (url.text().size() > weir::http::kMaxUrlBytes) return;
  const auto again = weir::http::parse_url(url.text());
  WEIR_CHECK(again && again->text() == url.text() && again->same_origin(url),
             "printing and parsing agree");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto newline = text.find('\n');
  const auto base = weir::http::parse_url(text.substr(0, newline));
  if (!base) return 0;
  accept(*base);
  if (newline == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(newline + 1);
  if (const auto next = weir::http::resolve_url(*base, rest)) accept(*next);
  (void)weir::http::proxy_for({std::string(rest), std::string(rest), std::string(rest)}, *base);
  return 0;
}
