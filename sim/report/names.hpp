// Names of streams and categories as reports print them.
#pragma once
#include "sim/step/program.hpp"

namespace twin::report {

inline const char* stream_name(step::Stream s) {
  using step::Stream;
  switch (s) {
    case Stream::kCompute:
      return "compute";
    case Stream::kTp:
      return "tp";
    case Stream::kPpSendForward:
      return "pp send forward";
    case Stream::kPpRecvForward:
      return "pp recv forward";
    case Stream::kPpSendBackward:
      return "pp send backward";
    case Stream::kPpRecvBackward:
      return "pp recv backward";
    case Stream::kDpGrad:
      return "dp gradients";
    case Stream::kDpParam:
      return "dp parameters";
    case Stream::kHost:
      return "host";
    case Stream::kCount:
      break;
  }
  return "?";
}

inline const char* category_name(step::Category c) {
  using step::Category;
  switch (c) {
    case Category::kCompute:
      return "compute";
    case Category::kOptimizer:
      return "optimizer";
    case Category::kTp:
      return "tp";
    case Category::kCp:
      return "cp";
    case Category::kEp:
      return "ep";
    case Category::kPp:
      return "pp";
    case Category::kDp:
      return "dp";
    case Category::kData:
      return "data";
    case Category::kOther:
      return "other";
    case Category::kCount:
      break;
  }
  return "?";
}

}  // namespace twin::report
