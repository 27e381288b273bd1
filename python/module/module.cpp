// The extension module _tandem: thin functions over bindings/. The package `tandem` gives them their form.
#include <pybind11/stl.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bindings/npu_product.h"
#include "bindings/reports.h"
#include "bindings/text_stream.h"
#include "engine/run/machine/machine.h"
#include "python/module/gil.h"
#include "sync/output_file.h"

namespace tandem::python {
namespace {

using namespace bindings;
using namespace pybind11::literals;
using Ids = std::vector<int32_t>;
using WithoutLock = py::call_guard<Unlocked>;

// float32 values, [rows, columns], that Python reads in place.
struct Values {
  KeptLogits kept;
  int64_t rows = 0, columns = 0;
};

// The values move into the object, and numpy reads them there. The array keeps the object alive.
Values matrix(KeptLogits kept, int64_t columns) {
  const int64_t rows = std::ssize(kept.values) / columns;
  return {std::move(kept), rows, columns};
}

Values matrix(std::vector<float> values, int64_t columns) { return matrix(keep(std::move(values)), columns); }

// The buffer is read-only, and its last argument says so.
py::buffer_info view(Values& all) {
  const auto item = static_cast<py::ssize_t>(sizeof(float));
  return {const_cast<float*>(all.kept.values.data()),
          item,
          py::format_descriptor<float>::format(),
          2,
          {all.rows, all.columns},
          {item * all.columns, item},
          true};
}

// A function of Python's that the machine's thread calls and drops, both with the lock.
std::function<int32_t(std::span<const float>)> sampler_of(const py::function& function) {
  const std::shared_ptr<py::function> kept(new py::function(function), [](py::function* last) {
    const Locked locked;
    delete last;
  });
  return [kept](std::span<const float> logits) {
    const InCallback in_callback;
    return called_back([&] {
      const py::object copy = py::cast(matrix(std::vector<float>(logits.begin(), logits.end()), std::ssize(logits)));
      return (*kept)(copy).cast<int32_t>();
    });
  };
}

// A planner of Python's, kept as a sampler is. It gets devices as (id, cuts rows), the seconds of a wait, and operators
// as (name, kind, tokens, rows, seconds by device).
OwnPlanner planner_of(const py::function& function) {
  const std::shared_ptr<py::function> kept(new py::function(function), [](py::function* last) {
    const Locked locked;
    delete last;
  });
  return [kept](const WorkToPlace& work) {
    const InCallback in_callback;
    return called_back([&] {
      py::list devices, items;
      for (const auto& device : work.devices) devices.append(py::make_tuple(device.id, device.cuts_rows));
      for (const auto& item : work.items)
        items.append(py::make_tuple(item.name, item.kind, item.tokens, item.rows, item.seconds));
      return (*kept)(devices, work.sync_seconds, items).cast<std::vector<Shares>>();
    });
  };
}

// The settings of one text, which the package fills before start(). Python's functions stay references until then.
struct TextAsked {
  int64_t predict = 128;
  SamplerOptions sampler;
  std::vector<std::string> stop;
  bool ignore_end = false, logprobs = false;
  std::string spec = "auto";
  int64_t draft_max = SpecOptions().draft_max;
  std::vector<Ids> predictions;
  Form form;
  std::optional<py::function> choose;
};

// Checks the sampler's numbers with the lock, then compiles the constraint without it, because that may take long.
GenerateOptions options_of(const TextModel& model, const TextAsked& asked) {
  GenerateOptions options;
  require_sound(asked.sampler);
  options.predict = asked.predict;
  options.sampler = asked.sampler;
  options.stop = asked.stop;
  options.ignore_end = asked.ignore_end;
  options.logprobs = asked.logprobs ? 0 : -1;
  options.spec.mode = spec_mode_of(asked.spec);
  require_drafts(options.spec.draft_max = asked.draft_max);
  for (const Ids& each : asked.predictions) model.require_tokens(each);
  options.spec.predictions = asked.predictions;
  if (asked.choose) options.choose = sampler_of(*asked.choose);
  const Unlocked unlocked;
  options.constraint = model.constraint(asked.form);
  return options;
}

// Python may give None where a class of the module is wanted, and pybind11 makes a null pointer of it. Methods would
// use the pointer unchecked.
const std::shared_ptr<TextModel>& given(const std::shared_ptr<TextModel>& model) {
  if (!model) throw py::type_error("a model is wanted, and not None");
  return model;
}

// A text of the library's for Python, with the lock. Names of files need not be UTF-8, so other bytes become "\\xff".
// bytes: what becomes of them otherwise, a name of Python's.
py::str shown(std::string_view text, const char* bytes = "backslashreplace") {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), std::ssize(text), bytes);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

// Starts a text and returns at once. The package takes the pieces by next(), in plain and in async loops.
std::shared_ptr<TextStream> start(const std::shared_ptr<TextModel>& model, Ids prompt, const TextAsked& asked,
                                  std::optional<std::shared_ptr<TextSequence>> sequence) {
  GenerateOptions options = options_of(*given(model), asked);
  return ends_without_lock(std::make_shared<TextStream>(model, std::move(sequence).value_or(nullptr), std::move(prompt),
                                                        std::move(options)));
}

// The next token with its text, or None when the text has ended. A wait of any length would ignore Ctrl-C, so the
// stream is asked in steps, and signals are looked for between them.
std::optional<std::tuple<int32_t, float, py::str>> next_piece(TextStream& stream) {
  Piece piece;
  for (;;) {
    TextStream::Got got = TextStream::Got::nothing_yet;
    {
      const Unlocked unlocked;
      got = stream.next(piece, std::chrono::milliseconds(20));
    }
    if (got == TextStream::Got::end) return std::nullopt;
    if (got == TextStream::Got::piece) return std::tuple(piece.id, piece.logprob, shown(piece.text, "replace"));
    if (PyErr_CheckSignals() != 0) {
      stream.cancel();
      throw py::error_already_set();
    }
  }
}

// Lanes, steps and waits as columns, which numpy takes as arrays. One object for each of many thousand spans would
// be slow.
py::dict columns_of(const Timeline& timeline) {
  py::list lanes, names, kinds;
  std::vector<double> begin, end, bytes, flops;
  std::vector<bool> modelled;
  for (const Span& span : timeline.spans()) {
    lanes.append(span.track);
    names.append(span.name);
    kinds.append(class_of(span.kind));
    begin.push_back(span.start_seconds);
    end.push_back(span.end_seconds);
    bytes.push_back(span.bytes);
    flops.push_back(span.flops);
    modelled.push_back(span.modelled);
  }
  py::dict columns;
  columns["lane"] = lanes;
  columns["name"] = names;
  columns["kind"] = kinds;
  columns["begin"] = begin;
  columns["end"] = end;
  columns["bytes"] = bytes;
  columns["flops"] = flops;
  columns["modelled"] = modelled;
  columns["json"] = timeline.trace_json();
  return columns;
}

// tandem.Error and its kinds are classes of the package. They are written in Python, where a class can also be a kind
// of ValueError and show its three parts.
void raise_as(const char* kind, const Error& error) {
  const py::object type = py::module_::import("tandem._errors").attr(kind);
  PyErr_SetObject(type.ptr(), type(shown(error.failure()), shown(error.object()), shown(error.hint())).ptr());
}

// Every exception of C++ passes here on its way to Python. Special kinds stand before their base class, or the base
// class would catch them.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FileError& error) {
    raise_as("FileError", error);
  } catch (const DeviceError& error) {
    raise_as("DeviceError", error);
  } catch (const ContextError& error) {
    raise_as("ContextError", error);
  } catch (const UsageError& error) {
    raise_as("UsageError", error);
  } catch (const Error& error) {
    raise_as("Error", error);
  } catch (const Raised& raised) {
    raised.raise();
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

// Samplers have many numbers, so they are set by one call with names. The package holds their defaults.
void bind_asked(py::module_& m) {
  py::class_<TextAsked>(m, "TextAsked")
      .def(py::init<>())
      .def_readwrite("predict", &TextAsked::predict)
      .def_readwrite("stop", &TextAsked::stop)
      .def_readwrite("ignore_end", &TextAsked::ignore_end)
      .def_readwrite("logprobs", &TextAsked::logprobs)
      .def_readwrite("choose", &TextAsked::choose)
      .def_readwrite("spec", &TextAsked::spec)
      .def_readwrite("draft_max", &TextAsked::draft_max)
      .def_readwrite("predictions", &TextAsked::predictions)
      .def(
          "sample",
          [](TextAsked& asked, float temperature, int top_k, float top_p, float min_p, float repeat_penalty,
             float presence_penalty, float frequency_penalty, uint64_t seed) {
            SamplerOptions& sampler = asked.sampler;
            sampler.temperature = temperature;
            sampler.top_k = top_k;
            sampler.top_p = top_p;
            sampler.min_p = min_p;
            sampler.repeat_penalty = repeat_penalty;
            sampler.presence_penalty = presence_penalty;
            sampler.frequency_penalty = frequency_penalty;
            sampler.seed = seed;
          },
          "temperature"_a, "top_k"_a, "top_p"_a, "min_p"_a, "repeat_penalty"_a, "presence_penalty"_a,
          "frequency_penalty"_a, "seed"_a)
      .def(
          "keep_form",
          [](TextAsked& asked, std::string json_schema, std::string grammar, bool json_object) {
            asked.form = {std::move(json_schema), std::move(grammar), json_object};
          },
          "json_schema"_a, "grammar"_a, "json_object"_a);
}

using ModelClass = py::class_<TextModel, std::shared_ptr<TextModel>>;

// Opening devices takes long, and so the lock is released. That holds for each constructor below.
void bind_machine(py::module_& m) {
  py::class_<Machine, SharedMachine>(m, "Machine")
      .def(py::init([](const std::vector<std::string>& devices, int threads) {
             const Unlocked unlocked;
             return ends_without_lock(open_machine(devices, threads));
           }),
           "devices"_a, "threads"_a);
}

// Functions that may wait for a pass release the lock, since the pass may need it for a sampler in Python. Functions
// that only read a number keep it. Long work looks for Ctrl-C by until_signal().
void bind_model(ModelClass& model) {
  model
      .def(py::init([](const py::bytes& path, std::vector<std::string> devices, std::string plan, std::string act,
                       std::string cache_type, int64_t context, int64_t parallel, int64_t logit_rows, int threads,
                       std::string expert_budget, std::string host_budget, bool expert_copies,
                       std::string expert_policy, const py::bytes& packed, std::vector<double> split, int64_t chunk,
                       const py::bytes& draft_model, const py::bytes& history, std::optional<SharedMachine> machine) {
             LoadOptions options{path,
                                 std::move(devices),
                                 std::move(plan),
                                 std::move(act),
                                 std::move(cache_type),
                                 context,
                                 parallel,
                                 logit_rows,
                                 threads,
                                 std::move(expert_budget),
                                 std::move(host_budget),
                                 expert_copies,
                                 std::move(expert_policy),
                                 packed,
                                 std::move(split),
                                 chunk,
                                 draft_model,
                                 history,
                                 std::move(machine).value_or(nullptr)};
             const Unlocked unlocked;
             return ends_without_lock(TextModel::load(options));
           }),
           "path"_a, "devices"_a, "plan"_a, "act"_a, "cache_type"_a, "context"_a, "parallel"_a, "logit_rows"_a,
           "threads"_a, "expert_budget"_a, "host_budget"_a, "expert_copies"_a, "expert_policy"_a, "packed"_a, "split"_a,
           "chunk"_a, "draft_model"_a, "history"_a, "machine"_a)
      .def("close", &TextModel::close, WithoutLock())
      .def("is_closed", &TextModel::is_closed)
      .def("vocabulary", &TextModel::vocabulary)
      .def("context", &TextModel::context)
      .def("end_id", &TextModel::end_id)
      .def("ids", &TextModel::ids, WithoutLock(), "text"_a, "with_start"_a, "parse_special"_a)
      .def("prompt", &TextModel::prompt, WithoutLock(), "text"_a)
      .def(
          "text",
          [](const TextModel& model, const Ids& ids, bool special) { return py::bytes(model.text(ids, special)); },
          "ids"_a, "special"_a)
      .def(
          "chat_prompt",
          [](const TextModel& model, const std::string& json) {
            const Unlocked unlocked;
            std::vector<std::string> stops;
            Ids ids = model.chat_prompt(json, &stops);
            return std::pair(std::move(ids), std::move(stops));
          },
          "conversation"_a)
      .def("calls_of", &TextModel::calls_of, WithoutLock(), "answer"_a, "tools"_a)
      .def("start", &start, "prompt"_a, "asked"_a, "sequence"_a)
      .def(
          "eval",
          [](const TextModel& model, const Ids& ids) {
            return matrix(until_signal([&](const Patience& patience) { return model.eval(ids, patience); }),
                          model.vocabulary());
          },
          "ids"_a)
      .def(
          "perplexity",
          [](const TextModel& model, const Ids& ids) {
            return until_signal([&](const Patience& patience) { return model.perplexity(ids, patience); });
          },
          "ids"_a)
      .def(
          "embed",
          [](const TextModel& model, const std::vector<Ids>& texts, const std::string& pooling, bool normed) {
            return matrix(
                until_signal([&](const Patience& patience) { return model.embed(texts, pooling, normed, patience); }),
                model.width());
          },
          "texts"_a, "pooling"_a, "normed"_a)
      .def("report", &model_json, WithoutLock())
      .def("plans", &plans_json, WithoutLock(), "prompt_tokens"_a)
      .def(
          "plan_by",
          [](TextModel& model, const std::optional<py::function>& planner) {
            OwnPlanner own = planner ? planner_of(*planner) : OwnPlanner();
            const Unlocked unlocked;
            model.plan_by(std::move(own));
          },
          "planner"_a)
      .def("start_trace", &TextModel::start_trace, WithoutLock())
      .def("stop_trace", [](TextModel& model) {
        Timeline timeline;
        {
          const Unlocked unlocked;
          timeline = model.stop_trace();
        }
        return columns_of(timeline);
      });
}

// A stream is taken with the lock released in steps of 20 ms, so other threads of Python run meanwhile.
void bind_text(py::module_& m) {
  py::class_<TextStream, std::shared_ptr<TextStream>>(m, "Text")
      .def("next", &next_piece)
      .def("cancel", &TextStream::cancel)
      .def("result", [](const TextStream& text) { return generation_json(text.result()); });
}

// The address lets a test prove that numpy does not copy.
void bind_values(py::module_& m) {
  py::class_<Values>(m, "Values", py::buffer_protocol())
      .def_buffer(&view)
      .def_property_readonly("address",
                             [](const Values& all) { return reinterpret_cast<uintptr_t>(all.kept.values.data()); })
      .def_property_readonly("in_place", [](const Values& all) { return all.kept.in_place; });
}

// Constructors check for None before they release the lock, because a Python error needs it. Logits come as a matrix
// even for one row, and the package gives it its final shape.
void bind_sequence(py::module_& m) {
  py::class_<TextSequence, std::shared_ptr<TextSequence>>(m, "Sequence")
      .def(py::init([](const std::shared_ptr<TextModel>& model) {
             given(model);
             const Unlocked unlocked;
             return std::make_shared<TextSequence>(model);
           }),
           "model"_a)
      .def_static(
          "load",
          [](const std::shared_ptr<TextModel>& model, const py::bytes& path) {
            given(model);
            const std::string name = path;
            const Unlocked unlocked;
            return TextSequence::load(model, name);
          },
          "model"_a, "path"_a)
      .def("position", &TextSequence::position)
      .def("ids", &TextSequence::ids)
      .def(
          "extend",
          [](TextSequence& text, const Ids& ids) {
            return matrix(until_signal([&](const Patience& patience) { return text.extend(ids, patience); }),
                          text.model()->vocabulary());
          },
          "ids"_a)
      .def("fork", &TextSequence::fork, WithoutLock(), "position"_a)
      .def("rewind", &TextSequence::rewind, WithoutLock(), "position"_a)
      .def(
          "save",
          [](const TextSequence& text, const py::bytes& path) {
            const std::string name = path;
            const Unlocked unlocked;
            text.save(name);
          },
          "path"_a)
      .def(
          "draft",
          [](TextSequence& text, const Ids& ids, const Ids& parents) {
            const auto run = [&] {
              const Unlocked unlocked;
              return text.draft(ids, parents);
            };
            return matrix(run(), text.model()->vocabulary());
          },
          "ids"_a, "parents"_a)
      .def(
          "accept",
          [](TextSequence& text, const Ids& path) {
            const Unlocked unlocked;
            text.accept(path);
          },
          "path"_a);
}

std::vector<float> floats_of(const py::bytes& values) {
  const std::string_view bytes = values;
  std::vector<float> all(bytes.size() / sizeof(float));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(float));
  return all;
}

