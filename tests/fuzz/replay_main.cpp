// Runs a fuzz target over the files of its corpus: each as it is, cut short at many places, and with single bytes changed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

constexpr std::size_t kVariants = 64;

std::string readFile(const std::filesystem::path &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void run(const std::string &input)
{
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(input.data()), input.size());
}

void runVariants(const std::string &input)
{
    run(input);
    const std::size_t step = std::max<std::size_t>(1, input.size() / kVariants);
    for (std::size_t at = 0; at < input.size(); at += step) {
        run(input.substr(0, at));
        std::string changed = input;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        run(changed);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            files.emplace_back(argv[i]);
            continue;
        }
        for (const auto &entry : std::filesystem::directory_iterator(argv[i]))
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) {
        std::fprintf(stderr, "no corpus: give files or a folder of them\n");
        return 1;
    }
    for (const auto &file : files) {
        // Named before it runs, so that an abort says what it was.
        std::printf("%s\n", file.filename().c_str());
        std::fflush(stdout);
        runVariants(readFile(file));
    }
    std::printf("%zu inputs\n", files.size());
    return 0;
}
