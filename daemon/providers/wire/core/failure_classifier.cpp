#include "daemon/providers/wire/core/failure_classifier.h"

#include "common/json/json.h"
#include "daemon/providers/wire/core/json_text.h"
#include "daemon/providers/wire/core/redaction.h"
#include "daemon/providers/wire/core/retry_delay.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace cortexfs::wire {

namespace {

// Words of type, code and status that mean: this conversation does not fit.
constexpr std::string_view kTooLongWords[] = {"context_length",    "context_size",    "context_window",
                                              "request_too_large", "too_long",        "max_tokens_exceeded",
                                              "string_above_max",  "context_overflow"};
// The same in the sentences of those that give no word for it.
constexpr std::string_view kTooLongPhrases[] = {"context length",
                                                "context window",
                                                "context size",
                                                "context limit",
                                                "maximum context",
                                                "prompt is too long",
                                                "input is too long",
                                                "prompt too long",
                                                "input too long",
                                                "too many input tokens",
                                                "maximum prompt length",
                                                "reduce the length",
                                                "maximum number of tokens allowed",
                                                "exceeds the limit of",
                                                "longer than the model",
                                                "context overflow",
                                                "max_prompt_tokens",
                                                "n_ctx"};

constexpr std::string_view kQuotaWords[] = {"insufficient_quota",   "billing",         "insufficient_credit",
                                            "insufficient_balance", "quota_exhausted", "payment_required",
                                            "credits_exhausted"};
constexpr std::string_view kQuotaPhrases[] = {"insufficient credit",       "insufficient balance",
                                              "credit balance is too low", "out of credits",
                                              "insufficient quota",        "insufficient_quota"};

struct WordClass {
    std::string_view word;
    int number;
};

// In this order: a word that is contained in several decides by the first.
constexpr WordClass kWordClasses[] = {
    {"rate_limit", EAGAIN},     {"resource_exhausted", EAGAIN},  {"too_many_requests", EAGAIN},
    {"overload", EHOSTDOWN},    {"unavailable", EHOSTDOWN},      {"capacity", EHOSTDOWN},
    {"timeout", ETIMEDOUT},     {"timed_out", ETIMEDOUT},        {"deadline_exceeded", ETIMEDOUT},
    {"authentication", EACCES}, {"unauthenticated", EACCES},     {"unauthorized", EACCES},
    {"permission", EACCES},     {"forbidden", EACCES},           {"api_key", EACCES},
    {"moderation", EACCES},     {"not_found", ENOENT},           {"invalid", EINVAL},
    {"bad_request", EINVAL},    {"failed_precondition", EINVAL}, {"server_error", EHOSTDOWN},
    {"internal", EHOSTDOWN},    {"api_error", EHOSTDOWN},        {"aborted", EHOSTDOWN},
};

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

template<typename List>
bool containsAny(std::string_view text, const List &list)
{
    return std::any_of(std::begin(list), std::end(list),
                       [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

template<typename List>
bool hasWord(const ProviderFault &fault, const List &list)
{
    return std::any_of(fault.words.begin(), fault.words.end(),
                       [&](const std::string &word) { return containsAny(word, list); });
}

// These statuses say enough; "input tokens per minute" in their text is not about the context.
bool isAboutAccessOrRate(int status) { return status == 401 || status == 402 || status == 403 || status == 429; }

bool isTooLong(const ProviderFault &fault, int status)
{
    if (hasWord(fault, kTooLongWords))
        return true;
    return !isAboutAccessOrRate(status) && !hasWord(fault, std::array{std::string_view("rate_limit")})
           && containsAny(lower(fault.message), kTooLongPhrases);
}

bool isQuota(const ProviderFault &fault)
{
    return hasWord(fault, kQuotaWords) || containsAny(lower(fault.message), kQuotaPhrases);
}

int errnoForWords(const ProviderFault &fault)
{
    for (const WordClass &known : kWordClasses) {
        for (const std::string &word : fault.words) {
            if (word.find(known.word) != std::string::npos)
                return known.number;
        }
    }
    return EIO;
}

// `status` 0: the error came inside a stream.
int errnoOf(const ProviderFault &fault, int status)
{
    if (isTooLong(fault, status ? status : fault.number.value_or(0)))
        return EMSGSIZE;
    if (isQuota(fault))
        return EDQUOT;
    if (status)
        return errnoForStatus(status);
    return fault.number ? errnoForStatus(*fault.number) : errnoForWords(fault);
}

std::string messageOf(const ProviderFault &fault, int status)
{
    const std::string said = presentable(trimmed(fault.message));
    const std::string number = status ? "HTTP " + std::to_string(status) : std::string();
    if (said.empty())
        return number.empty() ? "the provider reported an error without a message" : number;
    return number.empty() ? said : said + " (" + number + ")";
}

} // namespace

ReplyFailure failureFor(Error error)
{
    static constexpr std::array kRetryable = {EAGAIN, EHOSTDOWN, ETIMEDOUT, ECONNREFUSED, ECONNRESET};
    const int number = error.number();
    ReplyFailure failure{.error = std::move(error)};
    failure.retryable = std::find(kRetryable.begin(), kRetryable.end(), number) != kRetryable.end();
    failure.mayFallBack = number != EINVAL && number != ECANCELED;
    return failure;
}

int errnoForStatus(int status)
{
    switch (status) {
    case 401:
    case 403:
    case 407:
    case 451: return EACCES;
    case 402: return EDQUOT;
    case 404:
    case 410: return ENOENT;
    case 405:
    case 415:
    case 501: return ENOTSUP;
    case 408:
    case 504:
    case 524: return ETIMEDOUT;
    case 409:
    case 425:
    case 429: return EAGAIN;
    case 413:
    case 414:
    case 431: return EMSGSIZE;
    case 424: return EHOSTDOWN;
    case 499: return ECANCELED;
    default: break;
    }
    if (status >= 500 && status <= 599)
        return EHOSTDOWN;
    if (status >= 300 && status <= 399)
        return ENOTSUP;
    return status >= 400 && status <= 499 ? EINVAL : EBADMSG;
}

ReplyFailure failureOfStatus(int status, const std::vector<Header> &headers, std::string_view body, std::int64_t wallMs)
{
    ProviderFault fault;
    if (const auto document = json::parseLenient(trimmed(body)))
        fault = faultOf(document->root());
    const int number = errnoOf(fault, status);
    std::string message = messageOf(fault, status);
    if (status >= 300 && status <= 399)
        message = "HTTP " + std::to_string(status) + ": redirects are not followed, base_url must be the final one";
    ReplyFailure failure = failureFor(makeError(number, std::move(message)));
    if (const auto wish = headerValue(headers, "x-should-retry"); wish && (*wish == "true" || *wish == "false"))
        failure.retryable = *wish == "true";
    if (number == EAGAIN || number == EHOSTDOWN || number == ETIMEDOUT || number == EDQUOT) {
        failure.retryAfterMs = retryAfter(headers, wallMs);
        if (!failure.retryAfterMs)
            failure.retryAfterMs = fault.retryDelayMs;
        if (!failure.retryAfterMs && number == EAGAIN)
            failure.retryAfterMs = rateLimitReset(headers, wallMs);
    }
    return failure;
}

ReplyFailure failureOfFault(const ProviderFault &fault)
{
    ReplyFailure failure = failureFor(makeError(errnoOf(fault, 0), messageOf(fault, 0)));
    failure.retryAfterMs = fault.retryDelayMs;
    return failure;
}

ReplyFailure failureOfTransport(const Error &error) { return failureFor(error); }

} // namespace cortexfs::wire
