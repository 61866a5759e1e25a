// Route tables: a text is a table or has a fault with a place in it; a table decides every request, also when no data and
// no address is there, and its warnings name lines that it has.
#include "common/route/evaluation.h"
#include "tests/fuzz/check.h"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace cortexfs;
using fuzz::check;

namespace {

class NoData final : public route::GeoData {
public:
    bool isLoaded() const override { return true; }
    std::optional<bool> siteHolds(std::string_view, std::string_view) const override { return std::nullopt; }
    std::optional<bool> countryHolds(std::string_view, const route::Address &) const override { return std::nullopt; }
};

void checkDecision(const route::Table &table)
{
    route::Query query;
    query.host = "api.example.com";
    query.provider = "example";
    query.model = "example/big_model";
    query.nativeModel = "big/model";
    query.programNames = [] { return std::vector<std::string>{"curl"}; };
    const NoData geo;
    route::Evaluation evaluation(table, query, geo);
    std::optional<route::Decision> decision = evaluation.run();
    if (!decision) {
        check(evaluation.need() == route::Evaluation::Need::Addresses, "data is there, so addresses are missing");
        evaluation.setAddresses({*route::parseAddress("192.0.2.1")});
        decision = evaluation.run();
    }
    check(decision.has_value(), "there is a decision");
    check(decision->group != nullptr, "there is a group");
    check(!decision->rule.empty(), "there is a rule");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view input = fuzz::inputOf(data, size);
    const Result<route::Table> table = route::parseTable(input);
    if (!table) {
        check(table.error().number() == EINVAL || table.error().number() == EMSGSIZE, "a stable errno");
        check(!table.error().message().empty(), "an error says what is wrong");
        const auto position = route::positionOf(table.error());
        check(!position || (position->line > 0 && position->column > 0), "lines and columns begin with 1");
        return 0;
    }
    const auto lines = std::count(input.begin(), input.end(), '\n') + 1;
    for (const route::Warning &warning : route::checkTable(*table))
        check(warning.line > 0 && warning.line <= lines, "a warning is about a line of the table", warning.message);
    checkDecision(*table);
    return 0;
}
