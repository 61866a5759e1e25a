#include "common/route/route_table.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace cortexfs::route {

namespace {

// Whether a rule of this matcher alone holds for every request.
bool holdsAlways(const Matcher &matcher)
{
    if (matcher.isNegated || (matcher.kind != MatcherKind::Provider && matcher.kind != MatcherKind::Model))
        return false;
    return std::any_of(matcher.values.begin(), matcher.values.end(),
                       [](const Value &value) { return value.isPrefix && value.text.empty(); });
}

bool isCatchAll(const Rule &rule) { return std::all_of(rule.matchers.begin(), rule.matchers.end(), holdsAlways); }

// What a rule asks, without its group and without how it is spelled.
std::string conditionOf(const Rule &rule)
{
    std::string text = rule.text.substr(0, rule.text.rfind("->"));
    std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
    return text;
}

void checkRules(const Table &table, std::vector<Warning> &warnings)
{
    int catchAll = 0;
    std::map<std::string, int> seen;
    for (const Rule &rule : table.rules) {
        if (catchAll != 0) {
            warnings.push_back({rule.line, "never reached: line " + std::to_string(catchAll) + " takes every request"});
            continue;
        }
        const auto [earlier, isNew] = seen.emplace(conditionOf(rule), rule.line);
        if (!isNew)
            warnings.push_back(
                {rule.line, "never reached: line " + std::to_string(earlier->second) + " asks the same"});
        if (isCatchAll(rule))
            catchAll = rule.line;
    }
    if (catchAll != 0 && table.fallbackLine != 0)
        warnings.push_back(
            {table.fallbackLine, "never reached: line " + std::to_string(catchAll) + " takes every request"});
}

void checkGroups(const Table &table, std::vector<Warning> &warnings)
{
    std::set<std::string> used = {table.fallback};
    for (const Rule &rule : table.rules)
        used.insert(rule.group);
    for (const auto &[name, group] : table.groups) {
        if (group.line != 0 && !used.contains(name))
            warnings.push_back({group.line, "nothing leads to the group " + name});
    }
}

} // namespace

std::vector<Warning> checkTable(const Table &table)
{
    std::vector<Warning> warnings;
    checkRules(table, warnings);
    checkGroups(table, warnings);
    std::stable_sort(warnings.begin(), warnings.end(),
                     [](const Warning &left, const Warning &right) { return left.line < right.line; });
    return warnings;
}

int lineOfGeoName(const Table &table, MatcherKind kind, std::string_view name)
{
    for (const Rule &rule : table.rules) {
        for (const Matcher &matcher : rule.matchers) {
            for (const Value &value : matcher.values) {
                const bool isGeo = kind == MatcherKind::Dip ? value.isGeo : value.form == DomainForm::Geosite;
                if (matcher.kind == kind && isGeo && value.text == name)
                    return rule.line;
            }
        }
    }
    return 0;
}

std::optional<Position> positionOf(const Error &error)
{
    const auto numberBehind = [&](std::string_view word) {
        const std::size_t at = error.detail().rfind(word);
        return at == std::string::npos ? 0 : std::atoi(error.detail().c_str() + at + word.size());
    };
    const Position position{numberBehind("line "), numberBehind("column ")};
    if (position.line == 0)
        return std::nullopt;
    return position;
}

} // namespace cortexfs::route
