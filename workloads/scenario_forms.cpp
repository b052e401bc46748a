#include "workloads/scenario_forms.hpp"

#include <algorithm>
#include "workloads/catalog.hpp"
#include "workloads/names.hpp"

namespace twin::work::detail {

namespace {

using core::JsonReader;
using nlohmann::json;
using S = Scenario;

json any_of(std::vector<json> alternatives) { return {{"anyOf", std::move(alternatives)}}; }
json is(const char* type) { return {{"type", type}}; }

std::string shown(const json& v) {
  std::string text = v.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

// A problem that another reader found: its own place goes into the message, the field is this one.
void take_error(JsonReader& r, const std::string& key, const core::Error& e) {
  const bool here = e.where.empty() || e.where == key;
  r.fail(key, here ? e.message : e.where + ": " + e.message, e.hint);
}

// A word of `names` becomes `out`; a word of `later` is valid and not simulated yet.
void read_word(JsonReader& r, const std::string& key, int& out, std::vector<std::string> names,
               const std::vector<std::string>& later) {
  const json* v = r.any(key);
  if (v == nullptr) return;
  if (v->is_string() && std::find(later.begin(), later.end(), v->get_ref<const std::string&>()) != later.end()) {
    r.fail(key, "expected one of " + listed(names) + " (\"" + v->get<std::string>() + "\" is not simulated yet)");
    return;
  }
  r.choice(key, out, names);
}

}  // namespace

Field<S> model_field(const std::string& name) {
  return {.name = name,
          .unit = "",
          .help = "a catalog name, a file, or an object of fields (with \"base\": changes to a named one)",
          .schema = any_of({is("string"), model_schema()}),
          .read =
              [](S& s, JsonReader& r, const std::string& key) {
                const json* v = r.any(key);
                if (v == nullptr) return;
                auto model = model_from_json(*v, key);
                if (model)
                  s.model = std::move(*model);
                else
                  take_error(r, key, model.error());
              },
          .write = [](const S& s) { return model_to_json(s.model); }};
}

Field<S> software_field(const std::string& name) {
  return {.name = name,
          .unit = "",
          .help = "software stack: a catalog name, a file, or an object of traits (with \"base\")",
          .schema = any_of({is("string"), stack_schema()}),
          .read =
              [](S& s, JsonReader& r, const std::string& key) {
                const json* v = r.any(key);
                if (v == nullptr || v->is_null()) return;
                auto stack = stack_from_json(*v, key);
                if (stack)
                  s.stack = std::move(*stack);
                else
                  take_error(r, key, stack.error());
              },
          .write = [](const S& s) { return stack_to_json(s.stack); }};
}

namespace {

json named_cluster(const topo::ClusterRef& ref) {
  json object = {{"base", ref.name}};
  if (!ref.node.empty()) object["node"] = ref.node;
  if (!ref.fabric.empty()) object["fabric"] = ref.fabric;
  if (ref.nodes > 0) object["nodes"] = ref.nodes;
  if (!ref.overrides.empty()) object["override"] = ref.overrides;
  return object.size() == 1 ? json(ref.name) : object;
}

}  // namespace

// Only what every cluster has is taken out here; topologies reads the object itself and checks its fields.
Field<S> cluster_field(const std::string& name) {
  const auto read = [](S& s, JsonReader& r, const std::string& key) {
    const json* v = r.any(key);
    if (v == nullptr) return;
    topo::ClusterRef ref;
    ref.where = key;
    if (v->is_string()) {
      ref.name = v->get<std::string>();
      if (ref.name.empty()) return r.fail(key, "expected the name of a cluster, found \"\"", "for example dgx-h100x64");
    } else if (v->is_object()) {
      if (v->contains(
              "base")) {  // a named cluster with changes: topologies resolves the name (a node and its count, too)
        JsonReader changes(*v, key);
        changes.required("base", ref.name);
        for (const char* known : {"node", "fabric", "nodes", "override"}) changes.any(known);
        r.absorb(changes);
      } else {
        ref.inline_json = v->dump(-1, ' ', false, json::error_handler_t::replace);
      }
      const auto word = [&](const char* k) {
        const auto it = v->find(k);
        return it != v->end() && it->is_string() ? it->get<std::string>() : std::string();
      };
      ref.node = word("node");
      ref.fabric = word("fabric");
      if (v->contains("nodes")) {
        const json only = {{"nodes", (*v)["nodes"]}};
        JsonReader alone(only, key);
        alone.optional("nodes", ref.nodes, 1, 1 << 22);
        r.absorb(alone);
      }
      if (const auto it = v->find("override"); it != v->end() && it->is_object())
        for (const auto& [k, value] : it->items())
          ref.overrides[k] = value.is_string() ? value.get<std::string>() : shown(value);
    } else {
      return r.fail(key, "expected the name of a cluster, a file or an object, found " + shown(*v),
                    "for example \"dgx-h100x64\"");
    }
    s.cluster = std::move(ref);
  };
  return {
      .name = name,
      .unit = "",
      .help = "a name (dgx-h100x64: a node and how many of it), a file, or an object {node, nodes, fabric, override}",
      .schema = any_of({is("string"), is("object")}),
      .read = read,
      .write = [](const S& s) {
        if (s.cluster.inline_json.empty()) return named_cluster(s.cluster);
        return json::parse(s.cluster.inline_json, nullptr, false);
      }};
}

Field<S> recompute_field(const std::string& name) {
  static const std::vector<std::string> kMethods = {"uniform", "block"};
  const auto read = [](S& s, JsonReader& r, const std::string& key) {
    const json* v = r.any(key);
    if (v == nullptr) return;
    int granularity = static_cast<int>(s.recompute);
    if (v->is_object()) {
      auto nested = r.object(key);
      if (!nested) return;
      int method = s.recompute_method == "block" ? 1 : 0;
      nested->choice("granularity", granularity, recompute_names());
      nested->choice("method", method, kMethods);
      nested->optional("layers", s.recompute_layers, 0, 10000);
      s.recompute_method = kMethods[static_cast<std::size_t>(method)];
      r.absorb(*nested);
    } else {
      r.choice(key, granularity, recompute_names());
    }
    s.recompute = static_cast<Recompute>(granularity);
  };
  const json object = {{"type", "object"},
                       {"additionalProperties", false},
                       {"properties",
                        {{"granularity", {{"enum", recompute_names()}}},
                         {"method", {{"enum", kMethods}}},
                         {"layers", {{"type", "integer"}, {"minimum", 0}, {"maximum", 10000}}}}}};
  return {
      .name = name,
      .unit = "",
      .help = "activations recomputed in backward; method block: `layers` of each chunk, uniform: units of `layers`",
      .schema = any_of({json{{"enum", recompute_names()}}, object}),
      .read = read,
      .write = [](const S& s) -> json {
        if (s.recompute_layers == 0 && s.recompute_method == "uniform") return json(work::name(s.recompute));
        return {
            {"granularity", work::name(s.recompute)}, {"method", s.recompute_method}, {"layers", s.recompute_layers}};
      }};
}

namespace {

void read_fault(JsonReader& r, Fault& f) {
  const bool slow = r.has("slow"), link = r.has("link");
  if (slow == link) {
    r.any("slow");
    r.any("link");
    return r.fail("slow",
                  std::string("expected one of slow and link in a fault, found ") + (slow ? "both" : "neither"));
  }
  if (auto nested = r.object(slow ? "slow" : "link")) {
    f.kind = slow ? Fault::Kind::kSlow : Fault::Kind::kLink;
    if (slow)
      nested->required("rank", f.rank, 0, 1 << 22).required("factor", f.factor, 1e-3, 1e3);
    else
      nested->required("match", f.match).required("capacity", f.capacity, 0, 1);
    r.absorb(*nested);
  }
}

}  // namespace

Field<S> faults_field(const std::string& name) {
  const auto number = [](double low, double high) {
    return json{{"type", "number"}, {"minimum", low}, {"maximum", high}};
  };
  const auto object = [](json properties) {
    return json{{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
  };
  const json item =
      object({{"slow", object({{"rank", {{"type", "integer"}, {"minimum", 0}}}, {"factor", number(1e-3, 1e3)}})},
              {"link", object({{"match", is("string")}, {"capacity", number(0, 1)}})}});
  return {
      .name = name,
      .unit = "",
      .help =
          "slow ranks (factor multiplies compute time) and degraded links (capacity: fraction of nominal, 0 = down)",
      .schema = {{"type", "array"}, {"items", item}},
      .read =
          [](S& s, JsonReader& r, const std::string& key) {
            for (auto& nested : r.objects(key)) {
              Fault f;
              read_fault(nested, f);
              r.absorb(nested);
              s.faults.push_back(std::move(f));
            }
          },
      .write =
          [](const S& s) {
            json list = json::array();
            for (const auto& f : s.faults)
              list.push_back(f.kind == Fault::Kind::kSlow
                                 ? json{{"slow", {{"rank", f.rank}, {"factor", f.factor}}}}
                                 : json{{"link", {{"match", f.match}, {"capacity", f.capacity}}}});
            return list;
          }};
}

Field<S> schedule_field(const std::string& name) {
  static const std::vector<std::string> kNames = [] {
    auto names = schedule_names();
    names.front() = "auto";
    return names;
  }();
  return {.name = name,
          .unit = "",
          .help = "pipeline schedule; auto: 1f1b with pp > 1, interleaved-1f1b with vpp > 1",
          .schema = {{"enum", kNames}},
          .read =
              [](S& s, JsonReader& r, const std::string& key) {
                const json* v = r.any(key);
                if (v != nullptr && *v == json("none")) return;
                int index = static_cast<int>(s.parallel.schedule);
                read_word(r, key, index, kNames, {"zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"});
                s.parallel.schedule = static_cast<Schedule>(index);
              },
          .write = [](const S& s) { return json(kNames[static_cast<std::size_t>(s.parallel.schedule)]); }};
}

Field<S> precision_field(const std::string& name) {
  return {.name = name,
          .unit = "",
          .help = "of the linear layers' matmuls; fp8: delayed scaling, hybrid",
          .schema = {{"enum", precision_names()}},
          .read =
              [](S& s, JsonReader& r, const std::string& key) {
                int index = static_cast<int>(s.precision);
                read_word(r, key, index, precision_names(), {"nvfp4"});
                s.precision = static_cast<Precision>(index);
              },
          .write = [](const S& s) { return json(work::name(s.precision)); }};
}

Field<S> layout_field(const std::string& name, const Member<std::vector<int>>& member) {
  const auto read = [member](S& s, JsonReader& r, const std::string& key) {
    const json* v = r.any(key);
    if (v == nullptr || v->is_null()) return;
    auto& layout = member.of(s);
    layout.clear();
    if (*v == json("auto")) return;
    if (!v->is_array() || v->empty() || v->size() > 65536)
      return r.fail(key, "expected \"auto\" or a list of layers per chunk, found " + shown(*v));
    for (const auto& item : *v) {
      if (!item.is_number_integer() || item < 0 || item > 10000)
        return r.fail(key, "expected a list of whole numbers in 0..10000, found " + shown(item) + " in it");
      layout.push_back(item.get<int>());
    }
  };
  const json list = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", 10000}}}};
  return {.name = name,
          .unit = "layers",
          .help = "of each chunk in pipeline order (chunk = stage + pp x virtual stage)",
          .schema = any_of({json{{"const", "auto"}}, list}),
          .read = read,
          .write = [member](const S& s) { return member.get(s).empty() ? json("auto") : json(member.get(s)); }};
}

Field<S> tristate_field(const std::string& name, const Member<int>& member, const std::string& help) {
  const auto read = [member](S& s, JsonReader& r, const std::string& key) {
    const json* v = r.any(key);
    if (v == nullptr || v->is_null()) return;
    if (v->is_boolean())
      member.of(s) = v->get<bool>() ? 1 : 0;
    else if (*v == json("auto"))
      member.of(s) = -1;
    else
      r.fail(key, "expected true, false or \"auto\", found " + shown(*v));
  };
  return {.name = name,
          .unit = "",
          .help = help,
          .schema = any_of({is("boolean"), json{{"const", "auto"}}}),
          .read = read,
          .write = [member](const S& s) { return member.get(s) < 0 ? json("auto") : json(member.get(s) > 0); }};
}

Field<S> order_field(const std::string& name, const Member<std::string>& member) {
  const auto read = [member](S& s, JsonReader& r, const std::string& key) {
    std::string order = member.of(s);
    r.optional(key, order);
    std::vector<std::string> axes;
    for (std::size_t i = 0; i <= order.size();) {
      const std::size_t j = std::min(order.find('-', i), order.size());
      axes.push_back(order.substr(i, j - i));
      i = j + 1;
    }
    std::sort(axes.begin(), axes.end());
    if (axes != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"})
      r.fail(key, "expected each of tp, cp, ep, dp, pp once, joined by \"-\", found \"" + order + "\"",
             "tp-cp-ep-dp-pp is Megatron's default");
    member.of(s) = order;
  };
  return {.name = name,
          .unit = "",
          .help = "axes from the fastest-varying rank coordinate to the slowest",
          .schema = is("string"),
          .read = read,
          .write = [member](const S& s) { return json(member.get(s)); }};
}

Field<S> strings_field(const std::string& name, const Member<std::vector<std::string>>& member,
                       const std::string& help) {
  const auto read = [member](S& s, JsonReader& r, const std::string& key) {
    const json* v = r.any(key);
    if (v == nullptr || v->is_null()) return;
    if (!v->is_array()) return r.fail(key, "expected a list of strings, found " + shown(*v));
    for (const auto& item : *v) {
      if (!item.is_string()) return r.fail(key, "expected a list of strings, found " + shown(item) + " in it");
      member.of(s).push_back(item.get<std::string>());
    }
  };
  return {.name = name,
          .unit = "",
          .help = help,
          .schema = {{"type", "array"}, {"items", is("string")}},
          .read = read,
          .write = [member](const S& s) { return json(member.get(s)); }};
}

}  // namespace twin::work::detail
