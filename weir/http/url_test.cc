#include "weir/http/url.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

std::string seen(std::string_view text) {
  const auto url = parse_url(text);
  return url ? url->text() : "refused";
}
std::string from(std::string_view base, std::string_view reference) {
  const auto url = resolve_url(parse_url(base).value(), reference);
  return url ? url->text() : "refused";
}

TEST(Url, PartsAreFoundAndTheOwnPortIsLeftOut) {
  const auto url = parse_url("HTTPS://Hub.Example:8443/a/b?c=d#e").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "hub.example");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.target, "/a/b?c=d");
  EXPECT_EQ(url.authority(), "hub.example:8443");
  EXPECT_EQ(seen("https://x:443"), "https://x/");
  EXPECT_EQ(seen("http://x?q"), "http://x/?q");
  EXPECT_EQ(seen("http://x:/y"), "http://x/y");
}

TEST(Url, AnIpv6AddressStandsInBrackets) {
  const auto url = parse_url("http://[::1]:80/").value();
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.authority(), "[::1]");
  EXPECT_EQ(seen("http://[fe80::1]:9/"), "http://[fe80::1]:9/");
}

TEST(Url, AUserPartIsKeptApartAndNeverPrinted) {
  const auto url = parse_url("http://name:secret@proxy:3128").value();
  EXPECT_EQ(url.user, "name:secret");
  EXPECT_EQ(url.host, "proxy");
  EXPECT_EQ(url.text(), "http://proxy:3128/");
}

TEST(Url, WhatCannotBeAskedForIsRefused) {
  for (const char* text : {"", "x", "ftp://x/", "http://", "http:///x", "http://x:0/",
                           "http://x:65536/", "http://x:9a/", "http://[::1/", "http://[zz]/",
                           "http://[::1]x/", "http://a b/", "http://x/\r\nHost: y", "http://x/\x01",
                           "http://h\xC3\xA9/", "http://a,b/", "http://::1/"}) {
    EXPECT_EQ(seen(text), "refused") << text;
  }
  EXPECT_EQ(seen("http://x/" + std::string(kMaxUrlBytes, 'a')), "refused");
}

TEST(Url, ARedirectIsSeenFromWhereItCame) {
  const char* base = "https://h/a/b/c?q";
  EXPECT_EQ(from(base, "http://other/x"), "http://other/x");
  EXPECT_EQ(from(base, "//other/x"), "https://other/x");
  EXPECT_EQ(from(base, "/x"), "https://h/x");
  EXPECT_EQ(from(base, "x"), "https://h/a/b/x");
  EXPECT_EQ(from(base, "../x"), "https://h/a/x");
  EXPECT_EQ(from(base, "../../../../x"), "https://h/x");
  EXPECT_EQ(from(base, "./"), "https://h/a/b/");
  EXPECT_EQ(from(base, "?z"), "https://h/a/b/c?z");
  EXPECT_EQ(from(base, "#f"), "https://h/a/b/c?q");
  EXPECT_EQ(from(base, "javascript:alert"), "refused");
  EXPECT_EQ(from(base, "/x y"), "refused");
}

TEST(Url, DotSegmentsGoAwayAlsoInAbsoluteUrls) {
  EXPECT_EQ(seen("http://x/a/../../b/./c/.."), "http://x/b/");
  EXPECT_EQ(seen("http://x/a//b"), "http://x/a//b");
  EXPECT_EQ(seen("http://x/a?../b"), "http://x/a?../b");
}

TEST(Url, OriginIsSchemeHostAndPort) {
  const auto a = parse_url("https://h/x").value();
  EXPECT_TRUE(a.same_origin(parse_url("https://H:443/y").value()));
  EXPECT_FALSE(a.same_origin(parse_url("http://h:443/x").value()));
  EXPECT_FALSE(a.same_origin(parse_url("https://h:444/x").value()));
  EXPECT_FALSE(a.same_origin(parse_url("https://h.evil/x").value()));
}

TEST(Url, EscapingLeavesOnlyWhatAPathMayHold) {
  EXPECT_EQ(escape("a b/c?d%", true), "a%20b/c%3Fd%25");
  EXPECT_EQ(escape("refs/pr/1", false), "refs%2Fpr%2F1");
}

}  // namespace
}  // namespace weir::http
