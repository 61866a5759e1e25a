// What every wire format of this build keeps, whatever it speaks. A new format is tested here without an edit.
#include "common/json/json.h"
#include "daemon/providers/wire/core/response_decoder.h"

#include <QtTest>

#include <random>
#include <set>

using namespace cortexfs;
using models::Conversation;
using models::Message;

namespace {

Conversation standardConversation()
{
    Conversation out;
    out.system = "Be brief. \xe2\x80\xa8 \"quoted\"";
    out.maxTokens = 64;
    out.tools.push_back({"fs.read", "Reads a file", R"({"type":"object","properties":{"path":{"type":"string"}}})"});
    out.tools.push_back({"now", "", ""});
    Message user;
    user.parts.push_back({.text = "What is this?"});
    user.parts.push_back({.type = models::Part::Type::Image, .url = "data:image/png;base64,iVBORw0KGgo="});
    Message assistant;
    assistant.role = Message::Role::Assistant;
    assistant.parts.push_back({.text = "Looking."});
    assistant.toolCalls.push_back({"call_1", "fs.read", R"({"path":"x"})"});
    assistant.opaque = R"({"format":"of nobody"})";
    assistant.opaqueProvider = "elsewhere";
    Message result;
    result.role = Message::Role::Tool;
    result.callId = "call_1";
    result.name = "fs.read";
    result.isError = true;
    result.parts.push_back({.text = "no such file"});
    out.messages = {user, assistant, result};
    return out;
}

std::vector<std::string> garbage()
{
    std::vector<std::string> out = {
        "",
        "\n",
        "[]",
        "{}",
        "null",
        "data: {}\n\n",
        "data: []\n\n",
        "data: null\n\n",
        "data: {\"choices\":{}}\n\n",
        "data: {\"type\":7}\n\n",
        "event: error\ndata: 1\n\n",
        "<html>",
        "\xff\xfe\x00",
        "data: \xed\xa0\x80\n\n",
        "{\"error\":{}}",
        "{\"error\":[[[[]]]]}",
        "[{\"error\":",
        "data: {\"error\":\"\"}\n\ndata: [DONE]\n\n",
        "data: " + std::string(400, '[') + "\n\n",
    };
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        std::string text = i % 2 ? "data: " : "";
        static constexpr std::string_view kAlphabet = "{}[]\":,\\n0 \ndatevrou\r\xf0\x9f\x80";
        for (std::size_t length = random() % 120; length > 0; --length)
            text += kAlphabet[random() % kAlphabet.size()];
        out.push_back(text);
    }
    return out;
}

} // namespace

Q_DECLARE_METATYPE(const wire::WireFormat *)

class WireConformanceTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hasTheFormatsOfTheDriverTable();
    void hasNamesOfTheirOwn();
    void hasOneDefault();
    void encodesTheStandardConversation_data() { addRows(); }
    void encodesTheStandardConversation();
    void survivesGarbage_data() { addRows(); }
    void survivesGarbage();

private:
    void addRows()
    {
        QTest::addColumn<const wire::WireFormat *>("format");
        for (const wire::WireFormat *format : wire::registry())
            QTest::newRow(format->descriptor().format.c_str()) << format;
    }
};

void WireConformanceTest::hasTheFormatsOfTheDriverTable()
{
    for (const char *driver : {"debug", "openai-chat", "openai-responses", "anthropic-messages"})
        QVERIFY(wire::findByDriver(driver));
    QVERIFY(!wire::findByDriver("nothing"));
    QVERIFY(!wire::findByFormat(""));
}

void WireConformanceTest::hasNamesOfTheirOwn()
{
    std::set<std::string> drivers;
    std::set<std::string> formats;
    const QRegularExpression driverForm(QStringLiteral("^[a-z][a-z0-9]*(-[a-z0-9]+)*$"));
    const QRegularExpression formatForm(QStringLiteral("^[a-z][a-z0-9]*(\\.[a-z0-9]+)*$"));
    for (const wire::WireFormat *format : wire::registry()) {
        const wire::WireDescriptor &descriptor = format->descriptor();
        QVERIFY2(drivers.insert(descriptor.driver).second, descriptor.driver.c_str());
        QVERIFY2(formats.insert(descriptor.format).second, descriptor.format.c_str());
        QVERIFY(driverForm.match(QString::fromStdString(descriptor.driver)).hasMatch());
        QVERIFY(formatForm.match(QString::fromStdString(descriptor.format)).hasMatch());
        QVERIFY(!descriptor.title.empty());
        QCOMPARE(wire::findByDriver(descriptor.driver), format);
        QCOMPARE(wire::findByFormat(descriptor.format), format);
    }
}

void WireConformanceTest::hasOneDefault()
{
    int defaults = 0;
    for (const wire::WireFormat *format : wire::registry())
        defaults += format->descriptor().isDefault && !format->descriptor().isBuiltIn;
    QCOMPARE(defaults, 1);
}

void WireConformanceTest::encodesTheStandardConversation()
{
    QFETCH(const wire::WireFormat *, format);
    for (const bool stream : {true, false}) {
        for (const abi::Effort effort : {abi::Effort::Auto, abi::Effort::None, abi::Effort::Max}) {
            const auto request = format->encode(standardConversation(), {.nativeModel = "some/model-1",
                                                                         .provider = "test",
                                                                         .effort = effort,
                                                                         .stream = stream,
                                                                         .defaults = {{"top_p", "0.5"}}});
            if (format->descriptor().isBuiltIn) {
                QVERIFY(!request);
                QCOMPARE(request.error().number(), ENOTSUP);
                continue;
            }
            QVERIFY2(request, request ? "" : request.error().text().c_str());
            QVERIFY(request->path.starts_with('/'));
            QVERIFY(!request->auth.headerName.empty());
            const auto body = json::parse(request->body);
            QVERIFY2(body, request->body.c_str());
            QVERIFY(body->root().isObject());
            QVERIFY(request->body.find("of nobody") == std::string::npos);
            QVERIFY(request->body.find("fs.read") == std::string::npos);
            bool isJson = false;
            for (const wire::Header &header : request->headers) {
                isJson = isJson || header == wire::Header("Content-Type", "application/json");
                QVERIFY(header.second.find_first_of("\r\n") == std::string::npos);
                QVERIFY(header.first != request->auth.headerName);
            }
            QVERIFY(isJson);
        }
    }
}

void WireConformanceTest::survivesGarbage()
{
    QFETCH(const wire::WireFormat *, format);
    for (const int status : {200, 204, 301, 400, 500, 0}) {
        for (const std::string &body : garbage()) {
            for (const std::size_t step : {std::size_t(1), body.size() + 1}) {
                wire::ResponseDecoder decoder(*format);
                std::vector<abi::Event> events;
                decoder.onHead(status, {{"content-type", "text/event-stream"}, {"retry-after", "x"}}, 0);
                for (std::size_t at = 0; at < body.size(); at += step)
                    decoder.onBytes(std::string_view(body).substr(at, step), events);
                decoder.onEnd(std::nullopt, events);
                QVERIFY(decoder.isFinished());
                QVERIFY(decoder.reason().has_value() != decoder.failure().has_value());
                for (const abi::Event &event : events)
                    QVERIFY2(json::parse(event.toJson()), event.toJson().c_str());
            }
        }
    }
}

QTEST_GUILESS_MAIN(WireConformanceTest)
#include "wire_conformance_test.moc"
