// The catalog of models and software stacks: JSON files under workloads/catalog, embedded in the binary; a user's
// folder
// ($TRAINTWIN_CATALOG/<kind>/NAME.json) comes first. Lookup ignores case and takes "_" for "-"; entries may list
// aliases.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "workloads/scenario.hpp"

namespace twin::work {

core::Result<Model> find_model(const std::string& name);  // catalog name or file (ours, or a Hugging Face config.json)
core::Result<Stack> find_stack(const std::string& name);
// As a scenario has them: a name, a file, or an object of fields, which "base" may rest on a name.
core::Result<Model> model_from_json(const nlohmann::json& reference, const std::string& where);
core::Result<Stack> stack_from_json(const nlohmann::json& reference, const std::string& where);
nlohmann::json model_to_json(const Model& model);  // the name where the catalog has exactly this model, else the object
nlohmann::json stack_to_json(const Stack& stack);
nlohmann::json model_schema();
nlohmann::json stack_schema();

std::vector<std::string> catalog_names(const std::string& kind);  // "models", "stacks", "scenarios"; sorted
core::Result<std::string> catalog_json(const std::string& kind, const std::string& name);  // the entry's file

}  // namespace twin::work
