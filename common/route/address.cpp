#include "common/route/route_table.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>

namespace cortexfs::route {

namespace {

using Address = std::array<std::uint8_t, 16>;

Address mapped(const in_addr &v4)
{
    Address address = {};
    address[10] = 0xff;
    address[11] = 0xff;
    std::memcpy(address.data() + 12, &v4, 4);
    return address;
}

// Networks that never lead out to the internet (IANA special-purpose registries).
constexpr const char *kPrivateNetworks[] = {
    "0.0.0.0/8",      "10.0.0.0/8",   "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24",   "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",  "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/3",  "::/127",         "fc00::/7",       "fe80::/10",      "ff00::/8",
};

} // namespace

std::optional<Address> parseAddress(std::string_view text)
{
    const std::string copy(text);
    in_addr v4 = {};
    if (::inet_pton(AF_INET, copy.c_str(), &v4) == 1)
        return mapped(v4);
    Address address = {};
    if (::inet_pton(AF_INET6, copy.c_str(), address.data()) == 1)
        return address;
    return std::nullopt;
}

std::optional<Network> parseNetwork(std::string_view text)
{
    const std::size_t slash = text.find('/');
    const auto address = parseAddress(text.substr(0, slash));
    if (!address)
        return std::nullopt;
    const bool isV4 = text.find(':') == std::string_view::npos;
    Network network{*address, 128};
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        int prefix = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
        if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
            return std::nullopt;
        if (prefix < 0 || prefix > (isV4 ? 32 : 128))
            return std::nullopt;
        network.prefix = isV4 ? prefix + 96 : prefix;
    }
    return network;
}

bool contains(const Network &network, const Address &address)
{
    const int whole = network.prefix / 8;
    if (std::memcmp(network.address.data(), address.data(), static_cast<std::size_t>(whole)) != 0)
        return false;
    const int rest = network.prefix % 8;
    if (rest == 0)
        return true;
    const auto at = static_cast<std::size_t>(whole);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
    return (network.address[at] & mask) == (address[at] & mask);
}

bool isPrivateAddress(const Address &address)
{
    static const std::vector<Network> networks = [] {
        std::vector<Network> out;
        for (const char *text : kPrivateNetworks)
            out.push_back(*parseNetwork(text));
        return out;
    }();
    return std::any_of(networks.begin(), networks.end(),
                       [&](const Network &network) { return contains(network, address); });
}

} // namespace cortexfs::route
