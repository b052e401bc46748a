// Private to the layer sources: sizes of one block on one device, and builders of its kernels.
// Bytes of a kernel are what it must read and write once in HBM; `fusion` scales those of memory-bound kernels (a stack
// whose kernels are split further moves more). A weight-gradient GEMM that accumulates into fp32 carries only its
// inputs' bytes: the device model adds the read-modify-write of 8 B per element by its flag.
#pragma once
#include <cstdint>
#include <vector>
#include "sim/device/kernel.hpp"
#include "workloads/layers.hpp"

namespace twin::work::detail {

struct Dims {
  Dims(const Model& model, const Shape& shape, Precision precision, const Stack& stack, double fusion);
  const Model& model;
  const Stack& stack;
  double fusion;
  std::int64_t micro, seq;
  std::int64_t tokens;     // of the micro batch, all of them: the tensor-parallel region
  std::int64_t sp_tokens;  // held outside it: tokens / tp with sequence parallelism
  std::int64_t hidden, heads, kv_heads, head_dim, ffn, gates, vocab;  // heads, kv_heads, ffn, vocab: of this device
  double element;                                                     // bytes of an activation: 2, or 4 in fp32
  double saved_input;        // bytes of a GEMM input kept for the weight gradient: 1 in fp8
  double cast_bytes;         // traffic per element of casting a GEMM operand to fp8; 0 without fp8
  double norm_cast_bytes;    // the same where the norm kernel writes the fp8 operand itself
  device::Dtype half, gemm;  // dtype of attention and LM head; of the linear layers
  bool sharded_inputs;       // the gathered input of a column-parallel GEMM is not the one kept (sp)

  double q_elements() const { return static_cast<double>(tokens * heads * head_dim); }
  double kv_elements() const { return static_cast<double>(tokens * kv_heads * head_dim); }  // of K, and again of V
  double qkv_elements() const { return q_elements() + 2 * kv_elements(); }
  double hidden_elements() const { return static_cast<double>(tokens * hidden); }
  double sp_hidden_elements() const { return static_cast<double>(sp_tokens * hidden); }
  double ffn_elements() const { return static_cast<double>(tokens * ffn); }
  double score_elements() const {
    return static_cast<double>(micro * heads) * static_cast<double>(seq) * static_cast<double>(seq);
  }
};

struct GemmShape {
  std::int64_t m, n, k;
  std::int64_t batch = 1;
};

device::Kernel gemm(const Dims& d, device::Dtype dtype, device::Pass pass, GemmShape shape, const char* label);
// The weight-gradient GEMM, and the add into the accumulated gradient where no epilogue does it.
std::vector<device::Kernel> weight_gradient(const Dims& d, const device::Kernel& wgrad);
device::Kernel elementwise(const Dims& d, device::Pass pass, double bytes, const char* label, int launches = 1);

// The three GEMMs of a linear layer y[tokens, out] = x[tokens, in] W: forward, dx = dy W^T, dW = dy^T x.
struct Linear {
  device::Kernel forward, dgrad, wgrad;
};
struct LinearShape {
  std::int64_t in, out;
  device::Dtype dtype;
  const char *forward, *dgrad, *wgrad;
};
Linear linear(const Dims& d, const LinearShape& shape);

// Cast of a GEMM operand of `elements` to fp8; nothing without fp8.
void append_cast(std::vector<device::Kernel>& kernels, const Dims& d, device::Pass pass, double elements,
                 const char* label);

device::Kernel norm_forward(const Dims& d, const char* label, bool feeds_fp8 = true);
device::Kernel norm_backward(const Dims& d, const char* label);
std::vector<device::Kernel> residual_forward(const Dims& d, const char* label);
std::vector<device::Kernel> residual_backward(const Dims& d, const char* label);

std::vector<device::Kernel> attention_core_forward(const Dims& d);  // without rotary and bias
std::vector<device::Kernel> attention_core_backward(const Dims& d);
std::vector<device::Kernel> rotary(const Dims& d, device::Pass pass);
std::vector<device::Kernel> activation_forward(const Dims& d);
std::vector<device::Kernel> activation_backward(const Dims& d);

void fill_attention(Block& block, const Dims& d);
void fill_mlp(Block& block, const Dims& d);
void fill_recompute(Block& block, const Dims& d);
void fill_saved(Block& block, const Dims& d);

inline std::int64_t round_bytes(double bytes) { return static_cast<std::int64_t>(bytes + 0.5); }
inline bool is_flash(const Stack& s) { return s.attention != Stack::Attention::kUnfused; }
inline double norm_vectors(const Model& m) { return m.rms_norm ? 1 : 2; }

}  // namespace twin::work::detail
