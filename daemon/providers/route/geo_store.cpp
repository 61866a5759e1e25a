#include "daemon/providers/route/geo_store.h"

#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/unique_fd.h"

#include <algorithm>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::providers {

namespace {

constexpr std::string_view kSiteFile = "geosite.dat";
constexpr std::string_view kCountryFile = "geoip.dat";
constexpr std::string_view kDatabaseSuffix = ".mmdb";
// The largest that are published have 100 MiB.
constexpr std::size_t kGeoFile = 256 * limits::kMiB;

bool isGeoFile(std::string_view name)
{
    return name == kSiteFile || name == kCountryFile
           || (name.ends_with(kDatabaseSuffix) && name.size() > kDatabaseSuffix.size() && name.front() != '.');
}

Result<std::string> readWhole(const std::string &path)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.isValid())
        return errors::fromErrno(errno, path);
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0)
        return errors::fromErrno(errno, path);
    if (!S_ISREG(info.st_mode))
        return errors::invalid("not a regular file");
    if (static_cast<std::size_t>(info.st_size) > kGeoFile)
        return errors::tooLarge("more than 256 MiB");
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errors::fromErrno(errno, path);
        if (count == 0)
            break;
        size += static_cast<std::size_t>(count);
    }
    text.resize(size);
    return text;
}

bool isCountryCode(std::string_view name) { return name.size() == 2; }

} // namespace

GeoNames GeoNames::of(const route::Table &table)
{
    const std::vector<std::string> sites = table.geositeNames();
    const std::vector<std::string> countries = table.geoipNames();
    return {{sites.begin(), sites.end()}, {countries.begin(), countries.end()}};
}

std::shared_ptr<const GeoFacts> GeoFacts::read(const std::string &directory, Stamps stamps, GeoNames names)
{
    const auto facts = std::make_shared<GeoFacts>();
    facts->m_stamps = std::move(stamps);
    facts->m_names = std::move(names);
    for (const auto &[name, stamp] : facts->m_stamps)
        facts->readFile(directory, name);
    return facts;
}

void GeoFacts::readFile(const std::string &directory, const std::string &name)
{
    const auto note = [&](const Error &error) {
        qCWarning(lcProvider, "%s/%s is not used: %s", directory.c_str(), name.c_str(), error.text().c_str());
        m_problems.push_back({name, error});
    };
    const Result<std::string> text = readWhole(directory + "/" + name);
    if (!text)
        return note(text.error());
    if (name == kSiteFile) {
        if (Result<SiteLists> lists = readSiteLists(*text, m_names.sites); lists)
            m_sites = std::move(*lists);
        else
            note(lists.error());
    } else if (name == kCountryFile) {
        if (Result<NetworkLists> lists = readNetworkLists(*text, m_names.countries); lists)
            m_countries = std::move(*lists);
        else
            note(lists.error());
    } else if (Result<std::unique_ptr<CountryDatabase>> database = CountryDatabase::open(*text); database) {
        m_databases.push_back(std::move(*database));
    } else {
        note(database.error());
    }
}

std::optional<bool> GeoFacts::siteHolds(std::string_view name, std::string_view host) const
{
    const auto list = m_sites.lists.find(name);
    if (list == m_sites.lists.end())
        return std::nullopt;
    return list->second.holds(host);
}

std::optional<bool> GeoFacts::countryHolds(std::string_view name, const route::Address &address) const
{
    const auto list = m_countries.lists.find(name);
    if (list != m_countries.lists.end() && list->second.holds(address))
        return true;
    const bool isThere = std::any_of(m_databases.begin(), m_databases.end(),
                                     [&](const auto &database) { return database->countryOf(address) == name; });
    if (isThere)
        return true;
    // A database cannot be asked which names it knows; two letters are a country, and of that it has said no.
    if (list != m_countries.lists.end() || (!m_databases.empty() && isCountryCode(name)))
        return false;
    return std::nullopt;
}

bool GeoFacts::knowsSite(std::string_view name) const { return m_sites.all.contains(name.substr(0, name.find('@'))); }

bool GeoFacts::knowsCountry(std::string_view name) const
{
    return m_countries.all.contains(name) || (!m_databases.empty() && isCountryCode(name));
}

GeoStore::GeoStore(std::string directory, QObject *parent) : QObject(parent), m_directory(std::move(directory))
{
    m_pool.setMaxThreadCount(1);
    m_pool.setExpiryTimeout(1000);
}

GeoStore::~GeoStore() { m_pool.waitForDone(); }

GeoFacts::Stamps GeoStore::stamps() const
{
    GeoFacts::Stamps out;
    DIR *stream = ::opendir(m_directory.c_str());
    if (!stream)
        return out;
    while (const dirent *entry = ::readdir(stream)) {
        struct stat info = {};
        if (isGeoFile(entry->d_name) && ::fstatat(::dirfd(stream), entry->d_name, &info, 0) == 0)
            out.emplace_back(entry->d_name, stampOf(info));
    }
    ::closedir(stream);
    std::sort(out.begin(), out.end(), [](const auto &left, const auto &right) { return left.first < right.first; });
    return out;
}

bool GeoStore::isCovered(const GeoNames &names) const
{
    const auto holds = [](const std::set<std::string> &all, const std::set<std::string> &some) {
        return std::includes(all.begin(), all.end(), some.begin(), some.end());
    };
    return holds(m_facts->m_names.sites, names.sites) && holds(m_facts->m_names.countries, names.countries);
}

void GeoStore::load(GeoNames names, Done done)
{
    if (m_facts && isCovered(names) && m_facts->m_stamps == stamps())
        return done(m_facts);
    m_waiting.push_back({std::move(names), std::move(done)});
    if (!m_isReading)
        startReading();
}

void GeoStore::startReading()
{
    m_isReading = true;
    GeoNames names;
    for (const Waiting &waiting : m_waiting) {
        names.sites.insert(waiting.names.sites.begin(), waiting.names.sites.end());
        names.countries.insert(waiting.names.countries.begin(), waiting.names.countries.end());
    }
    // Who wants no list (a check) does not throw away those of the runs.
    if (m_facts && names.sites.empty() && names.countries.empty())
        names = m_facts->m_names;
    m_pool.start([this, served = m_waiting.size(), directory = m_directory, stamps = stamps(), names] {
        const std::shared_ptr<const GeoFacts> facts = GeoFacts::read(directory, stamps, names);
        QMetaObject::invokeMethod(
            this, [this, facts, served] { finishReading(facts, served); }, Qt::QueuedConnection);
    });
}

void GeoStore::finishReading(const std::shared_ptr<const GeoFacts> &facts, std::size_t served)
{
    m_facts = facts;
    m_isReading = false;
    const auto end = m_waiting.begin() + static_cast<std::ptrdiff_t>(served);
    const std::vector<Waiting> ready(std::make_move_iterator(m_waiting.begin()), std::make_move_iterator(end));
    m_waiting.erase(m_waiting.begin(), end);
    if (!m_waiting.empty())
        startReading();
    for (const Waiting &waiting : ready)
        waiting.done(facts);
}

} // namespace cortexfs::providers
