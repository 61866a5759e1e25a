// Prints the mean time, in ms, of asking a table of 10 000 rules of every kind, none of which matches before the last.
#include "common/route/evaluation.h"

#include <chrono>
#include <cstdio>
#include <string>

using namespace cortexfs;

namespace {

class NoData final : public route::GeoData {
public:
    bool isLoaded() const override { return true; }
    std::optional<bool> siteHolds(std::string_view, std::string_view) const override { return std::nullopt; }
    std::optional<bool> countryHolds(std::string_view, const route::Address &) const override { return std::nullopt; }
};

std::string tableText()
{
    std::string text;
    for (int i = 0; i < 10'000 - 1; ++i) {
        const std::string n = std::to_string(i);
        switch (i % 6) {
        case 0: text += "domain(host-" + n + ".example.org, full:x" + n + ".example.com) -> direct\n"; break;
        case 1: text += "dip(10." + std::to_string(i % 256) + ".0.0/16) -> direct\n"; break;
        case 2: text += "pname(program-" + n + ") -> direct\n"; break;
        case 3: text += "provider(provider-" + n + "*) && !model(x*) -> direct\n"; break;
        case 4: text += "model(vendor/model-" + n + "*) -> direct\n"; break;
        default: text += "domain(keyword:word-" + n + ") -> direct\n"; break;
        }
    }
    return text + "provider(example) -> must_direct\n";
}

} // namespace

int main()
{
    const Result<route::Table> table = route::parseTable(tableText());
    if (!table) {
        std::fprintf(stderr, "%s\n", table.error().text().c_str());
        return 1;
    }
    route::Query query;
    query.host = "api.example.com";
    query.provider = "example";
    query.model = "example/big_model";
    query.nativeModel = "big/model";
    query.programNames = [] { return std::vector<std::string>{"curl"}; };
    const NoData geo;
    const std::vector<route::Address> addresses = {*route::parseAddress("192.0.2.1")};
    constexpr int kTimes = 500;
    int hits = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) {
        route::Evaluation evaluation(*table, query, geo);
        evaluation.setAddresses(addresses);
        const auto decision = evaluation.run();
        hits += decision && decision->line == 10'000 ? 1 : 0;
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (hits != kTimes) {
        std::fprintf(stderr, "another rule has matched\n");
        return 1;
    }
    std::printf("%.4f\n", time.count() / kTimes);
    return 0;
}
