#include "weir/api/models.h"

#include "weir/api/json_text.h"

namespace weir::api {

std::string encode_model(const ModelCard& card) {
  std::string out = R"({"id":)";
  append_json_string(out, card.id);
  out += R"(,"object":"model","created":)";
  append_json_integer(out, card.created);
  out += R"(,"owned_by":"weir","max_model_len":)";
  append_json_integer(out, card.max_model_len);
  out += '}';
  return out;
}

std::string encode_models(std::span<const ModelCard> cards) {
  std::string out = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (i > 0) out += ',';
    out += encode_model(cards[i]);
  }
  out += "]}";
  return out;
}

}  // namespace weir::api
