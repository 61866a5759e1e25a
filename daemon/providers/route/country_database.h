// A MaxMind database (*.mmdb) that tells the country of an address.
#pragma once

#include "common/base/result.h"
#include "common/route/evaluation.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::providers {

class CountryDatabase {
public:
    // Works on a copy in memory: the library maps the file, and a mapped file that somebody cuts short would kill us.
    // EBADMSG: no such database.
    static Result<std::unique_ptr<CountryDatabase>> open(std::string_view file);
    ~CountryDatabase();

    // The ISO code in lower case; nothing when the address is not in it. Thread-safe.
    std::optional<std::string> countryOf(const route::Address &address) const;

private:
    struct Handle;
    explicit CountryDatabase(std::unique_ptr<Handle> handle);
    std::unique_ptr<Handle> m_handle;
};

} // namespace cortexfs::providers
