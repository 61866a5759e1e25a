#include "common/abi/endpoint.h"
#include "common/abi/names.h"
#include "common/base/limits.h"
#include "common/json/json.h"
#include "common/route/route_table.h"

#include <QRegularExpression>

#include <algorithm>
#include <set>

namespace cortexfs::route {

namespace {

std::string lower(std::string_view text)
{
    std::string out(text);
    for (char &c : out) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

bool isNameChar(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_'
           || c == '-';
}

bool isBlank(char c) { return c == ' ' || c == '\t'; }

// Reads one line. Every take…() leaves the position behind what it took; a fault is thrown as a Fault and becomes the
// Result of parseTable(), the one place that catches.
struct Fault {
    int column;
    std::string reason;
};

class LineReader {
public:
    explicit LineReader(std::string_view text) : m_text(text) {}

    bool isAtEnd()
    {
        skipBlanks();
        return m_at >= m_text.size();
    }
    int column() const { return static_cast<int>(m_at) + 1; }
    [[noreturn]] void fail(const std::string &reason) const { throw Fault{column(), reason}; }

    bool tryTake(std::string_view token)
    {
        skipBlanks();
        if (!m_text.substr(m_at).starts_with(token))
            return false;
        m_at += token.size();
        return true;
    }

    void take(std::string_view token)
    {
        if (!tryTake(token))
            fail("expected " + std::string(token));
    }

    std::string takeName(const char *what)
    {
        skipBlanks();
        const std::size_t start = m_at;
        while (m_at < m_text.size() && isNameChar(m_text[m_at]))
            ++m_at;
        const std::size_t size = m_at - start;
        if (size == 0 || size > limits::kObjectName) {
            m_at = start;
            fail(std::string("expected ") + what + ": 1 to 64 of letters, digits and . _ -");
        }
        return std::string(m_text.substr(start, size));
    }

    struct Argument {
        std::string text;
        int column;
    };
    // The arguments between '(' and its ')': separated by commas, nested parentheses belong to the argument, "..." takes
    // everything up to the next quote.
    std::vector<Argument> takeArguments()
    {
        take("(");
        std::vector<Argument> out;
        for (;;) {
            out.push_back(takeArgument());
            if (tryTake(")"))
                return out;
            take(",");
        }
    }

    std::string_view rest() const { return m_text.substr(m_at); }

private:
    void skipBlanks()
    {
        while (m_at < m_text.size() && isBlank(m_text[m_at]))
            ++m_at;
    }

    Argument takeArgument()
    {
        skipBlanks();
        Argument argument{{}, column()};
        int depth = 0;
        bool quoted = false;
        while (m_at < m_text.size()) {
            const char c = m_text[m_at];
            if (c == '"') {
                quoted = !quoted;
                ++m_at;
                continue;
            }
            if (!quoted) {
                if (depth == 0 && (c == ',' || c == ')'))
                    break;
                depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            }
            argument.text += c;
            ++m_at;
        }
        if (quoted)
            fail("a quotation mark is missing");
        while (!argument.text.empty() && isBlank(argument.text.back()))
            argument.text.pop_back();
        if (argument.text.empty())
            throw Fault{argument.column, "an argument is empty"};
        return argument;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
};

std::optional<MatcherKind> matcherFromWord(std::string_view word)
{
    for (const MatcherKind kind :
         {MatcherKind::Domain, MatcherKind::Dip, MatcherKind::Pname, MatcherKind::Provider, MatcherKind::Model}) {
        if (matcherWord(kind) == word)
            return kind;
    }
    return std::nullopt;
}

Value domainValue(const LineReader::Argument &argument)
{
    struct Form {
        std::string_view prefix;
        DomainForm form;
    };
    static constexpr Form kForms[] = {{"full:", DomainForm::Full},
                                      {"suffix:", DomainForm::Suffix},
                                      {"keyword:", DomainForm::Keyword},
                                      {"regex:", DomainForm::Regex},
                                      {"geosite:", DomainForm::Geosite}};
    Value value;
    std::string_view text = argument.text;
    for (const Form &form : kForms) {
        if (text.starts_with(form.prefix)) {
            value.form = form.form;
            text.remove_prefix(form.prefix.size());
            break;
        }
    }
    value.text = value.form == DomainForm::Regex ? std::string(text) : lower(text);
    while (value.form == DomainForm::Suffix && value.text.starts_with('.'))
        value.text.erase(0, 1);
    if (value.text.empty())
        throw Fault{argument.column, "an empty domain"};
    if (value.form == DomainForm::Regex) {
        const auto expression = std::make_shared<QRegularExpression>(QString::fromStdString(value.text));
        if (!expression->isValid())
            throw Fault{argument.column, "not a regular expression: " + expression->errorString().toStdString()};
        expression->optimize();
        value.pattern = expression;
    } else if (value.text.find_first_of(" \t:/") != std::string::npos) {
        throw Fault{argument.column, "not a domain: " + argument.text};
    }
    return value;
}

Value dipValue(const LineReader::Argument &argument)
{
    Value value;
    if (argument.text.starts_with("geoip:")) {
        value.isGeo = true;
        value.text = lower(std::string_view(argument.text).substr(6));
        if (value.text.empty() || !std::all_of(value.text.begin(), value.text.end(), isNameChar))
            throw Fault{argument.column, "not a geoip name: " + argument.text};
        return value;
    }
    const auto network = parseNetwork(argument.text);
    if (!network)
        throw Fault{argument.column, "not an address, a network (CIDR) or geoip:NAME: " + argument.text};
    value.network = *network;
    value.text = argument.text;
    return value;
}

Value patternValue(const LineReader::Argument &argument)
{
    Value value;
    value.text = argument.text;
    if (value.text.ends_with('*')) {
        value.isPrefix = true;
        value.text.pop_back();
    }
    if (value.text.find('*') != std::string::npos)
        throw Fault{argument.column, "* stands at the end only"};
    return value;
}

Value valueFor(MatcherKind kind, const LineReader::Argument &argument)
{
    switch (kind) {
    case MatcherKind::Domain: return domainValue(argument);
    case MatcherKind::Dip: return dipValue(argument);
    case MatcherKind::Provider:
    case MatcherKind::Model: return patternValue(argument);
    case MatcherKind::Pname: break;
    }
    Value value;
    value.text = argument.text;
    return value;
}

class TableParser {
public:
    TableParser() : m_table(defaultTable()) {}

    Result<Table> parse(std::string_view text)
    {
        int number = 0;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            ++number;
            if (line.ends_with('\r'))
                line.remove_suffix(1);
            try {
                parseLine(withoutComment(line), number);
            } catch (const Fault &fault) {
                return invalidAt(number, fault.column, fault.reason);
            }
        }
        return checkReferences();
    }

private:
    static Error invalidAt(int line, int column, const std::string &reason)
    {
        return errors::invalid(reason).withDetail("line " + std::to_string(line) + ", column "
                                                  + std::to_string(column));
    }

    static std::string_view withoutComment(std::string_view line)
    {
        bool quoted = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '"')
                quoted = !quoted;
            if (line[i] == '#' && !quoted && (i == 0 || isBlank(line[i - 1])))
                return line.substr(0, i);
        }
        return line;
    }

