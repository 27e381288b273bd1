// One HTTP request and its answer, apart from how they travel.
//
// Contract
//   A handler gets an exchange for each request, on the server's only thread, and must return at once. It may keep the
//   exchange and answer later. Threads: any, one at a time. The answer is whole (answer()) or a stream (begin(),
//   write(), end()); only the first one counts. An exchange that is dropped without an answer is answered with 500, and
//   a stream that is dropped without its end is cut. Nothing here blocks: what the client has not read yet is kept, up
//   to a bound.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::http {

struct Request {
  std::string method, path, query;  // "POST", "/v1/models", "a=b"
  std::string body;
  std::string host, content_type, authorization, origin;  // of the head; "": absent
  std::string content_encoding{}, transfer_encoding{};    // likewise
  std::string wanted_headers{};                           // that a page asks for before it sends them
  std::string client;                                     // the address that it came from
  size_t hosts = 1;                                       // how many hosts the head names
  bool is_old = false;                                    // HTTP/1.0
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};  // more of them
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual void answer(Response response) = 0;
  virtual void begin(Response head) = 0;  // its body is the stream's beginning
  // False: the client has left, or has not read what would be too much to keep. Nothing more is sent then.
  virtual bool write(std::string piece) = 0;
  virtual void end() = 0;
  virtual size_t unread_bytes() const = 0;  // written, and not on their way to the client yet
  // Called once if the client leaves before the end; at once if it has left. On the server's thread, or on this one.
  virtual void when_gone(std::function<void()> call) = 0;
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

// {"error": {"message", "type", "param", "code"}}, as OpenAI has it. code, param "": null.
Response error_response(int status, const std::string& message, const std::string& type, const std::string& code = "",
                        const std::string& param = "");
const char* reason_phrase(int status);  // "Not Found"

}  // namespace tandem::http
