// Lists of models: every shape that servers answer with, and what is none.
#include "daemon/providers/wire/wire_format.h"
#include "tests/common/test_strings.h"

#include <QTest>

#include <algorithm>

using namespace cortexfs;

namespace {

// "id:limit:created ..." and, behind "->", where the next page begins; an errno's name for a failure.
std::string summary(const Result<wire::ModelPage> &page)
{
    if (!page)
        return std::string(page.error().name());
    std::string out;
    for (const wire::ListedModel &model : page->models) {
        out += (out.empty() ? "" : " ") + model.id + ":" + (model.limit ? std::to_string(*model.limit) : "-") + ":"
               + std::to_string(model.createdAt);
    }
    return page->next.empty() ? out : out + " -> " + page->next;
}

} // namespace

class ModelListTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void listsAreRead_data()
    {
        QTest::addColumn<std::string>("format");
        QTest::addColumn<std::string>("baseUrl");
        QTest::addColumn<std::string>("body");
        QTest::addColumn<std::string>("models");
        const auto row = [](const char *name, const char *format, const char *body, const char *models,
                            const char *baseUrl = "https://h.example/v1") {
            QTest::newRow(name) << std::string(format) << std::string(baseUrl) << std::string(body)
                                << std::string(models);
        };
        const char *chat = "openai.chat";
        row("openai", chat,
            "{\"object\":\"list\",\"data\":[{\"id\":\"gpt-5.6\",\"object\":\"model\",\"created\":1763000000,"
            "\"owned_by\":\"openai\"},{\"id\":\"b\",\"object\":\"model\"}]}",
            "gpt-5.6:-:1763000000 b:-:0");
        row("openai for responses", "openai.responses", "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"created\":5}]}",
            "m:-:5");
        row("anthropic, more to come", "anthropic.messages",
            "{\"data\":[{\"id\":\"claude-x\",\"type\":\"model\",\"display_name\":\"X\",\"created_at\":"
            "\"2025-09-29T00:00:00Z\",\"max_input_tokens\":200000,\"max_tokens\":64000,\"capabilities\":{\"effort\":{}}"
            "}],"
            "\"has_more\":true,\"first_id\":\"claude-x\",\"last_id\":\"claude-x\"}",
            "claude-x:200000:1759104000 -> claude-x");
        row("anthropic, the last page", "anthropic.messages",
            "{\"data\":[{\"id\":\"y\"}],\"has_more\":false,\"first_id\":\"y\",\"last_id\":\"y\"}", "y:-:0");
        row("anthropic, more but not where", "anthropic.messages", "{\"data\":[{\"id\":\"y\"}],\"has_more\":true}",
            "EBADMSG");
        row("gemini", chat,
            "{\"object\":\"list\",\"data\":[{\"id\":\"models/"
            "gemini-3-flash\",\"object\":\"model\",\"owned_by\":\"google\"}]}",
            "gemini-3-flash:-:0", "https://generativelanguage.googleapis.com/v1beta/openai");
        row("a server whose ids are paths", chat, "{\"data\":[{\"id\":\"models/7B/ggml.gguf\"}]}",
            "models/7B/ggml.gguf:-:0");
        row("openrouter", chat,
            "{\"data\":[{\"id\":\"a/b:free\",\"created\":1,\"context_length\":131072,\"pricing\":{\"prompt\":\"0.1\"},"
            "\"top_provider\":{\"context_length\":65536,\"max_completion_tokens\":null},\"supported_parameters\":[]},"
            "{\"id\":\"c\",\"context_length\":null,\"top_provider\":{\"context_length\":8192}}]}",
            "a/b:free:131072:1 c:8192:0", "https://openrouter.ai/api/v1");
        row("llama.cpp: a training size is no limit", chat,
            "{\"models\":[{\"name\":\"x\",\"model\":\"x\"}],\"object\":\"list\",\"data\":[{\"id\":\"x.gguf\","
            "\"created\":9,"
            "\"meta\":{\"n_ctx_train\":131072,\"n_params\":1}}]}",
            "x.gguf:-:9", "http://127.0.0.1:8080/v1");
        row("vllm", chat,
            "{\"object\":\"list\",\"data\":[{\"id\":\"meta/"
            "L\",\"max_model_len\":32768,\"permission\":[{\"id\":\"p\"}]}]}",
            "meta/L:32768:0", "http://127.0.0.1:8000/v1");
        row("lm studio: loaded before possible", chat,
            "{\"data\":[{\"id\":\"q\",\"max_context_length\":131072,\"loaded_context_length\":4096,\"state\":"
            "\"loaded\"},"
            "{\"id\":\"r\",\"max_context_length\":131072,\"state\":\"not-loaded\"}]}",
            "q:4096:0 r:131072:0", "http://127.0.0.1:1234/api/v0");
        row("ollama", chat,
            "{\"object\":\"list\",\"data\":[{\"id\":\"llama3:latest\",\"object\":\"model\",\"created\":1700000000,"
            "\"owned_by\":\"library\"}]}",
            "llama3:latest:-:1700000000", "http://127.0.0.1:11434/v1");
        row("ollama without a model", chat, "{\"object\":\"list\",\"data\":null,\"models\":[]}", "");
        row("a bare array", chat, "[{\"id\":\"m\",\"context_length\":8192.0}]", "m:8192:0");
        row("an empty list", chat, "{\"data\":[]}", "");
        row("other things between", chat, "{\"data\":[null,7,\"m\",{\"id\":7},{\"id\":\"\"},{\"id\":\"ok\"},{}]}",
            "ok:-:0");
        row("limits that are none", chat,
            "{\"data\":[{\"id\":\"a\",\"context_length\":0},{\"id\":\"b\",\"context_length\":-1},"
            "{\"id\":\"c\",\"context_length\":4294967296},{\"id\":\"d\",\"context_length\":\"8192\"},"
            "{\"id\":\"e\",\"context_length\":1.5}]}",
            "a:-:0 b:-:0 c:-:0 d:-:0 e:-:0");
        row("nothing but other things", chat, "{\"data\":[null,7]}", "EBADMSG");
        row("ids with control characters", chat, "{\"data\":[{\"id\":\"a\\nb\"}]}", "EBADMSG");
        row("no list", chat, "{\"ok\":true}", "EBADMSG");
        row("a string", chat, "\"data\"", "EBADMSG");
        row("null", chat, "null", "EBADMSG");
        row("an error inside a success", chat,
            "{\"error\":{\"message\":\"Incorrect API key\",\"type\":\"authentication_error\"}}", "EACCES");
    }
    void listsAreRead()
    {
        QFETCH(std::string, format);
        QFETCH(std::string, baseUrl);
        QFETCH(std::string, body);
        QFETCH(std::string, models);
        const wire::WireFormat *spoken = wire::findByFormat(format);
        QVERIFY(spoken);
        const auto document = json::parse(body);
        QVERIFY(document.isOk());
        wire::EncodeContext context;
        context.provider = "p";
        context.baseUrl = baseUrl;
        QCOMPARE(summary(spoken->decodeList(document->root(), context)), models);
    }

    void requestsAreTheFormatsOwn()
    {
        const auto chat = wire::findByFormat("openai.chat")->encodeList({});
        QVERIFY(chat.isOk());
        QCOMPARE(chat->path, std::string("/models"));
        QCOMPARE(chat->auth.headerName, std::string("Authorization"));
        QCOMPARE(chat->auth.prefix, std::string("Bearer "));
        const auto first = wire::findByFormat("anthropic.messages")->encodeList({});
        QVERIFY(first.isOk());
        QCOMPARE(first->path, std::string("/v1/models?limit=1000"));
        QCOMPARE(first->auth.headerName, std::string("x-api-key"));
        QVERIFY(std::find(first->headers.begin(), first->headers.end(), wire::Header("anthropic-version", "2023-06-01"))
                != first->headers.end());
        const auto second = wire::findByFormat("anthropic.messages")->encodeList("a b&c=\xc3\xa9");
        QVERIFY(second.isOk());
        QCOMPARE(second->path, std::string("/v1/models?limit=1000&after_id=a%20b%26c%3D%C3%A9"));
    }

    void everyFormatHasAListOrSaysThatItHasNone()
    {
        for (const wire::WireFormat *format : wire::registry()) {
            const auto request = format->encodeList({});
            if (format->descriptor().isBuiltIn) {
                QVERIFY(!request.isOk());
                QCOMPARE(request.error().number(), ENOTSUP);
                continue;
            }
            QVERIFY(request.isOk());
            QVERIFY(request->path.starts_with('/') && !request->auth.headerName.empty());
            for (const char *text : {"{}", "[]", "null", "7", "\"x\"", "{\"data\":{}}", "{\"data\":[[[]]]}"}) {
                const auto document = json::parse(text);
                QVERIFY(document.isOk());
                const auto page = format->decodeList(document->root(), {});
                QVERIFY(!page.isOk() || page->models.empty());
            }
        }
    }
};

QTEST_GUILESS_MAIN(ModelListTest)
#include "model_list_test.moc"
