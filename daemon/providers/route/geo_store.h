// The data behind geosite: and geoip: names: <state>/geo/geosite.dat, geoip.dat and *.mmdb. Nothing is read before a rule
// needs it; then on a worker thread, and again when a file has changed. Links are followed: the files often belong to
// another package. A file that is not what its name says is reported and counts as absent.
#pragma once

#include "daemon/providers/route/country_database.h"
#include "daemon/providers/route/geo_lists.h"
#include "daemon/providers/route/route_file.h"

#include <QObject>
#include <QThreadPool>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cortexfs::providers {

struct GeoNames {
    std::set<std::string> sites;
    std::set<std::string> countries;

    static GeoNames of(const route::Table &table);
};

// What was read. Immutable, so that a request sees one state of it.
class GeoFacts final : public route::GeoData {
public:
    struct Problem {
        std::string file; // "geosite.dat"
        Error error;
    };

    bool isLoaded() const override { return true; }
    std::optional<bool> siteHolds(std::string_view name, std::string_view host) const override;
    std::optional<bool> countryHolds(std::string_view name, const route::Address &address) const override;

    // Whether there is data for a name, wanted or not.
    bool knowsSite(std::string_view name) const;
    bool knowsCountry(std::string_view name) const;
    const std::vector<Problem> &problems() const { return m_problems; }

private:
    friend class GeoStore;
    using Stamps = std::vector<std::pair<std::string, FileStamp>>;
    static std::shared_ptr<const GeoFacts> read(const std::string &directory, Stamps stamps, GeoNames names);
    void readFile(const std::string &directory, const std::string &name);

    GeoNames m_names;
    Stamps m_stamps;
    SiteLists m_sites;
    NetworkLists m_countries;
    std::vector<std::unique_ptr<CountryDatabase>> m_databases;
    std::vector<Problem> m_problems;
};

class GeoStore final : public QObject {
    Q_OBJECT
public:
    explicit GeoStore(std::string directory, QObject *parent = nullptr);
    ~GeoStore() override;

    using Done = std::function<void(std::shared_ptr<const GeoFacts>)>;
    // Calls `done` with facts that hold the lists of these names: at once when they are in memory and the files are as
    // they were, else later, on the Qt thread. Not at all when the store goes before.
    void load(GeoNames names, Done done);

private:
    struct Waiting {
        GeoNames names;
        Done done;
    };
    GeoFacts::Stamps stamps() const;
    bool isCovered(const GeoNames &names) const;
    void startReading();
    void finishReading(const std::shared_ptr<const GeoFacts> &facts, std::size_t served);

    std::string m_directory;
    std::shared_ptr<const GeoFacts> m_facts;
    std::vector<Waiting> m_waiting;
    bool m_isReading = false;
    QThreadPool m_pool; // last: its jobs end before the rest goes
};

} // namespace cortexfs::providers
