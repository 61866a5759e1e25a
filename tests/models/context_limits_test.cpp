// The catalogue of context limits and its cache, against the oddities of the real ones.
#include "common/base/limits.h"
#include "common/json/json.h"
#include "daemon/models/context_limits.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using models::ContextLimits;
using test::TempDir;

namespace {

std::string fixture(const std::string &name)
{
    std::ifstream in(std::string(CORTEXFS_TEST_DATA) + "/models/fixtures/models.dev/" + name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string cacheOf(const std::string &models)
{
    return "{\"schema\":\"cortexfs.model-limits/v1\",\"models\":" + models + "}";
}

} // namespace

class ContextLimitsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void lookUps()
    {
        const auto limits = ContextLimits::fromCatalogue(fixture("api.json"));
        QVERIFY(limits.isOk());
        const auto expected = json::parse(fixture("lookups.json"));
        QVERIFY(expected.isOk());
        QVERIFY(expected->root()["lookups"].size() > 10);
        for (const json::Value &look : expected->root()["lookups"].elements()) {
            const auto found = limits->find(look["provider"].stringOr(""), look["model"].stringOr(""));
            QCOMPARE(found ? std::int64_t(*found) : 0, look["expect"]["context"].asInt().value_or(0));
        }
        // What is written is what is read again.
        const auto again = ContextLimits::fromCache(limits->cacheText());
        QVERIFY(again.isOk());
        QCOMPARE(again->size(), limits->size());
        QCOMPARE(again->cacheText(), limits->cacheText());
    }

    void catalogues_data()
    {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<std::string>("outcome"); // the cache's models, or an errno
        const auto row = [](const char *name, std::string text, std::string outcome) {
            QTest::newRow(name) << std::move(text) << std::move(outcome);
        };
        const auto model = [](const std::string &name, const std::string &limit) {
            return "{\"p\":{\"models\":{\"good\":{\"limit\":{\"context\":1}},\"" + name
                   + "\":{\"limit\":{\"context\":" + limit + "}}}}}";
        };
        row("the largest number", model("m", "4294967295"), "{\"p/good\":1,\"p/m\":4294967295}");
        row("one too large", model("m", "4294967296"), "{\"p/good\":1}");
        row("negative", model("m", "-5"), "{\"p/good\":1}");
        row("a fraction", model("m", "1.5"), "{\"p/good\":1}");
        row("a whole number written as another", model("m", "2.0"), "{\"p/good\":1,\"p/m\":2}");
        row("an id with a line end", model("m\\n", "5"), "{\"p/good\":1}");
        row("an id with a control character", model("m\\u0001", "5"), "{\"p/good\":1}");
        row("an id of every odd kind", model("@cf/a:b", "5"), "{\"p/@cf/a:b\":5,\"p/good\":1}");
        row("an id without end", model(std::string(2000, 'm'), "5"), "{\"p/good\":1}");
        row("a provider that is no name",
            "{\"a/"
            "b\":{\"models\":{\"m\":{\"limit\":{\"context\":5}}}},\"p\":{\"models\":{\"m\":{\"limit\":{\"context\":6}}}"
            "}}",
            "{\"p/m\":6}");
        row("new keys everywhere",
            "{\"$v\":2,\"p\":{\"x\":[],\"models\":{\"m\":{\"limit\":{\"context\":6,\"new\":{}},\"y\":null}}}}",
            "{\"p/m\":6}");
        row("an empty object", "{}", "EBADMSG");
        row("nothing usable", "{\"p\":{\"models\":{\"m\":{\"limit\":{\"context\":0}}}}}", "EBADMSG");
        row("an array", fixture("cache-array.json"), "EBADMSG");
        row("empty", fixture("cache-empty.json"), "EBADMSG");
        row("HTML", fixture("cache-html.json"), "EBADMSG");
        row("truncated", fixture("cache-truncated.json"), "EBADMSG");
        row("too large", "{\"x\":\"" + std::string(limits::kLimitsBytes, 'x') + "\"}", "EMSGSIZE");
        std::string many = "{\"p\":{\"models\":{\"m\":{}";
        for (std::size_t i = 0; i < limits::kLimitsEntries; ++i)
            many += ",\"m" + std::to_string(i) + "\":{\"limit\":{\"context\":1}}";
        row("too many", many + "}}}", "EMSGSIZE");
    }
    void catalogues()
    {
        QFETCH(std::string, text);
        QFETCH(std::string, outcome);
        const auto limits = ContextLimits::fromCatalogue(text);
        if (!limits) {
            QCOMPARE(std::string(limits.error().name()), outcome);
            return;
        }
        const auto cache = json::parse(limits->cacheText());
        QVERIFY(cache.isOk());
        QCOMPARE(cache->root()["models"].toJson(), outcome);
    }

    void caches_data()
    {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<std::string>("code"); // "" for one that is used
        const auto row = [](const char *name, std::string text, const char *code) {
            QTest::newRow(name) << std::move(text) << std::string(code);
        };
        row("good", cacheOf("{\"openai/gpt-5.6\":272000}"), "");
        row("good and empty", cacheOf("{}"), "");
        row("another schema", "{\"schema\":\"cortexfs.model-limits/v2\",\"models\":{}}", "EINVAL");
        row("no schema", "{\"models\":{\"a/b\":1}}", "EINVAL");
        row("models of another type", cacheOf("[]"), "EINVAL");
        row("zero", cacheOf("{\"a/b\":0}"), "EINVAL");
        row("too large a number", cacheOf("{\"a/b\":4294967296}"), "EINVAL");
        row("a number as text", cacheOf("{\"a/b\":\"1\"}"), "EINVAL");
        row("no slash", cacheOf("{\"ab\":1}"), "EINVAL");
        row("no provider", cacheOf("{\"/b\":1}"), "EINVAL");
        row("no model", cacheOf("{\"a/\":1}"), "EINVAL");
        row("an array", fixture("cache-array.json"), "EINVAL");
        row("empty", fixture("cache-empty.json"), "EINVAL");
        row("HTML", fixture("cache-html.json"), "EINVAL");
        row("the catalogue itself, truncated", fixture("cache-truncated.json"), "EINVAL");
        row("too large", cacheOf("{}") + std::string(limits::kLimitsBytes, ' '), "EMSGSIZE");
    }
    void caches()
    {
        QFETCH(std::string, text);
        QFETCH(std::string, code);
        TempDir dir;
        dir.write("cache/limits.json", text, 0644);
        const auto limits = ContextLimits::loadCache(dir.path("cache/limits.json"), ::geteuid());
        QCOMPARE(limits ? std::string() : std::string(limits.error().name()), code);
    }

    void anUnsafeCacheCountsAsNone()
    {
        TempDir dir;
        const std::string path = dir.path("limits.json");
        const auto code = [&](uid_t owner = ::geteuid()) {
            const auto limits = ContextLimits::loadCache(path, owner);
            return limits ? std::string() : std::string(limits.error().name());
        };
        QCOMPARE(code(), std::string("ENOENT"));
        dir.write("limits.json", cacheOf("{\"a/b\":1}"), 0644);
        QCOMPARE(code(), std::string());
        QCOMPARE(code(::geteuid() + 1), std::string("EACCES"));
        QCOMPARE(::chmod(path.c_str(), 0664), 0);
        QCOMPARE(code(), std::string("EACCES"));
        QCOMPARE(::chmod(path.c_str(), 0646), 0);
        QCOMPARE(code(), std::string("EACCES"));
        QCOMPARE(::rename(path.c_str(), dir.path("real.json").c_str()), 0);
        QCOMPARE(::chmod(dir.path("real.json").c_str(), 0644), 0);
        QCOMPARE(::symlink("real.json", path.c_str()), 0);
        QCOMPARE(code(), std::string("ELOOP"));
        QCOMPARE(::unlink(path.c_str()), 0);
        QCOMPARE(::mkdir(path.c_str(), 0755), 0);
        QCOMPARE(code(), std::string("EINVAL"));
        QCOMPARE(::rmdir(path.c_str()), 0);
        QCOMPARE(::mkfifo(path.c_str(), 0644), 0);
        QCOMPARE(code(), std::string("EINVAL")); // and does not wait for a writer
    }

    void storing()
    {
        TempDir dir;
        const std::string path = dir.path("cache/limits.json");
        QVERIFY(ContextLimits::storeCache(path, cacheOf("{\"a/b\":1}")));
        struct stat info = {};
        QCOMPARE(::stat(path.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777u, 0644u);
        QVERIFY(ContextLimits::loadCache(path, ::geteuid()).isOk());
    }
};

QTEST_GUILESS_MAIN(ContextLimitsTest)
#include "context_limits_test.moc"
