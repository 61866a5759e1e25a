#include "common/config/provider_config.h"

#include "common/abi/endpoint.h"
#include "common/abi/names.h"
#include "common/abi/words.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/config/secret_keys.h"
#include "common/json/json.h"

#include <algorithm>
#include <limits>
#include <set>

#include <dirent.h>
#include <fcntl.h>

namespace cortexfs::config {

namespace {

struct KnownHost {
    std::string_view host;
    std::string_view name;
};

// One row a preset file; the last row ends the table even when there are no presets.
constexpr KnownHost kKnownHosts[] = {
#include "common/config/known_hosts.inc"
    {{}, {}},
};

constexpr std::size_t kModelIdBytes = 256;

bool hasControlCharacter(std::string_view text)
{
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

bool isHeaderName(std::string_view name)
{
    static constexpr std::string_view kTokenExtra = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
               || kTokenExtra.find(c) != std::string_view::npos;
    });
}

Result<void> checkProviderName(const std::string &name)
{
    if (Result<void> check = abi::checkObjectName(name); !check)
        return check;
    if (name == "debug" || name == "route" || abi::isModelAlias(name))
        return errors::invalid("reserved: model/" + name + " has another meaning");
    return {};
}

// Reads one provider object; faults are collected so that the user sees all of them at once.
class ProviderReader {
public:
    ProviderReader(json::Value root, const std::vector<std::string> &knownFormats)
        : m_root(root, "", m_faults), m_knownFormats(knownFormats)
    {
        m_members = root.members();
    }

    Result<ProviderConfig> read()
    {
        readIdentity();
        readModels();
        readLimits();
        readCapabilities();
        readFormats();
        readTimeouts();
        readHeaders();
        readOAuth();
        readExtras();
        json::limitFaults(m_config.warnings);
        if (m_faults.empty())
            return std::move(m_config);
        return errors::invalid(json::joinedFaults(m_faults));
    }

private:
    void readIdentity()
    {
        std::string url = m_root.requiredString("base_url");
        m_config.enabled = m_root.boolean("enabled").value_or(true);
        const std::optional<std::string> name = m_root.string("name");
        if (name) {
            m_config.name = *name;
            if (const Result<void> check = checkProviderName(*name); !check)
                m_root.fault("name", check.error().message());
        }
        if (url.empty()) {
            if (m_root.child("base_url").isString())
                m_root.fault("base_url", "empty");
            return;
        }
        const Result<abi::Endpoint> checked = abi::parseEndpoint(url);
        if (!checked) {
            m_root.fault("base_url", checked.error().message());
            return;
        }
        m_config.needsKey = !abi::isLoopbackHost(checked->host);
        while (url.ends_with('/'))
            url.pop_back();
        m_config.baseUrl = url;
        if (name)
            return;
        const Result<std::string> derived = providerNameFor(url);
        if (derived)
            m_config.name = *derived;
        else
            m_root.fault("name", derived.error().message());
    }

    bool checkModelId(const std::string &id, const std::string &pointer)
    {
        if (!id.empty() && id.size() <= kModelIdBytes && !hasControlCharacter(id))
            return true;
        m_faults.push_back(pointer + ": a model id is 1 to 256 bytes without control characters");
        return false;
    }

    void readModels()
    {
        if (const auto id = m_root.string("default_model"); id && checkModelId(*id, "/default_model")) {
            m_config.defaultModel = *id;
            m_config.models.push_back(*id);
        }
        const json::Value list = m_root.child("models");
        if (!list.isMissing() && !list.isArray())
            m_root.fault("models", "not an array");
        std::set<std::string> seen;
        std::size_t index = 0;
        for (const json::Value &element : list.elements()) {
            const std::string pointer = "/models/" + std::to_string(index++);
            if (!element.isString()) {
                m_faults.push_back(pointer + ": not a string");
                continue;
            }
            const std::string id(element.stringOr(""));
            if (!checkModelId(id, pointer))
                continue;
            if (!seen.insert(id).second)
                m_config.warnings.push_back(pointer + ": named twice");
            else if (id != m_config.defaultModel)
                m_config.models.push_back(id);
        }
    }

    bool isDeclared(std::string_view id) const
    {
        return std::find(m_config.models.begin(), m_config.models.end(), id) != m_config.models.end();
    }

    void readLimits()
    {
        for (const json::Member &member : m_root.object("model_limits").members()) {
            const std::string pointer = "/model_limits/" + json::pointerToken(member.key);
            const auto number = member.value.asInt();
            if (!isDeclared(member.key))
                m_faults.push_back(pointer + ": no such model in default_model or models");
            else if (!number || *number < 1 || *number > std::numeric_limits<std::uint32_t>::max())
                m_faults.push_back(pointer + ": not an integer in 1..4294967295");
            else
                m_config.modelLimits[std::string(member.key)] = static_cast<std::uint32_t>(*number);
        }
    }

