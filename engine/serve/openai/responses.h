// /v1/responses without state: its requests and answers, by those of /v1/chat/completions.
//
// Contract: pure. A request becomes the body of a chat, which is read as any other. The events of a stream, joined,
// have the same texts as the whole answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/openai/refusal.h"
#include "engine/serve/openai/reply_part.h"

namespace tandem::serve {

// The body of a chat that asks the same. Refusal: a member that needs a state ("previous_response_id", "store": true),
// or is unknown, or has another form.
OrderedJson chat_body_of_response(const OrderedJson& body);
// A member of a response's request with a meaning of its own. schema: a JSON schema.
struct OwnMember {
  std::string_view name, schema;
};
// Returns those members, and the members of a chat that a response's request lacks. It shares the others with a chat.
std::span<const OwnMember> own_members_of_responses();
std::span<const std::string_view> members_of_chats_alone();

struct ResponseHead {
  std::string id, model;  // id: "resp_..."
  int64_t created = 0;    // seconds since 1970
  OrderedJson request;    // the body, whose settings the answer repeats
};

struct ResponseEnd {
  bool is_cut = false;  // by the limit of tokens
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0, reasoning_tokens = 0;
};

// Writes one answer: its events as they come, and the whole object at the end.
class ResponseWriter {
 public:
  explicit ResponseWriter(ResponseHead head) : head_(std::move(head)) {}
  // Events of a stream: "event: ...\ndata: {...}\n\n", several behind each other.
  std::string begin();
  std::string push(const ReplyParts& parts);
  std::string finish(const ResponseEnd& end);
  std::string fail(const OrderedJson& error);       // {"code", "message"}
  OrderedJson whole(const ResponseEnd& end) const;  // behind finish()

 private:
  OrderedJson object(const char* status) const;
  OrderedJson open_item(const char* status) const;
  std::string event(const std::string& type, OrderedJson data);
  std::string open(ReplyPart::Kind kind);
  std::string close();
  std::string complete_item();
  std::string open_call(const ReplyPart& part);
  std::string add_arguments(const std::string& text);
  std::string item_id() const;

  const ResponseHead head_;
  OrderedJson output_ = OrderedJson::array();  // items that are complete
  bool is_open_ = false;
  ReplyPart part_;  // of the open item, so far
  int64_t events_ = 0;
};

}  // namespace tandem::serve
