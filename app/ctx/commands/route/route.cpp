#include "app/ctx/commands/route/route.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"

namespace cortexfs::ctx::route_command {

std::string faultText(const std::string &file, const json::Value &error)
{
    std::string text = file;
    for (const char *key : {"line", "column"}) {
        if (const auto number = error[key].asInt().value_or(0); number > 0)
            text += ":" + std::to_string(number);
    }
    return text + ": " + std::string(error["message"].stringOr("not valid"));
}

Result<StoredTable> storedTable(const Invocation &invocation)
{
    const Result<json::Document> reply = invocation.session().ask("route.get");
    if (!reply)
        return reply.error();
    const json::Value facts = reply->root();
    return StoredTable{std::string(facts["text"].stringOr("")), std::string(facts["etag"].stringOr("")),
                       facts["exists"].asBool().value_or(false)};
}

const Command &command()
{
    static const Command made = {
        .name = "route",
        .group = Group::Configure,
        .summary = "which way model requests go: the route table",
        .description =
            "The table has one rule a line, tried from top to bottom; the first that matches picks a group, and the "
            "group says over what (direct, an HTTP proxy, a unix socket) and with which key a request goes. Without a "
            "table everything goes direct, with the key in the slot default.\n\n"
            "    group(office) -> http(http://127.0.0.1:8080/v1), key(office)\n"
            "    domain(example.com) && !pname(curl) -> office\n"
            "    model(embedding-*) -> direct\n"
            "    fallback: office\n\n"
            "Matchers: domain(a.com, full:a.com, keyword:a, regex:^a, geosite:NAME), dip(10.0.0.0/8, geoip:NAME), "
            "pname(PROGRAM), provider(NAME*), model(NAME*). A list means any of them, && all of them, ! not. "
            "Groups: -> direct, -> http(BASE_URL) or -> unix(SOCKET[, BASE_URL]), then perhaps key(SLOT) or key(none).",
        .examples = {{"ctx route edit", "Change the table; it is checked before it counts."},
                     {"ctx route explain main", "Which rule does a call of main meet?"},
                     {"ctx route check my-routes", "Is this file a table?"}},
        .files = {kRouteNote,
                  {"<state>/geo/", "geosite.dat, geoip.dat, *.mmdb: the data behind geosite: and geoip: names"}},
        .subcommands = {showCommand(), checkCommand(), editCommand(), explainCommand()},
    };
    return made;
}

} // namespace cortexfs::ctx::route_command
