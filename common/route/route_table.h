// The route table, /ctx/model/route, as a value (model ABI, "global model routing"; decisions, section 7).
//
//     group(proxy) -> http(http://127.0.0.1:8080/v1), key(office)
//     domain(example.com) && !provider(local) -> proxy
//     fallback: direct
//
// Rules are tried from top to bottom; the first that matches picks a group, and the group says transport, base URL and
// key slot. `direct` and `must_direct` are built in.
#pragma once

#include "common/base/result.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

class QRegularExpression;

namespace cortexfs::route {

enum class Transport { Direct, Http, Unix };
std::string_view transportWord(Transport transport); // direct http unix

struct Group {
    std::string name;
    int line = 0; // 0: built in
    Transport transport = Transport::Direct;
    std::string baseUrl;    // Http: required; Unix: where Host and path come from
    std::string socketPath; // Unix
    std::string slot = "default";
    bool needsKey = true; // false: key(none)
};

enum class MatcherKind { Domain, Dip, Pname, Provider, Model };
std::string_view matcherWord(MatcherKind kind);

enum class DomainForm { Suffix, Full, Keyword, Regex, Geosite };

// An IPv4 network is kept as its IPv4-mapped IPv6 form, so that one comparison serves both.
struct Network {
    std::array<std::uint8_t, 16> address = {};
    int prefix = 128;
};

struct Value {
    std::string text; // Domain: lower case; the name after geosite: or geoip:
    DomainForm form = DomainForm::Suffix;
    std::shared_ptr<const QRegularExpression> pattern; // Regex: compiled once, when the table is read
    bool isPrefix = false;                             // Provider, Model: text without its '*'
    bool isGeo = false;                                // Dip: geoip:NAME
    Network network;                                   // Dip, otherwise
};

struct Matcher {
    MatcherKind kind = MatcherKind::Domain;
    bool isNegated = false;
    std::vector<Value> values; // any of them
};

struct Rule {
    int line = 0;
    std::string text;              // as written, without comment and outer blanks
    std::vector<Matcher> matchers; // all of them
    std::string group;
};

// Something that is allowed and probably not meant.
struct Warning {
    int line = 0;
    std::string message;

    friend bool operator==(const Warning &, const Warning &) = default;
};

struct Table {
    std::map<std::string, Group, std::less<>> groups; // with the built-in ones
    std::vector<Rule> rules;
    std::string fallback = "direct";
    int fallbackLine = 0; // 0: not written

    const Group &group(std::string_view name) const { return groups.find(name)->second; }
    // Sorted names after geosite: and geoip:, without `private`.
    std::vector<std::string> geositeNames() const;
    std::vector<std::string> geoipNames() const;
};

// The table of a missing file: fallback direct.
Table defaultTable();

// EINVAL with "line N, column M" as detail; the first fault decides. EMSGSIZE over limits::kRouteFile.
Result<Table> parseTable(std::string_view text);

// Rules that can never be reached and groups that nothing leads to, by line. Whether there
// is data for geosite: and geoip: names is another question: see Table::geositeNames().
std::vector<Warning> checkTable(const Table &table);
// The line of the first rule that needs this name; 0: none.
int lineOfGeoName(const Table &table, MatcherKind kind, std::string_view name);

struct Position {
    int line = 0;
    int column = 0;
};
// Where parseTable() found the fault, read from the error's detail; nothing for an error without a place.
std::optional<Position> positionOf(const Error &error);

std::optional<Network> parseNetwork(std::string_view text);
// 10/8, 172.16/12, 192.168/16, loopback, link-local, CGNAT, unique local and the like.
bool isPrivateAddress(const std::array<std::uint8_t, 16> &address);
std::optional<std::array<std::uint8_t, 16>> parseAddress(std::string_view text);
bool contains(const Network &network, const std::array<std::uint8_t, 16> &address);

} // namespace cortexfs::route
