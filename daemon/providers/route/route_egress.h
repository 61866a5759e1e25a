// The route table asked for every model request. Lives on the Qt thread; what takes time (geo files, name resolution)
// happens elsewhere, and only when a rule that needs it is reached.
#pragma once

#include "daemon/providers/core/egress.h"
#include "daemon/providers/route/geo_store.h"
#include "daemon/providers/route/host_lookup.h"
#include "daemon/providers/route/route_file.h"

#include <QObject>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs::providers {

class RouteEgress final : public QObject, public EgressResolver {
    Q_OBJECT
public:
    // `lookup`: null for the system's resolver.
    RouteEgress(std::string routeFile, std::string geoDir, std::unique_ptr<HostLookup> lookup = nullptr);
    ~RouteEgress() override;

    // `done` is not called when this goes before.
    void resolve(const EgressQuery &query, Done done) override;

    struct Explanation {
        Egress egress;
        std::vector<std::string> warnings;
    };
    // As resolve(), but asks no resolver: `address` stands for the host's addresses; without one no dip rule matches a
    // host that is no address, and a warning says so.
    void explain(const EgressQuery &query, std::optional<route::Address> address,
                 std::function<void(Result<Explanation>)> done);

    struct Check {
        std::optional<Error> error; // the table is not valid or cannot be read; nothing else is known then
        std::size_t rules = 0;
        std::size_t groups = 0; // without the built-in ones
        std::vector<route::Warning> warnings;
    };
    // A text, or the stored table. Also whether there is data for the geo names.
    void check(const std::optional<std::string> &text, std::function<void(Check)> done);

private:
    struct Job;
    using JobPtr = std::shared_ptr<Job>;
    Result<JobPtr> makeJob(const EgressQuery &query);
    void advance(const JobPtr &job);
    void loadGeoData(const JobPtr &job);
    void askForAddresses(const JobPtr &job);

    RouteFile m_file;
    std::unique_ptr<HostLookup> m_lookup;
    GeoStore m_geo;
};

} // namespace cortexfs::providers
