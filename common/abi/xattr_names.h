// Read-only extended attributes of every node (decisions, section 3).
#pragma once

#include <string_view>

namespace cortexfs::abi::xattr {

inline constexpr std::string_view kPrefix = "user.cortexfs.";
inline constexpr std::string_view kAbiPath = "user.cortexfs.abi_path"; // "model/openai/gpt-5.6"
inline constexpr std::string_view kKind = "user.cortexfs.kind";        // "model", "control", "directory", ...
inline constexpr std::string_view kOrigin = "user.cortexfs.origin";    // virtual | disk | overlay
inline constexpr std::string_view kStorage = "user.cortexfs.storage";  // memory | disk
inline constexpr std::string_view kVirtual = "user.cortexfs.virtual";  // true | false
inline constexpr std::string_view kBackingExists = "user.cortexfs.backing_exists"; // true | false
inline constexpr std::string_view kBytes = "user.cortexfs.bytes";
inline constexpr std::string_view kTokenEstimate = "user.cortexfs.token_estimate"; // ceil(bytes/4)
inline constexpr std::string_view kTokenizer = "user.cortexfs.tokenizer";          // byte-estimate-v1
inline constexpr std::string_view kControl = "user.cortexfs.control";              // path of the control socket

} // namespace cortexfs::abi::xattr
