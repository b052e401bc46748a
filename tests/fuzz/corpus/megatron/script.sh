#!/bin/bash
GPUS_PER_NODE=8
NNODES=${1:-8}
TP=4
MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --ffn-hidden-size 14336 --swiglu --normalization RMSNorm --seq-length 8192 --max-position-embeddings 8192
)
torchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py ${MODEL_ARGS[@]} --tensor-model-parallel-size ${TP} \
    --micro-batch-size 1 --global-batch-size $((NNODES * 16)) --bf16 --sequence-parallel --use-distributed-optimizer
