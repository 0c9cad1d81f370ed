#pragma once

/// One HTTP request and one response as values.
/// Thread safety: values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

struct Header {
  std::string name;  ///< In lower case.
  std::string value;
};

struct Request {
  std::string method;  ///< As sent: methods are case-sensitive.
  std::string path;    ///< Percent-decoded, starts with '/'; "*" for OPTIONS *.
  std::string query;   ///< As sent, without the '?'.
  std::vector<Header> headers;
  std::string body;
  bool keep_alive = true;
  bool http_1_0 = false;
  std::string id;    ///< The client's x-request-id if it is sane, else made here.
  std::string peer;  ///< "127.0.0.1:40000".

  /// The first header of this (lower-case) name, or null.
  [[nodiscard]] const std::string* find(std::string_view name) const {
    for (const Header& header : headers) {
      if (header.name == name) return &header.value;
    }
    return nullptr;
  }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<Header> headers;
  std::string body;
};

}  // namespace weir::http
