// Writes the answer of /v1/responses. A response is a list of items: messages, thoughts and calls. At most one item is
// open, and it closes when a part of another kind comes.
#include <utility>

#include "engine/serve/openai/reply_json.h"
#include "engine/serve/openai/responses.h"
#include "sync/json_text.h"

namespace tandem::serve {
namespace {

using Kind = ReplyPart::Kind;

OrderedJson text_part(const std::string& text) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", OrderedJson::array()}};
}

OrderedJson thought_part(const std::string& text) { return {{"type", "reasoning_text"}, {"text", text}}; }

OrderedJson usage_of(const ResponseEnd& end) {
  return {{"input_tokens", end.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", end.cached_tokens}}},
          {"output_tokens", end.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", end.reasoning_tokens}}},
          {"total_tokens", end.prompt_tokens + end.completion_tokens}};
}

}  // namespace

// Events of an answer are numbered from 0 without a gap, so this is the only place that makes one.
std::string ResponseWriter::event(const std::string& type, OrderedJson data) {
  OrderedJson event = {{"type", type}, {"sequence_number", events_++}};
  event.update(data);
  return "event: " + type + "\ndata: " + json_line(event) + "\n\n";
}

// Settings are those of the request, or their usual values.
OrderedJson ResponseWriter::object(const char* status) const {
  const OrderedJson& asked = head_.request;
  const auto setting = [&asked](const char* name, OrderedJson usual) {
    const auto found = asked.find(name);
    return found == asked.end() ? usual : *found;
  };
  return {{"id", head_.id},
          {"object", "response"},
          {"created_at", head_.created},
          {"status", status},
          {"error", nullptr},
          {"incomplete_details", nullptr},
          {"instructions", setting("instructions", nullptr)},
          {"max_output_tokens", setting("max_output_tokens", nullptr)},
          {"model", head_.model},
          {"output", output_},
          {"parallel_tool_calls", setting("parallel_tool_calls", true)},
          {"previous_response_id", nullptr},
          {"store", false},
          {"temperature", setting("temperature", nullptr)},
          {"text", setting("text", OrderedJson::parse(R"({"format":{"type":"text"}})"))},
          {"tool_choice", setting("tool_choice", "auto")},
          {"tools", setting("tools", OrderedJson::array())},
          {"top_p", setting("top_p", nullptr)},
          {"truncation", "disabled"},
          {"usage", nullptr},
          {"metadata", setting("metadata", OrderedJson::object())}};
}

// The prefix says the kind of an item, as in OpenAI's ids. The rest follows from the response and the item's place, so
// that each event of an item can compute the same id.
std::string ResponseWriter::item_id() const {
  const char* kind = part_.kind == Kind::call ? "fc_" : part_.kind == Kind::reasoning ? "rs_" : "msg_";
  return kind + call_id(head_.id, 0, std::ssize(output_));
}

std::string ResponseWriter::begin() {
  const OrderedJson response = {{"response", object("in_progress")}};
  std::string events = event("response.created", response);
  events += event("response.in_progress", response);
  return events;
}

// The item that is being written, as far as it is.
OrderedJson ResponseWriter::open_item(const char* status) const {
  const bool is_empty = part_.text.empty();
  if (part_.kind == Kind::call)
    return {{"id", item_id()},        {"type", "function_call"},
            {"status", status},       {"call_id", call_id(head_.id, 0, std::ssize(output_))},
            {"name", part_.function}, {"arguments", part_.text}};
  OrderedJson content = OrderedJson::array();
  if (part_.kind == Kind::reasoning) {
    if (!is_empty) content.push_back(thought_part(part_.text));
    return {{"id", item_id()}, {"type", "reasoning"}, {"summary", OrderedJson::array()}, {"content", content}};
  }
  if (!is_empty) content.push_back(text_part(part_.text));
  return {{"id", item_id()}, {"type", "message"}, {"status", status}, {"role", "assistant"}, {"content", content}};
}

// Opens an item of text or of thoughts, after it has closed the one before.
std::string ResponseWriter::open(Kind kind) {
  std::string events = close();
  is_open_ = true;
  part_ = {kind, ""};
  const auto place = std::ssize(output_);
  events += event("response.output_item.added", {{"output_index", place}, {"item", open_item("in_progress")}});
  if (kind == Kind::content)
    events += event("response.content_part.added",
                    {{"item_id", item_id()}, {"output_index", place}, {"content_index", 0}, {"part", text_part("")}});
  return events;
}

// Takes the item into the output before the next one is numbered, because ids depend on the length of the output.
std::string ResponseWriter::complete_item() {
  const OrderedJson item = open_item("completed");
  std::string done = event("response.output_item.done", {{"output_index", std::ssize(output_)}, {"item", item}});
  output_.push_back(item);
  return done;
}

// Ends the open item of the stream: its own closing events by its kind, then the item as a whole. Does nothing if no
// item is open.
std::string ResponseWriter::close() {
  if (!is_open_) return "";
  is_open_ = false;
  const auto place = std::ssize(output_);
  const OrderedJson where = {{"item_id", item_id()}, {"output_index", place}, {"content_index", 0}};
  std::string events;
  const auto add = [&](const char* type, const char* name, const OrderedJson& value) {
    OrderedJson data = where;
    data[name] = value;
    events += event(type, std::move(data));
  };
  if (part_.kind == Kind::call) {
    events += event("response.function_call_arguments.done",
                    {{"item_id", item_id()}, {"output_index", place}, {"arguments", part_.text}});
  } else if (part_.kind == Kind::content) {
    add("response.output_text.done", "text", part_.text);
    add("response.content_part.done", "part", text_part(part_.text));
  } else {
    add("response.reasoning_text.done", "text", part_.text);
  }
  return events + complete_item();
}

// A call comes whole, or without arguments, which follow.
std::string ResponseWriter::open_call(const ReplyPart& part) {
  std::string events = close();
  is_open_ = true;
  part_ = {Kind::call, "", part.function};
  events +=
      event("response.output_item.added", {{"output_index", std::ssize(output_)}, {"item", open_item("in_progress")}});
  if (part.text.empty()) return events;
  events += add_arguments(part.text);
  return events + close();
}

std::string ResponseWriter::add_arguments(const std::string& text) {
  part_.text += text;
  return event("response.function_call_arguments.delta",
               {{"item_id", item_id()}, {"output_index", std::ssize(output_)}, {"delta", text}});
}

// A part of the open item's kind extends that item, and any other part opens a new one. So the events do not depend on
// where the text was cut.
std::string ResponseWriter::push(const ReplyParts& parts) {
  std::string events;
  for (const ReplyPart& part : parts) {
    if (part.kind == Kind::call || part.kind == Kind::arguments) {
      events += part.kind == Kind::call ? open_call(part) : add_arguments(part.text);
      continue;
    }
    if (!is_open_ || part_.kind != part.kind) events += open(part.kind);
    part_.text += part.text;
    const char* type = part.kind == Kind::content ? "response.output_text.delta" : "response.reasoning_text.delta";
    events += event(
        type,
        {{"item_id", item_id()}, {"output_index", std::ssize(output_)}, {"content_index", 0}, {"delta", part.text}});
  }
  return events;
}

// An answer that the limit of tokens has cut is "incomplete", which is no error.
OrderedJson ResponseWriter::whole(const ResponseEnd& end) const {
  OrderedJson response = object(end.is_cut ? "incomplete" : "completed");
  if (end.is_cut) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  response["usage"] = usage_of(end);
  return response;
}

// An answer without a text has an empty message.
std::string ResponseWriter::finish(const ResponseEnd& end) {
  std::string events = output_.empty() && !is_open_ ? open(Kind::content) : "";
  events += close();
  events += event(end.is_cut ? "response.incomplete" : "response.completed", {{"response", whole(end)}});
  return events;
}

std::string ResponseWriter::fail(const OrderedJson& error) {
  OrderedJson response = object("failed");
  response["error"] = error;
  return event("response.failed", {{"response", response}});
}

}  // namespace tandem::serve
