/* The sizes of published language models: d2l/language_models.py has them, too, and names
 * their sources.
 */

const llama = (layers, width, hidden, heads, keyHeads, vocabulary, tied = false) => ({
  ...{ kind: "llama", layers, width, hidden, heads, keyHeads, vocabulary, positions: 0, tied },
});
const gpt = (layers, width, heads, vocabulary, positions) => ({
  ...{ kind: "gpt", layers, width, hidden: 4 * width, heads, keyHeads: heads },
  ...{ vocabulary, positions, tied: true },
});

/** @type {Record<string, any>} */
export const models = {
  "Llama 3.2 1B": llama(16, 2048, 8192, 32, 8, 128256, true),
  "Llama 3.2 3B": llama(28, 3072, 8192, 24, 8, 128256, true),
  "Llama 3 8B": llama(32, 4096, 14336, 32, 8, 128256),
  "Llama 3 70B": llama(80, 8192, 28672, 64, 8, 128256),
  "Llama 3 405B": llama(126, 16384, 53248, 128, 8, 128256),
  "Qwen2.5 0.5B": llama(24, 896, 4864, 14, 2, 151936, true),
  "Qwen2.5 1.5B": llama(28, 1536, 8960, 12, 2, 151936, true),
  "Qwen2.5 3B": llama(36, 2048, 11008, 16, 2, 151936, true),
  "Qwen2.5 7B": llama(28, 3584, 18944, 28, 4, 152064),
  "Qwen2.5 14B": llama(48, 5120, 13824, 40, 8, 152064),
  "Qwen2.5 32B": llama(64, 5120, 27648, 40, 8, 152064),
  "Mistral 7B": llama(32, 4096, 14336, 32, 8, 32000),
  "TinyLlama 1.1B": llama(22, 2048, 5632, 32, 4, 32000),
  "Llama 2 7B": llama(32, 4096, 11008, 32, 32, 32000),
  "Llama 2 13B": llama(40, 5120, 13824, 40, 40, 32000),
  "Llama 2 70B": llama(80, 8192, 28672, 64, 8, 32000),
  "Code Llama 34B": llama(48, 8192, 22016, 64, 8, 32016),
  "GPT-2 124M": gpt(12, 768, 12, 50304, 1024),
  "MPT 125M": gpt(12, 768, 12, 50368, 2048),
  "MPT 350M": gpt(24, 1024, 16, 50368, 2048),
  "MPT 760M": gpt(24, 1536, 12, 50368, 2048),
  "MPT 1B": gpt(24, 2048, 16, 50368, 2048),
  "MPT 3B": gpt(32, 2560, 20, 50368, 2048),
  "MPT 7B": gpt(32, 4096, 32, 50368, 2048),
  "MPT 13B": gpt(40, 5120, 40, 50368, 2048),
  "MPT 30B": gpt(48, 7168, 56, 50368, 2048),
  "MPT 70B": gpt(80, 8192, 64, 50368, 2048),
};

/** What d2l/tables.py has of models that generate text: the parameters that their makers
 * publish, rounded, and a vocabulary that is larger than in training.
 * @type {Record<string, any>} */
export const published = {
  ...{ "Llama 3 8B": { params: 8.03e9 }, "Llama 3 70B": { params: 70.6e9 } },
  ...{ "Mistral 7B": { params: 7.25e9, vocabulary: 32768 }, "Qwen2.5 7B": { params: 7.62e9 } },
};
