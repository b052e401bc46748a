// Names of collective operations, algorithms and protocols, as NCCL and nccl-tests spell them; `?` for values that
// are none of them.
#include "sim/fabric/collective.hpp"

namespace twin::fabric {

const char* name(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::kBroadcast:
      return "broadcast";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kSendRecv:
      return "send_recv";
  }
  return "?";
}

const char* name(Algorithm a) {
  switch (a) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kNvls:
      return "nvls";
    case Algorithm::kNvlsTree:
      return "nvls-tree";
    case Algorithm::kSharp:
      return "sharp";
    case Algorithm::kPairwise:
    case Algorithm::kExchange:
      return "pairwise";
  }
  return "?";
}

const char* name(Protocol p) {
  switch (p) {
    case Protocol::kLl:
      return "ll";
    case Protocol::kLl128:
      return "ll128";
    case Protocol::kSimple:
      return "simple";
  }
  return "?";
}

double busbw_factor(CollectiveOp op, int ranks) {
  const double n = ranks;
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
      return (n - 1) / n;
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kSendRecv:
      return 1;
  }
  return 1;
}

}  // namespace twin::fabric
