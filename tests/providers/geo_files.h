// Small geo data files of the three formats, byte by byte.
#pragma once

#include "common/route/route_table.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::test {

inline std::string varint(unsigned long long value)
{
    std::string out;
    for (; value >= 0x80; value >>= 7)
        out += static_cast<char>((value & 0x7f) | 0x80);
    return out + static_cast<char>(value);
}

inline std::string bytesField(unsigned number, std::string_view bytes)
{
    return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

inline std::string numberField(unsigned number, unsigned long long value)
{
    return varint(number << 3) + varint(value);
}

// type: 0 keyword, 1 regex, 2 suffix, 3 full
inline std::string geoDomain(unsigned type, std::string_view value, std::string_view attribute = {})
{
    std::string out = (type == 0 ? std::string() : numberField(1, type)) + bytesField(2, value);
    if (!attribute.empty())
        out += bytesField(3, bytesField(1, attribute) + numberField(2, 1));
    return bytesField(2, out);
}

inline std::string geoCidr(const char *network)
{
    const route::Network parsed = *route::parseNetwork(network);
    const bool isV4 = std::string_view(network).find(':') == std::string_view::npos;
    const auto *from = reinterpret_cast<const char *>(parsed.address.data()) + (isV4 ? 12 : 0);
    const int prefix = isV4 ? parsed.prefix - 96 : parsed.prefix;
    return bytesField(2, bytesField(1, std::string_view(from, isV4 ? 4 : 16))
                             + numberField(2, static_cast<unsigned long long>(prefix)));
}

// `members`: geoDomain() or geoCidr() one after the other.
inline std::string geoEntry(std::string_view name, const std::string &members)
{
    return bytesField(1, bytesField(1, name) + members);
}

// A MaxMind database of IPv4 networks and the ISO codes of their countries.
class CountryFile {
public:
    void add(const char *network, const std::string &code)
    {
        const route::Network parsed = *route::parseNetwork(network);
        std::size_t node = 0;
        const int bits = parsed.prefix - 96;
        for (int bit = 0; bit < bits; ++bit) {
            const auto byte = parsed.address[12 + static_cast<std::size_t>(bit / 8)];
            const std::size_t side = byte >> (7 - bit % 8) & 1;
            if (bit + 1 == bits) {
                m_nodes[node][side] = -2 - static_cast<long>(m_data.size());
            } else {
                if (m_nodes[node][side] < 0) {
                    m_nodes[node][side] = static_cast<long>(m_nodes.size());
                    m_nodes.push_back({-1, -1});
                }
                node = static_cast<std::size_t>(m_nodes[node][side]);
            }
        }
        m_data += "\xE1" + text("country") + "\xE1" + text("iso_code") + text(code);
    }

    std::string bytes() const
    {
        const auto count = static_cast<long>(m_nodes.size());
        std::string out;
        for (const auto &node : m_nodes) {
            for (const long record : node) {
                const long value = record >= 0 ? record : record == -1 ? count : count + 16 + (-2 - record);
                out += {static_cast<char>(value >> 16), static_cast<char>(value >> 8), static_cast<char>(value)};
            }
        }
        out += std::string(16, '\0') + m_data + "\xAB\xCD\xEFMaxMind.com";
        out += "\xE9" + text("node_count") + "\xC2" + static_cast<char>(count >> 8) + static_cast<char>(count);
        out += text("record_size") + "\xA1\x18" + text("ip_version") + "\xA1\x04";
        out += text("database_type") + text("Test") + text("languages") + std::string("\x00\x04", 2);
        out += text("binary_format_major_version") + "\xA1\x02" + text("binary_format_minor_version") + "\xA0";
        out += text("build_epoch") + "\x01\x02\x01" + text("description") + "\xE0";
        return out;
    }

private:
    static std::string text(const std::string &value) { return static_cast<char>(0x40 | value.size()) + value; }

    std::vector<std::array<long, 2>> m_nodes = {{-1, -1}};
    std::string m_data;
};

} // namespace cortexfs::test