    void parseLine(std::string_view line, int number)
    {
        for (std::size_t i = 0; i < line.size(); ++i) {
            const auto byte = static_cast<unsigned char>(line[i]);
            if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
                throw Fault{static_cast<int>(i) + 1, "a control character"};
        }
        LineReader reader(line);
        if (reader.isAtEnd())
            return;
        LineReader probe = reader;
        const bool isNegated = probe.tryTake("!");
        const std::string word = isNegated ? std::string() : probe.takeName("a rule, group(...) or fallback:");
        if (word == "fallback" && probe.tryTake(":"))
            parseFallback(probe, number);
        else if (word == "group")
            parseGroup(probe, number);
        else
            parseRule(reader, line, number);
    }

    void parseFallback(LineReader &reader, int number)
    {
        if (m_table.fallbackLine != 0)
            reader.fail("fallback stands already in line " + std::to_string(m_table.fallbackLine));
        reader.isAtEnd();
        m_references.push_back({number, reader.column(), {}});
        m_table.fallback = m_references.back().group = reader.takeName("a group");
        m_table.fallbackLine = number;
        requireEnd(reader);
    }

    void parseGroup(LineReader &reader, int number)
    {
        const int column = reader.column();
        const std::vector<LineReader::Argument> names = reader.takeArguments();
        Group group;
        group.line = number;
        group.name = names.front().text;
        if (names.size() != 1 || group.name.size() > limits::kObjectName
            || !std::all_of(group.name.begin(), group.name.end(), isNameChar))
            throw Fault{column, "group(NAME): one name of 1 to 64 letters, digits and . _ -"};
        if (const auto existing = m_table.groups.find(group.name); existing != m_table.groups.end()) {
            throw Fault{column, existing->second.line == 0 ? "the group " + group.name + " is built in"
                                                           : "the group " + group.name + " is defined in line "
                                                                 + std::to_string(existing->second.line)};
        }
        reader.take("->");
        parseTransport(reader, group);
        if (reader.tryTake(","))
            parseKey(reader, group);
        requireEnd(reader);
        m_table.groups.emplace(group.name, group);
    }

    static void requireUrl(const LineReader::Argument &argument)
    {
        if (const Result<abi::Endpoint> endpoint = abi::parseEndpoint(argument.text); !endpoint)
            throw Fault{argument.column, argument.text + ": " + endpoint.error().message()};
    }

