#include "weir/server/respond.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>

#include "weir/api/error.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxLoggedPath = 256;

void append_printable(std::string& out, std::string_view text) {
  for (const char c : text.substr(0, kMaxLoggedPath)) {
    if (c > ' ' && c < 0x7F && c != '\\') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
}

}  // namespace

http::Response error_response(const Error& error, std::vector<http::Header> headers) {
  const auto shape = api::shape_of(error);
  http::Response response;
  response.status = shape.status;
  response.headers = std::move(headers);
  response.body = api::encode_error(error);
  if (shape.retry_after)
    response.headers.push_back({"retry-after", std::to_string(*shape.retry_after)});
  if (shape.status == 401) response.headers.push_back({"www-authenticate", "Bearer"});
  return response;
}

std::string http_error_body(int status, std::string_view message) {
  return api::encode_http_error(status, message);
}

std::string access_line(const http::AccessRecord& record, std::int64_t unix_seconds) {
  const std::time_t now = unix_seconds;
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::string line = fmt::format("{} {} ", time, record.peer);
  append_printable(line, record.method);
  line += ' ';
  append_printable(line, record.path);
  fmt::format_to(std::back_inserter(line), " {} {}B {:.1f}ms {}{}", record.status, record.bytes,
                 static_cast<double>(record.duration.count()) / 1000, record.id,
                 record.gone ? " gone" : "");
  if (!record.note.empty()) {
    line += ' ';
    line += record.note;
  }
  return line;
}

bool equal_secrets(std::string_view secret, std::string_view given) {
  unsigned difference = static_cast<unsigned>(secret.size() != given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char wanted = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(wanted ^ given[i]));
  }
  return difference == 0 && !secret.empty();
}

}  // namespace weir::server
