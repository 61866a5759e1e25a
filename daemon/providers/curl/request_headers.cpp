#include "daemon/providers/curl/request_headers.h"

#include <algorithm>
#include <string>
#include <vector>

#include <cstring>

namespace cortexfs::providers {

namespace {

bool sameName(std::string_view a, std::string_view b)
{
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// libcurl takes "Name:" as the wish to send no such header, and "Name;" for one without a value.
SecretString lineFor(std::string_view name, std::string_view prefix, std::string_view value)
{
    std::string line(name);
    const bool isBlank = prefix.find_first_not_of(" \t") == std::string_view::npos
                         && value.find_first_not_of(" \t") == std::string_view::npos;
    if (isBlank)
        return SecretString(line + ";");
    line.reserve(name.size() + 2 + prefix.size() + value.size());
    line += ": ";
    line += prefix;
    line += value;
    return SecretString(std::move(line));
}

class ListBuilder {
public:
    void add(const char *line)
    {
        curl_slist *longer = curl_slist_append(m_list.get(), line);
        if (!longer) {
            m_isWhole = false;
            return;
        }
        static_cast<void>(m_list.release());
        m_list.reset(longer);
    }
    HeaderList take() { return m_isWhole ? std::move(m_list) : HeaderList(); }

private:
    HeaderList m_list;
    bool m_isWhole = true;
};

} // namespace

void HeaderListDeleter::operator()(curl_slist *list) const
{
    for (curl_slist *line = list; line; line = line->next)
        ::explicit_bzero(line->data, std::strlen(line->data));
    curl_slist_free_all(list);
}

HeaderList headerListFor(const HttpRequest &request)
{
    std::vector<HttpHeader> headers = {{"User-Agent", "cortexfs/" CORTEXFS_VERSION}};
    const auto drop = [&](std::string_view name) {
        std::erase_if(headers, [&](const HttpHeader &header) { return sameName(header.first, name); });
    };
    for (const HttpHeader &header : request.headers) {
        drop(header.first);
        headers.push_back(header);
    }
    if (request.credential)
        drop(request.credential->headerName);

    ListBuilder list;
    // libcurl waits a second for permission to send a large body, and calls every body a form.
    list.add("Expect:");
    const auto isGiven = [&](std::string_view name) {
        return std::any_of(headers.begin(), headers.end(),
                           [&](const HttpHeader &header) { return sameName(header.first, name); });
    };
    if (!isGiven("Content-Type"))
        list.add("Content-Type:");
    for (const auto &[name, value] : headers)
        list.add(std::string(lineFor(name, {}, value).reveal()).c_str());
    if (request.credential) {
        const HttpCredential &credential = *request.credential;
        list.add(lineFor(credential.headerName, credential.prefix, credential.value.reveal()).reveal().data());
    }
    return list.take();
}

} // namespace cortexfs::providers
