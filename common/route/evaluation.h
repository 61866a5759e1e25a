// Asks a route table which way one request goes. Pure and resumable: addresses and geo data come from outside, and only
// when a rule that needs them is reached.
#pragma once

#include "common/route/route_table.h"

#include <QString>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::route {

using Address = std::array<std::uint8_t, 16>;

// Absent data: the answer is nothing, and the rule does not match, negated or not.
class GeoData {
public:
    virtual ~GeoData() = default;
    // False until the files were looked at; an evaluation that reaches a geo rule then stops and asks for it.
    virtual bool isLoaded() const = 0;
    virtual std::optional<bool> siteHolds(std::string_view name, std::string_view host) const = 0;
    virtual std::optional<bool> countryHolds(std::string_view name, const Address &address) const = 0;
};

struct Query {
    std::string host; // of the provider's base URL, lower case
    std::string provider;
    std::string model;       // "P/M" as projected
    std::string nativeModel; // as the provider spells it
    // Names the program goes by; asked when the first pname rule is reached.
    std::function<std::vector<std::string>()> programNames;
};

struct Decision {
    int line = 0;     // 0: nothing matched and no fallback is written
    std::string rule; // the line's text, or "fallback: NAME"
    const Group *group = nullptr;
};

// The table, the query and the geo data outlive the evaluation.
class Evaluation {
public:
    Evaluation(const Table &table, const Query &query, const GeoData &geo);

    enum class Need { Nothing, Addresses, GeoData };

    // Goes on to a decision; nothing when something is needed first, and need() says what. An IP-literal host is its own
    // address and never asks for one.
    std::optional<Decision> run();
    Need need() const { return m_need; }
    // No address: the host does not resolve; no dip rule matches then.
    void setAddresses(std::vector<Address> addresses);

private:
    enum class Answer { Yes, No, Unknown, Waiting };
    Answer matches(const Matcher &matcher);
    Answer matchesDomain(const Matcher &matcher);
    bool matchesRegex(const Value &value);
    bool matchesModel(const Value &value) const;
    Answer matchesDip(const Matcher &matcher);
    Answer waitFor(Need need);
    bool matchesProgram(const Matcher &matcher);

    const Table &m_table;
    const Query &m_query;
    const GeoData &m_geo;
    std::string m_fullNativeModel; // P/native, for model patterns with a slash
    std::string_view m_ownModel;   // the projected name without its provider
    QString m_host;                // for regular expressions; made when the first one is reached
    Need m_need = Need::Nothing;
    std::size_t m_rule = 0;
    std::size_t m_matcher = 0;
    std::optional<std::vector<Address>> m_addresses;
    std::optional<std::vector<std::string>> m_programNames;
};

} // namespace cortexfs::route
