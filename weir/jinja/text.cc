#include "weir/jinja/text.h"

namespace weir::jinja {

bool Text::all_trusted() const {
  if (bytes_.empty()) return true;
  if (origin_.empty()) return uniform_;
  return origin_.find('\0') == std::string::npos;
}

void Text::spread() {
  if (origin_.empty()) origin_.assign(bytes_.size(), uniform_ ? '\1' : '\0');
}

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    origin_.clear();
    uniform_ = trusted;
  } else if (!origin_.empty() || uniform_ != trusted) {
    spread();
    origin_.append(bytes.size(), trusted ? '\1' : '\0');
  }
  bytes_.append(bytes);
}

void Text::append(const Text& other, std::size_t from, std::size_t count) {
  if (count == 0) return;
  const std::string_view bytes = other.view().substr(from, count);
  if (other.origin_.empty()) {
    append(bytes, other.uniform_);
    return;
  }
  if (bytes_.empty()) {
    origin_.clear();
  } else {
    spread();
  }
  origin_.append(other.origin_, from, count);
  bytes_.append(bytes);
}

Text Text::slice(std::size_t from, std::size_t count) const {
  Text out;
  out.append(*this, from, count);
  return out;
}

std::vector<Piece> Text::pieces() const {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < bytes_.size();) {
    const bool trusted = trusted_at(i);
    std::size_t end = bytes_.size();
    if (!origin_.empty()) {
      end = i + 1;
      while (end < bytes_.size() && trusted_at(end) == trusted) ++end;
    }
    out.push_back({bytes_.substr(i, end - i), trusted});
    i = end;
  }
  return out;
}

}  // namespace weir::jinja
