// Hugging Face config.json of a dense decoder (llama, mistral, qwen2, gemma, gpt2, gpt_neox, mpt, bloom, opt, ...; a
// nested text_config) as a model. Mixture of experts and latent attention are errors that name the key.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "workloads/model.hpp"

namespace twin::work {

bool is_hf_config(const nlohmann::json& object);  // has the marks of one (model_type, architectures, n_layer, ...)

// assumed: one sentence for each value that the file leaves to the framework.
core::Result<Model> model_from_hf(const nlohmann::json& config, const std::string& file,
                                  std::vector<std::string>* assumed = nullptr);

}  // namespace twin::work
