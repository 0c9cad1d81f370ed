#pragma once

/// One answer on its way from the engine to a client: takes tokens when they have come and the
/// client can take them, turns them into text, and writes a stream or one body. The client leaving
/// cancels the engine's work; so does a stop string, whose answer ends when the engine has really
/// stopped. A slow client is left its tokens in the TokenStream, which max_tokens bounds. Thread
/// safety: submit() from any thread; everything else runs on the exchange's thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/api/answer.h"
#include "weir/engine/engine.h"
#include "weir/http/exchange.h"
#include "weir/server/answer_plan.h"
#include "weir/server/generation.h"
#include "weir/server/request_log.h"

namespace weir::server {

class Answer : public std::enable_shared_from_this<Answer> {
 public:
  /// Hands all choices to the engine, or none of them. From then on the answer lives until the
  /// exchange is over. `headers` go with the answer.
  [[nodiscard]] static Status submit(const std::shared_ptr<http::Exchange>& exchange,
                                     std::shared_ptr<const ServedModel> model,
                                     engine::Engine& engine, AnswerPlan plan,
                                     std::vector<http::Header> headers, RequestLog& log);

  Answer(std::shared_ptr<http::Exchange> exchange, std::shared_ptr<const ServedModel> model,
         const AnswerPlan& plan, std::vector<http::Header> headers, RequestLog& log);

 private:
  struct Slot {
    std::shared_ptr<engine::TokenStream> stream;
    Generation generation;
    api::Choice whole;  ///< When not streaming.
    std::string echo;
    bool leads = true;  ///< The first of the choices that share its prompt.
    bool done = false;  ///< The engine is through with it.
  };

  void begin();
  void pump();
  void take(std::uint32_t index, Slot& slot);
  void emit(std::uint32_t index, Slot& slot, const Generation::Delta& delta);
  void close(std::uint32_t index, Slot& slot, api::FinishWord word, const engine::Timings& timings);
  void start();
  void complete();
  void break_off(const Error& error);
  void cancel();
  void flush();

  const std::shared_ptr<http::Exchange> exchange_;
  const std::shared_ptr<const ServedModel> model_;
  const api::AnswerHead head_;
  const api::ChunkEncoder encoder_;
  const bool stream_;
  const bool timings_;
  const policy::TenantId tenant_;
  RequestLog& log_;
  std::vector<http::Header> headers_;
  std::vector<Slot> slots_;
  std::vector<engine::TokenEvent> events_;
  std::string out_;
  api::Usage usage_;
  bool begun_ = false;
  bool started_ = false;  ///< The stream's head is written.
  bool over_ = false;
  std::atomic<bool> pump_posted_{false};
};

}  // namespace weir::server
