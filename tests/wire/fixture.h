// Transcripts under tests/wire/fixtures: NN-name.meta.json, the body it names, NN-name.expect.jsonl.
#pragma once

#include "tests/wire/feed.h"

#include "common/json/json.h"

#include <string>
#include <vector>

namespace cortexfs::test {

struct Fixture {
    std::string name; // "openai.chat/01-plain-text"
    Reply reply;
    json::Document meta;
    std::vector<std::size_t> split;
    std::vector<std::string> expected; // lines
};

std::string fixturePath(const std::string &relative);
// The whole file; ends the program when it cannot be read, so that no test passes without its data.
std::string readFixtureFile(const std::string &path);
// Names of the files of a folder that end so, sorted.
std::vector<std::string> fixtureNames(const std::string &folder, const std::string &ending);
Fixture loadFixture(const std::string &folder, const std::string &name);

} // namespace cortexfs::test
