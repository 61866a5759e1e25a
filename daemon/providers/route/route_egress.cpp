#include "daemon/providers/route/route_egress.h"

#include "common/abi/endpoint.h"

#include <algorithm>

namespace cortexfs::providers {

namespace {

// The facts of one request, once they are there.
class GeoView final : public route::GeoData {
public:
    std::shared_ptr<const GeoFacts> facts;

    bool isLoaded() const override { return facts != nullptr; }
    std::optional<bool> siteHolds(std::string_view name, std::string_view host) const override
    {
        return facts->siteHolds(name, host);
    }
    std::optional<bool> countryHolds(std::string_view name, const route::Address &address) const override
    {
        return facts->countryHolds(name, address);
    }
};

Transport transportOf(route::Transport transport)
{
    switch (transport) {
    case route::Transport::Direct: return Transport::Direct;
    case route::Transport::Http: return Transport::Http;
    case route::Transport::Unix: return Transport::Unix;
    }
    return Transport::Direct;
}

Egress egressOf(const route::Decision &decision, const std::string &providerUrl)
{
    const route::Group &group = *decision.group;
    Egress egress;
    egress.transport = transportOf(group.transport);
    egress.baseUrl = group.transport == route::Transport::Direct ? providerUrl : group.baseUrl;
    egress.socketPath = group.socketPath;
    egress.slot = group.needsKey ? group.slot : std::string();
    egress.group = group.name;
    egress.rule = decision.rule;
    egress.line = decision.line;
    return egress;
}

// Names without data, by the line that first needs them.
std::vector<route::Warning> geoWarnings(const route::Table &table, const GeoFacts &facts)
{
    std::vector<route::Warning> warnings;
    const auto warn = [&](route::MatcherKind kind, const std::string &name, const std::string &what) {
        warnings.push_back(
            {route::lineOfGeoName(table, kind, name), "no data for " + what + name + " in <state>/geo: never matches"});
    };
    for (const std::string &name : table.geositeNames()) {
        if (!facts.knowsSite(name))
            warn(route::MatcherKind::Domain, name, "geosite:");
    }
    for (const std::string &name : table.geoipNames()) {
        if (!facts.knowsCountry(name))
            warn(route::MatcherKind::Dip, name, "geoip:");
    }
    if (warnings.empty())
        return warnings;
    for (const GeoFacts::Problem &problem : facts.problems())
        warnings.push_back({0, "<state>/geo/" + problem.file + " is not used: " + problem.error.text()});
    return warnings;
}

} // namespace

struct RouteEgress::Job {
    RouteFile::Table table;
    route::Query query;
    GeoView geo;
    std::optional<route::Evaluation> evaluation;
    std::string providerUrl;
    bool mayLookUp = true;
    std::vector<std::string> warnings;
    std::function<void(Egress)> done;
};

RouteEgress::RouteEgress(std::string routeFile, std::string geoDir, std::unique_ptr<HostLookup> lookup)
    : m_file(std::move(routeFile)), m_lookup(lookup ? std::move(lookup) : std::make_unique<SystemHostLookup>()),
      m_geo(std::move(geoDir))
{}

RouteEgress::~RouteEgress() = default;

Result<RouteEgress::JobPtr> RouteEgress::makeJob(const EgressQuery &query)
{
    Result<RouteFile::Table> table = m_file.table();
    if (!table)
        return table.error();
    const Result<abi::Endpoint> endpoint = abi::parseEndpoint(query.provider.baseUrl);
    if (!endpoint)
        return endpoint.error();
    auto job = std::make_shared<Job>();
    job->table = std::move(*table);
    job->providerUrl = query.provider.baseUrl;
    job->query.host = endpoint->host;
    job->query.provider = query.provider.name;
    job->query.model = query.model.text();
    job->query.nativeModel = query.nativeModel;
    job->query.programNames = query.programNames;
    job->evaluation.emplace(*job->table, job->query, job->geo);
    return job;
}

void RouteEgress::advance(const JobPtr &job)
{
    const std::optional<route::Decision> decision = job->evaluation->run();
    if (decision)
        return job->done(egressOf(*decision, job->providerUrl));
    if (job->evaluation->need() == route::Evaluation::Need::GeoData)
        return loadGeoData(job);
    askForAddresses(job);
}

void RouteEgress::loadGeoData(const JobPtr &job)
{
    m_geo.load(GeoNames::of(*job->table), [this, job](std::shared_ptr<const GeoFacts> facts) {
        job->geo.facts = std::move(facts);
        advance(job);
    });
}

void RouteEgress::askForAddresses(const JobPtr &job)
{
    if (!job->mayLookUp) {
        job->warnings.push_back(job->query.host
                                + " was not resolved, so no dip(...) rule matches; give an address with "
                                  "--ip to see what it would do");
        job->evaluation->setAddresses({});
        return advance(job);
    }
    m_lookup->lookup(job->query.host, [this, job](std::vector<route::Address> addresses) {
        job->evaluation->setAddresses(std::move(addresses));
        advance(job);
    });
}

void RouteEgress::resolve(const EgressQuery &query, Done done)
{
    Result<JobPtr> job = makeJob(query);
    if (!job)
        return done(job.error());
    (*job)->done = std::move(done);
    advance(*job);
}

void RouteEgress::explain(const EgressQuery &query, std::optional<route::Address> address,
                          std::function<void(Result<Explanation>)> done)
{
    Result<JobPtr> made = makeJob(query);
    if (!made)
        return done(made.error());
    const JobPtr job = std::move(*made);
    job->mayLookUp = false;
    if (address)
        job->evaluation->setAddresses({*address});
    // The job holds the function and must not hold itself.
    job->done = [weak = std::weak_ptr<Job>(job), done = std::move(done)](Egress egress) {
        const JobPtr self = weak.lock();
        std::vector<std::string> warnings = self ? self->warnings : std::vector<std::string>();
        if (self && self->geo.facts) {
            for (const route::Warning &warning : geoWarnings(*self->table, *self->geo.facts))
                warnings.push_back((warning.line > 0 ? "line " + std::to_string(warning.line) + ": " : std::string())
                                   + warning.message);
        }
        done(Explanation{std::move(egress), std::move(warnings)});
    };
    advance(job);
}

void RouteEgress::check(const std::optional<std::string> &text, std::function<void(Check)> done)
{
    Check check;
    RouteFile::Table table;
    if (text) {
        Result<route::Table> parsed = route::parseTable(*text);
        if (parsed)
            table = std::make_shared<const route::Table>(std::move(*parsed));
        else
            check.error = parsed.error();
    } else if (Result<RouteFile::Table> stored = m_file.table(); stored) {
        table = std::move(*stored);
    } else {
        check.error = stored.error();
    }
    if (check.error)
        return done(std::move(check));
    check.rules = table->rules.size();
    check.groups = static_cast<std::size_t>(std::count_if(table->groups.begin(), table->groups.end(),
                                                          [](const auto &item) { return item.second.line != 0; }));
    check.warnings = route::checkTable(*table);
    if (table->geositeNames().empty() && table->geoipNames().empty())
        return done(std::move(check));
    m_geo.load({}, [check, table, done = std::move(done)](const std::shared_ptr<const GeoFacts> &facts) mutable {
        const std::vector<route::Warning> more = geoWarnings(*table, *facts);
        check.warnings.insert(check.warnings.end(), more.begin(), more.end());
        std::stable_sort(check.warnings.begin(), check.warnings.end(),
                         [](const auto &left, const auto &right) { return left.line < right.line; });
        done(std::move(check));
    });
}

} // namespace cortexfs::providers
