// Edits of JSON text: what is not named stays as it was, in its place.
#include "common/json/merge_patch.h"
#include "common/json/pretty.h"
#include "tests/common/test_strings.h"

#include <QTest>

using namespace cortexfs;

class MergePatchTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void merged_data()
    {
        QTest::addColumn<std::string>("target");
        QTest::addColumn<std::string>("patch");
        QTest::addColumn<std::string>("result");
        const auto row = [](const char *name, const char *target, const char *patch, const char *result) {
            QTest::newRow(name) << std::string(target) << std::string(patch) << std::string(result);
        };
        // The table of RFC 7396, appendix A.
        row("replaces", "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
        row("adds", "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}");
        row("removes", "{\"a\":\"b\"}", "{\"a\":null}", "{}");
        row("removes one of two", "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}");
        row("an array is replaced", "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
        row("by an array", "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}");
        row("nested", "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}");
        row("arrays are not merged", "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}");
        row("array by array", "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]");
        row("object by array", "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]");
        row("by null", "{\"a\":\"foo\"}", "null", "null");
        row("by a string", "{\"a\":\"foo\"}", "\"bar\"", "\"bar\"");
        row("a null of the target stays", "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}");
        row("array by object", "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}");
        row("nulls of a new object go", "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}");
        // Ours.
        row("order and unknown members stay", "{\"z\":1,\"a\":{\"y\":2,\"b\":3},\"m\":[]}", "{\"a\":{\"b\":4},\"n\":5}",
            "{\"z\":1,\"a\":{\"y\":2,\"b\":4},\"m\":[],\"n\":5}");
        row("a scalar becomes an object", "{\"a\":1}", "{\"a\":{\"b\":2}}", "{\"a\":{\"b\":2}}");
        row("a key twice in the target", "{\"a\":1,\"a\":2}", "{\"a\":3}", "{\"a\":3,\"a\":3}");
        row("a key twice in the patch", "{\"a\":1}", "{\"a\":2,\"a\":3}", "{\"a\":3}");
        row("nothing", "{\"a\":1}", "{}", "{\"a\":1}");
        row("large numbers stay", "{\"a\":18446744073709551615}", "{\"b\":1}", "{\"a\":18446744073709551615,\"b\":1}");
    }
    void merged()
    {
        QFETCH(std::string, target);
        QFETCH(std::string, patch);
        QFETCH(std::string, result);
        const auto targetDocument = json::parse(target);
        const auto patchDocument = json::parse(patch);
        QVERIFY(targetDocument.isOk() && patchDocument.isOk());
        QCOMPARE(json::mergePatch(targetDocument->root(), patchDocument->root()), result);
    }

    void valueIsSetAtAPointer_data()
    {
        QTest::addColumn<std::string>("root");
        QTest::addColumn<std::string>("pointer");
        QTest::addColumn<std::string>("value");  // "" takes out
        QTest::addColumn<std::string>("result"); // an errno's name for a failure
        const auto row = [](const char *name, const char *root, const char *pointer, const char *value,
                            const char *result) {
            QTest::newRow(name) << std::string(root) << std::string(pointer) << std::string(value)
                                << std::string(result);
        };
        row("replaced in its place", "{\"a\":1,\"b\":2,\"c\":3}", "/b", "[4]", "{\"a\":1,\"b\":[4],\"c\":3}");
        row("added last", "{\"a\":1}", "/b", "null", "{\"a\":1,\"b\":null}");
        row("objects on the way are made", "{\"a\":1}", "/b/c/d", "2", "{\"a\":1,\"b\":{\"c\":{\"d\":2}}}");
        row("the whole", "{\"a\":1}", "", "{}", "{}");
        row("an escaped slash and tilde", "{\"x/y\":1,\"m~n\":2}", "/x~1y", "3", "{\"x/y\":3,\"m~n\":2}");
        row("an empty key", "{\"\":1}", "/", "2", "{\"\":2}");
        row("an element", "[1,2,3]", "/1", "9", "[1,9,3]");
        row("appended by its index", "[1]", "/1", "2", "[1,2]");
        row("appended by a dash", "{\"models\":[\"a\"]}", "/models/-", "\"b\"", "{\"models\":[\"a\",\"b\"]}");
        row("below an element", "[{\"a\":1}]", "/0/a", "2", "[{\"a\":2}]");
        row("index too large", "[1]", "/2", "9", "EINVAL");
        row("index with a leading zero", "[1,2]", "/01", "9", "EINVAL");
        row("index that is none", "[1,2]", "/x", "9", "EINVAL");
        row("negative index", "[1,2]", "/-1", "9", "EINVAL");
        row("below a scalar", "{\"a\":1}", "/a/b", "9", "EINVAL");
        row("no slash", "{\"a\":1}", "a", "9", "EINVAL");
        row("a bad escape", "{\"a\":1}", "/a~2", "9", "EINVAL");
        row("a tilde at the end", "{\"a\":1}", "/a~", "9", "EINVAL");
        row("taken out", "{\"a\":1,\"b\":2,\"c\":3}", "/b", "", "{\"a\":1,\"c\":3}");
        row("taken out below", "{\"a\":{\"b\":1,\"c\":2}}", "/a/b", "", "{\"a\":{\"c\":2}}");
        row("an element taken out", "[1,2,3]", "/0", "", "[2,3]");
        row("the last element taken out", "[1]", "/0", "", "[]");
        row("not there", "{\"a\":1}", "/b", "", "ENOENT");
        row("not there, deeper", "{\"a\":1}", "/b/c", "", "ENOENT");
        row("no such element", "[1]", "/1", "", "EINVAL");
        row("the whole taken out", "{}", "", "", "EINVAL");
    }
    void valueIsSetAtAPointer()
    {
        QFETCH(std::string, root);
        QFETCH(std::string, pointer);
        QFETCH(std::string, value);
        QFETCH(std::string, result);
        const auto document = json::parse(root);
        QVERIFY(document.isOk());
        const Result<std::string> text = value.empty() ? json::withoutValueAt(document->root(), pointer)
                                                       : json::withValueAt(document->root(), pointer, value);
        QCOMPARE(text ? *text : std::string(text.error().name()), result);
    }

    void prettyTextIsTheSameValue_data()
    {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<std::string>("pretty");
        const auto row = [](const char *text, const char *pretty) {
            QTest::newRow(text) << std::string(text) << std::string(pretty);
        };
        row("{\"z\":1,\"a\":[true,{}],\"e\":[]}",
            "{\n  \"z\": 1,\n  \"a\": [\n    true,\n    {}\n  ],\n  \"e\": []\n}");
        row("[]", "[]");
        row("{}", "{}");
        row("null", "null");
        row("\"a\\\"b\"", "\"a\\\"b\"");
        row("{\"\":{\"\":[[1]]}}", "{\n  \"\": {\n    \"\": [\n      [\n        1\n      ]\n    ]\n  }\n}");
    }
    void prettyTextIsTheSameValue()
    {
        QFETCH(std::string, text);
        QFETCH(std::string, pretty);
        const auto document = json::parse(text);
        QVERIFY(document.isOk());
        QCOMPARE(json::prettyText(document->root()), pretty);
        const auto again = json::parse(json::prettyText(document->root()));
        QVERIFY(again.isOk());
        QCOMPARE(again->root().toJson(), document->root().toJson());
    }
};

QTEST_GUILESS_MAIN(MergePatchTest)
#include "merge_patch_test.moc"
