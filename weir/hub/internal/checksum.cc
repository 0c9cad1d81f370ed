#include "weir/hub/internal/checksum.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "weir/base/check.h"

namespace weir::hub {

Digest Digest::from_etag(std::string_view etag) {
  const bool hex = etag.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (hex && etag.size() == 64) return {Kind::kSha256, std::string(etag)};
  if (hex && etag.size() == 40) return {Kind::kGitSha1, std::string(etag)};
  return {};
}

struct Hasher::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
  bool none = false;
};

Hasher::Hasher(Digest::Kind kind, std::uint64_t bytes) : state_(std::make_unique<State>()) {
  state_->none = kind == Digest::Kind::kNone;
  if (state_->none) return;
  const EVP_MD* algorithm = kind == Digest::Kind::kSha256 ? EVP_sha256() : EVP_sha1();
  WEIR_CHECK(EVP_DigestInit_ex(state_->context.get(), algorithm, nullptr) == 1,
             "the digest exists");
  if (kind == Digest::Kind::kGitSha1) update(fmt::format("blob {}", bytes) + std::string(1, '\0'));
}

Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::string_view bytes) {
  if (!state_->none) EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Hasher::finish() {
  if (state_->none) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context.get(), raw.data(), &size);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", raw[i]);
  return hex;
}

std::string sha256_hex(std::string_view text) {
  Hasher hasher(Digest::Kind::kSha256, text.size());
  hasher.update(text);
  return hasher.finish();
}

Status hash_file(const std::string& path, Hasher& hasher, const std::function<bool()>& go_on) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Code::kIo, path + ": cannot be read", path);
  std::vector<char> chunk(std::size_t{4} << 20);
  while (in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    hasher.update({chunk.data(), static_cast<std::size_t>(in.gcount())});
    if (go_on && !go_on()) return fail(Code::kCancelled, "stopped while checking " + path, path);
  }
  if (in.bad()) return fail(Code::kIo, path + ": cannot be read to its end", path);
  return {};
}

}  // namespace weir::hub
