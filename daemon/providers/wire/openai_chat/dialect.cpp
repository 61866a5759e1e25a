#include "daemon/providers/wire/openai_chat/dialect.h"

#include <algorithm>
#include <optional>

namespace cortexfs::wire::openai_chat {

namespace {

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::string hostOf(std::string_view url)
{
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos)
        return {};
    std::string_view rest = url.substr(scheme + 3);
    rest = rest.substr(0, rest.find_first_of("/?#"));
    return lower(rest.substr(0, rest.find(':')));
}

struct KnownServer {
    std::string_view host; // itself or any host below it
    Server server;
};

constexpr KnownServer kHosts[] = {
    {"api.openai.com", Server::OpenAi},    {"openai.azure.com", Server::OpenAi}, {"googleapis.com", Server::Gemini},
    {"openrouter.ai", Server::OpenRouter}, {"deepseek.com", Server::DeepSeek},   {"moonshot.ai", Server::Kimi},
    {"moonshot.cn", Server::Kimi},         {"bigmodel.cn", Server::Glm},         {"z.ai", Server::Glm},
    {"aliyuncs.com", Server::Qwen},
};

constexpr KnownServer kNames[] = {
    {"openai", Server::OpenAi},     {"google", Server::Gemini},
    {"gemini", Server::Gemini},     {"openrouter", Server::OpenRouter},
    {"deepseek", Server::DeepSeek}, {"moonshot", Server::Kimi},
    {"kimi", Server::Kimi},         {"zhipu", Server::Glm},
    {"zai", Server::Glm},           {"dashscope", Server::Qwen},
};

bool isHostOrBelow(std::string_view host, std::string_view known)
{
    if (!host.ends_with(known))
        return false;
    return host.size() == known.size() || host[host.size() - known.size() - 1] == '.';
}

Server serverFor(const EncodeContext &context)
{
    const std::string host = hostOf(context.baseUrl);
    for (const KnownServer &known : kHosts) {
        if (isHostOrBelow(host, known.host))
            return known.server;
    }
    const std::string name = lower(context.provider);
    for (const KnownServer &known : kNames) {
        if (name == known.host)
            return known.server;
    }
    return Server::Generic;
}

// o1, o3-mini, gpt-5, gpt-5.6-sol, gpt-10, codex-...; not gpt-4o, gpt-oss, olmo.
bool isReasoningModel(std::string_view model)
{
    const auto digit = [&](std::size_t i) { return i < model.size() && model[i] >= '0' && model[i] <= '9'; };
    if (model.starts_with('o') && digit(1))
        return model.size() == 2 || model[2] == '-';
    if (model.starts_with("codex-"))
        return true;
    if (!model.starts_with("gpt-") || !digit(4))
        return false;
    return model[4] >= '5' || digit(5);
}

} // namespace

std::string plainModelName(std::string_view nativeModel)
{
    const std::size_t slash = nativeModel.rfind('/');
    return lower(slash == std::string_view::npos ? nativeModel : nativeModel.substr(slash + 1));
}

Dialect dialectFor(const EncodeContext &context)
{
    Dialect dialect;
    dialect.server = serverFor(context);
    dialect.isReasoningModel = isReasoningModel(plainModelName(context.nativeModel));
    dialect.usesMaxCompletionTokens = dialect.server == Server::OpenAi || dialect.isReasoningModel;
    dialect.takesJsonSchema = dialect.server != Server::DeepSeek;
    return dialect;
}

} // namespace cortexfs::wire::openai_chat