    void readCapabilities()
    {
        for (const json::Member &member : m_root.object("model_capabilities").members()) {
            const std::string pointer = "/model_capabilities/" + json::pointerToken(member.key);
            if (!isDeclared(member.key)) {
                m_faults.push_back(pointer + ": no such model in default_model or models");
                continue;
            }
            if (!member.value.isArray()) {
                m_faults.push_back(pointer + ": not an array");
                continue;
            }
            std::vector<std::string> words;
            for (const json::Value &element : member.value.elements()) {
                const std::string word(element.stringOr(""));
                if (!abi::isCapability(word))
                    m_faults.push_back(pointer
                                       + ": not a capability of the ABI: " + (word.empty() ? "(no string)" : word));
                else if (std::find(words.begin(), words.end(), word) != words.end())
                    m_faults.push_back(pointer + ": named twice: " + word);
                else
                    words.push_back(word);
            }
            m_config.modelCapabilities[std::string(member.key)] = std::move(words);
        }
    }

    void readFormats()
    {
        const bool given = m_root.has("formats");
        for (const std::string &format : m_root.stringList("formats")) {
            const bool known = std::find(m_knownFormats.begin(), m_knownFormats.end(), format) != m_knownFormats.end();
            const bool twice = std::find(m_config.formats.begin(), m_config.formats.end(), format)
                               != m_config.formats.end();
            // A file made for a newer build still works with the formats this one has.
            if (!known)
                m_config.warnings.push_back("/formats: not known to this build: " + format);
            else if (twice)
                m_root.fault("formats", "named twice: " + format);
            else
                m_config.formats.push_back(format);
        }
        if (given && m_config.formats.empty()) {
            std::string known;
            for (const std::string &format : m_knownFormats)
                known += (known.empty() ? "" : " ") + format;
            m_root.fault("formats", "none of them is known; this build has: " + known);
        }
    }

    void readTimeouts()
    {
        const json::Value value = m_root.object("timeouts");
        if (value.isMissing())
            return;
        constexpr int kMost = 24 * 60 * 60'000;
        json::ObjectReader reader(value, "/timeouts", m_faults);
        const auto read = [&](const char *key, int &target) {
            if (const auto ms = reader.integer(key, 1, kMost))
                target = static_cast<int>(*ms);
        };
        read("connect_ms", m_config.timeouts.connectMs);
        read("first_byte_ms", m_config.timeouts.firstByteMs);
        read("idle_ms", m_config.timeouts.idleMs);
        read("run_ms", m_config.timeouts.runMs);
        for (const std::string &key : reader.unknownKeys())
            m_config.warnings.push_back("/timeouts/" + json::pointerToken(key) + ": unknown key, ignored");
    }

    void readHeaders()
    {
        for (const json::Member &member : m_root.object("headers").members()) {
            const std::string pointer = "/headers/" + json::pointerToken(member.key);
            const auto text = member.value.asString();
            if (!isHeaderName(member.key))
                m_faults.push_back(pointer + ": not a header name");
            else if (looksLikeSecret(member.key))
                m_faults.push_back(pointer + ": a credential; store it with `ctx provider key set`");
            else if (!text || hasControlCharacter(*text))
                m_faults.push_back(pointer + ": not a string without control characters");
            else
                m_config.headers.emplace_back(std::string(member.key), std::string(*text));
        }
    }

    void readOAuth()
    {
        const json::Value value = m_root.object("oauth");
        if (value.isMissing())
            return;
        json::ObjectReader reader(value, "/oauth", m_faults);
        OAuthConfig oauth;
        oauth.clientId = reader.requiredString("client_id");
        oauth.authUrl = reader.requiredString("auth_url");
        oauth.tokenUrl = reader.requiredString("token_url");
        oauth.redirectUri = reader.requiredString("redirect_uri");
        oauth.scopes = reader.stringList("scopes");
        for (const auto &[key, url] : {std::pair{"auth_url", &oauth.authUrl}, std::pair{"token_url", &oauth.tokenUrl},
                                       std::pair{"redirect_uri", &oauth.redirectUri}}) {
            if (url->empty())
                continue;
            if (const Result<abi::Endpoint> checked = abi::parseEndpoint(*url); !checked)
                reader.fault(key, checked.error().message());
        }
        for (const std::string &key : reader.unknownKeys()) {
            if (!looksLikeSecret(key))
                m_config.warnings.push_back("/oauth/" + json::pointerToken(key) + ": unknown key, ignored");
        }
        m_config.oauth = std::move(oauth);
    }

