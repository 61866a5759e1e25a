#include "common/route/evaluation.h"

#include <QRegularExpression>

#include <algorithm>

namespace cortexfs::route {

namespace {

bool isSuffix(std::string_view host, std::string_view suffix)
{
    if (!host.ends_with(suffix))
        return false;
    return host.size() == suffix.size() || host[host.size() - suffix.size() - 1] == '.';
}

bool matchesPattern(const Value &value, std::string_view text)
{
    return value.isPrefix ? text.starts_with(value.text) : text == value.text;
}

} // namespace

Evaluation::Evaluation(const Table &table, const Query &query, const GeoData &geo)
    : m_table(table), m_query(query), m_geo(geo), m_fullNativeModel(query.provider + "/" + query.nativeModel),
      m_ownModel(std::string_view(query.model).substr(query.model.find('/') + 1))
{
    if (const auto literal = parseAddress(query.host))
        m_addresses = std::vector<Address>{*literal};
}

void Evaluation::setAddresses(std::vector<Address> addresses) { m_addresses = std::move(addresses); }

std::optional<Decision> Evaluation::run()
{
    m_need = Need::Nothing;
    for (; m_rule < m_table.rules.size(); ++m_rule, m_matcher = 0) {
        const Rule &rule = m_table.rules[m_rule];
        bool allMatch = true;
        for (; m_matcher < rule.matchers.size(); ++m_matcher) {
            const Matcher &matcher = rule.matchers[m_matcher];
            const Answer answer = matches(matcher);
            if (answer == Answer::Waiting)
                return std::nullopt;
            if (answer == Answer::Unknown || (answer == Answer::Yes) == matcher.isNegated) {
                allMatch = false;
                break;
            }
        }
        if (allMatch)
            return Decision{rule.line, rule.text, &m_table.group(rule.group)};
    }
    return Decision{m_table.fallbackLine, "fallback: " + m_table.fallback, &m_table.group(m_table.fallback)};
}

Evaluation::Answer Evaluation::matches(const Matcher &matcher)
{
    const auto any = [&](auto predicate) {
        return std::any_of(matcher.values.begin(), matcher.values.end(), predicate) ? Answer::Yes : Answer::No;
    };
    switch (matcher.kind) {
    case MatcherKind::Domain: return matchesDomain(matcher);
    case MatcherKind::Dip: return m_addresses ? matchesDip(matcher) : waitFor(Need::Addresses);
    case MatcherKind::Pname: return matchesProgram(matcher) ? Answer::Yes : Answer::No;
    case MatcherKind::Provider: return any([&](const Value &value) { return matchesPattern(value, m_query.provider); });
    case MatcherKind::Model: return any([&](const Value &value) { return matchesModel(value); });
    }
    return Answer::No;
}

Evaluation::Answer Evaluation::waitFor(Need need)
{
    m_need = need;
    return Answer::Waiting;
}

Evaluation::Answer Evaluation::matchesDomain(const Matcher &matcher)
{
    const std::string &host = m_query.host;
    bool unknown = false;
    for (const Value &value : matcher.values) {
        bool hit = false;
        switch (value.form) {
        case DomainForm::Suffix: hit = isSuffix(host, value.text); break;
        case DomainForm::Full: hit = host == value.text; break;
        case DomainForm::Keyword: hit = host.find(value.text) != std::string::npos; break;
        case DomainForm::Regex: hit = matchesRegex(value); break;
        case DomainForm::Geosite: {
            if (!m_geo.isLoaded())
                return waitFor(Need::GeoData);
            const std::optional<bool> answer = m_geo.siteHolds(value.text, host);
            unknown = unknown || !answer;
            hit = answer.value_or(false);
            break;
        }
        }
        if (hit)
            return Answer::Yes;
    }
    return unknown ? Answer::Unknown : Answer::No;
}

bool Evaluation::matchesRegex(const Value &value)
{
    if (m_host.isNull())
        m_host = QString::fromStdString(m_query.host);
    return value.pattern->match(m_host).hasMatch();
}

// A pattern without a slash means the model's own name, one with a slash the whole provider/model.
bool Evaluation::matchesModel(const Value &value) const
{
    if (matchesPattern(value, m_query.nativeModel))
        return true;
    if (value.text.find('/') != std::string::npos)
        return matchesPattern(value, m_query.model) || matchesPattern(value, m_fullNativeModel);
    return matchesPattern(value, m_ownModel);
}

Evaluation::Answer Evaluation::matchesDip(const Matcher &matcher)
{
    bool unknown = m_addresses->empty();
    for (const Value &value : matcher.values) {
        for (const Address &address : *m_addresses) {
            bool hit = false;
            if (!value.isGeo) {
                hit = contains(value.network, address);
            } else if (value.text == "private") {
                hit = isPrivateAddress(address);
            } else if (!m_geo.isLoaded()) {
                return waitFor(Need::GeoData);
            } else {
                const std::optional<bool> answer = m_geo.countryHolds(value.text, address);
                unknown = unknown || !answer;
                hit = answer.value_or(false);
            }
            if (hit)
                return Answer::Yes;
        }
    }
    return unknown ? Answer::Unknown : Answer::No;
}

bool Evaluation::matchesProgram(const Matcher &matcher)
{
    if (!m_programNames)
        m_programNames = m_query.programNames ? m_query.programNames() : std::vector<std::string>();
    return std::any_of(matcher.values.begin(), matcher.values.end(), [&](const Value &value) {
        return std::find(m_programNames->begin(), m_programNames->end(), value.text) != m_programNames->end();
    });
}

} // namespace cortexfs::route
