// Field numbers of the Perfetto trace messages that we write and, in tests, read (perfetto/trace/*.proto).
#pragma once
#include <protozero/types.hpp>

namespace twin::report::perfetto {

using Tag = protozero::pbf_tag_type;

enum class Trace : Tag { kPacket = 1 };
enum class Packet : Tag {
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60
};
enum class Interned : Tag { kEventCategories = 1, kEventNames = 2, kAnnotationNames = 3 };
enum class InternedName : Tag { kIid = 1, kName = 2 };
enum class Descriptor : Tag {
  kUuid = 1,
  kName = 2,
  kParentUuid = 5,
  kCounter = 8,
  kChildOrdering = 11,
  kSiblingOrderRank = 12
};
enum class Counter : Tag { kUnit = 3 };
enum class Event : Tag {
  kCategoryIids = 3,
  kAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kCounterValue = 30,
  kFlowIds = 47,
  kTerminatingFlowIds = 48
};
enum class Annotation : Tag { kNameIid = 1, kInt = 4, kDouble = 5, kString = 6 };

inline constexpr int kSliceBegin = 1, kSliceEnd = 2, kCounterEvent = 4;
inline constexpr unsigned kStateCleared = 1, kNeedsState = 2;
inline constexpr int kUnitBytes = 3, kExplicitOrder = 3;

}  // namespace twin::report::perfetto
