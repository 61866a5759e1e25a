#include "daemon/models/candidate.h"

#include "common/abi/control_text.h"
#include "common/base/limits.h"

#include <algorithm>

namespace cortexfs::models {

namespace {

// A model that says what it can do and does not say `stream` is asked for its answer in one piece.
bool streams(const ModelEntry &entry)
{
    const std::vector<std::string> words = abi::linesOf(entry.cap);
    return words.empty() || std::find(words.begin(), words.end(), "stream") != words.end();
}

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

} // namespace

std::vector<Candidate> candidatesFor(std::shared_ptr<const ModelCatalog> catalog, const abi::ModelRef &model)
{
    const ModelEntry *first = catalog->find(model);
    if (!first)
        return {};
    std::vector<Candidate> candidates = {Candidate{catalog, model, first}};
    for (const std::string &line : abi::linesOf(first->fallback)) {
        if (candidates.size() > static_cast<std::size_t>(limits::kFallbacks))
            break;
        const auto ref = abi::parseModelRef(line);
        const auto isSame = [&](const Candidate &candidate) { return candidate.ref == *ref; };
        if (ref && std::none_of(candidates.begin(), candidates.end(), isSame))
            candidates.push_back(Candidate{catalog, *ref, catalog->find(*ref)});
    }
    return candidates;
}

Result<std::vector<const wire::WireFormat *>> formatsFor(const ModelEntry &entry, abi::Purpose purpose)
{
    std::vector<const wire::WireFormat *> formats;
    for (const std::string_view key : {abi::purposeWord(purpose), std::string_view("default")}) {
        for (const std::string &driver : abi::driversFor(entry.driver, key)) {
            const wire::WireFormat *format = wire::findByDriver(driver);
            if (format && std::find(formats.begin(), formats.end(), format) == formats.end())
                formats.push_back(format);
        }
    }
    if (formats.empty())
        return errors::unsupported("no driver of " + entry.ref.text()
                                   + " is part of this build: " + firstLine(entry.driver));
    return formats;
}

wire::EncodeContext encodeContextFor(const ModelEntry &entry, const Conversation &conversation)
{
    wire::EncodeContext context;
    if (entry.provider) {
        context.provider = entry.provider->name;
        context.baseUrl = entry.provider->baseUrl;
    }
    context.nativeModel = entry.nativeId;
    context.effort = conversation.effort.value_or(
        abi::effortFromWord(firstLine(entry.effort)).value_or(abi::Effort::Auto));
    context.stream = streams(entry);
    context.defaults = abi::parseDefaults(entry.defaults);
    context.limit = entry.limit;
    return context;
}

} // namespace cortexfs::models
