// Sets of element types, as an operator's row in the table states them.
#pragma once

#include <cstdint>
#include <espalier/types.hpp>

namespace espalier::ops {

// One bit per DType.
using TypeSet = std::uint16_t;

constexpr TypeSet types(std::initializer_list<DType> list) {
  TypeSet set = 0;
  for (const DType type : list) set = static_cast<TypeSet>(set | (1U << static_cast<unsigned>(type)));
  return set;
}
constexpr bool contains(TypeSet set, DType type) { return ((set >> static_cast<unsigned>(type)) & 1U) != 0; }

inline constexpr TypeSet kFloatTypes = types({DType::kF32, DType::kF64, DType::kBf16, DType::kF16});
inline constexpr TypeSet kSignedTypes = types({DType::kI8, DType::kI16, DType::kI32, DType::kI64});
inline constexpr TypeSet kUnsignedTypes = types({DType::kU8, DType::kU16, DType::kU32, DType::kU64});
inline constexpr TypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr TypeSet kNumberTypes = kFloatTypes | kIntegerTypes;
inline constexpr TypeSet kBoolType = types({DType::kBool});
inline constexpr TypeSet kAnyType = kNumberTypes | kBoolType;
inline constexpr TypeSet kByteTypes = types({DType::kI8, DType::kU8});

}  // namespace espalier::ops