// Operands are the bytes of float32 values: a list would have an object for each. The product's values are moved out
// by result(), which the package calls once.
void bind_npu(py::module_& m) {
  py::class_<NpuProduct>(m, "NpuProduct")
      .def_readonly("cycles", &NpuProduct::cycles)
      .def_readonly("folds", &NpuProduct::folds)
      .def_readonly("utilization", &NpuProduct::utilization)
      .def("result", [](NpuProduct& product) { return matrix(std::move(product.values), product.columns); });
  m.def("npu_cycles", &npu_cycles, "m"_a, "k"_a, "n"_a, "rows"_a, "cols"_a, "dataflow"_a);
  m.def(
      "npu_product",
      [](const py::bytes& x, const py::bytes& w, int64_t m, int64_t k, int64_t n, int64_t rows, int64_t cols,
         const std::string& dataflow) {
        const std::vector<float> left = floats_of(x), right = floats_of(w);
        return until_signal([&](const Patience& patience) {
          return npu_product(left, right, m, k, n, rows, cols, dataflow, patience);
        });
      },
      "x"_a, "w"_a, "m"_a, "k"_a, "n"_a, "rows"_a, "cols"_a, "dataflow"_a);
}

}  // namespace

// A class stands before the functions that name it: python/module/stubs.py turns their signatures into the types of
// the Python package. The package checks arguments and gives defaults, so the functions here take all of them and
// have no defaults.
PYBIND11_MODULE(_tandem, m) {
  py::register_exception_translator(&translate);
  bind_values(m);
  bind_machine(m);
  bind_asked(m);
  ModelClass model(m, "Model");
  bind_text(m);
  bind_sequence(m);
  bind_model(model);
  m.def("version", &version);
  m.def("devices", &devices_json, WithoutLock());
  m.def(
      "write_file",
      [](const py::bytes& path, const std::string& text) {
        const std::string name = path;
        const Unlocked unlocked;
        as_kind<FileError>([&] { write_output(name, text); });
      },
      "path"_a, "text"_a);
  m.def(
      "sync_lab",
      [](std::vector<std::string> devices, std::vector<std::string> policies, std::vector<double> seconds, int rounds,
         bool quick) {
        const SyncAsked asked{std::move(devices), std::move(policies), std::move(seconds), rounds, quick};
        return until_signal([&](const Patience& patience) { return sync_lab_json(asked, patience); });
      },
      "devices"_a, "policies"_a, "work_seconds"_a, "rounds"_a, "quick"_a);
  bind_npu(m);
}

}  // namespace tandem::python
