// The fields of a model object.
#include "workloads/tables.hpp"

namespace twin::work::detail {

const std::vector<Field<Model>>& model_fields() {
  using M = Model;
  static const std::vector<Field<M>> fields = {
      text<M>(
          "name", [](auto& m) -> auto& { return m.name; }, "shown in reports"),
      required(integer<M>(
          "layers", [](auto& m) -> auto& { return m.layers; }, {1, 10000}, "", "transformer blocks")),
      required(integer<M>(
          "hidden", [](auto& m) -> auto& { return m.hidden; }, {1, 1 << 20}, "", "width of the residual stream")),
      required(integer<M>(
          "heads", [](auto& m) -> auto& { return m.heads; }, {1, 65536}, "", "query heads")),
      integer<M>(
          "kv_heads", [](auto& m) -> auto& { return m.kv_heads; }, {0, 65536}, "",
          "key and value heads; 0: as many as heads"),
      integer<M>(
          "head_dim", [](auto& m) -> auto& { return m.head_dim; }, {0, 65536}, "", "0: hidden / heads"),
      required(integer<M>(
          "ffn", [](auto& m) -> auto& { return m.ffn; }, {1, 1 << 24}, "", "width of the MLP, of one of its gates")),
      required(integer<M>(
          "vocab", [](auto& m) -> auto& { return m.vocab; }, {1, 1e9}, "tokens",
          "rows of the embedding, padding included")),
      boolean<M>(
          "gated_mlp", [](auto& m) -> auto& { return m.gated_mlp; }, "SwiGLU or GeGLU: two input projections"),
      boolean<M>(
          "tied_embeddings", [](auto& m) -> auto& { return m.tied_embeddings; }, "the LM head is the embedding table"),
      boolean<M>(
          "learned_positions", [](auto& m) -> auto& { return m.learned_positions; },
          "a table of max_positions rows; else rotary"),
      boolean<M>(
          "alibi", [](auto& m) -> auto& { return m.alibi; }, "positions as an attention bias: no rotary kernel"),
      boolean<M>(
          "rms_norm", [](auto& m) -> auto& { return m.rms_norm; }, "RMSNorm; else LayerNorm with bias"),
      boolean<M>(
          "biases", [](auto& m) -> auto& { return m.biases; }, "linear layers carry biases"),
      boolean<M>(
          "qkv_bias", [](auto& m) -> auto& { return m.qkv_bias; }, "the qkv projection alone carries one"),
      number<M>(
          "dropout", [](auto& m) -> auto& { return m.dropout; }, {0, 1}, "",
          "above 0: dropout runs and its masks are saved"),
      integer<M>(
          "max_positions", [](auto& m) -> auto& { return m.max_positions; }, {0, 1e9}, "tokens",
          "default sequence length; rows of learned positions"),
      text<M>(
          "source", [](auto& m) -> auto& { return m.source; }, "where the dimensions come from"),
  };
  return fields;
}

}  // namespace twin::work::detail
