#include "daemon/models/candidate.h"

#include "common/abi/control_text.h"

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
    const ModelEntry *entry = catalog->find(model);
    if (!entry)
        return {};
    return {Candidate{std::move(catalog), entry}};
}

Result<const wire::WireFormat *> formatFor(const ModelEntry &entry, abi::Purpose purpose)
{
    for (const std::string_view key : {abi::purposeWord(purpose), std::string_view("default")}) {
        for (const std::string &driver : abi::driversFor(entry.driver, key)) {
            if (const wire::WireFormat *format = wire::findByDriver(driver))
                return format;
        }
    }
    return errors::unsupported("no driver of " + entry.ref.text()
                               + " is part of this build: " + firstLine(entry.driver));
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
