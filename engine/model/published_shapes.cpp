// The shapes of published models, taken from their configuration files.
#include "engine/model/shapes.h"

namespace tandem {
namespace {

constexpr PublishedShape mixture(PublishedShape shape, const PublishedExperts& experts,
                                 const PublishedLatent& latent = {}) {
  shape.experts = experts;
  shape.latent = latent;
  return shape;
}

constexpr PublishedShape with_rotated(PublishedShape shape, int64_t values) {
  shape.rotated = values;
  return shape;
}

constexpr PublishedShape kPublished[] = {
    // name, architecture, layers, H, I, heads, kv heads, head dim, vocabulary, context, rope base, tied, bias, qk norm
    {"llama-3-8b", "llama", 32, 4096, 14336, 32, 8, 128, 128256, 8192, 500000},
    {"llama-2-7b", "llama", 32, 4096, 11008, 32, 32, 128, 32000, 4096, 10000},
    {"llama-3.2-3b", "llama", 28, 3072, 8192, 24, 8, 128, 128256, 131072, 500000, true},
    {"llama-3.2-1b", "llama", 16, 2048, 8192, 32, 8, 64, 128256, 131072, 500000, true},
    {"internlm2-1.8b", "internlm2", 24, 2048, 8192, 16, 8, 128, 92544, 32768, 1000000},
    {"mistral-7b", "llama", 32, 4096, 14336, 32, 8, 128, 32768, 32768, 1000000},
    {"tinyllama-1.1b", "llama", 22, 2048, 5632, 32, 4, 64, 32000, 2048, 10000},
    {"smollm2-135m", "llama", 30, 576, 1536, 9, 3, 64, 49152, 8192, 100000, true},
    {"smollm2-360m", "llama", 32, 960, 2560, 15, 5, 64, 49152, 8192, 100000, true},
    {"smollm2-1.7b", "llama", 24, 2048, 8192, 32, 32, 64, 49152, 8192, 130000, true},
    {"qwen2.5-0.5b", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, 32768, 1000000, true, true},
    {"qwen2.5-1.5b", "qwen2", 28, 1536, 8960, 12, 2, 128, 151936, 32768, 1000000, true, true},
    {"qwen2.5-7b", "qwen2", 28, 3584, 18944, 28, 4, 128, 152064, 32768, 1000000, false, true},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 16, 8, 128, 151936, 40960, 1000000, true, false, true},
    {"gemma-2b", "gemma", 18, 2048, 16384, 8, 1, 256, 256000, 8192, 10000, true},
    {"ernie-4.5-0.3b", "ernie4_5", 18, 1024, 3072, 16, 2, 128, 103424, 131072, 500000, true},
    {"exaone-4.0-1.2b", "exaone4", 30, 2048, 4096, 32, 8, 64, 102400, 65536, 1000000, true},
    {"olmo-2-1b", "olmo2", 16, 2048, 8192, 16, 16, 128, 100352, 4096, 500000},
    {"olmo-2-7b", "olmo2", 32, 4096, 11008, 32, 32, 128, 100352, 4096, 500000},
    {"smollm3-3b", "smollm3", 36, 2048, 11008, 16, 4, 128, 128256, 65536, 5000000, true},
    {"afm-4.5b", "arcee", 36, 2560, 18432, 20, 4, 128, 128005, 65536, 10000},
    {"aya-23-8b", "command-r", 32, 4096, 14336, 32, 8, 128, 256000, 8192, 10000, true},
    {"command-r-plus", "command-r", 64, 12288, 33792, 96, 8, 128, 256000, 131072, 75000000, true, false, true},
    {"command-r7b", "cohere2", 32, 4096, 14336, 32, 8, 128, 256000, 8192, 50000, true},
    {"falcon3-1b", "llama", 18, 2048, 8192, 8, 4, 256, 131072, 8192, 1000042},
    {"ministral-3-8b", "mistral3", 34, 4096, 14336, 32, 8, 128, 131072, 262144, 1000000},
    {"starcoder2-3b", "starcoder2", 30, 3072, 12288, 24, 2, 128, 49152, 16384, 999999.4420358813f, true},
    // Encoders, which make vectors.
    {"all-minilm-l6", "bert", 6, 384, 1536, 12, 12, 32, 30522, 512, 10000},
    {"bge-small", "bert", 12, 384, 1536, 12, 12, 32, 30522, 512, 10000},
    {"jina-embeddings-v2-small", "jina-bert-v2", 4, 512, 2048, 8, 8, 64, 30528, 8192, 10000},
    {"jina-embeddings-v2-base", "jina-bert-v2", 12, 768, 3072, 12, 12, 64, 30528, 8192, 10000},
    {"nomic-embed-text-v1.5", "nomic-bert", 12, 768, 3072, 12, 12, 64, 30522, 2048, 1000},
    // Some models rotate a part of each head only.
    with_rotated({"nemotron-mini-4b", "nemotron", 32, 3072, 9216, 24, 8, 128, 256000, 4096, 10000}, 64),
    with_rotated({"phi-2", "phi2", 32, 2560, 10240, 32, 32, 80, 51200, 2048, 10000}, 32),
    with_rotated({"stablelm-2-12b", "stablelm", 40, 5120, 13824, 32, 8, 160, 100352, 4096, 10000, false, false, true},
                 40),
    with_rotated({"phi-4-mini", "phi3", 32, 3072, 8192, 24, 8, 128, 200064, 131072, 10000, true}, 96),
    // Mixtures of experts add: count, used, I of each, I of the shared ones, dense layers.
    // Then: sigmoids with a bias that chooses, a scale of the weights, groups, groups of a token, and the distance
    // of layers with experts.
    // Latent attention adds: rank, values without rotation, with rotation, of a head's value; rank of queries.
    mixture({"mixtral-8x7b", "llama", 32, 4096, 14336, 32, 8, 128, 32000, 32768, 1000000}, {8, 2, 14336}),
    mixture({"mixtral-8x22b", "llama", 56, 6144, 16384, 48, 8, 128, 32000, 65536, 1000000}, {8, 2, 16384}),
    mixture({"phi-3.5-moe", "phimoe", 32, 4096, 6400, 32, 8, 128, 32064, 131072, 10000, false, true}, {16, 2, 6400}),
    mixture({"phi-tiny-moe", "phimoe", 32, 4096, 448, 16, 4, 128, 32064, 4096, 10000, false, true}, {16, 2, 448}),
    mixture({"qwen1.5-moe-a2.7b", "qwen2moe", 24, 2048, 5632, 16, 16, 128, 151936, 8192, 1000000, false, true},
            {60, 4, 1408, 5632}),
    mixture({"qwen2-57b-a14b", "qwen2moe", 28, 3584, 18944, 28, 4, 128, 151936, 131072, 1000000, false, true},
            {64, 8, 2560, 20480}),
    mixture({"qwen3-30b-a3b", "qwen3moe", 48, 2048, 6144, 32, 4, 128, 151936, 40960, 1000000}, {128, 8, 768}),
    mixture({"qwen3-235b-a22b", "qwen3moe", 94, 4096, 12288, 64, 4, 128, 151936, 40960, 1000000}, {128, 8, 1536}),
    mixture({"olmoe-1b-7b", "olmoe", 16, 2048, 1024, 16, 16, 128, 50304, 4096, 10000}, {64, 8, 1024}),
    mixture({"granite-3.0-1b-a400m", "granitemoe", 24, 1024, 512, 16, 8, 64, 49155, 4096, 10000, true}, {32, 8, 512}),
    mixture({"granite-3.0-3b-a800m", "granitemoe", 32, 1536, 512, 24, 8, 64, 49155, 4096, 10000, true}, {40, 8, 512}),
    mixture({"ling-lite", "bailingmoe", 28, 2048, 5632, 16, 4, 128, 126464, 4096, 600000}, {64, 6, 1408, 2816}),
    mixture({"hunyuan-a13b", "hunyuan-moe", 32, 4096, 3072, 32, 8, 128, 128167, 32768, 10000, true},
            {64, 8, 3072, 3072}),
    mixture({"ernie-4.5-21b-a3b", "ernie4_5-moe", 28, 2560, 12288, 20, 4, 128, 103424, 131072, 500000, true},
            {64, 6, 1536, 3072, 1}),
    mixture({"ernie-4.5-300b-a47b", "ernie4_5-moe", 54, 8192, 28672, 64, 8, 128, 103424, 131072, 500000},
            {64, 8, 3584, 0, 3}),
    with_rotated(mixture({"glm-4.5-air", "glm4moe", 46, 4096, 10944, 96, 8, 128, 151552, 131072, 1000000, false, true},
                         {128, 8, 1408, 1408, 1, true}),
                 64),
    with_rotated(
        mixture({"glm-4.5", "glm4moe", 92, 5120, 12288, 96, 8, 128, 151552, 131072, 1000000, false, true, true},
                {160, 8, 1536, 1536, 3, true, 2.5f}),
        64),
    mixture({"gpt-oss-20b", "gpt-oss", 24, 2880, 2880, 64, 8, 64, 201088, 131072, 150000}, {32, 4, 2880}),
    mixture({"gpt-oss-120b", "gpt-oss", 36, 2880, 2880, 64, 8, 64, 201088, 131072, 150000}, {128, 4, 2880}),
    mixture({"llama-4-scout", "llama4", 48, 5120, 16384, 40, 8, 128, 202048, 10485760, 500000}, {16, 1, 8192, 8192}),
    mixture({"llama-4-maverick", "llama4", 48, 5120, 16384, 40, 8, 128, 202048, 1048576, 500000},
            {128, 1, 8192, 8192, 0, false, 1, 1, 1, 2}),
    mixture({"deepseek-moe-16b", "deepseek", 28, 2048, 10944, 16, 16, 128, 102400, 4096, 10000},
            {64, 6, 1408, 2816, 1}),
    mixture({"deepseek-v2-lite", "deepseek2", 27, 2048, 10944, 16, 1, 576, 102400, 163840, 10000},
            {64, 6, 1408, 2816, 1}, {512, 128, 64, 128}),
    mixture({"deepseek-v2", "deepseek2", 60, 5120, 12288, 128, 1, 576, 102400, 163840, 10000},
            {160, 6, 1536, 3072, 1, false, 16, 8, 3}, {512, 128, 64, 128, 1536}),
    mixture({"deepseek-v3", "deepseek2", 61, 7168, 18432, 128, 1, 576, 129280, 163840, 10000},
            {256, 8, 2048, 2048, 3, true, 2.5f, 8, 4}, {512, 128, 64, 128, 1536}),
};

}  // namespace

std::span<const PublishedShape> published_shapes() { return kPublished; }

}  // namespace tandem
