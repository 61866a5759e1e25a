#include "daemon/providers/route/geo_lists.h"

#include <QRegularExpression>

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace cortexfs::providers {

namespace {

using google::protobuf::io::CodedInputStream;

struct Field {
    std::uint32_t number = 0;
    std::uint64_t value = 0; // of a varint
    std::string_view bytes;  // of what has a length
    bool hasBytes = false;
};

// One field of a message, whatever its type. False at a broken one.
bool readField(CodedInputStream &input, std::string_view message, std::uint32_t tag, Field &field)
{
    field = {};
    field.number = tag >> 3;
    switch (tag & 7) {
    case 0: return input.ReadVarint64(&field.value);
    case 1: return input.Skip(8);
    case 5: return input.Skip(4);
    case 2: {
        std::uint32_t size = 0;
        if (!input.ReadVarint32(&size))
            return false;
        const auto at = static_cast<std::size_t>(input.CurrentPosition());
        if (size > message.size() - at)
            return false;
        field.bytes = message.substr(at, size);
        field.hasBytes = true;
        return input.Skip(static_cast<int>(size));
    }
    default: return false;
    }
}

// Calls take(field) for each field. False: the message is broken, or take() said so.
template<typename Take>
bool forEachField(std::string_view message, Take take)
{
    if (message.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        return false;
    CodedInputStream input(reinterpret_cast<const std::uint8_t *>(message.data()), static_cast<int>(message.size()));
    Field field;
    while (const std::uint32_t tag = input.ReadTag()) {
        if (!readField(input, message, tag, field) || field.number == 0 || !take(field))
            return false;
    }
    return input.ConsumedEntireMessage();
}

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::optional<std::string> nameOf(std::string_view entry)
{
    std::string name;
    const bool isRead = forEachField(entry, [&](const Field &field) {
        if (field.number == 1 && field.hasBytes)
            name = lower(field.bytes);
        return true;
    });
    if (!isRead || name.empty())
        return std::nullopt;
    return name;
}

struct Domain {
    std::uint64_t type = 0;
    std::string_view value;
    std::vector<std::string> attributes;
};

bool readDomain(std::string_view message, Domain &domain)
{
    return forEachField(message, [&](const Field &field) {
        if (field.number == 1)
            domain.type = field.value;
        else if (field.number == 2)
            domain.value = field.bytes;
        else if (field.number == 3)
            return forEachField(field.bytes, [&](const Field &part) {
                if (part.number == 1)
                    domain.attributes.push_back(lower(part.bytes));
                return true;
            });
        return true;
    });
}

// `attribute` empty: all of the entry.
bool readSites(std::string_view entry, std::string_view attribute, SiteList &list)
{
    return forEachField(entry, [&](const Field &field) {
        if (field.number != 2)
            return true;
        Domain domain;
        if (!readDomain(field.bytes, domain))
            return false;
        const auto &has = domain.attributes;
        const bool isWanted = attribute.empty() || std::find(has.begin(), has.end(), attribute) != has.end();
        if (isWanted && domain.type <= 3)
            list.add(static_cast<SiteList::Form>(domain.type), domain.value);
        return true;
    });
}

bool readNetwork(std::string_view message, NetworkList &list)
{
    std::string_view address;
    std::uint64_t prefix = 0;
    const bool isRead = forEachField(message, [&](const Field &field) {
        if (field.number == 1)
            address = field.bytes;
        else if (field.number == 2)
            prefix = field.value;
        return true;
    });
    if (!isRead || (address.size() != 4 && address.size() != 16) || prefix > address.size() * 8)
        return false;
    route::Network network;
    if (address.size() == 4) {
        network.address[10] = network.address[11] = 0xff;
        prefix += 96;
    }
    std::memcpy(network.address.data() + 16 - address.size(), address.data(), address.size());
    network.prefix = static_cast<int>(prefix);
    list.add(network);
    return true;
}

bool readNetworks(std::string_view entry, NetworkList &list)
{
    const bool isRead = forEachField(entry, [&](const Field &field) {
        if (field.number == 3)
            list.setInverse(field.value != 0);
        return field.number != 2 || readNetwork(field.bytes, list);
    });
    list.sort();
    return isRead;
}

// Finds the entries by name; `read` fills a list from one.
template<typename List, typename Read>
Result<GeoLists<List>> readLists(std::string_view file, const std::set<std::string> &wanted, Read read)
{
    GeoLists<List> out;
    const bool isRead = !file.empty() && forEachField(file, [&](const Field &field) {
        if (field.number != 1)
            return true;
        const std::optional<std::string> name = field.hasBytes ? nameOf(field.bytes) : std::nullopt;
        if (!name)
            return false;
        out.all.insert(*name);
        // Those with an attribute stand behind the name itself, in order.
        for (auto it = wanted.lower_bound(*name); it != wanted.end() && it->starts_with(*name); ++it) {
            const std::string_view rest = std::string_view(*it).substr(name->size());
            if (!rest.empty() && rest.front() != '@')
                continue;
            if (!read(field.bytes, rest.empty() ? rest : rest.substr(1), out.lists[*it]))
                return false;
        }
        return true;
    });
    if (!isRead)
        return errors::badMessage("not in the format of such a file");
    return out;
}

} // namespace

void SiteList::add(Form form, std::string_view value)
{
    if (value.empty())
        return;
    switch (form) {
    case Form::Keyword: m_keywords.push_back(lower(value)); return;
    case Form::Suffix: m_suffixes.insert(lower(value)); return;
    case Form::Full: m_full.insert(lower(value)); return;
    case Form::Regex: break;
    }
    const auto pattern = std::make_shared<QRegularExpression>(
        QString::fromUtf8(value.data(), static_cast<qsizetype>(value.size())));
    if (pattern->isValid())
        m_patterns.push_back(pattern);
}

bool SiteList::holds(std::string_view host) const
{
    if (m_full.find(host) != m_full.end())
        return true;
    for (std::string_view rest = host; !rest.empty();) {
        if (m_suffixes.find(rest) != m_suffixes.end())
            return true;
        const std::size_t dot = rest.find('.');
        rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    const auto isIn = [&](const std::string &keyword) { return host.find(keyword) != std::string_view::npos; };
    if (std::any_of(m_keywords.begin(), m_keywords.end(), isIn))
        return true;
    const QString text = QString::fromUtf8(host.data(), static_cast<qsizetype>(host.size()));
    return std::any_of(m_patterns.begin(), m_patterns.end(),
                       [&](const auto &pattern) { return pattern->match(text).hasMatch(); });
}

void NetworkList::add(const route::Network &network)
{
    Range range{network.address, network.address};
    for (int bit = network.prefix; bit < 128; ++bit) {
        const auto at = static_cast<std::size_t>(bit / 8);
        const auto mask = static_cast<std::uint8_t>(0x80 >> (bit % 8));
        range.first[at] &= static_cast<std::uint8_t>(~mask);
        range.last[at] |= mask;
    }
    m_ranges.push_back(range);
}

void NetworkList::sort()
{
    std::sort(m_ranges.begin(), m_ranges.end(),
              [](const Range &left, const Range &right) { return left.first < right.first; });
    std::vector<Range> merged;
    for (const Range &range : m_ranges) {
        if (merged.empty() || merged.back().last < range.first)
            merged.push_back(range);
        else if (merged.back().last < range.last)
            merged.back().last = range.last;
    }
    m_ranges = std::move(merged);
}

bool NetworkList::holds(const route::Address &address) const
{
    const auto after = std::upper_bound(m_ranges.begin(), m_ranges.end(), address,
                                        [](const auto &value, const Range &range) { return value < range.first; });
    const bool isIn = after != m_ranges.begin() && !(std::prev(after)->last < address);
    return isIn != m_isInverse;
}

Result<SiteLists> readSiteLists(std::string_view file, const std::set<std::string> &wanted)
{
    return readLists<SiteList>(file, wanted, readSites);
}

Result<NetworkLists> readNetworkLists(std::string_view file, const std::set<std::string> &wanted)
{
    return readLists<NetworkList>(file, wanted,
                                  [](std::string_view entry, std::string_view attribute, NetworkList &list) {
                                      return attribute.empty() ? readNetworks(entry, list) : true;
                                  });
}

} // namespace cortexfs::providers
