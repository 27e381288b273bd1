// Python's lock around work that waits.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "bindings/text_model.h"

namespace tandem::python {

namespace py = pybind11;

// A thread that asks for the lock when the interpreter has ended gets none. Python before 3.14 ends the thread by
// unwinding, which destructors do not let through, so the process would abort. Here the thread sleeps until the process
// ends, as it does from 3.14 on.
template <typename Take>
auto taken_or_asleep(const Take& take) {
  try {
    return take();
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// The calling thread has the lock while this lives. Any thread may take it.
class Locked {
 public:
  Locked() : state_(taken_or_asleep([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const PyGILState_STATE state_;
};

// The calling thread, which has the lock, is without it while this lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    taken_or_asleep([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const state_;
};

// Shares an object whose end may wait: for passes, which may wait for a sampler in Python. So it ends without the lock.
template <typename Object>
std::shared_ptr<Object> ends_without_lock(std::shared_ptr<Object> object) {
  Object* const plain = object.get();
  return {plain, [last = std::move(object)](Object*) mutable {
            if (PyGILState_Check() != 0) {
              const Unlocked unlocked;
              last.reset();
            } else {
              last.reset();
            }
          }};
}

// What a callback in Python raised. Several texts of a pass may fail by one exception, and a stream throws its own
// whenever it is asked. py::error_already_set can be raised only once, and ends the process the second time.
class Raised : public std::exception {
 public:
  // With the lock.
  explicit Raised(const py::error_already_set& error)
      : value_(new py::object(error.value()), drop), words_(words_of(error.value())) {
    if (error.trace()) PyException_SetTraceback(value_->ptr(), error.trace().ptr());
  }
  const char* what() const noexcept override { return words_.c_str(); }
  void raise() const { PyErr_SetObject(py::type::handle_of(*value_).ptr(), value_->ptr()); }  // with the lock

 private:
  // The exception's class may have a __str__ that raises, or one whose text is no UTF-8 (a lone surrogate).
  static std::string words_of(const py::object& value) {
    try {
      return py::str(value);
    } catch (const std::exception&) {
      return Py_TYPE(value.ptr())->tp_name;
    }
  }
  static void drop(py::object* last) {
    const Locked locked;
    delete last;
  }
  std::shared_ptr<py::object> value_;  // shared by the copies that C++ makes of an exception
  std::string words_;
};

// Runs a callback in Python with the lock.
template <typename Work>
auto called_back(const Work& work) {
  const Locked locked;
  try {
    return work();
  } catch (const py::error_already_set& error) {
    throw Raised(error);
  }
}

// Runs work without the lock, and looks for Ctrl-C meanwhile. A signal's exception is thrown within one pass.
template <typename Work>
auto until_signal(const Work& work) {
  std::atomic<bool> is_over = false;
  bindings::Patience patience;
  patience.is_over = [&] { return is_over.load(); };
  patience.look = [&] {
    const Locked locked;
    if (!is_over && PyErr_CheckSignals() != 0) is_over = true;  // the exception stays set
  };
  const auto raise_signal = [&] {
    const Locked locked;
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  };
  const Unlocked unlocked;
  try {
    auto result = work(patience);
    if (is_over) raise_signal();
    return result;
  } catch (const Interrupted&) {
    raise_signal();
    throw;
  }
}

}  // namespace tandem::python
