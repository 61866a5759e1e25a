#include "daemon/providers/route/country_database.h"

#include "common/base/files.h"
#include "common/base/unique_fd.h"

#include <algorithm>
#include <cstring>

#include <maxminddb.h>
#include <netinet/in.h>
#include <sys/mman.h>

namespace cortexfs::providers {

struct CountryDatabase::Handle {
    MMDB_s database = {};
    Handle() = default;
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { MMDB_close(&database); }
};

CountryDatabase::CountryDatabase(std::unique_ptr<Handle> handle) : m_handle(std::move(handle)) {}
CountryDatabase::~CountryDatabase() = default;

Result<std::unique_ptr<CountryDatabase>> CountryDatabase::open(std::string_view file)
{
    const UniqueFd copy(::memfd_create("countries", MFD_CLOEXEC));
    if (!copy.isValid())
        return errors::fromErrno(errno, "memfd_create");
    if (const Result<void> written = files::writeAll(copy.get(), file); !written)
        return written.error();
    auto handle = std::make_unique<Handle>();
    const std::string path = "/proc/self/fd/" + std::to_string(copy.get());
    const int status = MMDB_open(path.c_str(), MMDB_MODE_MMAP, &handle->database);
    if (status != MMDB_SUCCESS) {
        handle->database = {};
        return errors::badMessage(std::string("not a MaxMind database: ") + MMDB_strerror(status));
    }
    return std::unique_ptr<CountryDatabase>(new CountryDatabase(std::move(handle)));
}

std::optional<std::string> CountryDatabase::countryOf(const route::Address &address) const
{
    sockaddr_storage storage = {};
    const bool isV4 = std::all_of(address.begin(), address.begin() + 10, [](auto byte) { return byte == 0; })
                      && address[10] == 0xff && address[11] == 0xff;
    if (isV4) {
        auto *v4 = reinterpret_cast<sockaddr_in *>(&storage);
        v4->sin_family = AF_INET;
        std::memcpy(&v4->sin_addr, address.data() + 12, 4);
    } else {
        auto *v6 = reinterpret_cast<sockaddr_in6 *>(&storage);
        v6->sin6_family = AF_INET6;
        std::memcpy(&v6->sin6_addr, address.data(), 16);
    }
    int status = MMDB_SUCCESS;
    MMDB_lookup_result_s found = MMDB_lookup_sockaddr(&m_handle->database, reinterpret_cast<sockaddr *>(&storage),
                                                      &status);
    if (status != MMDB_SUCCESS || !found.found_entry)
        return std::nullopt;
    MMDB_entry_data_s data = {};
    if (MMDB_get_value(&found.entry, &data, "country", "iso_code", nullptr) != MMDB_SUCCESS || !data.has_data
        || data.type != MMDB_DATA_TYPE_UTF8_STRING)
        return std::nullopt;
    std::string code(data.utf8_string, data.data_size);
    for (char &c : code)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return code;
}

} // namespace cortexfs::providers
