#include "weir/hub/internal/checksum.h"

#include <gtest/gtest.h>

namespace weir::hub {
namespace {

TEST(Checksum, Sha256IsThatOfTheStandard) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Checksum, GitsBeginsWithTheSize) {
  // `printf 'hello\n' | git hash-object --stdin`
  Hasher hasher(Digest::Kind::kGitSha1, 6);
  hasher.update("hel");
  hasher.update("lo\n");
  EXPECT_EQ(hasher.finish(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(Checksum, AnEtagStatesAChecksumByItsLength) {
  EXPECT_EQ(Digest::from_etag(std::string(64, 'a')).kind, Digest::Kind::kSha256);
  EXPECT_EQ(Digest::from_etag(std::string(40, 'a')).kind, Digest::Kind::kGitSha1);
  EXPECT_EQ(Digest::from_etag(std::string(64, 'g')).kind, Digest::Kind::kNone);
  EXPECT_EQ(Digest::from_etag("abc-3").kind, Digest::Kind::kNone);
}

TEST(Checksum, NoDigestIsAnEmptyOne) {
  Hasher hasher(Digest::Kind::kNone, 1);
  hasher.update("x");
  EXPECT_EQ(hasher.finish(), "");
}

}  // namespace
}  // namespace weir::hub
