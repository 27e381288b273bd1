// Numbers that the sd.npu paper prints and that the model takes as inputs: Tables 3 and 4.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tandem::paper_sdnpu {

inline constexpr const char *kQwen05 = "qwen2.5-0.5b", *kQwen15 = "qwen2.5-1.5b", *kQwen7 = "qwen2.5-7b",
                            *kLlama3 = "llama-3.2-3b", *kLlama1 = "llama-3.2-1b";

// Table 3: milliseconds of an output token on the Redmi K60 Pro, summary. graph: + G. drafts: + SD, which is SAM.
struct Ablation {
  const char *id, *model;
  double npu, graph, drafts, both, ours;
};
inline constexpr std::array kTable3{Ablation{"SF40", kQwen15, 57.41, 47.72, 35.04, 25.35, 15.08},
                                    Ablation{"SF41", kQwen05, 24.46, 23.43, 18.75, 18.45, 7.17},
                                    Ablation{"SF42", kLlama3, 71.71, 70.03, 47.93, 46.25, 41.62}};

enum class Task : uint8_t { summary, rag, ui, tweet };
inline constexpr std::array kTasks{Task::summary, Task::rag, Task::ui, Task::tweet};
std::string_view name_of(Task task);

// Table 4: tokens of a pass, with the model's own one, and the printed gains of "+Ours".
struct Acceptance {
  Task task;
  std::array<double, 3> pld, pld_ours, sam, sam_ours;  // of kTable4Models
  std::array<double, 3> pld_gain, sam_gain;
};
inline constexpr std::array kTable4Models{kQwen15, kQwen7, kLlama1};
inline constexpr std::array kTable4{
    Acceptance{Task::summary,
               {2.53, 1.55, 1.42},
               {2.91, 1.84, 1.70},
               {3.60, 1.96, 1.68},
               {4.21, 2.43, 2.07},
               {1.15, 1.18, 1.19},
               {1.17, 1.24, 1.24}},
    Acceptance{Task::rag,
               {3.19, 1.63, 1.77},
               {3.73, 1.89, 2.11},
               {4.42, 2.29, 2.25},
               {5.47, 2.80, 2.66},
               {1.17, 1.16, 1.19},
               {1.24, 1.22, 1.19}},
    Acceptance{Task::ui,
               {2.28, 1.64, 1.57},
               {2.64, 1.73, 1.82},
               {3.56, 2.44, 1.72},
               {4.01, 2.59, 2.05},
               {1.16, 1.05, 1.16},
               {1.13, 1.06, 1.20}},
    Acceptance{Task::tweet,
               {2.53, 2.06, 1.49},
               {3.17, 2.52, 1.72},
               {3.57, 2.98, 1.79},
               {3.82, 3.70, 2.18},
               {1.25, 1.22, 1.15},
               {1.07, 1.24, 1.22}},
};
const Acceptance& acceptance_of(Task task);

}  // namespace tandem::paper_sdnpu
