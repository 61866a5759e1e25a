// Site and country lists in the V2Ray formats: geosite.dat (GeoSiteList) and geoip.dat (GeoIPList). Pure; any thread.
//
// The messages, by field number (bytes and strings unless said otherwise):
//     GeoSiteList  1 entry*: GeoSite  1 name, 2 domain*: Domain  1 type (0 keyword, 1 regex, 2 suffix, 3 full),
//                                                                2 value, 3 attribute*: 1 key
//     GeoIPList    1 entry*: GeoIP    1 name, 2 cidr*: 1 address (4 or 16 bytes), 2 prefix length;  3 inverse (bool)
// What else there is, is skipped.
#pragma once

#include "common/base/result.h"
#include "common/route/evaluation.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cortexfs::providers {

// Hosts of a site list.
class SiteList {
public:
    enum class Form { Keyword = 0, Regex = 1, Suffix = 2, Full = 3 };
    // `value` as in the file. A regular expression that is none is left out.
    void add(Form form, std::string_view value);
    bool holds(std::string_view host) const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;
    Names m_suffixes;
    Names m_full;
    std::vector<std::string> m_keywords;
    std::vector<std::shared_ptr<const QRegularExpression>> m_patterns;
};

// Addresses of a country.
class NetworkList {
public:
    void add(const route::Network &network);
    void setInverse(bool inverse) { m_isInverse = inverse; }
    // After the last add() and before the first holds().
    void sort();
    bool holds(const route::Address &address) const;

private:
    struct Range {
        route::Address first;
        route::Address last;
    };
    std::vector<Range> m_ranges;
    bool m_isInverse = false;
};

// `all` are the names in the file, lower case; `lists` those of them that were wanted.
template<typename List>
struct GeoLists {
    std::set<std::string, std::less<>> all;
    std::map<std::string, List, std::less<>> lists;
};
using SiteLists = GeoLists<SiteList>;
using NetworkLists = GeoLists<NetworkList>;

// Wanted names are lower case; "cn@ads" means the entries of "cn" that have the attribute. EBADMSG: not such a file.
Result<SiteLists> readSiteLists(std::string_view file, const std::set<std::string> &wanted);
Result<NetworkLists> readNetworkLists(std::string_view file, const std::set<std::string> &wanted);

} // namespace cortexfs::providers