    void readExtras()
    {
        if (const auto proxy = m_root.string("proxy")) {
            m_config.proxyFromEnvironment = *proxy == "env";
            if (*proxy != "env" && *proxy != "none")
                m_root.fault("proxy", "not \"env\" or \"none\"");
        }
        m_root.child("extra"); // kept for the user, never read
        for (const json::Member &member : m_members) {
            rejectSecretKey(member.key, "");
            // Keys that the file chooses freely and that have rules of their own.
            if (member.key != "model_limits" && member.key != "model_capabilities" && member.key != "headers")
                rejectSecrets(member.value, "/" + json::pointerToken(member.key));
        }
        for (const std::string &key : m_root.unknownKeys()) {
            if (!looksLikeSecret(key))
                m_config.warnings.push_back("/" + json::pointerToken(key) + ": unknown key, ignored");
        }
    }

    void rejectSecretKey(std::string_view key, const std::string &pointer)
    {
        if (looksLikeSecret(key)) {
            m_faults.push_back(pointer + "/" + json::pointerToken(key)
                               + ": a provider file holds no credential; store it with `ctx provider key set`");
        }
    }

    // Also below keys that nothing reads: the file is world-readable whatever reads it.
    void rejectSecrets(const json::Value &value, const std::string &pointer)
    {
        for (const json::Member &member : value.members()) {
            rejectSecretKey(member.key, pointer);
            rejectSecrets(member.value, pointer + "/" + json::pointerToken(member.key));
        }
        std::size_t index = 0;
        for (const json::Value &element : value.elements())
            rejectSecrets(element, pointer + "/" + std::to_string(index++));
    }

    std::vector<std::string> m_faults;
    json::ObjectReader m_root;
    std::vector<json::Member> m_members;
    const std::vector<std::string> &m_knownFormats;
    ProviderConfig m_config;
};

std::vector<std::string> jsonFilesOf(DIR *stream)
{
    std::vector<std::string> names;
    while (const dirent *entry = ::readdir(stream)) {
        const std::string_view name(entry->d_name);
        // Hidden files are editors' and our own temporary ones.
        if (name.ends_with(".json") && !name.starts_with('.'))
            names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

Result<std::string> providerNameFor(std::string_view baseUrl)
{
    const Result<abi::Endpoint> endpoint = abi::parseEndpoint(baseUrl);
    if (!endpoint)
        return endpoint.error();
    const std::string &host = endpoint->host;
    if (abi::isLocalhostName(host) || abi::isIpLiteral(host))
        return errors::invalid("missing: an address such as " + host + " is no stable name, so \"name\" must be set");
    for (const KnownHost &known : kKnownHosts) {
        if (!known.host.empty() && known.host == host)
            return std::string(known.name);
    }
    if (const Result<void> check = checkProviderName(host); !check)
        return errors::invalid("missing, and the host cannot be the name: " + check.error().message());
    return host;
}

Result<ProviderConfig> parseProvider(std::string_view text, const std::string &fileName,
                                     const std::vector<std::string> &knownFormats)
{
    if (text.size() > limits::kProviderFile)
        return errors::tooLarge("a provider file has at most 64 KiB");
    const Result<json::Document> document = json::parse(text);
    if (!document)
        return document.error();
    Result<ProviderConfig> config = ProviderReader(document->root(), knownFormats).read();
    if (config)
        config->file = fileName;
    return config;
}

Result<ProviderSet> loadProviders(const std::string &directory, const std::vector<std::string> &knownFormats)
{
    ProviderSet set;
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isValid()) {
        if (errno == ENOENT)
            return set;
        return errors::fromErrno(errno, directory);
    }
    const int copy = ::openat(fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? nullptr : ::fdopendir(copy);
    if (!stream)
        return errors::fromErrno(errno, directory);
    const std::vector<std::string> names = jsonFilesOf(stream);
    ::closedir(stream);

    std::set<std::string> taken;
    for (const std::string &name : names) {
        const Result<std::string> text = files::readRegularAt(fd.get(), name, limits::kProviderFile);
        if (!text) {
            set.invalid.push_back({name, text.error()});
            continue;
        }
        Result<ProviderConfig> config = parseProvider(*text, name, knownFormats);
        if (!config)
            set.invalid.push_back({name, config.error()});
        else if (!taken.insert(config->name).second)
            set.invalid.push_back({name, errors::alreadyExists("another file has the provider " + config->name)});
        else
            set.providers.push_back(std::move(*config));
    }
    std::sort(set.providers.begin(), set.providers.end(),
              [](const ProviderConfig &a, const ProviderConfig &b) { return a.name < b.name; });
    return set;
}

} // namespace cortexfs::config