    static void parseTransport(LineReader &reader, Group &group)
    {
        reader.isAtEnd();
        const int column = reader.column();
        const std::string word = reader.takeName("direct, http(...) or unix(...)");
        if (word == "direct")
            return;
        if (word != "http" && word != "unix")
            throw Fault{column, "not a transport: " + word};
        const std::vector<LineReader::Argument> arguments = reader.takeArguments();
        if (word == "http") {
            if (arguments.size() != 1)
                throw Fault{column, "http(BASE_URL) takes one argument"};
            requireUrl(arguments.front());
            group.transport = Transport::Http;
            group.baseUrl = arguments.front().text;
            return;
        }
        if (arguments.size() > 2)
            throw Fault{column, "unix(SOCKET_PATH[, BASE_URL]) takes one or two arguments"};
        group.transport = Transport::Unix;
        group.socketPath = arguments.front().text;
        if (!group.socketPath.starts_with('/') || group.socketPath.size() > 107)
            throw Fault{arguments.front().column, "a socket path is absolute and has at most 107 bytes"};
        group.baseUrl = "http://localhost/v1";
        if (arguments.size() == 2) {
            requireUrl(arguments[1]);
            group.baseUrl = arguments[1].text;
        }
    }

    static void parseKey(LineReader &reader, Group &group)
    {
        reader.take("key");
        const std::vector<LineReader::Argument> arguments = reader.takeArguments();
        if (arguments.size() != 1 || !abi::isObjectName(arguments.front().text))
            throw Fault{arguments.front().column, "key(SLOT): one slot name"};
        group.slot = arguments.front().text;
        if (group.slot == "none") {
            group.slot.clear();
            group.needsKey = false;
        }
    }

    void parseRule(LineReader &reader, std::string_view line, int number)
    {
        Rule rule;
        rule.line = number;
        rule.text = std::string(line);
        while (!rule.text.empty() && isBlank(rule.text.front()))
            rule.text.erase(0, 1);
        while (!rule.text.empty() && isBlank(rule.text.back()))
            rule.text.pop_back();
        do {
            Matcher matcher;
            matcher.isNegated = reader.tryTake("!");
            reader.isAtEnd();
            const int column = reader.column();
            const std::string word = reader.takeName("a matcher");
            const auto kind = matcherFromWord(word);
            if (!kind)
                throw Fault{column, "not a matcher: " + word + " (domain, dip, pname, provider, model)"};
            matcher.kind = *kind;
            for (const LineReader::Argument &argument : reader.takeArguments())
                matcher.values.push_back(valueFor(*kind, argument));
            rule.matchers.push_back(std::move(matcher));
        } while (reader.tryTake("&&"));
        reader.take("->");
        reader.isAtEnd();
        m_references.push_back({number, reader.column(), {}});
        rule.group = m_references.back().group = reader.takeName("a group");
        requireEnd(reader);
        m_table.rules.push_back(std::move(rule));
    }

    static void requireEnd(LineReader &reader)
    {
        if (!reader.isAtEnd())
            reader.fail("something follows: " + std::string(reader.rest()));
    }

    // Groups may be defined after they are used.
    Result<Table> checkReferences()
    {
        for (const Reference &reference : m_references) {
            if (m_table.groups.find(reference.group) == m_table.groups.end())
                return invalidAt(reference.line, reference.column, "no such group: " + reference.group);
        }
        return std::move(m_table);
    }

    struct Reference {
        int line;
        int column;
        std::string group;
    };

    Table m_table;
    std::vector<Reference> m_references;
};

std::vector<std::string> geoNames(const Table &table, MatcherKind kind)
{
    std::set<std::string> names;
    for (const Rule &rule : table.rules) {
        for (const Matcher &matcher : rule.matchers) {
            if (matcher.kind != kind)
                continue;
            for (const Value &value : matcher.values) {
                const bool isGeo = kind == MatcherKind::Dip ? value.isGeo && value.text != "private"
                                                            : value.form == DomainForm::Geosite;
                if (isGeo)
                    names.insert(value.text);
            }
        }
    }
    return {names.begin(), names.end()};
}

} // namespace

std::string_view transportWord(Transport transport)
{
    switch (transport) {
    case Transport::Direct: return "direct";
    case Transport::Http: return "http";
    case Transport::Unix: return "unix";
    }
    return "direct";
}

std::string_view matcherWord(MatcherKind kind)
{
    switch (kind) {
    case MatcherKind::Domain: return "domain";
    case MatcherKind::Dip: return "dip";
    case MatcherKind::Pname: return "pname";
    case MatcherKind::Provider: return "provider";
    case MatcherKind::Model: return "model";
    }
    return "domain";
}

std::vector<std::string> Table::geositeNames() const { return geoNames(*this, MatcherKind::Domain); }
std::vector<std::string> Table::geoipNames() const { return geoNames(*this, MatcherKind::Dip); }

Table defaultTable()
{
    Table table;
    for (const char *name : {"direct", "must_direct"}) {
        Group group;
        group.name = name;
        table.groups.emplace(name, group);
    }
    return table;
}

Result<Table> parseTable(std::string_view text)
{
    if (text.size() > limits::kRouteFile)
        return errors::tooLarge("a route table has at most 1 MiB");
    if (!json::isValidUtf8(text))
        return errors::invalid("not valid UTF-8");
    return TableParser().parse(text);
}

} // namespace cortexfs::route
