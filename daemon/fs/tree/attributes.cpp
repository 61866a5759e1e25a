#include "daemon/fs/tree/attributes.h"

#include "common/abi/xattr_names.h"

namespace cortexfs::fs {

namespace xattr = abi::xattr;

namespace {

std::string_view originWord(Origin origin)
{
    switch (origin) {
    case Origin::Virtual: return "virtual";
    case Origin::Disk: return "disk";
    case Origin::Overlay: return "overlay";
    }
    return "virtual";
}

std::string boolWord(bool value) { return value ? "true" : "false"; }

} // namespace

bool isReservedXattr(std::string_view name) { return name.starts_with(xattr::kPrefix); }

bool needsSize(std::string_view name) { return name == xattr::kBytes || name == xattr::kTokenEstimate; }

std::optional<std::string> reservedXattr(std::string_view name, const NodeFacts &facts, std::uint64_t size,
                                         std::string_view controlSocket)
{
    if (name == xattr::kAbiPath)
        return facts.abiPath;
    if (name == xattr::kControl)
        return std::string(controlSocket);
    if (name == xattr::kKind)
        return std::string(facts.kind);
    if (name == xattr::kOrigin)
        return std::string(originWord(facts.origin));
    if (name == xattr::kStorage)
        return std::string(facts.origin == Origin::Disk ? "disk" : "memory");
    if (name == xattr::kVirtual)
        return boolWord(facts.origin == Origin::Virtual);
    if (name == xattr::kBackingExists)
        return boolWord(facts.isBacked);
    if (name == xattr::kBytes)
        return std::to_string(size);
    if (name == xattr::kTokenEstimate)
        return std::to_string((size + 3) / 4);
    if (name == xattr::kTokenizer)
        return std::string("byte-estimate-v1");
    return std::nullopt;
}

std::string_view reservedXattrNames()
{
    static const std::string names = [] {
        std::string all;
        for (std::string_view name :
             {xattr::kAbiPath, xattr::kKind, xattr::kOrigin, xattr::kStorage, xattr::kVirtual, xattr::kBackingExists,
              xattr::kBytes, xattr::kTokenEstimate, xattr::kTokenizer, xattr::kControl}) {
            all += name;
            all += '\0';
        }
        return all;
    }();
    return names;
}

} // namespace cortexfs::fs
