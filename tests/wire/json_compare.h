// Comparing JSON by value: key order and number spelling do not count.
#pragma once

#include "common/json/json.h"

#include <map>
#include <string>

namespace cortexfs::test {

// Values of placeholders "$gen:N" in the expected text: any non-empty string, the same one for the same N, different ones
// for different N.
using Generated = std::map<std::string, std::string>;

// Empty when equal, else the pointer of the first difference and both texts.
std::string difference(const json::Value &expected, const json::Value &actual, Generated *generated = nullptr,
                       const std::string &pointer = {});
std::string difference(std::string_view expected, std::string_view actual);

} // namespace cortexfs::test
