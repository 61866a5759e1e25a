#include "tests/wire/fixture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cortexfs::test {

namespace {

json::Document parsed(const std::string &path)
{
    auto document = json::parse(readFixtureFile(path));
    if (!document) {
        std::fprintf(stderr, "%s: %s\n", path.c_str(), document.error().text().c_str());
        std::abort();
    }
    return std::move(*document);
}

std::vector<std::string> linesOf(const std::string &text)
{
    std::vector<std::string> out;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty())
            out.push_back(line);
    }
    return out;
}

} // namespace

std::string fixturePath(const std::string &relative) { return std::string(CORTEXFS_WIRE_FIXTURES) + "/" + relative; }

std::string readFixtureFile(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::abort();
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> fixtureNames(const std::string &folder, const std::string &ending)
{
    std::vector<std::string> out;
    for (const auto &entry : std::filesystem::directory_iterator(fixturePath(folder))) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(ending))
            out.push_back(name.substr(0, name.size() - ending.size()));
    }
    std::sort(out.begin(), out.end());
    return out;
}

Fixture loadFixture(const std::string &folder, const std::string &name)
{
    Fixture fixture;
    fixture.name = folder + "/" + name;
    fixture.meta = parsed(fixturePath(fixture.name + ".meta.json"));
    const json::Value meta = fixture.meta.root();
    fixture.reply.body = readFixtureFile(fixturePath(folder + "/" + std::string(meta["body"].stringOr(""))));
    fixture.reply.status = static_cast<int>(meta["http"]["status"].asInt().value_or(0));
    // The dialects of openai.chat are named for their servers.
    if (const std::string format(meta["format"].stringOr("")); wire::findByFormat(format))
        fixture.reply.format = format;
    fixture.reply.headers.clear();
    for (const json::Member &header : meta["http"]["headers"].members())
        fixture.reply.headers.emplace_back(header.key, header.value.stringOr(""));
    if (const auto now = meta["now_epoch"].asInt())
        fixture.reply.wallMs = *now * 1000;
    for (const json::Value &cut : meta["split"].elements())
        fixture.split.push_back(static_cast<std::size_t>(cut.asInt().value_or(0)));
    fixture.expected = linesOf(readFixtureFile(fixturePath(fixture.name + ".expect.jsonl")));
    return fixture;
}

} // namespace cortexfs::test
